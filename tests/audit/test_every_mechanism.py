"""Every mechanism that exists is audited: kinds are discovered, so a new one is audited without touching this file."""

import importlib.util
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from geodp.audit.auditor import Audit
from geodp.audit.kinds import FAMILIES, audit_kind, audit_plugin, auditable_kinds, build, noise_by_name
from geodp.audit.report import text_of
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.mechanisms.contour import Contour
from geodp.curator.mechanisms.kalman_counts import KalmanCounts
from geodp.errors import NotReleasable
from geodp.privacy.audit_case import AnyCase, ExactCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.public.release import Cells, Contours
from geodp.registry import plugins

KINDS = list(auditable_kinds())


def claims(kind: str) -> bool:
    return bool(build(kind, {}).guarantee().unit is not Unit.NOTHING)


def test_no_plugin_that_touches_private_data_escapes() -> None:
    assert {kind for family in FAMILIES for kind in plugins(family)} == set(KINDS)
    assert {"contour", "no_privacy"} <= set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_not_refuted_at_100_000_samples(kind: str) -> None:
    """A sound mechanism survives with probability 0.95 at least, and with this seed for certain."""
    audit = audit_kind(kind)
    assert not audit.refuted, text_of(audit)
    assert not audit.not_followed
    assert bool(audit.pairs) == claims(kind), "whoever promises something names audit cases, and nobody else does"
    shares = [max(pair.certified / pair.claimed, pair.share_asked) for pair in audit.pairs if pair.claimed > 0]
    assert not shares or max(shares) > 0.5, "the audit has no power: choose worse neighbours"


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed: pip install geodp[release]"
)
@pytest.mark.parametrize("kind", KINDS)
def test_released_noise_passes_the_tests_on_raw_bits(kind: str) -> None:
    """Noise in release mode has no seed; at this confidence a sound mechanism fails once in a million runs."""
    try:
        audit = audit_kind(kind, mode="release", samples=1000, confidence=1 - 1e-6)
    except NotReleasable:
        pytest.skip(f"{kind} is for simulation only and refuses to be released")
    assert not audit.refuted, text_of(audit)
    assert not any(pair.findings for pair in audit.pairs) or audit.raw_bits_bind


class PredictsFromPeople(KalmanCounts):
    """Planted: a release that is said to be predicted from earlier ones looks at people, unpaid."""

    def release_next(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:
        released = super().release_next(earlier, snapshot, noise, number=number)
        if self.measures(number):
            return released
        return replace(released, count=released.count + snapshot.x_m.size)


def test_a_whole_series_is_followed_where_later_releases_are_made_otherwise() -> None:
    sound = audit_plugin(KalmanCounts(measure_every=2), noise_by_name("simulate", 0), samples=1000)
    series = [pair for pair in sound.pairs if pair.name == "one more at all 8 releases"]
    assert [pair.claimed for pair in series] == pytest.approx([4 * 0.4])
    assert [pair.share_asked for pair in series] == pytest.approx([1.0])
    planted = audit_plugin(PredictsFromPeople(measure_every=2), noise_by_name("simulate", 0), samples=1000)
    refuted = [pair.name for pair in planted.pairs if pair.refuted]
    assert "one more at all 8 releases" in refuted
    assert all("releases" in name or "stay" in name for name in refuted)


class Enumerated(Contour):
    """Draws noise apart from what it hides, and says that all its outputs are enumerated instead."""

    audited_by: ClassVar[str] = "enumeration"
    laws: ClassVar[tuple[tuple[float, float], ...]] = ()

    def release(self, snapshot: Snapshot, noise: Noise) -> Contours:
        grid = self.fit_grid(snapshot)
        counts = grid.count(snapshot.x_m, snapshot.y_m) + noise.laplace(2 / self.epsilon, grid.size)
        return self._plot(snapshot, grid, counts, 2 / self.epsilon)

    def audit_cases(self) -> list[AnyCase]:
        if not self.laws:
            return []
        with_, without = (np.array(law) for law in self.laws)
        return [ExactCase("all outputs", self.epsilon, lambda: (with_, without))]


class EnumeratedRightly(Enumerated):
    laws: ClassVar[tuple[tuple[float, float], ...]] = ((0.5, 0.5), (0.45, 0.55))


class EnumeratedBeyond(Enumerated):
    laws: ClassVar[tuple[tuple[float, float], ...]] = ((0.9, 0.1), (0.1, 0.9))


def test_an_exact_check_that_is_declared_stands_in_for_following_when_it_passes() -> None:
    def audited(mechanism: Mechanism) -> Audit:
        return audit_plugin(mechanism, noise_by_name("simulate", 0), samples=1000)

    right, beyond, nothing = (audited(cls()) for cls in (EnumeratedRightly, EnumeratedBeyond, Enumerated))
    assert (right.refuted, right.not_followed) == (False, ())
    assert beyond.refuted
    assert nothing.not_followed == ("nothing of it: no pair is checked by enumeration",)
