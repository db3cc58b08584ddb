"""The games that attacks are: what they are shown, what they find, and when that refutes a promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.cli.attack import build_attack
from geodp.cli.main import main
from geodp.errors import UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guessing_bounds import advantage_bound, auc_bound, gaussian_auc_bound, planar_hit_bound
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder
from geodp.runs.attack_run import attack_run
from geodp.runs.findings import FoundScore, area_under_curve, clopper_pearson, list_refuted
from geodp.runs.risk import LAST_LINE, people_picture, risk_sentences
from geodp.runs.run import run
from geodp.runs.summary import write_summary
from tests.small import small

SMALL_TOWN: dict[str, Any] = {"workers.source.count": 50, "tasks.demand.per_hour": 20}
GRID = {"curator.mechanism": {"kind": "uniform_grid", "epsilon": 0.25, "cell_m": 1000}}
PHONES: dict[str, Any] = {
    "curator": None,
    "device.mechanism": {"kind": "none"},
    "server.assignment": {"kind": "nearest_report"},
    "workers.source.count": 60,
    "duration_s": 3600,
    "device.report_every_s": 300,
}


@pytest.fixture(scope="module")
def grid_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("grid") / "run"
    run(small(SMALL_TOWN | GRID), folder, draw_map=False)
    return RunFolder(folder)


@pytest.fixture(scope="module")
def phones_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("phones") / "run"
    run(small(PHONES), folder, draw_map=False)
    return RunFolder(folder)


def membership(**fields: Any) -> Attack:
    found = plugin("membership", "attack", **fields)
    assert isinstance(found, Attack)
    return found


def test_bounds_of_the_page() -> None:
    assert [auc_bound(epsilon) for epsilon in (0.1, 1, 10)] == pytest.approx([0.525, 0.731, 0.99995], abs=5e-4)
    assert planar_hit_bound(np.log(4) / 200, 200) == pytest.approx(0.4034, abs=5e-5)
    assert advantage_bound(1.0) == pytest.approx(np.tanh(0.5))
    assert gaussian_auc_bound(0.0) == 0.5
    assert auc_bound(1.0, 0.1) > auc_bound(1.0, 1e-9) >= auc_bound(1.0) - 1e-9


def test_the_area_under_the_curve_counts_ties_as_halves() -> None:
    member = np.array([True, True, False, False])
    assert area_under_curve(np.array([2.0, 1, 1, 0]), member) == pytest.approx(0.875)
    assert area_under_curve(np.zeros(4), np.ones(4, dtype=bool)) is None
    assert clopper_pearson(0, 10)[0] == 0
    assert clopper_pearson(5, 10) == pytest.approx((0.187, 0.813), abs=1e-3)


@pytest.mark.parametrize("knows", [["others"], ["traces"], ["past"]])
def test_membership_is_found_beside_chance_and_bound(grid_run: RunFolder, knows: list[str]) -> None:
    found, *certified = attack_run(grid_run, membership(knows=knows, people=25))
    assert [one.score for one in certified] == ([] if knows == ["others"] else ["epsilon"])
    assert all(one.value is not None and one.bound and one.value <= one.bound for one in certified)
    assert found.key == "membership_auc"
    assert found.chance == 0.5
    assert found.bound == pytest.approx(auc_bound(0.75))  # 3 releases at 0.25
    assert found.value is not None
    assert found.low is not None
    assert 0.3 < found.low <= found.value
    assert not list_refuted([found])


@pytest.mark.slow
def test_no_attack_beats_a_sound_mechanism(grid_run: RunFolder) -> None:
    """200 repeats of the optimal attack at most once above its bound: of .05 each, 5 % are allowed (27 at 1e-6)."""
    beaten = sum(
        bool(list_refuted(attack_run(grid_run, membership(people=25), seed=seed, redraws=4))) for seed in range(200)
    )
    assert beaten <= 27


def test_half_the_noise_is_refuted(grid_run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the noise, and the scale that the release states stays what it should be."""
    drawn = SimulatedNoise.laplace
    monkeypatch.setattr(SimulatedNoise, "laplace", lambda self, scale, size: drawn(self, scale, size) / 4)
    (found,) = attack_run(grid_run, membership(people=50), redraws=60)
    assert list_refuted([found]) == [found]


def test_a_view_holds_what_is_declared_and_nothing_else(grid_run: RunFolder, phones_run: RunFolder) -> None:
    """Walks everything reachable from the view: nothing of the truth but the declared background."""
    seen: list[AttackView] = []

    def look(attack: Attack, view: AttackView) -> Findings:
        seen.append(view)
        found: Findings = guess(attack, view)
        return found

    for kind, fields, opened in (
        ("membership", {"knows": ["others"]}, grid_run),
        ("membership", {"knows": ["past"], "people": 10}, grid_run),
        ("unicity", {}, phones_run),
        ("top_n", {}, phones_run),
        ("home_work", {}, phones_run),
        ("triangulation", {}, phones_run),
    ):
        attack = plugin(kind, "attack", **fields)
        guess = type(attack).guess
        type(attack).guess = look
        try:
            attack_run(opened, attack, redraws=1)
        finally:
            type(attack).guess = guess
        declared = set(attack.knows) | ({"traces"} if attack.about == "member" else set())
        assert set(seen[-1].background.holds()) <= declared
        reached = _walk(seen[-1])
        assert not any(isinstance(one, RunFolder | Path | pd.DataFrame) for one in reached)


