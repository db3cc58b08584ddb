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
from tests.benchmarks._history import HISTORY, compared, read_figures, releases

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main(words: Sequence[str]) -> int:
    """Run the benchmarks named (all of them when none is) and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="say what moved against the last release; without a NAME nothing is run: the last release against the one "
        "before it",
    )
    parser.add_argument("--measured", type=Path, metavar="FILE", help="with --compare: figures measured before")
    wanted = parser.parse_args(words)
    if wanted.compare and (wanted.measured is not None or not wanted.names):
        return _compare_files(wanted.measured)
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
    if wanted.compare:
        print(compared("now", releases()[-1], _flat(figures), partial=True))
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


def _compare_files(measured: Path | None) -> int:
    known = releases()
    if measured is not None and not measured.is_file():
        print(f"{measured}: there is no such file", file=sys.stderr)
        return 2
    if len(known) < (2 if measured is None else 1):
        print(f"{HISTORY}: there is no earlier release to compare with", file=sys.stderr)
        return 2
    if measured is None:
        print(compared(known[-1].version, known[-2], known[-1].measured))
    else:
        print(compared(str(measured), known[-1], read_figures(measured)))
    return 0


def _flat(figures: Iterable[Figure]) -> dict[str, float | None]:
    return {key: value for figure in figures for key, value in figure.entries().items()}


def _write(figures: list[Figure], path: Path) -> None:
    machine = {"machine_cpus": os.cpu_count(), "machine_load_1min": os.getloadavg()[0]}
    path.write_text(json.dumps(machine | _flat(figures), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
