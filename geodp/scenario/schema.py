"""The YAML a user writes, as a frozen and validated `Scenario`; unknown keys are errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from geodp.attacks import Attack
from geodp.curator.publications import Publication
from geodp.device.memory import state_memoised
from geodp.errors import OldMethod
from geodp.geometry import Region
from geodp.model import Model, bound_field
from geodp.public.guarantee import Guarantee, Neighbours, plus
from geodp.registry import FilePlugin, PublicFacts, Slot
from geodp.scenario.sections import (
    Box,
    CuratorSection,
    DeviceSection,
    MapSection,
    Protocol,
    Reward,
    ServerSection,
    Tasks,
    Workers,
)
from geodp.storage.names import require_name
from geodp.world.bounds import LONGEST_RUN_S, MOST_ARMS, MOST_PLUGINS
from geodp.world.visit_sources import VisitSource

DEFAULT_MEAN_REWARD = 10.0
WORLD_PATHS = (
    "geodp",
    "seed",
    "region",
    "duration_s",
    "start_time",
    "plugins",
    "workers.source",
    "workers.mobility",
    "workers.visit_source",
    "tasks.demand",
    "compare",
)
"""What the arms of a comparison share: they differ in method, never in the world."""


LEAST_PRICED, MOST_PRICED = 0.05, 0.99
"""Between these a success can be priced: beyond them a calibration's tolerance would be all there is."""


