"""What cloaks and dummies hide: how many people really send a cloak, and how often the true place is told apart."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array

if TYPE_CHECKING:
    import pandas as pd

BELOW, FOUND = "sent by fewer than k", "true place found"
QUADTREE, GRID = "quadtree", "grid"
_SIDE_M = 10_000.0
_SPREAD = 0.15
"""Standard deviation of people about one centre, in sides of the region."""


class CloakSenders(FigureKind):
    """Share of people whose cloak fewer than k people send, against k.

    People about one centre (spread .15 of the side of a square region); everyone sends.

    Reference
    ---------
    [recalled] Mokbel, Chow, Aref 2006, The new Casper; Bamba et al. 2008, PrivacyGrid.
    """

    kind: ClassVar[str] = "cloak_senders"

    lines: tuple[str, ...] = (QUADTREE, GRID)
    """The lines."""
    people: int = Field(default=10_000, ge=2)
    """How many people there are."""
    k: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    """Least numbers of people in a cloak."""
    cell_m: float = Field(default=100.0, gt=0)
    """Cells of the grid; squares of the tree are halved down to a tenth of it (m)."""
    repeats: int = Field(default=5, ge=1)
    """How often people are drawn."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Cloak everyone, and count who sends the same."""
        from geodp.curator.mechanisms.cloak import cover_by_grid, cover_by_quadtree
        from geodp.geometry import Grid
        from geodp.public.tree_metric import PublicTree

        box = (0.0, 0.0, _SIDE_M, _SIDE_M)
        tree, side = PublicTree.over(box, self.cell_m / 10), round(_SIDE_M / self.cell_m)
        grid = Grid(0.0, 0.0, _SIDE_M / side, _SIDE_M / side, columns=side, rows=side)
        rows = []
        for repeat in range(self.repeats):
            x_m, y_m = _draw_crowd(self.people, np.random.default_rng(repeat))
            for k in self.k:
                rows.append((BELOW, QUADTREE, float(k), repeat, _share_below(k, cover_by_quadtree(tree, x_m, y_m, k))))
                rows.append((BELOW, GRID, float(k), repeat, _share_below(k, cover_by_grid(grid, x_m, y_m, k))))
        return points_table(rows)


class DummyHits(FigureKind):
    """Share of people whose true place is told from made-up ones, against the number of linked reports.

    k places in each report; people start about one centre (spread .15 of the side of a square region) and move by up to
    .05 of a side from report to report, which is public. `speed`: one of the places that can have been reached from the
    first report on, by lot. `map`: the places that lie best on a public map of where people are, over all reports.

    Reference
    ---------
    [recalled] Kido, Yanagisawa, Satoh 2005, An anonymous communication technique using dummies.
    """

    kind: ClassVar[str] = "dummy_hits"

    lines: tuple[str, ...] = ("anywhere: speed", "near the last: speed", "near the last: map", "blindly")
    """The lines."""
    people: int = Field(default=4000, ge=2)
    """How many people there are."""
    k: int = Field(default=5, ge=2)
    """Places in a report."""
    reports: int = Field(default=5, ge=1)
    """Reports of each person."""
    repeats: int = Field(default=5, ge=1)
    """How often people are drawn."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Let phones report, and look."""
        rows = []
        for repeat in range(self.repeats):
            anywhere, near = self._reports("anywhere", repeat), self._reports("near_last", repeat)
            for number in range(1, self.reports + 1):
                found = {
                    "anywhere: speed": _score_by_speed(anywhere[:number]),
                    "near the last: speed": _score_by_speed(near[:number]),
                    "near the last: map": _score_by_map(near[:number]),
                    "blindly": 1 / self.k,
                }
                rows += [(FOUND, line, float(number), repeat, share) for line, share in found.items()]
        return points_table(rows)

    def _reports(self, moves: str, seed: int) -> list[tuple[Array, Array]]:
        """Return the places of all reports, the true one first, with the middle of the region at 0."""
        from geodp.device.dummies import Dummies
        from geodp.geometry import EARTH_RADIUS_M, Region

        half = float(np.degrees(_SIDE_M / 2 / EARTH_RADIUS_M))
        region, rng = Region(-half, -half, half, half), np.random.default_rng(seed)
        step_m = 0.05 * _SIDE_M
        phone = Dummies.model_validate(
            {"k": self.k, "cell_m": 10.0, "moves": moves} | ({"step_m": step_m / 2} if moves == "near_last" else {})
        )
        x_m, y_m = (place - _SIDE_M / 2 for place in _draw_crowd(self.people, rng))
        reported: list[tuple[Array, Array]] = []
        for _ in range(self.reports):
            last = (reported[-1][0][:, 1:], reported[-1][1][:, 1:]) if reported else None
            reported.append(phone.candidates(*region.clamp(x_m, y_m), rng=rng, region=region, last=last))
            turn, far = rng.uniform(0, 2 * np.pi, x_m.size), 0.95 * step_m * np.sqrt(rng.random(x_m.size))
            x_m, y_m = region.clamp(x_m + far * np.cos(turn), y_m + far * np.sin(turn))
        return reported


def _draw_crowd(people: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return people about the middle of the square, those outside it drawn again."""
    places = rng.normal(0.5, _SPREAD, (2, 2 * people))
    inside = ((places > 0) & (places < 1)).all(axis=0)
    x, y = _SIDE_M * places[:, inside][:, :people]
    return x, y


def _share_below(k: int, edges: tuple[Array, Array, Array, Array]) -> float:
    _, same, senders = np.unique(np.column_stack(edges), axis=0, return_inverse=True, return_counts=True)
    return float(np.mean(senders[same.ravel()] < k))


def _score_by_speed(reports: list[tuple[Array, Array]]) -> float:
    """Return the mean chance of the true place where one of those that can be reached is taken by lot."""
    from geodp.attacks.place_sets import can_follow

    alive: npt.NDArray[np.bool_] = np.ones(reports[0][0].shape, dtype=np.bool_)
    for before, after in itertools.pairwise(reports):
        alive = np.asarray((can_follow(before, after, 0.05 * _SIDE_M) & alive[:, :, None]).any(axis=1))
    return float(np.mean(alive[:, 0] / np.maximum(alive.sum(axis=1), 1)))


def _score_by_map(reports: list[tuple[Array, Array]]) -> float:
    """Return how often the true places lie best on the map, of all that a made-up phone may have gone through."""
    square = sum(x_m**2 + y_m**2 for x_m, y_m in reports)  # each made-up place goes on from its last one
    return float(np.mean(np.argmin(square, axis=1) == 0))
