"""Workers whom the server asks by name: whom it asked about which task, and who of them cannot come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.events import Note, Reason
from geodp.public.messages import Answer, Named, Offer, Task

MOST_NAMED = 1000
"""Workers who are asked by name about a task at once, at most, where a target says how many."""


@dataclass
class NamedWorkers:
    """Whom the server asked by name, and who of them cannot come: what assignments that name workers go by."""

    asked: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Everyone who was asked about an open task, in order."""
    _unanswered: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _free_s: dict[str, float] = field(default_factory=dict)
    """When those who took a task are free again, as it was told; infinite while it was not."""

    def ask(self, task: int, target: object) -> None:
        """Remember an offer."""
        if isinstance(target, Named):
            self.asked[task] = self.asked.get(task, ()) + target.pseudonyms
            self._unanswered[task] = target.pseudonyms

    def hear_answer(self, answer: Answer) -> None:
        """Remember who took a task; whoever else was asked about it is free to be asked again."""
        self._unanswered.pop(answer.task, None)
        if answer.winners and self.asked.pop(answer.task, None) is not None:
            self._free_s |= dict.fromkeys(answer.winners, inf)

    def free(self, names: Sequence[str], time_s: float) -> None:
        """Remember that somebody is done, from a time on."""
        self._free_s |= {name: time_s for name in names if name in self._free_s}

    def forget(self, task: int) -> None:
        """Drop what was kept for further offers of a task."""
        self.asked.pop(task, None)
        self._unanswered.pop(task, None)

    def list_engaged(self, time_s: float) -> frozenset[str]:
        """Return everyone who is on the way, or has yet to answer."""
        self._free_s = {name: until for name, until in self._free_s.items() if until > time_s}
        return frozenset(self._free_s).union(*self._unanswered.values())


def rows_named(who: npt.NDArray[np.str_], names: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return where some names stand among all, which are in ascending order; unknown names are left out."""
    wanted = np.array(sorted(names), dtype=who.dtype)
    at = np.minimum(np.searchsorted(who, wanted), max(who.size - 1, 0))
    return np.asarray(at[who[at] == wanted] if who.size else at[:0], dtype=np.int64)


def count_enough(chance: Array, target: float) -> int:
    """Return how many workers, in this order, have to be asked so that somebody accepts with the target probability.

    All of them where not even all are enough.
    """
    with np.errstate(divide="ignore"):
        nobody = np.cumsum(np.log1p(-chance))
    enough = np.flatnonzero(nobody <= np.log1p(-target) * (1 - 1e-12))
    return int(enough[0]) + 1 if enough.size else int(chance.size)


def offer_by_name(task: Task, reward: float, who: npt.NDArray[np.str_], chance: Array, target: float | None) -> Offer:
    """Offer a task to workers by name, in this order; with a target to as many of them as reach it."""
    if who.size == 0:
        return Offer.refuse(task, Reason.BEYOND_REACH)
    asked = int(chance.size) if target is None else count_enough(chance, target)
    planned = float(1 - np.prod(1 - chance[:asked]))
    return Offer(
        task=task.task,
        reward=reward,
        target=Named(tuple(who[:asked].tolist())),
        planned_success=planned,
        expected_workers=float(asked),
        notes=(Note.SHORT_OF_TARGET,) if target is not None and planned < target * (1 - 1e-9) else (),
    )
