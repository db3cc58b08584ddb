"""At most so many rows of one person: chosen by chance, and by nothing that another person's rows say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def keep_first(person: Integers, chance: npt.NDArray[np.generic], cap: int) -> npt.NDArray[np.bool_]:
    """Tell which rows are among the `cap` of their person with the least chance; ties keep the order of the rows."""
    order = np.lexsort((chance, person))
    kept = np.empty(person.size, dtype=np.bool_)
    kept[order] = rank_in_groups(person[order]) < cap
    return kept


def rank_in_groups(groups: Integers) -> Integers:
    """Return the place of each entry among those of its group, from 0 on."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rank = np.empty(groups.size, dtype=np.int64)
    rank[order] = np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))
    return rank
