import numpy as np
import pytest

from geodp.attacks import AttackView
from geodp.attacks.bayes_location import BayesLocation
from geodp.attacks.tracking import SMOOTHED, VITERBI, Tracking
from geodp.public.guarantee import Guarantee
from geodp.public.release import Points
from tests.server.noisy_worlds import released
from tests.server.reports import REGION, names, reported

EVERY_S = 60.0


def walkers(people: int, times: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People who walk at 1.4 m/s and turn a little every minute: x and y as [person, time]."""
    heading = rng.uniform(0, 2 * np.pi, (people, 1)) + np.cumsum(rng.normal(0, 0.5, (people, times)), axis=1)
    x = rng.uniform(-3000, 3000, (people, 1)) + np.cumsum(1.4 * EVERY_S * np.cos(heading), axis=1)
    y = rng.uniform(-3000, 3000, (people, 1)) + np.cumsum(1.4 * EVERY_S * np.sin(heading), axis=1)
    return x, y


def releases(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, epsilon: float) -> list[Points]:
    return [
        reported(x[:, t], y[:, t], rng, epsilon_per_m=epsilon, time_s=t * EVERY_S, clamp=False)
        for t in range(x.shape[1])
    ]


def test_linking_the_reports_of_a_walker_halves_the_error_of_one_report() -> None:
    """ε = 2/345: one report errs by 345 m, a walker's 30 linked reports by about 170 m."""
    rng = np.random.default_rng(0)
    x, y = walkers(40, 30, rng)
    view = AttackView(REGION, releases(x, y, rng, 2 / 345))
    once = BayesLocation().guess(view)
    linked = Tracking(speed_mps=1.4, still_share=0.0).guess(view)

    def error(guesses: object, method: str) -> float:
        chosen = guesses.method == method  # type: ignore[attr-defined]
        row = np.searchsorted(names(40), guesses.who[chosen])  # type: ignore[attr-defined]
        at = guesses.release[chosen]  # type: ignore[attr-defined]
        return float(np.hypot(guesses.x_m[chosen] - x[row, at], guesses.y_m[chosen] - y[row, at]).mean())  # type: ignore[attr-defined]

    alone, smoothed, path = error(once, "bayes_location"), error(linked, SMOOTHED), error(linked, VITERBI)
    assert alone == pytest.approx(345, rel=0.05)
    assert smoothed == pytest.approx(173, rel=0.12)
    assert smoothed < 0.55 * alone
    assert smoothed < path < 0.65 * alone


def test_whoever_stays_is_found_ever_better() -> None:
    """n reports of one place: the error falls about as 1/√n."""
    rng = np.random.default_rng(1)
    x, y = (np.repeat(rng.uniform(-3000, 3000, (60, 1)), 16, axis=1) for _ in range(2))
    reports = releases(x, y, rng, 0.005)
    made = {}
    for count in (1, 4, 16):
        guesses = Tracking(still_share=0.99).guess(AttackView(REGION, reports[:count]))
        last = (guesses.method == SMOOTHED) & (guesses.release == count - 1)
        made[count] = float(np.hypot(guesses.x_m[last] - x[:, 0], guesses.y_m[last] - y[:, 0]).mean())
    assert made[4] < 0.65 * made[1]
    assert made[16] < 0.65 * made[4]


def test_counts_cannot_be_linked() -> None:
    guesses = Tracking().guess(AttackView(REGION, [released(np.ones((2, 2)), 1.0)]))
    assert guesses.release.size == 0


def test_only_people_who_report_every_time_are_followed() -> None:
    rng = np.random.default_rng(2)
    x, y = walkers(5, 2, rng)
    first, second = releases(x, y, rng, 0.01)
    fewer = Points(
        second.time_s, second.mechanism, second.guarantee, second.who[1:], second.x_m[1:], second.y_m[1:],
        second.channel, 1e-6,
    )  # fmt: skip
    guesses = Tracking(people=3).guess(AttackView(REGION, [first, fewer]))
    assert set(guesses.who) == set(names(5)[1:4])
    assert guesses.x_m.size == 2 * 2 * 3  # methods, times, people


def test_exact_reports_are_the_track() -> None:
    rng = np.random.default_rng(3)
    x, y = walkers(3, 4, rng)
    exact = [
        Points(60.0 * t, "none", Guarantee.none("a test"), names(3), x[:, t].copy(), y[:, t].copy(), None, 1e-6)
        for t in range(4)
    ]
    guesses = Tracking().guess(AttackView(REGION, exact))
    row = np.searchsorted(names(3), guesses.who)
    assert np.array_equal(guesses.x_m, x[row, guesses.release])
