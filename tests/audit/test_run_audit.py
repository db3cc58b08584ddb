"""The releases of finished runs, and what the server sees of them."""

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.audit import run_audit
from geodp.audit.run_audit import audit_releases, ledger_rho, ledger_spend, play, repeat_case
from geodp.audit.server_view import estimate_server_view
from geodp.cli.main import main
from geodp.curator.household_counts import sensitivity
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.contour import Contour
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.zcdp import largest_rho
from geodp.public.release import Cells
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from geodp.storage.manifest import read_manifest, seal
from tests.audit.zoo import EPSILON, count_case, log_ratio, sound_count
from tests.small import small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "small"
    run(small({"curator.mechanism.cell_m": 200}), path, draw_map=False)
    return path


def audited(path: Path, *words: str) -> tuple[int, Any]:
    file = path.parent / f"{path.name}.json"
    with pytest.raises(SystemExit) as stop:
        main(["audit", "--run", str(path), "--json", str(file), "--quiet", *words])
    return int(stop.value.code or 0), json.loads(file.read_text())


def test_the_releases_of_a_run_are_not_refuted_and_certify_most_of_what_was_spent(folder: Path) -> None:
    code, result = audited(folder, "--samples", "50000")
    assert code == 0
    assert result["claimed"] == 1.5  # three releases at 0.5, as in the ledger
    assert result["view"] == "releases"
    assert 1.2 < result["certified"] <= 1.5


def test_a_ledger_that_charged_too_little_is_refuted(folder: Path, tmp_path: Path) -> None:
    cooked = tmp_path / "cooked"
    shutil.copytree(folder, cooked)
    rows = pd.read_parquet(cooked / "ledger.parquet")
    rows.iloc[:1].to_parquet(cooked / "ledger.parquet")
    seal(cooked, read_manifest(cooked))
    code, result = audited(cooked, "--samples", "20000")
    assert code == 1
    assert (result["claimed"], result["refuted"]) == (0.5, True)


def test_gaussian_releases_are_audited_in_the_rho_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {
        "curator.mechanism.noise": "gaussian",
        "curator.mechanism.cell_m": 200,
        "curator.budget": {"epsilon": 3, "delta": 1e-6, "split": "even"},
    }
    run(small(changes), tmp_path / "gaussian", draw_map=False)
    folder = RunFolder(tmp_path / "gaussian")
    rho, delta = ledger_rho(folder)
    assert rho == pytest.approx(largest_rho(3.0, 1e-6), rel=1e-6)
    assert ledger_spend(folder, metric=False) == pytest.approx(3.0, rel=1e-6)
    audit = audit_releases(folder, samples=20_000)
    assert audit.worst is not None
    assert audit.worst.currency == "ρ"
    assert audit.worst.claimed == rho
    assert 0.85 < audit.worst.share < 1  # of .97 that 20,000 samples certify
    monkeypatch.setattr("geodp.audit.run_audit.ledger_rho", lambda _run: (rho / 2, delta))
    assert audit_releases(folder, samples=20_000).refuted


def test_of_a_large_crowd_fewer_releases_are_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def count_trials() -> int:
        streams = np.random.default_rng(1), SimulatedNoise(np.random.default_rng(2))
        return int(play(RunFolder(folder), *streams, 50_000).inside.size)

    many = count_trials()
    monkeypatch.setattr("geodp.audit.run_audit.MOST_PLACED", 1000)
    assert 0 < count_trials() < many / 10


def test_replaced_positions_are_audited_between_two_cells(tmp_path: Path) -> None:
    changes = {"curator.neighbours": "replace", "curator.mechanism.cell_m": 200, "curator.release_every_s": 1800}
    run(small(changes), tmp_path / "replace", draw_map=False)
    audit = audit_releases(RunFolder(tmp_path / "replace"), samples=50_000)
    assert audit.worst is not None
    assert audit.worst.claimed == 0.5
    assert 0.42 < audit.worst.certified <= 0.5


def test_reports_counted_by_a_curator_pass_through_the_phones(tmp_path: Path) -> None:
    changes = {"device.mechanism.kind": "planar_laplace", "curator.mechanism.cell_m": 400}
    run(small(changes), tmp_path / "both", draw_map=False)
    audit = audit_releases(RunFolder(tmp_path / "both"), samples=10_000)
    assert audit.worst is not None
    assert audit.worst.claimed == 1.5
    assert audit.worst.certified < 1.0  # the canary's report often falls into another cell
    assert not audit.refuted


