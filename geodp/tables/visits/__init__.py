"""Who visited what: the table of visits, its bounding, and where it comes from. Trusted side only."""
