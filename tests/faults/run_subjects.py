"""Runs under faults: the folder under the name is the old run or the new one, complete, and never a mixture."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.process import Ended, run
from tests.faults.subject import Subject, left_in_scratch, left_over
from tests.small import small_file
from tests.sweeps.small_sweep import QUICK

OLD, NEW = 1, 2


@dataclass
class Run(Subject):
    """`geodp run` into a name that is free."""

    _known: dict[int, str] = field(default_factory=dict)
    """Seed → the numbers of its run."""
    name = "run"

    @property
    def words(self) -> list[str]:
        """The command."""
        return ["run", "small.yaml", "--seed", str(NEW), "--out", "out/run"]

    def make_start(self, place: Path) -> None:
        """A scenario."""
        small_file(place, self.changes())
        (place / "out").mkdir()

    def changes(self) -> dict[str, object]:
        """What differs from the small scenario."""
        return dict(QUICK)

    def learn(self, calm: Path) -> None:
        """Take note of the numbers."""
        self._known[NEW] = (calm / "out" / "run" / "metrics.json").read_text()

    def problems(self, place: Path, ended: Ended) -> list[tuple[str, str]]:
        """A run that is there is complete; when the command said that it is done, it is the new one."""
        seed = seed_of_whole_run(place / "out" / "run", self._known)
        if seed is None and OLD in self._known:
            return [("lost", "the old run is gone, and the new one is not there")]
        if ended.code == 0 and seed != NEW:
            return [("lost", f"exit code 0, but the run there is of seed {seed}")]
        return []

    def problems_again(self, place: Path, before: Ended) -> list[tuple[str, str]]:
        """The same command makes the run, or says that it is there; nothing is left beside it."""
        ended = run(self.words, place)
        done = ended.code == 0 or ("--force" not in self.words and "exists already" in ended.text and before.code != 1)
        found = [] if done else [("other", f"again: {ended.code}: {ended.text[-600:]}")]
        if seed_of_whole_run(place / "out" / "run", self._known) != NEW:
            found.append(("lost", "again: the run there is not the new one"))
        return found + left_over(place / "out", {"run"}) + left_in_scratch(place)


@dataclass
class RunForce(Run):
    """`geodp run --force` over an older run."""

    name = "run --force"

    @property
    def words(self) -> list[str]:
        """The command."""
        return [*super().words, "--force"]

    def make_start(self, place: Path) -> None:
        """A scenario and an older run."""
        super().make_start(place)
        ended = run(["run", "small.yaml", "--seed", str(OLD), "--out", "out/run"], place)
        if ended.code != 0:
            raise RuntimeError(ended.text)
        self._known[OLD] = (place / "out" / "run" / "metrics.json").read_text()


@dataclass
class RunArms(RunForce):
    """`geodp run --force` of a comparison with two arms."""

    name = "run with arms"

    def changes(self) -> dict[str, object]:
        """Two arms."""
        return {**QUICK, "compare": {"exact": {"curator.mechanism": {"kind": "no_privacy"}}, "contour": {}}}


def seed_of_whole_run(path: Path, known: dict[int, str]) -> int | None:
    """Return the seed of a run (None: there is none), after looking at all its files; an error when it is not whole."""
    from geodp.errors import DataError
    from geodp.run_folder.folder import RunFolder
    from geodp.storage.manifest import is_sealed, require_all_intact

    try:
        folder = RunFolder(path)
    except DataError:
        if path.exists():
            raise
        return None
    seeds = {int(folder.manifest["seed"])}
    for part in (folder, *folder.arms.values()):
        if not is_sealed(part.manifest):
            raise ValueError(f"{part.path} was not finished")
        require_all_intact(part.path, part.manifest)
        seeds |= {int(part.manifest["seed"]), part.scenario.seed}
    if len(seeds) != 1:
        raise ValueError(f"{path}: files of the seeds {seeds} are mixed")
    (seed,) = seeds
    if seed in known and (path / "metrics.json").read_text() != known[seed]:
        raise ValueError(f"{path}: the numbers are not those of seed {seed}")
    return seed