def test_phones_that_report_by_themselves_are_audited_over_all_their_reports(tmp_path: Path) -> None:
    changes = {"curator": None, "device.mechanism.kind": "planar_laplace", "server.assignment.kind": "nearest_report"}
    run(small(changes), tmp_path / "local", draw_map=False)
    opened = RunFolder(tmp_path / "local")
    audit = audit_releases(opened, samples=20_000)
    assert audit.worst is not None
    assert audit.worst.claimed == pytest.approx(6.0)  # three reports about places at ε·d = 2
    assert 4.0 < audit.worst.certified <= 6.0
    estimate = estimate_server_view(opened, samples=1000)
    assert (estimate.releases, estimate.offers, estimate.outcome_nats_max) == (0, 0, 0.0)
    assert "by name are left out" in estimate.assumes


def test_exact_counts_claim_nothing(tmp_path: Path) -> None:
    run(small({"curator.mechanism.kind": "no_privacy"}), tmp_path / "open", draw_map=False)
    assert audit_releases(RunFolder(tmp_path / "open")).pairs == ()


def test_arms_of_a_comparison_are_audited_one_by_one(tmp_path: Path) -> None:
    arms = {"fine": {"curator.mechanism.cell_m": 300}, "open": {"curator.mechanism.kind": "no_privacy"}}
    run(small({"compare": arms}), tmp_path / "arms", draw_map=False)
    code, results = audited(tmp_path / "arms", "--samples", "2000")
    assert code == 0
    assert [(row["arm"], row["claimed"]) for row in results] == [("fine", 1.5), ("open", None)]


def test_where_cells_are_no_grid_there_is_one_canary_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plot = Contour.release

    def loose(self: Contour, snapshot: Snapshot, noise: Noise) -> Cells:
        drawn = plot(self, snapshot, noise)
        return Cells(**{field.name: getattr(drawn, field.name) for field in fields(Cells)})

    monkeypatch.setattr(Contour, "release", loose)
    monkeypatch.setattr(run_audit, "MOST_ONE_BY_ONE", 3000)
    run(small({"curator.mechanism.epsilon": 2, "curator.release_every_s": 1800}), tmp_path / "loose", draw_map=False)
    audit = audit_releases(RunFolder(tmp_path / "loose"))
    assert 1300 < audit.samples < 1700  # the coins of 3,000 redraws of one release, not the 100,000 asked for
    assert audit.worst is not None
    assert 1.2 < audit.worst.certified <= audit.worst.claimed == 2.0


def test_trials_are_drawn_anew_and_independently(folder: Path) -> None:
    """The run's own noise plays no part: neither redraw equals the other or the run."""
    opened = RunFolder(folder)
    first, second = (
        play(opened, np.random.default_rng(seed), SimulatedNoise(np.random.default_rng(seed)), 500) for seed in (1, 2)
    )
    assert not np.intersect1d(first.rest.ravel(), second.rest.ravel()).size
    assert abs(float(np.corrcoef(first.rest[:, 0], first.rest[:, 1])[0, 1])) < 0.2  # six standard deviations


def test_the_likelihood_ratio_is_one_on_average_without_the_canary(folder: Path) -> None:
    """E[f(z|in)/f(z|out) | out] = 1, and its inverse with the canary: the game is played with the law it assumes."""
    trials = play(RunFolder(folder), np.random.default_rng(3), SimulatedNoise(np.random.default_rng(3)), 50_000)
    odds = np.exp(np.where(trials.inside, -trials.log_ratio, trials.log_ratio))
    for side in (odds[trials.inside], odds[~trials.inside]):
        assert abs(side.mean() - 1) < 5 * side.std() / np.sqrt(side.size)  # false alarm 6e-7


def test_the_server_sees_more_than_the_releases_and_nothing_is_claimed(folder: Path) -> None:
    code, result = audited(folder, "--view", "server", "--samples", "20000")
    assert code == 0
    assert (result["claimed"], result["refuted"], result["view"]) == (None, False, "server")
    leakage = result["leakage"]
    assert leakage["ledger_epsilon"] == 1.5
    assert leakage["certified_releases"] <= 1.5
    assert result["certified"] > 1.5, "whoever takes a task gives her name, which no epsilon of the releases covers"
    assert 0 < leakage["named_share"] < 1
    assert 0 < leakage["outcome_nats_mean"] < leakage["outcome_nats_max"]
    assert 0.6 < leakage["guess_right"] < 1


def test_the_estimate_says_what_it_is(folder: Path) -> None:
    text = estimate_server_view(RunFolder(folder), samples=2000).text()
    for words in ("N = 2000", "nothing: releases have a guarantee, the protocol has none", "assumed"):
        assert words in text


def test_the_server_view_of_posted_tasks_says_that_it_overstates(tmp_path: Path) -> None:
    run(small({"server.mode": "worker_selected"}), tmp_path / "posted", draw_map=False)
    assert "overstates" in estimate_server_view(RunFolder(tmp_path / "posted"), samples=1000).assumes


