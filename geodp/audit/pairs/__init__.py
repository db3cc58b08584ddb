"""Neighbouring inputs for single plug-ins: the worst pairs that are known for each."""
