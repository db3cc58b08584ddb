"""Synthetic trips from answers that every phone gives by chance, with nobody trusted: a rival in the local model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.publications.adaptive_markov import AdaptiveChain, TwoLevelCells, find_ways
from geodp.curator.publications.second_order_markov import calibrate_trips
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, Receipt
from geodp.curator.synthesis.grids import Integers, square_grid
from geodp.curator.synthesis.noisy_histograms import NoisyHistogram, bin_of, fit_total, grow_edges, whole_edges
from geodp.curator.synthesis.shrinkage import shrink_to_law
from geodp.curator.synthesis.trip_shapes import Timing
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise
from geodp.public.cell_laws import MOST_EPSILON, has_odd_parity, is_direct_best, transform_hadamard
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.trajectories.table import Trajectories

ANSWERS = "answers"
QUESTIONS = {"start": 0.18, "end": 0.18, "move": 0.36, "length": 0.14, "departure": 0.09, "pace": 0.05}
"""What is asked, and the share of those who are asked it: a lot that depends on nobody's data."""
_MOST_STEPS = 40
_PACE_EDGES_S = grow_edges(2.0, 3600.0, 2.0)
_HOURS = 12
_NUMBERS_AT_ONCE = 2**21


class LocalMarkov(TripModelPublication):
    """Synthetic trips of a first-order chain whose counts come from random answers, with nobody trusted: a rival.

    Every trip (`unit: trajectory`), or one trip of every person (`unit: person`), answers one question, which is drawn
    by lot: in which cell it begins or ends, one of its moves from cell to cell, how many cells it passes, when it
    departs, or its pace. Every answer is random; only sums of many say something.

    Guarantee
    ---------
    ε-differential privacy in the local model: whichever trip somebody made, the odds of any answer change by at most
    e^ε (replace), and nobody is trusted with a true one. How many answer is public. `unit: person`: of each person one
    trip is asked about. `unit: trajectory`: a person with k trips is protected at k·ε only.

    Reference
    ---------
    Du et al. 2023, LDPTrace: locally differentially private trajectory synthesis [recalled]. Theirs: starts, ends,
    lengths and moves to neighbouring cells from local answers. Ours: one question each instead of a split of ε,
    Hadamard response, times, laws for lengths, and ends that are calibrated as in `second_order_markov`.
    """

    kind: ClassVar[str] = "local_markov"

    epsilon: float = Field(default=1.0, gt=0, le=MOST_EPSILON)
    """ε of one answer: of one person, or of one trip."""
    cells: int = Field(default=6, ge=2, le=20)
    """Cells along the longer side of the region."""

    @model_validator(mode="after")
    def _one_trip_each(self) -> Self:
        if self.trajectories_per_person not in ((None, 1) if self.unit == "person" else (None,)):
            about = "one trip of each person" if self.unit == "person" else "every trip"
            raise ValueError(
                f"trajectories_per_person: {self.trajectories_per_person} has no meaning here: {about} is asked about. "
                "Leave it out"
            )
        return self

    @property
    def cap(self) -> int | None:
        """One trip of a person is asked about; with `unit: trajectory` all are."""
        return 1 if self.unit == "person" else None

    def crowd(self) -> int:
        """Return 1: one answer is all that one protected unit gives."""
        return 1

    def guarantee(self) -> Guarantee:
        """Promise ε for one person's answer, or for that of each trip."""
        unit = Unit.USER if self.unit == "person" else Unit.TRAJECTORY
        return Guarantee(self.epsilon, unit, Neighbours.REPLACE, Trust.LOCAL)

    def parts(self) -> dict[str, float]:
        """Return ε of the one answer that everyone gives."""
        return {ANSWERS: self.epsilon}

    def _number_part(self) -> tuple[str, int]:
        return ANSWERS, 1

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {}

    def forecast(self, region: Region) -> str:  # noqa: ARG002 - the grid is as coarse in any region
        """Say what the release will cost and what it can show, from public settings alone."""
        return f"{self.kind} costs ε = {self.epsilon:g} of each who answers. {self.expected_error()[0]}"

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the error is, from public facts alone, in words and numbers."""
        # A Hadamard answer supports a category by (e^ε - 1)/(e^ε + 1) more than any other.
        stretch = (math.exp(self.epsilon) + 1) / math.expm1(self.epsilon)
        scales = {f"√N error of {name}": stretch / math.sqrt(share) for name, share in QUESTIONS.items()}
        return (
            f"Of N who answer, a number of trips is off by ±{scales['√N error of start']:.3g}·√N (starts and ends) or "
            f"±{scales['√N error of move']:.3g}·√N (moves): of 10,000, about "
            f"±{100 * scales['√N error of start']:,.0f} and ±{100 * scales['√N error of move']:,.0f}.",
            scales,
        )

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> AdaptiveChain:
        """Ask everyone one question; estimate a chain from the answers."""
        top = square_grid(region, self.cells)
        cells = TwoLevelCells(top, np.ones(top.size, dtype=np.int64))
        first, way = find_ways(trajectories, cells)
        number, tail = trajectories.size, cells.links[0]
        edges = whole_edges(_MOST_STEPS, 1.6)
        departures = np.mod(trajectories.departures_s, self.period_s) / self.period_s * _HOURS
        pace_s = trajectories.durations_s / np.maximum(np.diff(first) - 1, 1)
        nobody = np.empty(0, dtype=np.int64)
        values = {
            "start": way[first[:-1]] if number else nobody,
            "end": way[first[1:] - 1] if number else nobody,
            "move": _choose_moves(first, way, cells, parts.noise),
            "length": bin_of(np.diff(first).astype(np.float64), edges),
            "departure": np.clip(departures.astype(np.int64), 0, _HOURS - 1),
            "pace": bin_of(pace_s, _PACE_EDGES_S),
        }
        sizes = (top.size, top.size, tail.size + 1, edges.size - 1, _HOURS, _PACE_EDGES_S.size - 1)
        lot = parts.noise.choose(np.log(np.array(list(QUESTIONS.values()))), number)
        found = {
            name: ask(values[name][lot == place], size, self.epsilon, number, parts.noise)
            for place, (name, size) in enumerate(zip(QUESTIONS, sizes, strict=True))
        }
        parts.receipts.append(Receipt(ANSWERS, self.epsilon, 1.0, number))
        whole = float(max(number, 1))
        starts, ends = (fit_total(found[name].counts, whole) for name in ("start", "end"))
        moves = _chain_of(found["move"], ends, cells, whole)
        lengths = shrink_to_law(found["length"].counts, edges, "positive", found["length"].scale, whole) / whole
        timing = Timing(
            NoisyHistogram(
                np.linspace(0.0, self.period_s, _HOURS + 1),
                found["departure"].counts,
                found["departure"].scale,
                "circular",
            ),
            NoisyHistogram(_PACE_EDGES_S, found["pace"].counts, found["pace"].scale),
        )
        return AdaptiveChain(
            number=max(number, 1),
            cells=cells,
            weight=starts,
            moves=moves,
            trips=fit_total(calibrate_trips(moves, starts, ends).ravel(), whole),
            lengths=np.tile(lengths, (top.size, 1)),
            edges=edges,
            timing=timing,
            region=region,
            most_points=self.most_points,
        )


@dataclass(frozen=True, eq=False)
class _Estimate:
    """Unbiased numbers of trips by category, and the scale that Laplace noise as wide as theirs would have."""

    counts: Array
    scale: float


def _choose_moves(first: Integers, way: Integers, cells: TwoLevelCells, noise: Noise) -> Integers:
    """Return one of each trip's moves, by lot; the last category for trips that stay in a cell."""
    tail, head = cells.links
    counts = np.diff(first) - 1
    lot = noise.uniform(counts.size)  # drawn on the phone: which move it is tells nothing
    place = first[:-1] + np.minimum((lot * counts).astype(np.int64), np.maximum(counts - 1, 0))
    following = np.minimum(place + 1, max(way.size - 1, 0))
    code, asked = tail * cells.size + head, way[place] * cells.size + way[following]
    found = np.minimum(np.searchsorted(code, asked), code.size - 1)
    return np.where((counts > 0) & (code[found] == asked), found, tail.size)


