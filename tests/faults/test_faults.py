"""A small part of `python -m tests.faults`, and that it finds the defects it was made for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked, and watched in /proc"),
]
CARELESS = """
import os, shutil, sys
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import geodp.storage.folders
from tests.faults.command import main

def delete_then_rename(partial, target):
    if target.exists():
        shutil.rmtree(target)
    partial.rename(target)

geodp.storage.folders._put_in_place = delete_then_rename
sys.exit(main())
"""


def faults(file: Path, *words: str, code: str | None = None) -> tuple[int, list[dict[str, object]]]:
    """Run the command apart (tests have threads, and what has threads must not fork)."""
    how = ["-m", "tests.faults"] if code is None else ["-c", code]
    done = subprocess.run(
        [sys.executable, *how, "--json", str(file), *words], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert file.is_file(), done.stderr
    return done.returncode, json.loads(file.read_text())


def test_kills_lose_nothing_double_nothing_and_leave_nothing_half(tmp_path: Path) -> None:
    code, trials = faults(tmp_path / "faults.json", "--kills", "6", "--only", "run --force", "publish counts")
    assert [trial for trial in trials if trial["problems"]] == []
    assert (code, len(trials)) == (0, 6)


def test_an_old_run_that_is_deleted_first_is_found_out(tmp_path: Path) -> None:
    code, trials = faults(tmp_path / "faults.json", "--kills", "5", "--only", "run --force", code=CARELESS)
    assert code == 1
    assert {kind for trial in trials for kind, _ in trial["problems"]} & {"lost", "half"}  # type: ignore[attr-defined]
