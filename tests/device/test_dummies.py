"""Made-up places: where they are, and how seldom they hide the true one."""

import numpy as np
import pytest
from scipy import integrate

from geodp.attacks.inference import Prior
from geodp.attacks.place_sets import can_follow, weigh_candidates
from geodp.device.dummies import Dummies
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Grid, Region
from geodp.privacy.release_noise import ReleaseNoise
from geodp.public.guarantee import Unit

REGION = Region(-0.02, -0.02, 0.02, 0.02)
SIDE = REGION.width_m
PHONE = Dummies(k=5, cell_m=10.0, moves="anywhere")
SPREAD = 0.15


def crowd(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People about the centre, spread .15 of the side; the few outside (0.2 %) are drawn again."""
    places = rng.normal(0.0, SPREAD * SIDE, (2, count + 200))
    x, y = places[:, (np.abs(places) < SIDE / 2).all(axis=0)][:, :count]
    assert x.size == count
    return x, y


def test_whoever_knows_where_people_are_finds_617_of_a_thousand() -> None:
    """Golden .617: the true place of 5 is nearer to the centre than 4 even ones; ±.0125 is 5 standard deviations."""
    n, rng = 40_000, np.random.default_rng(0)
    x, y = PHONE.candidates(*crowd(n, rng), rng=rng, region=REGION)
    cells = Grid.fit(REGION, SIDE / 400)
    centre_x, centre_y = cells.all_centres()
    density = np.exp(-(centre_x**2 + centre_y**2) / (2 * (SPREAD * SIDE) ** 2))
    weight = weigh_candidates(Prior(cells, density / density.sum()), x, y)
    found = float(np.mean(weight.argmax(axis=1) == 0))
    assert found == pytest.approx(0.617, abs=0.0125)
    even = weigh_candidates(Prior.uniform(REGION), x, y)
    assert even == pytest.approx(np.full((n, 5), 0.2)), "blindly one of five"

    def exact(far: float) -> float:  # the share of even places that lie further out, four times; far in sides
        return float((1 - np.pi * far**2) ** 4 * far / SPREAD**2 * np.exp(-(far**2) / (2 * SPREAD**2)))

    assert integrate.quad(exact, 0, 0.5)[0] == pytest.approx(0.617, abs=0.002)


def test_two_linked_reports_and_a_bound_on_speed_find_927_of_a_thousand() -> None:
    """Golden .927: one of the places that can be reached, .05 of a side at most; ±.005 is 5 standard deviations."""
    n, most_m, rng = 50_000, 0.05 * SIDE, np.random.default_rng(1)
    x, y = crowd(n, rng)
    turn, far = rng.uniform(0, 2 * np.pi, n), 0.95 * most_m * np.sqrt(rng.random(n))
    later = (np.clip(place + far * step, -SIDE / 2, SIDE / 2) for place, step in ((x, np.cos(turn)), (y, np.sin(turn))))
    first = PHONE.candidates(x, y, rng=rng, region=REGION)
    second = PHONE.candidates(*later, rng=rng, region=REGION)
    reached = np.asarray(can_follow(first, second, most_m).any(axis=1))
    assert reached[:, 0].mean() > 0.999, "the true place can be reached, but for rounding"
    found = float(np.mean(reached[:, 0] / reached.sum(axis=1)))
    assert found == pytest.approx(0.927, abs=0.005)


def test_places_are_k_different_cells_spread_evenly() -> None:
    """Chi-square over 16 cells; false alarm 1e-6."""
    phone, n = Dummies(k=4, cell_m=SIDE / 4), 40_000
    x, y = phone.candidates(np.full(n, 10.0), np.full(n, 10.0), rng=np.random.default_rng(2), region=REGION)
    cells = Grid.fit(REGION, SIDE / 4)
    cell = cells.locate(x, y)
    assert (np.diff(np.sort(cell, axis=1), axis=1) > 0).all()
    true = int(cells.locate(10.0, 10.0))
    assert (cell[:, 0] == true).all()
    counts = np.delete(np.bincount(cell[:, 1:].ravel(), minlength=16), true)
    from scipy import stats

    assert stats.chisquare(counts).pvalue > 1e-6


def test_made_up_places_move_near_their_last_ones() -> None:
    phone, rng = Dummies(k=5, cell_m=10.0, step_m=100.0), np.random.default_rng(3)
    x, y = np.zeros(500), np.zeros(500)
    before = phone.candidates(x, y, rng=rng, region=REGION)
    last = (before[0][:, 1:], before[1][:, 1:])
    last[0][0] = np.nan  # somebody who has not reported yet
    after = phone.candidates(x, y, rng=rng, region=REGION, last=last)
    moved = np.abs(np.stack(after)[:, 1:, 1:] - np.stack(last)[:, 1:])
    assert moved.max() <= 100.0 + 5.1
    assert moved.mean() == pytest.approx(50.0, abs=5.0)
    assert np.isfinite(after[0]).all()
    anywhere = phone.model_copy(update={"moves": "anywhere"}).candidates(x, y, rng=rng, region=REGION, last=last)
    assert np.abs(np.stack(anywhere)[:, 1:, 1:] - np.stack(last)[:, 1:]).mean() > 1000


def test_which_place_is_true_does_not_follow_from_the_order() -> None:
    phone, n = Dummies(k=4), 4000
    about = {
        "time_s": 0.0,
        "mechanism": "dummies",
        "guarantee": phone.guarantee(),
        "who": np.char.zfill(np.arange(n).astype(str), 5),
        "floor_per_m2": 0.0,
    }
    told, made_up = phone.report_all(
        np.zeros(n), np.zeros(n), rng=np.random.default_rng(4), region=REGION, last=None, about=about
    )
    true = np.argmin(np.hypot(*told.list_places()), axis=1)
    assert np.bincount(true, minlength=4) == pytest.approx(np.full(4, n / 4), abs=5 * np.sqrt(n * 3 / 16))
    assert made_up[0].shape == (n, 3)
    one = phone.report(np.zeros(n), np.zeros(n), rng=np.random.default_rng(5), region=REGION)
    assert np.mean(np.hypot(*one) < 100) == pytest.approx(0.25, abs=0.04)


def test_what_cannot_be_is_refused() -> None:
    assert PHONE.guarantee().unit is Unit.NOTHING
    assert "no ε is claimed" in PHONE.guarantee().sentence()
    with pytest.raises(UsageError, match="17 places need as many cells, and the region has 16"):
        Dummies(k=17, cell_m=SIDE / 4).report([0.0], [0.0], rng=np.random.default_rng(0), region=REGION)
    with pytest.raises(UsageError, match="need a region"):
        PHONE.report([0.0], [0.0], rng=np.random.default_rng(0))
    pytest.importorskip("opendp")
    with pytest.raises(NotReleasable, match="no ε is claimed"):
        PHONE.report([0.0], [0.0], rng=ReleaseNoise(), region=REGION)
