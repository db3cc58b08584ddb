"""Tables of positions, visits, venues, trajectories and areas: one way to read and write them, for everybody."""
