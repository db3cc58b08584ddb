"""What is asked of a publication, checked before any file of data is opened, and the public inputs it names.

Public inputs are what a publication may know without paying. They are given; reading one off the data is a leak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.display.map import require_page
from geodp.errors import DataError, OutputError, UsageError
from geodp.geometry import Region, region_from_file, region_problems
from geodp.model import did_you_mean
from geodp.public.guarantee import Guarantee, Unit
from geodp.publish.outputs import require_suffix
from geodp.storage.files import is_regular, same_content
from geodp.storage.published_file import guarantee_path, require_as_published
from geodp.tables.visits.histories import Venues

NOTHING_DONE = "Nothing was released, nothing was charged."
DEFAULT_LEDGER = "geodp-ledger.json"


@contextmanager
def nothing_done() -> Iterator[None]:
    """Add to an error about the request or the data that nothing was released and nothing charged."""
    try:
        yield
    except (DataError, OutputError, UsageError) as error:
        text = str(error)
        if "Nothing was released" not in text:
            error.args = (f"{text if text.endswith(('.', '?')) else text + '.'} {NOTHING_DONE}",)
        raise


@dataclass(frozen=True)
class Request:
    """What every kind of publication is asked; kinds add options of their own."""

    source: Path
    """The private data: csv, Parquet, GeoPackage, or GeoJSON where nothing is released."""
    out: Path
    """The file to publish; its suffix tells the format."""
    epsilon: float | None = None
    mode: str = "simulate"
    """`simulate` (stamped not releasable) or `release`."""
    seed: int | None = None
    """Seed of simulated noise; a release takes none."""
    region: str | None = None
    """`W,S,E,N` in degrees, or a file of polygons."""
    cap: int | None = None
    """Public cap on the rows of one user; what is beyond it is not used."""
    ledger: Path | None = None
    """Ledger of everyone in the data, shared by all publications about them; a release needs one. Default: that of the
    folder of the data."""
    budget: float | None = None
    """Budget of the account that is charged, in a ledger that has none for it."""
    map: Path | None = None
    force: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the mechanism."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What columns are called in the private data, where that differs from the usual name."""
    also_read: Mapping[str, Path] = field(default_factory=dict)
    """Public files that are read, by what they are: they must not be written over, nor be the private data."""
    one_row_per_person: bool = False
    """Every row is a person of its own; otherwise the data must say whose a row is."""

    @property
    def releasing(self) -> bool:
        """Whether the output is meant to leave the house."""
        return self.mode == "release"

    @property
    def guarantee_path(self) -> Path:
        """Where the guarantee is written."""
        return guarantee_path(self.out)

    @property
    def ledger_path(self) -> Path:
        """Where charges are written. It belongs to the data: in the folder of a file, beside data that are a folder."""
        return self.ledger if self.ledger is not None else self.source.resolve().parent / DEFAULT_LEDGER

    @property
    def old_ledger(self) -> str:
        """Say what became of a ledger beside the output, where version 0.1 looked for it (empty: there is none)."""
        old = self.out.with_name(self.out.name + ".ledger.json")
        if self.ledger is not None or not old.exists():
            return ""
        return (
            f"{old} is not asked any more: the ledger belongs to the data, by default {self.ledger_path}. "
            f"To go on with the old one, run `geodp publish adopt-ledger {old}` once and give --ledger {old}."
        )

    @nothing_done()
    def check(self) -> None:
        """Refuse what makes no sense or would overwrite something."""
        require_suffix(self.out)
        if self.releasing and self.ledger is None:
            raise UsageError(
                "--mode release needs --ledger FILE: the ledger of everyone in the data, which all publications about "
                f"them share. {self.old_ledger}".rstrip()
            )
        require_positive("--epsilon", self.epsilon)
        require_positive("--budget", self.budget)
        if self.cap is not None and self.cap < 1:
            raise UsageError(f"--cap must be a whole number of at least 1, got {self.cap}.")
        self._require_distinct_files()
        self._require_public_files()
        if self.map is not None:
            require_page(self.map)
        written = [self.out, self.guarantee_path, *([self.map] if self.map is not None else [])]
        for path in written:
            if path.is_dir():
                raise OutputError(f"{path} is a folder: name a file.")
            if path.exists() and not self.force:
                raise OutputError(f"{path} exists already. Use --force to replace it, or another --out.")
        for path in [*self.public_files().values(), *([] if self.releasing else [self.source])]:
            require_as_published(path)

    def public_files(self) -> dict[str, Path]:
        """Return the files of public inputs, by what they are."""
        found = dict(self.also_read)
        if self.region is not None and is_regular(Path(self.region)):
            found["the region"] = Path(self.region)
        if isinstance(self.settings.get("prior_file"), str):
            found["the prior"] = Path(self.settings["prior_file"])
        return found

    def _require_public_files(self) -> None:
        """Refuse a public input that is the private data: what is public is used as it is, without a charge."""
        private = [self.source]
        if self.source.is_dir():
            private = [path for path in self.source.rglob("*") if path.is_file()]
        for what, path in self.public_files().items():
            if any(same_content(path, each) for each in private):
                raise UsageError(f"{path}: {what} must be public, and this is the private data (or a copy of them).")

    def _require_distinct_files(self) -> None:
        """Refuse to write over what is read, or two things into one file."""
        read = {"the input": self.source, **self.public_files()}
        written = {"the output": self.out, "the guarantee": self.guarantee_path, "the ledger": self.ledger_path}
        if self.map is not None:
            written["the map"] = self.map
        seen = {path.resolve(): what for what, path in read.items()}
        for what, path in written.items():
            other = seen.setdefault(path.resolve(), what)
            if other != what:
                raise UsageError(f"{path} cannot be both {other} and {what}.")
            if self.source.is_dir() and self.source.resolve() in path.resolve().parents:
                # It would replace private data, or be read as such next time.
                raise UsageError(f"{path}: {what} must not lie in {self.source}, the folder of the input.")