def _walk(root: Any) -> list[Any]:
    found, ahead, known = [], [root], set()
    while ahead:
        one = ahead.pop()
        if id(one) in known or isinstance(one, str | int | float | np.ndarray | type(None)):
            continue
        known.add(id(one))
        found.append(one)
        if isinstance(one, dict):
            ahead += list(one.values())
        elif isinstance(one, list | tuple | set | frozenset):
            ahead += list(one)
        elif type(one).__module__.startswith("geodp"):
            ahead += list(getattr(one, "__dict__", {}).values())
    return found


def test_exact_reports_single_people_out(phones_run: RunFolder) -> None:
    attack = build_attack("unicity", "points=3", {"hours": 0.05, "cell_m": 300.0})
    found = {one.score: one for one in attack_run(phones_run, attack)}
    assert found["unique"].value is not None
    assert found["unique"].value > 0.3
    assert found["unique"].chance == pytest.approx(1 / 60)
    linked = {one.score: one for one in attack_run(phones_run, build_attack("top_n", "past", {}))}
    assert linked["top5"].chance == pytest.approx(5 / 60)


@pytest.mark.parametrize("kind", ["home_work", "triangulation", "markov_linkage", "companions", "sybil"])
def test_every_attack_answers_with_scores_or_a_reason(phones_run: RunFolder, kind: str) -> None:
    fields = {"trials": 10, "side_m": 1000.0} if kind == "sybil" else {}
    for one in attack_run(phones_run, build_attack(kind, None, fields)):
        assert one.value is not None or one.note.startswith("not scored")
        assert one.value != 0 or one.targets


def test_what_cannot_be_is_refused_in_words(grid_run: RunFolder, phones_run: RunFolder) -> None:
    with pytest.raises(UsageError, match="reads points"):
        attack_run(grid_run, build_attack("unicity", None, {}))
    with pytest.raises(UsageError, match="reads cells, contours, counts"):
        attack_run(phones_run, build_attack("membership", None, {}))
    with pytest.raises(ValueError, match="can make no use of 'past'"):
        build_attack("unicity", "past", {})
    with pytest.raises(UsageError, match="a number of points is meant"):
        build_attack("unicity", "points=four", {})


def test_scenario_keys_summary_and_risk_page(tmp_path: Path) -> None:
    changes = (
        SMALL_TOWN
        | GRID
        | {
            "attacks": [
                {"kind": "membership", "knows": ["others"], "people": 20},
                {"kind": "membership", "knows": ["past"], "people": 20},
                {"kind": "recovery"},
            ]
        }
    )
    result = run(small(changes), tmp_path / "run", draw_map=False)
    keys = set(result.metrics)
    assert {"membership_auc", "membership_auc_low", "membership_auc_chance", "membership_auc_bound"} <= keys
    assert {"membership_auc_past", "recovery_hours_right", "recovery_hours_right_chance"} <= keys
    text = (result.path / "summary.md").read_text(encoding="utf-8")
    assert "| release | utility | promise | what an adversary finds | chance | bound |" in text
    assert text.index("knows everybody's traces of an earlier period") < text.index("everything about everybody else")
    assert LAST_LINE in text
    page = (result.path / "risk.html").read_text(encoding="utf-8")
    assert LAST_LINE in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    write_summary(result.folder)


def test_a_run_without_named_attacks_has_the_table_too(grid_run: RunFolder) -> None:
    text = (grid_run.path / "summary.md").read_text(encoding="utf-8")
    assert "| release | utility | promise | what an adversary finds | chance | bound |" in text
    assert not any(key.startswith("membership") for key in grid_run.metrics)  # nobody asked for it


def test_sentences_say_the_weakest_first_and_a_picture_has_100_people() -> None:
    strong = FoundScore("membership", "auc", "member", "r", 0.8, chance=0.5, bound=0.9, knows=("others",))
    weak = FoundScore("membership", "auc", "member", "r", 0.6, chance=0.5, bound=0.9, knows=("past",))
    said = risk_sentences([strong, weak])
    assert [("60" in said[0]), ("80" in said[1]), said[2]] == [True, True, LAST_LINE]
    drawing = people_picture(0.67)
    assert drawing.count("<circle") == 100
    assert drawing.count("#b2182b") == 67
    assert risk_sentences([]) == []


