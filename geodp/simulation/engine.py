"""The engine: SimPy schedules decisions, numpy holds the people.

What happens when: the curator publishes at 0, P, 2P, …; tasks arrive; every `batch_s` the server plans offers; the
curator broadcasts them and, when the answer window closes, picks one of those who accepted; the chosen worker
travels; tasks run out of patience. Positions are functions of time, so nothing ticks.

Without a curator phones report to the server by themselves, offers go to all phones, and each phone knows whether its
owner is meant: inside the circle, or named. Who answers what is the same in both worlds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from geodp.curator.curator import Curator, PeopleBudgets
from geodp.curator.mechanisms import Snapshot
from geodp.curator.seen_people import day_of_moment
from geodp.device.memory import Memory
from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.privacy.ledger import Account, Allowance, Ledger
from geodp.privacy.noise import SimulatedNoise
from geodp.public.acceptance import Acceptance
from geodp.public.cell_reports import CellReports
from geodp.public.events import Kind, Note, Reason
from geodp.public.guarantee import Neighbours
from geodp.public.levels import draw_groups
from geodp.public.messages import Answer, Circle, GeocastRegion, Offer, Task
from geodp.public.release import Cells, Points
from geodp.public.towers import NO_TOWER
from geodp.registry import Plugin
from geodp.scenario.costs import counts_rho
from geodp.scenario.schema import Scenario
from geodp.scenario.sections import Budget
from geodp.server.offer_rules import OfferRules
from geodp.server.rewards import RewardBudget
from geodp.server.server import Server
from geodp.simulation.answers import Accepted, Answers, AskedWorkers, ask, names_for_task, pseudonyms
from geodp.simulation.board import Board
from geodp.simulation.disclosure import Disclosure, see_outcomes
from geodp.simulation.event_log import EventLog
from geodp.simulation.meant import Meant, People, find_meant
from geodp.simulation.offer_truth import OfferTruth, offer_truth
from geodp.simulation.phones import Phones
from geodp.simulation.randomised_refusal import RandomisedRefusal
from geodp.simulation.requesters import places_told
from geodp.simulation.worker_states import WorkerStates
from geodp.simulation.yardstick import DEFAULT_TARGET, MOST_TASKS, MOST_WORKERS, Yardstick
from geodp.streams import Streams
from geodp.tables.towers import TowerNetwork
from geodp.world.demand import Arrivals
from geodp.world.motion import Motion
from geodp.world.population import Population

Steps = Generator[simpy.Event, Any, None]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """The truth of one run, the same for every method that is tried on it."""

    population: Population
    motion: Motion
    arrivals: Arrivals


def build_world(scenario: Scenario, streams: Streams) -> World:
    """Draw people, movements and tasks, each from a stream of its own."""
    region = scenario.area
    times = {"start_s": scenario.start_s, "duration_s": scenario.duration_s}
    workers = scenario.workers
    population = workers.source.load(region, streams.generator("world.source")).start_at(scenario.start_s)
    if population.size == 0:
        raise DataError(f"workers.source: '{workers.source.kind}' gives no worker inside the region")
    motion = workers.mobility.move(population, region, **times, rng=streams.generator("world.mobility"))
    arrivals = scenario.tasks.demand.arrivals(population, region, **times, rng=streams.generator("world.demand"))
    return World(population, motion, arrivals)


class Engine:
    """One run of a resolved scenario on a world."""

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        streams: Streams,
        log: EventLog,
        *,
        on_release: Callable[[Cells, np.ndarray[Any, Any]], None],
        on_sample: Callable[[float, WorkerStates], None],
        on_progress: Callable[[float], None],
        on_positions: Callable[[Cells | Points, Array, Array], None] = lambda *_: None,
        on_answers: Callable[[CellReports], None] = lambda _: None,
        samples: int = 97,
    ) -> None:
        self.scenario, self.arrivals = scenario, world.arrivals
        self.workers = WorkerStates(world.motion, scenario.workers.travel_speed_mps)
        self.streams, self.log = streams, log
        self._on_release, self._on_sample, self._on_progress = on_release, on_sample, on_progress
        self._on_positions, self._on_answers, self._samples = on_positions, on_answers, samples
        self.env = simpy.Environment()
        self.region = scenario.area
        section = scenario.curator
        concentrated = None if section is None else section.budget.concentrated
        self.ledger = Ledger(budgets=_budgets(scenario), concentrated=concentrated)
        network = None if section is None else section.towers
        self._towers = None if network is None else _SeenByTowers(network, streams, self.region)
        self.curator = None
        if section is not None:
            self.curator = Curator(
                section.mechanism,
                self.ledger,
                section.budget.when_spent,
                releases=scenario.release_count(),
                period=(0.0, scenario.duration_s),
                find_day=partial(day_of_moment, scenario.start_s) if counts_rho(scenario) else None,
                groups=self._draw_groups(section.mechanism),
                people=_people_budgets(section.budget, self.workers.size),
            )
        self.server = _server(scenario)
        acceptance = scenario.workers.acceptance
        eagerness = acceptance.eagerness(self.workers.size, streams.generator("world.eagerness"))
        self.answers = Answers(acceptance, streams, eagerness, _refusal(scenario, streams, self.workers.size))
        self.yardstick = _yardstick(scenario, self.answers, self.workers.size, world.arrivals.time_s.size)
        self.disclosure = Disclosure(acceptance, eagerness, self.workers.size, scenario.tasks.workers_per_task)
        self.phones = Phones(
            device=scenario.device.mechanism,
            ledger=self.ledger,
            when_spent=scenario.device.budget.when_spent,
            region=self.region,
            size=self.workers.size,
            pseudonyms=lambda ids: pseudonyms(streams, ids),
            memory=None if scenario.device.memoise_m is None else Memory(scenario.device.memoise_m),
            groups=self._draw_groups(scenario.device.mechanism),
        )
        self.open: dict[int, Task] = {}
        self.waiting: list[Task] = []
        self.offered: dict[int, int] = {}
        self._posted: dict[int, float] = {}
        self.board = Board(streams, scenario.server.looks_per_hour, scenario.server.tasks_per_look)
        self._short: dict[int, bool] = {}
        """Tasks offered to a region, and whether that region was planned short of the target."""
        self._notified: set[int] = set()
        """Open tasks about which somebody has been asked."""
        self._asked_before: dict[int, Ids] = {}
        """Workers asked about open tasks that may be offered again, for offers that ask nobody twice."""
        self._places: tuple[float, tuple[Array, Array]] | None = None
        """A moment, and where everyone was then."""
        self.offer_truths: list[tuple[float, float, OfferTruth]] = []
        """Time of each batch of first offers, age of the release they were planned from, and what was true of them."""

    def _draw_groups(self, plugin: Plugin) -> npt.NDArray[np.str_] | None:
        """Return the public group of each worker, by one lot for all plug-ins (None: all are alike)."""
        shares: dict[str, float] = getattr(plugin, "group_shares", {})
        if not shares:
            return None
        return draw_groups(shares, self.streams.generator("world.levels").random(self.workers.size))

    def run(self) -> None:
        """Run to the end, then let the trips under way arrive."""
        env, end = self.env, self.scenario.duration_s
        for process in (
            self._releases(),
            self._task_arrivals(),
            self._expiries(),
            self._batches(),
            self._sample_positions(),
        ):
            env.process(process)
        env.run(until=end)
        for task in self.open:
            self.log.add(end, Kind.CENSORED, task=task, reason=Reason.RUN_ENDED)
        env.run()

    @property
    def _over(self) -> bool:
        return self.env.now >= self.scenario.duration_s

    # -- the curator publishes ------------------------------------------------------------------------------

    def _releases(self) -> Steps:
        for index, time_s in enumerate(self.scenario.release_times()):
            yield self.env.timeout(time_s - self.env.now)
            everyone = self.workers.positions(self.env.now)
            rng = self.streams.generator(f"device.report.{index}")
            if self.curator is None:
                release: Cells | Points | None = self._hear_phones(*everyone, rng)
            else:
                release = self._publish(self.curator, index, *everyone, rng)
            value, reason = 0.0, Reason.REUSED_LAST if self._newest is not None else Reason.STOPPED
            if isinstance(release, Cells) and not release.measured:
                reason = Reason.PREDICTED
            elif release is not None:
                value, reason = release.guarantee.epsilon, Reason.NONE
            self.log.add(self.env.now, Kind.RELEASE, value=value, reason=reason)
            if release is not None:
                self._on_positions(release, *everyone)  # the truth goes to the run folder alone

    def _hear_phones(self, x_m: Array, y_m: Array, rng: np.random.Generator) -> Cells | Points | None:
        """Let phones report by themselves; where they answer about cells, the server counts."""
        if not self.phones.answers_about_cells:
            return self.phones.report(self.env.now, x_m, y_m, rng)
        answers, release = self.phones.answer(self.env.now, x_m, y_m, rng), self.phones.current
        if answers is None or not isinstance(release, Cells):
            return None
        self._on_answers(answers)
        cell = release.locate(x_m, y_m)
        self._on_release(release, np.bincount(cell[cell >= 0], minlength=release.count.size))
        return release

    @property
    def _newest(self) -> Cells | Points | None:
        """What the server can see now."""
        return self.phones.current if self.curator is None else self.curator.current

    def _publish(
        self, curator: Curator, index: int, x_m: Array, y_m: Array, rng: np.random.Generator
    ) -> Cells | Points | None:
        section, now = self.scenario.curator, self.env.now
        if section is None or not self.phones.afford(now):
            return None
        counted = ~self.workers.busy if section.counts == "idle" else np.ones(self.workers.size, dtype=np.bool_)
        x, y = x_m[counted], y_m[counted]
        if self._towers is None:
            reported_x, reported_y = self.phones.to_curator(x, y, counted, rng)
        else:
            seen, reported_x, reported_y = self._towers.locate(x, y, index)
            counted[np.flatnonzero(counted)[~seen]] = False  # nobody hears them
        snapshot = Snapshot(
            time_s=now,
            x_m=reported_x,
            y_m=reported_y,
            region=self.region,
            expected_workers=section.expected_workers or 1.0,
            neighbours=Neighbours(section.neighbours),
            counts=section.counts,
            who=np.flatnonzero(counted),
            names=self.phones.names_of(np.flatnonzero(counted)) if "cloaks" in section.mechanism.releases else None,
            group=None if curator.groups is None else curator.groups[counted],
        )
        noise = SimulatedNoise(self.streams.generator(f"curator.noise.{index}"))
        release = curator.publish(snapshot, noise, number=index)
        if isinstance(release, Cells):  # rows of people, which name them, are kept with their places
            cell = release.locate(x, y)
            self._on_release(release, np.bincount(cell[cell >= 0], minlength=release.count.size))
        return release

    # -- tasks come and go ----------------------------------------------------------------------------------

    def _task_arrivals(self) -> Steps:
        patience = self.scenario.tasks.patience_s
        self._to_expire: deque[Task] = deque()
        columns = (self.arrivals.time_s.tolist(), self.arrivals.x_m.tolist(), self.arrivals.y_m.tolist())
        for number, (time_s, x_m, y_m) in enumerate(zip(*columns, strict=True)):
            yield self.env.timeout(max(0.0, time_s - self.env.now))
            task = Task(number, x_m, y_m, time_s, time_s + patience)
            self.open[number] = task
            self.waiting.append(task)
            self._to_expire.append(task)
            self.log.add(self.env.now, Kind.TASK_ARRIVED, task=number, x_m=x_m, y_m=y_m)

    def _expiries(self) -> Steps:
        """Give up tasks whose patience ran out; patience is the same for all, so they go in order of arrival."""
        yield self.env.timeout(self.scenario.tasks.patience_s)
        while not self._over:
            while self._to_expire and self._to_expire[0].expires_s <= self.env.now:
                task = self._to_expire.popleft()
                if task.task in self.open:
                    self._give_up(task, Reason.OUT_OF_PATIENCE)
            wait_s = self.scenario.tasks.patience_s  # the next arrival lasts at least as long
            yield self.env.timeout(max(self._to_expire[0].expires_s - self.env.now, 0.0) if self._to_expire else wait_s)

    def _close(self, task: Task) -> None:
        del self.open[task.task]
        self._posted.pop(task.task, None)
        self._short.pop(task.task, None)
        self._notified.discard(task.task)
        self._asked_before.pop(task.task, None)

    def _give_up(self, task: Task, reason: Reason, kind: Kind = Kind.EXPIRY, value: float = np.nan) -> None:
        self._close(task)
        self.server.give_up(task.task)
        self.log.add(self.env.now, kind, task=task.task, x_m=task.x_m, y_m=task.y_m, value=value, reason=reason)

    # -- the server plans, workers answer, one of them goes -------------------------------------------------

    def _batches(self) -> Steps:
        batch_s = self.scenario.server.batch_s
        selected = self.scenario.server.mode == "worker_selected"
        for number in range(1, ceil(self.scenario.duration_s / batch_s)):
            yield self.env.timeout(number * batch_s - self.env.now)
            yield self.env.timeout(0)  # a release due at this very moment comes first
            self._on_progress(self.env.now / self.scenario.duration_s)
            if selected:
                asked = self._post(number)
                if asked is not None:
                    self.env.process(self._collect_answers(asked))
                continue
            meant = self._offer()
            if meant is not None:
                self.env.process(self._ask_in_rounds(meant))

    def _take_waiting(self) -> list[Task]:
        """Return the open tasks that can still be answered in time; the others wait for their expiry."""
        deadline = self.env.now + self.scenario.server.answer_window_s
        waiting = [task for task in self.waiting if task.task in self.open]
        self.waiting = []
        return [task for task in waiting if task.expires_s >= deadline]

    def _offer(self) -> Meant | None:
        """Plan offers and broadcast them; the curator, or each phone, knows who is meant, and the server does not."""
        published = places_told(
            self._take_waiting(), self.scenario.tasks.place_epsilon_per_m, self.region, self.streams
        )
        made = self._announce(self.server.plan(published, self._newest, self.env.now))
        if not made:
            return None
        self._short |= {
            offer.task: Note.SHORT_OF_TARGET in offer.notes for offer in made if isinstance(offer.target, GeocastRegion)
        }
        tasks, people = [self.open[offer.task] for offer in made], self._people()
        workers_of = partial(self.phones.workers, asked_by=self.scenario.server.assignment.kind)
        meant = find_meant(
            tasks=tasks,
            offers=made,
            people=people,
            workers_of=workers_of,
            streams=self.streams,
            asked_before=self._asked_before,
        )
        self._note_truth(meant, people)
        self._compare(made, people)
        return meant

    def _note_truth(self, meant: Meant, people: People) -> None:
        """Keep what is true of the first offers of this batch, for the run folder alone."""
        first = np.array([task.task not in self.offered for task in meant.tasks], dtype=np.bool_)
        if first.any():
            truth = offer_truth(self.answers, meant, people, self.scenario.tasks.workers_per_task)
            age_s = np.nan if self._newest is None else self.env.now - self._newest.time_s
            self.offer_truths.append((self.env.now, age_s, truth.take(first)))

    def _ask_in_rounds(self, meant: Meant) -> Steps:
        """Ask round after round, along one order, until somebody accepts or all who are meant have been asked."""
        needed = self.scenario.tasks.workers_per_task
        for number in range(meant.rounds):
            asked = ask(
                answers=self.answers,
                meant=meant,
                people=self._people(),
                needed=needed,
                number=number,
                is_open=self.open.__contains__,
            )
            if not asked.tasks:
                return
            last = {offer.task: number + 1 >= max(len(offer.caps), len(offer.shares), 1) for offer in meant.offers}
            yield from self._collect_answers(asked, last.__getitem__)
            if self._over:
                return
            if any(offer.nearest_first and offer.caps for offer in meant.offers):
                self.disclosure.disclose_without_bound(asked.worker[asked.notified])

    def _compare(self, offers: list[Offer], people: People) -> None:
        """Measure what somebody who knew everything would do with these tasks."""
        if self.yardstick is not None and offers:
            rewards = np.array([offer.reward for offer in offers]) / self.scenario.tasks.workers_per_task
            self.yardstick.measure([self.open[offer.task] for offer in offers], rewards, people, self.env.now)

    def _people(self) -> People:
        """Return where everyone is now; offers and the rounds of earlier ones often come at the same moment.

        Nobody is elsewhere because she has just been sent off: a trip begins where she is.
        """
        now = self.env.now
        if self._places is None or self._places[0] != now:
            self._places = (now, self.workers.positions(now))
        return People(*self._places[1], self.workers.busy, time_s=self.env.now)

    def _announce(self, offers: list[Offer]) -> list[Offer]:
        """Log the offers and return those that are made; tasks without one are closed with their reason."""
        made = []
        for offer in offers:
            task = self.open[offer.task]
            if offer.unreachable:
                self._give_up(task, offer.unreachable, Kind.UNREACHABLE, offer.uncapped_radius_m)
                continue
            made.append(offer)
            radius_m = offer.target.radius_m if isinstance(offer.target, Circle) else np.nan
            self.log.add(self.env.now, Kind.OFFER, task=task.task, x_m=task.x_m, y_m=task.y_m, value=radius_m)
        return made

    def _post(self, batch: int) -> AskedWorkers | None:
        """Post new tasks for all to see; some idle workers look at the nearest open ones they have not declined."""
        made, people = self._announce(self.server.post(self._take_waiting(), self.env.now)), self._people()
        self._compare(made, people)
        self._posted |= {offer.task: offer.reward for offer in made}
        deadline = self.env.now + self.scenario.server.answer_window_s
        posted = [self.open[task] for task in self._posted if self.open[task].expires_s >= deadline]
        if not posted:
            return None
        rewards = np.array([self._posted[task.task] for task in posted])
        over_s = self.scenario.server.batch_s
        return self.board.look(self.answers, posted, rewards, people, moment=batch, over_s=over_s)

    def _collect_answers(self, asked: AskedWorkers, is_last: Callable[[int], bool] = lambda _: True) -> Steps:
        """Wait for the window to close, then let the curator pick, task by task in order of arrival.

        `is_last` tells whether a task has no further round, so that it is given up when nobody takes it.
        """
        yield self.env.timeout(self.scenario.server.answer_window_s)
        if self._over:
            return  # undecided: these tasks were censored
        self.answers.log_refusals(asked, self.env.now, self.log)
        gone = self.workers.busy.copy()
        if self.scenario.server.reoffers:
            self._remember_asked(asked)
        row_task = np.repeat([task.task for task in asked.tasks], np.diff(asked.border))
        self._notified.update(np.unique(row_task[asked.notified]).tolist())
        acceptors = asked.acceptors
        names = dict(zip(acceptors.tolist(), pseudonyms(self.streams, acceptors).tolist(), strict=True))
        winners = {
            task.task: self._decide(task, reward, yes, names=names, last=is_last(task.task))
            for task, reward, yes in asked.list_accepted()
            if task.task in self.open
        }
        self.disclosure.charge(see_outcomes(asked, winners, gone))
        self.disclosure.keep_only(self.open)
        self.board.keep_only(self.open)

    def _remember_asked(self, asked: AskedWorkers) -> None:
        for task, _, rows in asked.by_task():
            if task.task in self.open:
                new = asked.worker[rows][asked.notified[rows]]
                self._asked_before[task.task] = np.union1d(self._asked_before.get(task.task, new), new)

    def _decide(self, task: Task, reward: float, yes: Accepted, *, names: dict[int, str], last: bool) -> list[int]:
        """Close a task with those who are picked and return them, or leave it to its next round."""
        free = ~self.workers.busy[yes.worker]
        winners = yes.pick(free, self.scenario.tasks.workers_per_task) if yes.worker.size else []
        if yes.worker.size:
            self.log.add(
                self.env.now,
                Kind.ACCEPTANCE,
                task=task.task,
                worker=yes.worker,
                x_m=yes.x_m,
                y_m=yes.y_m,
                value=yes.distance_m,
                reason=yes.reasons(free, winners),
            )
        if not winners and not last:
            return []
        if not winners:
            self._nobody(task, self._why_nobody(task, yes.worker.size, int(free.sum())))
            return []
        told = self._new_names(task, winners) or tuple(names[winner] for winner in winners)
        self.server.hear(Answer(task.task, told, self.env.now))
        if self._is_called_off(task):
            paid = self.server.call_off(task.task, paid=self.scenario.protocol.pay_called_off)
            self._give_up(task, Reason.CALLED_OFF, value=paid)
            return winners
        self._close(task)
        for winner in winners:
            self.workers.busy[winner] = True  # at once: the next task of this batch must not pick her too
            self.env.process(self._trip(task, winner, reward))
        return winners

    def _new_names(self, task: Task, winners: list[int]) -> tuple[str, ...]:
        """Return names for this task alone (() where workers keep theirs)."""
        if not self.scenario.protocol.new_names:
            return ()
        return tuple(names_for_task(self.streams, np.array(winners), task.task).tolist())

    def _is_called_off(self, task: Task) -> bool:
        """Tell by lot whether who asked for a task no longer wants it done."""
        share = self.scenario.tasks.called_off_share
        return share > 0 and float(self.streams.uniform("world.called_off", [task.task])[0]) < share

    def _why_nobody(self, task: Task, accepted: int, free: int) -> Reason:
        """Say why an offer found too few workers; of a region, whether the plan itself had expected that."""
        notified = task.task in self._notified
        if task.task not in self._short:
            return Reason.NO_ACCEPTANCE if notified else Reason.NOBODY_NOTIFIED
        short = self._short.pop(task.task)
        if not notified:
            return Reason.NOBODY_IN_REGION
        if accepted:
            return Reason.TOO_FEW if free else Reason.ACCEPTORS_GONE
        return Reason.SHORT_OF_TARGET if short else Reason.NO_ACCEPTANCE

    def _nobody(self, task: Task, why: Reason) -> None:
        if task.task in self._posted:
            return  # a posted task stays on the board until its patience runs out
        self.server.hear(Answer(task.task, (), self.env.now))
        self.offered[task.task] = self.offered.get(task.task, 0) + 1
        if self.offered[task.task] <= self.scenario.server.reoffers:
            self.waiting.append(task)
        else:
            self._give_up(task, why)

    def _trip(self, task: Task, worker: int, reward: float) -> Steps:
        left_s = self.env.now
        from_x, from_y, arrives_s = self.workers.depart(worker, left_s, task.x_m, task.y_m)
        self.log.add(left_s, Kind.DEPARTURE, task=task.task, worker=worker, x_m=from_x, y_m=from_y, value=reward)
        yield self.env.timeout(arrives_s - left_s)
        self.workers.finish(worker)
        distance = float(np.hypot(task.x_m - from_x, task.y_m - from_y))
        self.log.add(
            self.env.now, Kind.COMPLETION, task=task.task, worker=worker, x_m=task.x_m, y_m=task.y_m, value=distance
        )
        step = self.scenario.server.completion_rounding_s
        self.server.hear_completion(task.task, ceil(self.env.now / step) * step)

    # -- a sample of positions for the map ------------------------------------------------------------------

    def _sample_positions(self) -> Steps:
        for time_s in np.linspace(0.0, self.scenario.duration_s, self._samples).tolist():
            yield self.env.timeout(max(0.0, time_s - self.env.now))
            self._on_sample(time_s, self.workers)


def _budgets(scenario: Scenario) -> dict[Account, float | Allowance]:
    """Return what each account may hold at most; they are never added up with one another."""
    central = Allowance() if scenario.curator is None else scenario.curator.budget.allowance(scenario.start_s)
    found: dict[Account, float | Allowance] = {Account.CENTRAL: central}
    if scenario.curator is not None and scenario.curator.budget.concentrated is not None:
        found = {}  # it is counted as rho instead
    phones = scenario.device.budget
    metric, item, local = (Allowance(own) for own in (phones.epsilon_per_m, phones.epsilon_per_item, phones.epsilon))
    return found | {Account.METRIC: metric, Account.ITEM: item, Account.LOCAL: local}


class _SeenByTowers:
    """What the curator knows of phones: which tower serves each, and so a place drawn evenly from its cell."""

    def __init__(self, network: TowerNetwork, streams: Streams, region: Region) -> None:
        self._network, self._streams = network, streams
        self._towers = network.lay_out(region, streams.generator("world.towers"))

    def locate(self, x_m: Array, y_m: Array, index: int) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        """Return which phones are seen in release number `index`, and a place for each of these."""
        radio, where = (self._streams.generator(f"curator.{what}.{index}") for what in ("radio", "towers"))
        words = radio.integers(0, 2**64, x_m.size, dtype=np.uint64)
        tower = self._network.find_serving(self._towers, x_m, y_m, words)
        seen, shares = tower != NO_TOWER, where.random((2, x_m.size))  # of everyone, whoever is seen
        return seen, *self._towers.place_within(tower[seen], *shares[:, seen])


def _people_budgets(budget: Budget, workers: int) -> PeopleBudgets | None:
    """Return what single people may spend, where a filter decides who is counted."""
    if budget.people != "filter" or budget.epsilon is None:
        return None
    return PeopleBudgets(workers, budget.epsilon, budget.by_group)


def _yardstick(scenario: Scenario, answers: Answers, workers: int, tasks: int) -> Yardstick | None:
    """Return the yardstick, where it is asked for or the run is small enough to have one anyway."""
    small = workers <= MOST_WORKERS and tasks <= MOST_TASKS
    if not (small if scenario.yardstick == "auto" else scenario.yardstick):
        return None
    target = getattr(scenario.server.assignment, "target_success", None) or DEFAULT_TARGET
    return Yardstick(answers, target, scenario.tasks.workers_per_task)


def _refusal(scenario: Scenario, streams: Streams, workers: int) -> RandomisedRefusal | None:
    stated = scenario.protocol.refusal
    if stated is None:
        return None
    return RandomisedRefusal(stated.mute, stated.offers, stated.window_s, workers=workers, streams=streams)


def _server(scenario: Scenario) -> Server:
    section, reward, refusal = scenario.server, scenario.tasks.reward, scenario.protocol.refusal
    believed = section.assumed_acceptance or scenario.workers.acceptance
    if refusal is not None:  # the lot is public: the server plans with a lower ceiling
        believed = believed.mute(refusal.mute)
    return Server(
        assignment=section.assignment,
        acceptance=believed,
        region=scenario.area,
        budget=RewardBudget(reward.total or 0.0, scenario.expected_tasks()),
        minimum_reward=reward.minimum or 0.0,
        workers_per_task=scenario.tasks.workers_per_task,
        answer_window_s=section.answer_window_s,
        trusted=scenario.curator is not None,
        task_epsilon_per_m=scenario.tasks.place_epsilon_per_m,
        rules=_rules(scenario, believed),
    )


def _rules(scenario: Scenario, believed: Acceptance) -> OfferRules | None:
    """Return what limits offers (None: nothing does)."""
    stated = scenario.protocol
    if stated.least_people is None and stated.per_km2_hour is None:
        return None
    return OfferRules(believed, stated.least_people, stated.per_km2_hour)
