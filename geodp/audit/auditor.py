"""The auditor: draws outputs on neighbouring inputs and reports what it can certify against the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geodp.audit.certify import ROUNDING_SLACK, exact_epsilon
from geodp.audit.events import Finding, certify_stated_event, drop_last_bits, histogram_events, scan_events
from geodp.audit.following import follow
from geodp.audit.lattice import TESTS as RAW_BIT_TESTS
from geodp.audit.lattice import raw_bit_events
from geodp.audit.sampled import Change, certifiable_share, repeat_answers, sample_answers, sample_noise
from geodp.audit.transcript import CannotFollow
from geodp.errors import GeodpError, NotReleasable, UsageError
from geodp.geometry import Array
from geodp.privacy.audit_case import AuditCase, CheckedCase, ExactCase, RhoCase, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.tables.progress import go_through

LEAST_SAMPLES = 1000
MOST_SAMPLED = 2
"""Followed pairs whose answers are sampled."""
_TOLD = (1e-4, 2.0)
"""Least and largest ρ that repeats tell apart: of a larger one, a single release lies too far apart for a sample."""
_EVENT_TESTS = 5  # the stated event; two scanned thresholds; two held-out histograms


@dataclass(frozen=True)
class PairAudit:
    """What was found out about one pair of inputs."""

    name: str
    claimed: float
    findings: tuple[Finding, ...] = ()
    """Tests that count."""
    raw_bits: tuple[Finding, ...] = ()
    """Tests on raw bits; they are among `findings` too where they count."""
    exact: float | None = None
    """Epsilon of the exact channel, for a finite mechanism."""
    transcript: float | None = None
    """The most that the release itself asked of this pair, question by question."""
    currency: str = "ε"
    """What claim and transcript are counted in: ε, or ρ."""
    of_noise: bool = False
    """Whether it is about the noise of one answer, whose law following believes."""

    @property
    def best(self) -> Finding:
        """The finding that certifies most; the exact channel and the transcript count when they refute.

        Otherwise they are only what the mechanism says of itself, and what was drawn is the better witness.
        """
        if self.exact is not None and self._exact_refutes:
            return Finding("exact channel", "either", self.exact)
        if self.transcript is not None and self._transcript_refutes:
            return Finding("transcript", "either", self.transcript)
        return max(self.findings, key=lambda finding: finding.certified, default=Finding("none", "either", 0.0))

    @property
    def certified(self) -> float:
        """Epsilon certainly spent on this pair."""
        return self.best.certified

    @property
    def share(self) -> float:
        """What is certainly spent, as a share of the claim."""
        if self.claimed == 0:
            return math.inf if self.certified > 0 else 0.0
        return self.certified / self.claimed

    @property
    def share_asked(self) -> float:
        """What the release itself asked, as a share of the claim."""
        return (self.transcript or 0.0) / max(self.claimed, 1e-300)

    @property
    def raw_bits_certified(self) -> float:
        """Epsilon that the last bits alone certainly spend, whether they count or not."""
        return max((finding.certified for finding in self.raw_bits), default=0.0)

    @property
    def refuted(self) -> bool:
        """Whether more is certainly spent than was claimed."""
        by_samples = any(finding.certified > self.claimed for finding in self.findings)
        return by_samples or self._exact_refutes or self._transcript_refutes

    @property
    def _exact_refutes(self) -> bool:
        return self.exact is not None and self.exact > self.claimed + ROUNDING_SLACK

    @property
    def _transcript_refutes(self) -> bool:
        return self.transcript is not None and self.transcript > self.claimed * (1 + ROUNDING_SLACK) + ROUNDING_SLACK


@dataclass(frozen=True)
class Audit:
    """The result of one audit; alpha was split over all its pairs and tests."""

    kind: str
    samples: int
    """Outputs drawn on either input of every pair (0: only exact checks)."""
    confidence: float
    pairs: tuple[PairAudit, ...]
    raw_bits_bind: bool = False
    not_followed: tuple[str, ...] = ()
    """What could not be followed, and is checked by no exact law instead: samples alone speak about it."""
    failed: tuple[str, ...] = ()
    """Inputs on which the release itself failed: nothing speaks about them."""

    @property
    def worst(self) -> PairAudit | None:
        """The audited pair: the one with the most certified for what is claimed (None: nothing is claimed)."""
        return max(self.pairs, key=lambda pair: (pair.refuted, not pair.of_noise, pair.share), default=None)

    @property
    def refuted(self) -> bool:
        """Whether any pair refutes the claim."""
        return any(pair.refuted for pair in self.pairs)


NoiseFor = Callable[[str], Noise]
"""Returns an independent source of noise for a named part of an audit."""


def audit_cases(
    kind: str, cases: Sequence[AuditCase], noise_for: NoiseFor, *, samples: int = 100_000, confidence: float = 0.95
) -> Audit:
    """Audit the cases of one mechanism together.

    Parameters
    ----------
    kind
        Name of what is audited.
    cases
        Worst neighbouring inputs, as the mechanism names them.
    noise_for
        Noise for each named case; independent between cases.
    samples
        Outputs drawn on each input of each case.
    confidence
        Probability, at least, with which a true claim survives.
    """
    require_sound(samples, confidence)
    alpha = (1 - confidence) / max(len(cases), 1)
    pairs = []
    bind = False
    for index, case in enumerate(go_through("sampling pairs", cases)):
        noise = noise_for(f"{kind}.{index}.{case.name}")
        number = samples if case.most is None else min(samples, case.most)
        with_, without = (draw_outputs(case, noise, present, number) for present in (True, False))
        named = case if number == samples else replace(case, name=f"{case.name} (N = {number})")
        pairs.append(examine(named, with_, without, alpha=alpha, raw_bits_bind=noise.releasable))
        bind = bind or noise.releasable
    return Audit(kind, samples, confidence, tuple(pairs), bind)


@dataclass(frozen=True)
class Checked:
    """What was found out without samples, and without a share of alpha."""

    pairs: tuple[PairAudit, ...]
    not_followed: tuple[TranscriptCase, ...]
    """Their noise is drawn apart from what it hides."""
    failed: tuple[str, ...]
    """Those on which nothing could be released, with what it said."""
    to_sample: tuple[AuditCase, ...]
    """The answers of those of whose claim samples can certify most (of equals, those whose last bits may tell, too);
    and single answers, for their noise."""
    to_repeat: tuple[RhoCase, ...] = ()
    """Those that spend most of a claimed ρ, to be released again and again."""


def check_cases(cases: Sequence[CheckedCase], noise_for: NoiseFor, *, certifiable: float = math.inf) -> Checked:
    """Follow pairs, or compare their exact laws; answers are sampled where as much as is claimed can be certified."""
    pairs: list[PairAudit] = []
    apart: list[TranscriptCase] = []
    failed: list[str] = []
    sampled: list[tuple[tuple[float, bool], AuditCase]] = []
    changes: list[tuple[TranscriptCase, Change]] = []
    repeated: list[tuple[float, RhoCase]] = []
    for index, case in enumerate(go_through("following pairs", cases)):
        if isinstance(case, ExactCase):
            pairs.append(PairAudit(case.name, case.claimed, exact=exact_epsilon(*case.laws())))
            continue
        try:
            followed = follow(case, noise_for(f"followed.{index}.{case.name}"))
        except CannotFollow:
            apart.append(case)
            continue
        except NotReleasable:
            raise
        except Exception as error:  # noqa: BLE001 - it fails on both inputs: nobody has followed it
            failed.append(f"{case.name}: {error}")
            continue
        currency = "ε" if case.rho is None else "ρ"
        pairs.append(PairAudit(case.name, case.claim, transcript=followed.spent, currency=currency))
        if case.rho is None and followed.changes and 0 < case.claimed <= certifiable:
            share = round(certifiable_share(case, followed.changes), 1)
            bits = any(change.shows_bits for change in followed.changes)
            sampled.append(((-share, not bits), sample_answers(case, followed.changes)))
            changes += [(case, change) for change in followed.changes]
        elif case.rho is not None and _TOLD[0] <= case.rho <= _TOLD[1]:
            answers = repeat_answers(case, followed.changes)
            repeated += [] if answers is None else [(round(followed.spent / case.rho, 3), answers)]
    sampled.sort(key=lambda found: found[0])  # stable: of equals the first that is named
    repeated.sort(key=lambda found: -found[0])
    to_sample = [*(case for _, case in sampled[:MOST_SAMPLED]), *sample_noise(changes)]
    again = tuple(case for _, case in repeated[:MOST_SAMPLED])
    return Checked(tuple(pairs), tuple(apart), tuple(failed), tuple(to_sample), again)


def require_sound(samples: int, confidence: float) -> None:
    """Refuse settings with which an audit would say nothing."""
    if samples < LEAST_SAMPLES:
        raise UsageError(f"--samples must be at least {LEAST_SAMPLES}, got {samples}: fewer certify next to nothing")
    if not 0 < confidence < 1:
        raise UsageError(f"--confidence must lie between 0 and 1 (such as 0.95), got {confidence:g}")


def draw_outputs(case: AuditCase, noise: Noise, present: bool, samples: int) -> Array:
    """Draw outputs and check that there are as many as asked for."""
    outputs = np.asarray(case.draw(noise, present, samples), dtype=np.float64)
    if outputs.ndim not in (1, 2) or len(outputs) != samples:
        raise GeodpError(f"audit case '{case.name}': {samples} outputs were due, got an array of shape {outputs.shape}")
    return outputs


def examine(case: AuditCase, with_: Array, without: Array, *, alpha: float, raw_bits_bind: bool) -> PairAudit:
    """Run every test on the outputs of one pair; a true claim survives them all with probability 1 - alpha."""
    pair = (with_, without)
    samples = PairSamples(
        with_=with_,
        without=without,
        scores=_both(case.score, pair),
        threshold=case.threshold,
        delta=case.delta,
        raw=pair if case.raw is None else _both(case.raw, pair),
    )
    findings, raw_bits = samples.findings(alpha=alpha, raw_bits_bind=raw_bits_bind)
    exact = None if case.exact is None else exact_epsilon(*case.exact(), delta=case.delta)
    return PairAudit(case.name, case.claimed, findings, raw_bits, exact, of_noise=case.of_noise)


def _both(function: Callable[[Array], Array], pair: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.asarray(function(pair[0]), dtype=np.float64), np.asarray(function(pair[1]), dtype=np.float64)


@dataclass(frozen=True)
class PairSamples:
    """Outputs on two neighbouring inputs, with their scores."""

    with_: Array
    without: Array
    scores: tuple[Array, Array]
    threshold: float
    delta: float = 0.0
    raw: tuple[Array, Array] | None = None
    """Doubles whose bits are examined (None: none are)."""

    def findings(self, *, alpha: float, raw_bits_bind: bool = False) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """Return the findings that count, and those on raw bits.

        Tests on raw bits take a share of alpha only where they count; elsewhere they are reported with the same share.
        """
        each = alpha / (_EVENT_TESTS + (RAW_BIT_TESTS if raw_bits_bind else 0))
        high, low, threshold = drop_last_bits(*self.scores, np.array([self.threshold]))
        with_, without = drop_last_bits(self.with_, self.without)
        events = (
            certify_stated_event(high, low, float(threshold[0]), alpha=each, delta=self.delta),
            *scan_events(high, low, alpha=each, delta=self.delta),
            *histogram_events(with_, without, alpha=each, delta=self.delta),
        )
        bits = () if self.raw is None else tuple(raw_bit_events(*self.raw, alpha=each, delta=self.delta))
        return (*events, *bits) if raw_bits_bind else events, bits
