"""DPT: synthetic trips from noisy prefix trees on grids of several sizes."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.synthesis.prefix_trees import Direction
from geodp.curator.synthesis.tree_model import TreeSettings
from geodp.curator.trips_publication import TreeTripsPublication


class Dpt(TreeTripsPublication):
    """Synthetic trips walked over noisy prefix trees of moves on grids of several sizes (DPT).

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
    summary only, so this is DPT in style: it bounds what a trajectory adds (weight min(1, l/n)) and counts starts and
    lengths apart.
    """

    kind: ClassVar[str] = "dpt"

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

    def idle_fields(self) -> dict[str, str]:
        """Return the window where no direction is preferred, and the choice where there is one grid."""
        found = {} if self.kappa else {"window": "with kappa: 0"}
        return found if self.levels > 1 else found | {"choice_share": "with levels: 1"}

    def _choice_share(self) -> float:
        return self.choice_share

    def settings(self, widest_m: float) -> TreeSettings:  # noqa: ARG002 - cells have a size of their own
        """Return trees on several grids, walked with a preference for going straight on."""
        return TreeSettings(
            finest_m=self.finest_m,
            levels=self.levels,
            order=self.order,
            bound=self.tokens_per_trajectory,
            most_points=self.most_points,
            direction=Direction(self.kappa, self.window),
            period_s=self.period_s,
        )
