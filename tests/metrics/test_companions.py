"""What is told about people who move together, and about one person over time: theory, page C's numbers, paper."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from geodp.geometry import Grid
from geodp.metrics.companions import CompanionAdvantage, TemporalLeakage, expect_advantage
from geodp.metrics.intervals import Measured
from geodp.metrics.temporal_leakage import measure_leakage
from geodp.public.guarantee import Neighbours, Unit
from geodp.public.release import GridCells
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.release_store import write_release
from tests.metrics.hand_made import SNAPSHOT, release

Table = npt.NDArray[np.float64]
ADVANTAGE = "companion_advantage"
TOGETHER = "{kind: companions, sizes: {1: 0.4, 2: 0.3, 4: 0.3}}"
WIDE = 60
SIGMAS = 5.0  # false alarm 6e-7


def move_by(run: RunFolder, mobility: str) -> RunFolder:
    """Let people of a run move in another way (for metrics that read the scenario)."""
    file = run.path / "scenario.yaml"
    text = re.sub(r"  mobility: .*\n", "", file.read_text())
    file.write_text(text.replace("workers:\n", f"workers:\n  mobility: {mobility}\n"))
    return RunFolder(run.path)


def write_releases(run: RunFolder, releases: list[GridCells], true: npt.NDArray[np.int64] | None = None) -> RunFolder:
    for old in [*(run.path / "releases").iterdir(), *(run.path / "truth/counts").iterdir()]:
        old.unlink()
    for index, each in enumerate(releases):
        counts = np.zeros(each.count.size, dtype=np.int64) if true is None else true
        write_release(run.path / "releases", index, each)
        pd.DataFrame({"count": counts}).to_parquet(run.path / f"truth/counts/{index:04d}.parquet")
    return RunFolder(run.path)


def draw_release(number: int, scale: float, neighbours: Neighbours) -> GridCells:
    """Return counts of 3,600 cells, with nobody there, and noise of a scale."""
    grid = Grid(-1000.0, -500.0, 10.0, 10.0, columns=WIDE, rows=WIDE)
    west, south, east, north = grid.edges()
    noise = np.random.default_rng([3, number]).laplace(0.0, scale, WIDE**2)
    promise = replace(SNAPSHOT, neighbours=neighbours)
    return replace(
        release([0.0, 0.0], time_s=60.0 * number, guarantee=promise),
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=noise,
        noise_scale=np.full(WIDE**2, scale),
        grid=grid,
    )


def measure(run: RunFolder) -> dict[str, Measured]:
    return CompanionAdvantage().measure(run)


@pytest.mark.parametrize(
    ("people", "told", "told_when_replaced"), [(1, 0.1393, 0.0747), (2, 0.2592, 0.1481), (4, 0.4512, 0.2865)]
)
def test_what_page_c_says_of_households_at_epsilon_0_3(people: int, told: float, told_when_replaced: float) -> None:
    epsilon = 0.3
    assert expect_advantage(people, 1 / epsilon) == pytest.approx(1 - np.exp(-people * epsilon / 2))
    assert expect_advantage(people, 1 / epsilon) == pytest.approx(told, abs=5e-5)
    assert expect_advantage(people, 2 / epsilon, replaced=True) == pytest.approx(told_when_replaced, abs=5e-5)
    assert expect_advantage(people, people / epsilon) == pytest.approx(0.1393, abs=5e-5), "noise for all of them"


@pytest.mark.parametrize(("people", "scale"), [(1, 20 / 3), (4, 20 / 3), (5, 1.3)])
def test_between_two_cells_it_is_the_distance_of_both_laws(people: int, scale: float) -> None:
    """Half the integral of |f - g| over two noisy counts, by the middles of small squares."""
    step = scale / 40
    z = np.arange(-25 * scale, 25 * scale + people, step) + step / 2
    without, with_ = (np.exp(-np.abs(z - there) / scale) / (2 * scale) for there in (0, people))
    distance = 0.5 * np.abs(np.outer(with_, without) - np.outer(without, with_)).sum() * step**2
    assert expect_advantage(people, scale, replaced=True) == pytest.approx(distance, rel=2e-3)


def test_four_errors_on_paper(copied: RunFolder) -> None:
    """Errors 2, -3, 1 and 0: a household of k is told apart where the error is at most k/2."""
    found = measure(move_by(copied, TOGETHER))
    assert (found[ADVANTAGE].value, found[f"{ADVANTAGE}_of_2_people"].value) == (0.75, 0.5)
    assert found[f"{ADVANTAGE}_of_1_people"].value == 0.25
    assert found[f"{ADVANTAGE}_theory"].value == pytest.approx(0.4512, abs=5e-5)
    # both releases: 2·(2 + 4) - 2·4 and 2·(1 + 4) - 2·4 clipped to ±4 are 4 + 4 where it is, 0 - 2 where it is not;
    # with -3 and 0: -2 + 4 where it is, -4 - 4 where it is not: both cells tell
    assert found[f"{ADVANTAGE}_whole_run"].value == 1.0


@pytest.mark.parametrize("household", [1, 4])
@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_what_is_measured_is_what_theory_says(copied: RunFolder, neighbours: Neighbours, household: int) -> None:
    """Twelve releases of 3,600 cells: 43,200 trials, or half as many between two cells."""
    replaced = neighbours is Neighbours.REPLACE
    scale, releases = (2 if replaced else 1) * household / 0.3, 12
    drawn = [draw_release(number, scale, neighbours) for number in range(releases)]
    run = write_releases(move_by(copied, TOGETHER), drawn)
    found = measure(run)
    trials = releases * WIDE**2 // (2 if replaced else 1)
    for people, name in ((1, f"{ADVANTAGE}_of_1_people"), (2, f"{ADVANTAGE}_of_2_people"), (4, ADVANTAGE)):
        theory = expect_advantage(people, scale, replaced=replaced)
        # every trial counts 0, 1/2 or 1: no more spread than one yes or no with the advantage as its chance
        assert found[name].value == pytest.approx(theory, abs=SIGMAS * np.sqrt(max(theory, 0.1) / trials))
    assert found[f"{ADVANTAGE}_theory"].value == pytest.approx(expect_advantage(4, scale, replaced=replaced))


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_all_releases_together_tell_what_the_sum_of_their_log_ratios_does(
    copied: RunFolder, neighbours: Neighbours
) -> None:
    """A second way: the advantage is E|P(in | z) - P(out | z)| = E|tanh(L/2)| over even odds, which has no ties."""
    replaced, releases, people = neighbours is Neighbours.REPLACE, 4, 4
    scale = (2 if replaced else 1) / 0.3
    drawn = [draw_release(number, scale, neighbours) for number in range(releases)]
    found = measure(write_releases(move_by(copied, TOGETHER), drawn))
    rng, trials = np.random.default_rng(9), 400_000

    def tell(there: float) -> Table:
        z = there + rng.laplace(0.0, scale, (releases, trials))
        return np.asarray(((np.abs(z) - np.abs(z - people)) / scale).sum(axis=0))

    told = tell(people) - (tell(0.0) if replaced else 0.0)  # who is not there: the same by symmetry
    expected = np.abs(np.tanh(told / 2)).mean()
    cells = WIDE**2 // (2 if replaced else 1)
    assert found[f"{ADVANTAGE}_whole_run"].value == pytest.approx(expected, abs=SIGMAS / 2 / np.sqrt(cells))


def test_ties_are_ties_whatever_rounding_does(copied: RunFolder) -> None:
    """Errors beyond all households, where 4 more is rounded: counts say the same of two cells, and nothing is told."""
    drawn = [draw_release(number, 5.0, Neighbours.REPLACE) for number in range(2)]
    beyond = [replace(each, count=-4.1 - np.abs(each.count)) for each in drawn]
    found = measure(write_releases(move_by(copied, TOGETHER), beyond))
    assert (found[ADVANTAGE].value, found[f"{ADVANTAGE}_whole_run"].value) == (0.0, 0.0)


def test_no_advantage_is_measured_where_nobody_moves_together_or_nothing_is_noisy(copied: RunFolder) -> None:
    assert measure(copied) == {}
    assert measure(move_by(copied, "{kind: companions, sizes: {1: 1.0}}")) == {}
    silent = [replace(each, measured=False) for each in copied.releases if isinstance(each, GridCells)]
    assert measure(write_releases(copied, silent)) == {}


def walk(run: RunFolder, places: npt.NDArray[np.int64], *, every_s: float, epsilon: float = 0.1) -> RunFolder:
    """Let a sample of people be in the western or the eastern cell (a row each), and release at every column."""
    people, steps = places.shape
    rows = {
        "worker": np.repeat(np.arange(people), steps),
        "time_s": np.tile(every_s * np.arange(steps), people),
        "x_m": np.where(places.ravel() == 0, -2000.0, 2000.0),
        "y_m": 0.0,
        "busy": False,
    }
    pd.DataFrame(rows).to_parquet(run.path / "truth/paths.parquet")
    promise = replace(SNAPSHOT, epsilon=epsilon)
    made = [release([1.0, 1.0], time_s=every_s * step, guarantee=promise) for step in range(steps)]
    return write_releases(move_by(run, "{kind: random_waypoint}"), made)


def stay_nine_times_of_ten(people: int, steps: int) -> npt.NDArray[np.int64]:
    """Return places of which exactly a tenth change at every step, as many from either side."""
    place = np.repeat([0, 1], people // 2)
    rng, places = np.random.default_rng(1), [place]
    for _ in range(steps - 1):
        place = place.copy()
        moved = [rng.choice(np.flatnonzero(places[-1] == side), people // 20, replace=False) for side in (0, 1)]
        place[moved[0]], place[moved[1]] = 1, 0
        places.append(place)
    return np.array(places).T


def test_leakage_of_the_pages_two_places_at_the_worst_of_ten_releases(copied: RunFolder) -> None:
    run = walk(copied, stay_nine_times_of_ten(4000, 10), every_s=60.0)
    found = TemporalLeakage().measure(run)["temporal_leakage"].value
    # 18,000 moves from each place, and one more of which half stay: 16,200.5 of 18,001
    stays = 16_200.5 / 18_001
    assert found == pytest.approx(measure_leakage([[stays, 1 - stays], [1 - stays, stays]], [0.1] * 10).max())
    assert found == pytest.approx(0.602395, abs=2e-4)


def test_leakage_lies_between_one_release_and_all(copied: RunFolder) -> None:
    coin = np.random.default_rng(4).integers(0, 2, (3000, 6))
    apart = TemporalLeakage().measure(walk(copied, coin, every_s=60.0))["temporal_leakage"].value
    assert apart is not None
    # 15,000 moves: chances of one half within 5 standard errors of .006; each of five steps adds ε·|p - q| at most
    assert 0.1 <= apart < 0.1 + 5 * 0.1 * 2 * SIGMAS * 0.006
    still = np.repeat([[0], [1]], 3000, axis=0) * np.ones((1, 6), dtype=np.int64)
    together = TemporalLeakage().measure(walk(copied, still, every_s=60.0))["temporal_leakage"].value
    assert together == pytest.approx(0.6, abs=1e-3)


def test_a_repeated_release_costs_nothing_and_positions_are_read_between(copied: RunFolder) -> None:
    run = walk(copied, np.repeat([[0], [1]], 500, axis=0) * np.ones((1, 5), dtype=np.int64), every_s=60.0)
    told = [each for each in run.releases if isinstance(each, GridCells)]
    spared = [replace(each, time_s=each.time_s / 2 + 10, measured=number < 2) for number, each in enumerate(told)]
    found = TemporalLeakage().measure(write_releases(run, spared))["temporal_leakage"].value
    assert found == pytest.approx(0.2, abs=1e-3), "two looked, three showed the same again"


@pytest.mark.parametrize("change", ["one release", "static", "window", "whole run"])
def test_no_leakage_is_measured_where_the_question_makes_no_sense(copied: RunFolder, change: str) -> None:
    run = walk(copied, np.zeros((10, 3), dtype=np.int64), every_s=60.0)
    made = [each for each in run.releases if isinstance(each, GridCells)]
    assert TemporalLeakage().measure(run)
    if change == "static":
        run = move_by(run, "{kind: static}")
    made = {
        "one release": made[:1],
        "static": made,
        "window": [replace(each, guarantee=replace(SNAPSHOT, window=3)) for each in made],
        "whole run": [replace(each, guarantee=replace(SNAPSHOT, unit=Unit.USER)) for each in made],
    }[change]
    assert TemporalLeakage().measure(write_releases(run, made)) == {}
