"""Every planted fault still applies, and the tool tells noticed ones from survivors."""

from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants.faults import Fault, read_faults

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", read_faults(), ids=lambda fault: fault.name)
def test_every_fault_still_applies(fault: Fault) -> None:
    assert fault.problem(ROOT) == ""
    assert fault.find != fault.replace


def test_there_are_many_faults_and_every_room_of_promises_has_some() -> None:
    faults = read_faults()
    assert len(faults) >= 40
    assert len({fault.name for fault in faults}) == len(faults)
    rooms = {"attacks", "audit", "curator", "device", "display", "metrics", "privacy", "public", "publish", "server"}
    assert rooms <= {fault.room for fault in faults}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = tmp_path / "house"
    (tree / "geodp").mkdir(parents=True)
    (tree / "tests").mkdir()
    (tree / "geodp" / "__init__.py").touch()
    (tree / "geodp" / "sums.py").write_text("def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n")
    (tree / "tests" / "test_sums.py").write_text(
        "from geodp.sums import add\n\n\ndef test_it():\n    assert add(1, 2) == 3\n"
    )
    monkeypatch.setattr(command, "ROOT", tree)
    return tree


def faults_file(folder: Path, *lines: str) -> Path:
    path = folder / "faults.toml"
    path.write_text(f"faults = [{', '.join(lines)}]\n")
    return path


NOTICED = '{name = "minus", file = "geodp/sums.py", find = "a + b", replace = "a - b", tests = ["tests/test_sums.py"]}'
SURVIVES = '{name = "three", file = "geodp/sums.py", find = "2 * a", replace = "3 * a", tests = ["tests/test_sums.py"]}'
BROKEN = (
    '{name = "gone", file = "geodp/sums.py", find = "def add", replace = "deaf add", tests = ["tests/test_sums.py"]}'
)
STALE = '{name = "old", file = "geodp/sums.py", find = "a * b", replace = "0", tests = ["tests/test_sums.py"]}'


def test_a_fault_that_makes_a_test_fail_is_noticed_and_the_tree_stays_as_it_was(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--file", str(faults_file(tree, NOTICED))]) == 0
    assert "1 of 1 faults were noticed" in capsys.readouterr().out
    assert "a + b" in (tree / "geodp" / "sums.py").read_text()


@pytest.mark.parametrize(("line", "word"), [(SURVIVES, "SURVIVED"), (BROKEN, "BROKEN")])
def test_a_survivor_and_a_file_that_cannot_be_imported_fail_the_run(
    tree: Path, capsys: pytest.CaptureFixture[str], line: str, word: str
) -> None:
    assert command.main(["--file", str(faults_file(tree, NOTICED, line))]) == 1
    assert word in capsys.readouterr().out


def test_tests_that_no_longer_end_have_noticed(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PATIENCE_S", 4)
    endless = NOTICED.replace("a - b", "any(iter(int, 1))")
    assert command.main(["--file", str(faults_file(tree, endless))]) == 0
    assert "noticed (the tests did not end)" in capsys.readouterr().out


def test_a_fault_that_no_longer_applies_fails_the_run(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--file", str(faults_file(tree, STALE))]) == 1
    assert "old: geodp/sums.py holds the text 0 times" in capsys.readouterr().err


def test_some_faults_can_be_chosen_and_listed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(faults_file(tree, NOTICED, SURVIVES))
    assert command.main(["minus", "--list", "--file", path]) == 0
    assert capsys.readouterr().out.split() == ["sums", "minus"]
    assert command.main(["nothing", "--file", path]) == 2
