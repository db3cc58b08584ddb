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
    Zhu et al. 2017, Differential Privacy and Applications, section 12.3.2; He et al. 2015, DPT: differentially private
    trajectory synthesis using hierarchical reference systems [recalled]. Theirs: grids of several sizes, of which some
    are chosen, prefix trees of moves in each, walks that prefer to go straight on, an end that is a symbol of the trees
    (`end_as_token`). Ours: what a trajectory adds is bounded by weights min(1, l/n); starts, lengths and times are
    counted apart; points of fast steps are placed along the step (`along_steps`); and the defaults of order and cap,
    which did best in trials: longer sequences and caps paid more noise than they gave.
    """

    kind: ClassVar[str] = "dpt"

    finest_m: float = Field(default=100.0, gt=0)
    """Side of the finest cells, metres (v_1); cells double from grid to grid."""
    levels: int = Field(default=6, ge=1, le=12)
    """Number of grids to choose from (M)."""
    tokens_per_trajectory: float = Field(default=10.0, ge=1)
    """Most that one trip adds to the counts of one depth of the trees (l): longer trips count less per move."""
    order: int = Field(default=1, ge=1, le=4)
    """Length of the sequences that are counted (φ)."""
    kappa: float = Field(default=1.0, ge=0)
    """Strength of the preference for going straight on; 0 switches it off."""
    window: int = Field(default=3, ge=1)
    """Moves over which the direction so far is averaged."""
    choice_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for the choice of grids."""
    end_as_token: bool = False
    """Whether trips end where the noisy trees say so, as published; else numbers of points are counted apart."""
    along_steps: bool = True
    """Whether points lie as far along in their cells as the points before did in theirs; else anywhere in the cell."""

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
            ends_in_tree=self.end_as_token,
            period_s=self.period_s,
            along_steps=self.along_steps,
        )
