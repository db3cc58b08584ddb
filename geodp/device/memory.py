"""Memoised reports: in a cell where a phone has reported before, it repeats its answer.

It stops an observer from averaging the noise away over a long stay, and promises little more. Two tracks that return to
their cells in different patterns are told apart at once: equal answers say "the same cell again". Between tracks with
the same pattern the cost is epsilon times the distance, summed over the distinct cells. Every new cell is charged, also
when a phone merely jitters across a border.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from geodp.device import Device
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Unit
from geodp.public.lattice import Lattice

Ids = npt.NDArray[np.int64]
_CELLS = 2**16  # lines in each direction that a key has room for
_PEOPLE = 2**31


@dataclass
class Memory:
    """Remembers, per person and cell, what was reported there first.

    Parameters
    ----------
    cell_m
        Side of the cells within which an answer is repeated, metres (public).
    """

    cell_m: float
    _keys: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _x_m: Array = field(default_factory=lambda: np.empty(0))
    _y_m: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not (np.isfinite(self.cell_m) and self.cell_m > 0):
            raise UsageError(f"cell_m must be a finite number greater than 0, got {self.cell_m}")

    def report(
        self,
        device: Device,
        people: npt.ArrayLike,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
        *,
        ledger: Ledger | None = None,
        time_s: float = 0.0,
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Return each person's report, and whether it is fresh: fresh reports cost what the device's guarantee says.

        With a ledger they are charged before anything is drawn; if it refuses, nothing is drawn or remembered.
        """
        who = np.asarray(people, dtype=np.int64)
        x, y = np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64)
        keys = self._key(who, x, y)
        _, first = np.unique(keys, return_index=True)
        fresh = np.zeros(keys.size, dtype=np.bool_)
        fresh[first] = ~self._is_known(keys[first])
        new = np.flatnonzero(fresh)
        if ledger is not None and new.size:
            ledger.charge(device.guarantee(region), time_s=time_s, mechanism=device.kind, who=who[new])
        if new.size:
            reported = device.report(x[new], y[new], rng=rng, region=region)
            self._remember(keys[new], *reported)
        at = np.searchsorted(self._keys, keys)
        return self._x_m[at], self._y_m[at], fresh

    def cells_of(self, person: int) -> int:
        """Return in how many distinct cells someone has reported: as often they were charged."""
        return int(np.count_nonzero(self._keys // _CELLS**2 == person))

    def _key(self, who: Ids, x_m: Array, y_m: Array) -> Ids:
        """Return one whole number per person and cell."""
        if not (np.isfinite(x_m).all() and np.isfinite(y_m).all()):
            raise DataError("some places have NaN or infinite coordinates. Nothing was reported.")
        if who.size and (who.min() < 0 or who.max() >= _PEOPLE):
            raise UsageError(f"people are numbered from 0 to {_PEOPLE - 1:,}")
        lattice = Lattice(self.cell_m)
        column, row = (lattice.nearest(place).astype(np.int64) + _CELLS // 2 for place in (x_m, y_m))
        if ((column < 0) | (column >= _CELLS) | (row < 0) | (row >= _CELLS)).any():
            raise UsageError(f"places further than {_CELLS // 2} cells of {self.cell_m:g} m out cannot be remembered")
        return np.asarray((who * _CELLS + column) * _CELLS + row)

    def _is_known(self, keys: Ids) -> npt.NDArray[np.bool_]:
        at = np.minimum(np.searchsorted(self._keys, keys), max(self._keys.size - 1, 0))
        return np.asarray(self._keys[at] == keys) if self._keys.size else np.zeros(keys.size, dtype=np.bool_)

    def _remember(self, keys: Ids, x_m: Array, y_m: Array) -> None:
        together = np.concatenate([self._keys, keys])
        order = np.argsort(together, kind="stable")
        self._keys = together[order]
        self._x_m = np.concatenate([self._x_m, x_m])[order]
        self._y_m = np.concatenate([self._y_m, y_m])[order]


def state_memoised(promise: Guarantee) -> Guarantee:
    """Return what a report promises when answers are repeated in a cell: nothing about who returns where."""
    return promise if promise.unit is Unit.NOTHING else replace(promise, memoised=True)
