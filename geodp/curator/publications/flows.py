"""Footfall, flows between zones and trip statistics of everyone whom the operator sees."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from geodp.curator.flow_tables import keep_truth, tabulate_flows
from geodp.curator.publications import Publication, Published, Records
from geodp.curator.seen_people import SeenPeople, Watch, count_people, days_of_run
from geodp.errors import UsageError
from geodp.flows.design import MOST_DENSE, SHARES, USUAL_DELTA, FlowDesign
from geodp.flows.release import release_exactly, release_flows
from geodp.flows.zone_grids import OF_TOWERS
from geodp.flows.zones import parse_zones
from geodp.model import bound_field
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee
from geodp.storage.files import anchor_path
from geodp.tables.towers import TowerNetwork

if TYPE_CHECKING:
    from geodp.flows.calendar import Days

_EXACT = "counts above a threshold are published as they are"


class Flows(Publication):
    """How many people were in each zone each hour, how many went from where to where, and what trips are like.

    What the operator holds are pings: a phone is seen now and then, where it is, or (`towers`) by a tower. From these
    come the main zone of each hour, stays and trips, as `geodp publish flows` finds them in a file.

    Guarantee
    ---------
    Of everything that belongs to one person and one day (`unit: person-day`), any seven days in a row, or the whole
    run: ρ-zCDP, stated as (ε, δ), with Gaussian noise; or, with epsilon and no delta, ε alone, with Laplace noise.
    A day's contribution follows from the pings of that day alone: one main zone an hour, and at most `trips` trips.
    `variant: raw_threshold` publishes true counts above k, as operators do, and promises nothing.

    Reference
    ---------
    Bun and Steinke 2016, Concentrated differential privacy; Canonne, Kamath and Steinke 2020, The discrete Gaussian for
    differential privacy; consistency: Hay et al. 2010, Boosting the accuracy of differentially private histograms.
    """

    kind: ClassVar[str] = "flows"
    reads: ClassVar[frozenset[str]] = frozenset({"pings"})
    releases: ClassVar[frozenset[str]] = frozenset({"flows"})
    file_fields: ClassVar[tuple[str, ...]] = ("zones",)

    variant: Literal["zcdp", "raw_threshold"] = "zcdp"
    """`zcdp`: with noise; `raw_threshold`: true counts above k, which promises nothing."""
    epsilon: float | None = Field(default=None, gt=0)
    """ε of the unit, at delta; without delta it alone is promised, with Laplace noise. Default: 1 at 1e-6."""
    delta: float | None = Field(default=None, gt=0, lt=1)
    """δ at which ε or ρ is stated (a ρ: 1e-6 where it is left out)."""
    rho: float | None = Field(default=None, gt=0)
    """ρ of the unit, instead of ε."""
    unit: Literal["person-day", "person-week", "person"] = "person-day"
    """What is hidden: what one person did on one day, on any seven days in a row, or in the whole run."""
    trips: int = Field(default=8, ge=1, le=100)
    """Trips of a person's day that are used at most."""
    shares: dict[str, float] = Field(default_factory=dict)
    """Parts of the budget that single tables get, e.g. {od: 0.3}; the others share the rest as they would have."""
    k: int = Field(default=15, ge=0)
    """With `variant: raw_threshold`: counts up to this are left out."""
    cell_m: float = bound_field("zones are no points", default=2000.0, ge=50)
    """Side of the square zones, metres."""
    zones: str = ""
    """Zones of a public file instead, FILE:COLUMN with the column of names; or `towers`: the cells of the towers."""
    districts: str | None = None
    """Column of the district of each zone in that file (default: squares lie four by four in districts)."""
    every_s: int = Field(default=3600, ge=300, le=86_400)
    """Periods of footfall, seconds: a day holds a whole number of them."""
    od_every_s: int = Field(default=86_400, ge=300, le=86_400)
    """Periods of flows, seconds: a day holds a whole number of them."""
    towers: TowerNetwork | None = None
    """The network by which phones are seen: count, layout, range_m, noise_db, or a file. null: phones tell places."""
    pings_per_hour: float = bound_field("nobody is seen so often", default=2.0, gt=0, le=360)
    """How often a phone is seen, mean per hour, at random moments."""

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        if self.epsilon is not None and self.rho is not None:
            raise ValueError("give epsilon (with delta) or rho, not both")
        for name, value in (("every_s", self.every_s), ("od_every_s", self.od_every_s)):
            if 86_400 % value:
                raise ValueError(f"{name}: a day must hold a whole number of them, got {value}")
        if unknown := sorted(set(self.shares) - set(SHARES)):
            raise ValueError(f"shares: no table called '{unknown[0]}'; there are {', '.join(SHARES)}")
        if sum(self.shares.values()) >= 1 or not all(0 < share < 1 for share in self.shares.values()):
            raise ValueError("shares lie between 0 and 1, and leave something for the other tables")
        if self.zones == OF_TOWERS and self.towers is None:
            raise ValueError("zones: towers needs the network: give towers, such as {count: 200}")
        if self.zones not in ("", OF_TOWERS):
            try:
                parse_zones(self.zones)
            except UsageError:
                raise ValueError(f"zones: write FILE:COLUMN or towers, got '{self.zones}'") from None
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return what plays no part with other zones, or without noise."""
        found = {"districts": "without zones of a file"} if self.zones in ("", OF_TOWERS) else {}
        if self.zones:
            found["cell_m"] = "with zones"
        if self.variant == "raw_threshold":
            noise = ("epsilon", "delta", "rho", "shares", "unit")
            return found | dict.fromkeys(noise, "with variant: raw_threshold, which adds no noise")
        return found | {"k": "with variant: zcdp"}

    def files(self) -> list[Path]:
        """Return the files of zones and towers."""
        zones = [] if self.zones in ("", OF_TOWERS) else [parse_zones(self.zones)[0]]
        return zones + ([Path(self.towers.path)] if self.towers is not None and self.towers.path else [])

    def anchor(self, folder: Path) -> Self:
        """Return a copy whose files are found from the given folder."""
        update: dict[str, Any] = {}
        if self.zones not in ("", OF_TOWERS):
            path, column = parse_zones(self.zones)
            update["zones"] = f"{anchor_path(str(path), folder)}:{column}"
        if self.towers is not None:
            update["towers"] = self.towers.anchor(folder)
        return self.model_copy(update=update)

    @property
    def watch(self) -> Watch:
        """How people are seen and counted."""
        return Watch(
            cell_m=self.cell_m,
            zones=self.zones,
            districts=self.districts,
            every_s=self.every_s,
            od_every_s=self.od_every_s,
            towers=self.towers,
            pings_per_hour=self.pings_per_hour,
            trips=self.trips,
        )

    def guarantee(self) -> Guarantee:
        """Promise ρ about the unit, stated at δ; or ε alone."""
        if self.variant == "raw_threshold":
            return Guarantee.none(_EXACT)
        return self._design(days_of_run(0.0, 86_400.0), 2, 1).promise()

    def data_days(self, start_s: float, duration_s: float) -> tuple[date, date] | None:
        """Return the first and last day of the run."""
        days = days_of_run(start_s, duration_s)
        return days.first, days.last

    def publish(self, records: Records, noise: Noise) -> Published:
        """Count everyone's pings, and add noise to every table."""
        seen = count_people(records, self.watch)
        zones, rules = seen.zones, seen.rules
        if self.variant == "raw_threshold":
            design, noisy = None, release_exactly(seen.tables, zones, rules, self.k)
        else:
            design = self._design(rules.days, zones.size, len(zones.all_districts))
            if design.has_thresholds:
                raise UsageError(
                    f"flows: {design.pairs:,} pairs of zones a day are more than {MOST_DENSE:,}, which a run does not "
                    "simulate: take larger zones or longer od_every_s."
                )
            noisy = release_flows(seen.tables, zones, rules, design, noise=noise)
        return Published(tabulate_flows(noisy, seen, records.start_s), keep_truth(seen), self._facts(seen, design))

    def _design(self, days: Days, zones: int, districts: int) -> FlowDesign:
        unsaid = self.epsilon is None and self.rho is None
        epsilon = 1.0 if unsaid else self.epsilon
        delta = (self.delta or USUAL_DELTA) if unsaid else self.delta
        return FlowDesign(
            days,
            zones,
            districts,
            trips=self.trips,
            unit=self.unit,
            epsilon=epsilon,
            delta=delta,
            rho=self.rho,
            shares=self.shares,
        )

    def _facts(self, seen: SeenPeople, design: FlowDesign | None) -> dict[str, Any]:
        """Return public settings, and what the promise comes to over a day, a week and the whole run."""
        import shapely

        facts: dict[str, Any] = {
            "zones": [
                {"name": name, "district": seen.zones.districts[district], "outline": shapely.to_wkt(shape, 6)}
                for name, district, shape in zip(
                    seen.zones.names, seen.zones.district.tolist(), seen.zones.shapes, strict=True
                )
            ],
            "days": seen.rules.days.count,
        }
        if design is None:
            return facts | {"k": self.k}
        spend = {"day": design.spend(1), "week": design.spend(7), "whole": design.spend(seen.rules.days.count)}
        return facts | {"noise_sd": {name: design.spread(scale) for name, scale in design.list_scales().items()},
                        "spend": spend}  # fmt: skip

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise of an hour's count and of a flow is, on one day's run."""
        if self.variant == "raw_threshold":
            return f"Counts of {self.k} and fewer are left out.", {}
        design = self._design(days_of_run(4 * 3600.0, 86_400.0, every_s=self.every_s, od_every_s=self.od_every_s), 2, 1)
        zone, flow = (design.spread(scale) for scale in (design.footfall_scale("zone", 0), design.od_scale))
        text = f"Noise of a zone's hour has a standard deviation of {zone:.3g} people, of a flow {flow:.3g}"
        more = ", times the square root of the days" if self.unit == "person" else ""
        return f"{text}{more}.", {"footfall_sd": zone, "flow_sd": flow}
