"""The hierarchy: sensitivity of levels, gaps and overlaps refused."""

import numpy as np
import pytest

from geodp.errors import DataError, UsageError
from geodp.tables.visits.hierarchy import diameter_m, hierarchy_of, units_from_areas
from geodp.tables.visits.histories import Histories, Venues


def words(*values: object) -> np.ndarray:
    return np.array(values, dtype=np.object_)


def four_places(**changes: object) -> Venues:
    """Return two cities on the equator, 1 degree apart, with two places each, 0.1 and 0.2 degrees apart."""
    fields: dict[str, object] = {
        "name": words("a", "b", "c", "d"),
        "lon": np.array([0.0, 0.1, 1.0, 1.2]),
        "lat": np.zeros(4),
        "levels": {"street": words("x", "y", "x", "z"), "city": words("A", "A", "B", "B")},
    }
    return Venues(**(fields | changes))  # type: ignore[arg-type]


DEGREE_M = 111_195.0


def test_sensitivity_is_the_widest_parent() -> None:
    """Streets: the wider city, 0.2 degrees; cities: the whole country, 1.2 degrees."""
    hierarchy = hierarchy_of(four_places(), ["city", "street"])
    assert hierarchy.sensitivity_m("street") == pytest.approx(0.2 * DEGREE_M, rel=1e-3)
    assert hierarchy.sensitivity_m("city") == pytest.approx(1.2 * DEGREE_M, rel=1e-3)
    assert hierarchy.parent_of("street") == "city"
    assert hierarchy.parent_of("city") is None


def test_units_of_the_same_name_in_different_cities_differ_and_levels_sort_themselves() -> None:
    hierarchy = hierarchy_of(four_places())
    assert hierarchy.levels == ("city", "street")
    assert len(set(hierarchy.units["street"].tolist())) == 4


def test_gaps_and_unknown_levels_are_refused() -> None:
    with pytest.raises(DataError, match="gaps: 1 venues have no city"):
        hierarchy_of(four_places(levels={"city": words("A", "A", "B", None)}))
    with pytest.raises(UsageError, match="Did you mean 'city'"):
        hierarchy_of(four_places()).require("citi")


def test_areas_name_places_and_gaps_and_overlaps_are_refused() -> None:
    import geopandas
    from shapely.geometry import box

    def areas(*boxes: tuple[float, float, float, float]) -> geopandas.GeoDataFrame:
        names = [f"area {i}" for i in range(len(boxes))]
        return geopandas.GeoDataFrame({"name": names}, geometry=[box(*edges) for edges in boxes], crs="EPSG:4326")

    lon, lat = np.array([0.5, 1.5]), np.array([0.5, 0.5])
    assert units_from_areas(lon, lat, areas((0, 0, 1, 1), (1, 0, 2, 1)), "name").tolist() == ["area 0", "area 1"]
    with pytest.raises(DataError, match="1 venues lie outside every area"):
        units_from_areas(lon, lat, areas((0, 0, 1, 1)), "name")
    with pytest.raises(DataError, match="1 venues lie in more than one area"):
        units_from_areas(lon, lat, areas((0, 0, 1, 1), (0.2, 0, 2, 1)), "name")
    corner = areas((0, 0, 1, 1), (0.5, 0, 2, 1), (2, 0, 3, 1))
    places = np.array([0.2, 0.7, 2.0, 2.5, 9.0]), np.full(5, 0.5)
    found = units_from_areas(*places, corner, "name", gaps=True).tolist()
    assert found == ["area 0", None, "area 1", "area 2", None], "two areas, a border (the first counts), none"
    with pytest.raises(DataError, match="no column 'code'"):
        units_from_areas(lon, lat, areas((0, 0, 2, 1)), "code")


def test_diameter_of_a_line_a_square_and_a_point() -> None:
    assert diameter_m([0, 1, 2, 3, 4.0], [0, 1, 2, 3, 4.0]) == pytest.approx(4 * np.sqrt(2))
    assert diameter_m([0, 1, 0, 1, 0.5], [0, 0, 1, 1, 0.5]) == pytest.approx(np.sqrt(2))
    assert diameter_m([3.0], [4.0]) == 0.0


def test_a_venue_list_is_checked() -> None:
    with pytest.raises(DataError, match="twice"):
        four_places(name=words("a", "a", "b", "c"))
    with pytest.raises(DataError, match="no place on earth"):
        four_places(lat=np.array([0.0, 0.0, 95.0, 0.0]))
    with pytest.raises(DataError, match="unlike lengths"):
        four_places(lat=np.zeros(3))
    assert four_places().numbers_of(["c", "q"]).tolist() == [2, -1]


def test_everyone_keeps_as_many_visits_as_the_cap_allows() -> None:
    visits = Histories(words("u", "v"), np.array([0, 1, 0, 0, 1]), np.array([1, 2, 3, 0, 1]))
    kept = visits.keep_at_most(2, b"key")
    assert np.bincount(kept.person).tolist() == [2, 2]
    assert kept.venue[kept.person == 1].tolist() == [2, 1], "nobody else's cap binds"
    some = [visits.keep_at_most(2, bytes([number])) for number in range(40)]
    assert len({tuple(one.venue[one.person == 0]) for one in some}) == 3, "the key decides"
