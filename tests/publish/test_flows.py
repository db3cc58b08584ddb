"""`geodp publish flows`: whole folders or nothing, ledgers by days of the data, and pages that say no private word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import folium
import geopandas
import pandas as pd
import pytest

from geodp.datasets.table_folders import make_pings
from geodp.errors import BudgetSpent, DataError, GeodpError, OutputError, UsageError
from geodp.flows.generated_pings import PingSizes
from geodp.privacy.data_days import ConcentratedBudget
from geodp.publish.flows_compare import compare_flows
from geodp.publish.flows_function import flows
from geodp.publish.flows_pipeline import FlowsResult, publish_flows
from geodp.publish.flows_request import FlowsRequest, make_budget
from geodp.tables.regions import parse_region

FILES = {"footfall.parquet", "od.parquet", "trips.parquet", "histograms.csv", "zones.geoparquet", "guarantee.json",
         "map.html", "report.html", "report.md"}  # fmt: skip


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flows") / "town"
    make_pings(folder, PingSizes(people=200, pings=20_000, days=2, zones=4), parse_region("10,50,10.08,50.05"))
    return folder


def publish(town: Path, out: Path, **changed: Any) -> FlowsResult:
    asked: dict[str, Any] = {
        "source": town / "pings.parquet", "zones": f"{town / 'zones.geoparquet'}:zone", "out": out,
        "first": "2024-03-04", "last": "2024-03-05", "epsilon": 1.0, "delta": 1e-6,
    }  # fmt: skip
    return publish_flows(FlowsRequest(**(asked | changed)))


@pytest.fixture(scope="module")
def report(town: Path) -> FlowsResult:
    return publish(town, town.parent / "report", districts="district")


def test_a_report_is_a_whole_folder_with_its_promise(report: FlowsResult) -> None:
    folder = report.files[0].parent
    assert {path.name for path in folder.iterdir()} == FILES
    stated = json.loads((folder / "guarantee.json").read_text(encoding="utf-8"))
    assert stated["rho"] == pytest.approx(0.02435597, abs=5e-9)
    assert stated["risk"] == pytest.approx(0.555177, abs=5e-7)
    assert (stated["unit"], stated["releasable"]) == ("person-day", False)
    assert stated["sigma"]["od"] == pytest.approx(23.3973, abs=5e-5)
    assert "right in at most 55.5 % of cases" in stated["risk_in_words"]


def test_tables_hold_every_public_cell(report: FlowsResult) -> None:
    folder = report.files[0].parent
    footfall = pd.read_parquet(folder / "footfall.parquet")
    assert footfall["period"].value_counts().to_dict() == {"period": 48 * 20, "day": 2 * 20, "all": 20}
    whole = footfall[footfall["period"] == "all"].set_index("zone")["value"]
    zones = footfall[(footfall["period"] == "all") & (footfall["level"] == "zone")]
    assert zones["value"].sum() == pytest.approx(whole["all"])
    trips = pd.read_parquet(folder / "trips.parquet")
    assert (trips["period"] == "hour").sum() == 48
    assert set(pd.read_csv(folder / "histograms.csv")["statistic"]) >= {"travel_time", "entropy"}


def test_pages_load_nothing_and_are_stamped(report: FlowsResult) -> None:
    folder = report.files[0].parent
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "SIMULATED" in page
    assert 'src="http' not in page
    assert "**SIMULATED" in (folder / "report.md").read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_tables_and_csv_and_folders_are_read_alike(
    town: Path, report: FlowsResult, tmp_path: Path
) -> None:
    pings = pd.read_parquet(town / "pings.parquet").sample(frac=1, random_state=1)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pings.iloc[number::3].to_csv(tmp_path / "parts" / f"{number}.csv", index=False)
    publish(town, tmp_path / "again", source=tmp_path / "parts", districts="district")
    for name in ("footfall.parquet", "od.parquet", "trips.parquet"):
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / "again" / name), pd.read_parquet(report.files[0].parent / name)
        )


def test_a_frame_gives_what_its_file_gives(town: Path, report: FlowsResult) -> None:
    made = flows(
        pd.read_parquet(town / "pings.parquet"),
        zones=geopandas.read_parquet(town / "zones.geoparquet"),
        zone="zone", first="2024-03-04", last="2024-03-05", epsilon=1.0, delta=1e-6, districts="district",
    )  # fmt: skip
    pd.testing.assert_frame_equal(made.footfall, pd.read_parquet(report.files[0].parent / "footfall.parquet"))
    assert not made.releasable


def test_releases_are_accounted_by_days_and_refused_beyond_the_budget(town: Path, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    asked: dict[str, Any] = {"mode": "release", "ledger": tmp_path / "ledger.json"}
    made = publish(town, tmp_path / "one", **asked, budget=ConcentratedBudget(rho=0.11))
    assert made.statement.releasable
    stated = json.loads((tmp_path / "one" / "guarantee.json").read_text(encoding="utf-8"))
    assert stated["ledger"]["spent"]["user"]["rho"] == pytest.approx(2 * 0.02435597, abs=2e-8)
    assert "pings" not in made.text
    # Another month: other days, the same person.
    publish(town, tmp_path / "two", **asked, first="2024-04-04", last="2024-04-05")
    before = (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(BudgetSpent):
        publish(town, tmp_path / "three", **asked, first="2024-05-04", last="2024-05-05")
    assert not (tmp_path / "three").exists()
    assert (tmp_path / "ledger.json").read_bytes() == before
    compared = compare_flows(tmp_path / "one", tmp_path / "two")
    assert compared.releasable
    row = compared.footfall.iloc[0]
    assert row["sd"] == pytest.approx((row["sd_first"] ** 2 + row["sd_second"] ** 2) ** 0.5)
    assert bool(row["clear"])  # people one month, nobody the other


@pytest.mark.parametrize(("changed", "error", "says"), [
    ({"delta": 1e-4, "mode": "release", "ledger": Path("l.json")}, UsageError, "1e-05 at most"),
    ({"mode": "release"}, UsageError, "needs --ledger"), ({"last": "2024-03-01"}, UsageError, "lies before"),
    ({"timezone": "Lisbon"}, UsageError, "no such time zone"), ({"every": "7h"}, UsageError, "whole number"),
    ({"source": Path("nowhere.csv")}, DataError, "no such file"), ({"zones": "zones"}, UsageError, "FILE:COLUMN"),
    ({"unit": "household"}, UsageError, "--unit"), ({"budget": ConcentratedBudget(rho=1.0)}, UsageError, "--ledger"),
])  # fmt: skip
def test_bad_requests_change_nothing(
    town: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    error: type[GeodpError],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says):
        publish(town, tmp_path / "out", **changed)
    assert not list(tmp_path.iterdir())


def test_private_data_are_no_zones_and_foreign_folders_stay(town: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be public"):
        publish(town, tmp_path / "out", zones=f"{town / 'pings.parquet'}:zone")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match=r"letter\.txt"):
        publish(town, tmp_path / "mine", force=True)
    with pytest.raises(OutputError, match="exists already"):
        publish(town, tmp_path / "mine")


def test_a_release_reads_what_it_can_and_says_nothing(town: Path, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    bad = tmp_path / "bad.csv"
    bad.write_text(
        "user,time_s,lon,lat\na,yesterday,10,50\n,5,x,50\nb,2024-03-04T10:00:00Z,10.01,50.01\n", encoding="utf-8"
    )
    made = publish(town, tmp_path / "out", source=bad, mode="release", ledger=tmp_path / "ledger.json")
    assert made.statement.releasable
    assert made.warnings == ()


def test_altered_reports_are_not_compared(report: FlowsResult, town: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    publish(town, folder, districts="district")
    (folder / "od.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="is not the file that was published"):
        compare_flows(report.files[0].parent, folder)
    with pytest.raises(DataError, match="holds no report"):
        compare_flows(report.files[0].parent, tmp_path)


def test_days_without_pings_are_named_and_a_report_of_nobody_is_refused(town: Path, tmp_path: Path) -> None:
    made = publish(town, tmp_path / "more", first="2024-03-03", last="2024-03-06")
    assert "No ping on 2 of 4 days: 2024-03-03, 2024-03-06." in made.text
    with pytest.raises(DataError, match=r"none of its 20,000 pings.*run from 2024-03-04 to 2024-03-0"):
        publish(town, tmp_path / "none", first="2025-03-04", last="2025-03-05")
    assert not (tmp_path / "none").exists()


def test_gaps_between_zones_are_named_in_either_mode(town: Path, tmp_path: Path) -> None:
    pytest.importorskip("opendp")

    zones = geopandas.read_parquet(town / "zones.geoparquet")
    zones.drop(index=[5]).to_file(tmp_path / "holes.gpkg")
    asked: dict[str, Any] = {"zones": f"{tmp_path / 'holes.gpkg'}:zone"}
    for name, more in (("a", {}), ("b", {"mode": "release", "ledger": tmp_path / "ledger.json"})):
        made = publish(town, tmp_path / name, **asked, **more)
        assert "the zones leave 1 gap between them" in made.warnings[-1]
    assert not publish(town, tmp_path / "c").warnings


def test_times_without_a_zone_are_utc_and_others_are_what_they_say(town: Path, tmp_path: Path) -> None:
    lines = {"bare": "2024-03-04 {h:02d}:{m:02d}", "utc": "2024-03-04T{h:02d}:{m:02d}:00Z",
             "east": "2024-03-04T{e:02d}:{m:02d}:00+03:00"}  # fmt: skip
    found = {}
    for name, form in lines.items():
        rows = [f"{person},{form.format(h=h, e=h + 3, m=20 * part)},{10.01 + 0.02 * (h % 2)},50.01"
                for person in "ab" for h in range(6, 12) for part in range(3)]  # fmt: skip
        (tmp_path / f"{name}.csv").write_text("user,time_s,lon,lat\n" + "\n".join(rows) + "\n", encoding="utf-8")
        publish(town, tmp_path / name, source=tmp_path / f"{name}.csv", last="2024-03-04")
        found[name] = pd.read_parquet(tmp_path / name / "footfall.parquet")
    pd.testing.assert_frame_equal(found["bare"], found["utc"])
    pd.testing.assert_frame_equal(found["east"], found["utc"])


def test_a_person_with_very_many_pings_counts_once_and_in_bounded_memory(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import geodp.flows.pings as module

    pings = pd.read_parquet(town / "pings.parquet")
    mine = pings.iloc[:1].assign(user=10**6)
    one, many = (pd.concat([pings, pd.concat([mine] * times)]) for times in (1, 100_000))
    for name, frame in (("one", one), ("many", many)):
        frame.to_parquet(tmp_path / f"{name}.parquet")
        publish(town, tmp_path / name, source=tmp_path / f"{name}.parquet")
        monkeypatch.setattr(module, "_ROWS", 30_000)  # several buckets, the largest of which is read in parts
        monkeypatch.setattr(module, "_MOST_RECORDS", 20_000)
    for name in ("footfall.parquet", "od.parquet", "trips.parquet"):
        one, many = (pd.read_parquet(tmp_path / of / name) for of in ("one", "many"))
        pd.testing.assert_frame_equal(one, many)


def test_a_ledger_of_another_kind_is_refused_and_charged_nothing(town: Path, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    from geodp.privacy.ledger_file import LedgerFile
    from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

    path = tmp_path / "pure.json"
    promise = Guarantee(0.5, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    with LedgerFile(path, budget_epsilon=2.0).open_ledger() as ledger:
        ledger.charge(promise, time_s=0.0, mechanism="counts", scope="everyone")
    before = path.read_bytes()
    for more in ({}, {"budget": ConcentratedBudget(rho=1.0)}):
        with pytest.raises(GeodpError, match="pure epsilon"):
            publish(town, tmp_path / "out", mode="release", ledger=path, **more)
    assert path.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_half_a_budget_is_no_budget() -> None:
    for words in ((None, None, 1e-6, "person"), (None, None, None, "person-day")):
        with pytest.raises(UsageError, match="go with --budget"):
            make_budget(*words)


def test_a_failure_before_the_charge_leaves_the_ledger_alone(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opendp")
    import geodp.publish.flows_report as report_file

    def fail(statement: Any) -> str:
        raise ValueError("cannot be drawn")

    monkeypatch.setattr(report_file, "build_report", fail)
    with pytest.raises(ValueError, match="cannot be drawn"):
        publish(town, tmp_path / "out", mode="release", ledger=tmp_path / "ledger.json")
    assert list(tmp_path.iterdir()) == []


def test_both_noises_are_told(report: FlowsResult, town: Path, tmp_path: Path) -> None:
    assert "Without δ (Laplace noise) it would be ±" in report.text
    assert "With --delta 1e-06 (Gaussian noise) it would be ±69" in publish(town, tmp_path / "out", delta=None).text


def test_what_comes_back_has_its_promise_its_accuracy_and_a_map_and_speaks_python(town: Path) -> None:
    pings, zones = pd.read_parquet(town / "pings.parquet"), geopandas.read_parquet(town / "zones.geoparquet")
    made = flows(pings, zones=zones, zone="zone", first="2024-03-04", last="2024-03-04", epsilon=1, delta=1e-6)
    assert (made.guarantee.epsilon, made.guarantee.delta) == (1.0, 1e-6)
    assert made.accuracy in str(made)
    assert isinstance(made.map(), folium.Map)
    assert "mode='release'" in str(made)
    assert "epsilon" not in repr(made)
    assert repr(made).startswith("<PublishedFlows of 2024-03-04 to 2024-03-04: Hides one person's whole day")
    assert "<iframe" in made._repr_html_()
    with pytest.raises(UsageError, match="last 2024-03-03 lies before first 2024-03-04"):
        flows(pings, zones=zones, zone="zone", first="2024-03-04", last="2024-03-03", epsilon=1)


def test_the_map_says_what_all_days_of_a_person_cost_and_that_its_region_is_public(report: FlowsResult) -> None:
    page = (report.files[0].parent / "map.html").read_text(encoding="utf-8")
    whole, one = report.statement.design.spend(2)["epsilon"], report.statement.design.spend(1)["epsilon"]
    assert one == pytest.approx(1.0)
    assert f"ε = {whole:.3g} for the 2 days of a person together, 1 for one day (δ = " in page
    assert 'class="geodp-strength moderate"' in page
