"""The SimPy clock: what happens when."""
