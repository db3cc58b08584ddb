"""The audit of a kind finds noise that is not what it says: half as wide, or plain doubles in a release.

Following believes that noise has the law it is said to have, so both faults are the samples' to find, at the default
number of them. Without a fault nothing is refuted: with simulated noise that is tested for every kind, with released
noise here, where a sound mechanism fails once in a million runs (there is no seed).
"""

import importlib.util
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from geodp.audit.auditor import Audit
from geodp.audit.following import follow
from geodp.audit.kinds import audit_kind, audit_plugin, build, noise_by_name
from geodp.audit.pairs import chosen_pairs
from geodp.audit.report import text_of
from geodp.audit.sampled import NumbersChanged, certifiable_share
from geodp.privacy.noise import Array, Integers, Noise, SimulatedNoise

TRIPS = ["dpt", "grid_markov", "ngram", "synthetic_trips"]
"""Models of trips, which ask so much that no single answer tells much of what is claimed."""
KINDS = ["contour", "kd_tree", "dpsense", "laplace_counts", "grouping_smoothing", "epicrec", *TRIPS]
"""Counts of cells and of venues, what phones say of their histories, and trips."""


@dataclass(frozen=True)
class HalfAsWide(SimulatedNoise):
    """Planted: noise of half the scale that is asked for."""

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        return super().laplace(np.asarray(scale) / 2, size)

    def geometric(self, scale: npt.ArrayLike, size: int) -> Integers:
        return super().geometric(np.asarray(scale) / 2, size)


def audited(kind: str, noise: Noise) -> Audit:
    return audit_plugin(build(kind, {}), lambda _: noise)


@pytest.mark.parametrize("kind", [*KINDS, "prilocation"])
def test_half_of_the_noise_is_refuted(kind: str) -> None:
    audit = audited(kind, HalfAsWide(np.random.default_rng(1)))
    assert audit.refuted, text_of(audit)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_doubles_in_a_release_are_refuted_by_their_bits(kind: str) -> None:
    audit = audited(kind, SimulatedNoise(np.random.default_rng(1), releasable=True, mode="release"))
    assert audit.refuted, text_of(audit)
    assert max(pair.raw_bits_certified / pair.claimed for pair in audit.pairs if pair.claimed > 0) > 2


@pytest.mark.skipif(
    importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed: pip install geodp[release]"
)
@pytest.mark.parametrize("kind", ["contour", "dpsense"])
def test_released_noise_is_not_refuted_at_the_default_number_of_samples(kind: str) -> None:
    audit = audit_kind(kind, mode="release", confidence=1 - 1e-6, neighbours=1)
    assert audit.raw_bits_bind
    assert not audit.refuted, text_of(audit)


@pytest.mark.parametrize("kind", ["dpt", "ngram", "synthetic_trips"])
def test_few_releases_of_trips_tell_plain_doubles_from_released_noise(kind: str) -> None:
    """Released noise is refuted once in a million runs; plain doubles have a seed."""
    few = partial(audit_plugin, samples=4000, confidence=1 - 1e-6)
    plain = SimulatedNoise(np.random.default_rng(1), releasable=True, mode="release")
    assert few(build(kind, {}), lambda _: plain).refuted
    if importlib.util.find_spec("opendp") is not None:
        audit = few(build(kind, {}), noise_by_name("release", 0))
        assert not audit.refuted, text_of(audit)


def test_what_samples_can_certify_is_large_where_one_number_tells_it_all() -> None:
    case = chosen_pairs(build("contour", {"epsilon": 1.0}))[0]
    one = NumbersChanged(np.ones(1), np.zeros(1), np.ones(1))
    many = NumbersChanged(np.ones(100), np.zeros(100), np.full(100, 100.0))
    assert (one.cost, many.cost) == pytest.approx((1.0, 1.0))
    assert certifiable_share(case, [one]) == pytest.approx(1.0)
    assert certifiable_share(case, [many]) == pytest.approx(0.1)  # the root of 100 · 0.01²


@pytest.mark.parametrize("kind", ["contour", "dpsense"])
def test_the_pair_that_is_sampled_begins_at_nothing_where_bits_tell_most(kind: str) -> None:
    sampled = [pair for pair in audited(kind, SimulatedNoise(np.random.default_rng(0))).pairs if pair.findings]
    named = {f"sampled: {case.name}": case for case in chosen_pairs(build(kind, {}))}
    changes = follow(named[sampled[0].name], SimulatedNoise(np.random.default_rng(0))).changes
    assert any(change.shows_bits for change in changes)
