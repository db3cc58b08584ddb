"""What is asked of a publication, checked before any file of data is opened, and the public inputs it names.

Public inputs are what a publication may know without paying. They are given; reading one off the data is a leak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.display.map import require_page
from geodp.errors import DataError, OutputError, UsageError
from geodp.frames.public_inputs import StatedInputs, plain_value
from geodp.geometry import Region
from geodp.model import did_you_mean
from geodp.privacy.data_days import ConcentratedBudget
from geodp.public.guarantee import Unit
from geodp.publish.outputs import require_suffix
from geodp.storage.files import is_regular, same_content
from geodp.storage.published_file import guarantee_path, require_as_published
from geodp.tables.regions import parse_region, require_inhabited, require_sound
from geodp.tables.visits.histories import Venues

NOTHING_DONE = "Nothing was released, nothing was charged."
DEFAULT_LEDGER = "geodp-ledger.json"


@contextmanager
def explain_nothing_done() -> Iterator[None]:
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
    budget_rho: float | None = None
    """Instead a budget of ρ, for pure and concentrated charges together."""
    budget_delta: float | None = None
    """δ at which the total of such charges is stated, when the budget is an ε."""
    budget_unit: str | None = None
    """What such a budget bounds: `person-day`, `person-week`, or `person` (for ever)."""
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
    def concentrated(self) -> ConcentratedBudget | None:
        """The budget of ρ, or of ε at a δ, that is asked for (None: none, or one of pure ε)."""
        if self.budget_rho is None and self.budget_delta is None:
            if self.budget_unit is not None:
                raise UsageError("--budget-unit goes with --budget-rho R, or with --budget E --budget-delta D.")
            return None
        if self.budget_rho is not None and (self.budget is not None or self.budget_delta is not None):
            raise UsageError("a budget is --budget-rho R, or --budget E --budget-delta D, not both.")
        if self.budget_rho is None and self.budget is None:
            raise UsageError("--budget-delta D goes with --budget E: the total is an epsilon, stated at that delta.")
        units = {"person-day": Unit.PERSON_DAY, "person-week": Unit.PERSON_WEEK, "person": Unit.USER}
        unit = self.budget_unit or "person"
        if unit not in units:
            raise UsageError(f"--budget-unit is one of {', '.join(units)}, got '{unit}'.")
        return ConcentratedBudget(self.budget_rho, self.budget, self.budget_delta, units[unit])

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

    @explain_nothing_done()
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
        _ = self.concentrated  # it refuses what makes no budget
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
        if isinstance(self.settings.get("streets"), str) and self.settings["streets"] not in ("", "generated"):
            found["the streets"] = Path(self.settings["streets"])
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


@explain_nothing_done()
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


@explain_nothing_done()
def require_positive(option: str, value: float | None) -> None:
    """Refuse anything but a finite number greater than 0 (or nothing)."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} must be a finite number greater than 0, got {value:g}.")


@dataclass
class PublicInputs(StatedInputs):
    """The public inputs of one publication, and which of them were read off the private data after all."""

    def region(self, request: Request, derive: Callable[[], Region]) -> Region:
        """Return the public region."""
        given = None if request.region is None else parse_region(request.region)
        region = self.settle("region", "--region W,S,E,N", given, derive)
        require_sound(region)
        if given is not None:
            require_inhabited(given)
        return region

    def venues_within(self, request: Request, venues: Venues) -> npt.NDArray[np.bool_] | None:
        """Tell which venues of a public list lie in the region that was asked for (None: no region, all are used)."""
        if request.region is None:
            return None
        if not venues.placed:
            raise UsageError("--region: chooses among venues by place: give --venues with columns lon and lat.")
        region = parse_region(request.region)
        require_sound(region)
        self.values["region"] = plain_value(region)
        inside = region.contains(*region.projection.to_m(lon=venues.lon, lat=venues.lat))
        if not inside.any():
            raise UsageError(f"--region {request.region}: no venue of the public list lies inside.")
        return inside