def ask(values: Integers, categories: int, epsilon: float, everyone: int, noise: Noise) -> _Estimate:
    """Let each answer in which category it is; estimate how many of everyone are in each."""
    answers, epsilon = values.size, min(epsilon, MOST_EPSILON)
    if not answers:
        return _Estimate(np.zeros(categories), 1.0)
    if is_direct_best(epsilon, categories):
        chance = math.exp(epsilon) / (math.exp(epsilon) + categories - 1)
        other = (1 - chance) / (categories - 1)
        told = _answer(values, np.arange(categories), np.eye(categories, dtype=np.bool_), epsilon, noise)
        support = np.bincount(told, minlength=categories).astype(np.float64)
    else:
        columns = 1 << categories.bit_length()
        rows = ~has_odd_parity(np.arange(1, categories + 1)[:, None] & np.arange(columns))
        chance, other = math.exp(epsilon) / (math.exp(epsilon) + 1), 0.5
        heard = np.bincount(_answer(values, np.arange(columns), rows, epsilon, noise), minlength=columns)
        support = (answers + transform_hadamard(heard.astype(np.int64))[1 : categories + 1]) / 2
    stretch = everyone / max(answers, 1) / (chance - other)
    return _Estimate(
        np.asarray((support - answers * other) * stretch),
        max(math.sqrt(answers * other * (1 - other) / 2) * stretch, 1.0),
    )


def _answer(
    values: Integers,
    columns: Integers,
    likely: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    epsilon: float,
    noise: Noise,
) -> Integers:
    """Return an answer for each: those that are likely for its category are e^ε times as likely as the others."""
    found = np.empty(values.size, dtype=np.int64)
    rows = max(1, _NUMBERS_AT_ONCE // columns.size)
    for begin in range(0, values.size, rows):
        some = slice(begin, begin + rows)
        found[some] = noise.choose(np.where(likely[values[some]], epsilon, 0.0))
    return columns[found]


def _chain_of(found: _Estimate, ends: Array, cells: TwoLevelCells, total: float) -> Array:
    """Return chances of moves from each cell; the last category is no move at all."""
    tail, head = cells.links
    counts = fit_total(found.counts, total)[:-1] + 1e-3
    table = np.zeros((cells.size, cells.size))
    # A trip tells one of its moves, whichever: how many it has in all follows from lengths, so ends take a share.
    leaving = np.bincount(tail, counts, cells.size) + ends
    table[tail, head] = counts / leaving[tail]
    return table
