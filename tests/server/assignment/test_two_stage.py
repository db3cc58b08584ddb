"""Offers by expected distance: ranked as all sets are, and phones that know better decline."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.geometry import Grid, Region
from geodp.public.acceptance.linear import Linear
from geodp.public.events import Reason
from geodp.public.guarantee import Guarantee
from geodp.public.messages import Named, Task
from geodp.public.release import GridCells
from geodp.runs.run import run
from geodp.server.assignment import ServerView
from geodp.server.assignment.two_stage import TwoStage, rank_expected
from tests.places import cloaks_of
from tests.small import small

REGION = Region(-0.05, -0.05, 0.05, 0.05)
TASK = Task(0, 0.0, 0.0, 0.0, 900.0)


def view_of(release: object, **more: object) -> ServerView:
    willing = Linear(mar=0.5, max_travel_m=1000)
    return ServerView(0.0, REGION, release, willing, 100.0, 10.0, 0.0, **more)  # type: ignore[arg-type]


@given(st.integers(0, 10_000), st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_the_nearest_on_average_are_found_among_all(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    west, south = rng.normal(0, 800, (2, 26))
    sizes = 10 ** rng.uniform(1, 3.3, (2, 26))
    cloaks = cloaks_of(np.column_stack([west, south, west + sizes[0], south + sizes[1]]).tolist(), k=2)
    can = rng.random(26) < 0.8
    rows, far = rank_expected(cloaks, TASK, can, most)
    everyone = cloaks.expected_distance_m(0.0, 0.0, slice(None))
    best = [row for row in np.argsort(everyone, kind="stable").tolist() if can[row]][:most]
    assert rows.tolist() == best
    assert far == pytest.approx(everyone[best])


def test_a_wide_cloak_about_the_task_comes_after_a_small_one_beside_it() -> None:
    cloaks = cloaks_of([(-900, -900, 900, 900), (300, -50, 400, 50)], k=2)
    rows, _ = rank_expected(cloaks, TASK, np.ones(2, dtype=np.bool_), 2)
    assert rows.tolist() == [1, 0]


def test_it_asks_as_many_as_reach_the_target_and_nobody_twice() -> None:
    cloaks = cloaks_of([(x, -5, x + 10, 5) for x in range(0, 260, 10)], k=1)
    plan = TwoStage(target_success=0.9).offers([TASK], view_of(cloaks))[0]
    assert isinstance(plan.target, Named)
    chance = [0.5 * (1 - far / 1000) for far in cloaks.expected_distance_m(0.0, 0.0, slice(None))]
    enough = int(np.flatnonzero(1 - np.cumprod(1 - np.array(chance)) >= 0.9)[0]) + 1
    assert plan.target.pseudonyms == tuple("abcdefghijklmnopqrstuvwxyz"[:enough])
    assert plan.planned_success == pytest.approx(1 - np.prod(1 - np.array(chance[:enough])), abs=1e-3)
    again = TwoStage(target_success=0.9).offers([TASK], view_of(cloaks, named={0: ("a",)}, engaged=frozenset("b")))[0]
    assert isinstance(again.target, Named)
    assert again.target.pseudonyms[0] == "c"
    far_off = cloaks_of([(3000, 3000, 3100, 3100)], k=1)
    assert TwoStage().offers([TASK], view_of(far_off))[0].unreachable == Reason.BEYOND_REACH


def test_counts_are_refused_with_what_to_use() -> None:
    grid = Grid(0.0, 0.0, 100.0, 100.0, 1, 1)
    cells = GridCells(0.0, "x", Guarantee.none("a test"), *grid.edges(), np.ones(1), np.ones(1), 0.0, grid=grid)
    with pytest.raises(UsageError, match="mechanism 'cloak'"):
        TwoStage().offers([TASK], view_of(cells))


def test_whoever_is_truly_too_far_declines(tmp_path: Path) -> None:
    """Cloaks of all people: the server cannot tell who is near, and phones beyond their reach say so."""
    changes = {
        "duration_s": 900,
        "workers.source.count": 400,
        "workers.acceptance.max_travel_m": 1200,
        "curator.mechanism": {"kind": "cloak", "k": 200},
        "curator.expected_workers": 400,
        "server.assignment": {"kind": "two_stage"},
        "attacks": [{"kind": "bayes_location"}, {"kind": "tracking"}],
    }
    done = run(small(changes), tmp_path / "run", draw_map=False, summarise=True)
    events = done.events
    assert (events["reason"] == Reason.TOO_FAR).sum() > 10
    taken = events[events["kind"] == "acceptance"]
    assert len(taken)
    assert (taken["value"] <= 1200).all()
    metrics = done.metrics
    assert metrics["cloak_set_below_k"] is not None
    assert 0 < float(metrics["attack_error_m"] or 0) < 1.2 * float(metrics["prior_error_m"] or 0)
    assert "no ε is claimed" in (tmp_path / "run" / "summary.md").read_text()
