"""Files appear whole or not at all; locks hold across processes and go with them."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.storage.files import FileBusy, digest, lock_file, write_text_whole, write_whole

HOLD = """
import sys, time
from pathlib import Path
from geodp.storage.files import lock_file

with lock_file(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_file_that_fails_half_way_leaves_the_older_one_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "ledger.json"
    target.write_text("old")

    def fail(partial: Path) -> None:
        partial.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_are_the_usual_ones_or_those_asked_for(tmp_path: Path) -> None:
    write_text_whole(tmp_path / "open.txt", "ε")
    write_text_whole(tmp_path / "private.txt", "", mode=0o600)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "open.txt").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "private.txt").stat().st_mode) == 0o600
    assert (tmp_path / "open.txt").read_text(encoding="utf-8") == "ε"


def test_a_lock_keeps_others_out_until_its_process_is_killed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FileBusy), lock_file(lock, wait=False):
            pass
        holder.kill()
    with lock_file(lock, wait=False):
        assert lock.is_file()


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 3_000_000)
    assert digest(tmp_path / "data") == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_partial_files_of_killed_processes_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    left = tmp_path / ".table-0a1b2c3d.partial.csv"
    left.write_text("half")
    other = tmp_path / ".table-b-0a1b2c3d.partial.csv"
    other.write_text("of another file")

    def meanwhile(partial: Path) -> None:
        partial.write_text("slow")
        write_text_whole(tmp_path / "table.csv", "quick")
        assert partial.exists()

    write_whole(tmp_path / "table.csv", meanwhile)
    assert (tmp_path / "table.csv").read_text() == "slow"
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "table.csv"]


def test_who_waited_for_a_lock_that_goes_holds_the_file_that_has_the_name(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock_file(lock, stays=False), pytest.raises(FileBusy), lock_file(lock, wait=False, stays=False):
        pass
    assert not lock.exists()


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("file.txt")
    for text in ("one", "two"):
        write_text_whole(tmp_path / "link.txt", text)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "file.txt").read_text() == text
    os.mkfifo(tmp_path / "pipe.txt")
    reader = os.open(tmp_path / "pipe.txt", os.O_RDONLY | os.O_NONBLOCK)
    write_text_whole(tmp_path / "pipe.txt", "told")
    assert os.read(reader, 10) == b"told"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe.txt").stat().st_mode)
