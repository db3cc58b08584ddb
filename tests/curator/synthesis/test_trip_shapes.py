"""Departures of synthetic trips: as fine as the noise allows, so that rush hours show even where it is wide."""

import numpy as np
import pytest

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES, count_timing
from geodp.errors import GeodpError
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.trajectories.table import Trajectories

HOUR_S = 3600.0


def commuters(count: int = 4000) -> Trajectories:
    """Return trips of two points: half of them depart from 6 to 9 o'clock, half from 16 to 19."""
    rng = np.random.default_rng(0)
    departures = HOUR_S * (np.where(np.arange(count) % 2, 6, 16) + rng.uniform(0, 3, count))
    time_s = np.column_stack([departures, departures + 600]).ravel()
    people = np.array([f"{number}" for number in range(count)], dtype=np.object_)
    places = np.zeros(2 * count)
    return Trajectories(people, np.arange(0, 2 * count + 1, 2), np.arange(count), time_s, places, places)


@pytest.mark.parametrize("scale", [1.0, 40.0, 100.0, 5000.0])
def test_rush_hours_show_where_the_noise_lets_them(scale: float) -> None:
    """Bins are as many as can hold six scales of their noise on average: half-hours at most, four quarters at least."""
    world, total = commuters(), 4000.0
    parts = EpsilonParts(SimulatedNoise(np.random.default_rng(1)), dict.fromkeys((DEPARTURES, PACES), 1 / scale))
    timing = count_timing(world, world.counts, parts, total=total, period_s=86_400.0)
    bins = timing.departures.counts.size
    assert total / bins >= 6 * scale or bins == 4
    assert total / (bins + 1) < 6 * scale or bins == 48
    if bins == 4:  # quarters of a day tell nothing about rush hours
        return
    first = np.arange(0, 2 * 5000 + 1, 2)
    hours = timing.times(first, np.random.default_rng(2))[first[:-1]] / HOUR_S
    wide = 24 / bins
    for begin in (6, 16):
        there = np.mean((hours >= begin - wide) & (hours <= begin + 3 + wide))
        assert there == pytest.approx(0.5, abs=0.2)


def test_a_part_of_the_budget_is_paid_out_once() -> None:
    parts = EpsilonParts(SimulatedNoise(np.random.default_rng(1)), {PACES: 0.5}, crowd=3)
    assert parts.add_noise(PACES, np.zeros(4)).size == 4
    assert [(receipt.part, receipt.epsilon, receipt.scale) for receipt in parts.receipts] == [(PACES, 0.5, 6.0)]
    for part in (PACES, DEPARTURES):
        with pytest.raises(GeodpError, match="no share of the budget left"):
            parts.add_noise(part, np.zeros(4))
