"""Releases followed question by question: sound ones come out at what they claim, whatever reads more is found out."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from geodp.audit.auditor import Audit, audit_cases, check_cases
from geodp.audit.following import follow
from geodp.audit.report import as_dict, text_of
from geodp.audit.sampled import GaussianChanged, sample_answers
from geodp.audit.transcript import Overheard, Retold
from geodp.errors import DataError, GeodpError
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.primitives import (
    choose_in_bags,
    exponential_mechanism,
    laplace_counts,
    with_discrete_gaussian,
    with_geometric,
    with_laplace,
    with_planar_geometric,
)

Release = Callable[[Noise, int], list[np.ndarray]]


def simulated(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def two_steps(noise: Noise, people: int) -> list[np.ndarray]:
    """Choose one of three bins by a score that one person moves by 1 (ε = 0.4), and count in it (ε = 0.6)."""
    scores = np.array([1.0 * people, 2.0, 0.0])
    best = exponential_mechanism(scores, epsilon=0.4, sensitivity=1.0, noise=noise, one_directional=True)
    secret = noise.uniform(3)
    counts = laplace_counts(np.array([people, 5]), epsilon=0.6, sensitivity=1.0, noise=noise)
    return [best, secret, np.maximum(counts, 0.0)]


def spent(release: Release, *, people: int = 3) -> float:
    case = TranscriptCase("one more", 1.0, lambda noise, present: release(noise, people + present), runs=5)
    return follow(case, simulated()).spent


def test_a_release_costs_what_its_questions_cost_together() -> None:
    """log e^{0.4(n+1)}/(e^{0.4(n+1)}+…) against n: the largest change of a log-probability, and |1|·0.6."""

    def law(people: int) -> np.ndarray:
        logits = 0.4 * np.array([people, 2.0, 0.0])
        return np.asarray(logits - np.log(np.exp(logits).sum()))

    assert spent(two_steps) == pytest.approx(np.abs(law(4) - law(3)).max() + 0.6)
    assert spent(two_steps) < 1.0


def _exact_output(noise: Noise, people: int) -> list[np.ndarray]:
    return [*two_steps(noise, people), np.array([people > 3])]


def _scale_of_the_data(noise: Noise, people: int) -> list[np.ndarray]:
    return [laplace_counts(np.array([0]), epsilon=1.0, sensitivity=float(people), noise=noise)]


def _one_question_more(noise: Noise, people: int) -> list[np.ndarray]:
    return [noise.uniform(2) for _ in range(people)][:1]


def _as_many_numbers_as_people(noise: Noise, people: int) -> list[np.ndarray]:
    return [noise.uniform(people)[:1]]


def _as_many_choices_as_people(noise: Noise, people: int) -> list[np.ndarray]:
    return [noise.choose(np.zeros(4), people)]


def _refused_to_many(noise: Noise, people: int) -> list[np.ndarray]:
    if people > 3:
        raise DataError("too many")
    return two_steps(noise, 0)


def _question_whose_refusal_is_swallowed(noise: Noise, people: int) -> list[np.ndarray]:
    with contextlib.suppress(Exception):
        noise.uniform(people)
    return []


@pytest.mark.parametrize(
    "release",
    [
        _exact_output,
        _question_whose_refusal_is_swallowed,
        _scale_of_the_data,
        _one_question_more,
        _as_many_numbers_as_people,
        _as_many_choices_as_people,
        _refused_to_many,
    ],
)
def test_what_depends_on_data_beside_the_answers_is_told_apart(release: Release) -> None:
    assert spent(release) == math.inf


def test_what_fails_on_both_inputs_is_an_error() -> None:
    with pytest.raises(DataError, match="too many"):
        spent(_refused_to_many, people=7)


def test_what_fails_on_both_inputs_is_a_finding_of_an_audit() -> None:
    case = TranscriptCase("many", 1.0, lambda noise, present: _refused_to_many(noise, 7 + present))
    checked = check_cases([case], lambda _: simulated())
    assert checked.failed == ("many: too many",)
    assert not checked.pairs


def test_choices_from_shared_scores_cost_each_time() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        return [noise.choose(np.array([0.1 * people, 0.0]), 7)]

    one = np.log1p(np.exp(-0.1 * 3)) - np.log1p(np.exp(-0.1 * 4))
    other = np.log1p(np.exp(0.1 * 4)) - np.log1p(np.exp(0.1 * 3))
    assert spent(release) == pytest.approx(7 * max(one, other))


def test_noise_apart_from_what_it_hides_cannot_be_followed() -> None:
    with pytest.raises(GeodpError, match="apart from what it hides"):
        spent(lambda noise, people: [people + noise.laplace(1.0, 1)])


def _own_generator(noise: Noise, people: int) -> list[np.ndarray]:
    return [people + np.random.default_rng().laplace(0.0, 1.0, 2)]


def _made_of_uniforms(noise: Noise, people: int) -> list[np.ndarray]:
    sign, size = noise.uniform(2)
    return [np.array([people - np.sign(sign - 0.5) * np.log(size + 1e-300)])]


def _drawn_on_zeros(noise: Noise, people: int) -> list[np.ndarray]:
    return [np.maximum(people + laplace_counts(np.zeros(3), epsilon=1.0, sensitivity=1.0, noise=noise), 0.0)]


def _whole_drawn_on_zeros(noise: Noise, people: int) -> list[np.ndarray]:
    return [np.array([people]) + with_geometric(np.zeros(1, dtype=np.int64), 1.0, noise)]


def _moved_from_the_origin(noise: Noise, people: int) -> list[np.ndarray]:
    apart = with_planar_geometric(np.zeros(1), np.zeros(1), epsilon_per_m=0.1, cell_m=1.0, noise=noise)
    return [people + apart[0], people + apart[1]]


def _randomised_response(noise: Noise, people: int) -> list[np.ndarray]:
    lie = noise.choose(np.log([0.6, 0.4]), 9)
    return [(people % 2 == 1) ^ (lie == 1)]


def _as_many_as_own_noise_says(noise: Noise, people: int) -> list[np.ndarray]:
    return [np.zeros(people + int(np.random.default_rng().integers(100)))]


def _asks_as_often_as_own_noise_says(noise: Noise, people: int) -> list[np.ndarray]:
    return [noise.uniform(people + int(np.random.default_rng().integers(100)))[:0]]


def _own_noise_in_what_is_asked(noise: Noise, people: int) -> list[np.ndarray]:
    blurred = people + np.random.default_rng().laplace(0.0, 50.0, 1)
    return [with_laplace(blurred, 1.0, noise)]


APART: list[Release] = [
    _own_generator,
    _made_of_uniforms,
    _drawn_on_zeros,
    _whole_drawn_on_zeros,
    _moved_from_the_origin,
    _randomised_response,
    _as_many_as_own_noise_says,
    _asks_as_often_as_own_noise_says,
    _own_noise_in_what_is_asked,
]


@pytest.mark.parametrize("release", APART)
def test_noise_that_is_drawn_apart_and_added_later_is_not_followed_and_refutes_nothing(release: Release) -> None:
    """Where noise has no seed: it is taken for none if all of eight runs agree by chance, below 1e-12."""
    for people in (3, 40):
        case = TranscriptCase("one more", 1.0, lambda noise, present, n=people: release(noise, n + present))  # type: ignore[misc]
        checked = check_cases([case], lambda _: simulated())
        assert (checked.pairs, checked.not_followed, checked.failed) == ((), (case,), ())


@pytest.mark.parametrize("release", [*APART[:6], two_steps])
def test_what_is_read_unpaid_beside_noise_that_is_drawn_apart_is_told_apart(release: Release) -> None:
    def leaks(noise: Noise, people: int) -> list[np.ndarray]:
        return [*release(noise, people), np.array([1.0, people])]

    def leaks_by_its_length(noise: Noise, people: int) -> list[np.ndarray]:
        return [*release(noise, people), np.zeros(people)]

    assert spent(leaks) == math.inf
    assert spent(leaks_by_its_length) == math.inf


def _drawn_from_what_was_paid_for(noise: Noise, people: int, width: float) -> list[np.ndarray]:
    """Draw synthetic places: as many as were counted, each by a uniform, as wide as the data are."""
    number = laplace_counts(np.array([people + 20]), epsilon=1.0, sensitivity=1.0, noise=noise)[0]
    return [width * number * noise.uniform(4)]


def test_what_is_drawn_from_paid_answers_by_a_law_that_reads_data_is_told_apart() -> None:
    assert spent(partial(_drawn_from_what_was_paid_for, width=1.0)) == pytest.approx(1.0)
    assert spent(lambda noise, people: _drawn_from_what_was_paid_for(noise, people, 100.0 * people)) == math.inf


@pytest.mark.parametrize("apart", APART[:6])
def test_noise_that_is_drawn_apart_beside_paid_answers_is_not_followed(apart: Release) -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        return [laplace_counts(np.array([people]), epsilon=1.0, sensitivity=1.0, noise=noise), *apart(noise, people)]

    with pytest.raises(GeodpError, match="drawn apart"):
        spent(release)


def test_noise_that_is_the_same_in_every_run_hides_nothing() -> None:
    assert spent(lambda noise, people: [people + np.random.default_rng(1).laplace(0.0, 1.0, 2)]) == math.inf


def test_noise_where_somebody_is_hides_nothing() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        counts = np.array([people - 3, 7])
        noisy = laplace_counts(counts, epsilon=1.0, sensitivity=1.0, noise=noise)
        return [np.where(counts > 0, noisy, 0.0), noise.uniform(4)]

    assert spent(release) == math.inf


def test_transcripts_refute_in_an_audit_and_say_so() -> None:
    nothing = audit_cases("mine", [], lambda _: simulated(), samples=1000)

    def followed(*cases: TranscriptCase) -> Audit:
        checked = check_cases(cases, lambda _: simulated())
        assert not checked.not_followed
        return replace(nothing, pairs=checked.pairs)

    sound, broken = (
        TranscriptCase(name, claimed, lambda noise, present: two_steps(noise, 3 + present))
        for name, claimed in (("sound", 1.0), ("broken", 0.7))
    )
    audit = followed(sound)
    assert not audit.refuted
    assert "followed   ε = 0.8" in text_of(audit)
    audit = followed(sound, broken)
    assert audit.refuted
    assert audit.worst is not None
    assert (audit.worst.name, audit.worst.best.test) == ("broken", "transcript")
    assert as_dict(audit)["pairs"] == []
    assert as_dict(audit)["followed"][1]["asked"] == pytest.approx(audit.worst.certified)
    unpaid = TranscriptCase("unpaid", 1.0, lambda noise, present: [np.array([present])])
    audit = followed(unpaid)
    assert audit.refuted
    assert "something is read that was not paid for" in text_of(audit)


def test_whole_counts_cost_their_change_over_the_scale() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        return [with_geometric(np.array([people, 3 * people]), 4 / 0.5, noise)]

    assert spent(release) == pytest.approx(4 * 0.5 / 4)


def test_every_count_may_have_a_scale_of_its_own() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        return [with_laplace(np.array([people, people]), np.array([2.0, 5.0]), noise)]

    assert spent(release) == pytest.approx(1 / 2 + 1 / 5)


def test_a_place_costs_its_distance_on_the_grid() -> None:
    def release(noise: Noise, people: int) -> list[np.ndarray]:
        column, row = np.array([3.0 * people, 7.0]), np.array([4.0 * people, 7.0])
        return list(with_planar_geometric(column, row, epsilon_per_m=0.01, cell_m=20.0, noise=noise))

    assert spent(release) == pytest.approx(5 * 0.01 * 20)


def test_a_secret_coin_makes_a_question_cheaper() -> None:
    def release(noise: Noise, people: int, real: float = 0.25) -> list[np.ndarray]:
        taken = np.array([int((noise.uniform(9)[:people] < real).sum())])
        return [laplace_counts(taken, epsilon=2.0, sensitivity=1, noise=noise, taken_with=0.25)]

    assert spent(release) == pytest.approx(math.log(0.75 + 0.25 * math.exp(2.0)))
    assert spent(partial(release, real=0.9)) == math.inf, "a coin that takes nearly everyone is not the one it is said"


def test_answers_are_drawn_with_what_they_hide_on_either_input() -> None:
    """E[e^evidence] = 1 on the other input, of every kind of question; six standard errors of 40,000 (2e-9)."""

    def release(noise: Noise, people: int) -> list[npt.ArrayLike]:
        counts = with_laplace(np.array([people, 2 * people, 7]), np.array([4.0, 9.0, 1.0]), noise)
        whole = with_geometric(np.array([people, 5]), 3.0, noise)
        place = with_planar_geometric(
            np.array([1.0 * people]), np.zeros(1), epsilon_per_m=0.01, cell_m=20.0, noise=noise
        )
        chosen = noise.choose(np.array([0.2 * people, 0.0, 0.0]), 2)
        return [counts, whole, *place, chosen, _bags([[0.1 * people, 0.0], [0.0, 0.0]], [0, 1])(noise)]

    case = TranscriptCase("one more", 2.0, lambda noise, present: release(noise, 3 + present))
    followed = follow(case, simulated())
    assert {type(change).__name__ for change in followed.changes} == {
        "NumbersChanged",
        "PlacesChanged",
        "ChoicesChanged",
    }
    sampled = sample_answers(case, followed.changes)
    evidence = {present: sampled.score(sampled.draw(simulated(1), present, 40_000)) for present in (True, False)}
    assert max(np.abs(side).max() for side in evidence.values()) <= followed.spent + 1e-9
    for odds in (np.exp(evidence[False]), np.exp(-evidence[True])):
        assert abs(odds.mean() - 1) < 6 * odds.std() / 200
    assert not audit_cases("sound", [sampled], lambda _: simulated(2), samples=20_000).refuted
    lied = replace(sampled, claimed=0.5 * followed.spent)
    assert audit_cases("lied", [lied], lambda _: simulated(2), samples=20_000).refuted


class ShortNoise(SimulatedNoise):
    """Noise a third as wide as asked for."""

    def laplace(self, scale: npt.ArrayLike, size: int) -> np.ndarray:
        return super().laplace(np.asarray(scale) / 3, size)


def test_samples_refute_noise_that_has_not_the_law_it_is_asked_for() -> None:
    """Questions are sound, so that following finds nothing; their answers are not."""
    noise = ShortNoise(np.random.default_rng(1))
    checked = check_cases(
        [TranscriptCase("one more", 1.0, lambda noise, present: two_steps(noise, 3 + present))], lambda _: noise
    )
    assert not any(pair.refuted for pair in checked.pairs)
    assert audit_cases("short", checked.to_sample, lambda _: noise, samples=20_000).refuted


def test_what_a_generator_draws_beside_the_questions_cannot_be_followed() -> None:
    with pytest.raises(GeodpError, match="'normal' was drawn apart"):
        spent(lambda noise, people: [people + noise.normal(0.0, 1.0, 1)])  # type: ignore[attr-defined]


def _bags(laws: list[list[float]], bag: list[int]) -> Callable[[Noise], np.ndarray]:
    groups = [(np.array(law), np.array([slot])) for slot, law in enumerate(laws)]

    def numbers(noise: Noise) -> np.ndarray:
        chosen = choose_in_bags(groups, np.array(bag), noise)
        return np.bincount(2 * np.array(bag) + chosen, minlength=4)

    return numbers


def test_laws_that_a_bag_has_in_another_order_cost_nothing() -> None:
    one, other = [0.0, 1.0], [0.0, 0.0]
    same = _bags([one, other], [0, 0]), _bags([other, one], [0, 0])
    assert spent(lambda noise, people: [same[people % 2](noise)]) == 0
    moved = _bags([one, other], [0, 1]), _bags([other, one], [0, 1])
    change = np.log([1 / (1 + math.e), math.e / (1 + math.e)]) - math.log(0.5)
    assert spent(lambda noise, people: [moved[people % 2](noise)]) == pytest.approx(2 * np.abs(change).max())
    more = _bags([one, other], [0, 0]), _bags([one], [0])
    assert spent(lambda noise, people: [more[people % 2](noise)]) == math.inf


def test_gaussian_answers_spend_a_rho_and_no_epsilon() -> None:
    overheard = Overheard(simulated())
    first = with_discrete_gaussian(np.array([3, 6, 7]), 4.0, overheard)
    retold = Retold(overheard)
    assert with_discrete_gaussian(np.array([4, 8, 7]), 4.0, retold).tolist() == first.tolist()
    assert retold.finished
    assert retold.spent == math.inf
    assert retold.spent_rho == pytest.approx((1 + 4) / (2 * 4.0**2))
    change = retold.changes[0]
    assert isinstance(change, GaussianChanged)
    assert change.rho == pytest.approx((1 + 4) / (2 * 4.0**2))
    # E[e^evidence] = 1 on the other input; six standard errors of 40,000 (2e-9).
    odds = np.exp(change.evidence(change.answers(simulated(1), present=False, samples=40_000)))
    assert abs(odds.mean() - 1) < 6 * odds.std() / 200
    assert change.only(1).rho == pytest.approx(4 / 32)
