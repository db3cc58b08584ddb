"""Auditing the releases of a finished run: what they certainly spend, beside what the ledger says was spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.audit.auditor import Audit, PairAudit, PairSamples, audit_cases, require_sound
from geodp.audit.canaries import play
from geodp.audit.certify import Array
from geodp.audit.kinds import pairs_of
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.public.release import Cells
from geodp.streams import Streams

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_MOST_PAIRS = 3
"""Pairs of places that are tried when phones report by themselves: each trial is a whole series of reports."""


def audit_releases(run: RunFolder, *, samples: int = 100_000, confidence: float = 0.95, seed: int = 0) -> Audit:
    """Certify epsilon of everything a run released about one person, against the ledger.

    The releases are drawn anew with independent noise; the run's own seed plays no part.
    """
    require_sound(samples, confidence)
    streams = Streams(seed)
    others = _other_cases(run, streams, samples)
    each = 1 - (1 - confidence) / (1 + len(others))  # all parts of one audit share its error probability
    parts = [_positions(run, samples, each, seed)]
    for kind, cases in others:
        noise_for = _noise_of(streams, kind)
        parts.append(audit_cases(kind, cases, noise_for, samples=samples, confidence=each))
    pairs = tuple(pair for part in parts for pair in part.pairs)
    drawn = [part.samples for part in parts if part.pairs]
    return Audit(_name(run), min(drawn, default=0), confidence, pairs)


def _positions(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    """Audit what was released about where people are."""
    if any(isinstance(release, Cells) for release in run.releases):
        return _central(run, samples, confidence, seed)
    if run.releases and run.scenario.device.mechanism.guarantee().unit is not Unit.NOTHING:
        return _local(run, samples, confidence, seed)
    return Audit(_name(run), 0, confidence, ())


def _other_cases(run: RunFolder, streams: Streams, samples: int) -> list[tuple[str, list[AuditCase]]]:
    """Return the worst pairs of what was published at the end, and of what phones told about histories."""
    made = [item.plugin for item in run.publications] + [report.device for report in run.history_reports[:1]]
    named = [(plugin.kind, _to_sample(plugin, streams, samples)) for plugin in made]
    return [(kind, [replace(case, name=f"{kind}: {case.name}") for case in cases]) for kind, cases in named if cases]


def _to_sample(plugin: Any, streams: Streams, samples: int) -> list[AuditCase]:
    nothing = plugin.guarantee().unit is Unit.NOTHING
    return [] if nothing else pairs_of(plugin, _noise_of(streams, plugin.kind), samples=samples)[1]


def _noise_of(streams: Streams, kind: str) -> Callable[[str], Noise]:
    return lambda name: SimulatedNoise(streams.generator(f"audit.run.{kind}.{name}"))


def ledger_spend(run: RunFolder, *, metric: bool) -> float:
    """Return what the ledger charged one person for the releases: central epsilon, or epsilon per metre.

    Charges to everyone, plus the most that any one group was charged besides (disjoint groups do not add up). What is
    published at the end was paid for apart: it says nothing about the releases.
    """
    rows = run.charges(Unit.POINT) if metric else run.central_charges
    rows = rows[~rows["mechanism"].isin([item.kind for item in run.publications])]
    sums = {
        scope: sum((Decimal(repr(float(epsilon))) for epsilon in group), start=Decimal(0))
        for scope, group in rows.groupby(rows["scope"].astype(str))["epsilon"]
    }
    everyone = sums.pop("everyone", Decimal(0))
    return float(everyone + max(sums.values(), default=Decimal(0)))


def _central(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    claimed = ledger_spend(run, metric=False)
    if claimed == 0:
        return Audit(_name(run), 0, confidence, ())
    streams = Streams(seed)
    noise = SimulatedNoise(streams.generator("audit.run.noise"))
    trials = play(run, streams.generator("audit.run.canaries"), noise, samples)
    sides = [trials.take(np.flatnonzero(trials.inside == coin)) for coin in (True, False)]
    with_, without = sides
    pair_samples = PairSamples(with_.rest, without.rest, (with_.log_ratio, without.log_ratio), threshold=claimed / 2)
    findings, raw_bits = pair_samples.findings(alpha=1 - confidence)
    count = len(run.releases)
    series = "one release" if count == 1 else f"{count} releases"
    name = f"one canary, in or out, over {series}; the claim is what the ledger charged"
    pair = PairAudit(name, claimed, findings, raw_bits, exact=None)
    return Audit(_name(run), min(side.inside.size for side in sides), confidence, (pair,))


def _local(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    """Audit a series of reports of one phone, as many as the run let it send."""
    device = run.scenario.device.mechanism
    times = len(run.releases)
    spent = ledger_spend(run, metric=True)
    if spent == 0:
        return Audit(_name(run), 0, confidence, ())
    per_report = device.guarantee(run.region).epsilon
    streams = Streams(seed)
    cases = _to_sample(device, streams, samples)
    chosen = [cases[int(index)] for index in np.linspace(0, len(cases) - 1, min(len(cases), _MOST_PAIRS))]
    return audit_cases(
        _name(run),
        [repeated(case, times, claimed=case.claimed * spent / per_report) for case in chosen],
        lambda name: SimulatedNoise(streams.generator(f"audit.{name}")),
        samples=samples,
        confidence=confidence,
    )


def repeated(case: AuditCase, times: int, *, claimed: float) -> AuditCase:
    """Return the case of `times` independent outputs on the same input; scores add up."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        outputs = np.asarray(case.draw(noise, present, samples * times), dtype=np.float64)
        return outputs.reshape(samples, -1)

    def score(outputs: Array) -> Array:
        each = outputs.reshape(len(outputs) * times, -1)
        single = case.score(each[:, 0] if each.shape[1] == 1 else each)
        return np.asarray(single.reshape(len(outputs), times).sum(axis=1))

    return AuditCase(
        name=f"{case.name}, {times} reports",
        claimed=claimed,
        draw=draw,
        score=score,
        threshold=case.threshold * times / 2,
        delta=case.delta * times,
    )


def _name(run: RunFolder) -> str:
    return str(run.manifest.get("name", run.path.name))