def test_the_command_on_a_run_and_on_files(
    grid_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["attack", *words])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    report = tmp_path / "found.json"
    code, text = call(str(grid_run.path), "--kind", "membership", "--set", "people=20", "--json", str(report))
    assert (code, "bound" in text) == (0, True)
    assert json.loads(report.read_text())["findings"][0]["key"] == "membership_auc"
    rng = np.random.default_rng(1)
    home = rng.uniform(0, 0.1, (40, 2))
    hour = np.tile(np.arange(48), 40)
    person = np.repeat(np.arange(40), 48)
    place = home[person] + np.where((hour % 24 >= 9) & (hour % 24 < 17), 0.02, 0.0)[:, None]
    rows = {
        "user": [f"u{who}" for who in person],
        "time_s": hour * 3600,
        "lon": 10 + place[:, 0],
        "lat": 50 + place[:, 1],
    }
    truth, made = tmp_path / "truth.csv", tmp_path / "made.csv"
    frame = pd.DataFrame(rows)
    frame.assign(member=(person < 20).astype(int)).to_csv(truth, index=False)
    frame.to_csv(made, index=False)
    assert call(str(made), "--kind", "home_work", "--truth", str(truth))[0] == 0
    code, text = call(str(made), "--kind", "home_work")
    assert (code, "not scored" in text) == (0, True)
    code, text = call(str(made), "--kind", "unicity", "--knows", "points=2")
    assert (code, "unicity_unique" in text) == (0, True)
    learnt = frame[person < 20].rename(columns={"user": "trip_id"}).drop(columns="time_s")
    learnt.to_csv(tmp_path / "synthetic.csv", index=False)  # as another program may write it
    code, text = call(str(tmp_path / "synthetic.csv"), "--kind", "synthetic_membership", "--truth", str(truth))
    assert (code, "synthetic_membership_auc" in text) == (0, True)
    assert call(str(tmp_path / "nowhere.csv"), "--kind", "unicity")[0] == 2
    frame[frame["user"] == "u1"].to_csv(tmp_path / "one.csv", index=False)
    code, text = call(str(tmp_path / "one.csv"), "--kind", "unicity")
    assert (code, "one person" in text) == (2, True)


def test_venue_counts_tell_who_is_in(tmp_path: Path) -> None:
    """Counts of venues: a rule tells of nearly everybody, noise with a promise stays below its bound."""
    town = SMALL_TOWN | GRID | {
        "workers.visit_source": {"kind": "generated_visits", "venues": 40, "mean_visits": 8, "days": 10},
        "publish": [
            {"kind": "suppressed_counts", "k": 2},
            {"kind": "laplace_counts", "epsilon": 1.0, "cap": 10, "accuracy_share": 0},
        ],
    }  # fmt: skip
    run(small(town), tmp_path / "run", draw_map=False, summarise=False)
    opened = RunFolder(tmp_path / "run")
    found = {one.release: one for one in attack_run(opened, membership(people=40), redraws=6)}
    rule, noise = found["0-suppressed_counts"], found["1-laplace_counts"]
    assert rule.bound is None
    assert (rule.value or 0) > 0.9
    assert noise.bound == pytest.approx(auc_bound(1.0))
    assert (noise.value or 1) < 0.9
    assert not list_refuted([noise])
    together = {one.release: one for one in attack_run(opened, membership(people=40, knows=["traces"]), redraws=2)}
    assert together["0-suppressed_counts"].value is not None


def test_homes_are_found_night_by_night_and_drawn(tmp_path: Path) -> None:
    changes = PHONES | {
        "workers.mobility": {"kind": "commuter"},
        "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.0069315},
        "device.report_every_s": 14_400,
        "duration_s": 3 * 86_400,
        "tasks.demand.per_hour": 1,
        "start_time": "00:00",
        "attacks": [{"kind": "home_work"}],
    }
    run(small(changes), tmp_path / "run", draw_map=True, summarise=True)
    opened = RunFolder(tmp_path / "run")
    labels = [one["release"] for one in opened.findings]
    assert any(label.startswith("after 1 day: 6 reports, ε = 0.0416") for label in labels)
    assert "home_work_hit_rate" in opened.metrics
    places = opened.table("truth/found_places.parquet")
    assert set(places["attack"]) == {"home_work"}
    assert len(places) == 60
    assert "Adversary's guesses" in (tmp_path / "run" / "map.html").read_text(encoding="utf-8")


def test_those_who_move_together_are_told_by_their_reports(tmp_path: Path) -> None:
    changes = PHONES | {
        "workers.mobility": {"kind": "companions", "sizes": {2: 1.0}, "mobility": {"kind": "commuter"}},
        "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01},
    }
    run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    area, best = attack_run(RunFolder(tmp_path / "run"), build_attack("companions", None, {}))
    assert (area.value or 0) > 0.9
    assert "twice the ε" in area.note
    assert (best.value or 0) > 10 * (best.chance or 1)
