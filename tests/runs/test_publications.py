"""Publications inside runs: booked first, drawn from their own stream, the truth kept apart."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.display.map import build_map
from geodp.display.released_only import ReleasedOnly
from geodp.errors import BudgetSpent, ScenarioError, UsageError
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from geodp.scenario.report import report
from tests.small import small

VISITS: dict[str, Any] = {
    "workers.source.count": 120,
    "duration_s": 600,
    "tasks.demand.per_hour": 30,
    "workers.visit_source": {"kind": "generated_visits", "venues": 80, "mean_visits": 8},
    "publish": [{"kind": "prilocation", "epsilon": 0.5, "cap": 10, "clusters": 8}],
}


def made(folder: Path, name: str = "run", **changes: Any) -> RunFolder:
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    run(small(copy.deepcopy({**VISITS, **dotted})), folder / name, draw_map=False)
    return RunFolder(folder / name)


def test_what_is_public_and_what_is_not_lie_apart(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (item,) = folder.publications
    assert (item.index, item.kind) == (0, "prilocation")
    assert list(item.released.columns) == ["user", "venue", "lon", "lat"]
    assert set(item.released["venue"]) <= set(folder.venues.name)
    assert len(item.facts["cluster"]) == 80
    tables = sorted(path.name for path in (folder.path / f"truth/publications/{item.name}").iterdir())
    assert tables == ["people.parquet", "replacements.parquet"]
    assert len(item.truth("replacements")) == len(item.released)
    assert folder.visits.people[0] == "worker-00000"
    stated = json.loads((folder.path / "releases/publications/0-prilocation.json").read_text())
    assert stated["guarantee"]["unit"] == "event"
    assert stated["per_person"] == stated["guarantee"] | {"unit": "user", "epsilon": 5.0}
    assert "Hides one visit" in stated["sentence"]


def test_the_ledger_is_charged_the_cap_per_person_and_the_default_budget_covers_it(tmp_path: Path) -> None:
    folder = made(tmp_path)
    rows = folder.ledger.set_index("mechanism")
    assert rows.loc["prilocation", "epsilon"] == 5.0
    assert rows.loc["prilocation", "unit"] == "user"
    assert rows.loc["prilocation", "time_s"] == 600
    assert folder.metrics["epsilon_spent"] == 5.5
    assert folder.scenario.curator is not None
    assert folder.scenario.curator.budget.epsilon == 5.5


def test_under_replacement_it_costs_twice_as_much(tmp_path: Path) -> None:
    folder = made(tmp_path, curator__neighbours="replace")
    rows = folder.ledger.set_index("mechanism")
    assert rows.loc["prilocation", "epsilon"] == 10.0
    assert set(folder.ledger["neighbours"]) == {"replace"}


def test_publications_are_booked_first_and_releases_make_do_with_the_rest(tmp_path: Path) -> None:
    folder = made(tmp_path, curator__release_every_s=200, curator__budget={"epsilon": 6.0})
    assert len(folder.publications) == 1
    assert folder.metrics["epsilon_spent"] == 6.0
    assert len(folder.releases) == 2  # 3 × 0.5 + 5 would be 6.5


def test_what_a_run_shows_otherwise_does_not_depend_on_what_is_published(tmp_path: Path) -> None:
    with_, without = made(tmp_path), made(tmp_path, "without", publish=[])
    for name in ("events.parquet", "server_view.parquet", "releases/0000.parquet", "truth/paths.parquet"):
        assert (with_.path / name).read_bytes() == (without.path / name).read_bytes()
    assert "prilocation" not in (without.path / "summary.md").read_text()
    assert not (without.path / "releases" / "publications").exists()


def test_the_same_seed_publishes_the_same_and_another_one_does_not(tmp_path: Path) -> None:
    first, again = made(tmp_path), made(tmp_path, "again")
    other = made(tmp_path, "other", seed=1)
    name = "releases/publications/0-prilocation.parquet"
    assert (first.path / name).read_bytes() == (again.path / name).read_bytes()
    assert (first.path / name).read_bytes() != (other.path / name).read_bytes()
    rerun = run(first.path / "scenario.yaml", tmp_path / "rerun", draw_map=False)
    assert (Path(rerun.path) / name).read_bytes() == (first.path / name).read_bytes()


def test_later_publications_have_luck_of_their_own(tmp_path: Path) -> None:
    item = {"kind": "prilocation", "epsilon": 0.5, "cap": 10, "clusters": 8}
    folder = made(tmp_path, publish=[item, item])
    first, second = folder.publications
    assert not first.released.equals(second.released)
    alone = made(tmp_path, "alone").publications[0]
    assert first.released.equals(alone.released)
    assert folder.metrics["epsilon_spent"] == 10.5


def test_a_public_reader_sees_no_truth_and_nothing_without_a_promise(tmp_path: Path) -> None:
    folder = made(tmp_path, publish=[{"kind": "k_anonymous_visits", "k": 3}, *VISITS["publish"]])
    assert [item.kind for item in folder.publications] == ["k_anonymous_visits", "prilocation"]
    locked = ReleasedOnly(folder.path)
    assert [item.index for item in locked.publications] == [1]
    assert locked.withheld == 1
    assert locked.venues.size == 80
    with pytest.raises(UsageError, match="released data only"):
        locked.publications[0].truth("replacements")
    with pytest.raises(UsageError, match="released data only"):
        _ = locked.visits
    assert folder.metrics["epsilon_spent"] is None  # no epsilon describes what promises nothing
    assert "is not private" in (folder.path / "summary.md").read_text()


def test_a_public_map_says_what_it_shows_promises_and_that_something_is_left_out(tmp_path: Path) -> None:
    counts = [{"kind": "laplace_counts", "epsilon": 0.7}, {"kind": "laplace_counts", "variant": "literal"}]
    literal = {"kind": "epicrec", "variant": "literal"}
    folder = made(
        tmp_path, publish=counts, device__history_report=literal, map__layers=["region", "venue_counts", "told_places"]
    )
    page = build_map(folder, public=True)
    assert "Published at the end (laplace_counts): Hides one person" in page
    assert "ε = 0.7." in page
    assert "2 releases left out: no privacy guarantee holds for them." in page
    assert "Phones told about histories" not in page
    assert "Spent per person" not in page, "the total holds what is not shown, and what does not hold"


def test_the_summary_says_that_single_visits_hide_no_user(tmp_path: Path) -> None:
    text = (made(tmp_path).path / "summary.md").read_text()
    assert "All visits of one user together, at most 10, are hidden at ε = 5 only" in text
    assert "hiding single visits hides no user" in text
    assert "1 release × 0.5 + 5 for what `prilocation` publishes, so ε = 5.5 (add/remove), 11 (replace)" in text


def test_the_summary_says_who_chose_which_level(tmp_path: Path) -> None:
    item = {"kind": "prilocation", "cap": 10, "clusters": 8, "level_shares": {"city": 0.5}}
    folder = made(tmp_path, publish=[item])
    chosen = folder.publications[0].facts["people_by_level"]
    assert sum(chosen.values()) == 120
    assert set(chosen) == {"street", "city"}
    assert f"People by the level they chose: {next(iter(chosen))} " in (folder.path / "summary.md").read_text()


def test_check_states_what_is_published_and_what_it_costs() -> None:
    text = report(small(VISITS), "small.yaml")
    assert "publish   prilocation, once at the end: Hides one visit" in text
    assert "It costs each person ε 5: at most 10 visits each." in text
    assert "1 releases × ε 0.5 + ε 5 published = ε 5.5" in text
    trips = {"kind": "synthetic_trips", "unit": "trajectory", "trajectories_per_person": 4}
    text = report(small(VISITS | {"publish": [trips]}), "small.yaml")
    assert "It costs each person ε 4: at most 4 trips each." in text


@pytest.mark.parametrize(
    ("changes", "where", "says"),
    [
        ({"curator": None, "device.mechanism": {"kind": "planar_laplace"}}, "publish", "by the trusted curator"),
        ({"curator.budget": {"epsilon": 4.0}}, "curator.budget.epsilon", "prilocation 5 = 0.5 × 10 visits"),
        (
            {"curator.budget": {"epsilon": 5.2, "when_spent": "fail"}},
            "curator.budget.epsilon",
            "and the publications at the end 5 and the budget is 5.2",
        ),
        ({"publish.0.cap": 0}, "publish.0.cap", "at least 1"),
        ({"publish.0.clusters": 90}, "publish.0.clusters", "90 are more than the 80 venues"),
        ({"publish.0.level": "distrct"}, "publish.0.level", "Did you mean 'district'"),
        ({"publish.0.level_shares": {"town": 0.1}}, "publish.0.level_shares", "no level called 'town'"),
        ({"publish": ["prilocatoin"]}, "publish.0.kind", "Did you mean 'prilocation'"),
        (
            {"workers.visit_source": {"kind": "visits_file", "path": "none.csv", "venues": "no.csv"}},
            "workers.visit_source",
            "no such file",
        ),
    ],
)
def test_scenarios_that_cannot_publish_are_refused(changes: dict[str, Any], where: str, says: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        small(copy.deepcopy({**VISITS, **changes}))
    assert any(path.startswith(where) and says in text for path, text in refused.value.problems)


def test_what_only_the_run_can_find_out_stops_it_before_anything_is_charged(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"publish.0 \(prilocation\): personal_levels: nobody is called 'ann'"):
        made(tmp_path, publish=[{"kind": "prilocation", "personal_levels": {"ann": "city"}, "cap": 10, "clusters": 8}])
    assert not (tmp_path / "run").exists()


def test_a_spent_budget_is_refused_in_words() -> None:
    from geodp.curator.publications import Records
    from geodp.privacy.ledger import Ledger
    from geodp.runs.publications import book_publications
    from geodp.tables.visits.generated_visits import Sizes, generate_histories
    from geodp.world.motion import stand_still

    scenario = small(VISITS)
    sizes = Sizes(people=5, visits=3, venues=30, cities=1, districts=2, streets=2)
    records = Records(
        scenario.area,
        600.0,
        stand_still(np.zeros(5), np.zeros(5)),
        lambda: generate_histories(sizes, np.random.default_rng(0)),
    )
    ledger = Ledger(budget_epsilon=1.0)
    with pytest.raises(BudgetSpent, match="lower the epsilon or the cap"):
        book_publications(scenario, records, ledger)
    assert ledger.sum_spent() == 0


def test_arms_may_differ_in_what_is_published_and_share_the_visits(tmp_path: Path) -> None:
    changes = {"compare": {"few": {"publish.0.clusters": 4}, "many": {"publish.0.clusters": 16}}}
    run(small(copy.deepcopy({**VISITS, **changes})), tmp_path / "run", draw_map=False)
    few, many = RunFolder(tmp_path / "run").arms.values()
    assert (few.path / "truth/visits.parquet").read_bytes() == (many.path / "truth/visits.parquet").read_bytes()
    assert max(few.publications[0].facts["cluster"]) == 3
    assert max(many.publications[0].facts["cluster"]) == 15


def test_the_audit_of_a_run_covers_what_was_published_and_told(tmp_path: Path) -> None:
    from geodp.audit.run_audit import audit_releases, ledger_spend

    folder = made(tmp_path, device__history_report={"kind": "epicrec"})
    audit = audit_releases(folder, samples=2000, seed=3)
    names = [pair.name for pair in audit.pairs]
    assert not audit.refuted
    assert any(name.startswith("one canary") for name in names)
    assert any(name.startswith("prilocation: ") for name in names)
    assert any(name.startswith("epicrec: ") for name in names)
    assert ledger_spend(folder, metric=False) == 0.5, "the publication was paid for apart"
    literal = made(
        tmp_path, "literal", publish=[{"kind": "prilocation", "variant": "literal", "cap": 10, "clusters": 8}]
    )
    refuted = audit_releases(literal, samples=2000, seed=3)
    assert refuted.refuted


def test_places_published_per_metre_are_charged_to_the_metric_account(tmp_path: Path) -> None:
    item = {"kind": "prilocation", "variant": "geoind_em", "epsilon_per_m": 0.01, "cap": 10}
    folder = made(tmp_path, publish=[item])
    rows = folder.ledger.set_index("mechanism")
    assert rows.loc["prilocation", "unit"] == "point"
    assert rows.loc["prilocation", "epsilon"] == 0.1
    assert folder.metrics["epsilon_spent"] == 0.5, "never added to it"
    text = (folder.path / "summary.md").read_text()
    assert "Up to 10 visits of one user together: 10 times as much" in text
    assert "reports of one phone" not in text
