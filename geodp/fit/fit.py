"""`geodp fit`: from a private file to a public world with a guarantee, or (exactly, not releasable) without one.

The places of the fitted world are the published table; homes and the scenario follow from the same evidence, and are
written beside it. Reading, noise, ledger and files go the way of every publication.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from geodp.errors import DataError, OutputError, UsageError
from geodp.fit.epr_fit import (
    ROUNDS,
    FittedTown,
    Values,
    count_days,
    draw_in_cells,
    fit_values,
    list_fields,
    name_told,
    simulate,
    start_values,
)
from geodp.fit.evidence import PARTS, ROWS, Evidence, count_with_noise, read_exact, summarise
from geodp.fit.regret import Regret, measure_regret
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.publish.outputs import PublishedTable, degree_columns
from geodp.publish.pipeline import Product, PublishPlan, PublishResult, publish
from geodp.publish.request import PublicInputs, Request
from geodp.publish.statement import Accuracy
from geodp.storage.files import write_text_whole
from geodp.tables.movement_laws import LAWS
from geodp.tables.progress import tell_progress
from geodp.tables.published_formats import loader_for
from geodp.tables.visit_log import VisitLog, order_visits, read_log
from geodp.tables.visits.venue_file import read_venue_list, read_venues

MODELS = ("epr",)
_EXACT = "its parameters are exact numbers of the data"
_JUDGED = 600
_MOST_HOMES = 20_000
_TRY_SEED, _JUDGE_SEED = 1, 2


@dataclass(frozen=True)
class FitOptions:
    """What a fit is asked beside what every publication is."""

    model: str = "epr"
    out: Path = Path("fitted.yaml")
    """The scenario to write."""
    format: str | None = None
    """Loader of the data (None: by the file's name)."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the loader."""
    zone: str = "UTC"
    """Time zone by whose clocks people live."""
    venues: Path | None = None
    """Public list of places (None: places are drawn from the evidence)."""
    places: int = 5_000
    """Number of places that are drawn."""
    regret: int = 0
    """Runs of every option by which decision regret is measured (0: it is not; simulate only)."""
    rounds: int = ROUNDS
    """How often parameters are improved by worlds that are tried."""

    @property
    def places_file(self) -> Path:
        """Where the places are written: the published table."""
        return self.out.with_name(f"{self.out.stem}-places.csv")

    @property
    def homes_file(self) -> Path:
        """Where the homes are written."""
        return self.out.with_name(f"{self.out.stem}-homes.csv")


@dataclass(frozen=True)
class FitResult:
    """What a fit found."""

    published: PublishResult
    files: tuple[Path, ...]
    values: Values
    laws: Mapping[str, Mapping[str, float | None]]
    """Laws of the data (when simulating), the targets, and those of the fitted world and of an unfitted one."""
    regrets: tuple[Regret, ...] = ()


def fit(request: Request, options: FitOptions) -> FitResult:
    """Fit a world to data; nothing is written but (from the ledger's yes on) the ledger where anything fails.

    Parameters
    ----------
    request
        What every publication is asked: the data, ε (none: exact), mode, region, ledger.
    options
        The model, the scenario to write, how the data are read.
    """
    if options.model not in MODELS:
        raise UsageError(f"--model {options.model}: there is only {', '.join(MODELS)}.")
    if options.out.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{options.out}: a scenario ends in .yaml.")
    for path in (options.out, options.homes_file):
        if path.exists() and not request.force:
            raise OutputError(f"{path} exists already. Use --force to replace it, or another --out.")
    if options.regret and request.releasing:
        raise UsageError("--regret compares with exact data: it goes with --mode simulate.")
    plans: list[EprPlan] = []

    def prepare(request: Request, inputs: PublicInputs) -> EprPlan:
        plans.append(EprPlan.read(request, options, inputs))
        return plans[-1]

    done = publish(request, prepare)
    (plan,) = plans
    if plan.world is None:
        raise RuntimeError("nothing was drawn")
    write_homes(options.homes_file, plan.region, plan.world.town.homes)
    write_text_whole(options.out, _write_scenario(plan, request, options, done))
    files = (options.out, options.homes_file, *done.files)
    return FitResult(done, files, plan.world.values, plan.world.laws, plan.measure_regret())


@dataclass(frozen=True, eq=False)
class FittedWorld:
    """The fitted world: its values, and its laws beside those of the data."""

    evidence: Evidence
    town: FittedTown
    values: Values
    laws: dict[str, Mapping[str, float | None]]
    sample: VisitLog
    """Visits of some of its people."""


class EprPlan(PublishPlan):
    """A world of mobility `epr` from what is counted of people."""

    mechanism = "fit_epr"
    not_hidden = ("what follows from public settings: the region, the grid, the bins of histograms",)

    def __init__(self, log: VisitLog, region: Region, request: Request, options: FitOptions) -> None:
        self._log, self.region, self._request, self._options = log, region, request, options
        self.world: FittedWorld | None = None
        epsilon = request.epsilon
        if epsilon is None:
            self.guarantee = Guarantee.none(_EXACT)
        else:
            self.guarantee = Guarantee(epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
            self.parts = {part: epsilon * share for part, share in PARTS.items()}
        self.per_person = self.guarantee
        self.fields = {"model": options.model, "rows_of_a_person": ROWS, "places": options.places}

    @classmethod
    def read(cls, request: Request, options: FitOptions, inputs: PublicInputs) -> EprPlan:
        """Read the data."""
        if request.releasing and request.epsilon is None:
            raise UsageError("--mode release needs --epsilon E: without noise a fit is exact, and not releasable.")
        loader = loader_for(request.source, options.format, dict(options.reading), option="--set")
        stated = None if request.region is None else inputs.region(request, lambda: Region(-1.0, -1.0, 1.0, 1.0))
        loaded = loader.load(request.source, total=request.releasing)
        listed = None if options.venues is None else read_venue_list(options.venues)
        log, region = read_log(loaded, zone=options.zone, region=stated, listed=listed)
        if stated is None:
            region = inputs.region(request, lambda: region)
        if not log.size and not request.releasing:
            raise DataError(
                f"{request.source.name}: a fit needs rows with a time and a place, and there are none. "
                "Name the public list of venues that says where they are: --venues FILE."
            )
        return cls(log, region, request, options)

    def rehearse(self, noise: Noise) -> None:
        """Count made-up people."""
        if self._request.epsilon is not None:
            count_with_noise(_make_up(), self.region, epsilon=self._request.epsilon, noise=noise)
        if self._options.venues is not None:
            self._list_places()

    def draw(self, noise: Noise) -> Product:
        """Count, draw places and homes, and fit."""
        request, options = self._request, self._options
        if request.epsilon is None:
            evidence = read_exact(self._log, self.region)
        else:
            evidence = count_with_noise(self._log, self.region, epsilon=request.epsilon, noise=noise)
        rng = np.random.default_rng(0)  # everything from here on follows from the evidence alone
        if options.venues is None:
            lon, lat = self._to_degrees(draw_in_cells(evidence, evidence.places, options.places, rng))
            table = {"venue": np.array([f"place-{number:05d}" for number in range(lon.size)]), "lon": lon, "lat": lat}
        else:
            table = self._list_places()
        homes = draw_in_cells(evidence, evidence.homes, min(max(evidence.people, 300), _MOST_HOMES), rng)
        homes = self.region.clamp(*homes)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "places.csv"
            _write_rows(file, ("venue", "lon", "lat"), table)
            town = FittedTown(self.region, homes, file)
            values = fit_values(
                evidence,
                town,
                seed=_TRY_SEED,
                rounds=options.rounds,
                tell=lambda share: tell_progress("fitting", share),
            )
            people = min(_JUDGED, homes[0].size)
            before, after = (
                simulate(each, evidence, town, people=people, seed=_JUDGE_SEED)
                for each in (start_values(evidence), values)
            )
        laws: dict[str, Mapping[str, float | None]] = {
            "wanted": dict(evidence.targets),
            "unfitted": summarise(before),
            "fitted": summarise(after),
        }
        if not noise.releasable:
            laws = {"data": summarise(self._log), **laws}
        self.world = FittedWorld(evidence, town, values, laws, sample=after)
        scale = "" if request.epsilon is None else f" with Laplace noise of ε = {request.epsilon:g} in all"
        accuracy = Accuracy(
            f"{len(PARTS)} histograms{scale}; the laws beside one another say how near the world is.", {}
        )
        places = degree_columns(np.asarray(table["lon"]), np.asarray(table["lat"]))
        return Product(
            PublishedTable({"venue": table["venue"], **places}, "points"),
            accuracy,
            noise.releasable,
            lambda page: page.note("places of a fitted world"),
        )

    def measure_regret(self) -> tuple[Regret, ...]:
        """Return how much worse choices made on the fitted world do on the data (none where it was not asked)."""
        world, seeds = self.world, self._options.regret
        if world is None or not seeds:
            return ()
        return tuple(
            measure_regret(
                self._log, world.sample, self.region, seeds=seeds, tell=lambda share: tell_progress("regret", share)
            )
        )

    def _to_degrees(self, places: tuple[Array, Array]) -> tuple[Array, Array]:
        x_m, y_m = self.region.clamp(*places)
        lon, lat = self.region.projection.to_lonlat(x_m=x_m, y_m=y_m)
        return lon, lat

    def _list_places(self) -> dict[str, Any]:
        """Return the places of the public list that lie in the region."""
        assert self._options.venues is not None  # noqa: S101 - asked for where there is a list
        listed = read_venues(self._options.venues, ())
        if not listed.placed:
            raise DataError(f"{self._options.venues}: the list of places needs columns lon and lat.")
        inside = self.region.contains(*self.region.projection.to_m(lon=listed.lon, lat=listed.lat))
        if np.count_nonzero(inside) < 2:
            raise DataError(f"{self._options.venues}: fewer than two places of the list lie in the region.")
        kept = listed.select(inside)
        return {"venue": kept.name.astype(str), "lon": kept.lon, "lat": kept.lat}


def laws_table(laws: Mapping[str, Mapping[str, float | None]]) -> str:
    """Return the laws side by side, a line each; a star marks those within 15 % of the data (or of what was wanted)."""
    names = [name for name in ("data", "wanted", "unfitted", "fitted") if name in laws]
    against = laws["data"] if "data" in laws else laws["wanted"]
    lines = [f"{'law':44}" + "".join(f"{name:>12}" for name in names)]
    for key, law in LAWS.items():
        words = law.label + (f" ({law.unit})" if law.unit else "")
        cells = "".join(f"{_show(laws[name].get(key)):>12}" for name in names)
        near = is_near(against.get(key), laws["fitted"].get(key))
        lines.append(f"{words:44}{cells}{' *' if near else ''}")
    return "\n".join(lines)


def is_near(true: float | None, made: float | None) -> bool:
    """Tell whether a law of a made world is within 15 % of the true one."""
    return bool(true and made and abs(made / true - 1) <= 0.15)


def write_homes(path: Path, region: Region, homes: tuple[Array, Array]) -> None:
    """Write homes as the workers of a scenario."""
    lon, lat = region.projection.to_lonlat(x_m=homes[0], y_m=homes[1])
    names = [f"w{number:05d}" for number in range(lon.size)]
    _write_rows(path, ("worker", "lon", "lat"), {"worker": names, **degree_columns(lon, lat)})


def _write_rows(path: Path, names: tuple[str, ...], columns: Mapping[str, Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*(list(columns[name]) for name in names), strict=True))


def _write_scenario(plan: EprPlan, request: Request, options: FitOptions, done: PublishResult) -> str:
    """Return the text of a scenario that uses the fitted world."""
    world, region = plan.world, plan.region
    assert world is not None  # noqa: S101 - drawn before
    people = int(world.town.homes[0].size)
    fields = list_fields(world.values, world.evidence)
    scenario = {
        "geodp": 1,
        "name": options.out.stem,
        "about": f"A world fitted to {request.source.name}."
        if request.epsilon is None
        else "A world fitted with noise.",
        "region": {side: round(float(getattr(region, side)), 6) for side in ("west", "south", "east", "north")},
        "start_time": "08:00",
        "duration_s": 3600,
        "workers": {
            "source": {"kind": "table", "path": options.homes_file.name},
            "mobility": {
                "kind": "epr",
                "venues": options.places_file.name,
                "past_days": count_days(world.evidence),
                **{name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()},
            },
            "visit_source": {"kind": "from_mobility", **name_told(world.values)},
        },
        "tasks": {"demand": {"kind": "poisson", "per_hour": 60}},
        "curator": {"expected_workers": people, "mechanism": {"kind": "adaptive_grid", "epsilon": 0.5}},
        "server": {"assignment": {"kind": "geocast", "target_success": 0.9}},
    }
    if request.epsilon is None:
        head = "# PRIVATE: fitted to exact numbers of the data. Do not publish it.\n"
    elif request.releasing:
        head = (
            f"# Fitted to noisy histograms alone; {done.statement.request.guarantee_path.name} says what is promised.\n"
        )
    else:
        head = "# NOT RELEASABLE: fitted with simulated noise.\n"
    return head + str(yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True, width=110))


def _make_up() -> VisitLog:
    """Return two made-up people with a dozen visits each."""
    number = np.arange(24)
    x_m, y_m, time_s = (
        np.array(each, dtype=np.float64) for each in (number % 3 * 500, number % 2 * 300, number * 3_600)
    )
    return order_visits(number // 12, time_s, number % 3, x_m, y_m)


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
