"""Phones that mute tasks by lot, and consider few: what bounds what outcomes tell of those who took none.

Of each task that a phone considers, it mutes it with probability ρ before its owner sees it; after K tasks of a window,
muted ones included, it says nothing more. Whatever its owner does, she then takes none of the K with a probability of
at least ρ^K: any transcript that does not name her is between ρ^K and 1 times as likely with her as without.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class RandomisedRefusal:
    """What each phone has considered in its window.

    Parameters
    ----------
    mute
        ρ.
    offers
        K.
    window_s
        Length of a window, seconds.
    workers
        How many phones there are.
    streams
        Where the lots are drawn: one per phone and task.
    """

    def __init__(self, mute: float, offers: int, window_s: float, *, workers: int, streams: Streams) -> None:
        self.mute, self.offers, self.window_s, self.streams = mute, offers, window_s, streams
        self._considered = np.zeros(workers, dtype=np.int64)
        self._known: dict[int, Ids] = {}
        self._window = 0

    def consider(self, task: Ids, worker: Ids, reached: Mask, time_s: float) -> Mask:
        """Tell which phones consider their row's task; rows are in order of task. Offered again, it counts once."""
        self._turn_to(time_s)
        considered = np.zeros(task.size, dtype=np.bool_)
        for one in np.unique(task).tolist():
            rows = np.flatnonzero((task == one) & reached)
            before = self._known.get(one, np.empty(0, dtype=np.int64))
            known = np.isin(worker[rows], before)
            new = rows[~known & (self._considered[worker[rows]] < self.offers)]
            self._considered[worker[new]] += 1
            self._known[one] = np.concatenate([before, worker[new]])
            considered[new] = considered[rows[known]] = True
        return considered

    def mutes(self, task: Ids, worker: Ids) -> Mask:
        """Tell by lot which phones mute the task of their row: the same lot whenever it is offered."""
        return np.asarray(self.streams.uniform("protocol.refusal", worker, task) < self.mute)

    def let_through(self, task: Ids, worker: Ids, reached: Mask, time_s: float) -> Mask:
        """Tell which rows' owners see their task."""
        return np.asarray(self.consider(task, worker, reached, time_s) & ~self.mutes(task, worker))

    def is_spent(self, worker: Ids, time_s: float) -> Mask:
        """Tell which phones say nothing more in the window of a moment."""
        self._turn_to(time_s)
        return np.asarray(self._considered[worker] >= self.offers)

    def _turn_to(self, time_s: float) -> None:
        """Begin a new window where one has ended: what was considered before counts anew, at its expense."""
        window = math.floor(time_s / self.window_s)
        if window != self._window:
            self._window, self._considered[:] = window, 0
            self._known.clear()
