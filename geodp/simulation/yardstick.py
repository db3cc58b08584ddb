"""What somebody who knew everything would do with each task: a yardstick for every comparison, and no method.

It reads the truth (places, willingness, who is idle), so it stands beside the engine and not in the server's room, and
what it finds goes to `truth/` alone. It decides nothing: the state it looks at is the one that the run's own method led
to, at the moment of a task's first offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log1p

import numpy as np
import numpy.typing as npt
import pandas as pd

from geodp.geometry import Array
from geodp.public.messages import Task
from geodp.simulation.answers import Answers
from geodp.simulation.board import rank_in_group
from geodp.simulation.meant import People
from geodp.simulation.range_join import range_join

Ids = npt.NDArray[np.int64]
MOST_WORKERS, MOST_TASKS = 200_000, 20_000
"""Above these a run has no yardstick unless it is asked for: each batch looks through everyone once more."""
DEFAULT_TARGET = 0.9
"""Success that is planned for where the assignment states none."""
CANDIDATES = 32
"""Willing workers who are kept for the matching of a batch: it is the best there is for up to so many tasks."""
_FIRST_LOOK = 150  # people within the first radius, on average; what is not enough is looked for twice as far


@dataclass
class Yardstick:
    """Measures, at each first offer, whom an omniscient server would ask and who would come to it."""

    answers: Answers
    target: float
    """Probability of success that the omniscient server plans for."""
    needed: int = 1
    """Workers that a task needs."""
    _parts: list[pd.DataFrame] = field(default_factory=list, init=False)
    _known: set[int] = field(default_factory=set, init=False)

    def measure(self, tasks: Sequence[Task], rewards: Array, people: People, time_s: float) -> None:
        """Measure those of some tasks that are offered for the first time.

        Parameters
        ----------
        tasks
            The tasks that are offered.
        rewards
            What one worker gets for each.
        people
            Everyone, now.
        time_s
            When.
        """
        new = [place for place, task in enumerate(tasks) if task.task not in self._known]
        if not new:
            return
        self._known |= {tasks[place].task for place in new}
        batch, reward = [tasks[place] for place in new], rewards[new]
        found = self._look(batch, reward, people)
        self._parts.append(
            pd.DataFrame(
                {
                    "task": [task.task for task in batch],
                    "time_s": time_s,
                    "workers_needed": found.fewest,
                    "nearest_willing_m": found.nearest(len(batch)),
                    "matched_m": best_matching(found, len(batch), self.needed, self.answers.acceptance.max_travel_m),
                }
            )
        )

    def frame(self) -> pd.DataFrame:
        """Return a row per offered task.

        `workers_needed` is the fewest nearest idle people who accept with the target probability (missing: not even all
        within reach do), `nearest_willing_m` the distance to the nearest idle worker who would accept, and `matched_m`
        that to her who gets it when the batch is matched with the least travel (both missing: nobody).
        """
        columns = ("task", "time_s", "workers_needed", "nearest_willing_m", "matched_m")
        return pd.concat(self._parts, ignore_index=True) if self._parts else pd.DataFrame(columns=columns, dtype=float)

    def _look(self, tasks: list[Task], rewards: Array, people: People) -> Willing:
        """Look around each task, twice as far as before where that was not enough, and as far as anyone travels."""
        idle = np.flatnonzero(~people.busy)
        x, y = people.x_m[idle], people.y_m[idle]
        reach = self.answers.acceptance.max_travel_m
        radius = min(reach, _usual_radius(x, y))
        fewest, parts = np.full(len(tasks), np.nan), list[Willing]()
        left, enough = np.arange(len(tasks)), min(CANDIDATES, len(tasks) * self.needed)
        while left.size:
            at_x, at_y = (np.array([getattr(tasks[i], name) for i in left.tolist()]) for name in ("x_m", "y_m"))
            row, who, distance = range_join(x, y, at_x, at_y, np.full(left.size, radius))
            order = np.lexsort((who, distance, row))
            row, worker, distance = row[order], idle[who[order]], distance[order]
            number = np.array([tasks[i].task for i in left.tolist()])
            chance, yes = self.answers.minds(number[row], worker, rewards[left][row], distance)
            count = fewest_nearest(row, chance, left.size, self.target, self.needed)
            willing = np.flatnonzero(yes)
            rank = rank_in_group(row[willing])
            several = np.bincount(row[willing], minlength=left.size) >= enough
            done = (~np.isnan(count) & several) | (radius >= reach)
            fewest[left[done]] = count[done]
            kept = willing[(rank < enough) & done[row[willing]]]
            parts.append(Willing(fewest, left[row[kept]], worker[kept], distance[kept]))
            left, radius = left[~done], min(2 * radius, reach)
        return Willing.together(fewest, parts)


@dataclass(frozen=True)
class Willing:
    """Idle workers who would accept a task, nearest first within a task."""

    fewest: Array
    """Per task, the fewest nearest who accept with the target probability."""
    task: Ids
    worker: Ids
    distance_m: Array

    @classmethod
    def together(cls, fewest: Array, parts: list[Willing]) -> Willing:
        """Put the rows of several looks together."""
        task, worker, distance = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("task", "worker", "distance_m")
        )
        return cls(fewest, task, worker, distance)

    def nearest(self, tasks: int) -> Array:
        """Return the distance to the nearest of each task (missing: nobody)."""
        found = np.full(tasks, np.inf)
        np.minimum.at(found, self.task, self.distance_m)
        return np.where(np.isfinite(found), found, np.nan)


def fewest_nearest(row: Ids, chance: Array, tasks: int, target: float, needed: int = 1) -> Array:
    """Return how many of the nearest accept with the target probability, per task (missing: all of them do not).

    `row` numbers the tasks, in ascending order, `chance` has the nearest worker of a task first.
    """
    border = np.searchsorted(row, np.arange(tasks + 1))
    found = np.full(tasks, np.nan)
    if needed == 1:
        with np.errstate(divide="ignore"):
            refusal = np.maximum(np.log1p(-chance), -1e6)  # a certain acceptance must not swallow the sums after it
        total = np.cumsum(refusal)
        before = np.where(border[:-1] > 0, np.append(total, 0.0)[border[:-1] - 1], 0.0)
        reached = np.flatnonzero(total - before[row] <= log1p(-target) + 1e-12)
        first = np.unique(row[reached], return_index=True)
        found[first[0]] = reached[first[1]] - border[first[0]] + 1
        return found
    for task in range(tasks):
        fewer = np.zeros(needed)  # probabilities of 0, 1, …, needed - 1 acceptances so far
        fewer[0] = 1.0
        for count, theta in enumerate(chance[border[task] : border[task + 1]].tolist(), 1):
            fewer = fewer * (1 - theta) + np.append(0.0, fewer[:-1]) * theta
            if 1 - fewer.sum() >= target:
                found[task] = count
                break
    return found


def best_matching(willing: Willing, tasks: int, needed: int, reach_m: float) -> Array:
    """Return how far each task's worker travels when a batch is matched at once: most tasks first, then least travel.

    Of a task for several workers it is their mean, missing unless all of them are found.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    if willing.worker.size == 0:
        return np.full(tasks, np.nan)
    people, column = np.unique(willing.worker, return_inverse=True)
    slots = tasks * needed
    nobody = np.arange(slots)  # each slot may stay empty, at a price that no travel saved can outweigh
    row = np.concatenate([(willing.task[:, None] * needed + np.arange(needed)).ravel(), nobody])
    to = np.concatenate([np.repeat(column, needed), people.size + nobody])
    cost = np.concatenate([np.repeat(willing.distance_m, needed) + 1.0, np.full(slots, (reach_m + 1.0) * (slots + 1))])
    table = coo_array((cost, (row, to)), shape=(slots, people.size + slots)).tocsr()
    slot, place = min_weight_full_bipartite_matching(table)
    found = np.full(slots, np.nan)
    matched = place < people.size
    found[slot[matched]] = np.asarray(table[slot[matched], place[matched]]).ravel() - 1.0
    return np.asarray(found.reshape(tasks, needed).mean(axis=1))


def _usual_radius(x_m: Array, y_m: Array) -> float:
    """Return the radius within which a place has some people on average, were they spread evenly."""
    if x_m.size == 0:
        return np.inf
    area = max(float(np.ptp(x_m) * np.ptp(y_m)), 1.0)
    return float(np.sqrt(_FIRST_LOOK * area / (np.pi * x_m.size)))
