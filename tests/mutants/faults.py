"""The planted faults: read from their file, applied to a tree."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "faults.toml"


@dataclass(frozen=True)
class Fault:
    """One text of one file replaced by another, and the tests that must notice."""

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """The room of the file (a loose module counts by itself)."""
        return Path(self.file).parts[1].removesuffix(".py")

    def problem(self, tree: Path) -> str:
        """Say why the fault cannot be planted in a tree ('' when it can)."""
        path = tree / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        missing = [test for test in self.tests if not (tree / test.partition("::")[0]).exists()]
        if missing or not self.tests:
            return f"there is no test {', '.join(missing)}".rstrip()
        times = path.read_text(encoding="utf-8").count(self.find)
        return "" if times == 1 else f"{self.file} holds the text {times} times instead of once: {self.find}"

    def plant(self, tree: Path) -> str:
        """Write the fault into a tree, and return the file's text from before."""
        path = tree / self.file
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(self.find, self.replace), encoding="utf-8")
        return before


def read_faults(path: Path = FILE) -> list[Fault]:
    """Return the faults of a file, in its order."""
    lines = tomllib.loads(path.read_text(encoding="utf-8"))["faults"]
    return [Fault(**{**line, "tests": tuple(line["tests"])}) for line in lines]
