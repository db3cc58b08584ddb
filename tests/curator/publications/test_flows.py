"""Flows that a run publishes: what is counted of people whom an operator sees, and what it says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.curator.publications import Records
from geodp.curator.publications.flows import Flows
from geodp.curator.seen_people import count_people, days_of_run
from geodp.errors import ScenarioError
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.public.towers import scatter_towers
from geodp.streams import Streams
from geodp.world.motion import Motion

TOWN = Region(-0.02, -0.02, 0.02, 0.02)
DAY_S = 86_400.0


def make_records(people: int = 40, days: int = 2) -> Records:
    """Everyone stands in the west until noon and in the east after it, every day."""
    knots = [
        (day * DAY_S + second, x_m)
        for day in range(days)
        for second, x_m in ((0.0, -1500.0), (28_000.0, -1500.0), (28_500.0, 1500.0), (86_300.0, 1500.0))
    ]
    first = np.arange(0, people * len(knots) + 1, len(knots))
    times, x_m = (np.tile([knot[at] for knot in knots], people) for at in (0, 1))
    motion = Motion(first, times, x_m, np.zeros(x_m.size))
    return Records(TOWN, days * DAY_S, motion, lambda: None, start_s=4 * 3600.0, draw=Streams(1).generator)  # type: ignore[arg-type,return-value]


def publish(records: Records, **fields: object) -> tuple[Flows, pd.DataFrame, dict[str, pd.DataFrame]]:
    flows = Flows(cell_m=1000.0, pings_per_hour=6.0, **fields)
    made = flows.publish(records, SimulatedNoise(np.random.default_rng(0)))
    return flows, made.released, dict(made.truth)


def test_everyone_is_counted_where_she_is_and_travels_once_a_day() -> None:
    _, released, truth = publish(make_records(), epsilon=1e6, delta=1e-6)
    footfall = truth["footfall"].groupby(["day", "slot"])["people"].sum()
    assert footfall.max() == 40
    assert (truth["flows"].groupby("day")["people"].sum() == 40).all()
    assert truth["trips"]["people"].sum() == 80
    rows = released[(released["table"] == "footfall") & (released["level"] == "city")]
    both = rows.set_index(["day", "slot"])["value"] - footfall
    assert both.abs().max() < 1
    west = truth["footfall"][(truth["footfall"]["slot"] == 3) & (truth["footfall"]["people"] > 0)]
    assert len(west) == 2  # one zone on either day
    assert set(released["table"]) >= {"footfall", "flows", "trips", "entropy", "travel_time"}


def test_the_same_people_are_counted_once_for_all_publications() -> None:
    records = make_records()
    first = count_people(records, Flows(cell_m=1000.0).watch)
    assert count_people(records, Flows(cell_m=1000.0, unit="person", epsilon=3.0).watch) is first
    assert count_people(records, Flows(cell_m=500.0).watch) is not first


def test_towers_see_people_in_their_cells_and_only_within_reach() -> None:
    records = make_records()
    towers = {"count": 12}
    by_cell = count_people(records, Flows(zones="towers", towers=towers).watch)
    region_towers = scatter_towers(TOWN, 12, records.generator("world.towers"))
    west, east = region_towers.find_nearest(np.array([-1500.0, 1500.0]), np.zeros(2))
    busy = set(np.flatnonzero(by_cell.tables.footfall.sum(axis=(0, 1))))
    assert {by_cell.zones.all_names.index(region_towers.names[number]) for number in (west, east)} <= busy
    blind = count_people(records, Flows(zones="towers", towers=towers | {"range_m": 1.0}).watch)
    assert blind.tables.footfall.sum() == 0


def test_raw_counts_above_a_threshold_are_published_as_they_are() -> None:
    flows, released, truth = publish(make_records(), variant="raw_threshold", k=15)
    assert not flows.guarantee().holds
    rows = released[(released["table"] == "footfall") & (released["level"] == "zone")]
    true = truth["footfall"][truth["footfall"]["people"] > 15]
    assert len(rows) == len(true)
    assert rows["value"].sum() == true["people"].sum()
    assert (rows["sd"] == 0).all()


@pytest.mark.parametrize(
    ("fields", "unit", "rho"),
    [
        ({}, Unit.PERSON_DAY, 0.02435597),
        ({"unit": "person"}, Unit.USER, 0.02435597),
        ({"rho": 0.1, "unit": "person-week"}, Unit.PERSON_WEEK, 0.1),
        ({"epsilon": 1.0}, Unit.PERSON_DAY, None),
    ],
)
def test_it_promises_what_is_asked(fields: dict[str, object], unit: Unit, rho: float | None) -> None:
    promise = Flows(**fields).guarantee()
    assert promise.unit is unit
    assert promise.rho == (None if rho is None else pytest.approx(rho, rel=1e-6))


def test_days_begin_at_four_in_the_morning() -> None:
    assert days_of_run(4 * 3600, DAY_S).count == 1
    assert days_of_run(8 * 3600, DAY_S).count == 2
    assert days_of_run(0, 3600).count == 1
    assert str(days_of_run(0, 3600).first) == "2024-03-03"


SCENARIO = {
    "geodp": 1,
    "name": "town",
    "region": {"west": -0.02, "south": -0.02, "east": 0.02, "north": 0.02},
    "start_time": "04:00",
    "duration_s": 86_400,
    "workers": {"source": {"kind": "synthetic_city", "count": 200}, "mobility": {"kind": "commuter"}},
    "tasks": {"demand": {"kind": "poisson", "per_hour": 1}},
    "server": {"batch_s": 3600},
    "curator": {
        "towers": {"count": 20, "noise_db": 6},
        "mechanism": {"kind": "uniform_grid", "cell_m": 1000, "noise": "gaussian"},
        "release_every_s": 21_600,
        "budget": {"epsilon": 4, "delta": 1e-6, "split": "even"},
    },
    "publish": [{"kind": "flows", "cell_m": 1000, "unit": "person", "towers": {"count": 20}}],
}


def write(folder: Path, **changes: object) -> Path:
    path = folder / "town.yaml"
    path.write_text(json.dumps(SCENARIO | changes))
    return path


def test_a_run_books_its_report_and_shares_out_the_rest(tmp_path: Path) -> None:
    result = geodp.run(write(tmp_path), tmp_path / "run", draw_map=False)
    assert result.metrics["epsilon_spent"] == pytest.approx(4.0, rel=1e-6)  # releases get what the report leaves
    assert result.metrics["presence_guess_bound"] == pytest.approx(0.555177, abs=1e-6)
    assert {"footfall_mae", "footfall_mre", "flow_mre", "flow_topk_recall", "flow_cpc", "hourly_jsd"} <= set(
        result.metrics
    )
    assert "counted by days" in (tmp_path / "run" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curator": SCENARIO["curator"] | {"budget": {"epsilon": 4}}}, "budget of pure epsilon"),  # type: ignore[operator]
        ({"curator": SCENARIO["curator"] | {"budget": {"rho": 0.001}}}, "the budget is ρ"),  # type: ignore[operator]
        ({"curator": SCENARIO["curator"] | {"budget": {"rho": 1, "epsilon": 1}}}, "not both"),  # type: ignore[operator]
        ({"device": {"mechanism": {"kind": "planar_laplace"}}}, "which tower serves"),
        ({"publish": [{"kind": "flows", "zones": "towers"}]}, "needs the network"),
        ({"publish": [{"kind": "flows", "epsilon": 1, "rho": 1}]}, "not both"),
        ({"curator": SCENARIO["curator"] | {"towers": {"path": "missing.csv"}}}, "missing.csv"),  # type: ignore[operator]
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        geodp.load_scenario(write(tmp_path, **changes))
