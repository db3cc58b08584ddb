"""Trips on public streets: on the network, of the lengths wanted, different from draw to draw, at no cost."""

from pathlib import Path

import numpy as np
import pytest

from geodp.audit.kinds import audit_plugin
from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.streets import StreetNetwork, network_of_segments, read_streets
from geodp.run_folder.mobility_scores import ALL_SCORES, street_shares
from geodp.tables.trajectories.generated_trips import (
    TripSizes,
    generate_trips,
    make_up_streets,
    network_of_streets,
    street_network,
)
from geodp.tables.trajectories.table import Trajectories
from tests.curator.synthesis.small_town import TOWN

SIZES = TripSizes(people=100, trips=2_000, points=30_000, habit=0.0, roaming=0.3, places=200)


@pytest.fixture(scope="module")
def real() -> Trajectories:
    return generate_trips(SIZES, TOWN, np.random.default_rng(1))


@pytest.fixture(scope="module")
def network() -> StreetNetwork:
    return network_of_streets(street_network(TOWN, np.random.default_rng(1), 250.0))


def released(real: Trajectories, network: StreetNetwork | None, seed: int = 0, epsilon: float = 1000.0) -> Trajectories:
    method = SyntheticTrips(epsilon=epsilon, unit="trajectory")
    method = method if network is None else method.on_streets(network)
    return method.release(real, TOWN, SimulatedNoise(np.random.default_rng(seed)))


def test_every_point_lies_on_a_street(real: Trajectories, network: StreetNetwork) -> None:
    for epsilon in (0.5, 1000.0):
        made = released(real, network, epsilon=epsilon)
        assert network.away_m(made.x_m, made.y_m).max() < 1e-6
        assert street_shares(made, network) == (1.0, 0.0)
        assert TOWN.contains(made.x_m, made.y_m).all()


def test_on_streets_trips_keep_lengths_turns_and_places(real: Trajectories, network: StreetNetwork) -> None:
    made, lines = released(real, network), released(real, None)
    found = {key: score(real, made, TOWN) for key, score in ALL_SCORES.items()}
    assert found["path_length_ratio"] == pytest.approx(1.0, abs=0.07)
    assert found["turning_ratio"] == pytest.approx(1.0, abs=0.15)
    assert (found["density_jsd"] or 1.0) < (ALL_SCORES["density_jsd"](real, lines, TOWN) or 0.0) / 2
    assert (found["kendall_tau"] or 0.0) > 0.85


def test_routes_differ_between_draws_and_equal_seeds_give_equal_trips(
    real: Trajectories, network: StreetNetwork
) -> None:
    model = SyntheticTrips(epsilon=1000.0, unit="trajectory").on_streets(network)
    paid = model.fit_model(real, TOWN, SimulatedNoise(np.random.default_rng(0)))
    one, two = paid.model.draw(np.random.default_rng(1)), paid.model.draw(np.random.default_rng(2))
    assert not np.array_equal(one.x_m[:100], two.x_m[:100])
    again = paid.model.draw(np.random.default_rng(1))
    assert np.array_equal(one.x_m, again.x_m)
    assert np.array_equal(one.time_s, again.time_s)
    diversity = ALL_SCORES["route_diversity_ratio"](real, one, TOWN)
    assert diversity == pytest.approx(1.0, abs=0.3)


def test_streets_change_no_cost() -> None:
    plain, on_streets = SyntheticTrips(), SyntheticTrips(streets="generated")
    assert plain.parts() == on_streets.parts()
    assert plain.guarantee() == on_streets.guarantee()


@pytest.mark.slow
def test_the_audit_follows_a_release_on_streets() -> None:
    method = SyntheticTrips(streets="generated")
    audit = audit_plugin(method, lambda _: SimulatedNoise(np.random.default_rng(1)), samples=1_000)
    assert not audit.refuted
    assert not audit.not_followed


def test_bends_are_taken_together_and_islands_left_out() -> None:
    """A street with a bend, a crossing, a dead end of 600 m, and an island."""
    x_m = np.array([0.0, 100, 200, 100, 300, 400, 500, 600, 700, 800, 5000, 5050])
    y_m = np.array([0.0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 5000, 5000])
    tail, head = np.array([0, 1, 1, 2, 4, 5, 6, 7, 8, 10]), np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11])
    network = network_of_segments(x_m, y_m, tail, head)
    assert network.length_m.sum() == pytest.approx(900.0)
    assert network.left_out_m == pytest.approx(50.0)
    assert network.length_m.max() <= 300.0
    assert sorted(network.length_m.round())[:2] == [100.0, 100.0]
    assert network.away_m(np.array([50.0, 450.0]), np.array([30.0, -40.0])) == pytest.approx([30.0, 40.0])
    street, backwards = network.street_between(network.head, network.tail)
    assert np.array_equal(street, np.arange(street.size))
    assert backwards.all()


def write_lines(path: Path, region: Region, **columns: object) -> Path:
    import geopandas
    import shapely

    across = [[(x, region.south), (x, 0.0), (x, region.north)] for x in np.linspace(region.west, region.east, 11)]
    along = [[(x, 0.0) for x in np.linspace(region.west, region.east, 11)]]
    frame = geopandas.GeoDataFrame(columns, geometry=[shapely.LineString(line) for line in across + along], crs=4326)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_file(path)
    return path


INSIDE = Region(-0.02, -0.02, 0.02, 0.02)


@pytest.mark.parametrize("name", ["s.geojson", "s.parquet", "s.gpkg", "s.shp"])
def test_streets_are_read_from_any_format(tmp_path: Path, name: str) -> None:
    speeds = [30.0] * 11 + [90.0]
    network = read_streets(write_lines(tmp_path / name, INSIDE, speed=speeds, oneway=[True] * 12), TOWN)
    assert network.length_m.sum() == pytest.approx(12 * 4448, rel=0.01)
    assert sorted(set((network.speed_mps * 3.6).round())) == [30.0, 90.0]


def test_streets_that_do_not_fit_are_refused_before_anything_is_charged(tmp_path: Path) -> None:
    good = write_lines(tmp_path / "s.geojson", INSIDE)
    with pytest.raises(DataError, match="none of its 12 lines lies in the region"):
        read_streets(good, Region(10.0, 50.0, 10.1, 50.1))
    with pytest.raises(DataError, match="of the region only"):
        read_streets(good, Region(-0.2, -0.2, 0.2, 0.2))
    with pytest.raises(DataError, match="no such file"):
        SyntheticTrips(streets=str(tmp_path / "none.geojson")).find_network(TOWN)
    (tmp_path / "bad.geojson").write_text("{}")
    with pytest.raises(DataError, match="cannot be read as lines|holds no lines"):
        read_streets(tmp_path / "bad.geojson", TOWN)


def test_streets_of_the_town_are_always_the_same() -> None:
    one, two = make_up_streets(TOWN), make_up_streets(TOWN)
    assert np.array_equal(one.x_m, two.x_m)