def test_disjoint_groups_do_not_add_up_in_the_ledger(folder: Path, tmp_path: Path) -> None:
    cooked = tmp_path / "groups"
    shutil.copytree(folder, cooked)
    rows = pd.read_parquet(cooked / "ledger.parquet")
    rows["scope"] = ["everyone", "north", "south"]
    rows["epsilon"] = [0.5, 0.2, 0.1]
    rows.to_parquet(cooked / "ledger.parquet")
    seal(cooked, read_manifest(cooked))
    assert ledger_spend(RunFolder(cooked), metric=False) == 0.7
    assert ledger_spend(RunFolder(cooked), metric=True) == 0.0


def test_a_series_of_outputs_spends_its_sum() -> None:
    from geodp.audit.auditor import audit_cases

    single = count_case("count", sound_count)
    single = type(single)(**{**vars(single), "score": lambda z: log_ratio(z, 1 / EPSILON)})

    def certified(claimed: float) -> bool:
        series = repeat_case(single, 3, claimed=claimed)
        return audit_cases("series", [series], lambda _: SimulatedNoise(np.random.default_rng(1))).refuted

    assert certified(2.5 * EPSILON)
    assert not certified(3 * EPSILON)


QUICK: dict[str, Any] = {
    "duration_s": 600,
    "workers.source.count": 1000,
    "workers.mobility": {"kind": "static"},
    "tasks.demand.per_hour": 30,
    "tasks.reward.total": 60,
    "curator.release_every_s": 300,
}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_an_adaptive_grid_spends_no_more_than_the_ledger_says(tmp_path: Path, neighbours: str) -> None:
    """Coarse cells share no noise, so there is a canary in each of them, which gives the audit some power."""
    changes = {"curator.mechanism": {"kind": "adaptive_grid", "epsilon": 1.5}, "curator.neighbours": neighbours}
    run(small({**QUICK, **changes}), tmp_path / "run", draw_map=False, summarise=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=5000)
    assert audit.worst is not None
    assert audit.worst.claimed == 3.0
    assert not audit.refuted
    assert audit.worst.certified > 0.3 * audit.worst.claimed


HOUSEHOLDS: dict[str, Any] = {
    **QUICK,
    "workers.mobility": {"kind": "companions", "sizes": {1: 0.4, 2: 0.3, 4: 0.3}, "mobility": {"kind": "static"}},
    "curator.mechanism": {"kind": "uniform_grid", "epsilon": 0.3, "cell_m": 200},
}


@pytest.mark.parametrize("hidden", [1, 4])
def test_households_of_canaries_certify_most_of_what_people_who_move_together_get(tmp_path: Path, hidden: int) -> None:
    changes = {**HOUSEHOLDS, "curator.mechanism.household": hidden}
    run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=40_000)
    one, four = audit.pairs
    due = 0.6 * 4 / hidden
    assert one.name == "one canary, in or out, over 2 releases; the claim is what the ledger charged"
    assert four.name.startswith("a household of 4 canaries, in or out, over 2 releases")
    assert four.name.endswith(", times 4") == (hidden == 1)
    assert one.claimed == 0.6
    assert four.claimed == pytest.approx(due)
    assert not audit.refuted
    assert 0.75 * due < four.certified <= due
    assert one.certified <= 0.6 / hidden, "one of them is hidden better behind noise for four"


def test_noise_that_hides_several_is_tried_with_households_where_everyone_moves_alone(tmp_path: Path) -> None:
    changes = {**QUICK, "curator.mechanism": {"kind": "uniform_grid", "epsilon": 0.3, "cell_m": 200, "household": 3}}
    changes["curator.neighbours"] = "replace"
    run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=40_000)
    assert [pair.name.split(",")[0] for pair in audit.pairs] == ["one canary", "a household of 3 canaries"]
    assert [pair.claimed for pair in audit.pairs] == [0.6, 0.6]
    assert not audit.refuted
    assert audit.pairs[1].certified > 0.3  # of 0.6: told where all four counts lie outside, 1 in 16


def test_a_run_with_noise_for_one_is_refuted_by_households_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The promise says four people together, the noise was made for one."""
    monkeypatch.setattr(UniformGrid, "change", lambda _, neighbours: sensitivity(neighbours))
    run(small({**HOUSEHOLDS, "curator.mechanism.household": 4}), tmp_path / "run", draw_map=False, summarise=False)
    one, four = audit_releases(RunFolder(tmp_path / "run"), samples=20_000).pairs
    assert not one.refuted
    assert four.refuted
    assert 2.0 < four.certified <= 2.4, "four times what is claimed, in truth"
