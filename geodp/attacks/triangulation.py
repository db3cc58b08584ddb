"""Where a pseudonym stays, from the tasks that it took and those that it did not."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView, SeenOffers
from geodp.attacks.findings import Findings
from geodp.geometry import Array, Region
from geodp.public.acceptance import Acceptance
from geodp.public.release import Cells

_LEAST = 1e-12
_MAPS = 24


def share_ratio(success: Array) -> Array:
    """Return κ = E[1/(2 + M)]/E[1/(1 + M)] for a Poisson number M of others who accept, of which the mean is known.

    Parameters
    ----------
    success
        Chance that somebody accepts, 1 - e^-mean (NaN: unknown, taken for a half).
    """
    mean = -np.log1p(-np.clip(np.nan_to_num(success, nan=0.5), 1e-9, 1 - 1e-9))
    one = -np.expm1(-mean) / mean
    return np.asarray((1 - one) / mean / one)


def log_evidence(
    offers: SeenOffers, x_m: Array, y_m: Array, acceptance: Acceptance, *, alone: bool = False
) -> tuple[Array, Array]:
    """Return ln of how likely each task makes each place if she took it, and if she did not: [task, place].

    Parameters
    ----------
    offers
        The tasks.
    x_m, y_m
        Places.
    acceptance
        The public model of willingness.
    alone
        Whether everybody who accepts is named: then not being named means to have declined.
    """
    far = np.hypot(offers.x_m[:, None] - x_m, offers.y_m[:, None] - y_m)
    chance = acceptance.probability(offers.reward[:, None], far)
    chance = np.where(far <= offers.radius_m[:, None], chance, 0.0)
    if offers.asked_share is not None:
        chance = chance * offers.asked_share[:, None]
    taken = np.array([len(names) > 0 for names in offers.winners], dtype=np.bool_)
    kappa = np.where(taken & (not alone), share_ratio(offers.success), 0.0)
    return np.log(np.maximum(chance, _LEAST)), np.log(np.maximum(1 - chance * (1 - kappa[:, None]), _LEAST))


def posterior(named: Array, took: Array, declined: Array, prior: Array) -> Array:
    """Return the belief about each pseudonym: [pseudonym, place].

    Parameters
    ----------
    named
        Whether each pseudonym (rows) took each task (columns).
    took, declined
        As `log_evidence` returns them.
    prior
        Of each place.
    """
    nats = np.log(np.maximum(prior, _LEAST)) + declined.sum(axis=0) + named @ (took - declined)
    nats -= nats.max(axis=1, keepdims=True)
    belief = np.exp(nats)
    return np.asarray(belief / belief.sum(axis=1, keepdims=True))


class Triangulation(Attack):
    """Find where a pseudonym stays: a task that it took speaks for places nearby, one that it did not against them.

    The belief on a grid is prior · Πθ (taken) · Π(1 - θ(1 - κ)) (not taken), with θ the public model of willingness; κ
    is 0 if nobody took the task, else how likely she would still have been picked beside the others. Those who took
    no task have no name, and are not guessed at. The guess is the place of least expected distance.

    Reference
    ---------
    ours: nobody has published this attack on the protocol, as far as we know.
    """

    kind: ClassVar[str] = "triangulation"
    about: ClassVar[str] = "place"
    reads: ClassVar[frozenset[str]] = frozenset({"offers"})

    per_side: int = Field(default=50, ge=5, le=200)
    """Cells along the longer side of the grid."""
    people: int = Field(default=1000, ge=1)
    """Maximum number of pseudonyms attacked."""
    answers: Literal["winner", "all"] = "winner"
    """`all`: everybody who accepts is named to the server, not the winner alone."""

    def guess(self, view: AttackView) -> Findings:
        """Guess one place per pseudonym."""
        offers, acceptance = view.offers, view.laws.get("answers", view.laws.get("acceptance"))
        names = sorted({name for winners in (offers.winners if offers else ()) for name in winners})[: self.people]
        if offers is None or acceptance is None or not names:
            return Findings.about_places(np.empty(0, dtype=np.str_), np.empty(0), np.empty(0))
        x, y = _grid(view.region, self.per_side)
        named = np.zeros((len(names), offers.task.size))
        number = {name: row for row, name in enumerate(names)}
        for task, winners in enumerate(offers.winners):
            for name in winners:
                if name in number:
                    named[number[name], task] = 1.0
        took, declined = log_evidence(offers, x, y, acceptance, alone=self.answers == "all")
        belief = posterior(named, took, declined, _prior(view, x, y))
        guess_x, guess_y = least_distance(belief, x, y)
        return Findings.about_places(np.array(names), guess_x, guess_y)


def _prior(view: AttackView, x_m: Array, y_m: Array) -> Array:
    """Return where people are according to released maps, or anywhere in the region."""
    inside = view.region.contains(x_m, y_m).astype(np.float64)
    maps = [release for release in view.releases if isinstance(release, Cells)]
    some = maps[:: -(-len(maps) // _MAPS)] if maps else []
    density = np.sum([np.maximum(release.density(x_m, y_m), 0.0) for release in some], axis=0) * inside
    for found in (density, inside):
        if np.any(found > 0):
            return np.asarray(found)
    return np.ones(x_m.size)


def _grid(region: Region, per_side: int) -> tuple[Array, Array]:
    west, south, east, north = region.box_m
    cell = max(east - west, north - south) / per_side
    across, along = (max(1, round((high - low) / cell)) for low, high in ((west, east), (south, north)))
    x = west + (np.arange(across) + 0.5) * (east - west) / across
    y = south + (np.arange(along) + 0.5) * (north - south) / along
    columns, rows = np.meshgrid(x, y)
    return columns.ravel(), rows.ravel()


def least_distance(belief: Array, x_m: Array, y_m: Array) -> tuple[Array, Array]:
    """Return the place with the least expected distance under each belief."""
    far = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
    best = np.concatenate([np.argmin(part @ far, axis=1) for part in np.array_split(belief, 1 + len(belief) // 500)])
    return x_m[best], y_m[best]
