"""`geodp publish counts`: how many users visited each venue of a public list.

The default is what is nearest to the truth most often. `python -m tests.benchmarks counts` measures it: the mean
error per venue on ten generated and two real sets at ε of 0.1, 0.69 and 2 and caps of 10, 20 and 50, 108 cases. In how
many a method is nearest, its error beside the nearest one's (geometric mean over all cases), and its mean error on two
real sets at ε = 0.69 with a cap of 20:

| method | nearest | beside the nearest | Foursquare | Gowalla |
|---|---|---|---|---|
| `grouping_smoothing`, `variant: geodp` (default) | 28 | 1.09 | 5.9 | 3.9 |
| `grouping_smoothing` | 24 | 1.22 | 6.1 | 3.8 |
| `dpsense` with `--max-theta 200` | 29 | 1.17 | 6.5 | 4.3 |
| `fourier_counts` | 25 | 1.36 | 4.8 | 3.5 |
| `dpsense` | 2 | 1.86 | 11 | 9.1 |
| `laplace_counts` | 0 | 4.65 | 33 | 33 |
| `uniform` (no venue is told from another) | | 1.25 | 5.6 | 3.6 |
| `zeros` (nothing is told) | | 1.69 | 7.0 | 4.8 |

Where users are few or ε is small, one number for all venues is as near as anything: then a list of venues is too fine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.curator.accuracy import NEAREST
from geodp.curator.counts_publication import CountsPublication
from geodp.errors import UsageError
from geodp.privacy.noise import Noise
from geodp.publish.methods import find_method, merge_options, require_epsilon
from geodp.publish.outputs import PublishedTable, degree_columns, require_suffix
from geodp.publish.pipeline import Product, PublicationPlan, PublishPlan, PublishResult, publish
from geodp.publish.private_visits import read_visit_sets, venues_of
from geodp.publish.request import PublicInputs, Request
from geodp.publish.statement import Accuracy
from geodp.registry import plugins
from geodp.tables.visits.histories import Venues
from geodp.tables.visits.venue_file import read_venue_list
from geodp.tables.visits.visit_sets import VisitSets, VisitTable

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.tables.visits.histories import VenueCounts

DEFAULT_METHOD = NEAREST
_USUAL = {NEAREST: {"variant": "geodp"}}
"""Settings that are nearer to the truth than those of the paper, unless --set says otherwise."""
_COUNT_DIGITS = 6
_REHEARSED_VENUES = 1000


@dataclass(frozen=True)
class CountsOptions:
    """What counts are asked beside what every publication is asked."""

    venues: Path | None = None
    """Public list of venues."""
    method: str = DEFAULT_METHOD
    max_theta: int | None = None
    """Public limit on the threshold of DPSense."""
    venue_columns: Mapping[str, str] = field(default_factory=dict)
    """What columns of the list are called where that differs from venue, lon, lat."""
    cluster: str | None = None
    """Dask scheduler that holds the visits (`local`: on this machine)."""


class CountedVenues(PublicationPlan):
    """One number per public venue."""

    def __init__(
        self, method: CountsPublication, visits: VisitTable, venues: Venues, remarks: tuple[str, ...] = ()
    ) -> None:
        super().__init__(method, venues.region(), remarks)
        self._method, self._visits, self._venues = method, visits, venues
        self._order = venues.order() if method.uses_places else None

    def rehearse(self, noise: Noise) -> None:
        """Count nobody, at a few venues."""
        venues = min(self._venues.size, _REHEARSED_VENUES)
        nobody = VisitSets(np.zeros(1, dtype=np.int64), np.empty(0, np.int32), np.empty(0, np.uint64), venues)
        order = None if self._order is None else np.arange(venues)
        self._method.release(nobody, noise, order)

    def draw(self, noise: Noise) -> Product:
        """Count, with noise."""
        released = self._method.release(self._visits, noise, self._order)
        accuracy = Accuracy(*self._method.accuracy(released))
        return Product(self._table(released), accuracy, noise.releasable, lambda page: self._draw_map(page, released))

    def _table(self, released: VenueCounts) -> PublishedTable:
        venues = self._venues
        columns: dict[str, Any] = {"venue": venues.name, "count": np.round(released.count, _COUNT_DIGITS) + 0.0}
        if not venues.placed:
            return PublishedTable(columns)
        return PublishedTable(columns | degree_columns(venues.lon, venues.lat), "points")

    def _draw_map(self, page: Page, released: VenueCounts) -> None:
        from geodp.display.layers.visits import draw_venue_counts
        from geodp.publish.released_map import make_released_layer

        venues = self._venues
        if venues.placed:
            layer, names = make_released_layer("Published counts"), venues.name.tolist()
            draw_venue_counts(layer, page, *venues.places_m(), released.count, names=names)


def publish_counts(request: Request, options: CountsOptions) -> PublishResult:
    """Publish how many users visited each venue of a public list (visits: columns user, venue)."""
    if options.cluster is None:
        return publish(request, partial(_prepare, options=options))
    from geodp.publish.cluster_visits import Cluster

    request.check()
    with Cluster(options.cluster) as cluster:
        return publish(request, partial(_prepare, options=options, cluster=cluster))


def _prepare(request: Request, inputs: PublicInputs, *, options: CountsOptions, cluster: Any = None) -> PublishPlan:
    method = build(options, request)
    if options.venue_columns and options.venues is None:
        raise UsageError("--venue-column names columns of the venue list: give --venues FILE.")
    listed = None if options.venues is None else read_venue_list(options.venues, options.venue_columns)
    if listed is None and not request.releasing:
        listed = venues_of(request.source, releasing=False, called=request.columns)
        inputs.derived.append("venue list")
        inputs.warnings.append(
            f"venue list: read off the private data ({listed.size:,} venues), so no privacy guarantee holds: which "
            "places were visited at all is disclosed. A release needs --venues FILE."
        )
    if listed is None:
        raise UsageError(
            "venue list: must be public and given in release mode: use --venues FILE. Reading it off the visits would "
            "disclose which places were visited."
        )
    inside = inputs.venues_within(request, listed)
    listed = listed if inside is None else listed.select(inside)
    inputs.values["venues"] = None if options.venues is None else options.venues.name
    inputs.values["number_of_venues"] = listed.size if options.venues is not None else None
    _require_places(request, method, listed)
    for name in ("cap", "max_theta"):
        if name in type(method).model_fields:
            inputs.values[name] = getattr(method, name)
    if cluster is not None:
        visits = cluster.visits(request.source, listed, request.columns, releasing=request.releasing)
        return CountedVenues(method, visits, listed)
    read = read_visit_sets(request.source, listed, releasing=request.releasing, called=request.columns)
    return CountedVenues(method, read.sets, listed, (*read.remarks(), *_beyond_cap(method, read.sets)))


def build(options: CountsOptions, request: Request) -> CountsPublication:
    """Build the method from the options, with errors for people."""
    known = {name: cls for name, cls in plugins("publication").items() if issubclass(cls, CountsPublication)}
    cls = find_method("counts", options.method, known)
    stated = {"epsilon": request.epsilon, "cap": request.cap, "max_theta": options.max_theta}
    fields = merge_options(cls, _USUAL.get(cls.kind, {}) | dict(request.settings), stated)
    require_epsilon(cls, fields, " for one user")
    return cls.from_options(fields, f"publish counts --method {cls.kind}")


def _require_places(request: Request, method: CountsPublication, venues: Venues) -> None:
    """Refuse what needs places when the list has none, before anything is charged."""
    if venues.placed:
        return
    wanted = {
        f"{request.out.suffix} files": require_suffix(request.out).startswith("geo"),
        "a map": request.map is not None,
        "grouping: space": method.uses_places,
    }
    for what, asked in wanted.items():
        if asked:
            raise UsageError(f"{what}: needs the columns lon and lat in the venue list (--venues).")


def _beyond_cap(method: CountsPublication, sets: VisitSets) -> tuple[str, ...]:
    cap = getattr(method, "cap", None)
    beyond = 0 if cap is None else int((sets.size > cap).sum())
    if not beyond:
        return ()
    return (f"{beyond:,} of {sets.users:,} users have more than {cap:,} venues and count at {cap:,} of them.",)
