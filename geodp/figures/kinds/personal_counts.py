"""How wrong a count is in which people have levels of their own, by each way to keep them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

ERROR = "root mean square error of a count"
COIN, SMALLEST, TOGGLES = "hidden coin", "everyone at the smallest ε", "personal exponential"
PER_GROUP, WORKED_BACK = "a count for each group", "each group kept and worked back"
_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_SLOTS = 2.0


class PersonalCounts(FigureKind):
    """Root mean square error of the count of a cell, against how many people it holds, two levels by lot.

    `hidden coin` is `pdp_sample` itself, released on `cells` cells at once; `everyone at the smallest ε` a grid at that
    ε. `personal exponential` is the exact law of `pdp_exponential` with twice as many slots as people. `a count
    for each group` adds two counts, each at its group's ε; `each group kept and worked back` keeps people by the coin,
    and divides each group's count by its own share (Horvitz-Thompson).

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 15.2; [recalled] Jorgensen, Yu, Cormode 2015.
    """

    kind: ClassVar[str] = "personal_counts"

    lines: tuple[str, ...] = (COIN, SMALLEST, TOGGLES, PER_GROUP, WORKED_BACK)
    """The lines."""
    people: tuple[int, ...] = (20, 50, 100, 150, 300, 600, 900)
    """How many people the cell holds."""
    careful_share: float = Field(default=0.5, gt=0, lt=1)
    """Share of the careful."""
    careful: float = Field(default=0.1, gt=0)
    """ε of the careful."""
    relaxed: float = Field(default=1.0, gt=0)
    """ε of all others."""
    cells: int = Field(default=900, ge=4)
    """Counts per repetition: a square number."""
    repeats: int = Field(default=4, ge=2)
    """Repetitions."""

    def points(self, making: Making) -> pd.DataFrame:
        """Release, and hold against the truth."""
        rows = []
        for repeat in range(self.repeats):
            rng = Streams(repeat).generator(f"figure.personal_counts.{making.panel}")
            for number in self.people:
                errors = {
                    COIN: self._release("pdp_sample", number, rng),
                    SMALLEST: self._release("uniform_grid", number, rng),
                    PER_GROUP: sum(rng.laplace(0.0, 1 / level, self.cells) for level in (self.careful, self.relaxed)),
                    WORKED_BACK: self._work_back(number, rng),
                }
                rows += [
                    (ERROR, line, float(number), repeat, _size(np.asarray(error))) for line, error in errors.items()
                ]
                rows.append((ERROR, TOGGLES, float(number), repeat, self._toggles(number)))
        return points_table(rows)

    def _levels(self) -> dict[str, dict[str, float]]:
        return {
            "careful": {"epsilon": self.careful, "share": self.careful_share},
            "relaxed": {"epsilon": self.relaxed, "share": 1 - self.careful_share},
        }

    def _release(self, kind: str, people: int, rng: np.random.Generator) -> Array:
        """Release a town with so many people in each cell; return how far each count is off."""
        from geodp.curator.mechanisms import Snapshot
        from geodp.public.levels import draw_groups
        from geodp.registry import plugin

        side = math.isqrt(self.cells)
        west, south, east, north = _TOWN.box_m
        cells = {"kind": "uniform_grid", "cell_m": (east - west) / side}
        fields = (
            {"levels": self._levels(), "cells": cells} if kind == "pdp_sample" else cells | {"epsilon": self.careful}
        )
        step = (np.arange(side) + 0.5) / side
        x = np.repeat(np.tile(west + step * (east - west), side), people)
        y = np.repeat(np.repeat(south + step * (north - south), side), people)
        groups = draw_groups({"careful": self.careful_share, "relaxed": 1 - self.careful_share}, rng.random(x.size))
        town = Snapshot(0.0, x, y, _TOWN, expected_workers=float(x.size), group=groups)
        settings = {name: value for name, value in fields.items() if name != "kind"}
        made = plugin(kind, "mechanism", **settings).release(town, SimulatedNoise(rng))
        return np.asarray(made.count - people)

    def _toggles(self, people: int) -> float:
        from geodp.curator.mechanisms.pdp_exponential import PdpExponential

        made = PdpExponential.model_validate({"levels": self._levels(), "slots": math.ceil(_SLOTS * people)})
        return math.sqrt(float(made.ladder().law().variance[people]))

    def _work_back(self, people: int, rng: np.random.Generator) -> Array:
        from geodp.curator.mechanisms.pdp_sample import keep_probability

        held = rng.binomial(people, self.careful_share, self.cells)
        found = np.zeros(self.cells)
        for number, epsilon in ((held, self.careful), (people - held, self.relaxed)):
            kept = keep_probability(epsilon, self.relaxed)
            found += (rng.binomial(number, kept) + rng.laplace(0.0, 1 / self.relaxed, self.cells)) / kept
        return np.asarray(found - people)


def _size(error: Array) -> float:
    return float(np.sqrt(np.mean(np.square(error))))
