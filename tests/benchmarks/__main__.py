"""Runs the benchmarks, prints a table, writes a flat JSON file; exit code 1 when a target is missed."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.benchmarks._figure import HEADER, Figure

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main(words: Sequence[str]) -> int:
    """Run the benchmarks named (all of them when none is) and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    wanted = parser.parse_args(words)
    unknown = sorted(set(wanted.names) - set(NAMES))
    if unknown:
        print(f"no benchmark called {', '.join(unknown)}. There are: {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    if wanted.json is not None and not wanted.json.parent.is_dir():
        print(f"{wanted.json}: there is no folder {wanted.json.parent}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    try:
        _run(wanted.names or NAMES, figures)
    finally:  # what was measured is kept, whatever happens to the rest
        if wanted.json is not None:
            _write(figures, wanted.json)
    missed = [figure for figure in figures if figure.met is False]
    print(
        f"{len(missed)} of {sum(figure.met is not None for figure in figures)} targets missed" if missed else "all met"
    )
    return 1 if missed else 0


def _run(names: Iterable[str], figures: list[Figure]) -> None:
    print(HEADER)
    for name in names:
        for figure in importlib.import_module(f"tests.benchmarks.{name}").measure():
            figures.append(figure)
            print(figure.line(), flush=True)


def _write(figures: list[Figure], path: Path) -> None:
    found: dict[str, float | None] = {"machine_cpus": os.cpu_count(), "machine_load_1min": os.getloadavg()[0]}
    for figure in figures:
        found |= figure.entries()
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
