"""What phones tell about histories: by consent, charged per item apart from everything else, anew as histories grow."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from geodp.display.released_only import ReleasedOnly
from geodp.errors import ScenarioError
from geodp.privacy.ledger import Account, Ledger
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.history_scores import read_scored_histories
from geodp.runs.run import run
from geodp.scenario.report import report
from tests.small import small

HISTORY: dict[str, Any] = {
    "workers.source.count": 120,
    "duration_s": 600,
    "tasks.demand.per_hour": 30,
    "workers.visit_source": {
        "kind": "generated_visits",
        "venues": 80,
        "mean_visits": 12,
        "days": 0.01,
        "second_category_share": 0.4,
    },
    "device.history_report": {"kind": "epicrec", "groups": [{"share": 0.4, "levels": {"clinic": "no", "café": "all"}}]},
    "device.history_reports": 2,
}


def made(folder: Path, name: str = "run", **changes: Any) -> RunFolder:
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    run(small(copy.deepcopy({**HISTORY, **dotted})), folder / name, draw_map=False)
    return RunFolder(folder / name)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("histories"))


def test_reports_compose_in_an_account_of_their_own(told: RunFolder) -> None:
    rows = told.ledger[told.ledger["unit"] == "item"]
    assert rows["time_s"].tolist() == [300.0, 600.0]
    assert rows["total"].tolist() == [1.0, 2.0]
    assert told.metrics["epsilon_per_item_spent"] == 2.0
    assert told.metrics["epsilon_spent"] == 0.5, "never added to the curator's"
    people = pd.read_parquet(told.path / "truth/ledger.parquet")
    assert (people.loc[people["unit"] == "item", "epsilon"] == 2.0).all()


def test_people_who_tell_nothing_with_noise_pay_nothing(tmp_path: Path) -> None:
    folder = made(
        tmp_path, device__history_report={"kind": "epicrec", "groups": [{"share": 0.5, "default_level": "all"}]}
    )
    people = pd.read_parquet(folder.path / "truth/ledger.parquet")
    charged = int((people["unit"] == "item").sum())
    assert 30 < charged < 90  # half of 120 by lot: 30 is 5.5 standard deviations


def test_choices_are_kept_to_the_letter(told: RunFolder) -> None:
    found = read_scored_histories(told)
    assert found is not None
    names = np.array(found.catalogue.categories)
    chose = (found.level[:, names == "clinic"] == "no").ravel()
    assert 22 < chose.sum() < 76  # 40 % of 120 by lot: 5 standard deviations
    member = found.catalogue.membership > 0
    clinics, open_ = member[:, names == "clinic"].ravel(), (member == (names == "café")).all(axis=1)
    assert clinics.any()
    assert open_.any()
    assert not found.reported[chose][:, clinics].any(), "no clinic is ever told, whatever else it is"
    assert (found.reported[chose][:, open_] == found.owned[chose][:, open_]).all(), "cafés are told as they are"
    counts = told.history_reports[-1].counts
    silent = counts[counts["level"] == "no"]
    assert set(silent["category"]) == {"clinic"}
    assert silent["count"].isna().all()


def test_histories_grow_between_reports(told: RunFolder) -> None:
    first, last = told.history_reports
    assert (first.time_s, last.time_s) == (300.0, 600.0)
    times = told.visits.time_s
    assert times is not None
    assert ((times > 300) & (times <= 600)).any()
    assert not first.counts["count"].equals(last.counts["count"]), "each report has noise of its own"


def test_the_error_stays_below_its_bound_and_numbers_are_there(told: RunFolder) -> None:
    mae, bound = told.metrics["category_mae"], told.metrics["category_mae_bound"]
    assert mae is not None
    assert bound is not None
    assert 0 < mae < bound
    assert 0 < (told.metrics["items_kept"] or 0) < 1


def test_telling_nothing_keeps_nothing_and_costs_what_there_was(tmp_path: Path) -> None:
    folder = made(tmp_path, device__history_report={"kind": "epicrec", "method": "nothing"})
    found = read_scored_histories(folder)
    assert found is not None
    assert folder.metrics["items_kept"] == 0.0
    assert folder.metrics["category_mae"] == pytest.approx(found.true_counts.mean())
    assert folder.metrics["category_mae_bound"] is None


def test_with_much_epsilon_counts_are_nearly_right(tmp_path: Path) -> None:
    folder = made(tmp_path, device__history_report={"kind": "epicrec", "epsilon": 1000.0})
    assert (folder.metrics["category_mae"] or 1.0) < 0.1  # the rounding of fractional items is all that is left


def test_a_budget_that_ends_ends_the_reports(tmp_path: Path) -> None:
    folder = made(tmp_path, device__history_reports=3, device__budget={"epsilon_per_item": 2.0})
    assert len(folder.history_reports) == 2
    assert folder.metrics["epsilon_per_item_spent"] == 2.0


def test_the_rest_of_the_run_does_not_depend_on_what_phones_tell(tmp_path: Path, told: RunFolder) -> None:
    without = made(tmp_path, device__history_report=None)
    for name in ("events.parquet", "server_view.parquet", "releases/0000.parquet"):
        assert (told.path / name).read_bytes() == (without.path / name).read_bytes()
    assert "category_mae" not in without.metrics
    assert without.history_reports == []


def test_the_summary_and_the_check_state_promise_cost_and_choices(told: RunFolder) -> None:
    text = (told.path / "summary.md").read_text()
    assert "2 reports × 1 cost ε = 2 per item, an account of its own" in text
    assert "Choices by lot: 40% of people: clinic: no, café: all; the others: all categories: perturbed" in text
    checked = report(small(HISTORY), "small.yaml")
    assert "2 reports cost ε 2 per item, of a budget of ε 2 per item" in checked


def test_literal_epicrec_is_stamped_and_kept_off_public_maps(tmp_path: Path) -> None:
    folder = made(tmp_path, device__history_report={"kind": "epicrec", "variant": "literal"})
    assert folder.metrics["epsilon_per_item_spent"] is None
    assert "BUT THIS DOES NOT HOLD" in (folder.path / "summary.md").read_text()
    assert ReleasedOnly(folder.path).history_reports == []


def test_an_unquoted_no_of_yaml_is_a_level() -> None:
    written = yaml.safe_load("{kind: epicrec, consent: {clinic: no}, groups: [{share: 0.1, levels: {bar: no}}]}")
    scenario = small(copy.deepcopy({**HISTORY, "device.history_report": written}))
    device = scenario.device.history_report
    assert device is not None
    assert device.model_dump()["consent"] == {"clinic": "no"}
    assert device.model_dump()["groups"][0]["levels"] == {"bar": "no"}


@pytest.mark.parametrize(
    ("changes", "where", "says"),
    [
        (
            {"device.history_report": {"kind": "epicrec", "consent": {"clinc": "no"}}},
            "device.history_report",
            "Did you mean 'clinic'",
        ),
        (
            {"device.history_report": {"kind": "epicrec", "groups": [{"share": 0.1, "levels": {"cafe": "all"}}]}},
            "device.history_report",
            "no category called 'cafe'",
        ),
        (
            {"device.history_report": {"kind": "epicrec", "groups": [{"share": 0.7}, {"share": 0.7}]}},
            "device.history_report",
            "add up to 1.4",
        ),
        ({"device.budget": {"epsilon_per_item": 0.5}}, "device.budget.epsilon_per_item", "nothing could ever be told"),
        (
            {"device.budget": {"epsilon_per_item": 1.5, "when_spent": "fail"}},
            "device.budget.epsilon_per_item",
            "the run could not finish",
        ),
        ({"device.history_reports": 0}, "device.history_reports", "at least 1"),
    ],
)
def test_choices_that_cannot_be_kept_are_refused(changes: dict[str, Any], where: str, says: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        small(copy.deepcopy({**HISTORY, **changes}))
    assert any(path.startswith(where) and says in text for path, text in refused.value.problems)


def test_a_list_of_venues_without_categories_is_refused(tmp_path: Path) -> None:
    (tmp_path / "venues.csv").write_text("venue,lon,lat\na,10.01,50.01\n")
    (tmp_path / "visits.csv").write_text("user,venue\nann,a\n")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("visits", "venues")}
    given = {"kind": "visits_file", "path": files["visits"], "venues": files["venues"]}
    with pytest.raises(ScenarioError, match="the public list of venues has none"):
        small(copy.deepcopy({**HISTORY, "workers.visit_source": given}))


def test_the_ledger_keeps_items_told_by_phones_apart() -> None:
    promise = Guarantee(0.5, Unit.ITEM, Neighbours.ADD_REMOVE, Trust.LOCAL)
    ledger = Ledger(budgets={Account.ITEM: 1.0})
    for _ in range(2):
        ledger.charge(promise, time_s=0.0, mechanism="epicrec")
    assert ledger.sum_spent(Account.ITEM) == 1.0
    assert ledger.sum_spent() == 0.0
    assert ledger.find_remaining(Account.ITEM) == 0.0
    assert math.isinf(ledger.find_remaining())
    assert ledger.charge(promise, time_s=0.0, mechanism="epicrec", cap=4).unit is Unit.USER
    assert ledger.sum_spent(Account.LOCAL) == 2.0, "nobody is trusted with these items"
    assert ledger.sum_spent() == 0.0
