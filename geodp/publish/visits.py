"""`geodp publish visits`: who was where, each visit moved to another place of a public list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import ValidationError

from geodp.curator.publications._visits_publication import VisitsPublication
from geodp.errors import DataError, ScenarioError, UsageError
from geodp.model import did_you_mean
from geodp.plugins import plugins
from geodp.privacy.guarantee import Unit
from geodp.privacy.noise import Noise
from geodp.publish.frame import Outcome, Plan, Product, publish
from geodp.publish.outputs import DEGREE_DIGITS, Table
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.request import NOTHING_DONE, Request
from geodp.publish.statement import Accuracy
from geodp.visits.hierarchy import hierarchy_of
from geodp.visits.histories import Histories, Venues
from geodp.visits.venue_file import read_venues
from geodp.world import columns_file

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.visits.released_visits import ReleasedVisits

DEFAULT_METHOD = "prilocation"
_VENUES_PER_CLUSTER = 5


@dataclass(frozen=True)
class PublicPlaces:
    """The public side of a publication of visits."""

    path: Path
    level: str | None = None
    """Finest level of the hierarchy."""


class MovedVisits(Plan):
    """Visits of users, each at a place drawn at random."""

    def __init__(
        self, method: VisitsPublication, histories: Histories, venues: Venues, remarks: tuple[str, ...]
    ) -> None:
        self.mechanism = method.kind
        self.fields = method.model_dump(mode="json")
        self.region = venues.region()
        self.guarantee = method.guarantee()
        self.per_person = method.cost()
        self.together = method.together()
        self.not_hidden = ("which users are in the file: their names are published",)
        self.remarks = remarks
        self._method, self._histories, self._venues = method, histories, venues

    def rehearse(self, noise: Noise) -> None:
        """Publish the visits of nobody."""
        nobody = Histories(self._histories.people, self._histories.person[:0], self._histories.venue[:0])
        if self.guarantee.unit is not Unit.NOTHING:
            self._method.release(nobody, self._venues, noise)

    def draw(self, noise: Noise) -> Product:
        """Draw the numbers and the places."""
        released = self._method.release(self._histories, self._venues, noise)
        accuracy = Accuracy(*self._method.expected_error(hierarchy_of(self._venues)))
        return Product(self._table(released), accuracy, noise.releasable, lambda page: self._draw_map(page, released))

    def _table(self, released: ReleasedVisits) -> Table:
        lon, lat = self.region.projection.to_lonlat(x_m=released.x_m, y_m=released.y_m)
        names = np.array([*self._venues.name, None], dtype=np.object_)  # a centroid (-1) is no venue
        columns = {
            "user": released.people[released.person].astype(str),
            "venue": names[released.venue],
            "lon": np.round(lon, DEGREE_DIGITS),
            "lat": np.round(lat, DEGREE_DIGITS),
        }
        return Table(columns, "points")

    def _draw_map(self, page: Page, released: ReleasedVisits) -> None:
        from geodp.display.colours import REPORT
        from geodp.display.drawing import Mark
        from geodp.display.layers.reports import ReportsLayer

        class PublishedPlaces(ReportsLayer):
            title: ClassVar[str] = "Published places"

        mark = Mark("published place", REPORT, "square")
        page.points(PublishedPlaces(), released.x_m, released.y_m, marks=[mark], name="Visit", what="visits")


def publish_visits(request: Request, *, venues: PublicPlaces, method: str = DEFAULT_METHOD) -> Outcome:
    """Publish a file of visits (columns user, venue) over a public list of venues."""
    return publish(request, partial(_prepare, places=venues, kind=method))


def _prepare(request: Request, inputs: PublicInputs, *, places: PublicPlaces, kind: str) -> Plan:
    cls = _find(kind)
    venues = read_venues(places.path, finest=places.level)
    hierarchy = hierarchy_of(venues)
    method = _build(cls, request, places.level, venues)
    if request.releasing and method.guarantee().holds and method.most_visits() is None:
        raise UsageError(
            f"{kind} without a cap bounds no user's total, so a release cannot be charged to anyone: give --cap N. "
            f"{NOTHING_DONE}"
        )
    inputs.values["venues"] = places.path.name
    inputs.values["levels"] = list(venues.levels)
    histories, remarks = read_visits(request.source, venues, releasing=request.releasing)
    method.check(histories, venues, hierarchy)
    return MovedVisits(method, histories, venues, remarks)


def read_visits(path: Path, venues: Venues, *, releasing: bool) -> tuple[Histories, tuple[str, ...]]:
    """Read private visits; those to venues that are not in the public list are left out."""
    import pyarrow as pa

    found = columns_file.column_names(path)
    for name in ("user", "venue"):
        if name not in found:
            other = columns_file.other_name("worker" if name == "user" else name, found)
            hint = "" if other is None else f" Rename '{other}' to '{name}'."
            raise DataError(f"{path.name}: no column '{name}'. Found: {', '.join(found)}.{hint} {NOTHING_DONE}")
    parts = list(columns_file.batches(path, [], ["user", "venue"]))
    user, venue = (
        pa.chunked_array([pa.array(part[name]).cast(pa.string()) for part in parts], pa.string())
        for name in ("user", "venue")
    )
    if not len(user):
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    for name, column in (("user", user), ("venue", venue)):
        bad = [number for number, value in enumerate(column.to_pylist()) if value in (None, "")]
        if bad:
            many = "some rows have" if releasing else f"{len(bad):,} rows have"
            raise DataError(f"{path.name}: {many} no {name}, first in row {bad[0] + 1}. {NOTHING_DONE}")
    codes = user.combine_chunks().dictionary_encode()
    names = np.array(codes.dictionary.to_pylist(), dtype=np.object_)
    order = np.argsort(names.astype(str), kind="stable")  # sorted, so that the order of the file tells nothing
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    number = venues.numbers_of(venue.to_pylist())
    known = number >= 0
    if not known.any():
        raise DataError(
            f"{path.name}: no visit names a venue of the public list: do both files call venues alike? {NOTHING_DONE}"
        )
    person = place[np.asarray(codes.indices.to_numpy(), dtype=np.int64)]
    left_out = int(np.count_nonzero(~known))
    remarks = (f"{left_out:,} of {known.size:,} visits are to venues not in the list, left out.",) if left_out else ()
    return Histories(names[order], person[known], number[known]), remarks


def _build(cls: type[VisitsPublication], request: Request, level: str | None, venues: Venues) -> VisitsPublication:
    """Build the method from the options; the number of clusters follows from the public list where none is given."""
    fields: dict[str, Any] = dict(request.settings)
    metric = fields.get("variant") == "geoind_em"
    stated: Mapping[str, Any] = {
        "epsilon_per_m" if metric else "epsilon": request.epsilon,
        "level": level,
        "cap": request.cap,
    }
    for name, value in stated.items():
        if value is None:
            continue
        if name not in cls.model_fields:
            raise UsageError(f"{cls.kind} takes no --{name}. {NOTHING_DONE}")
        if name in fields:
            raise UsageError(f"--{name} and --set both state {name}: give only one. {NOTHING_DONE}")
        fields[name] = value
    if "epsilon" in cls.model_fields and request.epsilon is None and not {"epsilon", "epsilon_per_m"} & set(fields):
        raise UsageError(f"give --epsilon: the epsilon of {cls.kind}. {NOTHING_DONE}")
    if "clusters" in cls.model_fields and "clusters" not in fields:
        most = int(cls.model_fields["clusters"].default)
        fields["clusters"] = max(1, min(most, venues.size // _VENUES_PER_CLUSTER))
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        lines = [(".".join(str(part) for part in line["loc"]), line["msg"]) for line in error.errors(include_url=False)]
        raise ScenarioError(f"publish visits --method {cls.kind}", lines) from None


def _find(kind: str) -> type[VisitsPublication]:
    known = {
        name: cls
        for name, cls in plugins("publication").items()
        if "visits" in cls.releases and issubclass(cls, VisitsPublication)
    }
    if kind not in known:
        hint = did_you_mean(kind, known)
        raise UsageError(f"visits: no method called '{kind}'.{hint} Known: {', '.join(known)}. {NOTHING_DONE}")
    return known[kind]
