"""Phones that report by themselves: each asks the ledger, blurs its own position, and trusts nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from geodp.device import DecoyDevice, Device
from geodp.device.cell_response import CellResponse
from geodp.device.memory import Memory, state_memoised
from geodp.device.planar import PlanarDevice
from geodp.errors import BudgetSpent, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.ledger import Ledger
from geodp.public.cell_reports import CellReports
from geodp.public.guarantee import Guarantee, Unit
from geodp.public.release import Cells, Points
from geodp.server.cells_from_reports import cells_from_reports

Ids = npt.NDArray[np.int64]
_ADVICE = "Raise device.budget.{field}, report less often, or set device.budget.when_spent: reuse_last."


@dataclass
class Phones:
    """All phones at once, as columns; no phone's report depends on another's position."""

    device: Device
    ledger: Ledger
    when_spent: Literal["stop", "reuse_last", "fail"]
    region: Region
    size: int
    """Number of workers."""
    pseudonyms: Callable[[Ids], npt.NDArray[np.str_]]
    """Returns the names under which the server knows workers."""
    memory: Memory | None = None
    """What phones have reported before, where they repeat their answers."""
    current: Points | Cells | None = field(default=None, init=False)
    """What the server can see now: the newest reports, or what it counts from answers about cells; or None."""
    answers: CellReports | None = field(default=None, init=False)
    """The newest answers about cells."""
    _made_up: tuple[Array, Array] | None = field(default=None, init=False)
    """Made-up places of the last reports, in the order of the names, where phones send any: each knows its own."""
    groups: npt.NDArray[np.str_] | None = None
    """Public group of each worker, where phones have levels of their own (None: all are alike)."""
    charged: Array = field(init=False)
    """What each worker's own reports have cost, per metre or (about cells) as it is: at most what was charged."""

    def __post_init__(self) -> None:
        self.charged = np.zeros(self.size)

    @cached_property
    def _by_name(self) -> tuple[npt.NDArray[np.str_], Ids]:
        """All pseudonyms in ascending order, and the worker behind each."""
        names = self.pseudonyms(np.arange(self.size))
        order = np.argsort(names, kind="stable")
        return names[order], order

    def names_of(self, workers: Ids) -> npt.NDArray[np.str_]:
        """Return the names under which the server knows some workers."""
        names, order = self._by_name
        by_worker = np.empty_like(names)
        by_worker[order] = names
        return by_worker[workers]

    def afford(self, time_s: float) -> bool:
        """Ask the ledger for one report of everyone, and charge it; the public schedule alone decides.

        A mechanism that promises nothing, or whose claim does not hold, is not charged: there is no epsilon to add up.
        """
        promise = self.device.guarantee(self.region)
        if promise.unit is Unit.NOTHING or not promise.holds:
            return True
        try:
            self._charge(promise, time_s)
        except BudgetSpent as short:
            if self.when_spent == "fail":
                metric = promise.unit is Unit.POINT
                advice = _ADVICE.format(field="epsilon_per_m" if metric else "epsilon")
                what = "ε per metre" if metric else "ε of phones' reports"
                raise BudgetSpent(short.requested, short.remaining, time_s, what, advice) from None
            if self.when_spent == "stop":
                self.current = None
            return False
        return True

    @property
    def answers_about_cells(self) -> bool:
        """Whether phones answer in which cell they are, instead of reporting places."""
        return isinstance(self.device, CellResponse)

    def _charge(self, promise: Guarantee, time_s: float) -> None:
        """Charge everyone, or each group its own: all of them or none, by the group that pays most."""
        if self.groups is None:
            self.ledger.charge(promise, time_s=time_s, mechanism=self.device.kind)
            return
        dearest_first = sorted(promise.by_group, key=lambda item: -item[1])
        for name, _ in dearest_first:
            self.ledger.charge(
                promise.for_one(name),
                time_s=time_s,
                mechanism=self.device.kind,
                who=np.flatnonzero(self.groups == name),
                group=name,
            )

    @cached_property
    def _devices(self) -> list[tuple[str, Device, Ids]]:
        """What runs on the phones of each group, and whose they are."""
        if self.groups is None or not isinstance(self.device, PlanarDevice):
            return [("", self.device, np.arange(self.size))]
        names = self.device.group_shares
        return [(name, self.device.for_group(name), np.flatnonzero(self.groups == name)) for name in names]

    def report(self, time_s: float, x_m: Array, y_m: Array, rng: np.random.Generator) -> Points | None:
        """Let every phone report to the server, or none when the budget is spent.

        Rows come in the order of the pseudonyms, which are random: the order of a source may tell places.
        """
        if not self.afford(time_s):
            return None
        names, order = self._by_name
        if isinstance(self.device, DecoyDevice):
            about = {
                "time_s": time_s,
                "mechanism": self.device.kind,
                "guarantee": self.guarantee(),
                "who": names,
                "floor_per_m2": self.size / (10 * self.region.area_m2),
            }
            reported, self._made_up = self.device.report_all(
                x_m[order], y_m[order], rng=rng, region=self.region, last=self._made_up, about=about
            )
            self.current = reported
            return reported
        reported_x, reported_y = self.draw(x_m, y_m, rng)
        laws = {name: device.channel(self.region) for name, device, _ in self._devices}
        levels: dict[str, Any] = {}
        if self.groups is not None:
            own = dict(self.device.guarantee(self.region).by_group)
            levels = {"group": self.groups[order], "channels": laws}
            levels["epsilon_per_m"] = np.array([own[name] for name in self.groups[order].tolist()])
        points = Points(
            time_s=time_s,
            mechanism=self.device.kind,
            guarantee=self.guarantee(),
            who=names,
            x_m=np.asarray(reported_x)[order],
            y_m=np.asarray(reported_y)[order],
            channel=max(laws.values(), key=lambda law: 0.0 if law is None else law.epsilon_per_m),
            floor_per_m2=self.size / (10 * self.region.area_m2),
            **levels,
        )
        self.current = points
        return points

    def answer(self, time_s: float, x_m: Array, y_m: Array, rng: np.random.Generator) -> CellReports | None:
        """Let every phone answer in which cell it is, or none when the budget is spent; the server counts."""
        if not isinstance(self.device, CellResponse):
            raise UsageError(f"device.mechanism: '{self.device.kind}' answers nothing about cells")
        if not self.afford(time_s):
            return None
        names, order = self._by_name
        self.charged += _cost(self.device, self.region)
        self.answers = self.device.respond(
            x_m[order], y_m[order], rng=rng, region=self.region, who=names, time_s=time_s
        )
        self.current = cells_from_reports(self.answers)
        return self.answers

    def to_curator(
        self, x_m: Array, y_m: Array, workers: Ids | npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return what the phones of some workers report to a curator, for whom `afford` was asked before."""
        who = np.arange(self.size)[workers]
        x, y = np.empty(who.size), np.empty(who.size)
        for device, rows in self._by_device(who):
            self.charged[who[rows]] += _cost(device, self.region)
            x[rows], y[rows] = device.report(x_m[rows], y_m[rows], rng=rng, region=self.region)
        return x, y

    def draw(self, x_m: Array, y_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return what every phone reports, and remember what it cost whom: a repeated answer costs nothing."""
        everyone = np.arange(self.size)
        if self.memory is None:
            return self.to_curator(x_m, y_m, everyone, rng)
        x, y = np.empty(self.size), np.empty(self.size)
        for device, rows in self._by_device(everyone):
            x[rows], y[rows], fresh = self.memory.report(
                device, everyone[rows], x_m[rows], y_m[rows], rng=rng, region=self.region
            )
            self.charged[everyone[rows][fresh]] += _cost(device, self.region)
        return x, y

    def _by_device(self, who: Ids) -> Iterator[tuple[Device, Ids]]:
        """Yield what runs on the phones of some workers, and the rows of those who run it."""
        if self.groups is None:
            yield self.device, np.arange(who.size)
            return
        for name, device, _ in self._devices:
            yield device, np.flatnonzero(self.groups[who] == name)

    def guarantee(self) -> Guarantee:
        """Say what one report promises, and no more than that when answers are repeated."""
        promise = self.device.guarantee(self.region)
        return promise if self.memory is None else state_memoised(promise)

    def workers(self, who: Sequence[str] | npt.NDArray[np.str_], *, asked_by: str) -> Ids:
        """Return the workers behind pseudonyms; `asked_by` is the kind of the assignment that names them."""
        names, order = self._by_name
        wanted = np.asarray(who, dtype=np.str_)
        place = np.searchsorted(names, wanted)
        unknown = wanted[names.take(place, mode="clip") != wanted] if names.size else wanted
        if unknown.size:
            raise UsageError(
                f"server.assignment: '{asked_by}' made an offer to {str(unknown[0])!r}, and no worker has that "
                "pseudonym. Named(pseudonyms) takes names as the reports of phones have them (`who` of a release of "
                "points)."
            )
        return np.asarray(order[place], dtype=np.int64)


def _cost(device: Device, region: Region) -> float:
    promise = device.guarantee(region)
    return 0.0 if promise.unit is Unit.NOTHING or not promise.holds else promise.epsilon
