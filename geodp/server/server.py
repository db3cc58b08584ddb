"""The untrusted server: keeps tasks and money, plans offers from what was released, remembers what it saw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.public import messages
from geodp.public.acceptance import Acceptance
from geodp.public.events import Reason
from geodp.public.messages import Answer, Circle, Named, Offer, Task
from geodp.public.release import Cells, Points
from geodp.server.assignment import Assignment, ServerView
from geodp.server.capped import CappedAssignment
from geodp.server.density_change import DensityChange
from geodp.server.feedback import Feedback
from geodp.server.named_workers import NamedWorkers
from geodp.server.offer_rules import OfferRules
from geodp.server.rewards import RewardBudget, find_funded


@dataclass
class Server:
    """Honest but curious. Its records hold what it decided and what was reported to it, and nothing else."""

    assignment: Assignment
    acceptance: Acceptance
    region: Region
    budget: RewardBudget
    minimum_reward: float
    workers_per_task: int = 1
    answer_window_s: float = 30.0
    trusted: bool = True
    """Whether a curator passes offers on."""
    task_epsilon_per_m: float | None = None
    """ε per metre of the noise on the places of tasks (None: they are exact)."""
    rules: OfferRules | None = None
    """What offers must keep to (None: there are no rules)."""
    records: list[dict[str, Any]] = field(default_factory=list)
    _latest: dict[int, dict[str, Any]] = field(default_factory=dict)
    _rounds: dict[int, int] = field(default_factory=dict)
    _declined: dict[int, float] = field(default_factory=dict)
    _named: NamedWorkers = field(default_factory=NamedWorkers)
    _feedback: Feedback | None = field(init=False)
    _change: DensityChange = field(default_factory=DensityChange)

    def __post_init__(self) -> None:
        self._feedback = None
        if isinstance(self.assignment, CappedAssignment) and self.assignment.feedback:
            self._feedback = Feedback(self.assignment.target_success)

    def plan(self, tasks: Sequence[Task], release: Cells | Points | None, time_s: float) -> list[Offer]:
        """Decide offers for a batch: tasks seen for the first time, and tasks nobody took the last time."""
        offers: list[Offer] = []
        if isinstance(release, Cells):
            self._change.see(release)
        aim = None if self._feedback is None else self._feedback.next_aim()
        by_round = sorted(tasks, key=lambda task: (self._rounds.get(task.task, 0), task.task))
        for number, group in groupby(by_round, key=lambda task: self._rounds.get(task.task, 0)):
            batch = list(group)
            purse = self.budget.draw(len(batch)) if number == 0 else self._sum_held(batch)
            view = ServerView(
                time_s=time_s,
                region=self.region,
                release=release,
                acceptance=self.acceptance,
                purse=purse,
                uniform_reward=self.budget.mean,
                minimum_reward=self.minimum_reward,
                round=number,
                workers_per_task=self.workers_per_task,
                asked={task.task: self._latest[task.task]["region"] or () for task in batch} if number else {},
                declined={task.task: self._declined.get(task.task, 0.0) for task in batch} if number else {},
                aim=aim,
                change_per_s=self._change.per_s,
                answer_window_s=self.answer_window_s,
                trusted=self.trusted,
                named=self._named.asked,
                engaged=self._named.list_engaged(time_s),
                task_epsilon_per_m=self.task_epsilon_per_m,
            )
            planned = self.assignment.offers(batch, view)
            _require_offers(self.assignment, batch, planned, purse)
            if self.rules is not None:
                planned = self.rules.keep(batch, planned, release, number=number)
            offers += self._promise(purse, batch, planned, number, time_s)
        return offers

    def post(self, tasks: Sequence[Task], time_s: float) -> list[Offer]:
        """Post new tasks for everyone to see, each with the mean reward; nothing is read from any release."""
        purse = self.budget.draw(len(tasks))
        pays = find_funded([task.arrived_s for task in tasks], purse, self.minimum_reward)
        reward = min(self.budget.mean, purse / max(int(pays.sum()), 1))
        offers = [
            Offer(task.task, reward, Circle(self.acceptance.max_travel_m))
            if paid
            else Offer.refuse(task, Reason.PURSE_EMPTY)
            for task, paid in zip(tasks, pays, strict=True)
        ]
        return self._promise(purse, tasks, offers, 0, time_s)

    def _promise(
        self, purse: float, tasks: Sequence[Task], offers: list[Offer], number: int, time_s: float
    ) -> list[Offer]:
        """Keep what offers promise and return the rest of the purse."""
        self.budget.give_back(purse - sum(offer.reward for offer in offers))
        for task, offer in zip(tasks, offers, strict=True):
            self._record(task, offer, number, time_s)
        return offers

    def hear(self, answer: Answer) -> None:
        """Learn who takes a task, or that nobody does."""
        record = self._latest[answer.task]
        record["answered_s"] = answer.time_s
        record["winners"] = answer.winners
        self._named.hear_answer(answer)
        if not answer.winners:
            asked = record["expected_workers"] if record["most_recipients"] is None else record["most_recipients"]
            self._declined[answer.task] = self._declined.get(answer.task, 0.0) + (asked if asked > 0 else 0.0)
        else:
            self._declined.pop(answer.task, None)
            self.budget.pay(record["reward"])
            if self._feedback is not None:
                self._feedback.hear(taken=True)

    def call_off(self, task: int, *, paid: bool) -> float:
        """Close a task that somebody had accepted; return what is paid for it all the same."""
        reward = float(self._latest[task]["reward"])
        self._named.free(self._latest[task]["winners"], -math.inf)
        if paid:
            return reward
        self.budget.take_back(reward)
        return 0.0

    def hear_completion(self, task: int, rounded_s: float) -> None:
        """Learn, coarsely, when a task was done."""
        self._latest[task]["completed_s"] = rounded_s
        self._named.free(self._latest[task]["winners"], rounded_s)

    def give_up(self, task: int) -> None:
        """Close a task that nobody took; its reward returns to the budget."""
        self._named.forget(task)
        self._declined.pop(task, None)
        record = self._latest.get(task)
        if record is not None and not record["winners"]:
            self.budget.give_back(record["reward"])
            if self._feedback is not None and record["unreachable"] == Reason.NONE:
                self._feedback.hear(taken=False)  # the last word: a task that is offered again has none yet

    def _sum_held(self, batch: list[Task]) -> float:
        return float(sum(self._latest[task.task]["reward"] for task in batch))

    def _record(self, task: Task, offer: Offer, number: int, time_s: float) -> None:
        target = offer.target
        record = {
            "task": task.task,
            "x_m": task.x_m,
            "y_m": task.y_m,
            **{one.name: getattr(offer, one.name) for one in fields(Offer) if one.name not in _NOT_KEPT},
            "round": number,
            "time_s": time_s,
            "radius_m": target.radius_m if isinstance(target, Circle) else None,
            "region": target.rectangles if isinstance(target, messages.GeocastRegion) else None,
            "growth": target.growth if isinstance(target, messages.GeocastRegion) else (),
            "most_recipients": offer.caps[-1] if offer.caps else None,
            "phones_share": offer.shares[-1] if offer.shares else None,
            "planned_rounds": max(len(offer.caps), len(offer.shares), 1) if target is not None else None,
            "recipients": len(target.pseudonyms) if isinstance(target, Named) else None,
            "winners": (),
            "answered_s": None,
            "completed_s": None,
        }
        self._named.ask(task.task, target)
        self.records.append(record)
        self._latest[task.task] = record
        self._rounds[task.task] = number + 1


_NOT_KEPT = ("task", "target", "caps", "shares", "nearest_first")


def _require_offers(assignment: Assignment, tasks: Sequence[Task], offers: object, purse: float) -> None:
    """Refuse what is no plan: an offer per task in their order, with sound targets, and no more money than there is."""
    wrong = None
    if not isinstance(offers, list | tuple) or not all(isinstance(offer, Offer) for offer in offers):
        wrong = "must return a list of offers"
    elif [offer.task for offer in offers] != [task.task for task in tasks]:
        wrong = f"must return one offer for each of the {len(tasks)} tasks, in their order"
    elif not all(
        offer.target is None or isinstance(offer.target, Circle | messages.GeocastRegion | Named) for offer in offers
    ):
        wrong = "must offer to a Circle, a Region or Named workers"
    elif not all(offer.reward >= 0 for offer in offers):
        wrong = "offers a reward that is no number from 0 up"
    elif not all(offer.target.radius_m >= 0 for offer in offers if isinstance(offer.target, Circle)):
        wrong = "offers to a circle whose radius is no number from 0 up"
    elif sum(offer.reward for offer in offers) > purse * (1 + 1e-9) + 1e-9:
        wrong = f"promises rewards of {sum(offer.reward for offer in offers):g} in all, of {purse:g} that there are"
    if wrong is not None:
        raise UsageError(f"the assignment '{assignment.kind}' {wrong}.")
