"""A run is a folder: made whole or not at all, and read by everything that comes after."""
