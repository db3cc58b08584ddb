"""Publications under faults: no output without its guarantee and its charge, no charge forgotten, none twice."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.process import Ended, run
from tests.faults.subject import Subject, left_in_scratch, left_over

TOWN = "--region=-8.70,41.10,-8.55,41.20"
KINDS = {
    "counts": ["data/visits.csv", "--venues", "data/venues.csv", "--cap", "5"],
    "visits": ["data/visits.csv", "--venues", "data/venues.csv", "--cap", "5"],
    "trajectories": ["data/trajectories.csv", TOWN, "--cap", "5"],
    "positions": ["data/trajectories.csv", TOWN, "--cap", "5"],
}


@dataclass
class Publish(Subject):
    """`geodp publish KIND --force` over an older output, with a ledger that holds its charge."""

    kind: str = "counts"
    _old: str = ""
    _charged: list[str] = field(default_factory=list)
    _new: str = ""

    def __post_init__(self) -> None:
        self.name = f"publish {self.kind}"

    @property
    def words(self) -> list[str]:
        """The command."""
        return self._words(2)

    def _words(self, seed: int) -> list[str]:
        common = ["--epsilon", "1", "--ledger", "ledger.json", "--out", "out/table.csv", "--seed", str(seed)]
        return ["publish", self.kind, *KINDS[self.kind], *common, "--force"]

    def make_start(self, place: Path) -> None:
        """Made-up data and an older output."""
        visits = ["--people", "30", "--visits", "8", "--venues", "40"]
        trips = ["--people", "10", "--trips", "20", "--points", "6"]
        for made, name in ((visits, "a"), (trips, "b")):
            _require(run(["datasets", "make", "--out", name, "--as", "csv", *made], place))
        (place / "data").mkdir()
        for path in [*place.glob("a/*"), *place.glob("b/*")]:
            path.rename(place / "data" / path.name)
        (place / "a").rmdir()
        (place / "b").rmdir()
        _require(run(self._words(1), place))
        self._old = (place / "out" / "table.csv").read_text()
        self._charged = charges(place)

    def learn(self, calm: Path) -> None:
        """Take note of the new output."""
        self._new = (calm / "out" / "table.csv").read_text()

    def problems(self, place: Path, ended: Ended) -> list[tuple[str, str]]:
        """What is published is the old output or the new one, with its own guarantee and its own charge."""
        from geodp.publish.staging import put_right
        from geodp.storage.published_file import belong_together

        out, guarantee = place / "out" / "table.csv", place / "out" / "table.csv.guarantee.json"
        put_right(out, guarantee)  # as the next command on this output does first
        rows = charges(place)
        if rows[: len(self._charged)] != self._charged:
            return [("lost", "charges of earlier releases are gone from the ledger")]
        if not out.exists():
            return [("lost", "the older output is gone, and the new one is not there")]
        if not belong_together(out, guarantee):
            return [("half", "the output stands without a guarantee of its own")]
        found = []
        text = out.read_text()
        if text not in {self._old, self._new}:
            found.append(("half", "the output is neither the older one nor the new one"))
        if text == self._new and len(rows) == len(self._charged):
            found.append(("lost", "an output that was never charged"))
        if ended.code == 0 and text != self._new:
            found.append(("lost", "exit code 0, but the output is the older one"))
        if len(rows) > len(self._charged) + 1:
            found.append(("duplicated", f"{len(rows) - len(self._charged)} charges of one command"))
        return found

    def problems_again(self, place: Path, before: Ended) -> list[tuple[str, str]]:
        """The same command publishes and charges once more; nothing is left beside the output and the ledger."""
        rows = len(charges(place))
        ended = run(self.words, place)
        found = [] if ended.code == 0 else [("other", f"again: {ended.code}: {ended.text[-600:]}")]
        found += self.problems(place, ended) if rows == len(self._charged) else []
        if len(charges(place)) != rows + 1:
            found.append(("duplicated", f"again: {len(charges(place)) - rows} charges of one command"))
        found += left_over(place / "out", {"table.csv", "table.csv.guarantee.json"}) + left_in_scratch(place)
        return found + left_over(place, {"data", "out", "ledger.json", "ledger.json.lock"})


def charges(place: Path) -> list[str]:
    """Return the charges of a ledger that reads whole: one per release, whatever its parts."""
    from geodp.privacy.ledger_file import LedgerFile

    LedgerFile(place / "ledger.json").read()
    rows = json.loads((place / "ledger.json").read_text())["charges"]
    return list(dict.fromkeys(str(row["time_s"]) for row in rows))


def _require(ended: Ended) -> None:
    if ended.code != 0:
        raise RuntimeError(ended.text)
