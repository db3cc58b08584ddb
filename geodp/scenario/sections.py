"""The sections of a scenario: who works, what is asked, what runs on phones, what is published, how it is drawn."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from geodp.curator.mechanisms import Mechanism
from geodp.device import Device
from geodp.device.history_reports import HistoryDevice
from geodp.geometry import Region, region_from_file, region_problems
from geodp.model import Model, bound_field
from geodp.privacy.data_days import ConcentratedBudget
from geodp.privacy.ledger import Allowance
from geodp.public.acceptance import Acceptance
from geodp.public.guarantee import Neighbours, Unit
from geodp.registry import Plugin, Slot
from geodp.server.assignment import Assignment
from geodp.tables.towers import TowerNetwork
from geodp.world.bounds import GREATEST_SPEED_MPS, LEAST_INTERVAL_S, LEAST_SPEED_MPS, SO_FAST, SO_SHORT
from geodp.world.demand import Demand
from geodp.world.mobility import Mobility
from geodp.world.sources import Source
from geodp.world.visit_sources import VisitSource

BASEMAPS = ("none", "streets", "osm")
"""Basemaps that are no files."""
DEFAULT_LAYERS = (
    "region",
    "cluster_areas",
    "release",
    "estimate",
    "cells",
    "reports",
    "cloaks",
    "candidates",
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
        if problems := region_problems(*(float(edge or 0.0) for edge in edges)):
            raise ValueError("; ".join(problems))
        return self

    @cached_property
    def area(self) -> Region:
        """The area itself, read once from its file where it has one."""
        if self.file is not None:
            return region_from_file(Path(self.file))
        return Region(*(float(edge or 0.0) for edge in (self.west, self.south, self.east, self.north)))


class Workers(Model):
    """The people who carry phones."""

    source: Annotated[SerializeAsAny[Source], Slot("source", "synthetic_city")] = _default("synthetic_city", "source")
    """Where workers come from."""
    mobility: Annotated[SerializeAsAny[Mobility], Slot("mobility", "static")] = _default("static", "mobility")
    """How they move."""
    visit_source: Annotated[SerializeAsAny[VisitSource] | None, Slot("visit_source")] = None
    """Where they have been, for what is published or told about visits; default: `generated_visits` where needed."""
    acceptance: Annotated[SerializeAsAny[Acceptance], Slot("acceptance", "tanh_reward")] = _default(
        "tanh_reward", "acceptance"
    )
    """How willing they truly are."""
    travel_speed_mps: float = bound_field(SO_FAST, default=4.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Speed on the way to a task, metres per second."""

    @model_validator(mode="after")
    def _visits_follow_movements(self) -> Self:
        if self.visit_source is not None:
            self.visit_source.follow(self.mobility)
        return self


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
    patience_s: float = bound_field(SO_SHORT, default=900.0, ge=LEAST_INTERVAL_S)
    """A task not accepted after this time is given up, seconds."""
    place_epsilon_per_m: float | None = Field(default=None, gt=0)
    """Requesters blur the place of each task with planar Laplace noise, once, before the server sees it; ε per metre.
    Those who are asked are told the true place. Only where workers are asked by name. null: the server knows it."""
    workers_per_task: int = Field(default=1, ge=1, le=100)
    """Workers whom a task needs at the same time; they share its reward evenly. More than one: `geocast` only."""
    called_off_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of accepted tasks that are called off by who asked for them, before anybody sets out."""


class DeviceBudget(Model):
    """How much the phones may spend."""

    epsilon_per_m: float | None = Field(default=None, gt=0)
    """Epsilon per metre per person over the whole run; default: exactly what the schedule of reports costs."""
    epsilon: float | None = Field(default=None, gt=0)
    """Epsilon per person over the whole run, for phones that answer about cells with nobody trusted (`cell_response`);
    default: exactly what the schedule of reports costs."""
    epsilon_per_item: float | None = Field(default=None, gt=0)
    """Epsilon per item of a person's history over the whole run, for what phones tell about histories; default: exactly
    what their reports cost."""
    when_spent: Literal["stop", "reuse_last", "fail"] = "reuse_last"
    """Afterwards: `stop` (the server has nothing to plan from), `reuse_last` reports, or `fail` the run."""


class DeviceSection(Model):
    """What the phone does before anything leaves it."""

    mechanism: Annotated[SerializeAsAny[Device], Slot("device", "none")] = _default("none", "device")
    """Mechanism on the phone."""
    report_every_s: float = bound_field(SO_SHORT, default=600.0, ge=LEAST_INTERVAL_S)
    """Without a curator phones report to the server at 0, this, twice this, … before the end, seconds. (With one they
    report to it whenever it releases.)"""
    budget: DeviceBudget = Field(default_factory=DeviceBudget)
    """What may be spent on reports."""
    memoise_m: float | None = Field(default=None, gt=0)
    """Without a curator: in a cell of this side where a phone has reported before, it repeats its answer, metres. The
    noise cannot be averaged away, but who returns to a cell gives that away. Default: every report is drawn anew."""
    history_report: Annotated[SerializeAsAny[HistoryDevice] | None, Slot("history_report")] = None
    """What phones tell about the places their owners have been to, by consent; default: nothing."""
    history_reports: int = bound_field("each is a file", default=1, ge=1, le=1000)
    """How often during the run phones tell about histories, which grow: the last time at its end. Costs add up."""

    @model_validator(mode="before")
    @classmethod
    def _levels_of_the_mechanism(cls, data: Any) -> Any:
        """Take `levels` beside the mechanism as the mechanism's own."""
        if not isinstance(data, dict) or "levels" not in data:
            return data
        rest = {key: value for key, value in data.items() if key != "levels"}
        mechanism = rest.get("mechanism")
        fields = {"kind": mechanism} if isinstance(mechanism, str) else mechanism
        if not isinstance(fields, dict) or "levels" in fields:
            raise ValueError(
                "levels are those of a mechanism: give device.mechanism (kind: planar_laplace), and levels"
            )
        return {**rest, "mechanism": {**fields, "levels": data["levels"]}}


