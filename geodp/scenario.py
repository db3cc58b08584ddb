"""The YAML a user writes, as a frozen and validated `Scenario`; unknown keys are errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from geodp.acceptance import Acceptance
from geodp.attacks import Attack
from geodp.curator.mechanisms import Mechanism
from geodp.curator.publications import Publication
from geodp.device import Device
from geodp.device.history import HistoryDevice
from geodp.display.layers import Layer
from geodp.geometry import Region, region_from_file, region_problems
from geodp.model import Model
from geodp.plugins import Plugin, PublicFacts, Slot
from geodp.privacy.guarantee import Neighbours, plus
from geodp.privacy.ledger import Allowance
from geodp.server.assignment import Assignment
from geodp.world.demand import Demand
from geodp.world.histories import VisitHistories
from geodp.world.mobility import Mobility
from geodp.world.sources import Source

DEFAULT_MEAN_REWARD = 10.0
DEFAULT_LAYERS = (
    "region",
    "cluster_areas",
    "release",
    "estimate",
    "cells",
    "reports",
    "tasks",
    "offers",
    "growth",
    "trips",
    "true_places",
    "told_places",
    "released_places",
    "replacements",
    "report_errors",
    "guesses",
    "workers",
)
WORLD_PATHS = (
    "geodp",
    "seed",
    "region",
    "duration_s",
    "start_time",
    "plugins",
    "workers.source",
    "workers.mobility",
    "workers.histories",
    "tasks.demand",
    "compare",
)
"""What the arms of a comparison share: they differ in method, never in the world."""


def _default(kind: str, family: str) -> Any:
    """Return a field whose default is the plug-in `kind` with its own defaults."""
    return Field(default_factory=lambda: Slot(family).build(kind))


class Box(Model):
    """The public area: a box in degrees, or a file of polygons."""

    west: float | None = None
    """Western edge, degrees of longitude."""
    south: float | None = None
    """Southern edge, degrees of latitude."""
    east: float | None = None
    """Eastern edge, degrees of longitude."""
    north: float | None = None
    """Northern edge, degrees of latitude."""
    file: str | None = None
    """GeoJSON or GeoParquet file whose polygons make up the region (instead of a box)."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        edges = (self.west, self.south, self.east, self.north)
        if self.file is not None:
            if any(edge is not None for edge in edges):
                raise ValueError("give either a box (west, south, east, north) or a file, not both")
            return self
        if any(edge is None for edge in edges):
            raise ValueError("needs west, south, east and north (degrees), or a file of polygons")
        problems = region_problems(*(float(edge or 0.0) for edge in edges))
        if problems:
            raise ValueError("; ".join(problems))
        return self


class Workers(Model):
    """The people who carry phones."""

    source: Annotated[SerializeAsAny[Source], Slot("source", "synthetic_city")] = _default("synthetic_city", "source")
    """Where workers come from."""
    mobility: Annotated[SerializeAsAny[Mobility], Slot("mobility", "static")] = _default("static", "mobility")
    """How they move."""
    histories: Annotated[SerializeAsAny[VisitHistories] | None, Slot("histories")] = None
    """Where they have been, for what is published or told about visits; default: `generated_visits` where needed."""
    acceptance: Annotated[SerializeAsAny[Acceptance], Slot("acceptance", "tanh_reward")] = _default(
        "tanh_reward", "acceptance"
    )
    """How willing they truly are."""
    travel_speed_mps: float = Field(default=4.0, gt=0)
    """Speed on the way to a task, metres per second."""


class Reward(Model):
    """The money."""

    total: float | None = Field(default=None, gt=0)
    """W: what all tasks together may cost; default 10 per expected task."""
    minimum: float | None = Field(default=None, ge=0)
    """w0: below it nobody works; default a tenth of the mean reward W / E|T|."""


