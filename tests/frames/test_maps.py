"""Releases and tables on maps: drawn, with their promise, and with nothing from the network."""

from typing import Any

import folium
import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import GeodpError, UsageError
from tests.frames.people import BOX, make_frame, make_table


def release_of(kind: str, **fields: Any) -> geodp.Release:
    made: geodp.Release = geodp.mechanism(kind, epsilon=0.5, cell_m=500, **fields).release(
        make_frame(), region=BOX, noise=1
    )
    return made


@pytest.mark.parametrize("kind", ["contour", "uniform_grid"])
def test_a_release_is_drawn_with_its_promise_and_marked_as_simulated(kind: str) -> None:
    shown = release_of(kind).explore()
    assert isinstance(shown, folium.Map)
    assert release_of(kind).guarantee.sentence().replace("'", "&#x27;") in shown.html
    assert "not releasable" in shown.html
    assert "people/km²" in shown.html
    assert 'src="http' not in shown.html


def test_a_release_whose_promise_does_not_hold_says_so_on_its_map() -> None:
    with pytest.warns(geodp.errors.DataWarning):
        release = geodp.mechanism("uniform_grid", epsilon=0.5, cell_m=500).release(make_frame(), noise=1)
    assert "No privacy guarantee holds" in release.explore().html


def test_of_many_reports_some_are_drawn_and_the_map_says_how_many() -> None:
    seen = geodp.device("planar_laplace", epsilon_per_m=0.05).report(make_frame(), region=BOX, noise=1)
    assert "of 60 people" not in seen.explore().html
    assert "reports of 7 of 60 people" in seen.explore(max_points=7).html


def test_a_title_is_shown_as_it_is_written() -> None:
    page = release_of("contour").explore(title="<b>Where?</b> {{ 7 * 7 }}").html
    assert "&lt;b&gt;Where?&lt;/b&gt; {{ 7 * 7 }}" in page
    assert "<b>Where?" not in page


def test_an_unknown_field_of_the_layer_is_refused() -> None:
    with pytest.raises(GeodpError, match="colour"):
        release_of("contour").explore(colour="red")


def test_whatever_folium_has_can_be_added_to_the_map_of_a_release() -> None:
    shown = release_of("contour").explore()
    folium.Marker((50.02, 10.02), tooltip="here").add_to(shown)
    assert "L.marker" in shown.html


def test_published_tables_are_drawn_by_what_they_hold() -> None:
    visits = pd.DataFrame({"user": ["a", "b", "b"], "venue": ["inn", "inn", "museum"]})
    venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    counts = geodp.publication("laplace_counts", epsilon=1e3, cap=2).publish(visits, venues=venues, noise=1)
    assert "Published counts" in counts.explore().html
    many = pd.DataFrame({"user": [f"u{one}" for one in range(40)], "venue": "inn"})
    moved = geodp.publication("prilocation", epsilon=5.0, cap=2, clusters=1).publish(many, venues=venues, noise=1)
    assert "Published places" in moved.explore().html


@pytest.mark.filterwarnings("ignore::geodp.errors.DataWarning")
def test_published_trips_are_drawn_as_lines() -> None:
    steps = [make_table().assign(lon=make_table()["lon"] + 0.001 * step, time_s=60.0 * step) for step in range(5)]
    trips = pd.concat(steps).assign(trajectory=lambda rows: rows["name"])
    made = geodp.publication("synthetic_trips", epsilon=5.0).publish(
        trips, region=BOX, noise=1, columns={"user": "name", "trajectory": "trajectory"}
    )
    assert "Published trips" in made.explore().html


def test_a_table_without_places_has_no_map() -> None:
    visits = pd.DataFrame({"user": ["a", "b"], "venue": ["inn", "inn"]})
    with pytest.warns(geodp.errors.DataWarning, match="venue list"):
        made = geodp.publication("laplace_counts", epsilon=1.0, cap=2).publish(visits, noise=1)
    assert not made.guarantee.holds
    assert np.isfinite(made.table["count"]).all()
    with pytest.raises(UsageError, match="no row with a place"):
        made.explore()
