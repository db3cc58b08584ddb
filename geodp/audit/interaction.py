"""What the outcomes of offers say about one more worker: the part of the server's view that no epsilon covers.

The server sees of every offer that nobody took it, that somebody did, or that the canary did. Given everybody else, a
worker who accepts with probability θ makes "nobody" less likely by a factor of 1 - θ. If M others accept, she is
picked with probability θ·E[1/(M+1)].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.events import Kind, Reason
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

AVAILABLE = (Reason.UNWILLING, Reason.PICKED, Reason.NOT_PICKED)
"""Reasons in the event log of those who could have come; the busy, far and underpaid could not."""


@dataclass(frozen=True)
class DecidedOffers:
    """The last offer of every task that was decided, with the chances of everybody who was asked."""

    x_m: Array
    y_m: Array
    radius_m: Array
    reward: Array
    nobody: Array
    """Probability that no one accepts, Π(1 - θ)."""
    share: Array
    """E[1/(M+1)]: the probability that one more acceptor is the one who is picked."""
    acceptance: Acceptance
    regions: tuple[Array, ...] | None = None
    """Rectangles of each offer, where offers go to regions instead of circles."""

    @classmethod
    def of(cls, run: RunFolder) -> DecidedOffers:
        """Read the offers and the chances of those who were asked from a run folder."""
        import pandas as pd

        offers = run.offers
        made = offers[(offers["unreachable"].fillna("") == "") & ~addressed(run)]
        made = made.sort_values(["task", "round"], kind="stable")
        last = made.drop_duplicates("task", keep="last").set_index("task")
        decided = run.tasks.index[run.tasks["outcome"].isin(["success", "failure"])]
        last = last[last.index.isin(decided)]
        events = run.events
        asked = events[events["kind"].isin([Kind.REFUSAL, Kind.ACCEPTANCE]) & events["reason"].isin(AVAILABLE)]
        asked = asked[asked["time_s"] >= asked["task"].map(last["time_s"])]
        row = np.asarray(last.index.get_indexer(pd.Index(asked["task"])), dtype=np.intp)
        acceptance = run.scenario.workers.acceptance
        reward = last["reward"].to_numpy(dtype=np.float64) / run.scenario.tasks.workers_per_task
        eagerness = acceptance.eagerness(run.workers, Streams(run.scenario.seed).generator("world.eagerness"))
        chance = acceptance.probability(
            reward[row], asked["value"].to_numpy(), 1.0 if eagerness is None else eagerness[asked["worker"].to_numpy()]
        )
        x, y, radius = (last[name].to_numpy(dtype=np.float64) for name in ("x_m", "y_m", "radius_m"))
        regions = _regions(last) if "region" in last else None
        return cls(x, y, radius, reward, *_others(row, chance, len(last)), acceptance, regions)

    def _reached(self, x_m: Array, y_m: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
        """Return which offer reaches which canary, and at what distance."""
        if self.regions is None:
            return range_join(x_m, y_m, self.x_m, self.y_m, self.radius_m)
        owner = np.repeat(np.arange(len(self.regions)), [len(region) for region in self.regions])
        number, canary = rectangle_join(x_m, y_m, np.concatenate([np.empty((0, 4)), *self.regions]))
        pair = np.unique(owner[number] * x_m.size + canary)  # once, also where rectangles share an edge
        offer, canary = pair // x_m.size, pair % x_m.size
        return offer, canary, np.hypot(x_m[canary] - self.x_m[offer], y_m[canary] - self.y_m[offer])

    def meet(
        self, x_m: Array, y_m: Array, inside: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Draw the outcome of every offer again for canaries at these places, each in a world of her own.

        Returns what the outcomes say for "in", in nats (infinite for a canary who was picked: the server has her name),
        and who was picked.
        """
        offer, canary, distance = self._reached(x_m, y_m)
        chance = self.acceptance.probability(self.reward[offer], distance)
        refusal = self.acceptance.log_refusal(self.reward[offer], distance)
        nobody, share = self.nobody[offer], self.share[offer]
        somebody = np.maximum((1 - nobody) * (1 - chance) + chance * (1 - share), 0.0)
        present = inside[canary]
        picks, empties = np.where(present, chance * share, 0.0), nobody * np.where(present, 1 - chance, 1.0)
        draw = rng.random(offer.size)
        picked, empty = draw < picks, (draw >= picks) & (draw < picks + empties)
        with np.errstate(divide="ignore", invalid="ignore"):
            taken = np.where(nobody < 1, np.log(somebody / (1 - nobody)), 0.0)
        said = np.where(empty, refusal, np.where(picked, 0.0, taken))
        log_ratio = np.bincount(canary, weights=said, minlength=x_m.size)
        chosen = np.bincount(canary[picked], minlength=x_m.size) > 0
        return np.where(chosen, np.inf, log_ratio), chosen


def _regions(offers: pd.DataFrame) -> tuple[Array, ...]:
    return tuple(np.asarray(region, dtype=np.float64).reshape(-1, 4) for region in offers["region"])


def addressed(run: RunFolder) -> npt.NDArray[np.bool_]:
    """Tell which offers went to phones by name: one more phone in the circle would not have been asked."""
    offers = run.offers
    if "recipients" not in offers:
        return np.zeros(len(offers), dtype=np.bool_)
    return np.asarray(offers["recipients"].notna(), dtype=np.bool_)


def _others(row: npt.NDArray[np.intp], chance: Array, offers: int) -> tuple[Array, Array]:
    """Return Π(1 - θ) and E[1/(M+1)] = ∫₀¹ Π(1 - θ + θs) ds of each offer, the integral by Gauss-Legendre."""
    with np.errstate(divide="ignore"):
        nobody = np.exp(np.bincount(row, weights=np.log1p(-chance), minlength=offers))
    share = np.zeros(offers)
    for node, weight in zip(*np.polynomial.legendre.leggauss(32), strict=True):
        s = (node + 1) / 2
        share += weight / 2 * np.exp(np.bincount(row, weights=np.log1p(-chance * (1 - s)), minlength=offers))
    return nobody, share
