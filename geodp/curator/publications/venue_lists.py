"""Who went there also went here: a short private list of other venues for every venue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.publications import Publication, Published, Records
from geodp.errors import DataError
from geodp.geometry import Array
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_mechanism
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.notices import notice_cap
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, sets_of

if TYPE_CHECKING:
    import pandas as pd

_SCORES_AT_ONCE = 1 << 22


class VenueLists(Publication):
    """For every venue the other venues that its visitors also visited, chosen privately.

    Guarantee
    ---------
    ε-differential privacy for all visits of one person (added or removed), against everyone but the curator. Everyone
    counts at no more than `cap` venues, and so in no more than `cap` lists, each of which costs ε/cap: its places are
    drawn one after the other by the exponential mechanism from the numbers of common visitors. One person more raises
    each of these by at most one and lowers none, so exp(ε·score) is enough where exp(ε·score/2) is usual.

    Reference
    ---------
    Peeling: McSherry and Talwar 2007 (recalled). In place of Zhu et al. 2017, Differential Privacy and Applications,
    section 10.4 (PNCF), whose exponent has a sensitivity of the data at hand in it, which keeps no promise: figure
    10.pncf.
    """

    kind: ClassVar[str] = "venue_lists"
    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"venue_lists"})

    epsilon: float = Field(default=1.0, gt=0)
    """ε of all lists together, for all visits of one person."""
    cap: int = Field(default=10, ge=2)
    """Everyone counts at no more than so many venues, drawn at random from their own: a public number."""
    length: int = Field(default=5, ge=1)
    """Venues on each list; where there are fewer others, all of them."""

    @property
    def list_epsilon(self) -> float:
        """What one list costs."""
        return self.epsilon / self.cap

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish a list for every public venue; the exact lists stay behind."""
        histories, venues = records.visits()
        self.require_venues(venues.size)
        sets = sets_of(histories, venues.size)
        notice_cap(self.kind, sets.size, self.cap, "venues that people visited")
        chosen = self.choose_venues(sets.keep_at_most(self.cap, draw_key(noise)), noise)
        exact = np.concatenate(
            [rank_venues(scores, min(self.length, venues.size - 1)) for _, scores in _count_common(sets)]
        )
        facts = {"epsilon_of_one_list": self.list_epsilon, "cap": self.cap}
        truth = {"venue_lists": _tabulate(venues.name, exact)}
        return Published(_tabulate(venues.name, chosen), truth, facts)

    def check_records(self, records: Records) -> None:
        """Refuse a list of venues that leaves nothing to choose from."""
        self.require_venues(records.visits()[1].size)

    def require_venues(self, venues: int) -> None:
        """Refuse a public list on which there is nothing to choose from."""
        if venues < 2:
            raise DataError(f"{self.kind}: the public list has {venues} venue: there is no other one to name.")

    def choose_venues(self, visits: VisitSets, noise: Noise) -> Integers:
        """Return the venues on the list of each venue, one row per venue, in the order in which they were drawn."""
        found = []
        for first, scores in _count_common(visits):
            candidates = _others(first, *scores.shape)
            found.append(self.choose_from(np.take_along_axis(scores, candidates, axis=1), candidates, noise))
        return np.concatenate(found)

    def choose_from(self, scores: Array, candidates: Integers, noise: Noise) -> Integers:
        """Return one list per row of scores and of the venues that they belong to: ε/cap for each row."""
        length = min(self.length, candidates.shape[1])
        epsilon = self.list_epsilon / length
        lists = np.empty((len(scores), 0), dtype=np.int64)
        for _ in range(length):
            place = exponential_mechanism(scores, epsilon=epsilon, sensitivity=1, noise=noise, one_directional=True)
            lists = np.column_stack([lists, np.take_along_axis(candidates, place[:, None], axis=1)])
            candidates, scores = _remove(candidates, place), _remove(scores, place)
        return lists

    def guarantee(self) -> Guarantee:
        """Promise ε for one person."""
        return Guarantee(self.epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def rank_venues(scores: Array, length: int) -> Integers:
    """Return the venues with the highest scores of each row, ties in the order of the public list."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :length]


def _count_common(visits: VisitSets) -> list[tuple[int, Array]]:
    """Return how many people visited both venues, some rows at a time; a venue with itself is at the bottom."""
    from scipy.sparse import csr_array

    shape = (visits.users, visits.venues)
    who = csr_array((np.ones(visits.venue.size), visits.venue, visits.start), shape=shape)
    step = max(1, _SCORES_AT_ONCE // max(visits.venues, 1))
    parts = []
    by_venue = who.T.tocsr()
    for first in range(0, visits.venues, step):
        scores = (by_venue[first : first + step] @ who).toarray()
        rows = np.arange(len(scores))
        scores[rows, first + rows] = -1.0
        parts.append((first, scores))
    return parts


def _others(first: int, rows: int, venues: int) -> Integers:
    """Return for each row all venues but its own."""
    others: Integers = _remove(np.tile(np.arange(venues), (rows, 1)), first + np.arange(rows))
    return others


def _remove(table: Any, place: Integers) -> Any:
    """Return the table with one entry of each row left out."""
    keep = np.ones(table.shape, dtype=np.bool_)
    keep[np.arange(len(table)), place] = False
    return table[keep].reshape(len(table), -1)


def _tabulate(names: Any, lists: Integers) -> pd.DataFrame:
    import pandas as pd

    rows, length = lists.shape
    return pd.DataFrame(
        {
            "venue": np.repeat(np.asarray(names), length),
            "rank": np.tile(np.arange(1, length + 1), rows),
            "also": np.asarray(names)[lists.reshape(-1)],
        }
    )
