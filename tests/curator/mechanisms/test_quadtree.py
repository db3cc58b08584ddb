import numpy as np
import pytest

from geodp import plugin
from geodp.curator.decomposition import Boxes, LatticeTable
from geodp.curator.mechanisms.quadtree import Quadtree
from geodp.curator.tree_mechanism import reconcile_levels
from geodp.registry import PublicFacts
from tests.curator.mechanisms.crowds import RecordingNoise, crowd, noise, without_first


def test_the_geometric_budget_is_the_published_one_and_adds_up() -> None:
    """ε_i = 2^((h-i)/3) ε (2^(1/3) - 1) / (2^((h+1)/3) - 1), leaves i = 0."""
    height, epsilon = 5, 0.7
    made = plugin("quadtree", epsilon=epsilon)._level_epsilons(height)
    published = [
        2 ** ((height - i) / 3) * epsilon * (2 ** (1 / 3) - 1) / (2 ** ((height + 1) / 3) - 1) for i in range(6)
    ]
    assert made == pytest.approx(published[::-1])
    assert sum(made) == pytest.approx(epsilon, rel=1e-12)
    assert plugin("quadtree", epsilon=epsilon, budget="uniform")._level_epsilons(6) == pytest.approx([0.1] * 7)


def test_every_path_spends_epsilon_wherever_the_worker_is() -> None:
    """One worker less changes one count per level by one: the changes in units of the scales add up to epsilon."""
    mechanism, taken = plugin("quadtree", epsilon=0.9, height=5), crowd(2000)
    lattice = mechanism._lattice(taken.region, 5)
    made = []
    for people in (taken, without_first(taken)):
        table, source = LatticeTable.count(people, lattice), RecordingNoise()
        made.append(mechanism._measure(Boxes.whole(lattice), table, 5, 1.0, source))
        assert sum(1 / float(scale[0]) for scale, _ in source.laplaces) == pytest.approx(0.9, rel=1e-12)
        assert [size for _, size in source.laplaces] == [4**depth for depth in range(6)]
    spent = [np.abs(more.count - less.count).sum() / more.scale for more, less in zip(made[0], made[1], strict=True)]
    assert sum(spent) == pytest.approx(0.9, rel=1e-12)


def test_the_height_is_the_first_that_reaches_the_guideline() -> None:
    def height(workers: float, epsilon: float, side_m: float = 1e5) -> int | None:
        return Quadtree(epsilon=epsilon).resolve(PublicFacts(workers, 0, 1, 0, side_m, side_m)).height

    assert height(70_000, 0.4) == 6  # 52.9 cells per side, so 64
    assert height(1_000_000, 1.0) == 9
    assert height(10, 0.1) == 1
    assert height(70_000, 0.4, side_m=170.0) == 4  # cells of at least 10 m


def test_agreement_lowers_the_error_of_the_leaves() -> None:
    """Mean square error over all leaves of 20 trees; the stated variances say what is to be expected, within 10 %."""
    mechanism, taken = plugin("quadtree", epsilon=0.5, height=4), crowd(3000)
    lattice = mechanism._lattice(taken.region, 4)
    table = LatticeTable.count(taken, lattice)
    raw, better, stated = [], [], 0.0
    for seed in range(20):
        levels = mechanism._measure(Boxes.whole(lattice), table, 4, 1.0, noise(seed))
        made, true = reconcile_levels(levels)[-1], table.within(levels[-1].boxes)
        raw.append(np.mean((levels[-1].count - true) ** 2))
        better.append(np.mean((made.value - true) ** 2))
        stated = float(np.mean(2 * made.second))
    assert np.mean(better) < 0.9 * np.mean(raw)
    assert np.mean(better) == pytest.approx(stated, rel=0.1)


def test_few_people_make_large_cells_and_crowds_small_ones() -> None:
    taken = crowd(20_000)
    release = plugin("quadtree", epsilon=1.0, height=7).release(taken, noise(0))
    downtown, outskirts = (release.area_m2[release.locate([x], [y])[0]] for x, y in ((0.0, 500.0), (5500.0, -5500.0)))
    assert outskirts > 15 * downtown


def test_an_epsilon_beyond_all_reason_gives_a_height_within_bounds() -> None:
    facts = PublicFacts(1e4, 0, 1, 0, 1000.0, 1000.0)
    assert Quadtree(epsilon=1.5e308).resolve(facts).height == 6  # cells of at least 10 m
