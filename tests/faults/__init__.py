"""Kills and other faults at chosen and random moments, and what must hold after each: `python -m tests.faults`."""
