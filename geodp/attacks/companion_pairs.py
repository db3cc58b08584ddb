"""Who moves together, from reports that never lie far apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.traces import Integers
from geodp.geometry import Array
from geodp.public.channels import Channel
from geodp.public.release import Points

_BINS = 400
_DRAWS = 200_000
_SEED = 20_090  # the law of a distance is worked out by the same draws for everyone


def planar_differences(epsilon_per_m: float, size: int, rng: np.random.Generator) -> Array:
    """Draw distances of two planar Laplace reports of one place."""
    offsets = []
    for _ in range(2):
        radius = rng.gamma(2.0, 1 / epsilon_per_m, size)
        angle = rng.uniform(0, 2 * np.pi, size)
        offsets.append((radius * np.cos(angle), radius * np.sin(angle)))
    return np.hypot(offsets[0][0] - offsets[1][0], offsets[0][1] - offsets[1][1])


def score_pairs(x_m: Array, y_m: Array, epsilon_per_m: float, pairs: tuple[Integers, Integers]) -> Array:
    """Return Σ ln(½ + ½ g₁/g₀) of the distances of two people's reports, for each pair.

    g₁ is the law of the distance of two reports of one place, g₀ that of all pairs of people.

    Parameters
    ----------
    x_m, y_m
        Reports: [person, time].
    epsilon_per_m
        Of one report.
    pairs
        Numbers of either one.
    """
    rng = np.random.default_rng(_SEED)
    together = planar_differences(epsilon_per_m, _DRAWS, rng)
    edges = np.quantile(together, np.linspace(0, 1, _BINS + 1)[1:-1])
    edges = np.concatenate([edges, np.quantile(together, [0.9995]) * np.array([1.0, 1.5, 2.0])])
    edges = np.unique(edges)
    first, second = rng.integers(0, len(x_m), (2, _DRAWS))
    when = rng.integers(0, x_m.shape[1], _DRAWS)
    apart = first != second
    any_two = np.hypot(x_m[first, when] - x_m[second, when], y_m[first, when] - y_m[second, when])[apart]
    near, all_ = (
        np.bincount(np.searchsorted(edges, far), minlength=edges.size + 1) + 0.5 for far in (together, any_two)
    )
    evidence = np.log(0.5 + 0.5 * (near / near.sum()) / (all_ / all_.sum()))
    scores = np.zeros(pairs[0].size)
    for time in range(x_m.shape[1]):
        far = np.hypot(x_m[pairs[0], time] - x_m[pairs[1], time], y_m[pairs[0], time] - y_m[pairs[1], time])
        scores += evidence[np.searchsorted(edges, far)]
    return scores


class CompanionPairs(Attack):
    """Find those who move together: pairs whose reports lie as near to each other as those of one place do.

    Σ ln(½ + ½ g₁/g₀) over the reports of a pair, g₁ the law of their distance at one place, g₀ that of all pairs. What
    each of two who move together reports says where both are: together they have twice the ε.

    Reference
    ---------
    Olteanu, Huguenin, Shokri, Humbert, Hubaux 2017, "Quantifying Interdependent Privacy Risks with Location Data".
    """

    kind: ClassVar[str] = "companion_pairs"
    about: ClassVar[str] = "pair"
    reads: ClassVar[frozenset[str]] = frozenset({"points"})

    people: int = Field(default=400, ge=2, le=2000)
    """Maximum number of people looked at."""

    def guess(self, view: AttackView) -> Findings:
        """Return the evidence about each pair."""
        releases = [release for release in view.releases if isinstance(release, Points)]
        nobody = np.empty(0, dtype=np.str_)
        if not releases:
            return Findings.about_pairs(nobody, nobody, np.empty(0))
        who = releases[0].who
        for release in releases[1:]:
            who = np.intersect1d(who, release.who)
        who = np.sort(who)[: self.people]
        if who.size < 2:
            return Findings.about_pairs(nobody, nobody, np.empty(0))
        x, y = np.empty((who.size, len(releases))), np.empty((who.size, len(releases)))
        for column, release in enumerate(releases):
            row = np.searchsorted(release.who, who)
            x[:, column], y[:, column] = release.x_m[row], release.y_m[row]
        first, second = np.triu_indices(who.size, 1)
        rate = _rate_of(releases[0].channel)
        return Findings.about_pairs(who[first], who[second], score_pairs(x, y, rate, (first, second)))


def _rate_of(channel: Channel | None) -> float:
    """Return ε per metre of a report (exact ones: as good as a metre)."""
    found = getattr(channel, "epsilon_per_m", None)
    return 1.0 if found is None else float(np.min(found))
