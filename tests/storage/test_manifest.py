"""A folder's manifest notices every flipped bit, in its files and in itself."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.errors import DataError
from geodp.storage.manifest import read_manifest, replace_file, require_all_intact, require_intact, seal

REPLACE = """
import signal, sys
from pathlib import Path
from geodp.storage.manifest import replace_file
from tests.faults.steps import stop_at

folder, step = Path(sys.argv[1]), int(sys.argv[2])
stop_at(step, signal.SIGKILL, folder)
replace_file(folder, "metrics.json", "new")
"""


def sealed(folder: Path) -> Path:
    (folder / "truth").mkdir(parents=True)
    (folder / "metrics.json").write_text("old")
    (folder / "truth" / "world.json").write_text("{}")
    (folder / "run.log").write_text("hello")
    seal(folder, {"geodp": "0.1.0", "seed": 5}, leave_out=["run.log"])
    return folder


def test_every_flipped_bit_of_a_file_and_of_the_manifest_is_noticed(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "run")
    require_all_intact(folder, read_manifest(folder))
    for name in ("metrics.json", "manifest.json"):
        path = folder / name
        good = path.read_bytes()
        missed = []
        for place in range(8 * len(good)):
            bad = bytearray(good)
            bad[place // 8] ^= 1 << place % 8
            path.write_bytes(bytes(bad))
            os.utime(path, ns=(place, place))  # the clock of a file system may tick more slowly than this loop
            try:
                facts = read_manifest(folder)
                require_all_intact(folder, facts)
            except DataError as error:
                assert name in str(error)
            else:
                path.write_bytes(good)
                same = name == "manifest.json" and facts == read_manifest(folder)  # its white space may differ
                if not same:
                    missed.append(place)
        path.write_bytes(good)
        assert missed == []


def test_files_that_are_gone_or_new_are_named_and_the_log_is_free(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "run")
    facts = read_manifest(folder)
    (folder / "run.log").write_text("more")
    require_all_intact(folder, facts)
    (folder / "extra.json").write_text("{}")
    with pytest.raises(DataError, match=r"extra\.json.*put there later"):
        require_intact(folder, "extra.json", facts)
    (folder / "truth" / "world.json").unlink()
    with pytest.raises(DataError, match=r"world\.json: is missing"):
        require_all_intact(folder, facts)


def test_a_file_is_replaced_so_that_its_checksum_is_right_at_every_step(tmp_path: Path) -> None:
    contents = []
    for step in range(1, 30):
        folder = sealed(tmp_path / str(step))
        done = subprocess.run([sys.executable, "-c", REPLACE, str(folder), str(step)], check=False)
        require_all_intact(folder, read_manifest(folder))
        contents.append((folder / "metrics.json").read_text())
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        replace_file(folder, "metrics.json", "newer")
        require_all_intact(folder, read_manifest(folder))
        assert not list(folder.glob(".*"))
    assert set(contents) == {"old", "new"}
    assert "files_next" not in read_manifest(folder)


def test_a_manifest_without_checksums_is_one_of_version_0_1(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"geodp": "0.1.0", "seed": 1}))
    facts = read_manifest(tmp_path)
    require_intact(tmp_path, "anything", facts)
    assert facts["seed"] == 1


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a": NaN, "checksum": ""}', '{"files": [], "checksum": ""}', '{"files_next": 7}', "7", ""]
)
def test_a_manifest_that_is_none_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json: is damaged"):
        read_manifest(tmp_path)
