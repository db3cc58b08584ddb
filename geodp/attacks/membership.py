"""Telling from counts who is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field, field_validator

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.traces import OTHERS, PAST, TRACES, Integers, Names, Traces
from geodp.errors import DataError
from geodp.geometry import Array
from geodp.public.count_laws import CountLaw
from geodp.public.release import Cells

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_PRIOR_PRECISION = 4.0
"""One over the variance of a coin."""


def score_knowing_others(released: Array, others: Array, law: CountLaw, person: Integers, people: int) -> Array:
    """Return each person's log-likelihood ratio of in against out: the best that anybody can do.

    Parameters
    ----------
    released, others
        The released count where she was, and how many others truly were there: one row per person and moment.
    law
        The law of these counts.
    person
        Whose each row is, by number.
    people
        How many people there are.
    """
    return np.asarray(np.bincount(person, weights=law.log_ratio(released, others), minlength=people), dtype=np.float64)


def solve_memberships(matrix: csr_matrix, counts: Array, variance: Array) -> Array:
    """Return all memberships at once, as how far each lies above a half: (AWAᵀ + 4I)s = AW(y - ½Σa).

    Parameters
    ----------
    matrix
        A: of each candidate (rows), in which counts she would be (columns).
    counts
        y, as released.
    variance
        Of what hides each count (infinite: suppressed).
    """
    from scipy.sparse import diags

    weight = np.where(np.isfinite(variance), 1 / np.maximum(variance, 1e-12), 0.0)
    half = np.asarray(matrix.sum(axis=0)).ravel() / 2
    weighted = matrix @ diags(weight)
    left = (weighted @ matrix.T).toarray() + _PRIOR_PRECISION * np.eye(matrix.shape[0])
    right = weighted @ (counts - half)
    return np.asarray(np.linalg.solve(left, right))


def score_knowing_past(
    matrix: csr_matrix, counts: Array, variance: Array, strangers: csr_matrix, people: float
) -> Array:
    """Return each candidate's Gaussian log-likelihood ratio, with means and covariances learnt from strangers' past.

    The covariance of a person's trace is half that of the sample and half its diagonal; with the noise it is a
    diagonal and a matrix of the rank of the sample, so it is inverted by Woodbury's identity.
    """
    some = strangers.shape[0]
    mean = np.asarray(strangers.mean(axis=0)).ravel()
    spread = mean * (1 - mean)
    noise = np.where(np.isfinite(variance), variance, np.inf)
    floor = 1 / max(2.0 * some, 2.0)  # what no stranger did may still be done by somebody
    diagonal = people * np.maximum(0.5 * spread, floor) + noise
    inverse = np.where(np.isfinite(diagonal), 1 / diagonal, 0.0)
    factor = (strangers.toarray() - mean) * np.sqrt(people * 0.5 / some)  # [stranger, count]
    inner = np.linalg.inv(np.eye(some) + (factor * inverse) @ factor.T)

    def solve(rows: Array) -> Array:
        scaled = rows * inverse
        return np.asarray(scaled - ((scaled @ factor.T) @ inner) @ factor * inverse)

    scores = np.empty(matrix.shape[0])
    residual = counts - people * mean
    solved = solve(residual[None, :])[0]
    for begin in range(0, matrix.shape[0], 256):
        own = matrix[begin : begin + 256].toarray() - mean
        scores[begin : begin + 256] = own @ solved - 0.5 * np.einsum("ij,ij->i", own, solve(own))
    return scores


class Membership(Attack):
    """Tell who is in the counts: from everything about everybody else, from all traces, or from an earlier period.

    `others` knows everything but the target's own coin: Σ clip(2r - 1, -1, 1)/b with r the noisy count less the others
    (Laplace; Σ(r - ½)/σ² for Gaussian noise). It is the likelihood ratio, hence the best there is. `traces` knows the
    candidates' traces and not who of them is in, and solves for all memberships at once: (AWAᵀ + 4I)s = AW(y - ½Σa), W
    one over the variance of the noise, 0 for what is suppressed, 12/R² for what is rounded to R. `past` knows the
    target's own trace and some strangers' earlier ones: a Gaussian ratio with their mean and covariance, the best of
    four forms that were tried and no optimum.

    Reference
    ---------
    Pyrgelis, Troncoso, De Cristofaro 2018, "Knock Knock, Who's There? Membership Inference on Aggregate Location Data"
    (the game; no classifier is trained here).
    """

    kind: ClassVar[str] = "membership"
    about: ClassVar[str] = "member"
    reads: ClassVar[frozenset[str]] = frozenset({"cells", "contours", "counts"})
    can_know: ClassVar[frozenset[str]] = frozenset({OTHERS, TRACES, PAST})

    knows: tuple[str, ...] = (OTHERS,)
    """One of `others`, `traces` and `past`."""
    people: int = Field(default=500, ge=2)
    """Maximum number of targets; beyond, they are sampled."""
    strangers: int = Field(default=1000, ge=2, le=5000)
    """Maximum number of strangers whose past is learnt from."""

    @field_validator("knows")
    @classmethod
    def _one_background(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) != 1:
            raise ValueError("give one of others, traces, past: each is an adversary of its own")
        return value

    def guess(self, view: AttackView) -> Findings:
        """Return the evidence about each candidate."""
        traces = view.background.traces
        counts = [(number, release) for number, release in enumerate(view.releases) if isinstance(release, Cells)]
        if traces is not None and traces.size and view.counts:
            return self._judge_places(view, traces)
        if traces is None or not traces.size or not counts:
            return Findings.about_members(np.empty(0, dtype=np.str_), np.empty(0))
        targets = traces.people
        if self.knows == (OTHERS,):
            return self._judge_by_others(view, traces, targets, counts)
        rows, y, variance = _collect(traces, traces.rows(), counts, view.laws.get("rule"))
        candidates = _matrix(rows, len(targets), y.size)
        if self.knows == (TRACES,):
            used = np.flatnonzero(np.asarray(candidates.sum(axis=0)).ravel() > 0)  # the rest says nothing about them
            scores = solve_memberships(candidates[:, used], y[used], variance[used])
            return Findings.about_members(targets, scores)
        past = view.background.past
        if past is None or past.people.size < 2:
            raise DataError("membership with 'past' needs the traces of at least two strangers of an earlier period.")
        named = past.people[: self.strangers]
        past = past.take(np.isin(past.who, named))
        earlier, _, _ = _collect(past, past.rows(), counts, view.laws.get("rule"))
        strangers = _matrix(earlier, len(named), y.size)
        people = max(sum(float(release.count.sum()) for _, release in counts) / len(counts), 1.0)
        return Findings.about_members(targets, score_knowing_past(candidates, y, variance, strangers, people))

    def _judge_places(self, view: AttackView, traces: Traces) -> Findings:
        """Judge by counts of numbered places; the size of the noise changes no order, so it may stay unknown."""
        seen, targets, person = view.counts[0], traces.people, traces.rows()
        law = CountLaw("laplace", 1.0) if seen.rule is None else CountLaw.of_rule(seen.rule)
        others = view.background.others
        if others is not None:
            released = seen.count[traces.place]
            return Findings.about_members(targets, score_knowing_others(released, others, law, person, len(targets)))
        if self.knows != (TRACES,):
            raise DataError("counts of venues have no earlier period: know others or traces.")
        matrix = _matrix((person, traces.place), len(targets), seen.count.size)
        return Findings.about_members(targets, solve_memberships(matrix, seen.count, law.variance(seen.count)))

    @staticmethod
    def _judge_by_others(view: AttackView, traces: Traces, targets: Names, counts: list[tuple[int, Cells]]) -> Findings:
        others, scores, number_of = view.background.others, np.zeros(len(targets)), traces.rows()
        if others is None:
            return Findings.about_members(np.empty(0, dtype=np.str_), np.empty(0))
        for number, release in counts:
            rows = np.flatnonzero(traces.release == number)
            cell = release.locate(traces.x_m[rows], traces.y_m[rows])
            rows, cell = rows[cell >= 0], cell[cell >= 0]
            law = CountLaw.of(release, view.laws.get("rule")).take(cell)
            scores += score_knowing_others(release.count[cell], others[rows], law, number_of[rows], len(targets))
        return Findings.about_members(targets, scores)


def _collect(
    traces: Traces, number_of: Integers, counts: list[tuple[int, Cells]], rule: Mapping[str, int] | None
) -> tuple[tuple[Integers, Integers], Array, Array]:
    """Return whose trace is in which count (counts of all releases in a row), the counts, and their variances."""
    person, column, y, variance, offset = [], [], [], [], 0
    for number, release in counts:
        rows = np.flatnonzero(traces.release == number)
        cell = release.locate(traces.x_m[rows], traces.y_m[rows])
        person.append(number_of[rows[cell >= 0]])
        column.append(offset + cell[cell >= 0])
        y.append(release.count)
        variance.append(CountLaw.of(release, rule).variance(release.count))
        offset += release.count.size
    return (np.concatenate(person), np.concatenate(column)), np.concatenate(y), np.concatenate(variance)


def _matrix(rows: tuple[Integers, Integers], people: int, columns: int) -> csr_matrix:
    from scipy.sparse import csr_matrix as sparse

    return sparse((np.ones(rows[0].size), rows), shape=(people, columns))
