"""How a region grows: its utility by brute force, its shape, and the order of its cells."""

from math import ceil, floor, hypot, log

import numpy as np
import pytest

from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.linear import Linear
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.acceptance.zipf import Zipf
from geodp.public.messages import Rectangle
from geodp.public.release import Cells
from geodp.server.acceptors import Look
from geodp.server.assignment.geocast import Geocast
from geodp.server.count_beliefs import believe_counts
from geodp.server.geocast_growth import Grown, Growth
from tests.server.cells import cells, grid_cells, tiled

LINEAR = Linear(mar=0.1, max_travel_m=1500.0, minimum_reward=0.0)
ACCEPTANCES = [
    LINEAR,
    Zipf(mar=0.6, max_travel_m=1500.0, minimum_reward=0.0),
    TanhReward(metres_per_reward=300.0, max_travel_m=1500.0, minimum_reward=0.0),
]
KEYS = ["distance", "utility", "compactness", "hybrid"]


def growth(release: Cells, acceptance: Acceptance = LINEAR, needed: int = 1, **fields: object) -> Growth:
    rules = Geocast.model_validate({"planning": "published", "target_success": 0.9, "max_recipients": None} | fields)
    belief = believe_counts(release) if rules.planning == "noise_aware" else None
    return rules.growth(release, acceptance, 1.0, needed, belief=belief)


def world(seed: int, cuts: int = 150) -> Cells:
    rng = np.random.default_rng(seed)
    rectangles = tiled(rng, cuts)
    return cells(rectangles, rng.gamma(0.7, 6.0, len(rectangles)) + rng.laplace(0, 2.0, len(rectangles)), 2.0)


def grown(rules: Growth, x_m: float, y_m: float) -> Grown:
    [start] = rules.graph.cells_of(np.array([x_m]), np.array([y_m]))
    return rules.grow(x_m, y_m, start)


def places(count: int, seed: int = 9) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.random.default_rng(seed).uniform(-1900, 1900, (count, 2))]


def utility(release: Cells, rectangles: tuple[Rectangle, ...], acceptance: Acceptance, x: float, y: float) -> float:
    """Return 1 - Π (1 - p)^⌊n⌋ from the release itself: every piece is looked up again by its middle."""
    refusal = 1.0
    for west, south, east, north in rectangles:
        [cell] = release.locate(np.array([(west + east) / 2]), np.array([(south + north) / 2]))
        area = (east - west) * (north - south)
        count = max(0, floor(release.count[cell] * area / release.area_m2[cell] + 1e-9))
        corners = [hypot(cx - x, cy - y) for cx in (west, east) for cy in (south, north)]
        refusal *= (1 - float(acceptance.probability(1.0, sum(corners) / 4))) ** count
    return 1 - refusal


def connected(rectangles: tuple[Rectangle, ...]) -> bool:
    """Tell whether one can walk from the first rectangle to all others through shared edges."""
    reached, waiting = {0}, [0]
    while waiting:
        a = rectangles[waiting.pop()]
        for other, b in enumerate(rectangles):
            across, along = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            if other not in reached and min(across, along) > -1e-6 and max(across, along) > 1e-6:
                reached.add(other)
                waiting.append(other)
    return len(reached) == len(rectangles)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("acceptance", ACCEPTANCES, ids=lambda acceptance: acceptance.kind)
def test_planned_success_without_a_partial_cell_is_brute_force(key: str, acceptance: Acceptance) -> None:
    release = world(1)
    rules = growth(release, acceptance, key=key, partial_cell=False)
    for x, y in places(40):
        region = grown(rules, x, y)
        assert region.success == pytest.approx(utility(release, region.rectangles, acceptance, x, y), abs=1e-9)
        assert len(region.steps) == len(region.rectangles)
        assert list(region.steps) == sorted(region.steps)


@pytest.mark.parametrize("planning", ["published", "plain", "noise_aware"])
@pytest.mark.parametrize("key", KEYS)
def test_regions_are_connected_hold_the_task_and_stay_inside_the_travel_square(key: str, planning: str) -> None:
    rules = growth(world(2), key=key, planning=planning)
    for x, y in places(60):
        region = grown(rules, x, y).rectangles
        assert connected(region)
        assert region[0][0] <= x <= region[0][2]
        assert region[0][1] <= y <= region[0][3]
        assert min(edges[0] for edges in region) >= x - 1500 - 1e-9
        assert min(edges[1] for edges in region) >= y - 1500 - 1e-9
        assert max(edges[2] for edges in region) <= x + 1500 + 1e-9
        assert max(edges[3] for edges in region) <= y + 1500 + 1e-9
        assert all(edges[0] < edges[2] and edges[1] < edges[3] for edges in region)


