"""The folder that a run leaves: how its files are named, made whole, and read back."""