class Tasks(Model):
    """The work."""

    demand: Annotated[SerializeAsAny[Demand], Slot("demand", "poisson")] = _default("poisson", "demand")
    """When and where tasks arise."""
    reward: Reward = Field(default_factory=Reward)
    """What may be paid."""
    patience_s: float = Field(default=900.0, gt=0)
    """A task not accepted after this time is given up, seconds."""
    workers_per_task: int = Field(default=1, ge=1, le=100)
    """Workers whom a task needs at the same time; they share its reward evenly. More than one: `geocast` only."""


class DeviceBudget(Model):
    """How much the phones may spend."""

    epsilon_per_m: float | None = Field(default=None, gt=0)
    """Epsilon per metre per person over the whole run; default: exactly what the schedule of reports costs."""
    epsilon_per_item: float | None = Field(default=None, gt=0)
    """Epsilon per item of a person's history over the whole run, for what phones tell about histories; default: exactly
    what their reports cost."""
    when_spent: Literal["stop", "reuse_last", "fail"] = "reuse_last"
    """Afterwards: `stop` (the server has nothing to plan from), `reuse_last` reports, or `fail` the run."""


class DeviceSection(Model):
    """What the phone does before anything leaves it."""

    mechanism: Annotated[SerializeAsAny[Device], Slot("device", "none")] = _default("none", "device")
    """Mechanism on the phone."""
    report_every_s: float = Field(default=600.0, gt=0)
    """Without a curator phones report to the server at 0, this, twice this, … before the end, seconds. (With one they
    report to it whenever it releases.)"""
    budget: DeviceBudget = Field(default_factory=DeviceBudget)
    """What may be spent on reports."""
    memoise_m: float | None = Field(default=None, gt=0)
    """Without a curator: in a cell of this side where a phone has reported before, it repeats its answer, metres. The
    noise cannot be averaged away, but who returns to a cell gives that away. Default: every report is drawn anew."""
    history: Annotated[SerializeAsAny[HistoryDevice] | None, Slot("history")] = None
    """What phones tell about the places their owners have been to, by consent; default: nothing."""
    history_reports: int = Field(default=1, ge=1)
    """How often during the run phones tell about histories, which grow: the last time at its end. Costs add up."""


class Budget(Model):
    """How much the curator may spend."""

    epsilon: float | None = Field(default=None, gt=0)
    """Epsilon per person over the run (or day, or window); default: exactly what the release schedule costs."""
    per: Literal["run", "day"] = "run"
    """How long it must last: the whole `run`, or each calendar `day`, after which it is there anew."""
    window_s: float | None = Field(default=None, gt=0)
    """Instead: at most epsilon in any window of so many seconds (w-event privacy)."""
    split: Literal["given", "even"] = "given"
    """How it is shared out: each release has the mechanism's own ε (`given`), or all releases of a run, day or window
    that look at people get the same share of epsilon (`even`)."""
    when_spent: Literal["stop", "reuse_last", "fail"] = "reuse_last"
    """Afterwards: `stop` (the server has nothing to plan from), `reuse_last` release, or `fail` the run."""

    @model_validator(mode="after")
    def _one_window(self) -> Self:
        if self.split == "even" and self.epsilon is None:
            raise ValueError("split: even shares out epsilon: give the budget's epsilon")
        if self.per == "day" and self.window_s is not None:
            raise ValueError("a budget lasts per day or per window: give per: day or window_s, not both")
        return self

    def allowance(self, start_s: float) -> Allowance:
        """Return the budget as the ledger takes it; the run starts at a time of day."""
        return Allowance(self.epsilon, self.per, self.window_s, midnight_s=-start_s)

    def busiest(self, times_s: list[float], start_s: float) -> int:
        """Return how many of these releases at most share one run, day or window."""
        window = self.allowance(start_s).window
        spans = [span for time_s in times_s for span in window.spans(time_s, ())]
        return max((sum(low < time_s <= high for time_s in times_s) for low, high in set(spans)), default=0)

    def lasts(self) -> str:
        """Say over which time the budget must last."""
        if self.window_s is not None:
            return f"in any {self.window_s:g} s"
        return "per day" if self.per == "day" else "over the run"


