"""Series and the ledger: what is asked for, when, and what is left undone where it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.curator import Curator
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.errors import BudgetSpent, UsageError
from geodp.privacy.ledger import Ledger
from tests.curator.mechanisms.crowds import RecordingNoise, noise
from tests.curator.mechanisms.town import CELLS, take

PERIOD = (0.0, 4800.0)


def curator(kind: str, budget: float, when_spent: Any = "reuse_last", releases: int = 8, **fields: Any) -> Curator:
    mechanism = plugin(kind, cells=CELLS, **fields)
    return Curator(mechanism, Ledger(budget), when_spent, releases=releases, period=PERIOD)


def test_a_series_is_charged_once_before_its_first_release() -> None:
    made = curator("tree_counts", 1.0, epsilon=1.0, cap=2)
    for number in range(8):
        assert made.publish(take([0, 3], number), noise(0), number=number) is not None
    assert [(row.time_s, row.epsilon, row.period) for row in made.ledger.charges] == [(0.0, 1.0, PERIOD)]


def test_a_series_without_a_cap_is_charged_for_a_stay_at_every_release() -> None:
    made = curator("tree_counts", 8.0, epsilon=1.0)
    made.publish(take([0], 0), noise(0))
    assert made.ledger.charges[0].epsilon == 8.0


@pytest.mark.parametrize("kind", ["tree_counts", "kalman_counts"])
def test_a_series_that_is_refused_releases_and_draws_nothing(kind: str) -> None:
    fields = {"cap": 2} if kind == "tree_counts" else {"sampling": "pid"}
    made, silent = curator(kind, 0.5, epsilon=1.0, **fields), RecordingNoise()
    for number in range(8):
        assert made.publish(take([0], number), silent, number=number) is None
    assert not silent.laplaces
    assert not made.ledger.charges
    assert made.current is None
    with pytest.raises(BudgetSpent):
        curator(kind, 0.5, "fail", epsilon=1.0, **fields).publish(take([0], 0), silent)


def test_a_window_pays_for_its_tests_and_counts_before_they_are_drawn() -> None:
    """ε = 1 in any 4, budget 0.3: the first test (0.125) is paid for, its counts (0.25) are refused."""
    made, silent = curator("w_event_counts", 0.3, epsilon=1.0, window=4), RecordingNoise()
    crowd = [4] * 500
    assert made.publish(take(crowd, 0), silent) is None
    assert [row.epsilon for row in made.ledger.charges] == [0.125]
    assert len(silent.laplaces) == 1
    assert made.publish(take(crowd, 1), silent, number=1) is None
    assert sum(row.epsilon for row in made.ledger.charges) <= 0.3


def test_more_releases_than_were_charged_are_refused_and_draw_nothing() -> None:
    made, silent = curator("tree_counts", 1.0, epsilon=1.0, cap=2, releases=2), RecordingNoise()
    for number in range(2):
        made.publish(take([0], number), noise(0), number=number)
    with pytest.raises(UsageError, match="agreed for 2"):
        made.publish(take([0], 2), silent, number=2)
    assert not silent.laplaces
    assert len(made.ledger.charges) == 1


def test_a_release_is_never_made_twice() -> None:
    series = plugin("tree_counts", cells=CELLS).begin_series(4)
    series.release(take([0], 0), noise(0), number=2)
    with pytest.raises(UsageError, match="release 2 of this series was made before"):
        series.release(take([0], 0), noise(0), number=1)


def test_releases_that_were_left_out_leave_the_others_their_law() -> None:
    """A gap is closed as if nobody had come or gone: what comes next is right again."""
    series = plugin("tree_counts", cells=CELLS).begin_series(8)
    silent = RecordingNoise()
    series.release(take([0, 0], 0), silent, number=0)
    found = series.release(take([0, 5], 5), silent, number=5)
    assert found is not None
    assert np.flatnonzero(found.count).tolist() == [0, 5]
    second, fourth = plugin("tree_counts").law(6)
    assert found.noise_terms is not None
    assert found.noise_terms[0] == pytest.approx(second**2 / fourth)


class OldPlugin(UniformGrid):
    """A mechanism from before series: it is asked for the number alone."""

    def measures(self, number: int) -> bool:  # type: ignore[override]
        return number % 2 == 0


def test_a_mechanism_from_before_series_still_works() -> None:
    made = Curator(OldPlugin(cell_m=2000.0, epsilon=0.5), Ledger(10.0), "reuse_last", releases=4)
    for number in range(4):
        assert made.publish(take([0], number), noise(0), number=number) is not None
    assert [row.time_s for row in made.ledger.charges] == [0.0, 1200.0]
