"""Counts with ε in any window: who may spend what, and what is published."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp import plugin
from geodp.curator.mechanisms.w_event_counts import Absorption, Distribution, Schedule, WEventCounts
from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee
from tests.curator.mechanisms.crowds import RecordingNoise, noise
from tests.curator.mechanisms.town import AWAY, CELLS, play, take


def w_event(**fields: Any) -> WEventCounts:
    return plugin("w_event_counts", cells=CELLS, **fields)  # type: ignore[no-any-return]


def decide(schedule: Schedule, decisions: str) -> list[float | None]:
    """Return what was offered where a test succeeds (1), and 0 where not; None where there was no test."""
    spent: list[float | None] = []
    for decision in decisions:
        offered = schedule.offer()
        spent.append(None if offered is None else offered if decision == "1" else 0.0)
        schedule.decide(spent[-1] or 0.0)
    return spent


def test_distribution_gives_half_of_what_the_window_has_left() -> None:
    assert decide(Distribution(1.0, 4), "111111") == [0.25, 0.125, 0.0625, 0.03125, 0.140625, 0.1328125]


def test_absorption_takes_unused_shares_and_then_those_that_follow() -> None:
    assert decide(Absorption(1.0, 4), "1001111") == [0.125, 0, 0, 0.375, None, None, 0.125]
    assert decide(Absorption(1.0, 4), "0000011111") == [0, 0, 0, 0, 0, 0.5, None, None, None, 0.125]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([Distribution, Absorption]),
    st.floats(1e-3, 20),
    st.integers(1, 9),
    st.text(alphabet="01", min_size=1, max_size=60),
)
def test_no_window_costs_more_than_epsilon(cls: type[Schedule], epsilon: float, window: int, decisions: str) -> None:
    """Whatever the tests say: sums are exact decimals, as the ledger adds up."""
    schedule = cls(epsilon, window)
    spent = decide(schedule, decisions)
    cost = [Decimal(0) if each is None else Decimal(repr(each)) + Decimal(repr(schedule.test)) for each in spent]
    for first in range(len(cost)):
        assert sum(cost[first : first + window]) <= Decimal(repr(epsilon))


def changing(seed: int, releases: int = 40) -> list[list[int]]:
    """Return 400 people who change cells all together, now and then."""
    rng = np.random.default_rng(seed)
    home = rng.integers(0, 9, 400)
    shift = np.cumsum(rng.random(releases) < 0.3)
    return [[int((cell + moved) % 9) for moved in shift] for cell in home]


@pytest.mark.parametrize("scheme", ["bd", "ba"])
def test_what_is_paid_in_any_window_is_at_most_epsilon(scheme: str) -> None:
    """What the series asks the ledger for, over a whole run; it is asked before anything is drawn."""
    mechanism, tracks, source = w_event(scheme=scheme, window=5, epsilon=1.0), changing(1), noise(3)
    series = mechanism.begin_series(40)
    paid: list[tuple[int, float]] = []
    for number, places in enumerate(zip(*tracks, strict=True)):

        def pay(price: Guarantee, number: int = number) -> None:
            paid.append((number, price.epsilon))

        series.release(take(places, number), source, pay=pay)
    for first in range(40):
        in_window = [Decimal(repr(epsilon)) for number, epsilon in paid if first <= number < first + 5]
        assert sum(in_window) <= 1
    assert sum(epsilon for _, epsilon in paid) > 3  # something was spent


def test_counts_that_do_not_change_are_published_once() -> None:
    """500 in one cell: far from nothing at first, and then as published; without noise."""
    for scheme, first in (("bd", 0.25), ("ba", 0.125)):
        released = play(w_event(scheme=scheme, epsilon=1.0, window=4), [[4] * 8] * 500, RecordingNoise())
        assert [release.measured for release in released] == [True, *[False] * 7]
        assert released[0].noise_scale[0] == pytest.approx(1 / first)
        for release in released:
            assert release.count.tolist() == [0, 0, 0, 0, 500, 0, 0, 0, 0]


def test_nobody_anywhere_is_said_to_be_below_the_threshold() -> None:
    released = play(w_event(epsilon=1.0, window=4), [[AWAY] * 4], RecordingNoise())
    assert [release.count.sum() for release in released] == [0.0] * 4
    assert released[0].noise_scale[0] == 4.0  # counts may be as far from zero as new ones would have noise


def test_the_test_has_the_noise_of_its_price() -> None:
    silent = RecordingNoise()
    play(w_event(epsilon=1.0, window=4), [[0] * 4], silent)
    assert float(silent.laplaces[0][0][0]) == 8.0  # of the sum over cells: u = 1/8, one person changes it by 1


def test_a_window_longer_than_the_run_is_refused() -> None:
    with pytest.raises(UsageError, match="window: 9 releases are longer than the run, which has 8"):
        w_event(window=9).begin_series(8)


@pytest.mark.parametrize(
    ("scheme", "span", "epsilon"),
    [("bd", 1, 0.125 + 0.25), ("ba", 1, 0.625), ("bd", 4, 1.0), ("bd", 5, 2.0), ("ba", 32, 8.0)],
)
def test_what_someone_gets_who_is_always_there(scheme: str, span: int, epsilon: float) -> None:
    assert w_event(scheme=scheme, epsilon=1.0, window=4).presence_epsilon(span, 32) == pytest.approx(epsilon)
