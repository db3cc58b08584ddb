"""One command from its words to its files, in this process, with an auditor's noise: everything that it lets out."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.privacy.noise import Noise, audited_release

_WHEN = {"time", "time_s", "chain", "head", "seal"}
"""Keys of JSON files that say when something was done, or are digests over that."""
_HERE = "<folder>"


@dataclass(frozen=True)
class LetOut:
    """All that a command let out: exit code, what it printed and logged, and every file it left."""

    exit_code: int
    messages: str
    files: dict[str, bytes]

    def differences(self, other: LetOut) -> list[str]:
        """Name what differs."""
        found = [] if self.exit_code == other.exit_code else ["exit code"]
        found += [] if self.messages == other.messages else ["messages"]
        names = sorted(set(self.files) | set(other.files))
        return found + [name for name in names if self.files.get(name) != other.files.get(name)]

    def json(self, name: str) -> dict[str, Any]:
        """Return a JSON file that was left ({}: there is none)."""
        return dict(json.loads(self.files[name])) if name in self.files else {}


CommandLine = Callable[[Sequence[str]], int]
"""Runs `geodp WORDS` in this process, and returns its exit code; whoever has the commands hands it in."""


def run_command(run: CommandLine, words: Sequence[str], *, noise: Noise, folder: Path, inputs: Sequence[str]) -> LetOut:
    """Run `geodp WORDS` with an auditor's noise in the place of that of a release.

    Parameters
    ----------
    run
        Runs a command.
    words
        The command line; files are named inside the folder.
    noise
        Answers the questions of the release.
    folder
        Where the command works; its path is replaced by a word wherever it is printed.
    inputs
        Names of files that were there before.
    """
    heard = io.StringIO()
    logged = logging.StreamHandler(heard)
    logger = logging.getLogger("geodp")
    logger.addHandler(logged)
    try:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard), audited_release(noise):
            code = run(words)
    finally:
        logger.removeHandler(logged)
    files = {
        str(path.relative_to(folder)): _timeless(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in inputs and not path.name.endswith(".lock")
    }
    return LetOut(code, _anywhere(heard.getvalue(), folder), files)


def _anywhere(text: str, folder: Path) -> str:
    return text.replace(str(folder.resolve()), _HERE).replace(str(folder), _HERE)


def _timeless(path: Path) -> bytes:
    """Return a file without the time at which it was written."""
    content = path.read_bytes()
    if path.suffix != ".json":
        return content
    return json.dumps(_without_times(json.loads(content)), indent=1, sort_keys=True).encode()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: None if key in _WHEN else _without_times(held) for key, held in value.items()}
    return [_without_times(held) for held in value] if isinstance(value, list) else value
