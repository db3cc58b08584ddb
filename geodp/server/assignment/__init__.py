"""How the server turns releases into offers; verb: `offers`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from geodp.geometry import Region
from geodp.public.acceptance import Acceptance
from geodp.public.events import Reason
from geodp.public.messages import Offer, Rectangle, Task
from geodp.public.release import Cells, Points
from geodp.registry import Plugin
from geodp.server.rewards import find_funded


@dataclass(frozen=True)
class ServerView:
    """The server's knowledge at one moment: public settings and the newest release.

    Parameters
    ----------
    time_s
        When, seconds from the start of the run.
    region
        The public area.

    Examples
    --------
    >>> import geodp
    >>> from geodp.geometry import Region
    >>> from geodp.server.assignment import ServerView
    >>> willing = geodp.plugin("linear", "acceptance")
    >>> view = ServerView(0.0, Region(10.0, 50.0, 10.08, 50.05), None, willing, 100.0, 10.0, 1.0)
    >>> round(view.equal_reward(20), 6)
    5.0
    """

    time_s: float
    region: Region
    release: Cells | Points | None
    """The newest release, or the newest reports where phones report by themselves; None while there is none."""
    acceptance: Acceptance
    """The willingness the server assumes."""
    purse: float
    """Reward it may promise to the tasks of this batch, all together."""
    uniform_reward: float
    """W / E|T|: what each task would get if all were treated alike."""
    minimum_reward: float
    """w0: below it nobody works."""
    round: int = 0
    """0 for first offers, 1 for the first re-offer, …"""
    workers_per_task: int = 1
    """Workers who must accept; they share the reward evenly."""
    asked: Mapping[int, tuple[Rectangle, ...]] = field(default_factory=dict)
    """Regions of earlier offers, by task: a re-offer reaches all who were asked before."""
    declined: Mapping[int, float] = field(default_factory=dict)
    """How many people were asked about a task in vain, as far as the server knows, by task: the maximum number of
    recipients of earlier offers, or how many it expected where everyone was asked."""
    aim: float | None = None
    """Success to plan for where outcomes have corrected the assignment's own target; None: they have not."""
    change_per_s: float | None = None
    """By what share of its square a density changes per second, as releases have shown; None: they have not yet."""
    answer_window_s: float = 30.0
    """How long a round of offers takes, seconds."""
    trusted: bool = True
    """Whether a curator passes offers on, and can count those whom it asks; otherwise phones decide by themselves."""
    named: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Workers who were asked by name in earlier offers, by task."""
    task_epsilon_per_m: float | None = None
    """ε per metre of the planar Laplace noise with which requesters blur the places of tasks; None: they are exact."""
    engaged: frozenset[str] = frozenset()
    """Workers who, as far as the server was told, are on the way to a task, or have yet to answer to their name."""

    @property
    def least_reward(self) -> float:
        """What a task must pay so that anybody works on it."""
        return max(self.minimum_reward, self.acceptance.minimum_reward or 0.0) * self.workers_per_task

    def equal_reward(self, tasks: int) -> float:
        """Return the reward of each of some tasks that are treated alike; together they stay within the purse."""
        return min(self.uniform_reward, self.purse / tasks * (1 - 1e-12))

    def plan_funded(
        self, tasks: Sequence[Task], plan: Callable[[list[Task], Cells | Points], list[Offer]]
    ) -> list[Offer]:
        """Plan the tasks that the purse can pay from the release, and refuse the others; offers are in their order."""
        if self.release is None:
            return [Offer.refuse(task, Reason.NO_RELEASE) for task in tasks]
        pays = find_funded([task.arrived_s for task in tasks], self.purse, self.least_reward)
        rich = [task for task, paid in zip(tasks, pays, strict=True) if paid]
        planned = {offer.task: offer for offer in (plan(rich, self.release) if rich else [])}
        return [planned.get(task.task) or Offer.refuse(task, Reason.PURSE_EMPTY) for task in tasks]


class Assignment(Plugin):
    """Family of assignments.

    A subclass decides reward and whom to ask for the tasks of a batch (`offers`), from the server's view alone.

    Examples
    --------
    >>> import geodp
    >>> from geodp.geometry import Region
    >>> from geodp.public.messages import Task
    >>> from geodp.server.assignment import ServerView
    >>> willing = geodp.plugin("linear", "acceptance")
    >>> view = ServerView(0.0, Region(10.0, 50.0, 10.08, 50.05), None, willing, 100.0, 10.0, 1.0)
    >>> offer = geodp.plugin("reward_radius").offers([Task(0, 0.0, 0.0, 0.0, 900.0)], view)[0]
    >>> print(offer.unreachable)
    no_release_to_plan_from
    """

    family: ClassVar[str] = "assignment"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "cells", "contours"})
    plans_circles: ClassVar[bool] = True
    """Whether offers go to everyone inside a circle; otherwise to a region, or to named workers."""
    plans_regions: ClassVar[bool] = False
    """Whether offers go to everyone inside a region of rectangles."""

    @abstractmethod
    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide reward and whom to ask for every task of a batch, in order; rewards sum to at most the purse."""
