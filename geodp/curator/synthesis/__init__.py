"""Synthetic trajectories: what is counted with noise, the models built on it, and how paths are drawn from them."""
