"""Random private files, and neighbours of them: what one person, or one row of theirs, may change.

People have ordinary rows, and one person has rows, times and a name that are as odd as they get.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from geodp.geometry import Array

Row = dict[str, str]
REGION = (10.0, 50.0, 10.06, 50.04)
"""The public region: west, south, east, north."""
VENUES = 8
ODD_NAMES = (
    *("0", "007", "7", "-0", "1.0", "1e3", "nan", "NaN", "null", "None", "true", "2020-01-01", "!first", "~last"),
    *(" u1", "u 1", "é", "a,b", 'q"q', "line\nbreak", "=1+1", "x" * 300, "p1 ", "P1"),
)
"""Names that sort first or last, or that a reader might take for a number, a date or nothing."""
_ODD_NUMBERS = ("", "abc", "nan", "inf", "-inf", "1e400", "1e18", "-1e18", "95", "-91", "200", "0", "2020-01-01", "1;2")
_ODD_TIMES = (*_ODD_NUMBERS, "9e15", "-5", "99999999999999999999", "12:00")
_ODD_VENUES = ("", "nowhere", "v00", "V1", " v1", "1", "nan", "v1\nv2", "v1,v2")
_NAMES: tuple[Callable[[int], str], ...] = (
    lambda number: f"p{number}",
    str,
    lambda number: f"{number:04d}",
    lambda number: f"{number}.5",
)
"""How ordinary people are called: words, whole numbers, numbers with zeros in front, decimals."""


@dataclass(frozen=True)
class PrivateFile:
    """A private table as text; `typed` columns are numbers in Parquet."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def with_rows(self, rows: list[Row]) -> PrivateFile:
        """Return the file with other rows."""
        return replace(self, rows=tuple(rows))

    def write(self, path: Path) -> None:
        """Write csv, or Parquet where the suffix says so (all cells as text: the schema is public, and fixed)."""
        if path.suffix == ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, self.columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {
            name: pa.array([_convert_cell(name, row[name]) for row in self.rows], _parquet_type(name))
            for name in self.columns
        }
        pq.write_table(pa.table(columns), path)


def _parquet_type(name: str) -> object:
    import pyarrow as pa

    return pa.float64() if name in ("lon", "lat", "time_s") else pa.string()


def _convert_cell(name: str, text: str) -> str | float | None:
    """Return a cell of a Parquet column; what is no number is null there."""
    if name not in ("lon", "lat", "time_s"):
        return text
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class FileKind:
    """What the rows of a kind of private data look like."""

    columns: tuple[str, ...]
    odd: dict[str, tuple[str, ...]]
    """Cells that cannot be used, or hardly, by column."""

    def ordinary(self, rng: np.random.Generator, name: str, count: int) -> list[Row]:
        """Return rows of one person that can be used."""
        west, south, east, north = REGION
        rows = []
        begin = float(rng.uniform(0, 80_000))
        at = rng.uniform((west, south), (east, north))
        for number in range(count):
            place = np.clip(at + rng.normal(0, 0.004, 2), (west + 1e-4, south + 1e-4), (east - 1e-4, north - 1e-4))
            rows.append(
                {
                    "user": name,
                    "venue": f"v{rng.integers(VENUES)}",
                    "trajectory": f"t{number // 4}",
                    "time_s": f"{begin + 3600 * (number // 4) + 60 * number:.0f}",
                    "lon": f"{place[0]:.6f}",
                    "lat": f"{place[1]:.6f}",
                    "note": str(rng.choice(["", "1", "ok"])),
                }
            )
        return [{column: row[column] for column in self.columns} for row in rows]

    def oddities(self, rng: np.random.Generator, rows: list[Row]) -> list[Row]:
        """Return the same person's rows with odd cells, rows twice, and rows far outside."""
        changed: list[Row] = []
        for row in rows:
            mine = dict(row)
            for column, cells in self.odd.items():
                if rng.random() < 0.25:
                    mine[column] = str(rng.choice(np.array(cells, dtype=np.object_)))
            if "lon" in mine and rng.random() < 0.2:
                mine["lon"], mine["lat"] = "-70.5", "20.25"  # outside the region
            if "note" in mine and rng.random() < 0.3:
                mine["note"] = str(rng.choice(np.array(ODD_NAMES, dtype=np.object_)))
            changed += [mine] * int(rng.choice([1, 1, 1, 2]))
        return changed


