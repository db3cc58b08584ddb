"""Running totals from a tree of noisy partial sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms.tree_counts import CappedStays, TreeCounts
from geodp.errors import UsageError
from geodp.public.guarantee import Neighbours, Unit
from tests.curator.mechanisms.crowds import RecordingNoise, noise
from tests.curator.mechanisms.town import AWAY, CELLS, play, take

GOLDEN = {
    ("plain", "stays"): [1, 1, 2, 1, 2, 2, 3, 1],
    ("honaker", "stays"): [1, 0.6667, 1.6667, 0.5714, 1.5714, 1.2381, 2.2381, 0.5333],
    ("plain", "events"): [1, 2, 1, 3, 1, 2, 1, 4],
    ("honaker", "events"): [1, 0.6667, 1, 0.6190, 1, 0.6667, 1, 0.6095],
}
"""Variance of releases 1 to 8 of 8, in units of that of one noisy sum."""


def tree(**settings: Any) -> TreeCounts:
    return plugin("tree_counts", cells=CELLS, **settings)  # type: ignore[no-any-return]


def noise_weights(variant: str, stream: str, releases: int) -> np.ndarray[Any, Any]:
    """Return the weight of every Laplace variable in every release, by drawing one of them at a time as 1."""

    class Pulse(RecordingNoise):
        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

        def laplace(self, scale: Any, size: int) -> np.ndarray[Any, Any]:
            drawn = np.zeros(size)
            drawn[::9] = np.arange(len(self.laplaces) * 0, size // 9) + self.seen() == self.at
            self.laplaces.append((np.broadcast_to(np.asarray(scale), (size,)), size))
            return drawn

        def seen(self) -> int:
            return sum(size // 9 for _, size in self.laplaces)

    silent = RecordingNoise()
    nobody = [[AWAY] * releases]
    play(tree(variant=variant, stream=stream, epsilon=1.0), nobody, silent)
    nodes = sum(size // 9 for _, size in silent.laplaces)
    columns = [
        [release.count[0] for release in play(tree(variant=variant, stream=stream, epsilon=1.0), nobody, Pulse(node))]
        for node in range(nodes)
    ]
    return np.array(columns).T


@pytest.mark.parametrize(("variant", "stream"), GOLDEN)
def test_noise_has_the_stated_law_in_every_release(variant: str, stream: str) -> None:
    """Golden variances, and what the release says of itself, against the weights with which noise really enters."""
    weights = noise_weights(variant, stream, 8)
    assert (weights**2).sum(axis=1) == pytest.approx(GOLDEN[variant, stream], abs=5e-5)
    scale = (2 if stream == "stays" else 1) * 4 / 1.0
    released = play(tree(variant=variant, stream=stream, epsilon=1.0), [[AWAY] * 8], noise(0))
    assert [release.noise_scale[0] for release in released] == pytest.approx(
        (scale * np.sqrt((weights**2).sum(axis=1))).tolist()
    )
    terms = (weights**2).sum(axis=1) ** 2 / (weights**4).sum(axis=1)
    assert [release.noise_terms[0] for release in released if release.noise_terms is not None] == pytest.approx(
        terms.tolist()
    )


@pytest.mark.parametrize("releases", [1, 5, 13])
def test_honaker_is_least_squares_on_what_is_past(releases: int) -> None:
    """Among all unbiased sums of the noisy nodes so far none has less variance."""
    nodes = [
        (end - 2**level, end)
        for end in range(1, releases + 1)
        for level in range(4)
        if end % 2**level == 0 and level < releases.bit_length()
    ]
    design = np.array([[low <= leaf < high for leaf in range(releases)] for low, high in nodes], dtype=float)
    leaves = np.linalg.inv(design.T @ design)
    assert tree().law(releases)[0] == pytest.approx(leaves.sum())
    assert tree(stream="events").law(releases)[0] == pytest.approx(leaves[-1, -1])


def test_without_noise_the_counts_of_now_come_out() -> None:
    tracks = [[0, 0, 4, 4, AWAY, 4, 8, 8], [3] * 8, [AWAY, 1, 1, 2, 2, AWAY, AWAY, 2]]
    for variant, stream in itertools.product(("plain", "honaker"), ("stays", "events")):
        released = play(tree(variant=variant, stream=stream), tracks, RecordingNoise())
        for number, release in enumerate(released):
            here = [track[number] for track in tracks if track[number] >= 0]
            assert release.count == pytest.approx(np.bincount(here, minlength=9), abs=1e-12)


def test_only_the_first_stays_of_a_person_are_counted() -> None:
    """Leaving, coming back and moving begin a new stay; another's record changes nothing."""
    track = [0, 0, AWAY, 0, 1, 1, 0, 2]
    others = [[8] * 8, [7, 6] * 4]
    counted = [0, 0, AWAY, 0, AWAY, AWAY, AWAY, AWAY]
    for one in ([track], [track, *others]):
        stays = CappedStays(2)
        for number, places in enumerate(zip(*one, strict=True)):
            snapshot = take(places, number)
            cell = np.array([place for place in places if place >= 0], dtype=np.int64)
            found = stays.count(snapshot, cell, 9)
            assert found[:6].sum() == (counted[number] >= 0)
            if counted[number] >= 0:
                assert found[counted[number]] == 1


