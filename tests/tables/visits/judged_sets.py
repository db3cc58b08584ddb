"""Tables of visits on which methods and stated accuracies are judged: generated ones, and real ones where they are.

Which is which. The estimate of the mean error (`_row_sizes.py`, `_paid_accuracy.py`: bins, prior, shares, when an error
counts as known) was chosen on other shapes at the seeds 0 to 3, ε of 0.1 to 2, caps of 5 to 60, and on both real sets
with other noise. The shapes below, ε and caps were written down before they were looked at. At the seed 7 they were
looked at once: 2 of about 240 stated errors were off by more than a quarter (1.28 and 1.29), and intervals were made to
hold 90 % instead of 80 %. At the seed 8 one of 281 was off (1.26), and a number is now called sharp only when it is
almost surely within a quarter. The seed 9, and the seed 33 of the noise in `test_paid_accuracy.py`, judge: they were
looked at once, and nothing was changed afterwards. All sharp numbers are within a quarter; of 120 that Laplace and
DPSense state always, two are not (DPSense-S at ε = 0.5 on the two smallest sets: 1.43 and 1.33, which it says).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from geodp.privacy.keyed_choice import user_words
from geodp.tables.visits.generated_visits import Shape, Sizes, draw_shaped_table, generate_histories
from geodp.tables.visits.visit_sets import VisitSets, sets_of, visit_sets

JUDGED_SHAPES = {
    "market": Shape(4_000, 800, 120, 70.0),
    "suburb": Shape(1_500, 1_500, 90, 14.0, tail=0.7),
    "city": Shape(12_000, 4_000, 300, 45.0, tail=1.0),
    "village": Shape(900, 600, 60, 15.0),
    "chain": Shape(8_000, 700, 40, 60.0, tail=0.5),
    "festival": Shape(6_000, 500, 350, 260.0),
    "region": Shape(5_000, 9_000, 500, 8.0, tail=1.1),
    "occasional": Shape(10_000, 3_000, 30, 9.0),
}
REAL = {
    "foursquare": ("foursquare_nyc/checkins.parquet", "user", "poi"),
    "gowalla": ("gowalla/gowalla_nyc_checkins.parquet", "user", "loc"),
}


def judged_sets(seed: int = 9) -> Iterator[tuple[str, VisitSets]]:
    """Draw the ten generated tables: eight by shape, two of people with homes and habits."""
    rng = np.random.default_rng(seed)
    for name, shape in JUDGED_SHAPES.items():
        yield name, draw_shaped_table(shape, rng)
    for name, sizes in {
        "habits": Sizes(people=1_200, visits=90, venues=1_500),
        "homes": Sizes(people=2_500, visits=40, venues=2_500),
    }.items():
        histories, venues = generate_histories(sizes, rng)
        yield name, sets_of(histories, venues.size)


def real_set(name: str, data: Path) -> VisitSets:
    """Read a real table: who was where at all; the venues of the file are the public list."""
    import pandas as pd

    path, user, venue = REAL[name]
    visits = pd.read_parquet(data / path)
    person, people = pd.factorize(visits[user])
    place, places = pd.factorize(visits[venue])
    words = user_words([str(one) for one in people])
    return visit_sets(words, person.astype(np.int64), place.astype(np.int64), len(places))