class CuratorSection(Model):
    """The trusted cellular provider."""

    mechanism: Annotated[SerializeAsAny[Mechanism], Slot("mechanism", "contour")] = _default("contour", "mechanism")
    """What is published about where workers are."""
    release_every_s: float = Field(default=600.0, gt=0)
    """Releases happen at 0, this, twice this, … before the end, seconds."""
    budget: Budget = Field(default_factory=Budget)
    """What may be spent."""
    expected_workers: float | None = Field(default=None, gt=0)
    """Public estimate of the number of workers, for floors and grid sizes; never the true number. Default: the
    source's stated count, rounded to one significant figure."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    """`add_remove` one worker (sensitivity 1), or `replace` one worker's position (2)."""
    counts: Literal["all", "idle"] = "all"
    """Whom releases count: all workers, or those without a task."""

    @field_validator("neighbours", mode="before")
    @classmethod
    def _a_central_relation(cls, value: Any) -> Any:
        if value not in ("add_remove", "replace"):
            raise ValueError(f"must be 'add_remove' or 'replace', got {value!r}")
        return value


class ServerSection(Model):
    """The untrusted spatial-crowdsourcing server."""

    mode: Literal["server_assigned", "worker_selected"] = "server_assigned"
    """`server_assigned`: offers go to a circle around the task; `worker_selected`: tasks are posted for all, and
    workers take the nearest one they like (circles are not used)."""
    assignment: Annotated[SerializeAsAny[Assignment], Slot("assignment", "reward_radius")] = _default(
        "reward_radius", "assignment"
    )
    """How offers are planned."""
    assumed_acceptance: Annotated[SerializeAsAny[Acceptance] | None, Slot("acceptance")] = None
    """The willingness the server believes in; default: the true model."""
    batch_s: float = Field(default=60.0, gt=0)
    """Offers are planned every so many seconds, for all tasks that arrived since."""
    answer_window_s: float = Field(default=30.0, gt=0)
    """Workers answer within this time; then the curator picks one of those who accepted, uniformly."""
    reoffers: int = Field(default=0, ge=0)
    """How often a task nobody accepted is offered again, to a wider circle."""
    completion_rounding_s: float = Field(default=300.0, gt=0)
    """The server learns completion times rounded up to a multiple of this, seconds."""


class MapSection(Model):
    """How the run is drawn."""

    layers: tuple[Annotated[SerializeAsAny[Layer], Slot("layer")], ...] = Field(
        default_factory=lambda: tuple(Slot("layer").build(kind) for kind in DEFAULT_LAYERS)
    )
    """Layers, from bottom to top."""
    basemap: str = "none"
    """`none` (graticule), `osm` (online tiles, asked for only when chosen), or a GeoJSON file drawn beneath."""
    max_points: int = Field(default=5000, gt=0)
    """At most so many things are drawn per layer."""