def test_the_walk_test_finds_a_region_that_is_torn() -> None:
    assert connected(((0, 0, 1, 1), (1, 0, 2, 1), (2, 0.5, 3, 2)))
    assert not connected(((0, 0, 1, 1), (1, 1, 2, 2)))  # a corner is no edge
    assert not connected(((0, 0, 1, 1), (1.5, 0, 2, 1)))


def test_the_target_is_reached_or_every_cell_within_reach_is_taken() -> None:
    rules = growth(world(3))
    for x, y in places(60):
        region = grown(rules, x, y)
        if region.success < 0.9:
            square = (min(x + 1500, 2000) - max(x - 1500, -2000)) * (min(y + 1500, 2000) - max(y - 1500, -2000))
            covered = sum((east - west) * (north - south) for west, south, east, north in region.rectangles)
            assert covered == pytest.approx(square, rel=1e-6)
    assert any(grown(rules, x, y).success >= 0.9 for x, y in places(60))


def test_the_last_cell_is_cut_to_the_published_share() -> None:
    """One cell of 2 km with 50 workers, d = 1,414 m to its corners, MTD 10 km: n = ⌈ln 0.1 / ln(1 - p)⌉ of 50."""
    release = grid_cells(np.array([[50.0]]), cell_m=2000.0)
    acceptance = Linear(mar=0.1, max_travel_m=10_000.0, minimum_reward=0.0)
    region = grown(growth(release, acceptance), 0.0, 0.0)
    probability = 0.1 * (1 - 1000 * 2**0.5 / 10_000)
    workers = ceil(log(0.1) / log(1 - probability))
    assert workers == 26
    [(west, south, east, north)] = region.rectangles
    assert (east - west) * (north - south) == pytest.approx(workers / 50 * 2000**2)
    assert (west + east, south + north) == pytest.approx((0.0, 0.0))
    assert region.success == pytest.approx(1 - (1 - probability) ** workers)
    assert region.success >= 0.9 > 1 - (1 - probability) ** (workers - 1)  # rounding down would miss the target


def test_a_last_cell_that_exceeds_the_target_by_little_stays_whole_as_published() -> None:
    """22 workers at p = 0.1 give 0.902 and 27 give 0.942, both under 0.9 + 0.05."""
    near = Linear(mar=0.1, max_travel_m=1e9, minimum_reward=0.0)
    for workers in (22.0, 27.0):
        [rectangle] = grown(growth(grid_cells(np.array([[workers]])), near), 0.0, 0.0).rectangles
        assert rectangle == (-500.0, -500.0, 500.0, 500.0)
    [cut] = grown(growth(grid_cells(np.array([[29.0]])), near), 0.0, 0.0).rectangles
    assert (cut[2] - cut[0]) ** 2 == pytest.approx(22 / 29 * 1e6)


@pytest.mark.parametrize("acceptance", ACCEPTANCES, ids=lambda acceptance: acceptance.kind)
def test_willingness_over_a_cell_is_its_mean_over_the_area(acceptance: Acceptance) -> None:
    """Four points come within 0.01 of the mean over 160,000; the published distance to corners is further off."""
    side = (np.arange(400) + 0.5) / 400
    rules, published = (growth(world(1), acceptance, planning=p) for p in ("plain", "published"))
    off = {"four": 0.0, "corners": 0.0}
    for west, south, east, north in [(-300, -300, 300, 300), (100, -200, 500, 400), (-900, 50, -400, 700)]:
        x, y = np.meshgrid(west + side * (east - west), south + side * (north - south))
        mean = float(acceptance.probability(1.0, np.hypot(x, y)).mean())
        _, four = rules.judge((west, south, east, north), 0.0, 0.0)
        _, corners = published.judge((west, south, east, north), 0.0, 0.0)
        off["four"], off["corners"] = off["four"] + abs(four - mean), off["corners"] + abs(corners - mean)
    assert off["four"] / 3 < 0.01 or acceptance.kind == "zipf"  # steps of a zipf law may fall between the points
    assert off["four"] < off["corners"]


