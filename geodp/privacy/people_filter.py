"""The filter: a person is counted as long as what she has spent, and what this release costs, fit her budget.

Whether she is left out follows from her own past alone, so it hides as well as any release does: with or without her,
everybody else is counted or left out alike, and what is released later depends on her through those releases only in
which she was counted (adding and removing). Who or how many have dropped out is private, like what they have spent.

Spending is kept as whole numbers of ticks. The tick is the greatest common divisor of all charges so far, so sums are
exact; where that would need more ticks than an int64 holds, charges are rounded up to coarser ones.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.privacy.spending import Ids, as_float, limit_units, units

_MOST_TICKS = 2**60


class PeopleFilter:
    """What each person has spent of a budget of her own, in exact sums.

    Parameters
    ----------
    people
        How many there are, numbered from 0.
    budget
        The most that each may spend, ε.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.people_filter import PeopleFilter
    >>> alone = PeopleFilter(1, budget=1.0)
    >>> [bool(alone.admit(np.array([0]), 0.3)[0]) for _ in range(5)]
    [True, True, True, False, False]
    """

    def __init__(self, people: int, budget: float) -> None:
        if not (math.isfinite(budget) and budget > 0):
            raise UsageError(f"a person's budget must be a finite epsilon greater than 0, got {budget}")
        self.budget = budget
        self._limit = limit_units(budget)
        self._coarsest = max(1, self._limit // _MOST_TICKS)
        self._tick = 0
        """Units of one tick; 0: nothing was charged yet."""
        self._ticks = np.zeros(people, dtype=np.int64)
        self._apart = 0

    def set_apart(self, epsilon_units: int) -> None:
        """Keep what everyone was charged anyway, in the ledger's units: it is spent by each."""
        self._apart = epsilon_units

    def admit(self, who: Ids, epsilon: float) -> npt.NDArray[np.bool_]:
        """Tell who can still be charged, and charge them.

        Parameters
        ----------
        who
            Numbers of the people present, each once.
        epsilon
            What it costs each of them to be counted.

        Returns
        -------
        NDArray[bool]
            Whether each is counted.
        """
        step = self._count_ticks(units(epsilon))
        most = (self._limit - self._apart) // self._tick - step
        held = self._ticks[who]
        fits = held <= most
        held += step * fits
        self._ticks[who] = held
        return np.asarray(fits)

    def sum_spent(self) -> npt.NDArray[np.float64]:
        """Return what each person has spent by being counted: private."""
        return np.asarray(self._ticks * (self._tick / 10**27))

    def find_most(self, times: int, epsilon: float) -> float:
        """Return what somebody has spent who was there at so many charges of ε: public, since it is about nobody."""
        each = units(epsilon)
        return as_float(min(times, max(0, self._limit - self._apart) // each) * each)

    def _count_ticks(self, charge: int) -> int:
        """Return a charge in ticks; those spent before are counted anew where the tick gets finer."""
        finer = max(math.gcd(self._tick, charge), self._coarsest)
        if self._tick and finer != self._tick:
            self._ticks = np.array([-(-int(held) * self._tick // finer) for held in np.unique(self._ticks)])[
                np.unique(self._ticks, return_inverse=True)[1]
            ]
        self._tick = finer
        return -(-charge // finer)