class Budget(Model):
    """How much the curator may spend."""

    epsilon: float | None = Field(default=None, gt=0)
    """Epsilon per person over the run (or day, or window); default: exactly what the release schedule costs."""
    delta: float | None = Field(default=None, ge=0, lt=1)
    """δ at which that epsilon is stated, where releases or publications promise a ρ (zero-concentrated privacy)."""
    rho: float | None = Field(default=None, gt=0)
    """Instead of epsilon: the most that all may come to as ρ."""
    unit: Literal["person-day", "person-week", "person"] = "person"
    """With rho or delta: what the budget bounds, a person's day of the data, any seven of them, or all."""
    per: Literal["run", "day"] = "run"
    """How long it must last: the whole `run`, or each calendar `day`, after which it is there anew."""
    window_s: float | None = bound_field(SO_SHORT, default=None, ge=LEAST_INTERVAL_S)
    """Instead: at most epsilon in any window of so many seconds (w-event privacy)."""
    split: Literal["given", "even"] = "given"
    """How it is shared out: each release has the mechanism's own ε (`given`), or all releases of a run, day or window
    that look at people get the same share of epsilon (`even`)."""
    when_spent: Literal["stop", "reuse_last", "fail"] = "reuse_last"
    """Afterwards: `stop` (the server has nothing to plan from), `reuse_last` release, or `fail` the run."""
    people: Literal["all", "filter"] = "all"
    """Who is counted: `all`, who then all pay for every release, also where they are not there; or (`filter`) those
    who can still pay out of an epsilon of their own: each pays for the releases that count her, nothing is refused,
    and who has spent hers is no longer counted. Nobody learns who, or how many. Add/remove only, over the run."""
    by_group: dict[str, float] = Field(default_factory=dict, max_length=100)
    """With `people: filter`: epsilon of each person of a group, where the mechanism has groups (`levels`)."""

    @model_validator(mode="after")
    def _one_currency(self) -> Self:
        if self.rho is not None and (self.epsilon is not None or self.delta is not None):
            raise ValueError("a budget is an epsilon (with a delta) or a rho, not both")
        if self.delta is not None and self.epsilon is None:
            raise ValueError("delta is that at which epsilon is stated: give the budget's epsilon")
        if self.unit != "person" and not self.counts_rho:
            raise ValueError("unit says what a budget of rho, or of epsilon with a delta, bounds: give one of them")
        if self.counts_rho and (self.per == "day" or self.window_s is not None or self.people == "filter"):
            raise ValueError("a budget with rho or delta bounds its unit: leave per, window_s and people out")
        return self

    @property
    def counts_rho(self) -> bool:
        """Whether it bounds what zero-concentrated and pure charges come to together."""
        return self.rho is not None or self.delta is not None

    @property
    def concentrated(self) -> ConcentratedBudget | None:
        """The same as the ledger takes it (None: it is one of epsilons that add up)."""
        if not self.counts_rho:
            return None
        unit = {"person-day": Unit.PERSON_DAY, "person-week": Unit.PERSON_WEEK, "person": Unit.USER}[self.unit]
        return ConcentratedBudget(rho=self.rho, epsilon=self.epsilon, delta=self.delta, unit=unit)

    @model_validator(mode="after")
    def _one_window(self) -> Self:
        if self.people == "filter" and (self.per == "day" or self.window_s is not None):
            raise ValueError("people: filter adds up over the run: leave per and window_s out")
        if self.by_group and self.people != "filter":
            raise ValueError("by_group has no effect without people: filter: leave it out")
        if not all(epsilon > 0 for epsilon in self.by_group.values()):
            raise ValueError(f"by_group needs an epsilon greater than 0 for each group, got {self.by_group}")
        if self.split == "even" and self.epsilon is None:
            raise ValueError("split: even shares out epsilon: give the budget's epsilon")
        if self.per == "day" and self.window_s is not None:
            raise ValueError("a budget lasts per day or per window: give per: day or window_s, not both")
        return self

    def allowance(self, start_s: float) -> Allowance:
        """Return the budget as the ledger takes it; the run starts at a time of day."""
        return Allowance(self.epsilon, self.per, self.window_s, midnight_s=-start_s)

    def lasts(self) -> str:
        """Say over which time the budget must last."""
        if self.window_s is not None:
            return f"in any {self.window_s:g} s"
        return "per day" if self.per == "day" else "over the run"


