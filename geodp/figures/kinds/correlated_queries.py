"""Many linear queries about people who move together: noise for each, the iteration mechanism, one histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array, Grid, Region
from geodp.privacy.dependence import household_sensitivity
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.primitives import laplace_counts
from geodp.registry import plugin

if TYPE_CHECKING:
    import pandas as pd

ERROR, UPDATES, COST = "mse", "updates", "epsilon that answers may cost, for 1 promised"
GLOBAL, CORRELATED = "LM, k times the sensitivity", "LM, correlated sensitivity"
PRINTED, REPAIRED = "CIM, as printed", "CIM, repaired"
HISTOGRAM = "one histogram, k times the sensitivity"
UPDATE, BOOK_UPDATE, SILENCE = "CIM: the first update", "CIM: the first update, N = 65536", "CIM: all silent rounds"
_REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)
_PER_SIDE = (20, 19)


class CorrelatedQueries(FigureKind):
    """Figures about linear queries on a histogram of people."""

    people: int = Field(default=30_000, ge=1)
    """People of a made-up city."""
    path: str | None = None
    """A Parquet file of real check-ins instead (columns user, lat, lon; the newest of a user first): everyone counts
    where her first row is."""
    household: int = Field(default=10, ge=1)
    """People who move together, at most (k)."""
    degree: float = Field(default=0.7, ge=0, le=1)
    """The correlated degree of two of them (δ)."""
    threshold: float = Field(default=0.6, gt=0, le=1)
    """Degrees below it count as 0 (δ₀)."""
    queries: int = Field(default=10_000, ge=1)
    """How many are asked (|F|)."""
    asked: Literal["weights", "areas"] = "weights"
    """`weights`: every cell has a random weight between 0 and 1; `areas`: how many are in a random rectangle."""
    epsilons: tuple[float, ...] = (0.1, 0.4, 0.7, 1.0)
    """ε of all answers together."""
    repeats: int = Field(default=3, ge=1)
    """How often queries and noise are drawn."""

    def count_people(self) -> Array:
        """Return how many people are in each cell."""
        if self.path is not None:
            return _count_file(self.path)
        people = plugin("synthetic_city", count=self.people).load(_REGION, np.random.default_rng(14))
        return np.asarray(Grid.divide(_REGION, *_PER_SIDE).count(people.x_m, people.y_m), dtype=np.float64)

    def draw_queries(self, luck: np.random.Generator) -> Array:
        """Return the weight of each cell in each query (row); answers lie in [0, 1]."""
        columns, rows = _PER_SIDE
        if self.asked == "weights":
            return luck.random((self.queries, columns * rows))
        west, east = np.sort(luck.random((2, self.queries)) * columns, axis=0)
        south, north = np.sort(luck.random((2, self.queries)) * rows, axis=0)
        across = (np.arange(columns) >= np.floor(west)[:, None]) & (np.arange(columns) <= np.floor(east)[:, None])
        along = (np.arange(rows) >= np.floor(south)[:, None]) & (np.arange(rows) <= np.floor(north)[:, None])
        return np.asarray(
            (along[:, :, None] & across[:, None, :]).reshape(self.queries, -1).astype(np.float64), dtype=np.float64
        )

    @property
    def correlated_sensitivity(self) -> float:
        """CS of a count: 1 + (k - 1)·δ."""
        return household_sensitivity(self.household, self.degree, self.threshold)

    def repeat(self, truth: Array) -> Iterator[tuple[int, float, Array, Array, Noise]]:
        """Yield repetition, ε, queries, true answers and noise, for the true share of the people in each cell."""
        for repeat in range(self.repeats):
            weights = self.draw_queries(np.random.default_rng([14, repeat]))
            for epsilon in self.epsilons:
                noise = SimulatedNoise(np.random.default_rng([15, repeat, round(1000 * epsilon)]))
                yield repeat, epsilon, weights, weights @ truth, noise


class CorrelatedNoise(CorrelatedQueries):
    """Noise for every query by correlated sensitivity, and by k times the sensitivity for one person.

    Each of the |F| answers has ε/|F|. Correlated sensitivity is smaller than k whenever δ < 1: that its error is
    follows from arithmetic, and says nothing about what it hides.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 14.4.7.3, fig. 14.2.
    """

    kind: ClassVar[str] = "correlated_noise"

    lines: tuple[str, ...] = (GLOBAL, CORRELATED)
    """The lines."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Answer the queries one by one; the errors of both ways, and what a household costs."""
        rows: list[tuple[str, str, float, int, float]] = []
        count = self.count_people()
        size = float(count.sum())
        widths = {GLOBAL: float(self.household), CORRELATED: self.correlated_sensitivity}
        for repeat, epsilon, weights, true, noise in self.repeat(count / size):
            for line, width in widths.items():
                each = epsilon / len(weights)
                given = laplace_counts(true, epsilon=each, sensitivity=width / size, noise=noise)
                rows.append((ERROR, line, epsilon, repeat, float(np.mean((given - true) ** 2))))
        rows += [
            (COST, line, epsilon, 0, self.household / width)
            for line, width in widths.items()
            for epsilon in self.epsilons
        ]
        return points_table(rows)


