"""What an attack says it found, before anybody holds it against the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.attacks.traces import Integers, Names
from geodp.geometry import Array


@dataclass(frozen=True, eq=False)
class Findings:
    """One row per statement about a target; which columns there are depends on what the attack is about.

    Parameters
    ----------
    target
        Whom it is about: a name that the background gave, a pseudonym, or the number of a track.
    release
        Number of the release, or of the moment, that it is about (-1: of all together).
    x_m, y_m
        Where the target is thought to be (about a place or a track).
    score
        Log-odds that the target is in (member), or belongs together with `who` (pair).
    who
        Who the target is thought to be (identity), or belongs to (pair).
    rank
        Place of this row among the target's candidates, from 1; ties share it.
    weight
        Chance that the adversary gives this row, where several are equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.attacks.findings import Findings
    >>> Findings.about_members(np.array(["ann"]), np.array([0.7])).score
    array([0.7])
    """

    target: Names
    release: Integers
    x_m: Array | None = None
    y_m: Array | None = None
    score: Array | None = None
    who: Names | None = None
    rank: Integers | None = None
    weight: Array | None = None

    @property
    def size(self) -> int:
        """Number of statements."""
        return int(self.target.size)

    @classmethod
    def about_members(cls, target: Names, score: Array) -> Findings:
        """Say how likely each target is to be in."""
        return cls(np.asarray(target), np.full(len(target), -1, dtype=np.int64), score=np.asarray(score, dtype=float))

    @classmethod
    def about_places(cls, target: Names, x_m: Array, y_m: Array, release: Integers | None = None) -> Findings:
        """Say where each target is, at a release or altogether."""
        when = np.full(len(target), -1, dtype=np.int64) if release is None else release
        return cls(np.asarray(target), when, x_m=np.asarray(x_m, dtype=float), y_m=np.asarray(y_m, dtype=float))

    @classmethod
    def about_identities(cls, target: Names, who: Names, rank: Integers, weight: Array) -> Findings:
        """Say who each target may be, the likeliest first."""
        return cls(
            np.asarray(target), np.full(len(target), -1, dtype=np.int64), who=np.asarray(who), rank=rank, weight=weight
        )

    @classmethod
    def about_pairs(cls, target: Names, who: Names, score: Array) -> Findings:
        """Say how likely each target belongs together with another."""
        when = np.full(len(target), -1, dtype=np.int64)
        return cls(np.asarray(target), when, who=np.asarray(who), score=np.asarray(score, dtype=float))


def rank_candidates(scores: Array, targets: Names, candidates: Names, most: int = 10) -> Findings:
    """Return the best few candidates of each target; equal scores share their rank and their chance.

    Parameters
    ----------
    scores
        Of each target (rows) and candidate (columns); -inf where it cannot be.
    targets, candidates
        Their names.
    most
        So many rows per target at most.
    """
    kept = min(most, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    best = np.take_along_axis(scores, order, axis=1)
    rank = np.array(
        [[1 + int(np.count_nonzero(row > value)) for value in found] for row, found in zip(scores, best, strict=True)]
    )
    first = (scores == best[:, :1]).sum(axis=1)
    weight = np.where(best == best[:, :1], 1.0 / first[:, None], 0.0)
    possible = np.isfinite(best).ravel()
    return Findings.about_identities(
        np.repeat(targets, kept)[possible],
        candidates[order].ravel()[possible],
        rank.reshape(-1).astype(np.int64)[possible],
        weight.ravel()[possible],
    )
