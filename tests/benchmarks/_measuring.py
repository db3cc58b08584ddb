"""CPU time and memory, of this process and of others."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
REPOSITORY = Path(__file__).parents[2]
SCENARIOS = REPOSITORY / "scenarios"
CITY_MILLION = SCENARIOS / "city_million.yaml"


def cpu_s(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU seconds of one call, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def best_cpu_s(*works: Callable[[], object], repeats: int = 3) -> list[float]:
    """Return the least CPU seconds of each; they take turns, so that a busy spell hits all of them alike."""
    return [min(times) for times in zip(*([cpu_s(work)[0] for work in works] for _ in range(repeats)), strict=True)]


@dataclass(frozen=True)
class Usage:
    """What a finished process used."""

    cpu_s: float
    peak_mb: float
    output: str


def usage_of(command: Sequence[str]) -> Usage:
    """Run a Python command (what follows `python`) in the repository and return what it used."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, *command], cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        raise RuntimeError(f"python {' '.join(command)} ended with exit code {process.returncode}:\n{text[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6, text)


@cache
def scratch_folder() -> Path:
    """Return a folder that is removed when the benchmarks end."""
    folder = Path(tempfile.mkdtemp(prefix="geodp-benchmarks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def city_million_run() -> tuple[Path, Usage]:
    """Run `city_million` from the command line, once per session; return its folder and what it used."""
    folder = scratch_folder() / "city_million"
    return folder, usage_of(["-m", "geodp", "run", str(CITY_MILLION), "--out", str(folder), "--quiet"])
