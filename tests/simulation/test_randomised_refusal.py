"""Randomised refusal: every transcript of small groups, what phones consider, and what the ledger says."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.audit.server_view import estimate_server_view
from geodp.errors import ScenarioError
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from geodp.simulation.randomised_refusal import RandomisedRefusal
from geodp.streams import Streams
from tests.small import small

OPEN: dict[str, Any] = {
    "server.assignment": {"kind": "reward_radius", "max_recipients": None},
    "protocol.refusal": {"epsilon": 2.0, "offers": 4, "window_s": 900},
}


def outcomes(chances: list[float]) -> dict[int, float]:
    """The law of who takes a task (-1: nobody), by every set of acceptors; one of them is picked evenly."""
    law = dict.fromkeys(range(-1, len(chances)), 0.0)
    for answers in itertools.product((0, 1), repeat=len(chances)):
        weight = math.prod(chance if yes else 1 - chance for yes, chance in zip(answers, chances, strict=True))
        willing = [who for who, yes in enumerate(answers) if yes]
        for who in willing or [-1]:
            law[who] += weight / max(len(willing), 1)
    return law


@pytest.mark.parametrize(("offers", "tasks"), [(1, 3), (2, 3), (3, 3)])
@pytest.mark.parametrize("eager", [0.0, 0.3, 1.0])
def test_every_transcript_that_does_not_name_her_is_bounded(offers: int, tasks: int, eager: float) -> None:
    """Three others with fixed chances; she accepts whatever she sees with `eager`, 1 included: no model is believed."""
    mute, others = math.exp(-2.0 / offers), [0.1, 0.5, 0.8]
    without = outcomes(others)
    ratios = []
    for transcript in itertools.product(range(-1, len(others)), repeat=tasks):
        p_out = math.prod(without[who] for who in transcript)
        p_in = 1.0
        for number, who in enumerate(transcript):
            heard = (1 - mute) * eager if number < offers else 0.0  # she considers the first K
            p_in *= outcomes([*others, heard])[who]
        ratios.append(p_in / p_out)
    assert min(ratios) >= math.exp(-2.0) - 1e-12
    assert max(ratios) <= 1 + 1e-12
    if eager == 1.0 and offers <= tasks:
        assert min(ratios) == pytest.approx(math.exp(-2.0))  # nobody took any: the bound is attained


def test_a_phone_considers_few_tasks_in_a_window_and_draws_one_lot_for_each() -> None:
    phones = RandomisedRefusal(0.5, 2, 100.0, workers=400, streams=Streams(1))
    everyone = np.arange(400)
    heard = [phones.let_through(np.full(400, task), everyone, np.ones(400, dtype=bool), 10.0) for task in (1, 2, 3)]
    again = phones.let_through(np.full(400, 1), everyone, np.ones(400, dtype=bool), 20.0)
    assert again.tolist() == heard[0].tolist()  # the same lot
    assert not heard[2].any()  # a third task meets silence
    assert 150 < heard[0].sum() < 250
    assert (heard[0] != heard[1]).any()
    fresh = phones.let_through(np.full(400, 3), everyone, np.ones(400, dtype=bool), 120.0)
    assert 150 < fresh.sum() < 250  # a new window
    unreached = phones.let_through(np.full(400, 4), everyone, np.zeros(400, dtype=bool), 120.0)
    assert not unreached.any()


def test_the_ledger_charges_every_window_in_full_outside_the_central_total(tmp_path: Path) -> None:
    result = run(small(OPEN), tmp_path / "run", draw_map=False)
    opened = RunFolder(tmp_path / "run")
    rows = opened.ledger[opened.ledger["unit"].astype(str) == "interaction"]
    assert rows["time_s"].tolist() == [0.0, 900.0]  # whatever happened
    assert rows["epsilon"].tolist() == [2.0, 2.0]
    assert set(rows["account"]) == {"interaction"}
    assert result.metrics["epsilon_spent"] == pytest.approx(1.5)  # three releases at 0.5
    text = result.summary if isinstance(result.summary, str) else (tmp_path / "run" / "summary.md").read_text("utf-8")
    assert "releases 1.5; protocol 4; whole view of those who took no task **ε = 5.5**" in text
    found = estimate_server_view(opened, samples=2000)
    assert found.upper_promised
    assert found.upper_unnamed == pytest.approx(5.5)
    assert found.certified_unnamed <= 5.5
    took = opened.tasks[opened.tasks["outcome"] == "success"]
    window = np.floor(took["departed_s"] / 900)
    assert took.groupby([took["worker"], window]).size().max() <= 4


def test_muted_phones_take_fewer_tasks_of_the_same_circles(tmp_path: Path) -> None:
    muted = run(small(OPEN), tmp_path / "muted", draw_map=False).metrics
    free = run(small({"server.assignment": OPEN["server.assignment"]}), tmp_path / "free", draw_map=False).metrics
    assert muted["notified_workers"] != free["notified_workers"]
    assert "interaction" not in set(RunFolder(tmp_path / "free").ledger["unit"].astype(str))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"server.assignment": {"kind": "reward_radius"}}, "max_recipients to null"),
        ({"server.mode": "worker_selected"}, "phones mute offers"),
    ],
)
def test_what_would_break_the_bound_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        small({"protocol.refusal": {"epsilon": 1.0}} | changes)


def test_muted_and_spent_phones_were_asked_and_say_why_they_did_not_come(tmp_path: Path) -> None:
    run(small(OPEN | {"protocol.refusal": {"epsilon": 1.0, "offers": 1}}), tmp_path / "run", draw_map=False)
    opened = RunFolder(tmp_path / "run")
    refusals = opened.events[opened.events["kind"] == "refusal"]
    muted = (refusals["reason"] == "muted_by_lot").sum()
    heard = refusals["reason"].isin(["unwilling"]).sum() + (opened.events["kind"] == "acceptance").sum()
    assert (refusals["reason"] == "considered_enough_tasks").sum() > 0
    assert abs(muted - math.exp(-1) * (muted + heard)) < 5 * math.sqrt(0.24 * (muted + heard))  # 1e-6 to err
    text = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert "≤ ε ≤" in text
    assert "the upper one is promised" in text
