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

    def let_through(self, task: Ids, worker: Ids, reached: Mask, time_s: float) -> Mask:
        """Tell which rows' owners see their task; rows are in order of task. A task offered again counts once."""
        window = math.floor(time_s / self.window_s)
        if window != self._window:
            self._window, self._considered[:] = window, 0
            self._known.clear()  # what was considered before may be considered again, at the expense of this window
        seen = np.zeros(task.size, dtype=np.bool_)
        for one in np.unique(task).tolist():
            rows = np.flatnonzero((task == one) & reached)
            known = np.isin(worker[rows], self._known.get(one, np.empty(0, dtype=np.int64)))
            new = rows[~known & (self._considered[worker[rows]] < self.offers)]
            self._considered[worker[new]] += 1
            self._known[one] = np.concatenate([self._known.get(one, np.empty(0, dtype=np.int64)), worker[new]])
            seen[new] = seen[rows[known]] = True
        lot = self.streams.uniform("protocol.refusal", worker, task)
        return np.asarray(seen & (lot >= self.mute))
