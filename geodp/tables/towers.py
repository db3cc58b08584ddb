"""Public towers from a file, or made up: the settings of a simulated network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.model import Model
from geodp.public.towers import RIVALS, Integers, Towers, lay_out_hexagons, scatter_towers
from geodp.storage.files import anchor_path, is_regular
from geodp.streams import GOLDEN, Words, mix_bits, uniforms
from geodp.tables.reader import PLACE, open_table, words_of
from geodp.tables.row_checks import check_batches

PARTS = ("tower", *PLACE)
"""What a file of towers holds."""
MOST_TOWERS = 100_000


class TowerNetwork(Model):
    """A cellular network with public sites: how many towers, how they stand, and how phones hear them.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Array, Region
    >>> from geodp.tables.towers import TowerNetwork
    >>> town = Region(10.0, 50.0, 10.08, 50.05)
    >>> TowerNetwork(count=40).lay_out(town, np.random.default_rng(1)).size
    40
    """

    count: int = Field(default=100, ge=1, le=MOST_TOWERS)
    """How many towers (with `layout: hexagonal` about so many)."""
    layout: Literal["scattered", "hexagonal"] = "scattered"
    """`scattered`: sites anywhere in the region, with Voronoi cells; `hexagonal`: equal cells, as in textbooks."""
    path: str = ""
    """A file of public sites instead (columns tower, lon, lat): its towers replace those that would be made up."""
    range_m: float | None = Field(default=None, gt=0)
    """How far a tower reaches, metres; phones beyond the reach of all are not seen. Default: any distance."""
    noise_db: float = Field(default=0.0, ge=0, le=40)
    """Standard deviation of what walls and load add to the power of each tower, decibel, drawn anew for every ping: 8
    is usual in towns. Then a phone that stands still is seen by several towers. 0: the nearest tower serves."""

    @property
    def is_fixed(self) -> bool:
        """Whether a phone that stands still is always seen by the same tower."""
        return self.noise_db == 0

    def anchor(self, folder: Path) -> TowerNetwork:
        """Return the settings with the file found from the given folder."""
        return self.model_copy(update={"path": anchor_path(self.path, folder)}) if self.path else self

    def find_shadow(self, words: Words) -> Array | None:
        """Return what walls and load add to the power of the nearest towers at each phone (None: nothing)."""
        if not self.noise_db:
            return None
        from scipy.special import ndtri

        with np.errstate(over="ignore"):
            rank = np.arange(1, RIVALS + 1, dtype=np.uint64) * GOLDEN
            own = mix_bits(words[:, None] ^ rank)
        return np.asarray(self.noise_db * ndtri(uniforms(own) + 2.0**-54))  # the middle of each step: never 0

    def find_serving(self, towers: Towers, x_m: Array, y_m: Array, words: Words) -> Integers:
        """Return the tower that sees each phone, `NO_TOWER` where none does.

        Parameters
        ----------
        towers
            What `lay_out` returned.
        x_m, y_m
            Where phones are, metres.
        words
            A random word for each phone and moment, which decides what walls and load do.
        """
        reach_m = math.inf if self.range_m is None else self.range_m
        return towers.find_serving(x_m, y_m, range_m=reach_m, shadow=self.find_shadow(words))

    def lay_out(self, region: Region, rng: np.random.Generator) -> Towers:
        """Return the towers.

        Parameters
        ----------
        region
            The public area.
        rng
            The generator of public chance: nobody's place plays a part.
        """
        if self.path:
            return read_towers(Path(self.path), region)
        if self.layout == "hexagonal":
            return lay_out_hexagons(region, self.count)
        return scatter_towers(region, self.count, rng)


def read_towers(path: Path, region: Region | None = None, *, called: Mapping[str, str] | None = None) -> Towers:
    """Read a public file of towers: columns tower, lon, lat.

    Parameters
    ----------
    path
        Any table, also one with a column of points.
    region
        The public area; None: the box around all sites.
    called
        What columns are called where that differs.

    Raises
    ------
    DataError
        If there is no such file, a column lacks, a tower has no name or no place, or is listed twice.
    """
    if not is_regular(path):
        raise DataError(f"{path}: no such file (towers).")
    table = open_table(path, PARTS, called=called, purpose=", so it lists no towers")
    parts = list(check_batches(table, what="towers"))
    names = words_of(parts, "tower").to_pylist()
    lon, lat = (np.concatenate([part[name] for part in parts]) for name in PLACE)
    try:
        return Towers(region or _surround(lon, lat), tuple(names), lon, lat)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def _surround(lon: np.ndarray, lat: np.ndarray) -> Region:
    """Return the box around all sites, and a little more, so that those at its edges have cells, too."""
    margin = max(float(np.ptp(lon)), float(np.ptp(lat)), 0.01) / 10
    return Region(
        float(lon.min()) - margin, float(lat.min()) - margin, float(lon.max()) + margin, float(lat.max()) + margin
    )
