"""Public days and periods: which days are asked for, when each begins, and into how many periods it falls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError

Integers = npt.NDArray[np.int64]
DAY_BEGINS_H = 4
"""Days begin at 4 in the morning, when fewest people are on the way: moves across that hour count nowhere."""
MOST_DAYS = 3660
_UNITS = {"min": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True)
class Days:
    """Consecutive days of one clock; each begins at a public hour and has 23, 24 or 25 hours.

    Parameters
    ----------
    first, last
        First and last day.
    timezone
        The clock, e.g. `Europe/Lisbon`.
    every_s, od_every_s
        Length of the periods of footfall and of flows, seconds.
    begins_h
        Hour at which a day begins.
    """

    first: date
    last: date
    timezone: str = "UTC"
    every_s: int = 3600
    od_every_s: int = 86_400
    begins_h: int = DAY_BEGINS_H

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise UsageError(f"--to {self.last} lies before --from {self.first}.")
        if self.count > MOST_DAYS:
            raise UsageError(f"--from {self.first} --to {self.last}: {self.count:,} days; at most {MOST_DAYS:,}.")

    @property
    def count(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1

    @property
    def dates(self) -> list[date]:
        """The days."""
        return [self.first + timedelta(days=day) for day in range(self.count)]

    @cached_property
    def edges_s(self) -> Integers:
        """When each day begins, and the last one ends: seconds since 1970 (UTC)."""
        zone = find_zone(self.timezone)
        moments = [
            datetime.combine(self.first + timedelta(days=day), time(self.begins_h), zone).astimezone(UTC).timestamp()
            for day in range(self.count + 1)
        ]
        return np.array(moments, dtype=np.int64)

    @property
    def lengths_s(self) -> Integers:
        """How long each day is, seconds."""
        return np.diff(self.edges_s)

    @property
    def slots(self) -> Integers:
        """Periods of footfall of each day."""
        return -(-self.lengths_s // self.every_s)

    @property
    def most_slots(self) -> int:
        """Periods of footfall of the longest day."""
        return int(self.slots.max())

    @property
    def od_slots(self) -> Integers:
        """Periods of flows of each day: one where they are days, however long."""
        return (
            np.ones(self.count, dtype=np.int64) if self.od_every_s >= 86_400 else -(-self.lengths_s // self.od_every_s)
        )

    @property
    def most_od_slots(self) -> int:
        """Periods of flows of the longest day."""
        return int(self.od_slots.max())

    def slot_starts(self, day: int) -> list[datetime]:
        """Return when the periods of footfall of a day begin, by its clock."""
        begin = int(self.edges_s[day])
        return [self.moment(begin + slot * self.every_s) for slot in range(int(self.slots[day]))]

    def moment(self, seconds: float) -> datetime:
        """Return a moment by the clock of these days."""
        return datetime.fromtimestamp(seconds, find_zone(self.timezone))


def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"--timezone {name}: no such time zone. Write one such as Europe/Lisbon, or UTC.") from None


def parse_day(option: str, text: str) -> date:
    """Read a day such as 2024-03-01."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text}: write a day as 2024-03-01.") from None


def parse_period(option: str, text: str) -> int:
    """Read a length such as 15min, 1h or 1d, in seconds; a day must hold a whole number of them."""
    found = re.fullmatch(r"(\d+)\s*(min|h|d)", text.strip())
    if found is None:
        raise UsageError(f"{option} {text}: write a length such as 15min, 1h or 1d.")
    seconds = int(found[1]) * _UNITS[found[2]]
    if not 300 <= seconds <= 86_400 or 86_400 % seconds:
        raise UsageError(f"{option} {text}: a day must hold a whole number of them, of 5 minutes at least.")
    return seconds
