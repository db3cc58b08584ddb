"""PriLocation: everyone's visits, each moved to a random place of a public cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.venue_clusters import (
    Clusters,
    Slots,
    cluster_by_units,
    cluster_literally,
    cluster_venues,
    cluster_visits,
    draw_from_all,
    draw_from_own,
    draw_in_clusters,
    fill_slots,
)
from geodp.curator.visits_publication import VisitsPublication
from geodp.errors import DataError, NotReleasable, UsageError
from geodp.geometry import Array
from geodp.model import did_you_mean
from geodp.privacy.keyed_choice import draw_key, hash_users, user_words
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import DEFAULT_PLANAR_EPSILON_PER_M
from geodp.public.guarantee import PLANE, Guarantee, Neighbours, Trust, Unit
from geodp.streams import uniforms
from geodp.tables.visits.hierarchy import Hierarchy, hierarchy_of
from geodp.tables.visits.histories import Histories, Integers, Names, ReleasedVisits, Replacements, Venues

_OWN = "places are drawn from the person's own places, so what can come out tells where the person was"
_COMPACT_CLUSTERS = 40
_CENTRES = "the centres of the clusters follow from private visits without noise; only their objective has noise"


class PriLocation(VisitsPublication):
    """Everyone's visits, each replaced by a random place of the same public cluster (PriLocation).

    Guarantee
    ---------
    `unit: event`: ε-differential privacy for one visit (added or removed), against everyone but the curator: a person
    with m visits is protected at m·ε only, and rows of one person stay together: it hides no user. Under a cap one
    visit more may push another one out, so the noise is twice as wide as without (`cap: null`, which bounds nobody's
    total). `unit: user`: ε for all visits of one person, at most `cap`; the noise is `cap` times as wide. Names of
    people are published: what is hidden is whether a record is empty, not whether there is one. Holds because clusters
    are public (or noisy), every cluster gets a noisy count and exactly so many places, and places are drawn from all of
    the public cluster. `geoind_em` instead: ε per metre for each place; numbers of visits are public.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.4, eq. (12.11)-(12.18). As printed
    (`variant: literal`) it is not private: centres carry no noise, and candidates are the person's own places. Eq.
    (12.16) draws almost uniformly from a cluster (odds within e^(ε/8)), so its error depends on the number of clusters
    and hardly on ε: the fall with ε in figure 12.7 cannot come from it.
    """

    kind: ClassVar[str] = "prilocation"

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the release, for one visit or for one user."""
    unit: Literal["event", "user"] = "event"
    """What ε hides: one visit, or all visits of a person."""
    cap: int | None = Field(default=100, ge=1)
    """Maximum number of visits per person, drawn at random from their own: public. null: all are kept,
    with half the noise per visit; a promise about a person, and a charge to one, are then impossible."""
    clusters_by: Literal["level", "space"] | None = None
    """`level`: a visit is moved within all of the area above the level that its owner hides (who hides the street:
    anywhere in the district; who hides the city: anywhere). `space`: within one of `clusters` compact clusters,
    whatever the level. Default: `level` where the venues have levels and neither clusters nor another clustering is
    asked for, else `space`."""
    clusters: int | None = Field(default=None, ge=1)
    """Number of compact clusters (η); 1 is the naive baseline. null: 40."""
    strata: bool = False
    """With `clusters_by: level`: a visit keeps its public category where every unit of the level has that category."""
    clustering: Literal["public_gazetteer", "dplloyd", "literal"] = "public_gazetteer"
    """`public_gazetteer`: k-means on the public venues, free; `dplloyd`: noisy k-means on visits; `literal`: as
    printed. Not private."""
    rounds: int = Field(default=5, ge=1)
    """Rounds of the private clusterings."""
    level: str | None = None
    """Level of the hierarchy that is hidden; default the finest of the venue list. Its sensitivity scales the
    selection; with `clusters_by: level` it also says how far a visit may be moved."""
    personal_levels: dict[str, str] = Field(default_factory=dict)
    """Other levels for single people, by name (public: a person's choice must not depend on their visits)."""
    level_shares: dict[str, float] = Field(default_factory=dict)
    """Other levels for shares of the people not named, drawn by lot with `public_seed`: `{city: 0.2}`."""
    clustering_share: float = Field(default=0.5, ge=0, lt=1)
    """Part of ε for the clustering."""
    weights_share: float = Field(default=0.25, gt=0, lt=1)
    """Part of ε for the numbers of visits per cluster."""
    selection_share: float = Field(default=0.25, gt=0, lt=1)
    """Part of ε for the selection of places."""
    spare: Literal["share", "keep"] = "share"
    """Public clusters cost nothing: their part goes to the other two steps (`share`), or is not spent (`keep`)."""
    variant: Literal["corrected", "em_local", "geoind_em", "literal"] = "corrected"
    """`em_local`: the selection is scaled by the diameter of the cluster instead of the sensitivity; `geoind_em`: ε per
    metre, from all venues; `literal`: as printed. Not private."""
    epsilon_per_m: float = Field(default=DEFAULT_PLANAR_EPSILON_PER_M, gt=0)
    """With `geoind_em`: ε per metre for each place."""
    public_seed: int = Field(default=0, ge=0)
    """Seed of the public clustering and of the lot for `level_shares` (it need not be secret)."""

    @model_validator(mode="after")
    def _possible_shares(self) -> Self:
        total = self.clustering_share + self.weights_share + self.selection_share
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the shares of the budget must add up to 1, they add up to {total:g}")
        if self.unit == "user" and self.cap is None:
            raise ValueError("unit: user needs a cap: without one a person may have any number of visits")
        if self.clusters_by == "level" and self.clusters is not None:
            raise ValueError("clusters: a number of compact clusters goes with clusters_by: space")
        if self.clusters_by == "level" and self.clustering != "public_gazetteer":
            raise ValueError(f"clustering: {self.clustering} makes compact clusters: it goes with clusters_by: space")
        shares = list(self.level_shares.values())
        if shares and (min(shares) < 0 or sum(shares) > 1 + 1e-9):
            raise ValueError(f"level_shares are shares of people, from 0 to 1 in all: they add up to {sum(shares):g}")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the fields that another variant or clustering reads."""
        if self.variant == "geoind_em":
            idle = (
                "epsilon",
                "unit",
                "clusters",
                "clusters_by",
                "strata",
                "clustering",
                "rounds",
                "spare",
                "public_seed",
            )
            return dict.fromkeys((*idle, "clustering_share", "weights_share", "selection_share"), "with geoind_em")
        found = {"epsilon_per_m": f"with variant: {self.variant}"}
        if self.clusters is not None or self.clusters_by == "space" or self.clustering != "public_gazetteer":
            found["strata"] = "with compact clusters"
        if self.clustering == "public_gazetteer":
            found["rounds"] = "with public clusters"
        else:
            found["spare"] = "where the clustering costs its part"
            if not self.level_shares:
                found["public_seed"] = "without public clusters and level_shares"
        return found

    def budgets(self) -> tuple[float, float, float]:
        """Return ε of the clustering, of the weights and of the selection."""
        if self.clustering != "public_gazetteer":
            shares = self.clustering_share, self.weights_share, self.selection_share
        elif self.spare == "keep":
            shares = 0.0, self.weights_share, self.selection_share
        else:
            both = self.weights_share + self.selection_share
            shares = 0.0, self.weights_share / both, self.selection_share / both
        return self.epsilon * shares[0], self.epsilon * shares[1], self.epsilon * shares[2]

    def guarantee(self) -> Guarantee:
        """Promise ε for one visit or for one user; ε per metre with `geoind_em`."""
        if self.variant == "geoind_em":
            return Guarantee.per_metre(self.epsilon_per_m, metric=PLANE)
        spent = self.epsilon
        if self.clustering == "public_gazetteer" and self.spare == "keep":
            spent = self.epsilon * (self.weights_share + self.selection_share)
        flaw = self.flaw()
        unit = Unit.USER if self.unit == "user" else Unit.EVENT
        return Guarantee(spent, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL, holds=not flaw, why_not=flaw, emptied=True)

    def flaw(self) -> str:
        """Say why the promise does not hold ('' when it does)."""
        own = _OWN if self.variant == "literal" else ""
        centres = _CENTRES if self.clustering == "literal" else ""
        return "; ".join(text for text in (own, centres) if text)

    def release_with_truth(
        self, histories: Histories, venues: Venues, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Publish the visits, and keep for scoring which place took the place of which."""
        if self.flaw() and noise.releasable:
            raise NotReleasable(f"prilocation, as it is set, is not private: {self.flaw()}. It must not be released.")
        hierarchy = hierarchy_of(venues)
        self.check(histories, venues, hierarchy)
        used = self.cap_visits(histories, b"" if self.cap is None else draw_key(noise))
        if self.variant == "geoind_em":
            return self._each_alone(used, hierarchy, noise)
        if self.moves_by_level(hierarchy):
            return self._move_by_level(used, venues, hierarchy, noise)
        clusters = self.clusters_of(used, hierarchy, noise)
        return self.move_visits(used, clusters, hierarchy, noise)

    def moves_by_level(self, hierarchy: Hierarchy) -> bool:
        """Say whether visits are moved within areas of the hierarchy, and not within compact clusters."""
        if self.clusters_by is not None or self.variant == "geoind_em":
            return self.clusters_by == "level"
        return self.clusters is None and self.clustering == "public_gazetteer" and bool(hierarchy.levels)

    def cap_visits(self, histories: Histories, key: bytes = b"") -> Histories:
        """Return the visits that the cap leaves, of each person those that the key chooses."""
        # A promise per metre is about a visit that moves: which ones are kept must not follow from where they are.
        return (
            histories if self.cap is None else histories.keep_at_most(self.cap, key, blind=self.variant == "geoind_em")
        )

    def check(self, histories: Histories, venues: Venues, hierarchy: Hierarchy) -> None:
        """Refuse what cannot be published, before anything is drawn."""
        if histories.size and not (histories.venue.min() >= 0 and histories.venue.max() < venues.size):
            raise DataError("a visit names a venue that is not in the public list. Nothing was released or charged.")
        for level in {*self.personal_levels.values(), *self.level_shares, self.level}:
            if level is not None:
                hierarchy.require(level)
        if self.variant == "geoind_em":
            return
        if self.moves_by_level(hierarchy):
            self._check_levels(venues, hierarchy)
        elif self.compact_clusters > venues.size:
            raise UsageError(
                f"{self.compact_clusters} clusters are more than the {venues.size} venues of the public list: ask for "
                "fewer. Nothing was released or charged."
            )

    def _check_levels(self, venues: Venues, hierarchy: Hierarchy) -> None:
        if not hierarchy.levels:
            raise UsageError(
                "clusters_by: level needs a venue list with levels (city, district, …), and this one has none: add "
                "columns of them, or take clusters_by: space. Nothing was released or charged."
            )
        if self.strata and venues.category is None:
            raise UsageError(
                "strata: the venues of the public list have no category. Add a column of them, or leave strata out. "
                "Nothing was released or charged."
            )

    @property
    def compact_clusters(self) -> int:
        """The number of compact clusters, where there are any."""
        return _COMPACT_CLUSTERS if self.clusters is None else self.clusters

    def require_people(self, people: Names) -> None:
        """Refuse levels of people who are not there."""
        unknown = sorted(set(self.personal_levels) - {str(name) for name in people})
        if unknown:
            raise UsageError(f"personal_levels: nobody is called '{unknown[0]}'. Nothing was released or charged.")

    def public_problems(self, levels: Sequence[str], venues: int) -> Iterator[tuple[str, str]]:
        """Yield levels that the hierarchy lacks, and more clusters than there are venues."""
        named = [("level", [] if self.level is None else [self.level])]
        named += [("personal_levels", list(self.personal_levels.values())), ("level_shares", list(self.level_shares))]
        for field, wanted in named:
            for level in sorted(set(wanted) - set(levels)):
                known = ", ".join(levels) or "none"
                yield field, f"no level called '{level}'.{did_you_mean(level, levels)} Levels: {known}."
        if self.clusters is not None and self.clusters > venues and self.variant != "geoind_em":
            yield "clusters", f"{self.clusters} are more than the {venues} venues of the public list: ask for fewer"

    def clusters_of(self, histories: Histories, hierarchy: Hierarchy, noise: Noise) -> Clusters:
        """Return the clusters of the public venues."""
        x_m, y_m = hierarchy.x_m, hierarchy.y_m
        if self.clustering == "public_gazetteer":
            return cluster_venues(x_m, y_m, self.compact_clusters, seed=self.public_seed)
        epsilon = self.budgets()[0] / self.count_changed_visits()
        if self.clustering == "dplloyd":
            visited = histories.venue
            return cluster_visits(x_m, y_m, visited, self.compact_clusters, noise, epsilon=epsilon, rounds=self.rounds)
        hs_m = self.sensitivity_m(hierarchy, self.level)
        return cluster_literally(
            x_m, y_m, histories.venue, self.compact_clusters, noise, epsilon=epsilon, rounds=self.rounds, hs_m=hs_m
        )

    def _move_by_level(
        self, histories: Histories, venues: Venues, hierarchy: Hierarchy, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Move the visits of people who hide the same level together, level after level, coarsest first.

        Levels are public, and nobody's level follows from visits: each group is a release of its own people, so one
        visit, or one person, is in one of them.
        """
        own = [hierarchy.levels[-1] if level is None else level for level in self.levels_of(histories.people)]
        parts, chosen, finest = [], [], np.zeros(venues.size, dtype=np.int64)
        for level in hierarchy.levels:
            group = np.flatnonzero(np.array([mine == level for mine in own], dtype=np.bool_))
            if not group.size:
                continue
            clusters = self.level_clusters(venues, hierarchy, level)
            slots, places = self.draw_visits(histories.choose_people(group), clusters, hierarchy, noise)
            parts.append(Slots(group[slots.person], slots.venue, slots.survived))
            chosen.append(places)
            finest = clusters.label
        none = np.empty(0, dtype=np.int64)
        slots = Slots(
            np.concatenate([none, *(part.person for part in parts)]),
            np.concatenate([none, *(part.venue for part in parts)]),
            np.concatenate([none.astype(np.bool_), *(part.survived for part in parts)]),
        )
        return self._publish_slots(histories, slots, np.concatenate([none, *chosen]), hierarchy, finest)

    def level_clusters(self, venues: Venues, hierarchy: Hierarchy, level: str) -> Clusters:
        """Return the areas in which visits of people who hide a level are moved."""
        return cluster_by_units(hierarchy, level, venues.category if self.strata else None)

    def move_visits(
        self, histories: Histories, clusters: Clusters, hierarchy: Hierarchy, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Settle the numbers per cluster, draw a place for every slot, and publish."""
        slots, chosen = self.draw_visits(histories, clusters, hierarchy, noise)
        return self._publish_slots(histories, slots, chosen, hierarchy, clusters.label)

    def draw_visits(
        self, histories: Histories, clusters: Clusters, hierarchy: Hierarchy, noise: Noise
    ) -> tuple[Slots, Integers]:
        """Settle the numbers per cluster, then draw a place for every slot."""
        _, for_weights, _ = self.budgets()
        slots = fill_slots(histories, clusters, noise, scale=self.count_changed_visits() / for_weights)
        rate = self.rates_per_m(slots, histories, clusters, hierarchy)
        draw = draw_from_own if self.variant == "literal" else draw_in_clusters
        chosen = draw(
            slots=slots, clusters=clusters, x_m=hierarchy.x_m, y_m=hierarchy.y_m, rate_per_m=rate, noise=noise
        )
        return slots, chosen

    def rates_per_m(self, slots: Slots, histories: Histories, clusters: Clusters, hierarchy: Hierarchy) -> Array:
        """Return ε/(2Δ) of every slot's exponential mechanism (book eq. 12.16: ε/4 and Δ = HS).

        Scores in a cluster differ by at most its diameter, so Δ is the larger of HS and that (with `em_local` the
        diameter alone: a changed slot stays in one public cluster). ε is divided by how many slots change at most.
        """
        wide = clusters.diameter_m[clusters.label[slots.venue]]
        if self.variant != "em_local":
            wide = np.maximum(wide, self.sensitivities_m(histories.people, hierarchy)[slots.person])
        return np.asarray(self.budgets()[2] / self.count_changed_visits() / (2 * np.maximum(wide, 1e-9)))

    def sensitivity_m(self, hierarchy: Hierarchy, level: str | None) -> float:
        """Return HS of a level (default the finest); without a hierarchy, the width of the whole list."""
        level = level if level is not None else (hierarchy.levels[-1] if hierarchy.levels else None)
        if level is not None:
            return hierarchy.sensitivity_m(level)
        from geodp.tables.visits.hierarchy import diameter_m

        return diameter_m(hierarchy.x_m, hierarchy.y_m)

    def sensitivities_m(self, people: Names, hierarchy: Hierarchy) -> Array:
        """Return HS of the level that each person chose, metres."""
        levels = self.levels_of(people)
        known = {level: self.sensitivity_m(hierarchy, level) for level in set(levels)}
        return np.array([known[level] for level in levels], dtype=np.float64)

    def levels_of(self, people: Names) -> list[str | None]:
        """Return the level of each person: the one named, or the one that the lot says, or the default."""
        # By name, not by place in the list: nobody's level follows from who else is there.
        lot = uniforms(hash_users(user_words(people), f"levels {self.public_seed}".encode()))
        bounds = np.cumsum(list(self.level_shares.values()))
        choices = [*self.level_shares, self.level]
        levels = [choices[place] for place in np.searchsorted(bounds, lot, side="right")]
        return [self.personal_levels.get(str(name), level) for name, level in zip(people, levels, strict=True)]

    def count_changed_visits(self) -> int:
        """Return by how many visits two neighbouring inputs differ at most, once the cap has been applied.

        A user is at most `cap` visits. One visit x more is one, unless a cap binds: then x may push a visit y out, and
        what is left differs by {x} against {y}. If both are in one cluster, its count is the same and one slot differs.
        If not, both counts change by one (ε_w each) and, given equal noisy counts, one slot in either cluster (ε_s
        each): twice ε_w + ε_s. Likewise x enters and y leaves the sums of the noisy clustering.
        """
        if self.cap is None or self.variant == "literal":  # as printed: no cap is thought of
            return 1
        return self.cap if self.unit == "user" else 2

    def _each_alone(
        self, histories: Histories, hierarchy: Hierarchy, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Move every visit by itself: P ∝ exp(-ε·d/2) over all venues is ε per metre (both the score and its norm)."""
        slots = Slots(histories.person, histories.venue, np.ones(histories.size, dtype=np.bool_))
        rate = self.epsilon_per_m / 2
        chosen = draw_from_all(
            person=slots.person, venue=slots.venue, x_m=hierarchy.x_m, y_m=hierarchy.y_m, rate_per_m=rate, noise=noise
        )
        return self._publish_slots(histories, slots, chosen, hierarchy, None)

    def _publish_slots(
        self, histories: Histories, slots: Slots, chosen: Integers, hierarchy: Hierarchy, label: Integers | None
    ) -> tuple[ReleasedVisits, Replacements]:
        """Sort what is published, so that its order tells nothing."""
        x_m, y_m = hierarchy.x_m[chosen], hierarchy.y_m[chosen]
        order = np.lexsort((chosen, slots.person))
        released = ReleasedVisits(
            people=histories.people,
            person=slots.person[order],
            venue=chosen[order],
            x_m=x_m[order],
            y_m=y_m[order],
            mechanism=self.kind,
            guarantee=self.guarantee(),
            cluster=label,
        )
        return released, Replacements(
            person=slots.person,
            true_venue=slots.venue,
            released_venue=chosen,
            survived=slots.survived,
            x_m=x_m,
            y_m=y_m,
        )

    def most_visits(self) -> int | None:
        """Return the public cap (None: nobody's visits are bounded)."""
        return self.cap

    def expected_error(self, hierarchy: Hierarchy) -> tuple[str, dict[str, float]]:
        """Say how wide the public clusters are, and how much noise the numbers carry."""
        if self.clustering != "public_gazetteer" or self.variant == "geoind_em":
            return super().expected_error(hierarchy)
        if self.moves_by_level(hierarchy):
            clusters = cluster_by_units(hierarchy, self.level or hierarchy.levels[-1])
        else:
            clusters = cluster_venues(hierarchy.x_m, hierarchy.y_m, self.compact_clusters, seed=self.public_seed)
        wide_m = float(clusters.diameter_m[clusters.label].mean())
        # Whole numbers get P(k) ∝ r^|k|, E|k| = 2r/(1 - r²). None lies below 0: where a user never was, half is left.
        ratio = math.exp(-self.budgets()[1] / self.count_changed_visits())
        spread = 2 * ratio / (1 - ratio**2)
        text = (
            f"A visit stays in one of {clusters.size} public areas, {wide_m:,.0f} m across on average. A user's "
            f"number of visits in one is off by ±{spread:.3g} on average where it is large; where the user never "
            f"was, {spread / 2:.3g} visits are made up on average."
        )
        return text, {
            "cluster_diameter_m": round(wide_m, 1),
            "count_noise": round(spread, 4),
            "made_up_visits_per_unvisited_cluster": round(spread / 2, 4),
        }
