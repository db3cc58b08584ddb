"""`geodp publish visits`: who was where, each visit moved to another place of a public list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geodp.curator.visits_publication import VisitsPublication
from geodp.errors import UsageError
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.publish.methods import find_method, merge_options, require_epsilon
from geodp.publish.outputs import PublishedTable, degree_columns
from geodp.publish.pipeline import Product, PublicationPlan, PublishPlan, PublishResult, publish
from geodp.publish.private_visits import read_personal_levels, read_users, read_visits
from geodp.publish.request import PublicInputs, Request
from geodp.publish.statement import Accuracy
from geodp.registry import plugins
from geodp.tables.notices import notice_cap
from geodp.tables.visits.hierarchy import AreaFile, hierarchy_of
from geodp.tables.visits.histories import Histories, Venues
from geodp.tables.visits.venue_file import read_venues

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.tables.visits.histories import ReleasedVisits

DEFAULT_METHOD = "prilocation"
_MOST_CLUSTERS = 40
_VENUES_PER_CLUSTER = 5


@dataclass(frozen=True)
class PublicPlaces:
    """The public side of a publication of visits."""

    path: Path
    level: str | None = None
    """Finest level of the hierarchy."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the list where they are not called venue, lon, lat, category."""
    areas: tuple[AreaFile, ...] = ()
    """Files of areas that give the levels, coarsest first; none: the columns of the list give them."""
    leave_out: bool = False
    """Leave venues out that lie in no unit of a level, instead of refusing the list."""
    personal_levels: Path | None = None
    """Public file of other levels for single people (columns user, level)."""
    users: Path | None = None
    """Public file of people (column user), each of whom gets a record; None: the names in the private data show."""


class MovedVisits(PublicationPlan):
    """Visits of users, each at a place drawn at random."""

    def __init__(
        self,
        method: VisitsPublication,
        histories: Histories,
        venues: Venues,
        remarks: tuple[str, ...],
        *,
        listed: bool = False,
    ) -> None:
        super().__init__(method, venues.region(), remarks)
        if listed:  # whose names are public anyway hide whether they have a record; otherwise a name shows it
            self.guarantee = replace(self.guarantee, emptied=False)
            self.per_person = replace(self.per_person, emptied=False)
        self.not_hidden = (
            "who is in the public list of users"
            if listed
            else "which users are in the file: their names are published",
        )
        self._method, self._histories, self._venues = method, histories, venues

    def rehearse(self, noise: Noise) -> None:
        """Publish the visits of nobody."""
        nobody = Histories(self._histories.people, self._histories.person[:0], self._histories.venue[:0])
        if self.guarantee.unit is not Unit.NOTHING:
            self._method.release(nobody, self._venues, noise)

    def draw(self, noise: Noise) -> Product:
        """Draw the numbers and the places."""
        notice_cap(self.mechanism, np.bincount(self._histories.person), self._method.most_visits(), "visits")
        released = self._method.release(self._histories, self._venues, noise)
        accuracy = Accuracy(*self._method.expected_error(hierarchy_of(self._venues)))
        return Product(self._table(released), accuracy, noise.releasable, lambda page: self._draw_map(page, released))

    def _table(self, released: ReleasedVisits) -> PublishedTable:
        lon, lat = self.region.projection.to_lonlat(x_m=released.x_m, y_m=released.y_m)
        names = np.array([*self._venues.name, None], dtype=np.object_)  # a centroid (-1) is no venue
        columns = {
            "user": released.people[released.person].astype(str),
            "venue": names[released.venue],
        }
        return PublishedTable(columns | degree_columns(lon, lat), "points")

    def _draw_map(self, page: Page, released: ReleasedVisits) -> None:
        from geodp.publish.released_map import draw_places

        x_m, y_m = released.x_m, released.y_m
        draw_places(page, "Published places", x_m, y_m, mark="published place", name="Visit", what="visits")


def publish_visits(request: Request, *, venues: PublicPlaces, method: str = DEFAULT_METHOD) -> PublishResult:
    """Publish a file of visits (columns user, venue, or as the request names them) over a public list of venues."""
    return publish(request, partial(_prepare, places=venues, kind=method))


def _prepare(request: Request, inputs: PublicInputs, *, places: PublicPlaces, kind: str) -> PublishPlan:
    known = {name: cls for name, cls in plugins("publication").items() if issubclass(cls, VisitsPublication)}
    cls = find_method("visits", kind, known)
    venues = read_venues(
        places.path,
        finest=places.level,
        columns=places.columns,
        areas=places.areas,
        leave_out=places.leave_out,
    )
    inside = inputs.venues_within(request, venues)
    venues = venues if inside is None else venues.select(inside)
    hierarchy = hierarchy_of(venues)
    personal = {} if places.personal_levels is None else read_personal_levels(places.personal_levels)
    users = None if places.users is None else read_users(places.users)
    method = _build(cls, request, places.level, venues, personal)
    if request.releasing and method.guarantee().holds and method.most_visits() is None:
        raise UsageError(
            f"{kind} without a cap bounds no user's total, so a release cannot be charged to anyone: give --cap N."
        )
    inputs.values["venues"] = places.path.name
    inputs.values["levels"] = list(venues.levels)
    if places.areas:
        inputs.values["areas"] = {area.level: area.path.name for area in places.areas}
    if places.users is not None:
        inputs.values["users"] = places.users.name
    histories, remarks = read_visits(
        request.source, venues, releasing=request.releasing, columns=request.columns, users=users
    )
    if users is not None or not request.releasing:  # whether somebody is in the private data is not told
        method.require_people(histories.people)
    method.check(histories, venues, hierarchy)
    return MovedVisits(method, histories, venues, remarks, listed=users is not None)


def _build(
    cls: type[VisitsPublication],
    request: Request,
    level: str | None,
    venues: Venues,
    personal: Mapping[str, str],
) -> VisitsPublication:
    """Build the method from the options; the number of compact clusters follows from the public list."""
    metric = request.settings.get("variant") == "geoind_em"
    stated = {
        "epsilon_per_m" if metric else "epsilon": request.epsilon,
        "level": level,
        "cap": request.cap,
        "personal_levels": dict(personal) or None,
    }
    fields = merge_options(cls, request.settings, stated)
    require_epsilon(cls, fields)
    is_compact = fields.get("clusters_by") == "space" or not venues.levels or "clustering" in fields
    if "clusters" in cls.model_fields and "clusters" not in fields and is_compact and not metric:
        fields["clusters"] = max(1, min(_MOST_CLUSTERS, venues.size // _VENUES_PER_CLUSTER))
    return cls.from_options(fields, f"publish visits --method {cls.kind}")
