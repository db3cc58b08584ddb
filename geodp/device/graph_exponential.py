"""Reports along a public policy graph: which district somebody is in is told, where in it is hidden step by step."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.device import Device
from geodp.device.planar import check_places
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid, Region, read_features
from geodp.privacy.noise import Noise, as_noise
from geodp.public.guarantee import Guarantee
from geodp.public.policy_graph import MOST_PLACES, GraphChannel, Ids, join_neighbours
from geodp.storage.files import is_regular

_AT_ONCE = 4_000_000  # weights of cells


class GraphExponential(Device):
    """Each phone tells its district, and a cell of it: near ones, by steps from cell to cell, are likelier.

    Guarantee
    ---------
    A policy, with no trusted party: places that are h steps apart on a public graph change the odds of a report by at
    most exp(ε·h). Here cells of one district that share a side are one step apart. A cell z is reported from x with
    probability ∝ exp(-ε·steps/2) among the cells of its district; one half for the distance, the other for the sum that
    makes them probabilities. **Which district it is, is told to everyone**: between districts nothing is promised.
    Within a cell everything is hidden. n reports cost n·ε a step. Cells without a neighbour in their district would be
    told, so such graphs are refused.

    Reference
    ---------
    [recalled] He, Machanavajjhala, Ding 2014, Blowfish privacy (SIGMOD), and Cao, Xiao, Xiong, Bai 2020, PGLP:
    policies as graphs over places; the exponential mechanism along them. Zhu et al. 2017, section 15.2, asks for what
    this gives: everyone may choose what is hidden.
    """

    kind: ClassVar[str] = "graph_exponential"
    releases: ClassVar[frozenset[str]] = frozenset({"points"})
    file_fields: ClassVar[tuple[str, ...]] = ("districts_file",)

    epsilon: float = Field(default=1.0, gt=0)
    """ε of one step."""
    cell_m: float = Field(default=500.0, gt=0)
    """Side of the cells, metres: places of one cell are alike."""
    district_m: float | None = Field(default=3000.0, gt=0)
    """Side of square districts, metres; null: the whole region is one, and nothing is told."""
    districts_file: str | None = None
    """Public areas that are districts instead (GeoJSON, GeoPackage, …); what lies in none of them is one more."""

    @model_validator(mode="before")
    @classmethod
    def _file_or_squares(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("districts_file") is not None and "district_m" not in data:
            return {**data, "district_m": None}
        return data

    @model_validator(mode="after")
    def _one_sort_of_district(self) -> Self:
        if self.districts_file is not None and self.district_m is not None:
            raise ValueError("districts are squares (district_m) or areas of a file (districts_file), not both")
        return self

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return the centre of the cell that each phone reports."""
        noise = as_noise(rng)
        x, y = check_places(x_m, y_m, region)
        law = self.law(region)
        cell = law.cells.locate(*(region.clamp(x.ravel(), y.ravel()) if region is not None else (x.ravel(), y.ravel())))
        reported = np.empty(cell.size, dtype=np.int64)
        component = law.graph.component
        for number in np.unique(component[cell]).tolist():  # districts are public: whose phones are where is told
            members = np.flatnonzero(component == number)
            logits = -self.epsilon * law.graph.hops[np.ix_(members, members)] / 2
            row = np.zeros(component.size, dtype=np.int64)
            row[members] = np.arange(members.size)
            phones = np.flatnonzero(component[cell] == number)
            step = max(1, _AT_ONCE // members.size)
            for start in range(0, phones.size, step):
                some = phones[start : start + step]
                reported[some] = members[noise.choose(logits[row[cell[some]]])]
        east, north = law.cells.all_centres()
        return east[reported].reshape(x.shape), north[reported].reshape(x.shape)

    def guarantee(self, region: Region | None = None) -> Guarantee:
        """Promise ε a step, for one report; with a region, of a graph that has no isolated places."""
        if region is not None:
            self.law(region)
        return Guarantee.per_metre(self.epsilon / self.cell_m, metric=self._metric())

    def channel(self, region: Region | None = None) -> GraphChannel | None:
        """Return the public law of a report; without a region there is no graph, hence no law."""
        return None if region is None else self.law(region)

    def law(self, region: Region | None) -> GraphChannel:
        """Return the law of a report in a region, over which the graph lies."""
        if region is None:
            raise UsageError("graph_exponential needs a region: its graph lies over it. Nothing was reported.")
        return graph_channel(region, self.epsilon, self.cell_m, self.district_m, self.districts_file)

    def _metric(self) -> str:
        alone = self.districts_file is None and self.district_m is None
        within = "" if alone else ", and the district is told to everyone: nothing is promised between districts"
        what = "of the region" if alone else "of one district"
        return f"along the policy graph, {self.cell_m:g} m for each step between neighbouring cells {what}{within}"


@lru_cache(maxsize=8)
def graph_channel(
    region: Region, epsilon: float, cell_m: float, district_m: float | None, districts_file: str | None
) -> GraphChannel:
    """Return the law of reports in a region with districts: squares, areas of a file, or the region as a whole.

    Parameters
    ----------
    region
        Where.
    epsilon
        ε of one step.
    cell_m
        Side of the cells, metres.
    district_m
        Side of square districts, metres (None: there are none of those).
    districts_file
        GeoJSON or other geographic file whose areas are districts (None: there is none).
    """
    cells = Grid.fit(region, cell_m)
    if cells.size > MOST_PLACES:
        raise UsageError(
            f"cells of {cell_m:g} m make {cells.size:,} places, of which each is compared with all others; at most "
            f"{MOST_PLACES:,}: use larger cells. Nothing was reported."
        )
    x, y = cells.all_centres()
    district = np.zeros(cells.size, dtype=np.int64)
    if districts_file is not None:
        district = _read_districts(Path(districts_file), region, x, y)
    elif district_m is not None:
        district = Grid.fit(region, district_m).locate(x, y)
    graph = join_neighbours(cells, district)
    graph.require_company()
    weight = np.exp(-epsilon * graph.hops / 2)  # 0 between components
    return GraphChannel(epsilon / (2 * cell_m), cells, weight / weight.sum(axis=1, keepdims=True), graph, epsilon)


def _read_districts(path: Path, region: Region, x_m: Array, y_m: Array) -> Ids:
    """Return the number of the area that each place lies in; what lies in none is one district more."""
    import shapely

    if not is_regular(path):
        raise DataError(f"{path}: no such file. Nothing was reported.")
    frame = read_features(path)
    areas = (frame.to_crs(4326) if frame.crs is not None else frame).geometry.to_numpy()
    lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
    place, area = shapely.STRtree(areas).query(shapely.points(lon, lat), predicate="intersects")
    district = np.full(x_m.size, -1, dtype=np.int64)
    last_first = np.argsort(-area)
    district[place[last_first]] = area[last_first]
    if not (district >= 0).any():
        raise DataError(f"{path}: no area of it lies over the region, so there are no districts. Nothing was reported.")
    return district
