import math
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.errors import BudgetSpent, DataError, OutputError, UsageError
from geodp.privacy.ledger import ANY_TIME, Account
from geodp.privacy.ledger_file import LedgerFile
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

SUFFIXES = ["csv", "parquet", "json"]


def promise(epsilon: float) -> Guarantee:
    return Guarantee(epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def spend(file: LedgerFile, epsilon: float, time_s: float = 0.0) -> float:
    with file.open_ledger() as ledger:
        return ledger.charge(promise(epsilon), time_s=time_s, mechanism="laplace_counts", scope="venues, v2").total


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_second_opening_respects_what_the_first_spent(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"budget.{suffix}"
    assert [spend(LedgerFile(path, 0.3), 0.1) for _ in range(3)] == [0.1, 0.2, 0.3]
    with pytest.raises(BudgetSpent, match="holds 3 rows of earlier charges"):
        spend(LedgerFile(path), 0.1)
    ledger = LedgerFile(path).read()
    assert ledger.find_remaining() == 0.0
    assert [(row.epsilon, row.scope, row.total) for row in ledger.charges][-1] == (0.1, "venues, v2", 0.3)
    assert sorted(item.name for item in tmp_path.iterdir()) == [path.name, f"{path.name}.lock"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_epsilons_survive_to_the_last_digit_in_every_account(tmp_path: Path, suffix: str) -> None:
    file = LedgerFile(tmp_path / f"l.{suffix}", 6 * 0.006931471805599453, account=Account.METRIC)
    with file.open_ledger() as ledger:
        for time_s in range(6):
            ledger.charge(Guarantee.per_metre(0.006931471805599453), time_s=time_s, mechanism="planar_geometric")
    kept = file.read()
    assert kept.sum_spent(Account.METRIC) == 6 * 0.006931471805599453
    assert kept.sum_spent() == 0.0
    assert kept.find_remaining(Account.METRIC) == 0.0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_windows_are_remembered(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"l.{suffix}"
    spend(LedgerFile(path, 1.0, per="day"), 1.0, time_s=10.0)
    with pytest.raises(BudgetSpent):
        spend(LedgerFile(path), 0.1, time_s=86_399.0)
    assert spend(LedgerFile(path), 1.0, time_s=86_400.0) == 2.0


def test_a_failure_inside_the_block_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "l.csv", 1.0)
    spend(file, 0.4)
    before = file.path.read_bytes()
    opened = file.open_ledger()
    opened.__enter__().charge(promise(0.4), time_s=0, mechanism="m")
    failure = RuntimeError("the disk is full")
    assert not opened.__exit__(RuntimeError, failure, None)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"# geodp ledger {}\ntime_s,scope\n1,2\n"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_ledger_is_never_an_empty_one(tmp_path: Path, suffix: str, damage: bytes) -> None:
    path = tmp_path / f"l.{suffix}"
    path.write_bytes(damage)
    with pytest.raises(DataError, match="What was spent is unknown, so nothing is released"):
        spend(LedgerFile(path, 1.0), 0.1)
    assert path.read_bytes() == damage


def test_negative_charges_cannot_be_written_in_by_hand(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "l.csv", 1.0)
    spend(file, 0.9)
    file.path.write_text(file.path.read_text().replace(",0.9,", ",-9,"))
    with pytest.raises(DataError, match="does not match its seal"):
        spend(file, 0.9)


def test_a_budget_is_not_changed_under_way(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    spend(LedgerFile(path, 1.0), 0.5)
    for other in (LedgerFile(path, 2.0), LedgerFile(path, per="day"), LedgerFile(path, window_s=60.0)):
        with pytest.raises(UsageError, match="not changed under way"):
            spend(other, 0.1)
    assert spend(LedgerFile(path, 1.0), 0.5) == 1.0


def test_budgets_of_different_accounts_are_separate_numbers(tmp_path: Path) -> None:
    """A budget of ε 1 for people says nothing about ε per metre: that has a number of its own, or none."""
    path = tmp_path / "l.json"
    spend(LedgerFile(path, 1.0), 0.5)
    place = Guarantee.per_metre(2.0)
    with LedgerFile(path, account=Account.METRIC).open_ledger() as ledger:
        ledger.charge(place, time_s=0.0, mechanism="planar_laplace")
        assert ledger.find_remaining(Account.METRIC) == math.inf
    with pytest.raises(BudgetSpent), LedgerFile(path, 3.0, account=Account.METRIC).open_ledger() as ledger:
        ledger.charge(place, time_s=0.0, mechanism="planar_laplace")
    with LedgerFile(path, 4.0, account=Account.METRIC).open_ledger() as ledger:  # a limit may come later
        ledger.charge(place, time_s=0.0, mechanism="planar_laplace")
    kept = LedgerFile(path).read()
    assert (kept.find_remaining(), kept.find_remaining(Account.METRIC)) == (0.5, 0.0)
    with pytest.raises(UsageError, match="metric account was begun with a budget of epsilon 4.0, and 5.0"):
        LedgerFile(path, 5.0, account=Account.METRIC).read()
    with pytest.raises(UsageError, match="give its epsilon, too"):
        LedgerFile(path, per="day", account=Account.ITEM).read()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_period_of_the_data_is_remembered(tmp_path: Path, suffix: str) -> None:
    """What is not known to be of some time counts in every day, before and after."""
    path = tmp_path / f"l.{suffix}"
    for period in ((0.0, 100_000.0), (-math.inf, 50.0), ANY_TIME):
        with LedgerFile(path, 1.0, per="day").open_ledger() as ledger:
            ledger.charge(promise(0.25), time_s=7.0, mechanism="m", period=period)
    ledger = LedgerFile(path).read()
    assert [row.period for row in ledger.charges] == [(0.0, 100_000.0), (-math.inf, 50.0), ANY_TIME]
    left = [ledger.find_remaining(time_s=day * 86_400.0) for day in (-1, 0, 1, 2, 1000)]
    assert left == [0.5, 0.25, 0.5, 0.75, 0.75]
    assert ledger.find_remaining(period=ANY_TIME) == 0.25


def test_charges_to_single_people_have_no_place_in_a_file(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "l.csv", 1.0)
    with pytest.raises(UsageError, match="not to single people"), file.open_ledger() as ledger:
        ledger.charge(promise(0.1), time_s=0.0, mechanism="m", who=[3])
    assert not file.path.exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_ledger_is_for_its_owner_alone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"l.{suffix}"
    spend(LedgerFile(path), 0.1)
    path.chmod(0o644)
    spend(LedgerFile(path), 0.1)
    assert path.stat().st_mode & 0o777 == 0o600


def test_places_that_cannot_hold_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv, \.parquet, \.json"):
        LedgerFile(tmp_path / "ledger.txt")
    with pytest.raises(OutputError, match="Nothing was charged"):
        spend(LedgerFile(tmp_path / "nowhere" / "l.csv", 1.0), 0.1)


def test_processes_that_spend_at_once_cannot_overspend(tmp_path: Path) -> None:
    """Six processes ask for 0.2 each of a budget of 0.7: three get it, whatever the order."""
    path = tmp_path / "l.csv"
    code = (
        "import sys; from pathlib import Path\n"
        "from geodp.errors import BudgetSpent\n"
        "from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit\n"
        "from geodp.privacy.ledger_file import LedgerFile\n"
        "promise = Guarantee(0.2, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)\n"
        "try:\n"
        "    with LedgerFile(Path(sys.argv[1]), 0.7).open_ledger() as ledger:\n"
        "        ledger.charge(promise, time_s=0.0, mechanism='m')\n"
        "except BudgetSpent:\n"
        "    sys.exit(3)\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(6)]
    assert sorted(run.wait(timeout=120) for run in runs) == [0, 0, 0, 3, 3, 3]
    assert LedgerFile(path).read().sum_spent() == 0.6
