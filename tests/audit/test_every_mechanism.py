"""Every mechanism that exists is audited: kinds are discovered, so a new one is audited without touching this file."""

import importlib.util

import pytest

from geodp.audit.kinds import FAMILIES, audit_kind, auditable_kinds, build
from geodp.audit.report import text_of
from geodp.errors import NotReleasable
from geodp.public.guarantee import Unit
from geodp.registry import plugins

KINDS = list(auditable_kinds())


def claims(kind: str) -> bool:
    return bool(build(kind, {}).guarantee().unit is not Unit.NOTHING)


def test_no_plugin_that_touches_private_data_escapes() -> None:
    assert {kind for family in FAMILIES for kind in plugins(family)} == set(KINDS)
    assert {"contour", "no_privacy"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_not_refuted_at_100_000_samples(kind: str) -> None:
    """A sound mechanism survives with probability 0.95 at least, and with this seed for certain."""
    audit = audit_kind(kind)
    assert not audit.refuted, text_of(audit)
    assert not audit.not_followed
    assert bool(audit.pairs) == claims(kind), "whoever promises something names audit cases, and nobody else does"
    shares = [max(pair.certified / pair.claimed, pair.share_asked) for pair in audit.pairs if pair.claimed > 0]
    assert not shares or max(shares) > 0.5, "the audit has no power: choose worse neighbours"


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
