"""What is put to the test: a command, the state it starts from, and what must hold whatever happens to it."""

from __future__ import annotations

import shutil
import signal
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.faults.process import Ended, Fault, apart, run

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_STOPPED = {-int(signal.SIGKILL), -int(signal.SIGTERM), 130}


@dataclass(frozen=True)
class Trial:
    """One fault and what did not hold after it: `lost`, `duplicated`, `half` (looks finished and is not), `other`."""

    subject: str
    fault: str
    problems: tuple[tuple[str, str], ...] = ()


@dataclass
class Subject(ABC):
    """One command. `home` holds what all its trials start from."""

    home: Path
    _steps: list[str] = field(default_factory=list)
    _seconds: float = 1.0
    trials: int = 0

    name = ""

    @property
    @abstractmethod
    def words(self) -> list[str]:
        """The command."""

    @abstractmethod
    def make_start(self, place: Path) -> None:
        """Make the state that the command starts from."""

    @abstractmethod
    def problems(self, place: Path, ended: Ended) -> list[tuple[str, str]]:
        """Return what does not hold after the command ended; called in a process of its own."""

    @abstractmethod
    def problems_again(self, place: Path, before: Ended) -> list[tuple[str, str]]:
        """Return what does not hold after the same command was run again: it succeeds, and clears up."""

    def prepare(self) -> None:
        """Make the start and one undisturbed run, which says how many steps there are and how long they take."""
        start = self.home / "start"
        start.mkdir(parents=True)
        self.make_start(start)
        calm = self._copy("calm")
        listed = self.home / "steps"
        ended = run(self.words, calm, steps=listed)
        if ended.code != 0:
            raise RuntimeError(f"{self.name}: fails by itself: {ended.text}")
        self._steps = listed.read_text().split()
        self._seconds = run(self.words, self._copy("calm2")).seconds
        self.learn(calm)

    def learn(self, calm: Path) -> None:  # noqa: B027 - there may be nothing
        """Take note of what an undisturbed run leaves."""

    def fault(self, rng: np.random.Generator) -> Fault:
        """Draw a fault: every other one at a chosen step (renames first), the others at random moments."""
        kill = SIGNALS[self.trials % len(SIGNALS)]
        if self.trials % 2:
            return Fault(kill, after_s=float(rng.uniform(0, 1.05 * self._seconds)))
        renames = [number for number, kind in enumerate(self._steps, 1) if kind == "os.rename"]
        windows = sorted({step for number in renames for step in (number, number + 1)})
        turn = self.trials // 2
        if turn < 2 * len(windows) and rng.random() < 0.75:
            return Fault(kill, step=windows[(len(windows) - 1 - turn) % len(windows)])
        return Fault(kill, step=int(rng.integers(1, len(self._steps) + 1)))

    def trial(self, rng: np.random.Generator) -> Trial:
        """Hurt the command once and look at what is left."""
        fault = self.fault(rng)
        place = self.new_place()
        return self.judged(place, str(fault), run(self.words, place, fault))

    def new_place(self) -> Path:
        """Copy what trials start from into a folder of their own."""
        self.trials += 1
        return self._copy(f"{self.name.replace(' ', '-')}-{self.trials}")

    def judged(self, place: Path, fault: str, ended: Ended, allowed: frozenset[int] = frozenset()) -> Trial:
        """Look at what a hurt command left, and run it again."""
        found: list[tuple[str, str]] = []
        if ended.code not in {0, *_STOPPED, *allowed} or "Traceback" in ended.text:
            found.append(("other", f"ended with {ended.code}: {ended.text[:600]} … {ended.text[-600:]}"))
        for check in (self.problems, self.problems_again):
            try:
                found += apart(check, place, ended)
            except RuntimeError as error:
                found.append(("half", f"{check.__name__}: {str(error)[-900:]}"))
        if not found:
            self._remove(place)
        return Trial(self.name, fault, tuple(found))

    def _copy(self, name: str) -> Path:
        place = self.home / name
        shutil.copytree(self.home / "start", place, symlinks=True)
        return place

    def _remove(self, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        for entry in self.home.glob(f"{place.name}.*"):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def left_over(folder: Path, expected: set[str]) -> list[tuple[str, str]]:
    """Name what is in a folder beyond what belongs there, and what killed commands left among temporary files."""
    there = {entry.name for entry in folder.iterdir()}
    return [("other", f"left over in {folder}: {sorted(there - expected)}")] if there - expected else []


def left_in_scratch(place: Path) -> list[tuple[str, str]]:
    """Name temporary folders of geodp that nobody removed."""
    scratch = place.with_suffix(".tmp")
    names = sorted(entry.name for entry in scratch.glob("*geodp*")) if scratch.is_dir() else []
    return [("other", f"left over among temporary files: {names}")] if names else []
