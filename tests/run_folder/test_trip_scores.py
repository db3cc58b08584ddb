"""Scores of synthetic trajectories: golden numbers of hand-made sets, and brute force."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from geodp.geometry import Grid
from geodp.run_folder.trip_scores import (
    SCORES,
    density_jsd,
    diameter_jsd,
    diameters_m,
    jsd,
    jsd_of_codes,
    kendall_tau,
    length_jsd,
    path_length_ratio,
    pattern_f1,
    query_are,
    query_are_pts,
    query_boxes,
    transition_jsd,
    trip_jsd,
)
from geodp.tables.trajectories.cell_ways import cell_ways
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips
from geodp.tables.trajectories.table import Trajectories, nobody
from tests.tables.trajectories.hand_made import BOX, table

HALF_AND_ALL = 0.2157615543  # divergence of (1/2, 1/2) and (1, 0)


def some_trips(seed: int) -> Trajectories:
    return generate_trips(TripSizes(people=30, trips=200, points=3_000, places=60), BOX, np.random.default_rng(seed))


def test_the_divergence_has_its_known_values() -> None:
    assert jsd([1, 0], [0, 3]) == pytest.approx(math.log(2))
    assert jsd([1, 1], [7, 0]) == pytest.approx(HALF_AND_ALL)
    assert jsd([2, 5], [4, 10]) == 0
    assert jsd([0, 0], [1, 1]) is None
    assert jsd_of_codes(np.array([9, 4]), np.array([4, 4, 4])) == pytest.approx(HALF_AND_ALL)


def test_equal_sets_score_as_equal_and_empty_ones_not_at_all() -> None:
    trips = some_trips(1)
    best = {"pattern_f1": 1.0, "kendall_tau": 1.0, "path_length_ratio": 1.0}
    for key, score in SCORES.items():
        assert score(trips, trips, BOX) == pytest.approx(best.get(key, 0.0)), key
        assert score(trips, nobody(), BOX) is None, key
        assert score(nobody(), trips, BOX) is None, key


def test_density_counts_points_in_cells_of_300_m() -> None:
    real = table([(0.1, 0.1), (0.4, 0.1)])
    assert density_jsd(real, table([(0.2, 0.2), (0.2, 0.25)]), BOX) == pytest.approx(HALF_AND_ALL)
    assert density_jsd(real, table([(0.2, 0.2), (0.5, 0.25)]), BOX) == 0


def test_trips_are_pairs_of_ends_in_cells_of_1_km() -> None:
    real = table([(0.5, 0.5), (3.5, 0.5)], [(0.5, 0.5), (5.5, 5.5)])
    assert trip_jsd(real, table([(0.9, 0.1), (2.2, 4.4), (3.1, 0.9)]), BOX) == pytest.approx(HALF_AND_ALL)
    assert trip_jsd(real, table([(3.5, 0.5), (0.5, 0.5)]), BOX) == pytest.approx(math.log(2))  # the way back is another


def test_lengths_and_diameters_have_20_bins_up_to_the_greatest_real_one_and_one_beyond() -> None:
    real = table([(0, 0), (2, 0)], [(0, 0), (0.05, 0)])  # bins of 100 m
    assert length_jsd(real, table([(1, 1), (2.95, 1)], [(0, 0), (0.09, 0)]), BOX) == 0
    assert length_jsd(real, table([(1, 1), (5, 1)], [(0, 0), (0.09, 0)]), BOX) == pytest.approx(math.log(2) / 2)
    there_and_back = table([(0, 0), (0.98, 0), (0, 0)], [(0, 0), (0, 0)])
    assert length_jsd(real, there_and_back, BOX) == 0
    assert diameter_jsd(real, there_and_back, BOX) == pytest.approx(math.log(2) / 2)
    beyond = table([(0, 0), (4, 0)], [(0, 0), (0, 5)])
    assert length_jsd(real, beyond, BOX) == pytest.approx(math.log(2))


def test_path_length_ratio_is_of_the_means() -> None:
    real = table([(0, 0), (1, 0)], [(0, 0), (3, 0)])
    assert path_length_ratio(real, table([(0, 0), (2, 0), (2, 1)]), BOX) == pytest.approx(1.5)
    assert path_length_ratio(table([(1, 1)]), real, BOX) is None


def test_patterns_are_runs_of_cells_with_the_cells_between_the_points() -> None:
    real = table([(0.5, 0.5), (3.5, 0.5)])  # cells 0 1 2 3: runs 01 12 23 012 123 0123
    assert pattern_f1(real, table([(0.5, 0.5), (1.5, 0.5), (2.5, 0.5), (3.5, 0.5)]), BOX) == 1
    # cells 0 1 2: runs 01 12 012, all three among the six: 2 * 3 / (6 + 3)
    assert pattern_f1(real, table([(0.5, 0.5), (2.5, 0.5)]), BOX) == pytest.approx(2 / 3)
    assert pattern_f1(real, table([(3.5, 0.5), (0.5, 0.5)]), BOX) == 0  # the way back is another
    assert pattern_f1(real, table([(0.5, 0.5), (0.6, 0.5)]), BOX) is None  # no run of two cells


def test_transitions_are_moves_between_cells_of_300_m() -> None:
    real = table([(0.1, 0.1), (0.7, 0.1)])  # two moves east
    assert transition_jsd(real, table([(0.2, 0.2), (0.5, 0.2)]), BOX) == pytest.approx(HALF_AND_ALL)
    assert transition_jsd(real, table([(0.2, 0.2), (0.4, 0.2), (0.5, 0.2), (0.8, 0.2)]), BOX) == 0


def test_tau_is_tau_b_over_400_cells() -> None:
    real = table([(0.1, 0.1)] * 3 + [(0.4, 0.1)] * 2)
    assert kendall_tau(real, table([(0.1, 0.1)] * 9 + [(0.4, 0.1)]), BOX) == pytest.approx(1)
    swapped = kendall_tau(real, table([(0.1, 0.1)] + [(0.4, 0.1)] * 2), BOX)
    # 398 empty cells tie on both sides: of the 797 pairs without a tie 796 agree and one does not.
    assert swapped == pytest.approx((796 - 1) / 797)


def test_queries_are_500_rectangles_inside_the_box() -> None:
    west, south, east, north = query_boxes(BOX)
    assert west.size == 500
    for side, whole in ((east - west, BOX.width_m), (north - south, BOX.height_m)):
        assert 0.05 <= side.min() / whole < 0.06
        assert 0.29 < side.max() / whole <= 0.30
    assert BOX.contains(west, south).all()
    assert BOX.contains(east, north).all()


def test_query_errors_agree_with_brute_force() -> None:
    real, made = some_trips(2), some_trips(3).select(np.arange(150))
    points, touching = [], []
    for west, south, east, north in zip(*query_boxes(BOX), strict=True):
        shares, numbers = [], []
        for trips in (real, made):
            inside = (trips.x_m >= west) & (trips.x_m <= east) & (trips.y_m >= south) & (trips.y_m <= north)
            shares.append(inside.mean())
            numbers.append(np.unique(trips.owner[inside]).size)
        points.append(abs(shares[0] - shares[1]) / max(shares[0], 0.01))
        touching.append(abs(numbers[0] - numbers[1]) / max(numbers[0], 0.01 * real.size))
    assert query_are_pts(real, made, BOX) == pytest.approx(np.mean(points))
    assert query_are(real, made, BOX) == pytest.approx(np.mean(touching))


def test_diameters_agree_with_all_pairs() -> None:
    rng = np.random.default_rng(4)
    circle = [(3 + math.cos(a), 3 + math.sin(a)) for a in np.linspace(0, 2 * math.pi, 901)]  # everyone is a candidate
    trips = table(
        circle, [(1, 1)], [(1, 1), (1, 1)], *([tuple(p) for p in rng.uniform(0, 6, (n, 2))] for n in range(2, 60))
    )
    for number, found in enumerate(diameters_m(trips)):
        points = slice(trips.first[number], trips.first[number + 1])
        pairs = pdist(np.column_stack([trips.x_m[points], trips.y_m[points]]))
        assert found == pytest.approx(np.max(pairs, initial=0.0))


@pytest.mark.parametrize("per_side", [6, 20])
def test_cells_passed_agree_with_a_walk_in_small_steps(per_side: int) -> None:
    rng = np.random.default_rng(5)
    trips = table(*([tuple(p) for p in rng.uniform(0, 6, (n, 2))] for n in range(1, 30)))
    grid = Grid.divide(BOX, per_side, per_side)
    first, cells = cell_ways(trips, grid)
    for number in range(trips.size):
        points = slice(trips.first[number], trips.first[number + 1])
        at = np.linspace(0, trips.counts[number] - 1, 10_000 * int(trips.counts[number]) + 1)
        x = np.interp(at, np.arange(trips.counts[number]), trips.x_m[points])
        y = np.interp(at, np.arange(trips.counts[number]), trips.y_m[points])
        walked = grid.locate(x, y)
        walked = walked[np.append(True, np.diff(walked) != 0)]
        found = cells[first[number] : first[number + 1]]
        assert found[0] == walked[0]
        assert found[-1] == walked[-1]
        missed = [cell for cell in found.tolist() if cell not in set(walked.tolist())]
        assert len(missed) <= 1  # a corner cut by less than a step of the walk
        if not missed:
            np.testing.assert_array_equal(found, walked)


def test_a_step_through_a_corner_and_points_on_lines_make_sense() -> None:
    grid = Grid(-3000, -3000, 1000, 1000, 6, 6)  # exact lines: the box of degrees is a rounding error off
    first, cells = cell_ways(
        table([(0.5, 0.5), (1.5, 1.5)], [(1, 0.5), (2, 0.5)], [(2, 0.5), (1, 0.5)], [(6, 6)]), grid
    )
    ways = [cells[first[i] : first[i + 1]].tolist() for i in range(4)]
    assert ways == [[0, 7], [1, 2], [2, 1], [35]]
