"""Workers who follow trips: real ones, synthetic ones, or those of a source that generates them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.notices import notice
from geodp.tables.positions import FirstRows, look_at_positions
from geodp.tables.reader import call_it, open_table
from geodp.tables.time_columns import DAY_S, day_of, midnight_of, usual_midnight
from geodp.tables.trajectories.cleaning import apply_cuts, without_jumps
from geodp.tables.trajectories.files import read_trajectories
from geodp.tables.trajectories.table import COLUMNS, Integers, Mask, Trajectories
from geodp.world.mobility import Mobility
from geodp.world.motion import Motion, ReplayedMotion, worker_names
from geodp.world.population import Population


class Replay(Mobility):
    """Workers follow trips, from a file of trajectories or from a source that generates them (`street_trips`).

    A file has the columns user, trajectory, time_s, lon, lat (csv, Parquet, GeoPackage, GeoJSON), such as loaders
    write and `geodp publish trajectories` makes. Every worker follows one of its people, drawn so that all are
    followed equally often; where the source put the worker is not used. Between trips a worker stands at the end of
    one and leaves in time for the start of the next. Points outside the region are left out, trips that cannot be are
    not followed; how many is said.
    """

    kind: ClassVar[str] = "replay"
    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: str = ""
    """A file of trajectories (csv, Parquet, GeoParquet, GeoPackage, GeoJSON); '' for the trips of the source."""
    times: Literal["clock", "run", "each"] = "clock"
    """What `time_s` counts from. `clock`: a midnight, so that the run begins at its start time on a day of the file's
    (Unix time is such a clock, in UTC). `run`: the start of the run. `each`: everyone's first trip begins the run."""
    first_day: date | None = None
    """Day on which the run begins (`times: clock`); null: the day by which half of the people have begun."""
    max_speed_mps: float = Field(default=100.0, gt=0)
    """A fix that needs a greater speed (m/s) from the one before is an error and is left out."""
    stagger_s: float = Field(default=900.0, ge=0)
    """Workers who follow the same person set out up to so much later than they did (s), lest they move as one."""
    transfer_mps: float = Field(default=5.0, gt=0)
    """Speed from the end of one trip to the start of the next where time allows (m/s)."""

    def idle_fields(self) -> dict[str, str]:
        """Return the day where no calendar counts, and the delay where everyone has trips of their own."""
        found = {} if self.times == "clock" else {"first_day": f"with times: {self.times}"}
        return found if self.path else found | {"stagger_s": "with the trips of the source: everyone has their own"}

    def look(self, region: Region) -> FirstRows | None:
        """Look at the columns and the first rows."""
        if not self.path:
            return None
        return look_at_positions(open_table(Path(self.path), COLUMNS, name_it=call_it), region)

    def move(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Motion:
        """Return everyone's trips one after the other, cut to the run's time."""
        trips = self._possible(self._align(self._cast(population, region, rng), start_s))
        self._refuse_idle(trips, duration_s)
        motion = self._movement(trips, population).within(duration_s)
        return ReplayedMotion(motion.first, motion.time_s, motion.x_m, motion.y_m, trips)

    def _cast(self, population: Population, region: Region, rng: np.random.Generator) -> Trajectories:
        """Return the trips that every worker follows; people are numbered as the workers are."""
        if not self.path:
            if population.trips is None:
                raise DataError(
                    "workers.mobility: 'replay' needs trips. Name a file of trajectories in path, or use a source that "
                    "has trips (kind: street_trips)."
                )
            own = population.trips
            return Trajectories(
                people=worker_names(population.size),
                first=own.first,
                person=own.person,
                time_s=own.time_s,
                x_m=own.x_m,
                y_m=own.y_m,
                names=own.names,
            )
        found, left = read_trajectories(Path(self.path), region)
        for remark in left.remarks():
            notice(f"replay: {Path(self.path).name}: {remark}")
        role, delay_s = self._roles(population.size, len(found.people), rng)
        by_person = np.argsort(found.person, kind="stable")
        begin = np.searchsorted(found.person[by_person], np.arange(len(found.people) + 1))
        count = np.diff(begin)[role]
        offset = np.append(0, np.cumsum(count))
        nth = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
        played = found.select(by_person[np.repeat(begin[role], count) + nth])
        worker = np.repeat(np.arange(population.size), count)
        time_s = played.time_s + np.repeat(delay_s[worker], played.counts)
        return Trajectories(
            people=worker_names(population.size),
            first=played.first,
            person=worker,
            time_s=time_s,
            x_m=played.x_m,
            y_m=played.y_m,
        )

    def _roles(self, workers: int, people: int, rng: np.random.Generator) -> tuple[Integers, np.ndarray]:
        """Draw whom each worker follows, and how much later."""
        rounds = -(-workers // people)
        role = np.concatenate([rng.permutation(people) for _ in range(rounds)])[:workers]
        again = np.arange(workers) >= people
        return role, np.where(again, rng.uniform(0.0, self.stagger_s, workers), 0.0)

    def _align(self, trips: Trajectories, start_s: float) -> Trajectories:
        """Return the trips with times from the start of the run."""
        if self.times == "run":
            return trips
        if self.times == "clock":
            midnight_s = self._midnight_s(trips)
            return _later(trips, np.full(trips.size, -(midnight_s + start_s)))
        earliest = np.full(len(trips.people), np.inf)
        np.minimum.at(earliest, trips.person, trips.departures_s)
        return _later(trips, -earliest[trips.person])

    def _midnight_s(self, trips: Trajectories) -> float:
        """Return the midnight before the run's start: a single absurd time must not move everyone else's day."""
        if self.first_day is not None:
            return midnight_of(self.first_day)
        if not self.path:
            return float(np.floor(float(trips.time_s.min()) / DAY_S) * DAY_S)
        begins_s = np.full(len(trips.people), np.inf)
        np.minimum.at(begins_s, trips.person, trips.departures_s)
        midnight_s = usual_midnight(begins_s[np.isfinite(begins_s)])
        if trips.time_s.min() < midnight_s:
            notice(
                f"replay: {Path(self.path).name}: the run begins on {day_of(midnight_s)}, by which half of the people "
                "have begun (first_day states another)."
            )
        return midnight_s

    def _possible(self, trips: Trajectories) -> Trajectories:
        """Leave out wrong fixes, and trips that begin before the last one ends or cannot be reached from there."""
        sane = without_jumps(trips.first, trips.time_s, trips.x_m, trips.y_m, self.max_speed_mps)
        if not sane.kept.all() or np.count_nonzero(sane.begins) > trips.size:
            rows, first = apply_cuts(sane.kept, sane.begins)
            person = trips.person[trips.owner[rows[first[:-1]]]]
            trips = Trajectories(
                people=trips.people,
                first=first,
                person=person,
                time_s=trips.time_s[rows],
                x_m=trips.x_m[rows],
                y_m=trips.y_m[rows],
            )
            gone = int(np.count_nonzero(~sane.kept))
            notice(f"replay: {gone:,} fixes need more than {self.max_speed_mps:g} m/s and are left out.")
        ordered = trips.select(np.lexsort((trips.departures_s, trips.person)))
        left_out = 0
        while (clash := self._clashes(ordered)).any():
            # Of a row of clashing trips every other one goes, until none clashes with the one before it.
            place = np.arange(clash.size) - np.maximum.accumulate(np.where(clash, 0, np.arange(clash.size)))
            goes = clash & (place % 2 == 1)
            left_out += int(goes.sum())
            ordered = ordered.select(~goes)
        if left_out:
            notice(
                f"replay: {left_out:,} trips begin before the last one of the same person ends, or too far off: not "
                "followed."
            )
        return ordered

    def _clashes(self, trips: Trajectories) -> Mask:
        """Tell which trips cannot be made after the one before them."""
        same = np.diff(trips.person) == 0
        end, start = trips.first[1:-1] - 1, trips.first[1:-1]
        gap_s = trips.time_s[start] - trips.time_s[end]
        far_m = np.hypot(trips.x_m[start] - trips.x_m[end], trips.y_m[start] - trips.y_m[end])
        return np.append(False, same & ((gap_s < 0) | (far_m > np.maximum(gap_s, 0.0) * self.max_speed_mps)))

    def _refuse_idle(self, trips: Trajectories, duration_s: float) -> None:
        earliest_s, latest_s = float(trips.time_s.min()), float(trips.time_s.max())
        if earliest_s > duration_s or latest_s < 0:
            raise DataError(
                f"workers.mobility: no trip falls in the run's 0 to {duration_s:g} s; they run from {earliest_s:g} to "
                f"{latest_s:g} s.\nSet start_time and duration_s to a busy time of the file's first day, or times: "
                "each to let everyone begin with their first trip."
            )

    def _movement(self, trips: Trajectories, population: Population) -> Motion:
        """Put trips one after the other: a knot per fix, and one where a worker leaves for the next trip."""
        start, follows = trips.first[:-1], np.append(False, np.diff(trips.person) == 0)
        end = start[follows] - 1  # last fix of the trip before
        far_m = np.hypot(trips.x_m[start[follows]] - trips.x_m[end], trips.y_m[start[follows]] - trips.y_m[end])
        leaves_s = np.maximum(trips.time_s[end], trips.time_s[start[follows]] - far_m / self.transfer_mps)
        place = np.insert(np.arange(trips.points), start[follows], end)
        time_s = np.insert(trips.time_s, start[follows], leaves_s)
        worker = np.insert(trips.person[trips.owner], start[follows], trips.person[follows])
        x_m, y_m = trips.x_m[place], trips.y_m[place]
        idle = np.setdiff1d(np.arange(population.size), trips.person)
        order = np.argsort(np.concatenate([worker, idle]), kind="stable")
        worker = np.concatenate([worker, idle])[order]
        first = np.searchsorted(worker, np.arange(population.size + 1))
        return Motion(
            first,
            np.concatenate([time_s, np.zeros(idle.size)])[order],
            np.concatenate([x_m, population.x_m[idle]])[order],
            np.concatenate([y_m, population.y_m[idle]])[order],
        )


def _later(trips: Trajectories, delay_s: np.ndarray) -> Trajectories:
    time_s = trips.time_s + np.repeat(delay_s, trips.counts)
    return Trajectories(
        people=trips.people,
        first=trips.first,
        person=trips.person,
        time_s=time_s,
        x_m=trips.x_m,
        y_m=trips.y_m,
        names=trips.names,
    )
