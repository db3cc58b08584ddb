"""Public bounds on what a user can ask for, with their reasons: beyond them nothing could be computed or looked at."""

from __future__ import annotations

LONGEST_RUN_S = 366 * 86_400
LEAST_INTERVAL_S = 0.001
SO_SHORT = "nothing here happens faster"
LEAST_SPEED_MPS, GREATEST_SPEED_MPS = 0.01, 1000.0
SO_FAST = "people move on foot, on wheels or on wings"
MOST_ARMS = 64
MOST_PLUGINS = 100
MOST_RELEASES = 10_000
MOST_BATCHES = 1_000_000
MOST_TASKS = 5_000_000
MOST_CELLS = 25_000_000
MOST_STREETS = 100_000
"""Corners of generated streets: quickest ways are kept from each to every place."""
MOST_VISITS = 50_000_000
MOST_TOGETHER = 1000
"""People who move together: beyond it no promise about all of them would be worth its noise."""
