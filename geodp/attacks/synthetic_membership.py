"""Telling from synthetic trips whose true ones they were made from."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.slots import SlotTable
from geodp.attacks.traces import PAST, TRACES, Integers
from geodp.errors import DataError
from geodp.geometry import Array

_PRIOR_STEPS = 2.0
ORDERS = (1, 2, 3)


class Chain:
    """A chain of some order over cells, learnt from sequences; each order is smoothed by the one below.

    Parameters
    ----------
    sequences
        Cells, one array per sequence.
    cells
        How many cells there are.
    order
        How many cells before the next one are looked at.
    """

    def __init__(self, sequences: list[Integers], cells: int, order: int) -> None:
        self.cells, self.order = cells, order
        everything = np.concatenate(sequences) if sequences else np.empty(0, dtype=np.int64)
        popularity = np.bincount(everything, minlength=cells) + 1.0
        self.popularity = popularity / popularity.sum()
        self.tables: list[tuple[Integers, Array, Integers, Array]] = []
        for length in range(1, order + 1):
            grams = np.concatenate(
                [_grams(one, length + 1, cells) for one in sequences] or [np.empty(0, dtype=np.int64)]
            )
            codes, times = np.unique(grams, return_counts=True)
            before, total = np.unique(codes // cells, return_inverse=True)
            sums = np.bincount(total, weights=times, minlength=before.size)
            self.tables.append((codes, times.astype(np.float64), before, sums.astype(np.float64)))

    def log_likelihood(self, sequence: Integers) -> float:
        """Return the mean of ln q(next cell | cells before) over a sequence."""
        if sequence.size == 0:
            return 0.0
        chance = self.popularity[sequence].astype(np.float64)
        for length, (codes, times, before, sums) in enumerate(self.tables, start=1):
            if sequence.size <= length:
                break
            grams = _grams(sequence, length + 1, self.cells)
            seen, all_ = _look_up(codes, times, grams), _look_up(before, sums, grams // self.cells)
            chance[length:] = (seen + _PRIOR_STEPS * chance[length:]) / (all_ + _PRIOR_STEPS)
        return float(np.mean(np.log(chance)))


def _grams(sequence: Integers, length: int, cells: int) -> Integers:
    """Give every run of so many cells a number."""
    if sequence.size < length:
        return np.empty(0, dtype=np.int64)
    code = np.zeros(sequence.size - length + 1, dtype=np.int64)
    for at in range(length):
        code = code * cells + sequence[at : sequence.size - length + 1 + at]
    return code


def _look_up(codes: Integers, values: Array, wanted: Integers) -> Array:
    if codes.size == 0:
        return np.zeros(wanted.size)
    at = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
    return np.where(codes[at] == wanted, values[at], 0.0)


def score_by_density(
    candidates: list[Integers], synthetic: list[Integers], reference: list[Integers], cells: int, order: int
) -> Array:
    """Return ln p(candidate | learnt from the synthetic ones) - ln p(candidate | learnt from a reference)."""
    near, far = Chain(synthetic, cells, order), Chain(reference, cells, order)
    return np.array([one.size * (near.log_likelihood(one) - far.log_likelihood(one)) for one in candidates])


def choose_order(synthetic: list[Integers], cells: int) -> int:
    """Return the order at which a chain of half of the synthetic sequences makes the other half likeliest."""
    half, other = synthetic[::2], synthetic[1::2]
    if not half or not other:
        return 1
    fit = [np.mean([Chain(half, cells, order).log_likelihood(one) for one in other]) for order in ORDERS]
    return ORDERS[int(np.argmax(fit))]


def sequences_of(slots: SlotTable) -> list[Integers]:
    """Return everybody's cells in order of time."""
    first = np.searchsorted(slots.person, np.arange(len(slots.people) + 1))
    return [slots.cell[first[number] : first[number + 1]] for number in range(len(slots.people))]


class SyntheticMembership(Attack):
    """Compare how likely a trip is under the synthetic ones and under a reference: what was learnt by heart stands out.

    ln p̂_synthetic - ln p̂_reference with chains of order 1 to 3, each smoothed by the one below and at last by
    popularity; the order is the one that fits half of the synthetic trips to the other. The reference is everybody's
    `past`. Looking for the nearest trip finds next to nothing where this tells nearly all.

    Reference
    ---------
    Stadler, Oprisanu, Troncoso 2022, "Synthetic Data - Anonymisation Groundhog Day" (the question; the ratio is ours).
    """

    kind: ClassVar[str] = "synthetic_membership"
    about: ClassVar[str] = "member"
    reads: ClassVar[frozenset[str]] = frozenset({"trajectories"})
    can_know: ClassVar[frozenset[str]] = frozenset({PAST})

    knows: tuple[str, ...] = (PAST,)
    """What is known beforehand: `past`, traces of an earlier period, or of strangers."""
    order: Literal["auto", 1, 2, 3] = "auto"
    """Of the chains."""
    cell_m: float = Field(default=1000.0, gt=0)
    """Side of a cell, metres."""
    people: int = Field(default=500, ge=2)
    """Maximum number of targets."""

    def guess(self, view: AttackView) -> Findings:
        """Return the evidence about each candidate."""
        candidates, past = view.background.traces, view.background.past
        made = view.find_trips()
        if candidates is None or not candidates.size or made is None or not made.size:
            return Findings.about_members(np.empty(0, dtype=np.str_), np.empty(0))
        if past is None or not past.size:
            raise DataError(f"{self.kind} needs a reference: '{PAST}', which this data cannot give ('{TRACES}' alone).")
        parts = [
            SlotTable.cut(part, view.region, hours=1 / 3600, cell_m=self.cell_m) for part in (candidates, made, past)
        ]
        used = np.unique(np.concatenate([part.cell for part in parts]))
        sequences = [
            sequences_of(SlotTable(p.people, p.person, p.slot, np.searchsorted(used, p.cell), used.size)) for p in parts
        ]
        candidate, synthetic, reference = sequences
        order = choose_order(synthetic, used.size) if self.order == "auto" else int(self.order)
        return Findings.about_members(
            parts[0].people, score_by_density(candidate, synthetic, reference, used.size, order)
        )
