"""Claims on points whose answer is known: each check says yes where it must, and no with the reason where it must."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.errors import GeodpError
from geodp.figures.checks import Verdict, check_claims
from geodp.figures.figure_file import Claim, FigureFile, FigureSection
from geodp.figures.kinds import POINT_COLUMNS

X = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def points(**lines: Any) -> pd.DataFrame:
    """Return four repetitions of each line, one apart in luck that all lines share."""
    rows = [
        ("q", name.replace("_", " "), x, repeat, float(y) + 0.1 * repeat)
        for name, values in lines.items()
        for x, y in zip(X, values, strict=True)
        for repeat in range(4)
    ]
    return pd.DataFrame(rows, columns=list(POINT_COLUMNS))


def verdict(found: pd.DataFrame, **claim: Any) -> Verdict:
    make = {"kind": "sweep"}
    section = FigureSection.model_validate(
        {"title": "t", "source": "s", "make": make, "claims": [{"says": "so", **claim}]}
    )
    (only,) = check_claims(FigureFile(Path("f.yaml"), {}, section), "generated", found)
    return only


LINES = {
    "up": (1, 2, 3, 4, 5, 6),
    "down": (6, 5, 4, 3, 2, 1),
    "levels_off": (10, 4, 2, 1.2, 1.1, 1.0),
    "soars_then_rests": (0, 6, 8, 9, 9.1, 9.2),
    "flat": (5.0, 5.1, 4.9, 5.0, 5.1, 5.05),
    "zigzag": (1, 9, 1, 9, 1, 3),
}


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ("rises", {"up", "soars_then_rests"}),
        ("falls", {"down", "levels_off"}),
        ("falls_then_flattens", {"levels_off"}),
        ("rises_then_flattens", {"soars_then_rests"}),
        ("nearly_flat", {"flat"}),
    ],
)
def test_each_trend_is_told_from_all_others(check: str, holds: set[str]) -> None:
    for name, values in LINES.items():
        found = verdict(points(**{name: values}), check=check)
        assert found.reproduced == (name in holds), (name, found)
        assert bool(found.because) != found.reproduced


def test_a_change_smaller_than_the_spread_of_repetitions_proves_nothing() -> None:
    rng = np.random.default_rng(0)
    rows = [("q", "a", x, repeat, 0.05 * x + rng.normal()) for x in X for repeat in range(4)]
    found = verdict(pd.DataFrame(rows, columns=list(POINT_COLUMNS)), check="rises")
    assert found.reproduced is False
    assert "does not stand out" in found.word


def test_pairs_share_their_luck_so_small_differences_count() -> None:
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 100, 4)
    rows = [
        ("q", line, x, repeat, luck[repeat] + x - low)
        for line, low in (("ours", 1.0), ("theirs", 0.0))
        for x in X
        for repeat in range(4)
    ]
    table = pd.DataFrame(rows, columns=list(POINT_COLUMNS))
    found = verdict(table, check="below", lines=[["ours", "theirs"]])
    assert found.reproduced
    assert "difference -1 (-1 to -1)" in found.ours
    assert "lower at 6 of 6 places" in found.ours
    turned = verdict(table, check="above", lines=[["ours", "theirs"]], because="of reasons")
    assert turned.word == "not reproduced, because it is the other way round; of reasons"
    assert verdict(table, check="lowest", lines=["ours"]).reproduced
    assert not verdict(table, check="lowest", lines=["theirs"]).reproduced
    assert verdict(table, check="highest", lines=["theirs"]).reproduced


def test_below_on_average_but_at_few_places_is_not_enough() -> None:
    table = points(one=(0, 3, 3, 3, 3, 3), other=(90, 2, 2, 2, 2, 2))
    found = verdict(table, check="below", lines=[["one", "other"]])
    assert not found.reproduced
    assert "at most places" in found.because


def test_numbers_are_near_or_on_the_right_side_of_the_papers() -> None:
    table = points(flat=LINES["flat"])
    assert verdict(table, check="near", value=5.2, tolerance=0.02).reproduced
    far = verdict(table, check="near", value=6.2)
    assert far.reproduced is False
    assert "theirs 6.2" in far.ours
    assert verdict(table, check="near", at=2.0, value=5.25, tolerance=0.001).reproduced
    assert verdict(table, check="at_least", value=5.0).reproduced
    assert not verdict(table, check="at_most", value=4.5).reproduced
    with pytest.raises(GeodpError, match="no point at 7"):
        verdict(table, check="near", at=7, value=5)
    with pytest.raises(GeodpError, match="no quantity called 'r'"):
        verdict(table, check="rises", y="r")
    with pytest.raises(GeodpError, match="no line called 'steep'; it has flat"):
        verdict(table, check="rises", lines=["steep"])


def test_one_repetition_decides_by_its_value() -> None:
    table = points(up=LINES["up"])
    found = verdict(table[table["repeat"] == 0], check="rises")
    assert found.reproduced
    assert found.ours.startswith("1 at 1 to 6 at 6; change +5")


def test_an_illustration_has_no_verdict() -> None:
    assert verdict(points(up=LINES["up"]), check="shown").word == "shown"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"check": "near"}, "needs a value"),
        ({"check": "below", "lines": ["one"]}, "needs pairs"),
        ({"check": "rises", "lines": [["one", "two"]]}, "single lines"),
        ({"check": "soars"}, "must be"),
    ],
)
def test_incomplete_claims_are_refused(claim: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Claim.model_validate({"says": "so", **claim})


def test_reasons_may_differ_by_line_and_panel() -> None:
    claim = Claim.model_validate(
        {"says": "so", "check": "rises", "because": {"city: a": "one", "a": "two", "city": "three"}}
    )
    assert [claim.reason("city", "a"), claim.reason("town", "a"), claim.reason("city", "b")] == ["one", "two", "three"]
    assert claim.reason("town", "b") == ""
