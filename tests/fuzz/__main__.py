"""Damages shipped scenarios and sound data by the thousand and holds every command to its word.

Nothing may end in a traceback, hang for 20 CPU-seconds, end with another exit code than 0, 1 or 2, refuse without
naming the file, or leave anything half-made behind. Every case follows from the seed and its number alone; a run that
was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from geodp.storage.files import write_text_whole
from tests.fuzz.case import DATA, SCENARIO
from tests.fuzz.oracle import LATE
from tests.fuzz.pool import Task, answers

CASES = 12_000
DATA_SHARE = 6
"""Every so many cases one is a data file."""
SAVE_EVERY = 200


def main(words: Sequence[str]) -> int:
    """Run the cases asked for; the exit code is 1 when there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES, metavar="N", help="cases in all [default: %(default)s]")
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="stop after so long, to be gone on")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other cases")
    parser.add_argument("--workers", type=int, default=2, metavar="W", help="processes [default: %(default)s]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write counts and findings here, too")
    parser.add_argument("--state", type=Path, metavar="FILE", help="what is done [default: in the temporary folder]")
    parser.add_argument("--fresh", action="store_true", help="forget what is done")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="run one case here and show it, e.g. scenario:17")
    wanted = parser.parse_args(words)
    if wanted.case is not None:
        return show(wanted.case, wanted.seed)
    state = wanted.state or Path(tempfile.gettempdir()) / f"geodp-fuzz-{wanted.seed}.json"
    done = {} if wanted.fresh or not state.is_file() else json.loads(state.read_text(encoding="utf-8"))
    _run(wanted, done, state)
    text, findings = report(done, wanted.cases)
    print(text)
    if wanted.json is not None:
        wanted.json.write_text(json.dumps(done | {"cases": wanted.cases}, indent=2) + "\n", encoding="utf-8")
    return 1 if findings else 0


def tasks(cases: int) -> Iterator[Task]:
    """Yield all cases: every sixth is a data file."""
    for number in range(cases):
        yield (DATA, number // DATA_SHARE) if number % DATA_SHARE == 0 else (SCENARIO, number)


def _run(wanted: argparse.Namespace, done: dict[str, Any], state: Path) -> None:
    """Run what is not done yet, and keep account of it."""
    finished = {tuple(task) for task in done.setdefault("done", [])}
    done.setdefault("findings", [])
    todo = [task for task in tasks(wanted.cases) if task not in finished]
    end = time.monotonic() + 60 * wanted.minutes
    cpu_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        for count, answer in enumerate(answers(todo, wanted.seed, wanted.workers, lambda: time.monotonic() < end), 1):
            done["done"].append([answer["kind"], answer["number"]])
            done["commands"] = done.get("commands", 0) + answer["commands"]
            for finding in answer["findings"]:
                done["findings"].append(finding)
                print(f"{finding['kind']}:{finding['number']} {finding['fault']}: {finding['message'][-200:]!r}")
            if count % SAVE_EVERY == 0:
                write_text_whole(state, json.dumps(done))
                print(f"{count:,} of {len(todo):,} cases, {len(done['findings'])} findings", flush=True)
    finally:
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = cpu.ru_utime + cpu.ru_stime - cpu_before.ru_utime - cpu_before.ru_stime
        done["cpu_s"] = round(done.get("cpu_s", 0.0) + spent, 1)
        write_text_whole(state, json.dumps(done))


def report(done: dict[str, Any], cases: int) -> tuple[str, int]:
    """Return the table of what was run and found, and the number of findings."""
    ran = Counter(kind for kind, _ in done["done"])
    faults = Counter(finding["fault"].partition(":")[0] for finding in done["findings"])
    late = faults.pop(LATE, 0)
    lines = [
        f"{len(done['done']):,} of {cases:,} cases: {ran[SCENARIO]:,} scenarios, {ran[DATA]:,} data files, "
        f"{done.get('commands', 0):,} commands, {done.get('cpu_s', 0.0):,.0f} CPU-s",
        *(f"  {fault:<20} {count}" for fault, count in sorted(faults.items())),
        f"{late} runs refused what their check had passed: only reading all of the data shows it",
        f"{sum(faults.values())} findings",
    ]
    return "\n".join(lines), sum(faults.values())


def show(name: str, seed: int) -> int:
    """Run one case in this process and print its files, its commands and what is wrong."""
    from tests.fuzz.data_mutants import data_case
    from tests.fuzz.good_files import write_inputs
    from tests.fuzz.oracle import judge
    from tests.fuzz.scenario_mutants import scenario_case

    kind, _, number = name.partition(":")
    folder = Path(tempfile.mkdtemp(prefix="fuzz-case-"))
    inputs = folder / "inputs"
    inputs.mkdir()
    write_inputs(inputs)
    (folder / "case").mkdir()
    case = (scenario_case if kind == SCENARIO else data_case)(seed, int(number), folder / "case", inputs)
    findings, _ = judge(case, kind, int(number))
    print(f"{case.what}\nfiles: {case.folder}")
    for command in case.commands:
        print("geodp " + " ".join(command.words))
    for finding in findings:
        print(f"{finding.fault}:\n{finding.message}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
