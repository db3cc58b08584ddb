"""Regions of released cells, grown until somebody is likely to accept: the geocast of To et al."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.public.acceptance import Acceptance
from geodp.public.events import Note, Reason
from geodp.public.messages import GeocastRegion, Offer, Rectangle, Task
from geodp.public.release import Cells, Points
from geodp.server.acceptors import BeliefLists, BelievedAcceptors, acceptors
from geodp.server.assignment import ServerView
from geodp.server.capped import CappedAssignment, Recipients
from geodp.server.cell_graph import cell_graph, counts_and_noise
from geodp.server.count_beliefs import CountBelief
from geodp.server.density_from_points import density_from_points
from geodp.server.geocast_growth import Grown, Growth
from geodp.server.recipients import PeopleInside


class Geocast(CappedAssignment):
    """Ask people in a region of released cells that grows around a task until somebody is likely to accept.

    The region starts with the cell that holds the task and takes one touching cell after the other, chosen by `key`,
    until enough workers accept with the target probability, or no cell is left within the square of the maximum travel
    distance; then the region is offered all the same, its plan says how little it expects, and the offer is noted
    `short_of_target`. Cells without effective workers are taken only when no other is left. The last cell is cut to the
    part that is needed. All tasks of a batch get the same reward.

    Noise-aware regions are grown beyond what is needed, and of the people inside only as many are asked as are
    (`max_recipients`), in rounds along one secret order.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, A Framework for Protecting Worker Location Privacy in Spatial Crowdsourcing, with
    `planning: published`; Zhu et al. 2017, Differential Privacy and Applications, section 13.2.2, whose stop rule lacks
    its second branch: or no cell is left.
    """

    kind: ClassVar[str] = "geocast"
    plans_circles: ClassVar[bool] = False
    plans_regions: ClassVar[bool] = True

    key: Literal["distance", "utility", "compactness", "hybrid"] = "distance"
    """Which touching cell comes next: the nearest; the one with the highest probability of an acceptor (the paper's,
    which prefers cells that noise has raised); the one that keeps the region most compact; or a mix of the last two."""
    utility_weight: float = Field(0.3, ge=0, le=1)
    """Weight of utility against compactness in `key: hybrid`."""
    planning: Literal["noise_aware", "plain", "published"] = "noise_aware"
    """`published` takes noisy counts as they are and cuts them to whole workers; `plain` keeps fractions (for cells so
    fine that most hold less than one worker); `noise_aware` averages success over what they may really be, given the
    counts around them and the public law of the noise."""
    partial_cell: bool = True
    """Whether the last cell is cut to the part that is needed."""
    widen: float = Field(1.5, ge=1)
    """With every re-offer ln(1 - target) is multiplied by this, for all who were asked by then; the region before stays
    part of the wider one. Where there is a maximum number of recipients nobody is asked twice, and at least one is."""

    def idle_fields(self) -> dict[str, str]:
        """Return the weight where nothing is weighed, and what a maximum number of recipients would need."""
        weight = {} if self.key == "hybrid" else {"utility_weight": f"with key: {self.key}"}
        return super().idle_fields() | weight

    @property
    def _plans_from_beliefs(self) -> bool:
        return self.planning == "noise_aware"

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide the region of every task of a batch."""
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, release: Cells | Points) -> list[Offer]:
        if isinstance(release, Points):
            release = density_from_points(release, view.region)
        x_m, y_m = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
        needed, reward = view.workers_per_task, view.equal_reward(len(tasks))
        aim = self._aim(view, self.widen**view.round)
        belief = self._belief(release, view) if self._plans_from_beliefs else None
        growth = self.growth(
            release=release, acceptance=view.acceptance, reward=reward / needed, needed=needed, aim=aim, belief=belief
        )
        starts = growth.graph.cells_of(x_m, y_m)
        grown = [growth.grow(task.x_m, task.y_m, start) for task, start in zip(tasks, starts, strict=True)]
        inside = PeopleInside(
            mean=np.array([each.workers for each in grown]),
            variance=np.array([each.variance for each in grown]),
            acceptors=np.array([each.acceptors for each in grown]),
        )
        asked = self._recipients(tasks, view, inside, np.array([each.success for each in grown]), self.widen)
        density = release.density(x_m, y_m).tolist()
        return [
            self._offer(
                task=task,
                reward=reward,
                grown=region,
                recipients=recipients,
                density=each,
                before=view.asked.get(task.task, ()),
                aim=self._aim_of_offer(view, self.widen),
            )
            for task, region, recipients, each in zip(tasks, grown, asked, density, strict=True)
        ]

    def growth(
        self,
        release: Cells,
        acceptance: Acceptance,
        reward: float,
        needed: int = 1,
        aim: float | None = None,
        belief: CountBelief | None = None,
    ) -> Growth:
        """Return the rules by which regions grow on a release, for a reward per worker.

        Without a belief, counts are taken at their word; negative ones count as none.
        """
        lists = None if belief is None else BeliefLists(belief)
        counts = np.maximum(counts_and_noise(release)[0], 0.0) if belief is None else belief.mean
        return Growth(
            graph=cell_graph(release),
            counts=counts.tolist(),
            empty=lambda: acceptors(needed) if lists is None else BelievedAcceptors(lists, needed),
            willing=acceptance.curve(reward),
            max_travel_m=acceptance.max_travel_m,
            target=self._target_of_region(self.target_success if aim is None else aim),
            key=self.key,
            whole_workers=self.planning == "published",
            part_of_last=self.partial_cell,
            only_useful=belief is not None,
            utility_weight=self.utility_weight,
        )

    def _offer(
        self,
        task: Task,
        reward: float,
        grown: Grown,
        recipients: Recipients,
        density: float,
        before: tuple[Rectangle, ...],
        aim: float,
    ) -> Offer:
        if grown.success <= 0 and not before:
            return Offer.refuse(task, Reason.BEYOND_REACH)
        notes = [Note.SHORT_OF_TARGET] if self._is_short(recipients.planned, aim) else []
        if grown.noise_variance > max(grown.workers, 0.0) ** 2:
            notes.append(Note.MOSTLY_NOISE)
        return Offer(
            task=task.task,
            reward=reward,
            target=GeocastRegion((*grown.rectangles, *_not_covered(before, grown.rectangles)), grown.steps),
            planned_success=recipients.planned,
            density_per_m2=density,
            expected_workers=grown.workers,
            notes=tuple(notes),
            caps=recipients.caps,
            shares=recipients.shares,
            nearest_first=self.recipients == "nearest",
        )


def _not_covered(before: tuple[Rectangle, ...], now: tuple[Rectangle, ...]) -> list[Rectangle]:
    """Return the rectangles of an earlier offer that lie in none of the new ones: their workers are asked again."""
    return [old for old in before if not any(_inside(old, new) for new in now)]


def _inside(small: Rectangle, large: Rectangle) -> bool:
    return small[0] >= large[0] and small[1] >= large[1] and small[2] <= large[2] and small[3] <= large[3]
