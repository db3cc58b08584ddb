"""Chen's prefix tree: constrained inference, the counts against brute force, and trips drawn from them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.curator.publications.prefix_tree import PrefixTree
from geodp.curator.synthesis.sequence_tree import SequenceModel, find_followed, fit_below, sequences_of
from geodp.geometry import Grid, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.trajectories.table import Trajectories

REGION = Region(-0.02, -0.02, 0.02, 0.02)


def trips(count: int, seed: int = 0) -> Trajectories:
    """Return trips that walk east through the middle, or north through it, two thirds and one third."""
    rng = np.random.default_rng(seed)
    half = 0.9 * REGION.width_m / 2
    x, y, first = [], [], [0]
    for _ in range(count):
        points = int(rng.integers(8, 20))
        along = np.linspace(-half, half * rng.uniform(0.2, 1.0), points)
        east = rng.random() < 2 / 3
        x.append(along if east else np.full(points, 50.0))
        y.append(np.full(points, 50.0) if east else along)
        first.append(first[-1] + points)
    people = np.array([f"p{number}" for number in range(count)], dtype=np.object_)
    time_s = np.concatenate([600.0 * number + 60.0 * np.arange(part.size) for number, part in enumerate(x)])
    return Trajectories(
        people=people,
        first=np.array(first),
        person=np.arange(count),
        time_s=time_s,
        x_m=np.concatenate(x),
        y_m=np.concatenate(y),
    )


def fitted(publication: PrefixTree, table: Trajectories) -> SequenceModel:
    model = publication.fit_model(table, REGION, SimulatedNoise(np.random.default_rng(1))).model
    assert isinstance(model, SequenceModel)
    return model


def test_seven_and_five_below_ten_become_six_and_four() -> None:
    assert fit_below(np.array([10.0]), np.array([7.0, 5.0]), np.array([0, 0])).tolist() == [6.0, 4.0]
    assert fit_below(np.array([10.0]), np.array([7.0, 2.0]), np.array([0, 0])).tolist() == [7.0, 2.0]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-50, 50)), max_size=30))
def test_children_never_exceed_their_parent_and_lose_equally(rows: list[tuple[int, float]]) -> None:
    parents = np.array([30.0, 0.0, 100.0, 5.0, 60.0])
    parent_of = np.array([parent for parent, _ in rows], dtype=np.int64)
    children = np.array([count for _, count in rows])
    found = fit_below(parents, children, parent_of)
    for parent in range(5):
        mine = parent_of == parent
        if not mine.any():
            continue
        assert found[mine].sum() <= parents[parent] + 1e-6
        lost = children[mine] - found[mine]
        assert lost == pytest.approx(np.full(mine.sum(), lost[0]))
        assert (lost[0] > 1e-9) == (children[mine].sum() > parents[parent] + 1e-9 * mine.sum()) or abs(lost[0]) < 1e-6


def test_without_noise_counts_are_those_of_all_beginnings() -> None:
    table = trips(200)
    publication = PrefixTree(epsilon=1e6, unit="trajectory", height=4, cells=6)
    model = fitted(publication, table)
    first, cell = sequences_of(table, model.grid)
    words = [tuple(cell[begin:end].tolist()) for begin, end in pairwise(first.tolist())]
    paths: list[tuple[int, ...]] = [()]
    for depth, level in enumerate(model.levels, start=1):
        paths = [
            (*(paths[parent] if depth > 1 else ()), here)
            for parent, here in zip(level.parent.tolist(), level.cell.tolist(), strict=True)
        ]
        begun = Counter(word[:depth] for word in words if len(word) >= depth)
        counted = dict(zip(paths, np.rint(level.count).astype(int).tolist(), strict=True))
        assert {path: count for path, count in counted.items() if count} == dict(begun)
    assert model.number == 200


def test_repeats_are_left_out_and_trips_stay_apart() -> None:
    grid = Grid(0.0, 0.0, 10.0, 10.0, columns=3, rows=1)
    table = Trajectories(
        people=np.array(["a", "b"], dtype=np.object_),
        first=np.array([0, 4, 6]),
        person=np.array([0, 1]),
        time_s=np.arange(6.0),
        x_m=np.array([1.0, 2.0, 15.0, 5.0, 5.0, 25.0]),
        y_m=np.full(6, 5.0),
    )
    first, cell = sequences_of(table, grid)
    assert (first.tolist(), cell.tolist()) == ([0, 3, 5], [0, 1, 0, 0, 2])


def test_drawn_trips_begin_as_the_counts_say() -> None:
    """Systematic draws: every node of the first three levels comes within one of its share."""
    model = fitted(PrefixTree(epsilon=1e6, unit="trajectory", height=3, cells=6), trips(300))
    drawn = model.draw(np.random.default_rng(2), 3000)
    first, cell = sequences_of(drawn, model.grid)
    assert drawn.first.size == 3001
    begun = Counter(tuple(cell[a : min(a + 2, b)].tolist()) for a, b in pairwise(first.tolist()))
    level, above = model.levels[1], model.levels[0]
    for parent, here, count in zip(level.parent.tolist(), level.cell.tolist(), level.count.tolist(), strict=True):
        assert begun[above.cell[parent], here] == pytest.approx(10 * count, abs=12)


def test_only_what_stands_out_is_followed() -> None:
    """Of 100,000 empty nodes with 64 siblings each, e^-3.47/2 = 1/64 pass on average; five standard deviations."""
    noisy = np.random.default_rng(3).laplace(0, 2.0, 100_000)
    share = find_followed(noisy, 2.0, 64).size / 100_000
    assert share == pytest.approx(1 / 64, abs=5 * np.sqrt(1 / 64 / 100_000))


def test_the_parts_are_the_whole_epsilon() -> None:
    publication = PrefixTree(epsilon=2.0, height=3)
    assert sum(publication.parts().values()) == pytest.approx(2.0)
    assert publication.guarantee().epsilon == 2.0
