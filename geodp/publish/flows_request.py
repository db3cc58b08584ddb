"""What is asked of a report of flows, checked before any file of data is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from geodp.errors import DataError, OutputError, UsageError
from geodp.flows.calendar import Days, parse_day, parse_period
from geodp.flows.design import LARGEST_DELTA, UNITS, FlowDesign
from geodp.flows.pings import PARTS, TOWER_PARTS, TowerSites
from geodp.flows.stays import PLACES, TOWERS, StayRule
from geodp.flows.zone_grids import OF_TOWERS, find_tower_zones, make_tower_zones
from geodp.flows.zones import ZoneMap, parse_zones, read_zones
from geodp.privacy.data_days import ConcentratedBudget
from geodp.publish.request import explain_nothing_done
from geodp.storage.files import is_regular, same_content
from geodp.tables.towers import read_towers


@dataclass(frozen=True)
class FlowsRequest:
    """What `geodp publish flows` is asked.

    Parameters
    ----------
    source
        The private pings: a table or a folder of tables, columns user, time_s, lon, lat.
    zones
        Public zones, `FILE:COLUMN`; with towers also `towers`: the cell of each is a zone.
    out
        The folder to publish.
    first, last
        First and last day, as 2024-03-01.
    """

    source: Path
    zones: str
    out: Path
    first: str
    last: str
    districts: str | None = None
    """Column of the districts in the file of zones."""
    timezone: str = "UTC"
    every: str = "1h"
    od_every: str = "1d"
    unit: str = "person-day"
    trips: int = 8
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    mode: str = "simulate"
    seed: int | None = None
    ledger: Path | None = None
    force: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    towers: Path | None = None
    """Public towers (columns tower, lon, lat), where pings name a tower instead of a place."""
    cluster: str | None = None
    """Dask scheduler whose workers read the pings (`local`: processes on this machine)."""
    budget: ConcentratedBudget | None = None
    """Budget of a ledger that has none."""

    @property
    def releasing(self) -> bool:
        """Whether the report is meant to leave the house."""
        return self.mode == "release"

    @property
    def zones_file(self) -> Path:
        """The file of zones (of towers, where their cells are the zones)."""
        if self.zones == OF_TOWERS and self.towers is not None:
            return self.towers
        return parse_zones(self.zones)[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """What the pings hold."""
        return PARTS if self.towers is None else TOWER_PARTS

    @property
    def stays(self) -> StayRule:
        """What a stay and a trip are: towers see phones less often."""
        return PLACES if self.towers is None else TOWERS

    @cached_property
    def sites(self) -> TowerSites | None:
        """The public towers and their zones (None: pings hold places)."""
        if self.towers is None:
            return None
        towers = read_towers(self.towers)
        if self.zones == OF_TOWERS:
            return TowerSites(towers, make_tower_zones(towers)[1])
        return TowerSites(towers, find_tower_zones(towers, self.read_zones()))

    def make_days(self) -> Days:
        """Return the public days and periods."""
        every, od_every = parse_period("--every", self.every), parse_period("--od-every", self.od_every)
        first, last = parse_day("--from", self.first), parse_day("--to", self.last)
        days = Days(first, last, self.timezone, every_s=every, od_every_s=od_every)
        _ = days.edges_s
        return days

    def read_zones(self) -> ZoneMap:
        """Read the public zones, or lay out the cells of the towers."""
        if self.zones == OF_TOWERS and self.towers is not None:
            return make_tower_zones(read_towers(self.towers))[0]
        path, column = parse_zones(self.zones)
        return read_zones(path, column, self.districts)

    def make_design(self, days: Days, zones: ZoneMap) -> FlowDesign:
        """Return how the budget is divided."""
        return FlowDesign(
            days,
            zones.size,
            len(zones.all_districts),
            trips=self.trips,
            unit=self.unit,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            shares=self.shares,
        )

    @explain_nothing_done()
    def check(self) -> None:
        """Refuse what makes no sense or would overwrite something."""
        if self.mode not in ("simulate", "release"):
            raise UsageError(f"no mode called '{self.mode}'. Modes: simulate, release.")
        if self.releasing and self.ledger is None:
            raise UsageError("--mode release needs --ledger FILE: the ledger of everyone in the data.")
        if self.releasing and (self.delta or 0.0) > LARGEST_DELTA:
            raise UsageError(f"--delta {self.delta:g}: a release promises {LARGEST_DELTA:g} at most.")
        if self.budget is not None and self.ledger is None:
            raise UsageError("a budget is kept in a ledger: name it with --ledger FILE.")
        if not self.source.exists():
            raise DataError(f"{self.source}: no such file or folder.")
        if not is_regular(self.zones_file):
            raise DataError(f"{self.zones_file}: no such file (zones).")
        if self.towers is not None and not is_regular(self.towers):
            raise DataError(f"{self.towers}: no such file (towers).")
        self._require_apart()
        if self.out.exists() and not self.force:
            raise OutputError(f"{self.out} exists already. Use --force to replace it, or another --out.")

    def _require_apart(self) -> None:
        """Refuse to publish the private data as public zones, or to write among what is read."""
        source = self.source.resolve()
        private = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
        public = {self.zones_file: "zones"} | ({} if self.towers is None else {self.towers: "towers"})
        for file, what in public.items():
            if any(same_content(file, path) for path in private):
                raise UsageError(f"{file}: {what} must be public, and this is the private data (or a copy).")
        written = {"the output": self.out} | ({} if self.ledger is None else {"the ledger": self.ledger})
        for what, path in written.items():
            place = path.resolve()
            if place in (source, self.zones_file.resolve()) or source in place.parents:
                raise UsageError(f"{path}: {what} must not replace what is read, nor lie in {self.source}.")
        if self.out.resolve() in (*source.parents, *self.zones_file.resolve().parents):
            raise UsageError(f"{self.out}: the output would replace the folder of what is read.")
        if self.ledger is not None and self.out.resolve() in self.ledger.resolve().parents:
            raise UsageError(f"{self.ledger}: the ledger must not lie in the output, which is given away.")


@explain_nothing_done()
def make_budget(rho: float | None, epsilon: float | None, delta: float | None, unit: str) -> ConcentratedBudget | None:
    """Return the budget that is asked for, of a person unless it says otherwise."""
    if rho is None and epsilon is None:
        if delta is not None or unit != "person":
            raise UsageError("--budget-delta and --budget-unit go with --budget E, or the unit with --budget-rho R.")
        return None
    if unit not in UNITS:
        raise UsageError(f"--budget-unit {unit}: use one of {', '.join(UNITS)}.")
    return ConcentratedBudget(rho=rho, epsilon=epsilon, delta=delta, unit=UNITS[unit])


@explain_nothing_done()
def parse_shares(texts: Sequence[str]) -> dict[str, float]:
    """Read `TABLE=PART` of --share."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, part = text.partition("=")
        try:
            found[name] = float(part)
        except ValueError:
            raise UsageError(f"--share {text}: write TABLE=PART, for example od=.3") from None
    return found
