"""Which rows were there before: duplicates across batches, in 8 bytes a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Keys = npt.NDArray[np.uint64]


class SeenRows:
    """Remembers rows by a 64-bit hash; sorted runs are merged pairwise, so n rows cost n log n.

    Two unlike rows share a hash with probability n²/2⁶⁵: one in a million for the 6.4 million rows of Gowalla.
    """

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def repeated(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Tell which rows were seen before, in earlier batches or earlier in this one, and remember all."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        again = np.zeros(keys.size, dtype=np.bool_)
        again[order[1:]] = ordered[1:] == ordered[:-1]
        for run in self._runs:
            place = np.minimum(np.searchsorted(run, keys), run.size - 1)
            again |= run[place] == keys
        self._remember(np.unique(ordered))
        return again

    def _remember(self, run: Keys) -> None:
        if not run.size:
            return
        while self._runs and self._runs[-1].size <= 2 * run.size:
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)


class Numbering:
    """Numbers names in the order of their first appearance over all batches."""

    def __init__(self) -> None:
        self._known: dict[str | None, int] = {}

    @property
    def names(self) -> list[str | None]:
        """All names so far, by number."""
        return list(self._known)

    def codes(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Return the number of every name of a column."""
        coded = column.dictionary_encode()
        known = self._known
        numbers = np.array([known.setdefault(name, len(known)) for name in coded.dictionary.to_pylist()], np.int64)
        filled: Any = coded.indices.fill_null(0)
        return np.asarray(numbers[filled.to_numpy()] if numbers.size else np.full(len(column), -1), dtype=np.int64)


def row_keys(columns: Sequence[npt.NDArray[np.int64]]) -> Keys:
    """Mix whole numbers into one 64-bit key per row (splitmix64, column by column)."""
    mixed = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
