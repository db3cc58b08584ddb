"""Which budget a publication needs, from public settings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from geodp.cli.main import app
from geodp.errors import UsageError
from geodp.publish.advice import BudgetQuestion, answer_question, choose_on_counts


@pytest.mark.parametrize("table", ["zone-hour", "zone-day", "zone-all", "od-day", "od-all"])
def test_the_answer_is_the_least_that_is_enough(table: str) -> None:
    question = BudgetQuestion(error=0.05, above=200, table=table)
    answer = answer_question(question).answer
    assert answer is not None
    assert question.find_error(answer.epsilon) <= 0.05
    assert question.find_error(answer.epsilon * 0.999) > 0.05


def test_errors_are_those_of_drawn_noise() -> None:
    question = BudgetQuestion(error=0.1, above=300)
    answer = answer_question(question).answer
    assert answer is not None
    drawn = np.abs(np.random.default_rng(1).normal(0, answer.deviation, 100_000)) / 300
    assert np.median(drawn) == pytest.approx(0.1, rel=0.03)  # five standard deviations of such a median are .02
    assert question.find_deviation(1.0) == pytest.approx(35.0960, abs=5e-5)  # the page's σ of a zone's hour


def test_counts_need_as_much_as_laplace_noise_does() -> None:
    asked = BudgetQuestion(publication="counts", unit="person", error=0.1, above=100, cap=5)
    answer = answer_question(asked).answer
    assert answer is not None
    assert answer.epsilon == pytest.approx(5 * np.log(2) / 10)


def test_what_is_chosen_on_the_data_says_so() -> None:
    advice = choose_on_counts(BudgetQuestion(error=0.1, above=50), np.array([10.0, 60.0, 200.0, 900.0]))
    assert advice.private
    assert advice.measured["numbers"] == 3
    with pytest.raises(UsageError, match="no zone-hour"):
        choose_on_counts(BudgetQuestion(above=1e6), np.ones(3))


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["advise", *words])
    return result.exit_code, result.output


def test_the_command_writes_table_and_picture_and_reads_no_file(tmp_path: Path) -> None:
    out = tmp_path / "advice"
    code, text = run("flows", "--error", "0.1", "--above", "500", "--out", str(out))
    assert code == 0, text
    assert "No private file was read" in text
    assert {path.name for path in out.iterdir()} == {"advice.txt", "advice.json", "advice.csv", "advice.png"}
    assert json.loads((out / "advice.json").read_text())["releasable"] is True


def test_a_paid_number_is_charged_and_the_private_choice_is_stamped(tmp_path: Path) -> None:
    pings = tmp_path / "in" / "pings.csv"
    pings.parent.mkdir()
    rows = [
        f"u{person},2024-03-04T{hour:02d}:00:00Z,10.0{person % 9},50.01" for person in range(90) for hour in (9, 10)
    ]
    pings.write_text("user,time_s,lon,lat\n" + "\n".join(rows) + "\n")
    zones = tmp_path / "zones.geojson"
    box = [[[9.9, 49.9], [10.2, 49.9], [10.2, 50.2], [9.9, 50.2], [9.9, 49.9]]]
    shape = {"type": "Feature", "properties": {"name": "z"}, "geometry": {"type": "Polygon", "coordinates": box}}
    zones.write_text(json.dumps({"type": "FeatureCollection", "features": [shape]}))
    asked = ("flows", "--error", "0.2", "--above", "50", "--data", str(pings))
    ledger = tmp_path / "ledger.json"
    paid = ("--count-epsilon", "0.5", "--area-km2", "9", "--ledger", str(ledger))
    code, text = run(*asked, *paid, "--out", str(tmp_path / "a"))
    assert code == 0, text
    assert "paid with ε = 0.5" in text
    assert ledger.exists()
    days = ("--zones", f"{zones}:name", "--from", "2024-03-04", "--to", "2024-03-04")
    code, text = run(*asked, "--on-data", *days, "--out", str(tmp_path / "b"))
    assert code == 0, text
    assert text.lstrip().startswith("NOT RELEASABLE")
    assert json.loads((tmp_path / "b" / "advice.json").read_text())["chosen_on_private_data"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("flows", "--above", "5"), "say --error"),
        (("flows", "--error", "0.1", "--above", "5", "--data", "x.csv"), "say one"),
        (("counts", "--error", "0.1", "--above", "5", "--table", "od-day"), "about flows"),
        (("flows", "--error", "0.1", "--above", "5", "--mode", "release"), "nothing else is paid"),
        (("quickstart", "--error", "0.1", "--within", "0.1"), "about a publication"),
    ],
)
def test_questions_that_make_no_sense_are_refused(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, ["advise", *words])
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
