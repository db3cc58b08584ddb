"""Random private files: people with ordinary rows, and one person whose rows, times and name are as odd as they get."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

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
            name: pa.array([_typed(name, row[name]) for row in self.rows], _parquet_type(name)) for name in self.columns
        }
        pq.write_table(pa.table(columns), path)


def _parquet_type(name: str) -> object:
    import pyarrow as pa

    return pa.float64() if name in ("lon", "lat", "time_s") else pa.string()


def _typed(name: str, text: str) -> str | float | None:
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
