"""Do the tests see a fault? `python -m tests.mutants` plants some, one at a time, and expects a test to fail on each.

`faults.toml` has a line per fault: the file, a text that occurs in it exactly once, what is written instead, and the
tests of the room that must fail. It is run before a release; that every fault still applies is tested every time.
"""
