"""Tasks: where, when, what became of them."""

from __future__ import annotations

from geodp.display.layers.tasks import TasksLayer
from geodp.display.page import Page
from geodp.run_folder.folder import RunFolder


def drawn(run: RunFolder) -> Page:
    page = Page(run.region, max_points=5000, public=False)
    TasksLayer().draw(run, page)
    return page


def test_every_outcome_has_its_own_colour_and_shape(plain: RunFolder) -> None:
    marks = drawn(plain).drawings[0].data["marks"]
    assert len({mark["colour"] for mark in marks}) == len({mark["shape"] for mark in marks}) == 4


def test_unreachable_tasks_are_told_apart_from_other_failures(plain: RunFolder) -> None:
    data = drawn(plain).drawings[0].data
    events = plain.events
    unreachable = set(events.loc[events["kind"] == "unreachable", "task"])
    assert unreachable
    assert {int(task) for task, mark in zip(data["ids"], data["mark"], strict=True) if mark == 2} == unreachable


def test_the_legend_counts_all_tasks(plain: RunFolder) -> None:
    rows = drawn(plain).drawings[0].legend
    tallies = plain.tasks["outcome"].value_counts()
    assert rows[0]["text"] == f"success: taken ({tallies['success']})"
    assert rows[3]["text"] == f"censored: still open ({tallies['censored']})"


def test_a_tooltip_says_outcome_and_reason_and_how_many_were_notified(plain: RunFolder) -> None:
    facts = {fact["label"]: fact for fact in drawn(plain).drawings[0].data["facts"]}
    assert "failure, no acceptance" in facts["Outcome"]["words"]
    assert "unreachable, target needs more than max travel" in facts["Outcome"]["words"]
    notified = plain.notified.groupby("task").size().reindex(plain.tasks.index, fill_value=0)
    assert facts["Notified"]["values"].tolist() == notified.tolist()
    assert facts["Arrived"]["form"] == "clock"
