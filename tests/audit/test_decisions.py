"""Decisions that follow one another: what they tell together is the worst of all branches, and no more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from geodp.audit.auditor import audit_cases
from geodp.audit.decisions import NO, NOT_ASKED, YES, DecisionsChanged, Step
from geodp.audit.following import follow
from geodp.audit.sampled import sample_answers
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.primitives import decide_in_series

AFTER = (np.array([-1, -1]), np.array([0, 0, 1]), np.array([2]))
"""Two first decisions; two follow the first of them and one the other, which one more follows."""


def simulated(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def laws(rng: np.random.Generator, number: int) -> np.ndarray:
    yes = rng.uniform(0.1, 0.9, number)
    return np.log(np.column_stack([1 - yes, yes]))


def branches() -> DecisionsChanged:
    rng = np.random.default_rng(3)
    changed = DecisionsChanged.along([Step(laws(rng, a.size), laws(rng, a.size), a) for a in AFTER])
    assert changed is not None
    return changed


def told_by_every_branch(changed: DecisionsChanged) -> list[float]:
    """Return the evidence of all combinations of answers that can come about."""
    found = []
    for answers in itertools.product((NO, YES, NOT_ASKED), repeat=changed.columns):
        asked = [after < 0 or answers[after] == YES for after in changed.after]
        if all((answer != NOT_ASKED) == there for answer, there in zip(answers, asked, strict=True)):
            found.append(float(changed.evidence(np.array([answers], dtype=float))[0]))
    return found


def test_the_cost_is_the_most_that_any_branch_tells() -> None:
    changed = branches()
    told = told_by_every_branch(changed)
    assert len(told) == (1 + 2 * 2) * (1 + (1 + 2))
    assert changed.cost == pytest.approx(max(abs(each) for each in told))
    one_by_one = np.abs(changed.true - changed.other).max(axis=1).sum()
    assert changed.cost < 0.9 * one_by_one


def test_decisions_alike_on_both_inputs_are_kept_only_on_the_way_to_others() -> None:
    rng = np.random.default_rng(4)
    same = [laws(rng, a.size) for a in AFTER]
    assert DecisionsChanged.along([Step(law, law, a) for law, a in zip(same, AFTER, strict=True)]) is None
    last = laws(rng, 1)
    steps = [Step(law, law, a) for law, a in zip(same[:2], AFTER[:2], strict=True)]
    changed = DecisionsChanged.along([*steps, Step(same[2], last, AFTER[2])])
    assert changed is not None
    assert changed.after.tolist() == [-1, 0, 1]
    assert changed.cost == pytest.approx(np.abs(same[2] - last).max())


def test_answers_are_drawn_branch_by_branch() -> None:
    """E[e^evidence] = 1 on the other input; six standard errors of 40,000 (2e-9)."""
    changed = branches()
    evidence = {present: changed.evidence(changed.answers(simulated(1), present, 40_000)) for present in (True, False)}
    for odds in (np.exp(evidence[False]), np.exp(-evidence[True])):
        assert abs(odds.mean() - 1) < 6 * odds.std() / 200


def chain(noise: Noise, people: int, *, depth: int, goes_on: bool = False) -> list[np.ndarray]:
    """Decide up to `depth` times by a logit that people move; with `goes_on`, also after a no."""
    answers: list[np.ndarray] = []
    after = None
    for _ in range(depth):
        answers.append(decide_in_series(np.array([[0.0, 0.3 * people]]), noise, after))
        if not answers[-1][0] and not goes_on:
            break
        after = np.zeros(1, dtype=np.int64)
    return answers


def asked(release: Callable[[Noise, int], list[np.ndarray]]) -> TranscriptCase:
    return TranscriptCase("one more", 1.0, release, runs=30)


def logistic_change() -> tuple[float, float]:
    """Return by how much one person changes the log-probabilities of no and yes."""
    no = math.log(1 / (1 + math.exp(0.3))) - math.log(0.5)
    return no, no + 0.3


def test_a_followed_chain_costs_its_longest_run_of_yes_or_a_no() -> None:
    no, yes = logistic_change()
    case = asked(lambda noise, people: chain(noise, people, depth=2))
    assert follow(case, simulated()).spent == pytest.approx(max(2 * yes, -no))
    assert follow(case, simulated()).spent < 2 * max(yes, -no)


def test_what_follows_a_no_is_added_in_full() -> None:
    no, yes = logistic_change()
    case = asked(lambda noise, people: chain(noise, people, depth=3, goes_on=True))
    assert follow(case, simulated()).spent == pytest.approx(3 * max(-no, yes))


def test_which_decision_follows_which_must_not_depend_on_data() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        decide_in_series(np.zeros((2, 2)), noise)
        return [decide_in_series(np.zeros((1, 2)), noise, np.array([int(people)]))]

    assert follow(asked(release), simulated()).spent == math.inf


def test_samples_of_a_series_refute_only_what_claims_too_little() -> None:
    """Sound claims survive with probability 0.95 at least, and with this seed for certain."""
    case = asked(lambda noise, people: chain(noise, people, depth=2))
    followed = follow(case, simulated())
    for share, refuted in ((1.0, False), (0.7, True)):
        sampled = sample_answers(replace(case, claimed=share * followed.spent), followed.changes)
        assert audit_cases("chain", [sampled], lambda _: simulated(2), samples=100_000).refuted is refuted
