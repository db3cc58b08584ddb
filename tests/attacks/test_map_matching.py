"""Following reports along streets: distances along them, and what the map is worth at which noise."""

import math

import numpy as np
import pytest

from geodp.attacks import AttackView
from geodp.attacks.map_matching import MapMatching, StreetPoints, follow_streets
from geodp.attacks.traces import Background
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.public.channels import PlanarLaplaceChannel
from geodp.public.guarantee import Guarantee
from geodp.public.release import Points
from geodp.public.streets import StreetNetwork, network_of_segments

REGION = Region(10.0, 50.0, 10.04, 50.025)
BLOCK_M, SIDE, TIMES = 200.0, 10, 20


def blocks() -> StreetNetwork:
    """A town of square blocks."""
    node = np.arange((SIDE + 1) ** 2)
    x, y = node % (SIDE + 1), node // (SIDE + 1)
    east, north = node[x < SIDE], node[y < SIDE]
    tail, head = np.concatenate([east, north]), np.concatenate([east + 1, north + SIDE + 1])
    east_m, north_m = (x * BLOCK_M).astype(np.float64), (y * BLOCK_M).astype(np.float64)
    return network_of_segments(east_m, north_m, tail, head)


def walk(people: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People who walk 50 m a step along streets, turning at corners at random."""
    x, y = np.empty((people, TIMES)), np.empty((people, TIMES))
    for person in range(people):
        at, way = rng.integers(2, SIDE - 1, 2) * BLOCK_M, np.array([1.0, 0.0])
        for step in range(TIMES):
            if np.all(np.mod(at, BLOCK_M) == 0):
                ways = [w for w in ((1, 0), (-1, 0), (0, 1), (0, -1)) if tuple(w) != tuple(-way)]
                ways = [w for w in ways if np.all(at + np.multiply(w, BLOCK_M) >= 0)]
                ways = [w for w in ways if np.all(at + np.multiply(w, BLOCK_M) <= SIDE * BLOCK_M)]
                way = np.array(ways[rng.integers(len(ways))], dtype=float)
            at = at + way * 50.0
            x[person, step], y[person, step] = at
    return x, y


def test_distances_along_streets_go_round_blocks() -> None:
    points = StreetPoints(blocks(), 50.0)
    chosen, route = points.select((-1.0, -1.0, 401.0, 401.0))
    x, y = points.x_m[chosen], points.y_m[chosen]
    middle = np.flatnonzero((x == 100) & (y == 0))[0]
    across = np.flatnonzero((x == 100) & (y == 200))[0]
    assert route[middle, across] == pytest.approx(400.0)  # 200 m as the crow flies
    assert route.max() <= 800.0 + 1e-9
    assert np.all((np.mod(x, BLOCK_M) == 0) | (np.mod(y, BLOCK_M) == 0))
    assert points.select((900.0, 900.0, 900.5, 900.5))[0].size == 0


def test_two_points_by_hand() -> None:
    """Two points, one step that stays with .75: P(0 at first | 0 seen with .8, then 1 with .6)."""
    stays = np.array([[0.75, 0.25], [0.25, 0.75]])
    belief = follow_streets(np.array([[0.8, 0.2], [0.4, 0.6]]), [stays])
    first = 0.8 * (0.75 * 0.4 + 0.25 * 0.6)
    other = 0.2 * (0.25 * 0.4 + 0.75 * 0.6)
    assert belief[0, 0] == pytest.approx(first / (first + other))


def test_streets_help_where_noise_is_narrower_than_blocks() -> None:
    rng = np.random.default_rng(3)
    network, found = blocks(), {}
    true_x, true_y = walk(12, rng)
    who = np.array([f"p{number:02d}" for number in range(12)])
    for per_m in (50.0, 200.0):
        rate = math.log(4) / per_m
        radius, angle = rng.gamma(2, 1 / rate, true_x.shape), rng.uniform(0, 2 * np.pi, true_x.shape)
        x, y = true_x + radius * np.cos(angle), true_y + radius * np.sin(angle)
        releases = [
            Points(
                time_s=50.0 * t,
                mechanism="planar_laplace",
                guarantee=Guarantee.none("a test"),
                who=who,
                x_m=x[:, t],
                y_m=y[:, t],
                channel=PlanarLaplaceChannel(rate),
                floor_per_m2=0.0,
            )
            for t in range(TIMES)
        ]
        attack = MapMatching(speed_mps=1.0)
        guesses = attack.guess(AttackView(REGION, releases, background=Background(streets=network)))
        error = np.hypot(guesses.x_m - true_x.T.ravel(), guesses.y_m - true_y.T.ravel()).mean()
        found[per_m] = (np.hypot(x - true_x, y - true_y).mean(), error)
        with pytest.raises(DataError, match="needs the street map"):
            attack.guess(AttackView(REGION, releases))
    assert found[50.0][1] < 0.6 * found[50.0][0]
    assert found[50.0][1] < 40.0
    assert found[200.0][1] > 2 * found[50.0][1]
