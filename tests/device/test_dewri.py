"""Noise as wide as a set of k places: exactly ε inside a public set, more beyond it, and its law."""

import math

import numpy as np
import pytest
from scipy import stats

from geodp.audit.kinds import audit_kind
from geodp.device.dewri import Dewri
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Grid, Region
from geodp.privacy.release_noise import ReleaseNoise
from geodp.public.guarantee import Unit

REGION = Region(-0.02, -0.02, 0.02, 0.02)
PHONE = Dewri(epsilon=1.0, k=9, place_m=100.0)
LAW = PHONE.law(REGION)


def worst_ratio(here: tuple[float, float], there: tuple[float, float]) -> float:
    """Return the largest log-ratio of the exact probabilities of 60 × 60 cells."""
    side = REGION.width_m / 60
    reports = Grid(*REGION.box_m[:2], side, side, columns=60, rows=60)
    rows = [LAW.matrix(Grid(x - 0.5, y - 0.5, 1.0, 1.0, columns=1, rows=1), reports)[0] for x, y in (here, there)]
    assert [row.sum() for row in rows] == pytest.approx([1, 1])
    return float(np.abs(np.log(rows[0] / rows[1])).max())


def test_two_places_of_one_set_change_the_odds_by_e_to_epsilon_and_places_beyond_by_more() -> None:
    x, y = LAW.places.centres()
    assert PHONE.shape == (3, 3)
    corner, opposite, beyond = (x[20], y[20]), (x[22], y[22]), (x[24], y[24])
    assert worst_ratio(corner, opposite) == pytest.approx(1.0, abs=1e-9)
    assert worst_ratio(corner, (x[21], y[22])) == pytest.approx(0.75, abs=1e-9)
    assert worst_ratio(corner, beyond) == pytest.approx(2.0, abs=1e-9)


def test_what_is_charged_is_the_rate_per_metre_of_the_same_noise() -> None:
    promise = PHONE.guarantee(REGION)
    width = 2 * LAW.places.cell_x_m
    assert promise.unit is Unit.POINT
    height = 2 * LAW.places.cell_y_m
    assert promise.epsilon == pytest.approx(math.hypot(1 / (2 * width), 1 / (2 * height)) * REGION.stretch)
    assert promise.epsilon * math.hypot(width, height) == pytest.approx(1.0, rel=0.01), (
        "ε from corner to corner of a set"
    )
    assert Dewri(k=6).shape == (3, 2)
    assert Dewri(k=7).shape == (7, 1)


def test_reports_follow_their_law() -> None:
    """Kolmogorov-Smirnov over either coordinate; false alarm 1e-6 in each of two."""
    n = 20_000
    told = PHONE.report(np.zeros(n), np.full(n, 20.0), rng=np.random.default_rng(0), region=REGION)
    centre = [float(one[0]) for one in LAW.round_places([0.0], [20.0])]
    for coordinate, middle, scale in zip(told, centre, (LAW.scale_x_m, LAW.scale_y_m), strict=True):
        inside = np.abs(coordinate) < REGION.width_m / 2 * 0.999
        law = stats.laplace(middle, scale)
        ends = law.cdf(coordinate[inside].min()), law.cdf(coordinate[inside].max())
        flat = (law.cdf(coordinate[inside]) - ends[0]) / (ends[1] - ends[0])
        assert stats.kstest(flat, "uniform").pvalue > 1e-6
    far = np.hypot(told[0] - centre[0], told[1] - centre[1])
    assert np.quantile(far, 0.5) == pytest.approx(np.quantile(LAW.displacement_quantiles(200), 0.5), rel=0.03)


def test_the_channel_is_told_apart_by_its_likelihood_as_by_its_matrix() -> None:
    cells = Grid(*REGION.box_m[:2], REGION.width_m / 400, REGION.height_m / 400, columns=400, rows=400)
    place = Grid(-0.5, -0.5, 1.0, 1.0, columns=1, rows=1)
    table = LAW.matrix(place, cells)[0].reshape(400, 400)
    x, y = cells.centres()
    for column, row in ((200, 210), (150, 320)):
        density = LAW.likelihood([x[column]], [y[row]], [0.0], [0.0])[0, 0] * cells.cell_area_m2
        assert table[row, column] == pytest.approx(density, rel=1e-3)
    west = REGION.box_m[0]
    assert (
        LAW.likelihood([west], [y[200]], [0.0], [0.0])[0, 0] > LAW.likelihood([west + 1], [y[200]], [0.0], [0.0])[0, 0]
    )


def test_the_literal_claim_is_refuted_and_the_public_one_is_not() -> None:
    assert not audit_kind("dewri", samples=1000).refuted
    literal = audit_kind("dewri", {"variant": "literal"}, samples=1000)
    assert literal.refuted
    promise = Dewri(variant="literal").guarantee()
    assert not promise.holds
    assert "further apart than such a set is wide" in promise.sentence()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match=r"set of 10,007 places is 10007 × 1 cells"):
        Dewri(k=10_007).report([0.0], [0.0], rng=np.random.default_rng(0), region=REGION)
    with pytest.raises(UsageError, match="needs a region"):
        PHONE.report([0.0], [0.0], rng=np.random.default_rng(0))
    pytest.importorskip("opendp")
    with pytest.raises(NotReleasable, match="planar_geometric"):
        PHONE.report([0.0], [0.0], rng=ReleaseNoise(), region=REGION)
