"""Plants every fault in a copy of the tree and runs its tests; exit code 1 when one survives or does not apply."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.faults import FILE, Fault, read_faults

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
TAKEN = ("geodp", "tests", "scenarios", "datasets", "*.md", "pyproject.toml")
PATIENCE_S = 900
"""CPU seconds that the tests of one fault may take: on a busy machine the clock would say little."""
WAITING = 20
"""How many times as long the clock may run."""
FAILED = 1
"""What pytest answers when tests ran and some failed; other answers say that they did not run."""


def main(words: Sequence[str]) -> int:
    """Plant the faults that are asked for (default: all) and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("wanted", nargs="*", metavar="WORD", help="a room, or a part of a fault's name (default: all)")
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    parser.add_argument("--file", type=Path, default=FILE, help="faults to plant (default: %(default)s)")
    options = parser.parse_args(words)
    faults = [fault for fault in read_faults(options.file) if _is_wanted(fault, options.wanted)]
    if not faults:
        print(f"no fault is about {', '.join(options.wanted)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(f"{fault.room:12} {fault.name}" for fault in faults))
        return 0
    with tempfile.TemporaryDirectory(prefix="geodp-mutants-") as scratch:
        tree = Path(scratch)
        _copy(tree)
        return _plant_all(faults, tree)


def _copy(tree: Path) -> None:
    for path in (path for pattern in TAKEN for path in ROOT.glob(pattern)):
        if path.is_dir():
            shutil.copytree(path, tree / path.name, ignore=LEFT_OUT)
        else:
            shutil.copy(path, tree)


def _is_wanted(fault: Fault, words: Iterable[str]) -> bool:
    return not words or any(word == fault.room or word in fault.name for word in words)


def _plant_all(faults: list[Fault], tree: Path) -> int:
    stale = [f"{fault.name}: {problem}" for fault in faults if (problem := fault.problem(tree))]
    if stale:
        print("\n".join(["these faults no longer apply:", *stale]), file=sys.stderr)
        return 1
    for test in sorted({test for fault in faults for test in fault.tests}):
        answer, text = _run(tree, [test])
        if answer != 0:
            print(f"{text}\n{test} fails without any fault: nothing can be said", file=sys.stderr)
            return 1
    survivors = [fault.name for fault in faults if not _is_noticed(fault, tree)]
    print(f"{len(faults) - len(survivors)} of {len(faults)} faults were noticed")
    return 1 if survivors else 0


def _is_noticed(fault: Fault, tree: Path) -> bool:
    before = fault.plant(tree)
    try:
        answer, _ = _run(tree, fault.tests)
    finally:
        (tree / fault.file).write_text(before, encoding="utf-8")
    words = {FAILED: "noticed", 0: "SURVIVED", None: "noticed (the tests did not end)"}
    print(f"{words.get(answer, f'BROKEN (pytest answered {answer})'):10} {fault.room:12} {fault.name}", flush=True)
    return answer in (FAILED, None)


def _run(tree: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """Run tests in a tree; return pytest's exit code (None: they did not end) and the end of what it prints."""
    quiet = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "-m", "not browser"]
    surroundings = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(PATIENCE_S)]
    try:
        done = subprocess.run(
            [*limited, sys.executable, "-m", "pytest", *quiet, *tests],
            cwd=tree,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=WAITING * PATIENCE_S,  # what waits for nothing takes no CPU
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "the tests did not end"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None, "the tests did not end"
    return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