class CuratorSection(Model):
    """The trusted cellular provider."""

    mechanism: Annotated[SerializeAsAny[Mechanism], Slot("mechanism", "contour")] = _default("contour", "mechanism")
    """What is published about where workers are."""
    release_every_s: float = bound_field(SO_SHORT, default=600.0, ge=LEAST_INTERVAL_S)
    """Releases happen at 0, this, twice this, … before the end, seconds."""
    budget: Budget = Field(default_factory=Budget)
    """What may be spent."""
    expected_workers: float | None = Field(default=None, gt=0)
    """Public estimate of the number of workers, for floors and grid sizes; never the true number. Default: the
    source's stated count, rounded to one significant figure."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    """`add_remove` one worker (sensitivity 1), or `replace` one worker's position (2)."""
    towers: TowerNetwork | None = None
    """The cellular network by which the curator sees phones: count, layout, range_m, noise_db, or a file of sites.
    A snapshot tells the tower that serves each phone, and a place drawn evenly from its cell. null: true places."""
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
    looks_per_hour: float | None = bound_field("nobody looks so often", default=0.25, gt=0, le=3600)
    """With `worker_selected`: how often a worker without a task looks at what is posted, mean per hour, at random
    moments. The default, four times in sixteen hours, is our choice: no source states it. null: in every batch."""
    tasks_per_look: int = bound_field("nobody reads on", default=5, ge=1, le=1000)
    """With `worker_selected`: how many of the nearest open tasks that she has not declined she then considers, nearest
    first, until she accepts one. The default is our choice: what a phone shows without scrolling."""
    assignment: Annotated[SerializeAsAny[Assignment], Slot("assignment", "reward_radius")] = _default(
        "reward_radius", "assignment"
    )
    """How offers are planned."""
    assumed_acceptance: Annotated[SerializeAsAny[Acceptance] | None, Slot("acceptance")] = None
    """The willingness the server believes in; default: the true model."""
    batch_s: float = bound_field(SO_SHORT, default=60.0, ge=LEAST_INTERVAL_S)
    """Offers are planned every so many seconds, for all tasks that arrived since."""
    answer_window_s: float = bound_field(SO_SHORT, default=30.0, ge=LEAST_INTERVAL_S)
    """Workers answer within this time; then the curator picks one of those who accepted, uniformly."""
    reoffers: int = bound_field("patience ends before", default=0, ge=0, le=1000)
    """How often a task nobody accepted is offered again, to a wider circle."""
    completion_rounding_s: float = bound_field(SO_SHORT, default=300.0, ge=LEAST_INTERVAL_S)
    """The server learns completion times rounded up to a multiple of this, seconds."""

    @model_validator(mode="after")
    def _looks_at_a_board(self) -> Self:
        """Refuse settings of the board where there is none, unless they say what they would be anyway."""
        if self.mode == "worker_selected":
            return self
        fields = type(self).model_fields
        for name in ("looks_per_hour", "tasks_per_look"):
            if name in self.model_fields_set and getattr(self, name) != fields[name].default:
                raise ValueError(f"{name} has no effect without mode: worker_selected: leave it out")
        return self


