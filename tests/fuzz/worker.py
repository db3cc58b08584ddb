"""One process that runs cases: numbers come in on stdin, verdicts go out on stdout, a line of JSON each.

A case that takes more than its CPU time ends the process; whoever started it notices, and starts another.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

from geodp.scenario.schema import load_scenario
from tests.fuzz.case import SCENARIO
from tests.fuzz.data_mutants import data_case
from tests.fuzz.good_files import write_inputs
from tests.fuzz.oracle import judge
from tests.fuzz.scenario_mutants import ROOT, scenario_case

CPU_S = 20.0
MEMORY_BYTES = 6 << 30


def main(folder: Path) -> None:
    """Answer every line `KIND NUMBER SEED` with the findings of that case; files lie in a folder below this one."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # whatever a library prints is no answer
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=folder) as top:
        inputs = Path(top, "inputs")
        inputs.mkdir()
        write_inputs(inputs)
        load_scenario(ROOT / "quickstart.yaml")  # imports what commands import, so that no case pays for it
        for line in sys.stdin:
            kind, number, seed = line.split()
            answers.write(json.dumps(answer(kind, int(number), int(seed), Path(top), inputs)) + "\n")
            answers.flush()


def answer(kind: str, number: int, seed: int, top: Path, inputs: Path) -> dict[str, object]:
    """Run one case in a folder of its own."""
    folder = top / f"{kind}{number}"
    folder.mkdir()
    os.chdir(folder)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)  # its signal ends the process, also inside compiled code
    try:
        case = (scenario_case if kind == SCENARIO else data_case)(seed, number, folder, inputs)
        findings, ran = judge(case, kind, number)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir(top)
        shutil.rmtree(folder, ignore_errors=True)
    return {"kind": kind, "number": number, "commands": ran, "findings": [finding.plain() for finding in findings]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
