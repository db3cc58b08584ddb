"""Models of willingness: with which probability a worker accepts a task. Public.

The world holds the true one, the server the one it assumes (`server.assumed_acceptance`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from geodp.registry import Plugin, PublicFacts

Array = npt.NDArray[np.float64]
ROUNDING_SLACK = 1e-9  # a purse split into shares of w0 leaves some of them a rounding error short of w0


class Acceptance(Plugin):
    """Family of acceptance models; verb: `probability`."""

    family: ClassVar[str] = "acceptance"

    max_travel_m: float
    minimum_reward: float | None

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the minimum reward, which is the scenario's unless the model names its own."""
        minimum = facts.minimum_reward if self.minimum_reward is None else self.minimum_reward
        return self.model_copy(update={"minimum_reward": minimum})

    @abstractmethod
    def probability(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return the probability that a worker at that distance accepts that reward.

        `eagerness` scales a worker's taste for reward around 1 (models without such a taste ignore it).
        """

    def log_refusal(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return ln(1 - probability), exactly where a model can do better than by subtraction."""
        with np.errstate(divide="ignore"):  # a certain acceptance is refused with probability 0: -inf
            return np.log1p(-self.probability(reward, distance_m, eagerness))

    def curve(self, reward: float) -> Callable[[float], float]:
        """Return the probability by distance for one reward as a plain function, for loops over single distances.

        Where workers differ in eagerness it is the mean over them: what a planner may expect of a stranger.
        """

        def probability(distance_m: float) -> float:
            return float(self.probability(reward, distance_m))

        return probability

    @abstractmethod
    def reach_m2(self, reward: npt.ArrayLike, radius_m: npt.ArrayLike) -> Array:
        """Return I(r, w) = ∫₀^min(r, MTD) θ(w, s) 2πs ds: times density, the mean number of acceptors."""

    @abstractmethod
    def radius_for(self, reward: npt.ArrayLike, reach_m2: npt.ArrayLike) -> Array:
        """Return the radius at which `reach_m2(reward, radius)` equals the given value.

        The cap at `max_travel_m` is left out here (θ continued beyond it), so that RejR can see by how
        much a task lies out of reach; infinite where no radius suffices.
        """

    def mute(self, share: float) -> Self:
        """Return the model of people whose phones mute a share of all tasks, where its `ceiling` can say so."""
        ceiling = getattr(self, "ceiling", None)
        return self if ceiling is None else self.model_copy(update={"ceiling": ceiling * (1 - share)})

    def pays_enough(self, reward: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Tell which rewards reach the minimum w0; a rounding error short of it counts as reaching it."""
        floor = (self.minimum_reward or 0.0) * (1 - ROUNDING_SLACK)
        return np.asarray(reward, dtype=np.float64) >= floor

    def eagerness(self, workers: int, rng: np.random.Generator) -> Array | None:  # noqa: ARG002
        """Draw each worker's eagerness, or None when all are alike."""
        return None
