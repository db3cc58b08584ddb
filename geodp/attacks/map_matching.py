"""Following reports along streets: a hidden Markov model whose places are points of the public street map."""

from __future__ import annotations

from functools import reduce
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView, Guesses
from geodp.attacks.inference import Prior, likelihood_of
from geodp.attacks.traces import STREETS, Integers
from geodp.errors import DataError
from geodp.geometry import Array
from geodp.public.channels import Channel
from geodp.public.release import Points
from geodp.public.streets import StreetNetwork

_REACH = 4.74  # in 1/ε: 95 % of places lie nearer to their report
_MOST_POINTS = 1500
_ANYWHERE_SHARE = 0.01
_LEAST_SPREAD_M = 15.0


class StreetPoints:
    """Points along streets, and which of them follow each other.

    Parameters
    ----------
    network
        The streets.
    spacing_m
        About how far apart neighbouring points are.
    """

    def __init__(self, network: StreetNetwork, spacing_m: float) -> None:
        pieces = np.maximum(np.rint(network.length_m / spacing_m).astype(np.int64), 1)
        inner = pieces - 1
        street = np.repeat(np.arange(pieces.size), inner)
        number = np.arange(street.size) - np.repeat(np.cumsum(inner) - inner, inner) + 1
        along = number * (network.length_m / pieces)[street]
        # one line through all streets, with a gap after each, keeps a place on its own street
        gap = float(network.length_m.max(initial=0.0)) + 1.0
        corner_street = np.repeat(np.arange(pieces.size), np.diff(network.first))
        line = network.reached_m + corner_street * gap
        self.x_m = np.append(network.x_m, np.interp(along + street * gap, line, network.corner_x_m))
        self.y_m = np.append(network.y_m, np.interp(along + street * gap, line, network.corner_y_m))
        own = network.size + np.arange(street.size)
        before, after = number == 1, number == inner[street]
        alone = np.flatnonzero(inner == 0)
        self.tail = np.concatenate([network.tail[street[before]], own[~after], own[after], network.tail[alone]])
        self.head = np.concatenate([own[before], own[~after] + 1, network.head[street[after]], network.head[alone]])
        step = (network.length_m / pieces)[np.concatenate([street[before], street[~after], street[after], alone])]
        self.step_m = np.maximum(step, 0.1)

    def select(self, box_m: tuple[float, float, float, float]) -> tuple[Integers, Array]:
        """Return the points in a box (west, south, east, north), and their distances along streets in it."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        west, south, east, north = box_m
        inside = (self.x_m >= west) & (self.x_m <= east) & (self.y_m >= south) & (self.y_m <= north)
        chosen = np.flatnonzero(inside)
        if chosen.size > _MOST_POINTS:
            return chosen, np.empty((0, 0))
        number = np.cumsum(inside) - 1
        both = inside[self.tail] & inside[self.head]
        tail, head, step = number[self.tail[both]], number[self.head[both]], self.step_m[both]
        graph = csr_array((step, (tail, head)), shape=(chosen.size, chosen.size))
        return chosen, np.asarray(dijkstra(graph, directed=False))


class MapMatching(Attack):
    """Guess each position from all reports of a person who is taken to be on a street at all times.

    A hidden Markov model over points every `spacing_m` along the public streets: people stay, or move by Gaussian steps
    of the distance along streets. The guess is the point of least expected distance under the forward-backward belief.
    Where noise is wider than blocks, streets do not help.

    Reference
    ---------
    Newson, Krumm 2009, "Hidden Markov Map Matching Through Noise and Sparseness" (the model; the beliefs are ours).
    """

    kind: ClassVar[str] = "map_matching"
    about: ClassVar[str] = "place"
    reads: ClassVar[frozenset[str]] = frozenset({"points"})
    can_know: ClassVar[frozenset[str]] = frozenset({STREETS})

    knows: tuple[str, ...] = (STREETS,)
    """What is known beforehand: `streets`, the street map."""
    people: int = Field(default=50, ge=1)
    """Maximum number of people followed."""
    spacing_m: float = Field(default=50.0, ge=5)
    """Distance of neighbouring points; doubled where more than 1,500 of them lie around a person's reports, metres."""
    speed_mps: float = Field(default=2.0, gt=0)
    """Root mean square speed of people on the move, along streets (m/s)."""
    still_share: float = Field(default=0.3, ge=0, lt=1)
    """Probability that somebody has not moved since the last report."""

    def guess(self, view: AttackView) -> Guesses:
        """Follow everyone whose reports are there at all times."""
        numbered = [(number, release) for number, release in enumerate(view.releases) if isinstance(release, Points)]
        blind = Prior.uniform(view.region).best_guess()
        streets = view.background.streets
        if not numbered:
            return Guesses.join([], blind)
        if streets is None:
            raise DataError(f"{self.kind} needs the street map, and there is none: its background is '{STREETS}'.")
        releases = [release for _, release in numbered]
        who = reduce(np.intersect1d, [release.who for release in releases])[: self.people]
        rows = [np.searchsorted(release.who, who) for release in releases]
        reports = np.stack(
            [
                np.column_stack([release.x_m[row], release.y_m[row]])
                for release, row in zip(releases, rows, strict=True)
            ],
            axis=1,
        )
        times = np.array([release.time_s for release in releases])
        points = StreetPoints(streets, self.spacing_m)
        path = reports.copy()
        for channel, mine in releases[0].take(rows[0]).by_law() if who.size else []:
            if channel is None:
                continue  # the report is the place
            for person in mine:
                path[person] = self._follow(reports[person], times, channel, points, streets)
        return Guesses.join(
            [(self.kind, number, who, path[:, t, 0], path[:, t, 1]) for t, (number, _) in enumerate(numbered)], blind
        )

    def _follow(
        self, reports: Array, times: Array, channel: Channel, points: StreetPoints, streets: StreetNetwork
    ) -> Array:
        """Return one person's path: [time, coordinate]."""
        room = _REACH / channel.epsilon_per_m
        west, south = reports.min(axis=0) - room
        east, north = reports.max(axis=0) + room
        box, spacing = (float(west), float(south), float(east), float(north)), self.spacing_m
        chosen, route_m = points.select(box)
        while chosen.size > _MOST_POINTS and spacing < _REACH * room:
            spacing *= 2
            points = StreetPoints(streets, spacing)
            chosen, route_m = points.select(box)
        if not chosen.size or not route_m.size:
            return reports  # nowhere a street, or too many of them: the report is all there is
        x, y = points.x_m[chosen], points.y_m[chosen]
        shape = (len(reports), x.size)
        seen = likelihood_of(
            channel, reports[:, 0], reports[:, 1], np.broadcast_to(x, shape), np.broadcast_to(y, shape)
        )
        belief = follow_streets(seen, self._matrices(route_m, np.diff(times), spacing))
        far = np.hypot(x[:, None] - x, y[:, None] - y)
        best = np.argmin(belief @ far, axis=1)
        return np.column_stack([x[best], y[best]])

    def _matrices(self, route_m: Array, gaps_s: Array, spacing_m: float) -> list[Array]:
        """Return how likely each step between points is, for each gap between reports."""
        made: dict[float, Array] = {}
        for gap in gaps_s.tolist():
            if gap not in made:
                spread = max(self.speed_mps * gap, spacing_m / 2, _LEAST_SPREAD_M)
                moved = np.exp(-0.5 * np.square(route_m / spread))  # infinite where no street leads: no step
                moved /= moved.sum(axis=1, keepdims=True)
                stayed = self.still_share * np.eye(len(route_m))
                mixed = (1 - self.still_share) * moved + stayed
                made[gap] = (1 - _ANYWHERE_SHARE) * mixed + _ANYWHERE_SHARE / len(route_m)
        return [made[gap] for gap in gaps_s.tolist()]


def follow_streets(seen: Array, moves: list[Array]) -> Array:
    """Return P(point at each time | all reports): [time, point].

    Parameters
    ----------
    seen
        f(report | point): [time, point].
    moves
        Chances of steps between each two times: [from, to].
    """
    belief = seen / np.maximum(seen.max(axis=1, keepdims=True), 1e-300)
    later = belief.copy()
    for t in range(1, len(seen)):
        belief[t] *= belief[t - 1] @ moves[t - 1]
        belief[t] /= max(float(belief[t].max()), 1e-300)
    back = np.ones(seen.shape[1])
    for t in range(len(seen) - 2, -1, -1):
        back = moves[t] @ (back * later[t + 1])
        back /= max(float(back.max()), 1e-300)
        belief[t] *= back
    return np.asarray(belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300))