def test_the_least_part_counts_on_the_nearer_workers_and_keeps_the_target() -> None:
    """A part of share s of n workers: (1 - s p(s))^n = 1 - target, with p the mean over the part itself."""
    release = grid_cells(np.array([[300.0]]), cell_m=10_000.0)
    acceptance = Linear(mar=0.1, max_travel_m=10_000.0, minimum_reward=0.0)
    published, least = (grown(growth(release, acceptance, planning=p), 0.0, 0.0) for p in ("published", "plain"))
    [rectangle] = least.rectangles
    share = (rectangle[2] - rectangle[0]) ** 2 / 1e8
    offset = rectangle[2] / 3**0.5  # Gauss's four points: all at the same distance here
    probability = float(acceptance.probability(1.0, hypot(offset, offset)))
    assert least.success == pytest.approx(1 - (1 - share * probability) ** 300)
    assert 0.9 <= least.success < 0.905
    assert share < 0.6 * (published.rectangles[0][2] - published.rectangles[0][0]) ** 2 / 1e8


def test_cells_come_by_distance_or_by_utility_and_empty_ones_last() -> None:
    counts = np.array([[0.0, 2.0, 0.0, 9.0], [3.0, 4.0, 5.0, -6.0], [0.0, 8.0, 0.0, 0.0]])
    release = grid_cells(counts)
    acceptance = Linear(mar=0.1, max_travel_m=9000.0, minimum_reward=0.0)
    task = (-500.0, 100.0)  # in the cell with 4 workers, nearer to the 8 in the north

    def order(key: str) -> list[float]:
        region = grown(growth(release, acceptance, key=key), *task).rectangles
        middle = np.array([((west + east) / 2, (south + north) / 2) for west, south, east, north in region])
        return [float(release.count[cell]) for cell in release.locate(middle[:, 0], middle[:, 1])]

    assert order("utility")[:5] == [4.0, 8.0, 5.0, 3.0, 2.0]
    by_distance = order("distance")
    assert by_distance[:3] == [4.0, 8.0, 3.0] or by_distance[:3] == [4.0, 8.0, 5.0]
    assert by_distance[4] == 2.0
    assert 9.0 in by_distance[6:]  # behind empty cells, which are taken when nothing else is left


def test_compact_regions_are_more_compact() -> None:
    import shapely

    release = world(5, cuts=400)
    acceptance = Linear(mar=0.05, max_travel_m=3000.0, minimum_reward=0.0)

    def compactness(key: str) -> float:
        shapes = [
            shapely.union_all([shapely.box(*edges) for edges in grown(rules, x, y).rectangles])
            for rules in [growth(release, acceptance, key=key, partial_cell=False)]
            for x, y in places(40)
        ]
        return float(np.mean(shapely.area(shapes) / (np.pi * shapely.minimum_bounding_radius(shapes) ** 2)))

    utility_alone, hybrid, compact = (compactness(key) for key in ("utility", "hybrid", "compactness"))
    assert utility_alone < hybrid <= compact + 0.02
    assert utility_alone < compact - 0.05


@pytest.mark.parametrize("planning", ["published", "noise_aware"])
def test_more_workers_per_task_need_a_larger_region(planning: str) -> None:
    release = world(6)
    acceptance = Linear(mar=0.3, max_travel_m=3000.0, minimum_reward=0.0)
    sizes = []
    for needed in (1, 2, 4):
        region = grown(growth(release, acceptance, needed, planning=planning), 100.0, -50.0)
        assert region.success >= 0.9 * (1 - 1e-9)
        sizes.append(sum((east - west) * (north - south) for west, south, east, north in region.rectangles))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_growth_looks_at_the_cells_it_takes_and_their_neighbours_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost follows the cells chosen, not the cells there are: the same looks on a small and on a large grid."""
    looks = []
    look = Growth.look

    def counting(self: Growth, cell: int, parent: int, x_m: float, y_m: float) -> Look | None:
        looks.append(cell)
        return look(self, cell, parent, x_m, y_m)

    monkeypatch.setattr(Growth, "look", counting)
    counted = []
    for side in (21, 101):
        looks.clear()
        region = grown(growth(grid_cells(np.full((side, side), 5.0))), 10.0, 20.0)
        counted.append((len(looks), len(region.rectangles)))
    assert counted[0] == counted[1]
    assert counted[0][0] <= 1 + 4 * counted[0][1]


def test_more_willing_workers_never_need_a_larger_region_when_noise_is_taken_into_account() -> None:
    """Where nearly everyone accepts, (1 - p)^N asks only whether cells are empty; plans must not run away there."""
    release = world(7)
    areas = []
    for mar in (0.1, 0.4, 0.7, 1.0):
        rules = growth(release, Linear(mar=mar, max_travel_m=3000.0, minimum_reward=0.0), planning="noise_aware")
        regions = [grown(rules, x, y).rectangles for x, y in places(30)]
        areas.append(sum((east - west) * (north - south) for region in regions for west, south, east, north in region))
    assert areas == sorted(areas, reverse=True)
