"""Runs in which phones answer in which cell they are, and nobody is trusted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.attacks import ANYONE, AttackView
from geodp.attacks.bayes_location import BayesLocation
from geodp.audit.run_audit import audit_releases
from geodp.display.surfaces import adjust_counts
from geodp.errors import ScenarioError
from geodp.public.guarantee import Trust, Unit
from geodp.public.release import GridCells
from geodp.runs.result import RunResult
from geodp.scenario.file import build_scenario
from geodp.scenario.report import report
from geodp.server.cells_from_reports import cells_from_reports
from tests.small import small, small_raw

PHONES: dict[str, Any] = {
    "curator": None,
    "device.mechanism": {"kind": "cell_response", "epsilon": 3.0, "protocol": "hr"},
    "workers.mobility": {"kind": "static"},
    "map.layers": ["region", "release", "cells"],
    "attacks": [{"kind": "bayes_location", "prior": "released", "people": 200}],
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return geodp.run(small(PHONES), tmp_path_factory.mktemp("answered") / "run")


def test_the_server_counts_from_what_it_got_and_the_folder_keeps_both(answered: RunResult) -> None:
    folder = answered.folder
    assert len(folder.releases) == len(folder.cell_reports) == 3
    for number, (release, reports) in enumerate(zip(folder.releases, folder.cell_reports, strict=True)):
        assert isinstance(release, GridCells)
        assert reports is not None
        again = cells_from_reports(reports)
        assert again.count.tolist() == pytest.approx(release.count.tolist())
        assert again.noise_scale.tolist() == pytest.approx(release.noise_scale.tolist())
        assert reports.who.tolist() == sorted(reports.who.tolist())
        assert reports.size == folder.true_counts(number).sum() == 1500
        score = (release.count - folder.true_counts(number).to_numpy()) / (np.sqrt(2) * release.noise_scale)
        assert np.abs(score).max() < 6


def test_reports_cost_their_own_account_and_add_up(answered: RunResult) -> None:
    folder = answered.folder
    assert folder.central_charges.empty
    assert folder.local_charges["epsilon"].tolist() == [3.0, 3.0, 3.0]
    assert set(folder.local_charges["neighbours"]) == {"replace"}
    assert answered.metrics["epsilon_local_spent"] == 9.0
    assert answered.metrics["epsilon_spent"] is None  # no epsilon of a curator: another account
    assert answered.metrics["epsilon_per_m_spent"] is None
    people = folder.table("truth/ledger.parquet")
    assert people.loc[people["unit"] == "snapshot", "epsilon"].tolist() == [9.0] * 1500
    promise = folder.releases[0].guarantee
    assert (promise.unit, promise.trust, promise.account) == (Unit.SNAPSHOT, Trust.LOCAL, "local")
    summary = (answered.path / "summary.md").read_text()
    assert "with no trusted party: replacing it changes the odds" in summary
    assert "**All 3 reports of one phone** together cost ε = 9: steps add up" in summary
    assert "nobody trusted (3 reports)" in (answered.path / "map.html").read_text()


def test_the_attack_reads_single_answers_with_their_exact_law(answered: RunResult) -> None:
    once = answered.folder.attacks
    assert once["who"].nunique() == 200
    assert 0 < once["error_m"].mean() < once["prior_error_m"].mean()


@pytest.mark.parametrize("protocol", ["grr", "oue", "hr"])
def test_without_noise_to_speak_of_the_guess_lies_in_the_true_cell(protocol: str) -> None:
    """ε = 40: a direct answer is true; the bit of the true cell is on for half of all; a column halves the cells."""
    region = small().area
    x, y = region.sample(250, np.random.default_rng(3))
    who = np.array([f"{number:03d}" for number in range(250)])
    phone = geodp.plugin("cell_response", protocol=protocol, epsilon=40.0, cell_m=400)
    told = phone.respond(x, y, rng=np.random.default_rng(4), region=region, who=who)
    release = cells_from_reports(told)
    guesses = BayesLocation(people=250).guess(AttackView(region, [release], [told]))
    assert guesses.who.tolist() == who.tolist()
    right = release.grid.locate(guesses.x_m, guesses.y_m) == release.grid.locate(x, y)
    bits = told.law.supports(told.answers)[np.arange(250), release.grid.locate(x, y)]
    assert bits.mean() == pytest.approx(0.5 if protocol == "oue" else 1.0, abs=0.17)  # over 5 sd
    assert right[bits].all() or protocol == "hr"


def test_the_guess_minimises_the_expected_distance_under_prior_and_answer() -> None:
    region = small().area
    phone = geodp.plugin("cell_response", protocol="olh", epsilon=2.0, cell_m=900)
    x, y = region.sample(5, np.random.default_rng(3))
    told = phone.respond(x, y, rng=np.random.default_rng(4), region=region, who=np.array(list("abcde")))
    attack = BayesLocation()
    guesses = attack.guess(AttackView(region, [cells_from_reports(told)], [told]))
    prior = attack.blind(region)
    east, north = prior.grid.all_centres()
    cell = told.law.cells.locate(east, north)
    weight = told.law.likelihood(told.answers)[:, cell] * prior.share
    for number in range(5):
        cost = [(np.hypot(east - a, north - b) * weight[number]).sum() for a, b in zip(east, north, strict=True)]
        own = float((np.hypot(east - guesses.x_m[number], north - guesses.y_m[number]) * weight[number]).sum())
        assert own == pytest.approx(min(cost), rel=1e-4)


def test_counts_without_names_give_one_guess_for_all(answered: RunResult) -> None:
    release, reports = answered.folder.releases[0], answered.folder.cell_reports[0]
    assert reports is not None
    nameless = replace(reports, who=np.empty(0, dtype=np.str_))
    guesses = BayesLocation().guess(AttackView(answered.folder.region, [release], [nameless]))
    assert guesses.who.tolist() == [ANYONE]


def test_what_is_drawn_has_none_below_zero_and_what_is_planned_from_is_unbiased(answered: RunResult) -> None:
    release = answered.folder.releases[0]
    assert isinstance(release, GridCells)
    assert release.count.min() < 0
    shown = adjust_counts(release)
    assert shown.min() == 0
    assert shown.sum() == pytest.approx(1500)


@pytest.mark.parametrize("protocol", ["grr", "oue", "olh"])
@pytest.mark.parametrize("assignment", ["geocast", "reward_radius"])
def test_every_assignment_that_reads_cells_plans_from_them(tmp_path: Path, protocol: str, assignment: str) -> None:
    changes = {**PHONES, "duration_s": 900, "attacks": []}
    changes["device.mechanism"] = {"kind": "cell_response", "protocol": protocol, "epsilon": 3.0, "cell_m": 900}
    changes["server.assignment"] = {"kind": assignment, "planning": "noise_aware"}
    done = geodp.run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    planned = done.folder.offers[done.folder.offers["unreachable"].fillna("") == ""]
    assert len(planned) > 5
    assert (done.events["kind"] == "acceptance").any()


def test_the_run_is_audited_against_what_the_ledger_charged(answered: RunResult) -> None:
    audit = audit_releases(answered.folder, samples=2000)
    assert not audit.refuted
    assert {pair.claimed for pair in audit.pairs} == {9.0}
    assert all("3 reports" in pair.name for pair in audit.pairs)


def test_a_spent_budget_reuses_the_last_counts_or_fails_with_advice(tmp_path: Path) -> None:
    changes = {**PHONES, "device.budget": {"epsilon": 7.0}, "attacks": []}
    done = geodp.run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    assert len(done.folder.releases) == 2
    assert done.metrics["epsilon_local_spent"] == 6.0
    assert "2 reports × ε 3 = ε 6 per person over the run, of a budget of ε 7" in report(small(changes), "small")
    found = refuse({**changes, "device.budget": {"epsilon": 7.0, "when_spent": "fail"}})
    assert "the schedule's 3 reports cost 9 per person and the budget is 7" in found["device.budget.epsilon"]
    assert (
        "less than one report costs (3 per person)"
        in refuse({**changes, "device.budget": {"epsilon": 2.0}})["device.budget.epsilon"]
    )


def test_check_says_what_reports_add_up_to_and_what_a_shuffler_would_make_of_them() -> None:
    changes = {**PHONES, "workers.source.count": 10_000}
    changes["device.mechanism"] = {"kind": "cell_response", "epsilon": 1.0, "shuffler_delta": 1e-6}
    text = report(small(changes), "small")
    assert (
        "with no trusted party: replacing it changes the odds of any output by a factor of at most e^ε, ε = 1" in text
    )
    assert "3 reports × ε 1 = ε 3 per person over the run" in text
    assert "All 3 reports of one phone together cost ε = 3: steps add up" in text
    assert "a round has ε 0.05301 at δ = 1e-06" in text
    assert "stated, not charged" in text
    assert "3e^ε + 2 = 10.15" in text
    assert "shuffled" not in report(small(PHONES), "small")


def test_with_a_shuffler_the_server_gets_no_names(tmp_path: Path) -> None:
    changes = {**PHONES, "workers.source.count": 5_000, "duration_s": 600}
    changes["device.mechanism"] = {"kind": "cell_response", "epsilon": 1.0, "shuffler_delta": 1e-6}
    done = geodp.run(small(changes), tmp_path / "run", draw_map=False)
    assert all(reports is not None and reports.who.size == 0 for reports in done.folder.cell_reports)
    assert "who" not in pd.read_parquet(done.path / "releases" / "reports" / "0000.parquet")
    assert set(done.folder.attacks["who"]) != set()  # one guess, held against everybody
    summary = (done.path / "summary.md").read_text()
    assert "through a shuffler, who is trusted" in summary
    assert "**If the shuffler is trusted**" in summary
    assert done.metrics["epsilon_local_spent"] == 1.0


def test_fewer_reports_than_expected_in_public_are_given_no_bound(tmp_path: Path) -> None:
    """At ε = 1 it takes 662 reports; 660 people are 700 in public, to one figure."""
    changes = {**PHONES, "workers.source.count": 660, "duration_s": 600, "attacks": []}
    changes["device.mechanism"] = {"kind": "cell_response", "epsilon": 1.0, "shuffler_delta": 1e-6}
    done = geodp.run(small(changes), tmp_path / "run", draw_map=False)
    assert "**No bound is stated for the shuffler**: 660 reports" in (done.path / "summary.md").read_text()


def refuse(changes: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ScenarioError) as refused:
        build_scenario(small_raw(changes), source="small", folder=Path.cwd(), trust_plugins=True)
    return dict(refused.value.problems)


def test_what_cannot_be_is_refused_with_its_reason() -> None:
    one_cell = refuse({**PHONES, "device.mechanism": {"kind": "cell_response", "cell_m": 5500}})
    assert "a grid of 1 cell leaves nothing to answer" in one_cell["device.mechanism"]
    larger = refuse({**PHONES, "device.mechanism": {"kind": "cell_response", "cell_m": 50_000}})
    assert "more than the region has room for" in larger["device.mechanism.cell_m"]
    hashed = refuse({**PHONES, "device.mechanism": {"kind": "cell_response", "protocol": "olh", "epsilon": 6}})
    assert "404 values, more than there are cells" in hashed["device.mechanism"]
    few = refuse({**PHONES, "device.mechanism": {"kind": "cell_response", "epsilon": 4, "shuffler_delta": 1e-6}})
    assert "is bounded for ε ≤" in few["device.mechanism"]
    unknown = refuse({**PHONES, "device.mechanism": {"kind": "cell_response", "protocol": "our"}})
    assert "must be" in unknown["device.mechanism.protocol"]
    trusted = refuse({"device.mechanism": {"kind": "cell_response"}})
    assert "write 'curator: null'" in trusted["device.mechanism"]
    repeated = refuse({**PHONES, "device.memoise_m": 100})
    assert "drawn anew every time" in repeated["device.memoise_m"]
    named = refuse({**PHONES, "server.assignment": {"kind": "nearest_report"}})
    assert "'cell_response' releases cells" in named["server.assignment"]
    metric = refuse({"curator": None, "device.mechanism": {"kind": "planar_laplace"}, "device.budget": {"epsilon": 1}})
    assert "spends no ε per person" in metric["device.budget.epsilon"]


def test_bare_phones_answer_in_a_frame_and_can_be_attacked() -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"lon": rng.uniform(10.0, 10.08, 300), "lat": rng.uniform(50.0, 50.05, 300)})
    phones = geodp.device("cell_response", epsilon=20.0, protocol="grr", cell_m=1000)
    told = phones.report(people, region=(10.0, 50.0, 10.08, 50.05), noise=1)
    frame = told.to_geodataframe()
    assert frame["count"].sum() == pytest.approx(300)
    assert told.reports is not None
    scores = geodp.attack("bayes_location").score(told, people)
    assert len(scores) == 300
    assert scores["error_m"].mean() == pytest.approx(0.3826 * 1000, rel=0.12)  # the mean distance from a cell's centre
