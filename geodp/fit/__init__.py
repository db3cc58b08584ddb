"""A world fitted to data: what is counted of people, exactly or with noise, and the parameters that follow from it."""