class Scenario(Model):
    """One simulated world and the methods tried on it.

    Its fields are the keys of the YAML file; `load_scenario` reads one.

    Raises
    ------
    pydantic.ValidationError
        If a key is unknown or a value is not allowed; `load_scenario` reports the same as a `ScenarioError`.

    Examples
    --------
    >>> from geodp import Scenario
    >>> town = Scenario(geodp=1, name="town", region={"west": 10.0, "south": 50.0, "east": 10.1, "north": 50.1})
    >>> town.curator.mechanism.kind, town.release_times()
    ('contour', [0.0, 600.0, 1200.0, 1800.0, 2400.0, 3000.0])
    """

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
    duration_s: float = bound_field("a run spans at most a year", default=3600.0, gt=0, le=LONGEST_RUN_S)
    """Length of the run, seconds."""
    plugins: tuple[str, ...] = Field(default=(), max_length=MOST_PLUGINS)
    """Files with plug-ins of your own."""
    workers: Workers = Field(default_factory=Workers)
    """The people who carry phones."""
    tasks: Tasks = Field(default_factory=Tasks)
    """The work."""
    device: DeviceSection = Field(default_factory=DeviceSection)
    """What the phone does before anything leaves it."""
    curator: CuratorSection | None = Field(default_factory=CuratorSection)
    """The trusted party; `null`: there is none."""
    server: ServerSection = Field(default_factory=ServerSection)
    """The untrusted server, which plans offers."""
    protocol: Protocol = Field(default_factory=Protocol)
    """What bounds what the server learns of those who take no task."""
    publish: tuple[Annotated[SerializeAsAny[Publication], Slot("publication")], ...] = Field(default=(), max_length=100)
    """What is published at the end of the run."""
    attacks: tuple[Annotated[SerializeAsAny[Attack], Slot("attack")], ...] = Field(default=(), max_length=100)
    """What an adversary tries."""
    yardstick: bool | Literal["auto"] = "auto"
    """Whether to measure what somebody who knew everything would do with each task. `auto`: up to 200,000 workers and
    20,000 tasks, since it looks through everyone once more."""
    map: MapSection = Field(default_factory=MapSection)
    """How the run is drawn."""
    compare: dict[str, dict[str, Any]] = Field(default_factory=dict, max_length=MOST_ARMS)
    """Arms: name → {dotted.path: value}; all run on the same world and the same luck."""
    compare_at_success: float | None = Field(default=None, ge=LEAST_PRICED, le=MOST_PRICED)
    """With `compare`: the target of every arm that plans on one is moved until its expected success is this, and what
    that costs is stated beside (`equal_success.csv`; a few further runs per arm). Default: arms run as they stand."""

    @field_validator("name")
    @classmethod
    def _a_folder_name(cls, value: str) -> str:
        return require_name(value)

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
            require_name(name, "the name of an arm")
        return value

    @field_validator("compare_at_success")
    @classmethod
    def _arms_to_price(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("compare") == {}:
            raise ValueError("prices the arms of a comparison: give 'compare', or use 'geodp advise --within'")
        return value

    @property
    def start_s(self) -> float:
        """Time of day at which the run starts, in seconds after midnight."""
        hours, minutes = self.start_time.split(":")
        return 3600.0 * int(hours) + 60.0 * int(minutes)

    @property
    def area(self) -> Region:
        """The region, read once from its file where it has one."""
        return self.region.area

    def file_plugins(self) -> Iterator[tuple[str, FilePlugin]]:
        """Yield the plug-ins that may read files, each with its dotted path."""
        sections = [("", self), ("workers", self.workers), ("tasks", self.tasks), ("device", self.device)]
        for section, values in sections:
            for name in type(values).model_fields:
                value, path = getattr(values, name), f"{section}.{name}".lstrip(".")
                many = value if isinstance(value, tuple) else ()
                found = [(f"{path}.{index}", part) for index, part in enumerate(many)] or [(path, value)]
                yield from ((where, part) for where, part in found if isinstance(part, FilePlugin))

    def expected_tasks(self) -> float:
        """Return E|T|: how many tasks the public demand settings lead one to expect."""
        return self.tasks.demand.expected_tasks(start_s=self.start_s, duration_s=self.duration_s)

    @property
    def phones_report(self) -> bool:
        """Whether phones report straight to the server: nobody else is there to tell it where workers are."""
        return self.curator is None and self.server.mode == "server_assigned"

    def report_guarantee(self) -> Guarantee:
        """Return what one report of a phone promises, repeated answers taken into account."""
        promise = self.device.mechanism.guarantee(self.area)
        return promise if self.device.memoise_m is None else state_memoised(promise)

    @property
    def release_every_s(self) -> float:
        """Time from one release of the curator, or round of reports without one, to the next."""
        return self.device.report_every_s if self.curator is None else self.curator.release_every_s

    def release_times(self) -> list[float]:
        """Return 0, P, 2P, … before the end: of the curator's releases, or of the phones' own reports."""
        return [index * self.release_every_s for index in range(self.release_count())]

    def release_count(self) -> int:
        """Return how many releases, or rounds of reports, there are."""
        releasing = self.curator is not None or self.phones_report
        return math.ceil(self.duration_s / self.release_every_s) if releasing else 0

    def history_times(self) -> list[float]:
        """Return when phones tell about histories: at the ends of equal parts of the run ([]: they never do)."""
        reports = 0 if self.device.history_report is None else self.device.history_reports
        return [self.duration_s * (index + 1) / reports for index in range(reports)]

    @property
    def needs_visits(self) -> bool:
        """Whether something is published, or told by phones, about visits."""
        return self.device.history_report is not None or any("visits" in item.reads for item in self.publish)

    @property
    def needs_trajectories(self) -> bool:
        """Whether something is published about trajectories."""
        return any("trajectories" in item.reads for item in self.publish)

    def resolve(self) -> Scenario:
        """Return the scenario with every default that depends on public facts written out."""
        from geodp.scenario.costs import (
            costliest,
            counts_rho,
            in_force,
            list_publication_charges,
            list_scheduled_charges,
        )

        facts = self.public_facts()
        total = facts.mean_reward * max(facts.expected_tasks, 1.0)
        acceptance = self.workers.acceptance.resolve(facts)
        assumed = self.server.assumed_acceptance or acceptance
        updates: dict[str, Any] = {
            "workers": self.workers.model_copy(
                update={
                    "source": self.workers.source.resolve(facts),
                    "mobility": self.workers.mobility.resolve(facts),
                    "visit_source": self._resolve_visit_source(facts),
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
        metric, local = self.device.budget.epsilon_per_m, self.device.budget.epsilon
        promise = device.guarantee(self.area)
        if promise.account == "local" and promise.holds:
            local = local or _times(promise.epsilon, len(self.release_times()))
        elif metric is None and promise.account != "local":
            metric = _times(promise.epsilon, len(self.release_times()))
            if metric is not None:
                metric = plus(metric, *(epsilon for _, epsilon in list_publication_charges(self, metric=True)))
        history = None if self.device.history_report is None else self.device.history_report.resolve(facts)
        per_item = self.device.budget.epsilon_per_item
        if per_item is None and history is not None:
            per_item = _times(history.guarantee().epsilon, self.device.history_reports)
        own = {"epsilon_per_m": metric, "epsilon": local, "epsilon_per_item": per_item}
        budget = self.device.budget.model_copy(update=own)
        changed = {"mechanism": device, "history_report": history, "budget": budget}
        updates["device"] = self.device.model_copy(update=changed)
        if self.curator is not None:
            mechanism = (in_force(self) or self.curator.mechanism).resolve(facts)
            epsilon = self.curator.budget.epsilon
            if epsilon is None and not counts_rho(self):
                charges = list_scheduled_charges(self, mechanism) + list_publication_charges(self)
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

    resolved: ClassVar[Any] = OldMethod("resolve")

    def _resolve_visit_source(self, facts: PublicFacts) -> VisitSource | None:
        histories = self.workers.visit_source
        if histories is None and self.needs_visits:
            histories = Slot("visit_source").build("generated_visits")
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
            releases=max(self.release_count(), 1),
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


def load_scenario(
    path: str | Path, overrides: Mapping[str, Any] | None = None, *, trust_plugins: bool = False
) -> Scenario:
    """Read, override and check a scenario file; every problem is reported at once.

    Parameters
    ----------
    path
        The YAML file. Relative paths in it are relative to it.
    overrides
        Dotted path → value, applied before anything is checked.
    trust_plugins
        Whether to run the plug-in files that the scenario names: they are programs of whoever wrote it. Reading alone
        never runs them; `run` does.

    Returns
    -------
    Scenario
        The scenario, checked; paths in it are absolute.

    Raises
    ------
    ScenarioError
        If anything in the file is wrong; it lists all of it.
    DataError
        If the file cannot be read.
    UsageError
        If an override names a path that cannot be set.

    Examples
    --------
    >>> import geodp
    >>> scenario = geodp.load_scenario("scenarios/quickstart.yaml", {"seed": 7})
    >>> scenario.name, scenario.seed
    ('quickstart', 7)
    """
    from geodp.scenario.file import read_scenario

    return read_scenario(Path(path), dict(overrides or {}), trust_plugins=trust_plugins)
