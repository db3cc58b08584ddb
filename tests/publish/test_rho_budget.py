from pathlib import Path

import pytest

from geodp.cli.main import main
from geodp.privacy.data_days import ConcentratedBudget
from geodp.privacy.ledger_file import LedgerFile
from geodp.public.guarantee import Unit
from tests.publish.conftest import TOWN


def publish(folder: Path, out: str, *words: object, mechanism: str = "uniform_grid") -> int:
    rows = (f"u{number},{10.02 + 0.002 * number:.4f},50.02" for number in range(24))
    (folder / "in.csv").write_text("\n".join(["user,lon,lat", *rows]) + "\n")
    line = ["publish", "positions", folder / "in.csv", "--mechanism", mechanism, "--cap", 1, "--region", TOWN]
    line += ["--set", "cell_m=1000", "--ledger", folder / "l.json", "--out", folder / out, *words]
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in line])
    return int(stop.value.code or 0)


@pytest.mark.parametrize(
    ("budget", "held"),
    [
        (["--budget-rho", 0.7], ConcentratedBudget(rho=0.7)),
        (["--budget", 1.4, "--budget-delta", 1e-9], ConcentratedBudget(epsilon=1.4, delta=1e-9)),
        (["--budget-rho", 0.7, "--budget-unit", "person-day"], ConcentratedBudget(rho=0.7, unit=Unit.PERSON_DAY)),
    ],
    ids=["rho", "epsilon", "day"],
)
def test_pure_publications_are_counted_against_a_budget_of_rho(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: list[object], held: ConcentratedBudget
) -> None:
    """One of ε 1 costs ρ ½: of .7 there is .2 left, for a pure ε of √.4 = .632; of ε 1.4 there is .4."""
    assert publish(tmp_path, "a.csv", "--epsilon", 1, *budget) == 0
    left = "0.632456" if held.rho else "0.4"
    assert f"{left} left" in capsys.readouterr().out
    assert publish(tmp_path, "b.csv", "--epsilon", 0.7) == 1
    assert ("ρ" if held.rho else "ε at δ = 1e-09") in capsys.readouterr().err
    assert not (tmp_path / "b.csv").exists()
    assert publish(tmp_path, "b.csv", "--epsilon", 0.4) == 0
    kept = LedgerFile(tmp_path / "l.json").read()
    assert kept.concentrated == held
    assert kept.state_spent(1e-6)["user"]["rho"] == pytest.approx(0.58)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--budget-rho", 1, "--budget", 1], "not both"),
        (["--budget-delta", 1e-6], "goes with --budget E"),
        (["--budget-unit", "person"], "goes with --budget-rho"),
        (["--budget-rho", 1, "--budget-unit", "month"], "person-day, person-week, person"),
        (["--budget-rho", -1], "greater than 0"),
        (["--budget", 1, "--budget-delta", 2], "below 1"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[object], why: str
) -> None:
    assert publish(tmp_path, "a.csv", "--epsilon", 1, *words) == 2
    assert why in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "l.json").exists()


def test_a_ledger_keeps_its_kind_of_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(tmp_path, "a.csv", "--epsilon", 0.5, "--budget", 1) == 0
    assert publish(tmp_path, "b.csv", "--epsilon", 0.1, "--budget-rho", 1) == 2
    assert "budget of pure epsilon" in " ".join(capsys.readouterr().err.split())
    assert publish(tmp_path, "b.csv", "--epsilon", 0.1, "--budget-rho", 1, mechanism="planar") == 2


def test_gaussian_counts_say_what_the_ledger_holds_by_days(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "noise=gaussian", "--epsilon", 1)
    assert publish(tmp_path, "a.csv", *words, "--budget-rho", 0.05) == 0
    assert "ε = 1, ρ = 0.024356 charged; spent so far, at δ = 1e-06: a person's day ε = 1" in capsys.readouterr().out
    assert publish(tmp_path, "b.csv", *words) == 0
    said = capsys.readouterr().out
    assert "a person altogether ε = 1.451; ρ = 0.00128806 left" in said
    assert "0 spent" not in said
    assert "95 % within ±8.88" in said  # 1.96 standard deviations of 4.53
    assert publish(tmp_path, "c.csv", *words) == 1


def test_rows_of_a_person_share_a_rho_by_squares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three rows at once cost nine times the ρ of one: σ is thrice that of one row, and ε is what was asked for."""
    assert publish(tmp_path, "a.csv", "--set", "noise=gaussian", "--epsilon", 1, "--cap", 3) == 0
    assert "95 % within ±26.64" in capsys.readouterr().out
    assert LedgerFile(tmp_path / "l.json").read().charges[0].rho == pytest.approx(0.024356, rel=1e-4)
