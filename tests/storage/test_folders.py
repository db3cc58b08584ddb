"""A folder under its name is complete, whatever moment a process is killed at; the next call puts the rest right."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.errors import OutputError
from geodp.storage.folders import clear_folder, hold_folder, put_back, scratch_folder, whole_folder

REPLACE = """
import signal, sys
from pathlib import Path
from geodp.storage.folders import whole_folder
from tests.faults.steps import stop_at

signal.signal(signal.SIGINT, signal.default_int_handler)
target, step, kill = Path(sys.argv[1]), int(sys.argv[2]), signal.Signals(int(sys.argv[3]))
stop_at(step, kill, target.parent)
with whole_folder(target, force=True, check_replaceable=lambda path: None) as folder:
    (folder / "truth").mkdir()
    for name in ("a", "b", "truth/c"):
        (folder / name).write_text("new")
"""
FILES = ["a", "b", "truth/c"]


def state(folder: Path) -> str:
    """Say whether a folder is the old or the new one as a whole."""
    words = {(folder / name).read_text() for name in FILES}
    assert len(words) == 1, f"mixed: {words}"
    return words.pop()


def make(target: Path, word: str) -> None:
    (target / "truth").mkdir(parents=True)
    for name in FILES:
        (target / name).write_text(word)


def replaced(target: Path, word: str = "new") -> None:
    with whole_folder(target, force=True, check_replaceable=lambda _: None) as folder:
        (folder / "truth").mkdir()
        for name in FILES:
            (folder / name).write_text(word)


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_any_step_the_old_folder_or_the_new_one_is_there_whole(tmp_path: Path, kill: signal.Signals) -> None:
    ends = []
    for step in range(1, 40):
        place = tmp_path / str(step)
        target = place / "run"
        make(target, "old")
        command = [sys.executable, "-c", REPLACE, str(target), str(step), str(int(kill))]
        code = subprocess.run(command, check=False, capture_output=True).returncode
        if not target.exists():
            assert kill == signal.SIGKILL
            put_back(target)
        ends.append(state(target))
        if code == 0:
            break
        replaced(target, "newer")
        assert state(target) == "newer"
        assert [entry.name for entry in place.iterdir()] == ["run"]
    else:
        pytest.fail("the command never came to its end")
    assert ends == sorted(ends, reverse=True)  # old until some step, new from then on
    assert ends.count("old") >= 6


def test_two_at_once_never_mix_and_the_second_is_told(tmp_path: Path) -> None:
    target = tmp_path / "run"
    make(target, "old")
    with whole_folder(target, force=True, check_replaceable=lambda _: None) as folder:
        with pytest.raises(OutputError, match="another geodp is writing"):
            replaced(target)
        assert folder.is_dir()
        assert state(target) == "old"
        (folder / "truth").mkdir()
        for name in FILES:
            (folder / name).write_text("first")
    assert state(target) == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_what_another_folder_of_the_parent_is_doing_is_left_alone(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "a.b", force=False, check_replaceable=lambda _: None) as other:
        replaced(tmp_path / "a")
        clear_folder(tmp_path)
        assert other.is_dir()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "a.b"]


def test_clearing_a_folder_brings_back_what_was_moved_aside_and_removes_the_rest(tmp_path: Path) -> None:
    make(tmp_path / f".one.{'0' * 16}.old", "old")
    make(tmp_path / f".two.{'1' * 16}.partial", "half")
    (tmp_path / ".three.lock").touch()
    (tmp_path / ".mine.txt").touch()
    clear_folder(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".mine.txt", "one"]
    assert state(tmp_path / "one") == "old"


def test_a_folder_behind_a_link_is_replaced_where_it_is(tmp_path: Path) -> None:
    make(tmp_path / "real" / "run", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "run")
    replaced(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert state(tmp_path / "real" / "run") == "new"


def test_the_scratch_folder_of_a_killed_process_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = (
        "import os; from geodp.storage.folders import scratch_folder\nwith scratch_folder() as f: print(f); os._exit(9)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, env=environment)
    assert len(list(tmp_path.iterdir())) == 2
    with scratch_folder() as mine:
        with scratch_folder() as other:
            assert other != mine
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine.name, f".{mine.name}.lock"])
    assert list(tmp_path.iterdir()) == []


def test_a_holder_removes_its_lock_and_one_who_waited_gets_a_lock_of_their_own(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "run"):
        assert [entry.name for entry in tmp_path.iterdir()] == [".run.lock"]
    assert list(tmp_path.iterdir()) == []
