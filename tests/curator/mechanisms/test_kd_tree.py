import numpy as np
import pytest
from scipy import stats

from geodp import plugin
from geodp.curator.decomposition import Boxes, LatticeTable
from geodp.curator.mechanisms.kd_tree import choose_medians
from geodp.public.guarantee import Neighbours
from tests.curator.mechanisms.crowds import RecordingNoise, crowd, noise, without_first


@pytest.mark.parametrize(("neighbours", "change"), [(Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE, 2.0)])
def test_cuts_and_counts_of_a_path_spend_epsilon_together(neighbours: Neighbours, change: float) -> None:
    """Counts by their scales; a cut by how far one worker can move the log odds of two lines (twice, per level)."""
    mechanism, taken = plugin("kd_tree", epsilon=0.8, height=5, median_levels=2), crowd(4000)
    lattice = mechanism._lattice(taken.region, 5)
    sources = []
    for people in (taken, without_first(taken)):
        sources.append(RecordingNoise())
        mechanism._measure(Boxes.whole(lattice), LatticeTable.count(people, lattice), 5, neighbours, sources[-1])
    counts = sum(change / float(scale[0]) for scale, _ in sources[0].laplaces)
    first, other = (source.choices[0] for source in sources)
    moved = np.ptp((first - other)[first > -1e8])  # the worst pair of lines for one worker more
    assert moved * change == pytest.approx(mechanism._cut_epsilon(5), rel=1e-9)
    assert counts + 2 * 2 * moved * change == pytest.approx(0.8, rel=1e-9)


def test_a_cut_is_the_exponential_mechanism_over_the_lattice() -> None:
    """Chi-square at 1e-6 on 20,000 cuts of one line of ten squares."""
    people = np.array([0, 3, 0, 0, 9, 1, 0, 0, 2, 1.0])
    table = LatticeTable.of(people[None, :])
    boxes = 20_000
    low, high = np.zeros(boxes, dtype=np.int64), np.full(boxes, 10)
    zero, one = np.zeros((boxes, 1), dtype=np.int64), np.ones((boxes, 1), dtype=np.int64)
    cuts = choose_medians(low, high, lambda line: table.inside(zero, zero, line, one), 0.3, noise(1))
    west = np.cumsum(people)[:-1]
    weight = np.exp(-0.3 * np.abs(west - people.sum() / 2))
    seen = np.bincount(cuts, minlength=10)[1:]
    assert stats.chisquare(seen, boxes * weight / weight.sum()).pvalue > 1e-6


def test_cuts_lie_strictly_inside_and_one_square_is_not_cut() -> None:
    table = LatticeTable.of(np.ones((1, 6)))
    low, high = np.array([0, 2, 5]), np.array([2, 5, 6])
    zero, one = np.zeros((3, 1), dtype=np.int64), np.ones((3, 1), dtype=np.int64)
    cuts = choose_medians(low, high, lambda line: table.inside(low[:, None] + zero, zero, line, one), 1e-9, noise(2))
    assert cuts[0] == 1
    assert cuts[1] in (3, 4)
    assert cuts[2] == 5  # its low edge: left whole


def test_medians_find_the_middle_of_the_crowd_when_epsilon_is_large() -> None:
    taken = crowd(20_000)
    mechanism = plugin("kd_tree", epsilon=1000.0, height=1, median_levels=1)
    lattice = mechanism._lattice(taken.region, 1)
    levels = mechanism._measure(Boxes.whole(lattice), LatticeTable.count(taken, lattice), 1, 1.0, noise(3))
    assert levels[1].count == pytest.approx(np.full(4, 5000), abs=60)


def test_a_tree_deeper_than_the_lattice_measures_single_squares_again() -> None:
    """Every path has all levels, so it spends all of epsilon, also where a box cannot be cut any more."""
    mechanism = plugin("kd_tree", epsilon=1.0, height=4, median_levels=1)
    table = LatticeTable.of(np.array([[5.0, 0.0, 7.0], [1.0, 0.0, 2.0]]))
    root = Boxes(*(np.array([edge]) for edge in (0, 0, 3, 2)))
    levels = mechanism._measure(root, table, 4, 1.0, RecordingNoise())
    assert len(levels) == 5
    assert levels[-1].boxes.size == 6
    assert sorted(levels[-1].count) == [0.0, 0.0, 1.0, 2.0, 5.0, 7.0]
    assert all(level.count.sum() == 15 for level in levels)
