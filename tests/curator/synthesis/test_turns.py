"""Turns on a network: which there are, how they are counted, and what they cost."""

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.audit.kinds import audit_plugin
from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.turns import TURNS, count_turns, divide_network
from geodp.privacy.noise import SimulatedNoise
from geodp.public.streets import network_of_segments
from geodp.tables.trajectories.generated_trips import make_up_streets
from tests.curator.synthesis.small_town import TOWN, polyline, trips

LADDER = network_of_segments(
    np.array([0.0, 300, 600, 900, 0, 300, 600, 900]),
    np.array([0.0, 0, 0, 0, 100, 100, 100, 100]),
    np.array([0, 1, 2, 4, 5, 6, 0, 1, 2, 3]),
    np.array([1, 2, 3, 5, 6, 7, 4, 5, 6, 7]),
)
"""Two rows of four crossings, joined by rungs."""


def test_parts_are_as_large_as_one_another_and_turns_those_that_streets_allow() -> None:
    network = make_up_streets(TOWN)
    parts = divide_network(network, 11)
    sizes = np.bincount(parts.label)
    assert sizes.size == parts.count == 11
    assert sizes.max() <= 2 * sizes.min() + 1
    ends = zip(parts.label[network.tail].tolist(), parts.label[network.head].tolist(), strict=True)
    links = {(one, other) for pair in ends for one, other in (pair, pair[::-1]) if one != other}
    allowed = {(a, b, d) for a, b in links for c, d in links if b == c}
    assert parts.code.tolist() == sorted(a * 121 + b * 11 + c for a, b, c in allowed)


def test_turns_of_a_way_leave_out_stays_and_what_streets_do_not_join() -> None:
    parts = divide_network(LADDER, 4)
    a, b, c, d = parts.label[LADDER.nearest(np.array([0.0, 300, 600, 900]), np.zeros(4))].tolist()
    first = np.array([0, 5, 8, 9])
    owner, turn = parts.find_turns(first, np.array([a, a, b, c, b, a, d, c, a]))
    assert owner.tolist() == [0, 0]  # the second way jumps from one end to the other, the third has one point
    assert parts.code[turn].tolist() == [a * 16 + b * 4 + c, b * 16 + c * 4 + b]


def test_a_trip_counts_once_over_all_its_turns() -> None:
    across = polyline(*((float(x), 20.0) for x in range(0, 901, 100)))
    parts = EpsilonParts(SimulatedNoise(np.random.default_rng(0)), {TURNS: 1e6})
    turns = count_turns(across, LADDER, parts, 1e9)
    assert turns.noisy.sum() == pytest.approx(1.0, abs=1e-3)
    assert np.sort(turns.noisy)[-2:] == pytest.approx([0.5, 0.5], abs=1e-3)
    share = turns.share(np.ones(turns.noisy.size))
    assert share.sum() == pytest.approx(1.0)


def test_turns_are_a_part_of_the_ledger_on_streets_only() -> None:
    with pytest.raises(ValidationError, match="no effect without streets"):
        SyntheticTrips(turns_share=0.1)
    assert TURNS not in SyntheticTrips(streets="generated").parts()
    on_streets = SyntheticTrips(turns_share=0.1, streets="generated")
    assert on_streets.parts()[TURNS] == pytest.approx(0.1)
    assert sum(on_streets.parts().values()) == pytest.approx(1.0)
    _, receipts = on_streets.release_with_receipts(trips(), TOWN, SimulatedNoise(np.random.default_rng(0)))
    assert TURNS in {receipt.part for receipt in receipts}
    assert sum(receipt.epsilon for receipt in receipts) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_audit_follows_counts_of_turns() -> None:
    method = SyntheticTrips(streets="generated", turns_share=0.2)
    audit = audit_plugin(method, lambda _: SimulatedNoise(np.random.default_rng(1)), samples=1_000)
    assert not audit.refuted
    assert not audit.not_followed
