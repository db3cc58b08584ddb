"""Damaged scenarios and data through every command that reads them: `python -m tests.fuzz`."""