@nothing_done()
def parse_columns(texts: Sequence[str] | None, parts: Sequence[str], option: str = "--column") -> dict[str, str]:
    """Read `PART=COLUMN` of an option."""
    named: dict[str, str] = {}
    for text in texts or ():
        part, mark, column = text.partition("=")
        if not mark or not column or part not in parts:
            raise UsageError(
                f"{option} {text}: write PART=COLUMN with PART one of {', '.join(parts)}.{did_you_mean(part, parts)}"
            )
        if part in named:
            raise UsageError(f"{option} {text}: {part} is named twice.")
        same = next((other for other, name in named.items() if name == column), None)
        if same is not None and {part, same} != {"user", "trajectory"}:  # people with one trip each have one name
            raise UsageError(f"{option} {text}: the column is {same} already.")
        named[part] = column
    return named


@nothing_done()
def require_positive(option: str, value: float | None) -> None:
    """Refuse anything but a finite number greater than 0 (or nothing)."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} must be a finite number greater than 0, got {value:g}.")


T = TypeVar("T")
_NOBODY_SOUTH_OF = -60.0


@dataclass
class PublicInputs:
    """The public inputs of one publication, and which of them were read off the private data after all."""

    releasing: bool
    values: dict[str, Any] = field(default_factory=dict)
    """Plain values, for the guarantee file."""
    derived: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def settle(self, name: str, option: str, given: T | None, derive: Callable[[], T]) -> T:
        """Return what was given; otherwise derive it with a warning when simulating, and refuse when releasing."""
        if given is None and self.releasing:
            raise UsageError(
                f"{name}: must be public and given in release mode: use {option}. Reading it off the private data "
                f"would disclose something about them."
            )
        value = derive() if given is None else given
        if given is None:
            self.derived.append(name)
            self.warnings.append(
                f"{name}: read off the private data ({_format_value(value)}), so no privacy guarantee holds. "
                f"A release needs {option}."
            )
        self.values[name.replace(" ", "_")] = _plain(value)
        return value

    def region(self, request: Request, derive: Callable[[], Region]) -> Region:
        """Return the public region."""
        given = None if request.region is None else parse_region(request.region)
        region = self.settle("region", "--region W,S,E,N", given, derive)
        require_sound(region)
        if given is not None:
            _require_inhabited(given)
        return region

    def venues_within(self, request: Request, venues: Venues) -> npt.NDArray[np.bool_] | None:
        """Tell which venues of a public list lie in the region that was asked for (None: no region, all are used)."""
        if request.region is None:
            return None
        if not venues.placed:
            raise UsageError("--region: chooses among venues by place: give --venues with columns lon and lat.")
        region = parse_region(request.region)
        require_sound(region)
        self.values["region"] = _plain(region)
        inside = region.contains(*region.projection.to_m(lon=venues.lon, lat=venues.lat))
        if not inside.any():
            raise UsageError(f"--region {request.region}: no venue of the public list lies inside.")
        return inside

    def honest(self, guarantee: Guarantee) -> Guarantee:
        """Return a promise that does not hold where public inputs were derived."""
        if not self.derived or guarantee.unit is Unit.NOTHING:
            return guarantee
        why = f"read off the private data: {', '.join(self.derived)}"
        return replace(guarantee, holds=False, why_not="; ".join(filter(None, [guarantee.why_not, why])))


def parse_region(text: str) -> Region:
    """Read `W,S,E,N` in degrees, or the path of a file of polygons."""
    parts = text.split(",")
    if len(parts) != 4 and is_regular(Path(text)):
        return region_from_file(Path(text))
    try:
        west, south, east, north = (_finite(part) for part in parts)
    except ValueError:
        raise UsageError(
            f"--region {text}: write west,south,east,north in degrees, for example -74.05,40.68,-73.90,40.83, or name "
            "a file of polygons."
        ) from None
    return Region(west, south, east, north)


def require_sound(region: Region) -> None:
    """Refuse a box that is empty, inside out or off the globe."""
    problems = region_problems(region.west, region.south, region.east, region.north)
    if problems:
        meant = "" if region.polygon is not None else _probably_meant(region)
        raise UsageError(f"region {_format_value(region)}: {'; '.join(problems)}.{meant}")


def _require_inhabited(region: Region) -> None:
    """Refuse a box in Antarctica before anything is charged: a release would be of nobody, and say not a word."""
    if region.polygon is None and region.north < _NOBODY_SOUTH_OF:
        raise UsageError(
            f"region {_format_value(region)}: lies in Antarctica.{_probably_meant(region)} If Antarctica is meant, "
            "name a file of polygons."
        )


_ORDERS = {"south,west,north,east": (1, 0, 3, 2), "west,east,south,north": (0, 2, 1, 3),
           "south,north,west,east": (2, 0, 3, 1), "north,west,south,east": (1, 2, 3, 0),
           "east,south,west,north": (2, 1, 0, 3), "west,north,east,south": (0, 3, 2, 1)}  # fmt: skip
"""Other orders in which people write a box, and where west, south, east and north stand in them."""


def _probably_meant(region: Region) -> str:
    """Say in which other order the four numbers would be a box; of several, the one where most people live."""
    given = (region.west, region.south, region.east, region.north)
    boxes = {order: [given[place] for place in places] for order, places in _ORDERS.items()}
    sound = {order: edges for order, edges in boxes.items() if not region_problems(*edges)}
    if not sound:
        return " The order is west,south,east,north."
    order, edges = min(sound.items(), key=lambda item: max(abs(item[1][1]), abs(item[1][3])))
    written = ",".join(f"{edge:g}" for edge in edges)
    return f" The order is west,south,east,north; this looks like {order}: did you mean {written}?"


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Region):
        box = [value.west, value.south, value.east, value.north]
        return box if value.polygon is None else {"box": box, "polygon": value.polygon.wkt}
    return value


def _format_value(value: Any) -> str:
    if isinstance(value, Region):
        return ",".join(f"{edge:.6g}" for edge in (value.west, value.south, value.east, value.north))
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
