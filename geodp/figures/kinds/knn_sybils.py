"""Accounts made up to look like somebody: what a recommender tells them about the rest of that person's places."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.figures.kinds.venue_counts import read_visit_sets
from geodp.geometry import Array
from geodp.privacy.keyed_choice import user_words
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

if TYPE_CHECKING:
    import pandas as pd

ADVANTAGE = "advantage"
EXACT, PRIVATE, BOUND = "exact nearest neighbours", "private lists", "tanh(ε/2)"


class KnnSybils(FigureKind):
    """The attack of a recommender by made-up accounts, on exact neighbours and on private lists of venues.

    The adversary knows `known` venues of a victim and asks whether the victim also visited one more. Half of the time
    the victim did, half of the time not. Against exact nearest neighbours the adversary makes `neighbours` accounts
    with the known venues; the account's nearest ones are the others and the victim, and what it is recommended is
    what the victim has besides. Against private lists of one venue each, the accounts raise the venue asked about and
    e^(ε/2) rivals until these lead the list of a known venue. The advantage is the share of right answers *yes* less
    the share of wrong ones.

    An ε-private list gives no adversary an advantage of more than (e^ε - 1)/(e^ε + 1) = tanh(ε/2).

    Reference
    ---------
    The attack: Calandrino et al. 2011, "You might also like", as Zhu et al. 2017, Differential Privacy and
    Applications, section 10.4.1 tell it (the paper is recalled).
    """

    kind: ClassVar[str] = "knn_sybils"

    lines: tuple[str, ...] = (EXACT, PRIVATE, BOUND)
    """The lines."""
    path: str | None = None
    """A Parquet file of visits; without it they are generated."""
    user_column: str = "user"
    """Its column of users."""
    venue_column: str = "venue"
    """Its column of venues."""
    people: int = Field(default=1000, ge=10)
    """People, where visits are generated."""
    venues: int = Field(default=400, ge=20)
    """Venues, where visits are generated; the popularity of a venue falls with its rank."""
    known: int = Field(default=8, ge=1)
    """Venues of the victim that the adversary knows."""
    neighbours: int = Field(default=10, ge=2)
    """Neighbours of an account, and made-up accounts (k)."""
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0)
    """ε of one list."""
    victims: int = Field(default=1000, ge=1)
    """People who are attacked."""
    repeats: int = Field(default=10, ge=1)
    """Groups into which the victims are divided, a value each."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Attack every victim, with and without the venue asked about."""
        world = self._visits()
        chosen = self._victims(world)
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat, group in enumerate(np.array_split(chosen, self.repeats)):
            luck = np.random.default_rng([11, repeat])
            games = [(int(who), *self._split(world, int(who), luck)) for who in group]
            exact = float(np.mean([self._ask_neighbours(world, *game) for game in games]))
            for epsilon in self.epsilons:
                noise = SimulatedNoise(np.random.default_rng([12, repeat]))
                private = float(np.mean([self._ask_list(world, *game[1:], epsilon, noise) for game in games]))
                for line, value in ((EXACT, exact), (PRIVATE, private), (BOUND, float(np.tanh(epsilon / 2)))):
                    rows.append((ADVANTAGE, line, epsilon, repeat, value))
        return points_table(rows)

    def _visits(self) -> VisitSets:
        if self.path is not None:
            return read_visit_sets(self.path, self.user_column, self.venue_column)
        luck = np.random.default_rng(13)
        popularity = 1.0 / np.arange(1, self.venues + 1) ** 0.7
        size = np.clip(luck.poisson(12, self.people), 2, self.venues)
        # the venues with the largest log-weight plus Gumbel noise are a draw without replacement
        lots = np.log(popularity) + luck.gumbel(size=(self.people, self.venues))
        order = np.argsort(-lots, axis=1)
        venue = np.concatenate([row[:many] for row, many in zip(order, size, strict=True)]).astype(np.int64)
        names = np.array([f"p{number}" for number in range(self.people)], dtype=np.object_)
        return visit_sets(user_words(names), np.repeat(np.arange(self.people), size), venue, self.venues)

    def _victims(self, world: VisitSets) -> Integers:
        able = np.flatnonzero(world.size > self.known)
        if able.size < self.repeats:
            raise DataError(
                f"{self.kind}: {able.size} people have more than {self.known} venues, too few for {self.repeats} "
                "groups: lower known or repeats."
            )
        return np.asarray(np.random.default_rng(14).permutation(able)[: self.victims])

    def _split(self, world: VisitSets, victim: int, luck: np.random.Generator) -> tuple[Integers, int]:
        """Return what is known of a victim, and the venue that is asked about."""
        own = luck.permutation(world.venue[world.start[victim] : world.start[victim + 1]])
        return own[: self.known].astype(np.int64), int(own[self.known])

    def _ask_neighbours(self, world: VisitSets, victim: int, known: Integers, asked: int) -> float:
        """Return 1 when the account is recommended the venue only if the victim visited it.

        Similarity is the share of common venues (Jaccard). The made-up accounts are all alike, so one of them has the
        others as nearest, and then the nearest real person; what neighbours have and the account has
        not is recommended.
        """
        common = np.zeros(world.users)
        who = np.repeat(np.arange(world.users), world.size)
        np.add.at(common, who[np.isin(world.venue, known)], 1.0)
        has_it = np.zeros(world.users, dtype=np.bool_)
        has_it[who[world.venue == asked]] = True
        found = []
        for visited in (True, False):
            size = world.size - (0 if visited else (np.arange(world.users) == victim))
            nearest = int(np.argmax(common / (size + known.size - common)))
            found.append(float(visited if nearest == victim else has_it[nearest]))
        return found[0] - found[1]

    def _ask_list(self, world: VisitSets, known: Integers, asked: int, epsilon: float, noise: SimulatedNoise) -> float:
        """Return 1 when the private list of a known venue names the venue only with the visit, -1 only without it.

        Everyone counts at all their venues here, the best case of the adversary: where a cap leaves some out, the visit
        that is asked about may be among them. With n rivals that are even without the visit the list names the venue
        with a chance of 1/(1 + n), and 1/(1 + n·e^-ε) with it: e^(ε/2) of them are best, and give tanh(ε/4).
        """
        from geodp.curator.publications.venue_lists import VenueLists

        cap = int(world.size.max())
        lists = VenueLists(epsilon=epsilon * cap, cap=cap, length=1)
        others = np.delete(np.arange(world.venues), known[0])
        answers = []
        rivals = min(max(round(float(np.exp(epsilon / 2))), 1), world.venues - 2)
        for visited in (True, False):
            scores = self._common_visitors(world, (int(known[0]), asked), rivals, visited=visited)[others]
            chosen = lists.choose_from(scores[None, :], others[None, :], noise)
            answers.append(float(chosen[0, 0] == asked))
        return answers[0] - answers[1]

    def _common_visitors(self, world: VisitSets, pair: tuple[int, int], rivals: int, *, visited: bool) -> Array:
        """Return how many accounts have both the target and each venue, made-up ones included.

        The adversary knows everyone but the victim, and makes accounts with the target and the venue asked about, and
        with the target and some rivals, until all lead by `neighbours`, and are even when the victim stayed away.
        """
        target, asked = pair
        who = np.repeat(np.arange(world.users), world.size)
        is_visitor = np.isin(who, who[world.venue == target])
        common = np.bincount(world.venue[is_visitor], minlength=world.venues).astype(np.float64)
        honest = common.copy()
        honest[asked] -= 1.0  # the victim's own visit, which is in the data
        chosen = np.delete(np.arange(world.venues), [target, asked])[:rivals]
        lead = float(np.delete(honest, target).max()) + self.neighbours
        raised = np.append(chosen, asked)
        common[raised] += lead - honest[raised]
        if not visited:
            common[asked] -= 1.0
        return common
