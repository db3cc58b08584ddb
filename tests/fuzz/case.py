"""What one case is: some files, and the commands that are given them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

SCENARIO, DATA = "scenario", "data"


@dataclass
class Case:
    """Files in a folder of their own, and commands on them, in order."""

    folder: Path
    what: str
    """How it was made, in a few words."""
    files: dict[str, bytes]
    commands: list[Command] = field(default_factory=list)

    def write(self) -> None:
        """Write the files."""
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)


@dataclass(frozen=True)
class Command:
    """One call of the command line."""

    words: list[str]
    names: str = ""
    """Part of the name of the damaged file: a refusal must hold it."""
    makes: tuple[str, ...] = ()
    """What it makes in the folder when it succeeds, and must leave nothing of when it fails."""
    only_after: int | None = None
    """Run only when the command before ended with this code."""
    light: bool = False
    """Run only when the command before stated that little time and memory are needed."""


def generator(seed: int, kind: str, number: int) -> random.Random:
    """Return the randomness of one case: the same for ever."""
    return random.Random(f"{seed}/{kind}/{number}")  # noqa: S311 - no secret
