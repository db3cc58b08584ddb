"""Cloaks: what each method promises of its rectangles, by brute force, and what they are worth."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.cloak import Cloak, cover_by_grid, cover_by_quadtree, find_cliques
from geodp.errors import DataError, NotReleasable
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.public.place_sets import Cloaks
from geodp.public.tree_metric import PublicTree

REGION = Region(10.0, 50.0, 10.05, 50.03)
SQUARE = PublicTree((0.0, 0.0, 800.0, 800.0), levels=3)


def noise(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def cloak(count: int, names: bool = True, **fields: object) -> Cloaks:
    x, y = REGION.sample(count, np.random.default_rng(3))
    who = np.array([f"w{(7 * number) % count:04d}" for number in range(count)])
    snapshot = Snapshot(0.0, x, y, REGION, 100.0, names=who if names else None)
    released = Cloak.model_validate(fields).release(snapshot, noise())
    assert isinstance(released, Cloaks)
    order = np.argsort(who) if names else np.argsort(np.arange(count).astype(str))
    found = {str(name): (float(x[row]), float(y[row])) for name, row in zip(np.sort(who), order, strict=True)}
    if names:  # everyone is inside her own rectangle
        places = np.array([found[name] for name in released.who.tolist()])
        assert (places[:, 0] >= released.west_m - 1e-6).all()
        assert (places[:, 0] <= released.east_m + 1e-6).all()
        assert (places[:, 1] >= released.south_m - 1e-6).all()
        assert (places[:, 1] <= released.north_m + 1e-6).all()
        assert (np.sort(released.who) == released.who).all()
    return released


def inside(x_m: Array, y_m: Array, edges: tuple[Array, Array, Array, Array], row: int) -> int:
    west, south, east, north = (float(edge[row]) for edge in edges)
    return int(np.count_nonzero((x_m >= west) & (x_m < east) & (y_m >= south) & (y_m < north)))


def test_a_and_b_hide_each_other_and_c_alone_sends_the_square_above() -> None:
    """Two in one quarter of a square, one in the next, k = 2: the square above holds three, and one sends it."""
    x_m, y_m = np.array([10.0, 20.0, 150.0]), np.array([10.0, 20.0, 10.0])
    west, south, east, north = cover_by_quadtree(SQUARE, x_m, y_m, 2)
    assert (east - west).tolist() == [100.0, 100.0, 200.0]
    assert (west == 0).all()
    assert (south == 0).all()
    assert north[2] == 200.0
    snapshot = Snapshot(0.0, *REGION.sample(50, np.random.default_rng(1)), REGION, 50.0)
    assert Cloak(k=5).release(snapshot, noise()).guarantee.unit is Unit.NOTHING


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_the_quadtree_gives_the_smallest_square_with_k_people(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x_m, y_m = rng.normal(400, 150, (2, 30)).clip(0, 799.9)
    edges = cover_by_quadtree(SQUARE, x_m, y_m, k)
    for row in range(30):
        for level in range(SQUARE.levels + 1):
            side = 100.0 * 2**level
            west, south = np.floor(x_m[row] / side) * side, np.floor(y_m[row] / side) * side
            held = np.count_nonzero((x_m // side == west / side) & (y_m // side == south / side))
            if held >= k:
                break
        assert (edges[0][row], edges[1][row], edges[2][row]) == (west, south, west + side)


@given(st.integers(0, 10_000), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_the_grid_adds_rows_and_columns_no_longer_than_it_must(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    grid = Grid(0.0, 0.0, 100.0, 100.0, columns=8, rows=6)
    x_m, y_m = rng.random(40) * 800, rng.random(40) * 600
    edges = cover_by_grid(grid, x_m, y_m, k)
    for row in range(40):
        west, south, east, north = (float(edge[row]) for edge in edges)
        assert west <= x_m[row] <= east
        assert south <= y_m[row] <= north
        assert min(west, south) >= 0
        assert east <= 800
        assert north <= 600
        assert inside(x_m, y_m, edges, row) >= k
        if east - west == 100 and north - south == 100:
            continue
        # before the last row or column was added there were fewer than k
        cut = [(west + 100, south, east, north), (west, south, east - 100, north)] if east - west > 100 else []
        cut += [(west, south + 100, east, north), (west, south, east, north - 100)] if north - south > 100 else []
        smaller = [inside(x_m, y_m, tuple(np.array([edge]) for edge in box), 0) for box in cut]  # type: ignore[arg-type]
        assert min(smaller) < k


def test_same_cells_get_the_same_rectangle_and_more_people_come_first() -> None:
    grid = Grid(0.0, 0.0, 100.0, 100.0, columns=3, rows=1)
    west, _, east, _ = cover_by_grid(grid, np.array([150.0, 250.0, 260.0, 50.0]), np.full(4, 50.0), 3)
    assert (west[0], east[0]) == (100.0, 300.0), "two in the east, one in the west"


def brute_cliques(x: Array, y: Array, arrived: Array, k: int, reach: float, wait: float) -> list[frozenset[int]]:
    """Whoever comes looks at all groups of k among those who still wait, and leaves with the smallest box."""
    waiting: list[int] = []
    found = []
    for new in np.argsort(arrived, kind="stable").tolist():
        waiting = [one for one in waiting if arrived[one] >= arrived[new] - wait]
        groups = [
            [new, *others]
            for others in combinations(waiting, k - 1)
            if all(max(abs(x[a] - x[b]), abs(y[a] - y[b])) <= reach for a, b in combinations([new, *others], 2))
        ]
        if groups:
            best = min(groups, key=lambda group: float(np.ptp(x[group]) + np.ptp(y[group])))
            found.append(frozenset(best))
            waiting = [one for one in waiting if one not in best]
        else:
            waiting.append(new)
    return found


@given(st.integers(0, 100_000), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_cliques_are_those_of_a_search_through_all_groups(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, arrived = rng.random(18) * 300, rng.random(18) * 300, rng.random(18) * 100
    reach, wait = float(rng.uniform(20, 200)), float(rng.uniform(5, 120))
    found = find_cliques(x, y, arrived, k=k, reach_m=reach, wait_s=wait)
    assert [frozenset(group.tolist()) for group in found] == brute_cliques(x, y, arrived, k, reach, wait)


def test_every_method_hides_each_person_in_her_rectangle_under_her_name() -> None:
    for method in ("quadtree", "grid"):
        released = cloak(300, method=method, k=5)
        assert released.size == 300
        assert released.k == 5
    shared = cloak(300, method="clique", k=3, reach_m=800.0, wait_s=600.0)
    assert 100 < shared.size <= 300
    assert shared.size % 3 == 0
    assert (shared.count_senders() >= 3).all(), "a clique's box is sent by all of it"


def test_of_ten_thousand_people_about_a_twentieth_send_a_cloak_that_fewer_than_k_send() -> None:
    """People about one centre (spread .15 of the side), k from 5 to 50."""
    rng = np.random.default_rng(0)
    places = rng.normal(0.5, 0.15, (2, 10_000))
    x_m, y_m = places[:, ((places > 0) & (places < 1)).all(axis=0)] * 1000
    tree = PublicTree((0.0, 0.0, 1000.0, 1000.0), levels=10)
    below = []
    for k in (5, 10, 20, 30, 40, 50):
        edges = np.column_stack(cover_by_quadtree(tree, x_m, y_m, k))
        _, same, senders = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
        below.append(float(np.mean(senders[same.ravel()] < k)))
    assert 0.03 < np.mean(below) < 0.07
    assert all(0.01 < share < 0.12 for share in below)


def test_what_cannot_be_is_refused_and_nothing_is_released() -> None:
    with pytest.raises(DataError, match="8 people are fewer than k = 9.*Nothing was released"):
        cloak(8, k=9)
    with pytest.raises(ValidationError, match="greater than 0"):
        Cloak(method="clique", wait_s=0.0)
    pytest.importorskip("opendp")
    from geodp.privacy.release_noise import ReleaseNoise

    snapshot = Snapshot(0.0, *REGION.sample(50, np.random.default_rng(1)), REGION, 50.0)
    with pytest.raises(NotReleasable, match="no ε is claimed"):
        Cloak().release(snapshot, ReleaseNoise())
