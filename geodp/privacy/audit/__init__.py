"""The auditor: tries to refute what mechanisms claim, and never says more than that it did not succeed.

A claim of epsilon is a statement about every event. The auditor draws outputs on two neighbouring inputs, picks events
that should tell them apart, and bounds their probabilities with Clopper-Pearson intervals: ln(p_low / q_high) is an
epsilon that the mechanism certainly spends, up to the stated confidence. When it exceeds the claim, that is refuted.
"""
