"""Attacks on whole runs: they see what the server saw, and are scored against the truth outside."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.run_folder.folder import ATTACK_SCORES, RunFolder, no_attack_scores
from geodp.runs.attack_scores import score
from geodp.runs.result import RunResult
from tests.small import small

ATTACKS: list[dict[str, Any]] = [
    {"kind": "bayes_location", "people": 150},
    {"kind": "tracking", "people": 40},
]
PHONES: dict[str, Any] = {"curator": None, "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The same world with a curator and without one, both attacked."""
    changes = {"workers.mobility.kind": "static", "attacks": ATTACKS, "compare": {"curator": {}, "phones": PHONES}}
    return geodp.run(small(changes), tmp_path_factory.mktemp("attacked") / "compared")


@pytest.fixture
def phones(compared: RunResult) -> RunFolder:
    return compared.arms["phones"].folder


def test_every_guess_is_held_against_the_person_it_is_about(phones: RunFolder) -> None:
    scores, truth = phones.attacks, phones.positions
    assert {name: str(kind) for name, kind in scores.dtypes.items()} == ATTACK_SCORES
    once = scores[scores["attack"] == "bayes_location"]
    assert once["who"].nunique() == 150
    assert len(once) == 150 * 3
    joined = once.merge(truth, on=["release", "who"], suffixes=("", "_true"))
    x, y, true_x, true_y = (joined[name].to_numpy() for name in ("x_m", "y_m", "x_m_true", "y_m_true"))
    assert joined["error_m"].to_numpy() == pytest.approx(np.hypot(x - true_x, y - true_y))
    assert (once["hit"] == (once["error_m"] <= 200)).all()


def test_one_report_errs_by_about_2_over_epsilon_and_linked_reports_by_less(phones: RunFolder) -> None:
    metrics = phones.metrics
    once, linked, blind = metrics["attack_error_m"], metrics["tracking_error_m"], metrics["prior_error_m"]
    assert once is not None
    assert linked is not None
    assert blind is not None
    assert once == pytest.approx(200, rel=0.15)
    assert linked < once < 0.3 * blind
    low, high = metrics["attack_error_m_low"], metrics["attack_error_m_high"]
    assert low is not None
    assert high is not None
    assert low < once < high


def test_counts_tell_little_about_one_person_and_cannot_be_linked(compared: RunResult) -> None:
    curator = compared.arms["curator"]
    error, blind = curator.metrics["attack_error_m"], curator.metrics["prior_error_m"]
    assert error is not None
    assert blind is not None
    assert error > 0.6 * blind
    assert curator.metrics["tracking_error_m"] is None
    assert curator.folder.attacks["method"].unique().tolist() == ["bayes_location"]


def test_the_summary_compares_what_an_adversary_finds_and_never_adds_epsilons(compared: RunResult) -> None:
    text = compared.summary()
    assert "## What an adversary finds" in text
    assert "neither added nor compared" in text
    assert "| error from all linked reports (forward-backward) | – |" in text
    table = compared.comparison.set_index("metric")
    assert table["phones"].isna()["epsilon_spent"]
    assert table["curator"].isna()["epsilon_per_m_spent"]
    alone = compared.arms["phones"].summary()
    assert "There is no trusted party" in alone
    assert "**All 3 reports of one phone** together cost ε = " in alone


def test_the_map_of_a_comparison_of_trust_models_is_drawn(compared: RunResult) -> None:
    assert (compared.path / "map.html").is_file()
    assert (compared.arms["phones"].path / "map.html").is_file()


def test_an_attack_is_shown_nothing_but_the_servers_view(phones: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    attack = phones.scenario.attacks[0]

    def spy(_: Any, view: Any) -> Any:
        seen.append(view)
        return original(attack, view)

    original = type(attack).guess
    monkeypatch.setattr(type(attack), "guess", spy)
    score(phones, 0, attack)
    (view,) = seen
    assert set(vars(view)) == {
        "region", "releases", "reports", "publications", "counts", "offers", "laws", "background", "start_s"
    }  # fmt: skip
    assert not view.reports, "these phones report places, and nothing about cells"
    assert not view.background.holds(), "this adversary knows nothing else"
    assert not view.publications
    assert not view.counts
    true = phones.positions["x_m"].to_numpy()
    for release in view.releases:
        assert not np.isin(release.x_m, true).any()


def test_without_attacks_no_guesses_are_written_and_the_summary_has_the_usual_adversary(tmp_path: Path) -> None:
    run = geodp.run(small(PHONES), tmp_path / "run", draw_map=False)
    assert not (run.path / "attacks.parquet").exists()
    assert run.folder.attacks.equals(no_attack_scores())
    for key in ("attack_error_m", "attack_hit_rate", "prior_error_m", "tracking_error_m", "tracking_hit_rate"):
        assert run.metrics[key] is None
    told = run.summary().partition("## What an adversary finds")[2]
    assert "`bayes_location`: error of guesses" in told


def test_a_run_that_releases_nothing_cannot_be_attacked(tmp_path: Path) -> None:
    changes = {"curator": None, "server.mode": "worker_selected", "attacks": ATTACKS}
    run = geodp.run(small(changes), tmp_path / "run", draw_map=False)
    assert run.folder.attacks.empty
    assert run.metrics["attack_error_m"] is None