class Scenario(Model):
    """One simulated world and the methods tried on it."""

    geodp: Literal[1]
    """Version of this format."""
    name: str = Field(min_length=1)
    """Short name: letters, digits, `-`, `_` and `.`; the run folder is called after it."""
    about: str = ""
    """One or two sentences on what this scenario shows."""
    seed: int = Field(default=0, ge=0)
    """Everything random follows from it."""
    region: Box
    """The public area."""
    start_time: str = "08:00"
    """Time of day at which the run starts."""
    duration_s: float = Field(default=3600.0, gt=0)
    """Length of the run, seconds."""
    plugins: tuple[str, ...] = ()
    """Files with plug-ins of your own."""
    workers: Workers = Field(default_factory=Workers)
    tasks: Tasks = Field(default_factory=Tasks)
    device: DeviceSection = Field(default_factory=DeviceSection)
    curator: CuratorSection | None = Field(default_factory=CuratorSection)
    """The trusted party; `null`: there is none."""
    server: ServerSection = Field(default_factory=ServerSection)
    publish: tuple[Annotated[SerializeAsAny[Publication], Slot("publication")], ...] = ()
    """What is published at the end of the run."""
    attacks: tuple[Annotated[SerializeAsAny[Attack], Slot("attack")], ...] = ()
    """What an adversary tries."""
    map: MapSection = Field(default_factory=MapSection)
    compare: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Arms: name → {dotted.path: value}; all run on the same world and the same luck."""

    @field_validator("name")
    @classmethod
    def _a_folder_name(cls, value: str) -> str:
        if not re.fullmatch(r"[\w.-]+", value) or value.startswith("."):
            raise ValueError(f"must be letters, digits, '-', '_' and '.', got {value!r}")
        return value

    @field_validator("start_time", mode="before")
    @classmethod
    def _a_time_of_day(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 24 * 60:
            value = f"{value // 60:02d}:{value % 60:02d}"  # YAML 1.1 reads an unquoted 8:30 as 510
        if not isinstance(value, str) or not re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", value):
            raise ValueError(f'must be a time of day such as "08:00", got {value!r}')
        return value

    @field_validator("compare")
    @classmethod
    def _arm_names(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:  # noqa: ARG003
        for name in value:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(f"arm {name!r}: names are letters, digits, '-', '_' and '.'")
        return value

    @property
    def start_s(self) -> float:
        """Time of day at which the run starts, in seconds after midnight."""
        hours, minutes = self.start_time.split(":")
        return 3600.0 * int(hours) + 60.0 * int(minutes)

    @property
    def area(self) -> Region:
        """The region, read from its file where it has one."""
        if self.region.file is not None:
            return region_from_file(Path(self.region.file))
        edges = (self.region.west, self.region.south, self.region.east, self.region.north)
        return Region(*(float(edge or 0.0) for edge in edges))

    def expected_tasks(self) -> float:
        """Return E|T|: how many tasks the public demand settings lead one to expect."""
        return self.tasks.demand.expected_tasks(start_s=self.start_s, duration_s=self.duration_s)

    @property
    def phones_report(self) -> bool:
        """Whether phones report straight to the server: nobody else is there to tell it where workers are."""
        return self.curator is None and self.server.mode == "server_assigned"

    def release_times(self) -> list[float]:
        """Return 0, P, 2P, … before the end: of the curator's releases, or of the phones' own reports."""
        if self.curator is None and not self.phones_report:
            return []
        every = self.device.report_every_s if self.curator is None else self.curator.release_every_s
        return [index * every for index in range(math.ceil(self.duration_s / every))]

    def history_times(self) -> list[float]:
        """Return when phones tell about histories: at the ends of equal parts of the run ([]: they never do)."""
        reports = 0 if self.device.history is None else self.device.history_reports
        return [self.duration_s * (index + 1) / reports for index in range(reports)]

    @property
    def needs_visits(self) -> bool:
        """Whether something is published, or told by phones, about visits."""
        return self.device.history is not None or any("visits" in item.reads for item in self.publish)

    @property
    def needs_trajectories(self) -> bool:
        """Whether something is published about trajectories."""
        return any("trajectories" in item.reads for item in self.publish)

    def resolved(self) -> Scenario:
        """Return the scenario with every default that depends on public facts written out."""
        from geodp.scenario_costs import costliest, in_force, published_charges, scheduled_charges

        facts = self.public_facts()
        total = facts.mean_reward * max(facts.expected_tasks, 1.0)
        acceptance = self.workers.acceptance.resolve(facts)
        assumed = self.server.assumed_acceptance or acceptance
        updates: dict[str, Any] = {
            "workers": self.workers.model_copy(
                update={
                    "source": self.workers.source.resolve(facts),
                    "mobility": self.workers.mobility.resolve(facts),
                    "histories": self._resolved_histories(facts),
                    "acceptance": acceptance,
                }
            ),
            "tasks": self.tasks.model_copy(update={"reward": Reward(total=total, minimum=facts.minimum_reward)}),
            "server": self.server.model_copy(
                update={
                    "assignment": self.server.assignment.resolve(facts),
                    "assumed_acceptance": assumed.resolve(facts),
                }
            ),
        }
        device = self.device.mechanism.resolve(facts)
        metric = self.device.budget.epsilon_per_m
        if metric is None:
            metric = _times(device.guarantee(self.area).epsilon, len(self.release_times()))
            if metric is not None:
                metric = plus(metric, *(epsilon for _, epsilon in published_charges(self, metric=True)))
        history = None if self.device.history is None else self.device.history.resolve(facts)
        per_item = self.device.budget.epsilon_per_item
        if per_item is None and history is not None:
            per_item = _times(history.guarantee().epsilon, self.device.history_reports)
        budget = self.device.budget.model_copy(update={"epsilon_per_m": metric, "epsilon_per_item": per_item})
        changed = {"mechanism": device, "history": history, "budget": budget}
        updates["device"] = self.device.model_copy(update=changed)
        if self.curator is not None:
            mechanism = (in_force(self) or self.curator.mechanism).resolve(facts)
            epsilon = self.curator.budget.epsilon
            if epsilon is None:
                charges = scheduled_charges(self, mechanism) + published_charges(self)
                epsilon = costliest(self.curator.budget, charges, self.start_s)
            updates["curator"] = self.curator.model_copy(
                update={
                    "mechanism": mechanism,
                    "expected_workers": facts.expected_workers,
                    "budget": self.curator.budget.model_copy(update={"epsilon": epsilon}),
                }
            )
        updates["publish"] = tuple(item.resolve(facts) for item in self.publish)
        return self.model_copy(update=updates)

    def _resolved_histories(self, facts: PublicFacts) -> VisitHistories | None:
        histories = self.workers.histories
        if histories is None and self.needs_visits:
            histories = Slot("histories").build("generated_visits")
        return None if histories is None else histories.resolve(facts)

    def public_facts(self) -> PublicFacts:
        """Return what everyone knows before the run."""
        region, tasks = self.area, self.expected_tasks()
        total = self.tasks.reward.total
        mean = DEFAULT_MEAN_REWARD if total is None else total / max(tasks, 1.0)
        minimum = self.tasks.reward.minimum
        return PublicFacts(
            expected_workers=self.expected_workers() or 1.0,
            expected_tasks=tasks,
            mean_reward=mean,
            minimum_reward=0.1 * mean if minimum is None else minimum,
            width_m=region.width_m,
            height_m=region.height_m,
            sensitivity=2.0 if self.curator is not None and self.curator.neighbours is Neighbours.REPLACE else 1.0,
        )

    def expected_workers(self) -> float | None:
        """Return the public estimate of the number of workers, or None when nothing public states it."""
        if self.curator is not None and self.curator.expected_workers is not None:
            return self.curator.expected_workers
        count = self.workers.source.public_count()
        return None if count is None else one_significant_figure(count)


def _times(epsilon: float, releases: int) -> float | None:
    """Return an exact decimal multiple, as the ledger adds up (None when nothing is promised or released)."""
    from decimal import Decimal

    return float(Decimal(repr(epsilon)) * releases) if math.isfinite(epsilon) and releases else None


def one_significant_figure(value: float) -> float:
    """Round to one significant figure: close enough for floors and grids, and it hides the exact count."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return round(value / power) * power


def load_scenario(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """Read, override and check a scenario file; every problem is reported at once.

    Parameters
    ----------
    path
        The YAML file. Relative paths in it are relative to it.
    overrides
        Dotted path → value, applied before anything is checked.
    """
    from geodp.scenario_file import read_scenario

    return read_scenario(Path(path), dict(overrides or {}))


def anchored(plugin: Plugin, folder: Path) -> Plugin:
    """Return the plug-in with its relative paths taken from a folder, where it has any."""
    method = getattr(plugin, "anchored", None)
    return plugin if method is None else method(folder)
