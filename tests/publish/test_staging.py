import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.errors import OutputError
from geodp.publish.staging import Staging, put_right
from geodp.storage.files import digest
from geodp.storage.published_file import belong_together

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def staging(folder: Path, *, force: bool = False) -> Staging:
    return Staging(folder / "out.csv", folder / "out.csv.guarantee.json", force=force)


def write(files: Staging, words: str) -> None:
    """Write an output and a guarantee that speaks of it."""
    output = files.partial(files.out)
    output.write_text(words)
    files.partial(files.guarantee).write_text(json.dumps({"sha256": digest(output), "said of": words}))


def publish(folder: Path, words: str, *, force: bool = False) -> None:
    with staging(folder, force=force) as files:
        write(files, words)
        files.commit()


def published(folder: Path) -> str:
    """Return what is published, which must be whole."""
    assert belong_together(folder / "out.csv", folder / "out.csv.guarantee.json")
    assert names(folder) == ["out.csv", "out.csv.guarantee.json"]
    return (folder / "out.csv").read_text()


def test_files_appear_together_and_only_when_committed(tmp_path: Path) -> None:
    with staging(tmp_path / "deep") as files:
        write(files, "new")
        assert not (tmp_path / "deep" / "out.csv").exists()
        assert not (tmp_path / "deep" / "out.csv.guarantee.json").exists()
        files.commit()
    assert published(tmp_path / "deep") == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    def crash() -> None:
        with staging(tmp_path, force=True) as files:
            write(files, "new")
            raise error

    with pytest.raises(error):
        crash()
    assert names(tmp_path) == []
    publish(tmp_path, "old")
    with pytest.raises(error):
        crash()
    assert published(tmp_path) == "old"


@pytest.mark.parametrize("rename", range(4))
@pytest.mark.parametrize("older", [True, False])
def test_an_interruption_between_any_two_renames_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int, older: bool
) -> None:
    if older:
        publish(tmp_path, "old")
    replace, done = Path.replace, 0

    def interrupted(self: Path, target: Path) -> Path:
        nonlocal done
        done += 1
        if done == rename + 1:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    if older or rename < 2:
        with pytest.raises(KeyboardInterrupt):
            publish(tmp_path, "new", force=True)
        assert not older or published(tmp_path) == "old"
        assert older or names(tmp_path) == []
    else:
        publish(tmp_path, "new", force=True)
        assert published(tmp_path) == "new"


STOPPED = """
import signal, sys
from pathlib import Path
from tests.faults.steps import list_steps, stop_at
from tests.publish.test_staging import publish

folder, step, counted = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
stop_at(step, signal.SIGKILL, folder) if step else list_steps(folder, counted)
publish(folder, "new", force=True)
"""


def stopped(folder: Path, step: int, counted: Path) -> int:
    """Publish in another process that is killed before its change number `step`; return its exit code."""
    command = [sys.executable, "-c", STOPPED, str(folder), str(step), str(counted)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize("older", [True, False])
def test_a_kill_at_any_moment_leaves_one_set_or_what_the_next_call_puts_right(tmp_path: Path, older: bool) -> None:
    assert stopped(tmp_path / "counted", 0, tmp_path / "steps") == 0
    steps = len((tmp_path / "steps").read_text().splitlines()) + 4 * older
    outcomes = set()
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        folder.mkdir()
        if older:
            publish(folder, "old")
        killed = stopped(folder, step, tmp_path / "steps") == -signal.SIGKILL
        output, stated = folder / "out.csv", folder / "out.csv.guarantee.json"
        assert not output.exists() or belong_together(output, stated), "what stands there is whole before any recovery"
        put_right(output, stated)
        left = [name for name in names(folder) if not name.endswith(".lock")]
        assert left in ([], ["out.csv", "out.csv.guarantee.json"])
        assert left or not older
        outcomes.add((killed, output.read_text() if left else "nothing"))
        publish(folder, "newest", force=True)
        assert published(folder) == "newest"
    before = "old" if older else "nothing"
    assert {(True, before), (True, "new")} <= outcomes


def test_a_replaced_output_never_stands_beside_a_foreign_guarantee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, "old")
    output, stated = tmp_path / "out.csv", tmp_path / "out.csv.guarantee.json"
    seen = []
    rename = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.append(output.exists() and not belong_together(output, stated))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    publish(tmp_path, "new", force=True)
    assert seen == [False] * 4


def test_what_was_paid_and_written_is_finished_by_the_next_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with staging(tmp_path) as files:
        write(files, "new")
        kept = {path.name: path.read_bytes() for path in tmp_path.glob(".*.partial")}
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    put_right(tmp_path / "out.csv", tmp_path / "out.csv.guarantee.json")
    assert published(tmp_path) == "new"
    assert "its files are in place" in caplog.text


def test_half_of_it_is_not(tmp_path: Path) -> None:
    (tmp_path / ".out.csv.partial").write_text("half")
    (tmp_path / ".out.csv.guarantee.json.partial").write_text('{"sha256": "of more than half"}')
    (tmp_path / ".out.csv.4711.partial").write_text("left by version 0.1")
    (tmp_path / ".out.csv.other.csv.partial").write_text("of another output")
    put_right(tmp_path / "out.csv", tmp_path / "out.csv.guarantee.json")
    assert names(tmp_path) == [".out.csv.other.csv.partial"]


def test_a_file_that_has_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with staging(tmp_path) as files:
        write(files, "new")
        (tmp_path / "out.csv").write_text("theirs")
        with pytest.raises(OutputError, match="appeared in the meantime"):
            files.commit()
    assert (tmp_path / "out.csv").read_text() == "theirs"
    with pytest.raises(OutputError, match="nothing was charged"), staging(tmp_path):
        pass


def test_one_process_at_a_time_writes_an_output_whatever_leads_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with staging(tmp_path / "real") as files:
        write(files, "mine")
        for folder in ("real", "link"):
            with pytest.raises(OutputError, match="another geodp is publishing to this file.*nothing was charged"):
                publish(tmp_path / folder, "theirs", force=True)
            with pytest.raises(OutputError, match="another geodp"):
                put_right(tmp_path / folder / "out.csv", tmp_path / folder / "out.csv.guarantee.json")
        files.commit()
    assert published(tmp_path / "real") == "mine"


def test_a_place_that_cannot_be_written_to_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), staging(tmp_path / "file"):
        pass
