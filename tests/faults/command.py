"""`python -m tests.faults`: kills and other faults, and a table of what did not hold after them."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from tests.faults import pairs, places
from tests.faults.process import preload
from tests.faults.publish_subjects import KINDS, Publish
from tests.faults.run_subjects import Run, RunArms, RunForce
from tests.faults.subject import Subject, Trial
from tests.faults.sweep_subjects import DaskScheduler, DaskWorker, SweepDriver, SweepWorker

SHARES = {"run": 40, "run --force": 50, "run with arms": 26, "sweep driver": 14, "sweep worker": 6}
SHARES |= {f"publish {kind}": 14 for kind in KINDS} | {"dask worker": 4, "dask scheduler": 4}
"""How 200 kills are shared out."""
COLUMNS = ("lost", "duplicated", "half", "other")
SAID = {"half": "looks finished and is not"}


def main() -> int:
    """Run the faults and print the table; 1 when anything did not hold."""
    asked = _arguments()
    rng = np.random.default_rng(asked.seed)
    deadline = time.monotonic() + 60 * asked.minutes
    preload()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        trials: list[Trial] = []
        for trial in _trials(Path(folder), asked.kills, set(asked.only), rng):
            trials.append(trial)
            for kind, text in trial.problems:
                print(f"FAILED {trial.subject}, {trial.fault}: {SAID.get(kind, kind)}: {text}", file=sys.stderr)
            if time.monotonic() > deadline:
                print(f"stopped after {asked.minutes:g} minutes (--minutes)")
                break
    print(table(trials))
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(trial) for trial in trials], indent=1) + "\n")
    return 1 if any(trial.problems for trial in trials) else 0


def table(trials: list[Trial]) -> str:
    """Return how many faults each subject met, and how often something did not hold."""
    rows = [f"{'':<32} faults {' '.join(f'{name:>10}' for name in COLUMNS)}"]
    for name in dict.fromkeys(trial.subject for trial in trials):
        own = [trial for trial in trials if trial.subject == name]
        bad = Counter(kind for trial in own for kind, _ in trial.problems)
        rows.append(f"{name:<32} {len(own):>6} {' '.join(f'{bad[kind]:>10}' for kind in COLUMNS)}")
    bad = Counter(kind for trial in trials for kind, _ in trial.problems)
    kills = sum(trial.fault.startswith("SIG") for trial in trials)
    rows.append(f"{'all':<32} {len(trials):>6} {' '.join(f'{bad[kind]:>10}' for kind in COLUMNS)}")
    return "\n".join([*rows, f"{kills} kills, {len(trials) - kills} other faults"])


def _trials(folder: Path, kills: int, only: set[str], rng: np.random.Generator) -> Iterator[Trial]:
    wanted = {name: share for name, share in SHARES.items() if not only or name in only}
    scale = kills / sum(wanted.values())
    for subject in _subjects(folder, set(wanted)):
        for _ in range(max(1, round(wanted[subject.name] * scale))):
            yield subject.trial(rng)
        if not only or "other" in only:
            yield from _other_faults(subject, max(1, round(4 * kills / 200)), rng)


def _subjects(folder: Path, wanted: set[str]) -> Iterator[Subject]:
    """Yield what is put to the test, ready; those of one sweep share its start."""
    plain: list[Subject] = [kind(folder / str(n)) for n, kind in enumerate((Run, RunForce, RunArms))]
    plain += [Publish(folder / kind, kind=kind) for kind in KINDS]
    for subject in plain:
        if subject.name in wanted:
            subject.prepare()
            yield subject
    kinds = [kind for kind in (SweepDriver, SweepWorker, DaskWorker, DaskScheduler) if kind.name in wanted]
    if kinds:
        sweep = SweepDriver(folder / "sweep")
        sweep.prepare()
        for kind in kinds:
            yield kind(**{**vars(sweep), "trials": 0})


def _other_faults(subject: Subject, rounds: int, rng: np.random.Generator) -> Iterator[Trial]:
    """Yield what happens where nothing can be written, and when two do the same."""
    if isinstance(subject, SweepWorker | DaskWorker):
        return
    several = 1 if isinstance(subject, SweepDriver) else rounds
    for _ in range(several):
        yield places.file_limit(subject, rng)
    for trial in (places.full_disk(subject, rng), places.read_only(subject)):
        if trial is None:
            print(f"{subject.name}: no disk of a chosen kind can be mounted here: left out")
        else:
            yield trial
    for pair in _pairs(subject, rng):
        for _ in range(several):
            yield pair()


def _pairs(subject: Subject, rng: np.random.Generator) -> list[Callable[[], Trial]]:
    if isinstance(subject, SweepDriver):
        return [partial(pairs.two_sweeps, subject, rng)]
    if isinstance(subject, Publish):
        return [partial(pairs.two_publications, subject, rng, same_out=same) for same in (True, False)]
    if isinstance(subject, RunForce):
        return [partial(pairs.two_runs, subject, rng), partial(pairs.run_and_reader, subject, rng)]
    return [partial(pairs.two_runs, subject, rng)] if isinstance(subject, Run) else []


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kills, shared out over all commands [200]")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many minutes [60]")
    parser.add_argument("--seed", type=int, default=0, help="seed of moments and steps [0]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every fault, too")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help=f"of {', '.join(SHARES)}, other")
    return parser.parse_args()