class Refusal(Model):
    """Randomised refusal: what bounds what outcomes of tasks tell of those who took none, whatever people do."""

    epsilon: float = Field(default=3.0, gt=0, le=100)
    """ε of one window, for everyone, beside that of the releases."""
    offers: int = bound_field("nobody answers more", default=3, ge=1, le=10_000)
    """Tasks that a phone considers in a window at most, muted ones included (K); it says nothing about further ones."""
    window_s: float = bound_field("a run spans at most a year", default=86_400.0, ge=LEAST_INTERVAL_S)
    """Length of a window, seconds, from the start of the run on."""

    @property
    def mute(self) -> float:
        """Return ρ = e^(-ε/K): the chance that a phone mutes a task before its owner sees it."""
        return math.exp(-self.epsilon / self.offers)

    def windows(self, duration_s: float) -> int:
        """Return how many windows a run touches."""
        return max(1, math.ceil(duration_s / self.window_s))


class Protocol(Model):
    """What bounds the protocol: off by default, and then nothing is claimed about it."""

    refusal: Refusal | None = None
    """Phones mute tasks by lot and consider few (null: they do not). One draw per phone and task, so that offering a
    task again meets the same draw."""
    pay_called_off: bool = False
    """Whether who accepted a task is paid even if it is called off: then posting tasks that nobody wants done costs."""
    least_people: float | None = Field(default=None, gt=0, le=1_000_000)
    """People expected in every circle, at least, by the released map: smaller circles grow, and a task around which
    there are too few within reach gets no offer (null: any circle goes)."""
    per_km2_hour: float | None = Field(default=None, gt=0)
    """New tasks in each square kilometre and hour at most; the others get no offer (null: any number)."""
    new_names: bool = False
    """Whether the server learns of each task a new pseudonym of whoever takes it, so that tasks cannot be linked."""

    @property
    def limits(self) -> dict[str, Any]:
        """Return the public rules that limit a malicious server, by name."""
        refusal = self.refusal
        return {
            "answers": None if refusal is None else refusal.offers,
            "mute": 0.0 if refusal is None else refusal.mute,
            "least_people": self.least_people or 0.0,
            "per_km2_hour": self.per_km2_hour,
            "pay_called_off": self.pay_called_off,
            "new_names": self.new_names,
        }


class MapSection(Model):
    """How the run is drawn."""

    layers: tuple[Annotated[SerializeAsAny[Plugin], Slot("layer")], ...] = Field(
        default_factory=lambda: tuple(Slot("layer").build(kind) for kind in DEFAULT_LAYERS), max_length=100
    )
    """Layers, from bottom to top."""
    basemap: str = "none"
    """`none` (graticule), `streets` (generated ones), `osm` (online tiles, asked for only when chosen), or a file of
    areas and lines (GeoJSON, GeoPackage, …)."""
    places: str | None = None
    """Gazetteer whose names the map shows: a file of points with a `name` (GeoJSON, GeoPackage, or csv with `lon`,
    `lat`, `name`); those with a larger `population` come first."""
    max_points: int = bound_field("a page cannot hold more", default=5000, gt=0, le=1_000_000)
    """Maximum number of things drawn per layer."""
