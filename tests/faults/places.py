"""Places that cannot be written to: a full disk, a limit on files, a folder for reading only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.faults.process import Fault, run
from tests.faults.subject import Subject, Trial

_REFUSED = frozenset({1, 2})


def file_limit(subject: Subject, rng: np.random.Generator) -> Trial:
    """No file may grow beyond a size (what is said of it still fits), as when a quota is used up."""
    most = int(np.exp(rng.uniform(np.log(2_000), np.log(60_000))))
    place = subject.new_place()
    fault = Fault(most_bytes=most)
    trial = subject.judged(place, str(fault), run(subject.words, place, fault), _REFUSED)
    return Trial(f"full: {subject.name}", trial.fault, trial.problems)


def full_disk(subject: Subject, rng: np.random.Generator) -> Trial | None:
    """The disk fills up on the way; None where no small disk can be had."""
    place = subject.new_place()
    used = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) // 1024
    size = used + len(list(place.rglob("*"))) * 4 + int(rng.integers(8, 300))
    with _mounted(place) as mounted:
        if not mounted:
            return None
        _remount(place, f"size={size}k")
        ended = run(subject.words, place)
        _remount(place, "size=512m")
        trial = subject.judged(place, f"a disk of {size} kB", ended, _REFUSED)
    return Trial(f"full: {subject.name}", trial.fault, trial.problems)


def read_only(subject: Subject) -> Trial | None:
    """Nothing can be written; None where that cannot be had (root may write anywhere, and no disk can be mounted)."""
    place = subject.new_place()
    if os.geteuid() != 0:
        for path in [place, *(entry for entry in place.rglob("*") if entry.is_dir())]:
            path.chmod(0o555)
        ended = run(subject.words, place)
        for path in [place, *(entry for entry in place.rglob("*") if entry.is_dir())]:
            path.chmod(0o755)
        trial = subject.judged(place, "a folder for reading only", ended, _REFUSED)
        return Trial(f"read-only: {subject.name}", trial.fault, trial.problems)
    with _mounted(place) as mounted:
        if not mounted:
            return None
        _remount(place, "ro")
        ended = run(subject.words, place)
        _remount(place, "rw")
        trial = subject.judged(place, "a disk for reading only", ended, _REFUSED)
    return Trial(f"read-only: {subject.name}", trial.fault, trial.problems)


@contextmanager
def _mounted(place: Path) -> Iterator[bool]:
    """Put what is in a folder on a disk of its own; False where that is not allowed."""
    aside = place.with_suffix(".aside")
    place.rename(aside)
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", str(place)], check=False, capture_output=True
    )
    try:
        if made.returncode == 0:
            shutil.copytree(aside, place, dirs_exist_ok=True)
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", str(place)], check=False, capture_output=True)
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)


def _remount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place)], check=True, capture_output=True)
