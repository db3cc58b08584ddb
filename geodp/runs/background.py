"""What an attack is shown of a run: what was released, and of the truth what it declares to know, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.attacks import SeenOffers, SeenTrips
from geodp.attacks.traces import Traces
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.release import Cells, Points

if TYPE_CHECKING:
    from geodp.attacks import Attack
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun
    from geodp.tables.trajectories.table import Trajectories

Names = Any


@dataclass(frozen=True)
class Truth:
    """Where a sample of people truly was at each release of a run: [person, release], people in order of names."""

    run: RunFolder
    crowd: int | None = None
    """So many people at most: those of the first pseudonyms, which are random (None: all)."""

    @cached_property
    def _table(self) -> tuple[Names, Array, Array]:
        if not self.run.has("truth/reports.parquet"):
            raise UsageError(
                f"{self.run.path}: where people truly were at each release was not kept, so this attack cannot be "
                "scored. Runs keep it that have `attacks` in their scenario, or are small."
            )
        frame = self.run.positions
        if self.crowd is not None:
            frame = frame[frame["who"].isin(np.sort(frame["who"].unique())[: self.crowd])]
        frame = frame.sort_values(["who", "release"], kind="stable")
        who = frame["who"].to_numpy(dtype=np.str_)
        names, counts = np.unique(who, return_counts=True)
        releases = len(self.run.releases)
        whole = np.isin(who, names[counts == releases])
        shape = (-1, releases)
        x, y = (frame[column].to_numpy(dtype=np.float64)[whole].reshape(shape) for column in ("x_m", "y_m"))
        return names[counts == releases], x, y

    @property
    def names(self) -> Names:
        """Pseudonyms of the people."""
        return self._table[0]

    @property
    def x_m(self) -> Array:
        """Metres, [person, release]."""
        return self._table[1]

    @property
    def y_m(self) -> Array:
        """As `x_m`."""
        return self._table[2]

    @cached_property
    def times(self) -> Array:
        """Moments of the releases."""
        return np.array([release.time_s for release in self.run.releases])

    def traces(self, people: Names, releases: Names, *, numbered: int = 0) -> Traces:
        """Return the true traces of some people (by number) at some releases; those are numbered from `numbered` on."""
        who = np.repeat(self.names[people], len(releases))
        moment = np.tile(np.arange(len(releases)), len(people))
        return Traces.of(
            who,
            np.tile(self.times[releases], len(people)),
            self.x_m[np.ix_(people, releases)].ravel(),
            self.y_m[np.ix_(people, releases)].ravel(),
            release=moment + numbered,
        )


_ASKED = ("most_recipients", "expected_workers")


def see_offers(run: RunFolder) -> SeenOffers | None:
    """Return the server's view of tasks (None: no task was offered)."""
    if not run.has("server_view.parquet"):
        return None
    offers = run.offers_made.sort_values(["task", "round"], kind="stable")
    winners = offers.groupby("task")["winners"].agg(_join_names)
    last = offers.drop_duplicates("task", keep="last").set_index("task")
    if last.empty:
        return None
    columns = ("time_s", "x_m", "y_m", "radius_m", "reward")
    most, expected = (last[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in _ASKED)
    share = np.minimum(most / np.maximum(expected, 1.0), 1.0)
    return SeenOffers(
        asked_share=np.where(np.isfinite(share), share, 1.0),
        task=last.index.to_numpy(dtype=np.int64),
        success=last["planned_success"].to_numpy(dtype=np.float64),
        winners=[tuple(winners[task]) for task in last.index],
        **{name: last[name].to_numpy(dtype=np.float64) for name in columns},
    )


def _join_names(rounds: Any) -> tuple[str, ...]:
    return tuple(str(name) for some in rounds for name in some)


def owners_of_names(run: RunFolder, names: Names) -> Names:
    """Return under which name each person is known beyond one task (truth), where names are new for every task."""
    if not run.scenario.protocol.new_names:
        return names
    from geodp.simulation.answers import names_for_task, pseudonyms
    from geodp.streams import Streams

    taken, streams = run.tasks[run.tasks["worker"] >= 0], Streams(run.scenario.seed)
    workers = taken["worker"].to_numpy(dtype=np.int64)
    lasting = pseudonyms(streams, workers)
    of = {}
    for task, worker, name in zip(taken.index, workers, lasting, strict=True):
        of[str(names_for_task(streams, np.array([worker]), int(task))[0])] = str(name)
    return np.array([of.get(str(name), "") for name in names], dtype=np.str_)


def public_laws(run: RunFolder) -> dict[str, Any]:
    """Return the public laws that an adversary may use."""
    assumed, curator = run.scenario.server.assumed_acceptance, run.scenario.curator
    rule = None if curator is None else getattr(curator.mechanism, "rule", None)
    if assumed is None:
        assumed = run.scenario.workers.acceptance
    refusal = run.scenario.protocol.refusal
    muted = assumed if refusal is None else assumed.mute(refusal.mute)
    found = {"acceptance": assumed, "answers": muted, "rule": rule, "protocol": run.scenario.protocol.limits}
    return {name: law for name, law in found.items() if law is not None}


def traces_of_trips(trips: Trajectories, *, by: str = "trajectory") -> Traces:
    """Return trips as traces, each under a name of its own, or all of a person's under hers."""
    owner = trips.owner
    if by == "trajectory":
        names = np.array([f"trip {number:06d}" for number in range(trips.size)], dtype=np.str_)
        return Traces.of(names[owner], trips.time_s, trips.x_m, trips.y_m)
    people = np.asarray(trips.people, dtype=np.str_)
    return Traces.of(people[trips.person[owner]], trips.time_s, trips.x_m, trips.y_m)


def see_trips(item: PublishedRun) -> SeenTrips:
    """Return a published set of trips as anybody may have it."""
    return SeenTrips(item.kind, traces_of_trips(item.read_trips()))


def available(run: RunFolder) -> frozenset[str]:
    """Return what kinds of releases a run has, as attacks name them."""
    found = set()
    for release in run.releases:
        if isinstance(release, Cells):
            found |= {"cells", "contours"}
        elif isinstance(release, Points):
            found.add("points")
    for item in run.publications:
        found |= set(item.topics)
    if see_offers(run) is not None:
        found.add("offers")
    return frozenset(found)


def require_readable(attack: Attack, run: RunFolder) -> None:
    """Refuse an attack that reads what a run does not have."""
    there = available(run)
    if not attack.reads & there:
        raise UsageError(
            f"{attack.kind} reads {', '.join(sorted(attack.reads))}, and {run.path} has "
            f"{', '.join(sorted(there)) or 'released nothing'}."
        )
