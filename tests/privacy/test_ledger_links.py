"""However a ledger file is reached, it is one file with one lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.errors import BudgetSpent, DataError
from geodp.privacy.ledger_file import LedgerFile
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

PROMISE = Guarantee(0.2, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def spend(path: Path) -> bool:
    try:
        with LedgerFile(path, 1.0).open_ledger() as ledger:
            ledger.charge(PROMISE, time_s=0.0, mechanism="m")
    except BudgetSpent:
        return False
    return True


def ways(folder: Path) -> list[Path]:
    """Return names of one ledger that is not there yet: itself, links to it and to its folder, and a detour."""
    real = folder / "real"
    (real / "deeper").mkdir(parents=True)
    (folder / "other").mkdir()
    (folder / "other" / "link.json").symlink_to(real / "l.json")
    (folder / "twice.json").symlink_to(folder / "other" / "link.json")
    (folder / "way").symlink_to(real / "deeper")
    return [
        real / "l.json",
        real / "deeper" / ".." / "l.json",
        folder / "other" / "link.json",
        folder / "twice.json",
        folder / "way" / ".." / "l.json",
    ]


def test_a_budget_for_five_gives_five_releases_through_any_links(tmp_path: Path) -> None:
    names = ways(tmp_path)
    assert sum(spend(name) for _ in range(4) for name in names) == 5
    assert LedgerFile(names[0]).read().sum_spent() == 1.0
    assert (tmp_path / "twice.json").is_symlink()
    locks = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.lock")]
    assert locks == [Path("real/l.json.lock")]


def test_processes_that_come_through_links_at_once_cannot_overspend(tmp_path: Path) -> None:
    names = ways(tmp_path)
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.privacy.test_ledger_links import spend\n"
        "print(sum(spend(Path(sys.argv[1])) for _ in range(5)))\n"
    )
    root = Path(__file__).parents[2]
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(name)], cwd=root, stdout=subprocess.PIPE)
        for name in names[:3]
    ]
    assert sum(int(run.communicate(timeout=120)[0]) for run in runs) == 5


def test_a_ledger_with_a_second_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    assert spend(path)
    os.link(path, tmp_path / "again.json")
    for name in (path, tmp_path / "again.json"):
        with pytest.raises(DataError, match=r"has 2 names \(hard links\).*nothing is released"):
            spend(name)
    (tmp_path / "again.json").unlink()
    assert spend(path)


def test_what_is_not_a_file_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("folder.json", "pipe.json"):
        with pytest.raises(DataError, match="it is not a file"):
            spend(tmp_path / name)
    (tmp_path / "a.json").symlink_to(tmp_path / "b.json")
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    with pytest.raises(DataError, match="it is not a file"):
        spend(tmp_path / "a.json")
