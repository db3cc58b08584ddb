import numpy as np
import pytest

from geodp.device import Device
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Trust
from geodp.publish.positions_plan import ReportedPoints, publish_positions
from geodp.publish.private_positions import UsedPositions
from geodp.registry import plugin
from tests.publish.conftest import Make, files

NORWAY = Region(10.0, 59.0, 12.0, 61.0)
"""Two degrees at latitude 60: the projection stretches east-west distances by up to 3 %."""
WIDE = Region(10.0, 49.9, 10.4, 50.15)


def plan(region: Region, kind: str = "planar_geometric", **fields: object) -> ReportedPoints:
    return ReportedPoints(
        plugin(kind, "device", **fields), UsedPositions(region, np.zeros(3), np.zeros(3), None, None, ())
    )


@pytest.mark.parametrize("epsilon", [0.01, 0.0123456789, np.log(4) / 200])
def test_the_epsilon_asked_for_holds_on_the_ground(epsilon: float) -> None:
    asked = plan(NORWAY, epsilon_per_m=epsilon)
    assert asked.guarantee.epsilon == epsilon
    drawn: Device = asked.device
    stretched = drawn.guarantee(NORWAY).epsilon
    assert epsilon * (1 - 1e-12) <= stretched <= epsilon
    inner = drawn.guarantee().epsilon
    assert inner == pytest.approx(epsilon / NORWAY.stretch)


def test_a_level_within_a_radius_is_an_epsilon(make: Make) -> None:
    asked = plan(NORWAY, level=2.0, radius_m=100.0)
    assert asked.guarantee.epsilon == 0.02
    assert asked.fields["level"] is None


def test_the_publisher_is_the_trusted_party() -> None:
    asked = plan(WIDE)
    assert asked.guarantee.trust is Trust.CENTRAL
    assert "from everyone but a trusted curator" in asked.guarantee.sentence()


@pytest.mark.parametrize("kind", ["planar_laplace", "planar_geometric"])
def test_the_accuracy_is_that_of_the_law(kind: str) -> None:
    """Far from the edges the mean is 2/ε and 95 % lie within 4.7439/ε; edges of a wide region cost 1 %."""
    product = plan(WIDE, kind, epsilon_per_m=0.02, cell_m=5.0).draw(SimulatedNoise(np.random.default_rng(0)))
    assert product.accuracy.values["mean_error_m"] == pytest.approx(100, rel=0.015)
    assert product.accuracy.values["error_95_m"] == pytest.approx(237.2, rel=0.015)
    assert "m from the true place on average" in product.accuracy.text


@pytest.mark.parametrize("kind", ["planar_laplace", "planar_geometric"])
def test_the_accuracy_is_simulated_at_public_places_and_never_at_true_ones(kind: str) -> None:
    """A planted fault: at a corner, where reports are drawn back into the region, errors are a third smaller."""
    west, south, _, _ = WIDE.box_m
    told = []
    for x_m, y_m in ((np.zeros(50), np.zeros(50)), (np.full(9, west + 1.0), np.full(9, south + 1.0))):
        positions = UsedPositions(WIDE, x_m, y_m, None, None, ())
        asked = ReportedPoints(plugin(kind, "device", epsilon_per_m=0.01), positions)
        told.append(asked.draw(SimulatedNoise(np.random.default_rng(0))).accuracy)
    assert told[0] == told[1]
    assert "spread evenly over the region" in told[0].text


def test_a_region_smaller_than_a_cell_is_refused_before_the_charge(make: Make) -> None:
    request = make(settings={"cell_m": 9000})
    with pytest.raises(DataError, match="smaller than a cell of 9000 m"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_a_missing_prior_file_is_refused_before_the_charge(make: Make) -> None:
    request = make(settings={"remap": True, "prior_file": "nowhere.csv"})
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}
