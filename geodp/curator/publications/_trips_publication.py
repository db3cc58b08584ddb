"""DPT: synthetic trajectories in the place of real ones."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.publications import Publication, Published, Records
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, Receipt, split
from geodp.curator.synthesis.paths import DENSITY
from geodp.curator.synthesis.prefix_trees import Direction, level_parts
from geodp.curator.synthesis.tree_model import LENGTHS, TreeModel, TreeSettings, fit_tree_model, length_edges
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS
from geodp.curator.synthesis.trip_model import NUMBER, SHARES, TripModel, TripSettings, fit_trip_model
from geodp.errors import DataError, NotReleasable
from geodp.geometry import Region
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.notices import notice, notice_cap
from geodp.tables.trajectories.scores import changed_remark
from geodp.tables.trajectories.table import Trajectories

_AS_THEY_ARE = "the trajectories themselves are published"
DEFAULT_CAP = 10
_MOST_SPREAD = 300_000
"""Noise on the number of trips (a standard deviation) beyond which a release would be noise, and fill the memory."""


@dataclass(frozen=True, eq=False)
class PaidModel:
    """A model of trips, what every part of it cost, and chance for drawing from it, which costs nothing."""

    model: TreeModel | TripModel
    receipts: tuple[Receipt, ...]
    rng: np.random.Generator

    @property
    def number(self) -> int:
        """Noisy number of trips."""
        return self.model.lengths.total if isinstance(self.model, TreeModel) else self.model.number

    def draw(self, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        return self.model.draw(self.rng, count)


class Dpt(Publication):
    """Synthetic trips drawn from noisy counts of how people move (DPT), with baselines of the same kind.

    Guarantee
    ---------
    `unit: person`: ε-differential privacy for everything one person did, of which at most `trajectories_per_person`
    trips count; noise grows with that number. `unit: trajectory`: ε for one trip; a person with k trips is protected at
    k·ε only. Under a cap one trip more may push another one out, so the noise is then twice as wide. The region, caps
    and grids are public; the number of trips, their lengths, times, starts and moves are all counted with noise, and
    synthetic trips follow from the noisy counts alone.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.3.2 (He et al. 2015, DPT). The book gives a
    summary only, so `variant: dpt` is DPT in style: it bounds what a trajectory adds (weight min(1, l/n)) and counts
    starts and lengths apart. `variant: geodp` is ours: at the same ε it keeps ends, lengths and densities better than
    chains of moves, and does not zigzag. `ngram` follows Chen et al. 2012; `grid_markov` is a chain on one grid.
    """

    kind: ClassVar[str] = "dpt"
    reads: ClassVar[frozenset[str]] = frozenset({"trajectories"})
    releases: ClassVar[frozenset[str]] = frozenset({"trajectories"})

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the release, for one person or one trajectory."""
    unit: Literal["person", "trajectory"] = "person"
    """What ε hides: everything a person did, or one trip."""
    trajectories_per_person: int | None = Field(default=None, ge=1)
    """Everyone keeps at most so many trips, drawn at random from their own: a public number. Default 10 for
    `unit: person`; none for `unit: trajectory`, which then promises nothing about a person."""
    variant: Literal["geodp", "dpt", "grid_markov", "ngram", "none"] = "geodp"
    """`geodp`: ends, lengths, detours and densities of whole trips; `dpt`: prefix trees; the baselines `grid_markov`
    and `ngram` (trips end where its noisy tree says: far too late at a small ε, somewhat early at a large one); `none`:
    the trips as they are. Not private."""
    tokens_per_trajectory: float = Field(default=20.0, ge=1)
    """Most that one trip adds to the counts of one depth of the trees (l): longer trips count less per move."""
    finest_m: float = Field(default=100.0, gt=0)
    """Side of the finest cells, metres (v_1); cells double from grid to grid."""
    levels: int = Field(default=6, ge=1, le=12)
    """Number of grids to choose from (M)."""
    order: int = Field(default=2, ge=1, le=4)
    """Length of the sequences that are counted (φ)."""
    kappa: float = Field(default=1.0, ge=0)
    """Strength of the preference for going straight on; 0 switches it off."""
    window: int = Field(default=3, ge=1)
    """Moves over which the direction so far is averaged."""
    choice_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for the choice of grids."""
    lengths_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for the lengths of trips (their number follows from it)."""
    times_share: float = Field(default=0.05, gt=0, lt=1)
    """Part of ε for departures and paces."""
    most_points: int = Field(default=1000, ge=2)
    """Longest synthetic trip, points."""
    baseline_cells: int = Field(default=16, ge=2)
    """Cells along the longer side of the region, for `grid_markov` and `ngram`."""
    period_s: float = Field(default=86_400.0, gt=0)
    """Departures are counted by their time in this period (s): a day."""

    @model_validator(mode="after")
    def _whole_budget(self) -> Self:
        if self.choice_share + self.lengths_share + self.times_share >= 1:
            raise ValueError("the shares of the budget must leave something for the movement itself")
        return self

    @model_validator(mode="after")
    def _enough_for_a_number(self) -> Self:
        if self.variant == "none":
            return self
        # As many trips are drawn as the noisy number says; trees sum it from the bins of their lengths.
        part = NUMBER if self.variant == "geodp" else LENGTHS
        bins = 1 if self.variant == "geodp" else length_edges(self.most_points).size - 1
        spread = math.sqrt(2 * bins) * self.crowd() / max(self.parts()[part], sys.float_info.min)
        if spread > _MOST_SPREAD:
            raise ValueError(
                f"epsilon {self.epsilon:g} is too small: the number of trips would be off by ±{spread:.2g}, more than "
                f"{_MOST_SPREAD:,}. Use a larger epsilon or a smaller trajectories_per_person"
            )
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the fields that another variant reads."""
        grids = ("finest_m", "levels", "order", "kappa", "window", "choice_share")
        trees = ("tokens_per_trajectory", "lengths_share", "times_share")
        idle: dict[str, tuple[str, ...]] = {
            "geodp": (*grids, *trees, "baseline_cells"),
            "dpt": ("baseline_cells",),
            "grid_markov": grids,
            "ngram": grids,
            "none": (*grids, *trees, "epsilon", "baseline_cells", "most_points", "period_s"),
        }
        found = dict.fromkeys(idle[self.variant], f"with variant: {self.variant}")
        if self.variant == "dpt" and self.kappa == 0:
            found["window"] = "with kappa: 0"
        if self.variant == "dpt" and self.levels == 1:
            found["choice_share"] = "with levels: 1"
        return found

    @property
    def cap(self) -> int | None:
        """The public cap on one person's trips (None: nobody is bounded)."""
        return (
            DEFAULT_CAP
            if self.trajectories_per_person is None and self.unit == "person"
            else self.trajectories_per_person
        )

    def most_contributions(self) -> int | None:
        """Return the public cap on what one person contributes; None where a promise about a person is impossible."""
        return 1 if self.unit == "person" else self.cap

    def crowd(self) -> int:
        """Return how many trips of the bounded data change at most with one protected unit.

        A person is at most `cap` trips. One trip more is one, unless a cap binds: then it may push another one out.
        """
        if self.unit == "person":
            return int(self.cap or DEFAULT_CAP)
        return 1 if self.cap is None else 2

    def guarantee(self) -> Guarantee:
        """Promise ε for one person or one trajectory; nothing for the trips as they are."""
        if self.variant == "none":
            return Guarantee.none(_AS_THEY_ARE)
        unit = Unit.USER if self.unit == "person" else Unit.TRAJECTORY
        return Guarantee(self.epsilon, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL)

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        if self.variant == "none":
            return {}
        if self.variant == "geodp":
            return split(self.epsilon, SHARES)
        shares = self._trees(1.0).shares(choice=self.choice_share, lengths=self.lengths_share, times=self.times_share)
        return split(self.epsilon, shares)

    def release(self, trajectories: Trajectories, region: Region, noise: Noise) -> Trajectories:
        """Publish synthetic trips, with noise from `noise` alone."""
        return self.release_with_receipts(trajectories, region, noise)[0]

    def release_with_receipts(
        self, trajectories: Trajectories, region: Region, noise: Noise
    ) -> tuple[Trajectories, tuple[Receipt, ...]]:
        """Publish synthetic trips, and say what every part of them cost."""
        if self.variant == "none":
            if noise.releasable:
                raise NotReleasable(f"dpt with variant none promises nothing: {_AS_THEY_ARE}. It must not be released.")
            return self.bounded(trajectories, region), ()
        model = self.modelled(trajectories, region, noise)
        return model.draw(), model.receipts

    def modelled(self, trajectories: Trajectories, region: Region, noise: Noise) -> PaidModel:
        """Learn all that synthetic trips follow from; here, and nowhere else, are people looked at."""
        used = self.bounded(trajectories, region, b"" if self.cap is None else draw_key(noise))
        parts = EpsilonParts(noise, self.parts(), self.crowd())
        model = self.fitted(used, region, parts)
        parts.require_within(self.epsilon)
        return PaidModel(model, tuple(parts.receipts), parts.generator())

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish synthetic trips of a run; which parts ε was spent on is public."""
        # Trips of a run count from its start and end with it: a shorter period (public) wastes no bin on other times.
        method = self.model_copy(update={"period_s": min(self.period_s, records.duration_s)})
        true = records.trajectories()
        released, receipts = method.release_with_receipts(true, records.region, noise)
        notice_cap(self.kind, np.bincount(true.person), method.cap, "trips")
        if text := changed_remark(true, released):
            notice(f"dpt: {text}")
        paid = {receipt.part: receipt.epsilon for receipt in receipts}
        used = {"trajectories_per_person": method.cap, "period_s": method.period_s}
        return Published(released.frame(records.region), facts={"epsilon_of_parts": paid, "used": used})

    def bounded(self, trajectories: Trajectories, region: Region, key: bytes = b"") -> Trajectories:
        """Return the trips that count: inside the region, and of each person those that the key chooses."""
        if not region.contains(trajectories.x_m, trajectories.y_m).all():
            raise DataError("some points lie outside the region: leave them out first. Nothing was drawn.")
        return trajectories if self.cap is None else trajectories.capped(self.cap, key)

    def fitted(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TreeModel | TripModel:
        """Count everything that the model needs, with noise from the parts of ε alone."""
        if self.variant == "geodp":
            return fit_trip_model(trajectories, region, parts, TripSettings(self.most_points, self.period_s))
        return fit_tree_model(trajectories, region, parts, self._trees(max(region.width_m, region.height_m)))

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise is, from public facts alone, in words and numbers."""
        if self.variant == "none":
            return "Trips are exact.", {}
        scales = {part: self.crowd() / epsilon for part, epsilon in self.parts().items()}
        adds = self._adds()
        least = min(scale for part, scale in scales.items() if part not in adds)
        told = {f"noise on {part}": scale * adds.get(part, 1.0) for part, scale in scales.items() if part != DENSITY}
        if DENSITY in scales:  # how many points a trip counts for follows from noisy counts: not known beforehand
            told[f"noise on {DENSITY}, per point that a trip may count for"] = scales[DENSITY]
        text = (
            f"A count of trips has noise of ±{least:.4g} on average at best (OUT.guarantee.json has all parts). "
            f"N trips can tell about N/{least:.4g} numbers (cells, pairs of zones) from the noise; what is finer is "
            "smoothed over."
        )
        return text, told

    def _adds(self) -> dict[str, float]:
        """Return how much one trip adds to the parts that do not count every trip once (density: by its points)."""
        if self.variant == "geodp":
            return {COARSE_ENDS: 2.0, FINE_ENDS: 2.0, DENSITY: float(self.most_points)}
        return dict.fromkeys(level_parts(self._trees(1.0).order)[1:], self.tokens_per_trajectory)

    def _trees(self, widest_m: float) -> TreeSettings:
        common = TreeSettings(
            self.finest_m,
            self.levels,
            self.order,
            self.tokens_per_trajectory,
            self.most_points,
            Direction(self.kappa, self.window),
            period_s=self.period_s,
        )
        if self.variant == "dpt":
            return common
        one_grid = replace(common, finest_m=widest_m / self.baseline_cells, levels=1, direction=Direction(0.0, 1))
        if self.variant == "ngram":
            return replace(one_grid, order=4, ends_in_tree=True)
        return replace(one_grid, order=1, prune=False)
