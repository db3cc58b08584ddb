from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from geodp.metrics import Measured
from geodp.public.events import Kind, Reason
from geodp.public.guarantee import Guarantee, both_relations
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.release_store import write_release
from geodp.runs.measure import measurements, write_metrics
from geodp.runs.remarks import remarks
from geodp.runs.summary import run_summary, write_summary
from tests.metrics.hand_made import SCENARIO, hand_made_run, release, server_view


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return hand_made_run(tmp_path / "run")


def _remarks(run: RunFolder) -> str:
    return "\n".join(remarks(run, {key: value for _, key, value in measurements(run)}))


def test_the_summary_tells_what_happened(run: RunFolder) -> None:
    write_summary(run)
    text = (run.path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# hand_made\n\nEight tasks one can check on paper.\n")
    assert "Simulated noise: not releasable" in text
    assert "8 tasks arrived within 10 min" in text
    assert "Workers took 3 of the 6 decided ones: **50.0 % (18.8 to 81.2)**" in text
    assert "| taken by a worker | 3 | 37.5 % |" in text
    assert "| no offer: the solver gave no usable radius | 1 | 12.5 % |" in text
    assert "Of the reward of 80, 9 was spent." in text
    assert "| `execution_cost_m` | 2.15 km (-0.32 to 4.62) | lower |" in text


def test_nothing_undefined_is_printed_as_a_number(run: RunFolder) -> None:
    for file in (run.path / "releases").iterdir():
        file.unlink()
    text = run_summary(RunFolder(run.path))
    assert "| `density_error` | – | lower |" in text
    assert not {"nan", "None", "inf"} & set(text.replace("(", " ").replace(")", " ").split())


def test_every_reason_a_task_can_end_with_has_words() -> None:
    from geodp.runs.summary import FATES

    endings = [Reason.NONE, Reason.NO_ACCEPTANCE, Reason.NOBODY_NOTIFIED, Reason.OUT_OF_PATIENCE]
    endings += [Reason.BEYOND_REACH, Reason.NO_RADIUS, Reason.PURSE_EMPTY, Reason.NO_RELEASE]
    endings += [Reason.BAD_RADIUS, Reason.RUN_ENDED, Reason.NOBODY_IN_REGION, Reason.SHORT_OF_TARGET]
    endings += [Reason.ACCEPTORS_GONE, Reason.TOO_FEW, Reason.CALLED_OFF, Reason.CROWDED, Reason.FEW_PEOPLE]
    assert set(FATES) == {str(reason) for reason in endings}


def test_the_promise_is_given_in_both_neighbour_relations(run: RunFolder) -> None:
    text = run_summary(run)
    assert "ε = 0.3 (add/remove), 0.6 (replace)" in text
    assert "2 releases × 0.3, so ε = 0.6 (add/remove), 1.2 (replace), of a budget of 0.9." in text
    assert both_relations(0.1 + 0.2, "replace") == "0.3 (replace)"


def test_no_epsilon_is_claimed_for_the_servers_view(run: RunFolder) -> None:
    text = run_summary(run)
    assert "no ε is claimed for all that the server sees" in text
    assert "0.1 nats" in text or "0.100 nats" in text
    assert "the worst-off 0.5 nats" in text
    assert "up to 1.65 times as likely" in text  # e^0.5


def test_exact_counts_are_called_what_they_are(run: RunFolder) -> None:
    exact = release([10.0, 20.0], time_s=0.0, guarantee=Guarantee.none("exact counts are published"))
    for index in range(2):
        write_release(run.path / "releases", index, exact)
    pd.read_parquet(run.path / "ledger.parquet").iloc[:0].to_parquet(run.path / "ledger.parquet")
    text = run_summary(RunFolder(run.path))
    assert "No privacy guarantee holds in this run" in text
    assert "| `epsilon_spent` | – | lower |" in text
    assert "(add/remove)" not in text


def test_oddities_of_the_solver_are_never_hidden(run: RunFolder) -> None:
    found = _remarks(run)
    assert "not positive for 1 tasks" in found
    assert "1 tasks were offered to circles" in found
    assert "Only 6 tasks were decided" in found
    assert "25.0 % of tasks were still undecided" in found


def test_noise_larger_than_the_signal_is_said(run: RunFolder) -> None:
    assert "mostly noise" not in _remarks(run)  # 3.3 against 15 workers per cell
    for index in range(2):
        write_release(run.path / "releases", index, release([2.0, 3.0], time_s=0.0))
    assert "Noise per cell (3.33 workers on average) exceeds the mean count per cell (2.5)" in _remarks(
        RunFolder(run.path)
    )


def test_a_gap_beyond_chance_is_explained(run: RunFolder) -> None:
    assert "often than planned" not in _remarks(run)  # four offers prove nothing
    many = pd.concat([server_view().iloc[[1]].assign(task=task) for task in range(30)])
    planned = [0.9, 0.8] * 15  # nobody accepts any
    many.assign(planned_success=planned).to_parquet(run.path / "server_view.parquet")
    found = _remarks(RunFolder(run.path))
    assert "succeeded less often than planned, by more than chance: -85.0 points" in found
    assert "noise_aware" in found
    assert "workers move" not in found  # they are static here


def test_releases_that_the_budget_refused_are_counted(run: RunFolder) -> None:
    events = pd.read_parquet(run.path / "events.parquet")
    refused = events[events["kind"] == Kind.RELEASE].assign(reason=str(Reason.REUSED_LAST))
    pd.concat([events, refused, refused]).to_parquet(run.path / "events.parquet")
    assert "2 releases were not made, and the server planned from an old one" in _remarks(RunFolder(run.path))


def test_unbounded_disclosure_is_said(run: RunFolder) -> None:
    ledger = pd.DataFrame({"worker": [1], "epsilon": [float("inf")], "time_s": 0.0, "unit": "interaction"})
    ledger.to_parquet(run.path / "truth/ledger.parquet")
    text = run_summary(RunFolder(run.path))
    assert "has no bound in this run" in text
    assert "accepts with certainty" in text


def test_blur_is_reported_only_where_it_matters(run: RunFolder) -> None:
    measured = {key: value for _, key, value in measurements(run)}
    blurred = measured | {"density_error": Measured(1.0), "density_error_read": Measured(40.0)}
    assert "blur more than the noise" in "\n".join(remarks(run, blurred))
    slight = measured | {"density_error": Measured(0.0), "density_error_read": Measured(0.01)}
    assert "blur more than the noise" not in "\n".join(remarks(run, slight))


def test_a_comparison_is_told_in_words_and_tables(tmp_path: Path) -> None:
    top = tmp_path / "compared"
    for name in ("plain", "dearer"):
        hand_made_run(top / "arms" / name)
    events = pd.read_parquet(top / "arms/dearer/events.parquet")
    events.loc[events["kind"] == "departure", ["value", "y_m"]] += 100.0
    events.to_parquet(top / "arms/dearer/events.parquet")
    arms = "compare:\n  plain: {}\n  dearer: {tasks.reward.total: 900, curator.budget: {epsilon: null}}\n"
    (top / "scenario.yaml").write_text(SCENARIO + arms)
    manifest = {"geodp": "0.1.0", "seed": 7, "arms": ["plain", "dearer"]}
    (top / "manifest.json").write_text(json.dumps(manifest))
    run = RunFolder(top)
    write_summary(run)
    text = (top / "summary.md").read_text(encoding="utf-8")
    assert "- `plain` (baseline): the scenario as it stands" in text
    assert "- `dearer`: `tasks.reward.total: 900`, `curator.budget: {epsilon: null}`" in text
    assert "- distance travelled: +100 m (+100 to +100)" in text
    assert "| `travel_distance_m` | +100 m (+100 to +100) | 3 |" in text
    assert "| `reward_spent` | +300 reward (-46 to +646) | 8 |" in text  # 300 ± t(7) · 51.755 · √8
    assert "No clear difference: " in text
    assert "on the same tasks with the same luck" in text
    assert "`plain`, `dearer`: **One release**" in text
    metrics = write_metrics(run)
    assert metrics["plain.reward_spent"] == 9
    assert metrics["dearer.reward_spent"] == 309