@dataclass(frozen=True)
class PingKind(FileKind):
    """Pings of phones: hours at a few places, on days that begin at four in the morning, UTC."""

    def ordinary(self, rng: np.random.Generator, name: str, count: int) -> list[Row]:
        """Return pings of one person: each step is half an hour somewhere, or on the way."""
        west, south, east, north = REGION
        places = rng.uniform((west + 1e-4, south + 1e-4), (east - 1e-4, north - 1e-4), (3, 2))
        second = FIRST_PING_S + float(rng.uniform(-3 * 3600, 60 * 3600))
        at, rows = 0, []
        for _ in range(count):
            if rng.random() < 0.4:  # else the stay goes on
                at = int(rng.integers(3))
            for ping in range(4):
                row = {"user": name, "time_s": f"{second + 500 * ping:.0f}", "note": str(rng.choice(["", "1", "ok"])),
                       "lon": f"{places[at, 0]:.6f}", "lat": f"{places[at, 1]:.6f}"}  # fmt: skip
                rows.append({column: row[column] for column in self.columns})
            second += float(rng.choice([1800, 2400, 7 * 3600], p=[0.6, 0.3, 0.1]))
        return rows


FIRST_DAY = date(2024, 3, 4)
FIRST_PING_S = 1_709_524_800
"""When that day begins: at four in the morning, UTC."""
PINGS = PingKind(
    ("user", "time_s", "lon", "lat", "note"), {"time_s": _ODD_TIMES, "lon": _ODD_NUMBERS, "lat": _ODD_NUMBERS}
)
VISITS = FileKind(("user", "venue", "time_s", "note"), {"venue": _ODD_VENUES, "time_s": _ODD_TIMES})
POSITIONS = FileKind(("user", "lon", "lat", "note"), {"lon": _ODD_NUMBERS, "lat": _ODD_NUMBERS})
TRIPS = FileKind(
    ("user", "trajectory", "time_s", "lon", "lat", "note"),
    {"time_s": _ODD_TIMES, "lon": _ODD_NUMBERS, "lat": _ODD_NUMBERS, "trajectory": ("", "0", "t0", "nan")},
)


def crowd(kind: FileKind, rng: np.random.Generator, most_rows: int = 9) -> list[Row]:
    """Return the rows of nobody, one, or a few ordinary people, one person after the other or mixed."""
    called = _NAMES[int(rng.integers(len(_NAMES)))]
    people = int(rng.choice([0, 1, 5, 40]))  # the more there are, the more shows what one person does to others
    rows = [
        row
        for number in range(people)
        for row in kind.ordinary(rng, called(number + 1), int(rng.integers(1, most_rows)))
    ]
    return [rows[place] for place in rng.permutation(len(rows))] if rng.random() < 0.3 and kind is not TRIPS else rows


def odd_person(kind: FileKind, rng: np.random.Generator, most_rows: int = 14) -> list[Row]:
    """Return the rows of the one person who comes and goes: ordinary, odd, or nothing but oddities."""
    names = np.array([*ODD_NAMES, "p0", "zz", "pp"], dtype=np.object_)
    rows = kind.ordinary(rng, str(rng.choice(names)), int(rng.integers(1, most_rows)))
    return rows if rng.random() < 0.3 else kind.oddities(rng, rows)


def put_in(rows: list[Row], more: list[Row], rng: np.random.Generator) -> list[Row]:
    """Return the rows with more of them: in front, at the end, or one by one in between, each group in its order."""
    how = rng.integers(3)
    if how < 2:
        return [*more, *rows] if how == 0 else [*rows, *more]
    places = np.sort(rng.integers(0, len(rows) + 1, len(more)))
    found = list(rows)
    for shift, (place, row) in enumerate(zip(places, more, strict=True)):
        found.insert(int(place) + shift, row)
    return found


_SEMI_MAJOR_M, _ECCENTRICITY_2 = 6_378_137.0, 0.00669437999014
_ROUNDING = 1e-4
"""Distances are taken with the radii of the earth in the middle of a pair, which is right to this share."""


_PROTECTED = 0.5


@dataclass(frozen=True)
class NeighbouringFiles:
    """Two files, what differs, and what of the promise covers it."""

    what: str
    one: PrivateFile
    other: PrivateFile
    covered_by: str
    """`person`, `unit` (what the guarantee is about), `day` (of a person), `nothing` (they must not differ at all) or
    `metres`."""
    metres: float = 0.0
    users: tuple[str, ...] = ()
    """Public list of people, where there is one."""


