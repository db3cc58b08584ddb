"""The table of systems that the sources name: whatever it says is in geodp is in geodp, by that name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from geodp.figures.figure_file import figure_paths
from geodp.figures.reproduction import read_systems
from geodp.registry import plugins
from geodp.scenario.shipped import SCENARIOS, list_names

ROWS = [
    tuple(cell.strip() for cell in line.strip("|\n ").split(" | "))
    for line in read_systems().splitlines()
    if line.startswith("| ") and not line.startswith("| named in")
]
WORDS = {"budget: {split: even}", "budget: {people: filter}", "geodp publish flows"}
"""Settings of a scenario, and a command."""


def test_the_page_ends_with_the_table() -> None:
    page = Path(__file__).parents[2] / "REPRODUCTION.md"
    if not page.is_file():
        pytest.skip("only the repository has the page")
    assert page.read_text(encoding="utf-8").endswith(read_systems())
    assert len(ROWS) > 70


@pytest.mark.parametrize("row", ROWS, ids=[row[1][:40] for row in ROWS])
def test_what_is_said_to_be_in_geodp_is(row: tuple[str, ...]) -> None:
    assert len(row) == 3
    said = row[2]
    named = re.findall(r"`([^`]+)`", said)
    assert named or "not built: " in said, "a system is in geodp, or the table says why not"
    kinds: dict[str, Any] = plugins()
    others = {path.stem for path in figure_paths()} | set(list_names(SCENARIOS)) | WORDS
    fields = {name for kind in named if kind in kinds for name in kinds[kind].model_fields}
    choices = {
        value
        for kind in named
        if kind in kinds
        for field in kinds[kind].model_fields.values()
        for value in get_args(field.annotation)
    }
    fields |= set(plugins("mechanism")["uniform_grid"].model_fields)  # what a row says of every mechanism
    for name in named:
        field, _, value = name.partition(": ")
        known = name in kinds or name in others or name in choices or (field in fields and not value)
        assert known or (field in fields and (value in choices or value.isdigit())), name
