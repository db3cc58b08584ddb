"""The papers' figures, made again: what a paper claims, what we get, and whether it is the same."""