def draw_neighbouring_files(kind: FileKind, changes: Sequence[str], rng: np.random.Generator) -> NeighbouringFiles:
    """Draw a file and a neighbour of it; every other time by the first change, which the promise is about."""
    protected = rng.random() < _PROTECTED
    change = changes[0 if protected else int(rng.integers(len(changes)))]
    rows = crowd(kind, rng)
    person = odd_person(kind, rng)
    taken = {row["user"] for row in rows}
    if person[0]["user"] in taken:
        person = [{**row, "user": "somebody else"} for row in person]
    both, covered, metres = _CHANGES[change](kind, rows, person, rng)
    users = tuple(sorted({row["user"] for side in (*both, person) for row in side if row["user"].isprintable()}))
    one, other = (PrivateFile(kind.columns, tuple(side)) for side in both)
    return NeighbouringFiles(
        what=f"{change} ({len(rows)} other rows)", one=one, other=other, covered_by=covered, metres=metres, users=users
    )


Both = tuple[tuple[list[Row], list[Row]], str, float]


def _nowhere(person: list[Row]) -> Row:
    """Return a row that has the name and nothing that could be used."""
    return {**person[0], "venue": "nowhere at all", "time_s": "0", "note": ""}


def _person(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Add a person with all that is theirs."""
    return (put_in(rows, person, rng), rows), "person", 0.0


def _record(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Empty a record: the name stays, with a row that names no venue of the list."""
    nothing = _nowhere(person)
    return (put_in(rows, [*person, nothing], rng), put_in(rows, [nothing], rng)), "person", 0.0


def _visit(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Add a visit of a person whose name is there anyway."""
    nothing = _nowhere(person)
    whole = put_in(rows, [nothing, *person], rng)
    mine = [place for place, row in enumerate(whole) if row["user"] == nothing["user"] and row is not nothing]
    gone = int(rng.choice(mine))
    return (whole, [row for place, row in enumerate(whole) if place != gone]), "unit", 0.0


def _row(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Add a row: a person of its own."""
    return (put_in(rows, person[:1], rng), rows), "unit", 0.0


def _trip(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Add a trip of somebody who has others or none."""
    more = [{**row, "trajectory": "one more"} for row in person]
    if rows and rng.random() < 0.5:
        who = rows[int(rng.integers(len(rows)))]["user"]
        more = [{**row, "user": who} for row in more]
    return (put_in(rows, more, rng), rows), "unit", 0.0


def _day(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Take a day of somebody away, whatever their other days hold."""
    mine = [*person, *kind.ordinary(rng, person[0]["user"], 12)]
    days = sorted({day for row in mine if (day := _find_day(row)) is not None})
    gone = int(rng.choice(days))
    places = rng.bit_generator.state
    whole = put_in(rows, mine, rng)
    rng.bit_generator.state = places
    name = person[0]["user"]
    return (whole, [row for row in whole if row["user"] != name or _find_day(row) != gone]), "day", 0.0


def _find_day(row: Row) -> int | None:
    """Return the number of a ping's day."""
    try:
        second = float(row["time_s"])
    except ValueError:
        return None
    return int((second - FIRST_PING_S) // 86_400) if abs(second - FIRST_PING_S) < 10 * 86_400 else None


def _unusable_ping(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:  # noqa: ARG001
    """Add pings that cannot be used: nothing at all may differ."""
    no_time = ["-9e15", "9e15", "1e300", "2500-01-01", "abc", "", "nan"]
    bad: list[Row] = [{"lat": "abc"}, {"lon": ""}, {"lon": "inf"}, {"user": ""}, {"lat": "95"}, {"lon": "200"}]
    bad += [{"time_s": time} for time in no_time]
    more = [{**row, **bad[int(rng.integers(len(bad)))]} for row in person]
    return (put_in(rows, more, rng), rows), "nothing", 0.0


def _unusable(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Add rows that cannot be used, of somebody new: nothing at all may differ."""
    bad: Row = {"venue": str(rng.choice(["", "nowhere"]))} if "venue" in kind.columns else {}
    if "lon" in kind.columns:
        bad = [{"lon": "-70.5", "lat": "20.25"}, {"lat": "95"}, {"lon": "abc"}, {"lat": ""}, {"lon": "inf"}][
            int(rng.integers(5))
        ]
    if "time_s" in kind.columns and rng.random() < 0.5:  # nor may their times move anybody else's
        bad = {**bad, "time_s": str(rng.choice(["-9e15", "9e15", "1e300", "2500-01-01"]))}
    more = [{**row, **bad} for row in person]
    if "venue" in kind.columns:  # where names are published, the name alone is told: it is on both sides
        named = _nowhere(person)
        return (put_in(rows, [*more, named], rng), put_in(rows, [named], rng)), "nothing", 0.0
    return (put_in(rows, more, rng), rows), "nothing", 0.0


def _order(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Give the same rows in another order; everyone's own stay in theirs, which a cap may go by."""
    whole = [*rows, *kind.ordinary(rng, person[0]["user"], 9)]
    turn = [whole[place]["user"] for place in rng.permutation(len(whole))]
    own = {user: iter([row for row in whole if row["user"] == user]) for user in set(turn)}
    return (whole, [next(own[user]) for user in turn]), "nothing", 0.0


def _columns(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Change cells in columns that nobody asked for."""
    mine = kind.ordinary(rng, person[0]["user"], 4)
    notes = np.array([name for name in ODD_NAMES if name.isprintable()], dtype=np.object_)  # one line is one row
    odd = [{**row, "note": str(rng.choice(notes))} for row in mine]
    places = rng.bit_generator.state
    one = put_in(rows, mine, rng)
    rng.bit_generator.state = places  # in the same places
    return (one, put_in(rows, odd, rng)), "nothing", 0.0


def _place(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Move a row elsewhere in the region."""
    west, south, east, north = REGION
    whole = [*rows, *kind.ordinary(rng, person[0]["user"], 2)]
    which = int(rng.integers(len(whole)))
    lon, lat = rng.uniform((west + 1e-3, south + 1e-3), (east - 1e-3, north - 1e-3))
    moved = {**whole[which], "lon": f"{lon:.6f}", "lat": f"{lat:.6f}"}
    apart = ground_m(_lonlat(whole[which]), _lonlat(moved))
    return (whole, [*whole[:which], moved, *whole[which + 1 :]]), "metres", apart


def _instead(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Let a person have made another trip than the one of the other file."""
    who, here = person[0]["user"], int(rng.integers(len(rows) + 1))
    one, other = ([{**row, "trajectory": "only"} for row in kind.ordinary(rng, who, 4)] for _ in range(2))
    return ([*rows[:here], *one, *rows[here:]], [*rows[:here], *other, *rows[here:]]), "unit", 0.0


def _venue(kind: FileKind, rows: list[Row], person: list[Row], rng: np.random.Generator) -> Both:
    """Move a visit to another venue of the list."""
    whole = [*rows, *kind.ordinary(rng, person[0]["user"], 2)]
    which = int(rng.integers(len(whole)))
    places = venue_places()
    now, then = int(whole[which]["venue"][1:]), int(rng.integers(len(places)))
    moved = {**whole[which], "venue": f"v{then}"}
    return (
        (whole, [*whole[:which], moved, *whole[which + 1 :]]),
        "metres",
        ground_m((places[now, 0], places[now, 1]), (places[then, 0], places[then, 1])),
    )


_CHANGES = {
    "person": _person,
    "record": _record,
    "visit": _visit,
    "row": _row,
    "trip": _trip,
    "day": _day,
    "unusable": _unusable,
    "unusable_ping": _unusable_ping,
    "order": _order,
    "columns": _columns,
    "place": _place,
    "instead": _instead,
    "venue": _venue,
}


def _lonlat(row: Row) -> tuple[float, float]:
    return float(row["lon"]), float(row["lat"])


def venue_places() -> Array:
    """Return the places of the public venues: longitude and latitude."""
    west, south, east, north = REGION
    rng = np.random.default_rng(4)
    return np.round(rng.uniform((west + 0.01, south + 0.01), (east - 0.01, north - 0.01), (VENUES, 2)), 6)


def ground_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance of two near places (lon, lat) on the ground, metres, rounded up."""
    middle = math.radians((one[1] + other[1]) / 2)
    rest = 1 - _ECCENTRICITY_2 * math.sin(middle) ** 2
    north = math.radians(other[1] - one[1]) * _SEMI_MAJOR_M * (1 - _ECCENTRICITY_2) / rest**1.5
    east = math.radians(other[0] - one[0]) * _SEMI_MAJOR_M * math.cos(middle) / math.sqrt(rest)
    return math.hypot(north, east) * (1 + _ROUNDING)
