"""Two processes on everything at once: one is refused or both succeed, and nothing is ever mixed or counted twice."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from tests.faults.process import Ended, apart, start
from tests.faults.publish_subjects import Publish, charges
from tests.faults.run_subjects import NEW, Run, seed_of_whole_run
from tests.faults.subject import Trial
from tests.faults.sweep_subjects import RUNS, SweepDriver, results

Problems = list[tuple[str, str]]


def two_runs(subject: Run, rng: np.random.Generator) -> Trial:
    """Two runs of different seeds into one folder."""
    place = subject.new_place()
    other = [str(NEW + 1) if word == str(NEW) else word for word in subject.words]
    ends = _both(subject.words, other, place, rng)
    found = _refusals(ends, "another geodp is writing", "exists already")
    seed = apart(seed_of_whole_run, place / "out" / "run", subject._known)
    if seed not in {NEW + number for number, ended in enumerate(ends) if ended.code == 0}:
        found.append(("lost", f"the run there is of seed {seed}; ended with {[ended.code for ended in ends]}"))
    found += apart(subject.problems_again, place, ends[0]) if "--force" in subject.words else []
    return Trial("two at once: run", f"codes {[ended.code for ended in ends]}", tuple(found))


def run_and_reader(subject: Run, rng: np.random.Generator) -> Trial:
    """A run that replaces another while its numbers are computed anew."""
    place = subject.new_place()
    ends = _both(subject.words, ["--quiet", "metrics", "out/run"], place, rng)
    found = [("other", ended.text[-600:]) for ended in ends if ended.code not in {0, 2} or "Traceback" in ended.text]
    found += apart(subject.problems, place, ends[0]) + apart(subject.problems_again, place, ends[0])
    return Trial("two at once: run, metrics", f"codes {[ended.code for ended in ends]}", tuple(found))


def two_publications(subject: Publish, rng: np.random.Generator, *, same_out: bool) -> Trial:
    """Two publications with one ledger, into one output or two."""
    place = subject.new_place()
    other = [word if same_out else word.replace("table.csv", "other.csv") for word in subject.words]
    before = apart(charges, place)
    ends = _both(subject.words, other, place, rng)
    found = _refusals(ends, "another geodp is publishing", "in the meantime")
    after = apart(charges, place)
    good = sum(ended.code == 0 for ended in ends)
    if after[: len(before)] != before or len(after) - len(before) < good:
        found.append(("lost", f"{good} outputs, {len(after) - len(before)} charges"))
    if len(after) - len(before) > good:
        found.append(("duplicated", f"{good} outputs, {len(after) - len(before)} charges"))
    if not same_out and good != 2:
        found.append(("other", f"codes {[ended.code for ended in ends]}: {ends[1].text[-300:]}"))
    found += apart(_whole_outputs, place)
    return Trial(f"two at once: {subject.name}", f"codes {[ended.code for ended in ends]}", tuple(found))


def two_sweeps(subject: SweepDriver, rng: np.random.Generator) -> Trial:
    """Two drivers of one sweep in one folder."""
    place = subject.new_place()
    ends = _both(subject.words, subject.words, place, rng)
    found = _refusals(ends, "another sweep is writing")
    if len(apart(results, place)) != RUNS:
        found.append(("duplicated", f"{len(apart(results, place))} results of {RUNS} runs"))
    found += apart(subject.problems_again, place, ends[0])
    return Trial("two at once: sweep", f"codes {[ended.code for ended in ends]}", tuple(found))


def _both(first: list[str], second: list[str], place: Path, rng: np.random.Generator) -> list[Ended]:
    one = start(first, place)
    time.sleep(float(rng.uniform(0, 0.3)))
    other = start(second, place)
    return [one.wait(), other.wait()]


def _refusals(ends: list[Ended], *words: str) -> Problems:
    """Each ends well or is refused in words, and one ends well."""
    found = [
        ("other", f"ended with {ended.code}: {ended.text[-600:]}")
        for ended in ends
        if ended.code != 0 and not (ended.code == 2 and any(word in ended.text for word in words))
    ]
    return found if any(ended.code == 0 for ended in ends) else [*found, ("other", "both were refused")]


def _whole_outputs(place: Path) -> Problems:
    from geodp.storage.published_file import belong_together

    outputs = list((place / "out").glob("*.csv"))
    return [
        ("half", f"{path.name} stands without its own guarantee")
        for path in outputs
        if not belong_together(path, path.with_name(f"{path.name}.guarantee.json"))
    ]