def change_of_nodes(one: list[int], other: list[int], mechanism: TreeCounts) -> float:
    """Return what the difference of two records costs at most: all noisy sums of the whole series, by brute force."""
    sums = []
    for track in (one, other):
        asked: list[np.ndarray[Any, Any]] = []

        class Reading(RecordingNoise):
            """Answers without noise, and writes down what was asked."""

            def laplace_answer(self, values: Any, scale: Any, taken_with: float = 1.0) -> Any:
                asked.append(np.array(values, dtype=float) / np.asarray(scale))  # noqa: B023
                return np.array(values, dtype=float)

            def geometric_answer(self, *_: Any) -> Any: ...
            def gaussian_answer(self, *_: Any) -> Any: ...
            def planar_answer(self, *_: Any, **__: Any) -> Any: ...
            def bags_answer(self, *_: Any) -> Any: ...
            def series_answer(self, *_: Any) -> Any: ...
            def threshold_answer(self, *_: Any) -> Any: ...

        play(mechanism, [track], Reading())
        sums.append(np.concatenate([part.ravel() for part in asked]))
    return float(np.abs(sums[0] - sums[1]).sum())


@pytest.mark.parametrize("cap", [1, 2])
def test_no_record_costs_more_than_epsilon_under_a_cap(cap: int) -> None:
    """All 3^6 records of six releases in two cells, beside nobody; the bound is nearly attained."""
    mechanism = tree(cap=cap, epsilon=1.0)
    worst = max(
        change_of_nodes(list(track), [AWAY] * 6, mechanism) for track in itertools.product((AWAY, 0, 1), repeat=6)
    )
    assert 0.7 < worst <= 1 + 1e-12


def test_one_stay_costs_epsilon_and_three_cost_three_without_a_cap() -> None:
    mechanism = tree(epsilon=1.0)
    stays = [[0 if first <= number < last else AWAY for number in range(7)] for first in range(7) for last in range(8)]
    assert 0.8 < max(change_of_nodes(track, [AWAY] * 7, mechanism) for track in stays) <= 1 + 1e-12
    assert 1 < change_of_nodes([0, 1, 0, 1, 0, 1, 0], [AWAY] * 7, mechanism) <= 7


def test_the_promise_is_about_a_stay_or_with_a_cap_about_a_person() -> None:
    assert tree().guarantee().unit is Unit.EVENT
    assert tree(cap=3).guarantee().unit is Unit.USER
    assert tree(cap=3, epsilon=2.0).presence_epsilon(32, 32) == 2.0
    assert tree(epsilon=2.0).presence_epsilon(32, 32) == 64.0
    assert tree(epsilon=2.0).presence_epsilon(32, 32, stays=1) == 2.0


def test_noise_follows_from_the_number_of_releases_stays_and_the_relation() -> None:
    assert tree(epsilon=2.0, cap=3).node_scale(32) == 2 * 3 * 6 / 2.0
    assert tree(epsilon=2.0, cap=3).node_scale(32, Neighbours.REPLACE) == 36.0
    assert tree(epsilon=2.0).node_scale(31) == 2 * 5 / 2.0


def test_more_releases_than_were_agreed_are_refused() -> None:
    series = tree().begin_series(2)
    for number in range(2):
        series.release(take([0], number), noise(0))
    with pytest.raises(UsageError, match="release 3 of a series that was agreed for 2"):
        series.release(take([0], 2), noise(0))


def test_a_series_needs_its_length_and_a_cap_that_fits() -> None:
    with pytest.raises(UsageError, match="needs to know how many releases"):
        tree().begin_series()
    with pytest.raises(UsageError, match="nobody can make 5 stays in 4 releases"):
        tree(cap=5).begin_series(4)


def test_a_cap_needs_to_know_who_is_who() -> None:
    nameless = take([0, 1], 0)
    object.__setattr__(nameless, "who", None)
    with pytest.raises(UsageError, match="needs to know who is who"):
        tree(cap=2).begin_series(4).release(nameless, noise(0))
    twice = take([0, 1], 0)
    object.__setattr__(twice, "who", np.array([3, 3]))
    with pytest.raises(UsageError, match="nobody in two rows"):
        tree(cap=2).begin_series(4).release(twice, noise(0))
