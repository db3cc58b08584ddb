"""Runs the commands of a case in this process and says what is wrong with how they end."""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.case import Case, Command

SECONDS_OF_CHECK = 5.0
READ_FIGURE = "read-figure"
LATE = "refused after check"
"""No fault: that trips fall outside a run, say, shows only when all of them are read. It is counted apart."""
"""Stands for a command that reads a figure file and makes nothing."""
_UNEXPECTED = re.compile(r"^(Traceback \(most recent|unexpected \w+:)", re.MULTILINE)
_LIGHT = re.compile(r"needs +about (?P<seconds>[\d.,]+) s")
_SETTING = re.compile(r"\b(workers|tasks|region|publish)\.[a-z_]+")
_STAYS = (".lock",)
"""Locks stay by design: removing one would let two processes pass."""


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str
    number: int
    fault: str
    """traceback, exit code, unnamed, left behind, slow check, refused after check, crash, hang."""
    what: str
    command: str
    message: str

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    printed: str
    cpu_s: float


def run_command(words: list[str]) -> Ended:
    """Call the command line in this process."""
    from geodp.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    begun = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = 0
            _read_figure(words[1]) if words[0] == READ_FIGURE else main(words)
        except SystemExit as end:
            code = end.code
    return Ended(code if isinstance(code, int) else 0, out.getvalue() + err.getvalue(), time.process_time() - begun)


def _read_figure(path: str) -> None:
    """Read a figure file as the command line would; making it would take minutes."""
    from geodp.errors import GeodpError
    from geodp.figures.figure_file import load_figure

    try:
        load_figure(Path(path))
    except GeodpError as error:
        print(error)
        raise SystemExit(error.exit_code) from None
    except Exception as error:  # noqa: BLE001 - what the command line calls unexpected
        print(f"unexpected {type(error).__name__}: {error}")
        raise SystemExit(1) from None


def judge(case: Case, kind: str, number: int) -> tuple[list[Finding], int]:
    """Run a case in its folder; return what is wrong, and how many commands were run."""
    case.write()
    findings: list[Finding] = []
    ended: Ended | None = None
    ran = 0
    for command in case.commands:
        if command.only_after is not None and (ended is None or ended.code != command.only_after):
            continue
        if command.light and (ended is None or not _is_light(ended.printed)):
            continue
        before = _listing(case.folder)
        ended = run_command(command.words)
        ran += 1
        for fault in faults(command, ended, _listing(case.folder) - before):
            line = " ".join(command.words)
            findings.append(Finding(kind, number, fault, case.what, line[:500], ended.printed[-1500:]))
    return findings, ran


def _is_light(printed: str) -> bool:
    """Tell whether a check stated that a run takes little."""
    stated = [float(found["seconds"].replace(",", "")) for found in _LIGHT.finditer(printed)]
    return bool(stated) and sum(stated) <= 20


def faults(command: Command, ended: Ended, new: set[str]) -> list[str]:
    """Say what is wrong with how a command ended; `new` is what appeared in its folder."""
    checks = command.words[0] == "check"
    found = []
    if _UNEXPECTED.search(ended.printed):
        found.append("traceback")
    elif ended.code not in ((0, 2) if checks else (0, 1, 2)):
        found.append("exit code")
    elif ended.code == 2 and command.names and not _says_where(command, ended.printed):
        found.append("unnamed")
    elif ended.code == 2 and command.only_after == 0:
        found.append(LATE)
    if checks and ended.cpu_s > SECONDS_OF_CHECK:
        found.append("slow check")
    left = {name for name in new if not name.endswith(_STAYS)}
    if ended.code != 0 and left:
        found.append(f"left behind: {', '.join(sorted(left))[:100]}")
    if ended.code == 0 and (odd := {name for name in left if "partial" in name}):
        found.append(f"left behind: {', '.join(sorted(odd))[:100]}")
    return found


def _says_where(command: Command, printed: str) -> bool:
    """Tell whether a refusal names the file, an option, or the setting of the scenario that names the file."""
    return command.names in printed or "--" in printed or _SETTING.search(printed) is not None


def _listing(folder: Path) -> set[str]:
    return {str(Path(root, name).relative_to(folder)) for root, folders, files in os.walk(folder)
            for name in (*folders, *files)}  # fmt: skip