class CorrelatedIteration(CorrelatedQueries):
    """The Correlated Iteration Mechanism as printed and repaired, noise for every query, and one noisy histogram.

    As printed every round compares a noisy answer with a synthetic histogram, shows the noisy one where they differ by
    more than T, and charges only those: u_max = ln N/(η²δ₀²) rounds of ε₀ = ε/u_max each. With the printed η = 7 and
    δ₀ = 0.6 that is 0.63 rounds for N = 65536, so the first costs 1.59 ε; η = 7 is also far beyond what the proof about
    the potential allows. And a round that shows nothing shows that the noisy answer was near: where the true gap
    exceeds T, by e^ε₀ likelier for a neighbour, so L silent rounds may cost L·ε₀. Repaired: at most U updates, each
    found by a threshold with noise Lap(2UΔ/ε_s), compared with Lap(4UΔ/ε_s) for every query and drawn anew after an
    update, and answered with Lap(UΔ/ε_a), ε_s = ε_a = ε/2; multiplicative weights with a step of T/2. One histogram
    with Laplace noise answers all linear queries at once.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 14.4.5, algorithms 1 and 2, eq. (14.9)-(14.14), fig.
    14.1; repair: Dwork and Roth 2014, section 3.6, and Hardt and Rothblum 2010 (recalled).
    """

    kind: ClassVar[str] = "correlated_iteration"

    lines: tuple[str, ...] = (GLOBAL, CORRELATED, PRINTED, REPAIRED, HISTOGRAM, UPDATE, BOOK_UPDATE, SILENCE)
    """The lines."""
    eta: float = Field(default=7.0, gt=0)
    """η of the printed update."""
    gap: float = Field(default=0.3, gt=0)
    """T: answers further than this from the synthetic histogram are updates."""
    updates: int = Field(default=10, ge=1)
    """U: updates of the repaired mechanism, at most."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Answer the same queries in all ways; beside the errors what the printed way may cost."""
        rows: list[tuple[str, str, float, int, float]] = []
        count = self.count_people()
        size = float(count.sum())
        truth = count / size
        widths = {GLOBAL: float(self.household), CORRELATED: self.correlated_sensitivity}
        for repeat, epsilon, weights, true, noise in self.repeat(truth):
            given = {
                line: laplace_counts(true, epsilon=epsilon / len(weights), sensitivity=width / size, noise=noise)
                for line, width in widths.items()
            }
            given[PRINTED], printed = self.iterate_as_printed(weights, true, epsilon, size, noise)
            given[REPAIRED], repaired = self.iterate(weights, true, epsilon, size, noise)
            each = laplace_counts(truth, epsilon=epsilon, sensitivity=self.household / size, noise=noise)
            given[HISTOGRAM] = weights @ each
            rows += [(ERROR, line, epsilon, repeat, float(np.mean((got - true) ** 2))) for line, got in given.items()]
            rows += [(UPDATES, PRINTED, epsilon, repeat, printed), (UPDATES, REPAIRED, epsilon, repeat, repaired)]
        for epsilon in self.epsilons:
            share = self.round_share(truth.size)
            costs = {UPDATE: share, BOOK_UPDATE: self.round_share(1 << 16), SILENCE: self.queries * share}
            rows += [(COST, line, epsilon, 0, cost) for line, cost in costs.items()]
        return points_table(rows)

    def most_updates(self, cells: int) -> float:
        """Return u_max = ln N/(η²δ₀²) of eq. (14.12)."""
        return math.log(cells) / (self.eta * self.threshold) ** 2

    def round_share(self, cells: int) -> float:
        """Return ε₀/ε of eq. (14.14): what one round costs."""
        return 1 / self.most_updates(cells)

    def cost_of_silence(self, scale: float, shift: float, true_gap: float) -> float:
        """Return how much one silent round tells at a true gap: |ln P(silent)/P(silent, all shifted)|.

        Parameters
        ----------
        scale
            Of the noise of the round.
        shift
            How much a neighbour's answer differs.
        true_gap
            How far the true answer is from the synthetic one.
        """
        from scipy.stats import laplace

        def silence(at: float) -> float:
            return float(laplace.cdf((self.gap - at) / scale) - laplace.cdf((-self.gap - at) / scale))

        return abs(math.log(silence(true_gap) / silence(true_gap + shift)))

    def iterate_as_printed(
        self, weights: Array, true: Array, epsilon: float, size: float, noise: Noise
    ) -> tuple[Array, int]:
        """Return the answers of algorithm 1, and how many of them are updates."""
        each = epsilon * self.round_share(weights.shape[1])
        noisy = laplace_counts(true, epsilon=each, sensitivity=self.correlated_sensitivity / size, noise=noise)
        synthetic = np.full(weights.shape[1], 1 / weights.shape[1])
        answers, begin, updates = noisy.copy(), 0, 0
        while begin < len(weights):
            part = slice(begin, min(begin + 500, len(weights)))
            known = weights[part] @ synthetic
            far = np.flatnonzero(np.abs(known - noisy[part]) > self.gap)
            stop = begin + int(far[0]) if far.size else part.stop
            answers[begin:stop] = known[: stop - begin]
            if far.size:
                updates += 1
                inside = weights[stop] > 0
                given = known[stop - begin]
                step = given if given > noisy[stop] else 1 - given  # (14.11): smaller in either case
                synthetic[inside] *= math.exp(-self.eta * self.degree * step)
                synthetic /= synthetic.sum()
                stop += 1
            begin = stop
        return answers, updates

    def iterate(self, weights: Array, true: Array, epsilon: float, size: float, noise: Noise) -> tuple[Array, int]:
        """Return the answers of the repaired mechanism, and how many of them are updates."""
        half, most = epsilon / 2, self.updates
        change = self.household / size
        synthetic = np.full(weights.shape[1], 1 / weights.shape[1])
        answers, begin, updates = np.empty(len(weights)), 0, 0
        while begin < len(weights) and updates < most:
            threshold = self.gap + float(noise.laplace(2 * most * change / half, 1)[0])
            known = weights[begin:] @ synthetic
            compared = np.abs(known - true[begin:]) + noise.laplace(4 * most * change / half, known.size)
            far = np.flatnonzero(compared > threshold)
            stop = begin + int(far[0]) if far.size else len(weights)
            answers[begin:stop] = known[: stop - begin]
            begin = stop
            if far.size:
                updates += 1
                answer = float(laplace_counts(true[[stop]], epsilon=half / most, sensitivity=change, noise=noise)[0])
                answers[stop] = answer
                synthetic *= np.exp(math.copysign(self.gap / 2, answer - known[int(far[0])]) * weights[stop])
                synthetic /= synthetic.sum()
                begin += 1
        answers[begin:] = weights[begin:] @ synthetic
        return answers, updates


def _count_file(path: str) -> Array:
    """Count people where their first rows are, in the box of New York that other figures use."""
    import pandas as pd

    region = Region(-74.03, 40.68, -73.90, 40.82)
    rows = pd.read_parquet(path, columns=["user", "lat", "lon"]).drop_duplicates("user")
    x_m, y_m = region.projection.to_m(lon=rows["lon"].to_numpy(), lat=rows["lat"].to_numpy())
    inside = region.contains(x_m, y_m)
    return Grid.divide(region, *_PER_SIDE).count(x_m[inside], y_m[inside]).astype(np.float64)
