"""Findings of attacks held against the truth: beside chance, with an interval, and a bound where there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.attacks.findings import Findings
from geodp.geometry import Array
from geodp.metrics import Measured
from geodp.metrics.intervals import mean

Mask = npt.NDArray[np.bool_]
UNITS = {"error_m": "m"}
LOWER_IS_BETTER_FOR_HER = {"error_m"}
"""Scores of which a small value is a success of the adversary."""


@dataclass(frozen=True)
class FoundScore:
    """One number of one attack on one thing that was released.

    `value` is None where it could not be scored; `note` says why. `samples` are independent repeats, or `hits` of so
    many people: what the interval, and the test against the bound, are made of.
    """

    attack: str
    score: str
    about: str
    release: str
    value: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    bound: float | None = None
    knows: tuple[str, ...] = ()
    targets: int = 0
    people: int = 0
    note: str = ""
    samples: tuple[float, ...] = field(default=(), repr=False)
    hits: int | None = None
    within_m: float | None = None
    """What counts as a hit, metres."""

    @property
    def key(self) -> str:
        """Key of the number among the metrics."""
        return f"{self.attack}_{self.score}"

    def refutes(self, alpha: float) -> bool:
        """Tell whether what was found exceeds the bound, except with probability alpha under a true promise."""
        if self.bound is None or self.value is None:
            return False
        if self.score == "epsilon":
            from geodp.audit.one_run import certify_one_run

            return certify_one_run(self.hits or 0, self.targets, alpha=alpha) > self.bound
        if self.hits is not None:
            from scipy.special import betaincinv

            if self.hits == 0:
                return False
            return float(betaincinv(self.hits, self.targets - self.hits + 1.0, alpha)) > self.bound
        if len(self.samples) < 2 or self.bound >= 1:
            return False
        from scipy.special import stdtrit

        spread = float(np.std(self.samples, ddof=1)) / math.sqrt(len(self.samples))
        return float(np.mean(self.samples)) - float(stdtrit(len(self.samples) - 1, 1 - alpha)) * spread > self.bound

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = asdict(self)
        values["samples"], values["knows"] = list(self.samples), list(self.knows)
        return values | {"key": self.key}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FoundScore:
        """Return the number again."""
        kept = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        return cls(**kept | {"knows": tuple(values.get("knows", ())), "samples": tuple(values.get("samples", ()))})


def list_refuted(found: Sequence[FoundScore]) -> list[FoundScore]:
    """Return the numbers that refute a promise; all bounded ones share the error probability of .05."""
    bounded = [one for one in found if one.bound is not None and one.value is not None]
    return [one for one in bounded if one.refutes(0.05 / len(bounded))]


def area_under_curve(score: Array, member: Mask) -> float | None:
    """Return how often a member has the higher score than a stranger; ties are half (None: one side is empty)."""
    from scipy.stats import rankdata

    inside, outside = int(member.sum()), int((~member).sum())
    if not inside or not outside:
        return None
    rank = rankdata(score)
    return float((rank[member].sum() - inside * (inside + 1) / 2) / (inside * outside))


def spread_of_area(score: Array, member: Mask) -> float:
    """Return the standard error of an area under the curve (DeLong, by placements)."""
    inside, outside = np.sort(score[member]), np.sort(score[~member])
    above = (np.searchsorted(outside, inside) + np.searchsorted(outside, inside, side="right")) / 2 / outside.size
    below = (np.searchsorted(inside, outside) + np.searchsorted(inside, outside, side="right")) / 2 / inside.size
    if min(inside.size, outside.size) < 2:
        return 0.5
    return float(np.sqrt(np.var(above, ddof=1) / inside.size + np.var(below, ddof=1) / outside.size))


def average_repeats(samples: Sequence[float]) -> Measured:
    """Return the mean of independent repeats with its t-interval."""
    return mean(np.asarray(samples, dtype=np.float64))


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share."""
    from scipy.special import betaincinv

    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1.0, 0.025))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1.0, trials - hits, 0.975))
    return low, high


def share_of_people(right: Sequence[bool] | Mask) -> tuple[float, float, float, int]:
    """Return a share over people, its exact interval, and how many there were."""
    hits, trials = int(np.sum(right)), len(right)
    low, high = clopper_pearson(hits, trials)
    return hits / trials, low, high, hits


def score_identities(found: Findings, truth: Mapping[str, str], targets: Sequence[str]) -> tuple[Array, Mask, Mask]:
    """Return for each target whether the first guess is right, alone, and whether the right one is among five.

    `right` is the chance that the adversary gives the right one, where several share the first place.
    """
    who = np.asarray([] if found.who is None else found.who, dtype=np.str_)
    rank = np.zeros(found.size, dtype=np.int64) if found.rank is None else found.rank
    weight = np.ones(found.size) if found.weight is None else found.weight
    number = {str(name): row for row, name in enumerate(targets)}
    right, only, five = (
        np.zeros(len(targets)),
        np.zeros(len(targets), dtype=np.bool_),
        np.zeros(len(targets), dtype=bool),
    )
    first = np.zeros(len(targets), dtype=np.int64)
    for row in range(found.size):
        target = str(found.target[row])
        if target not in number:
            continue
        here = number[target]
        first[here] += rank[row] == 1
        if truth.get(target) == str(who[row]):
            right[here] = weight[row] if rank[row] == 1 else 0.0
            only[here] = rank[row] == 1
            five[here] = rank[row] <= 5
    only &= first == 1
    return right, only, five


def score_tracks(found: Findings, truth: Mapping[str, tuple[Array, Array]], near_m: Array | float) -> float | None:
    """Return the share of hours at which tracks are where people were, after the best one-to-one matching.

    Parameters
    ----------
    found
        Tracks: one row per track and release.
    truth
        Places of each person at each of those releases.
    near_m
        A place this near is the right one: half the width of a cell.
    """
    from geodp.attacks.markov_linkage import match_one_to_one

    if not found.size or found.x_m is None or found.y_m is None or not truth:
        return None
    tracks = len(np.unique(found.target))
    hours = found.size // tracks
    x, y = found.x_m.reshape(tracks, hours), found.y_m.reshape(tracks, hours)
    same = np.stack(
        [
            ((np.abs(x - east) <= near_m) & (np.abs(y - north) <= near_m)).sum(axis=1).astype(np.float64)
            for east, north in truth.values()
        ],
        axis=1,
    )
    match = match_one_to_one(same)
    rows = np.flatnonzero(match >= 0)
    return float(same[rows, match[rows]].sum() / (max(tracks, len(truth)) * hours))
