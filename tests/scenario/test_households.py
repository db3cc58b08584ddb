"""Households in scenarios: caps that are too small, shares that do not fit, and what people are told they get."""

from pathlib import Path
from typing import Any

import pytest

from geodp.cli.main import main
from geodp.errors import ScenarioError
from geodp.scenario.file import build_scenario
from geodp.scenario.report import describe_scenario
from tests.small import small, small_file, small_raw

TOGETHER = {"kind": "companions", "sizes": {1: 0.4, 2: 0.3, 4: 0.3}}
COUNTS = {"kind": "uniform_grid", "epsilon": 0.3, "cell_m": 700}


def problems(changes: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ScenarioError) as refused:
        build_scenario(small_raw(changes), source="small", folder=Path.cwd(), trust_plugins=True)
    return dict(refused.value.problems)


def told(changes: dict[str, Any]) -> str | None:
    return dict(describe_scenario(small(changes)).facts[""]).get("together")


@pytest.mark.parametrize("household", [2, 3])
def test_noise_for_smaller_households_than_there_are_is_refused(household: int) -> None:
    found = problems({"workers.mobility": TOGETHER, "curator.mechanism": COUNTS | {"household": household}})
    assert found == {
        "curator.mechanism.household": f"hides at most {household} people together, and the largest households of "
        "workers.mobility.sizes have 4: set household: 4, or household: 1 to hide single people only"
    }


@pytest.mark.parametrize("household", [1, 4, 5])
def test_noise_for_one_for_all_or_for_more_is_accepted(household: int) -> None:
    changes = {"workers.mobility": TOGETHER, "curator.mechanism": COUNTS | {"household": household}}
    assert small(changes).curator is not None
    sizes = {1: 0.7, 2: 0.3, 4: 0.0}  # nobody lives in fours
    changes = {"workers.mobility": TOGETHER | {"sizes": sizes}, "curator.mechanism": COUNTS | {"household": 2}}
    assert small(changes).curator is not None


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({1: 0.4, 2: 0.3}, "the shares of households must add up to 1, got 0.7"),
        ({1: 0.8, 4: 0.3}, "the shares of households must add up to 1, got 1.1"),
        ({1: 1.2, 2: -0.2}, "a share must not be negative, got -0.2"),
        ({0: 0.2, 1: 0.8}, "households have 1 to 1,000 people, got 0"),
        ({-2: 0.2, 1: 0.8}, "households have 1 to 1,000 people, got -2"),
        ({1: 0.5, 1001: 0.5}, "households have 1 to 1,000 people, got 1001"),
        ({}, "households have 1 to 1,000 people, got none"),
    ],
)
def test_shares_of_households_that_do_not_fit_are_refused_at_their_place(sizes: dict[int, float], says: str) -> None:
    assert says in problems({"workers.mobility": TOGETHER | {"sizes": sizes}})["workers.mobility.sizes"]


@pytest.mark.parametrize("sizes", [{"two": 1.0}, {1.5: 1.0}, {2: "most"}, {2: float("nan")}, [2, 4], 4])
def test_what_is_no_table_of_sizes_and_shares_is_refused(sizes: object) -> None:
    found = problems({"workers.mobility": {"kind": "companions", "sizes": sizes}})
    assert list(found)
    assert all(path.startswith("workers.mobility.sizes") for path in found)


def test_people_who_move_together_are_told_what_they_get() -> None:
    """Three releases of ε = 0.3 for one person: four times that, or the same."""
    plain = told({"workers.mobility": TOGETHER, "curator.mechanism": COUNTS})
    assert plain == (
        "4 people who move together get ε 1.2 at one instant, ε 3.6 over the whole run: noise hides 1 at a time "
        "(household: 4 hides them all)"
    )
    hidden = told({"workers.mobility": TOGETHER, "curator.mechanism": COUNTS | {"household": 4}})
    assert hidden == "4 people who move together get ε 0.3 at one instant, ε 0.9 over the whole run"
    assert told({"curator.mechanism": COUNTS}) is None
    assert told({"workers.mobility": TOGETHER, "curator.mechanism": {"kind": "no_privacy"}}) is None


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 0, "4 people who move together get ε 1.2"),
        (("--set", "curator.mechanism.household=4"), 0, "ε 0.9 over the whole run"),
        (("--set", "curator.mechanism.household=2"), 2, "hides at most 2 people together"),
        (("--set", "workers.mobility.sizes={1: 0.5}"), 2, "must add up to 1, got 0.5"),
        (("--set", "workers.mobility.sizes={0: 1.0}"), 2, "1 to 1,000 people, got 0"),
    ],
)
def test_check_says_so_and_bad_households_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, says: str
) -> None:
    path = small_file(tmp_path, {"workers.mobility": TOGETHER, "curator.mechanism": COUNTS})
    with pytest.raises(SystemExit) as stop:
        main(["check", str(path), *words])
    assert (stop.value.code or 0) == code
    shown = capsys.readouterr()
    assert says in " ".join((shown.out + shown.err).split())
