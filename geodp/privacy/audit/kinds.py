"""Auditing plug-ins by their kind: which ones claim something, and how their fields are set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from geodp.errors import ScenarioError, UsageError
from geodp.model import did_you_mean
from geodp.plugins import Plugin, plugins
from geodp.privacy.audit.auditor import Audit, NoiseFor, audit_cases, follow_cases
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source
from geodp.streams import Streams

FAMILIES = ("mechanism", "device", "history", "publication")
"""Families whose plug-ins touch private data."""


def auditable_kinds() -> dict[str, type[Plugin]]:
    """Return every kind that names audit cases, of every family that touches private data."""
    return {kind: cls for family in FAMILIES for kind, cls in plugins(family).items() if hasattr(cls, "audit_cases")}


def audit_kind(
    kind: str,
    settings: Mapping[str, Any] | None = None,
    *,
    mode: str = "simulate",
    samples: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Audit one kind with some of its fields set (dotted for nested ones).

    `mode` is where the noise comes from: `simulate` follows from the seed, `release` is OpenDP's and has none.
    """
    plugin = build(kind, settings or {})
    noise_for = noise_by_name(mode, seed)
    audit = audit_cases(kind, plugin.audit_cases(), noise_for, samples=samples, confidence=confidence)
    return follow_cases(audit, plugin.transcript_cases() if hasattr(plugin, "transcript_cases") else [], noise_for)


def noise_by_name(mode: str, seed: int) -> NoiseFor:
    """Return a source of independent noise for each named part of an audit."""
    if mode == "simulate":
        streams = Streams(seed)
        return lambda name: SimulatedNoise(streams.generator(f"audit.{name}"))
    source: Noise = noise_source(mode)
    return lambda _: source


def build(kind: str, settings: Mapping[str, Any]) -> Any:
    """Build the plug-in of a kind, with errors for people when there is none or when a field is wrong."""
    from geodp.scenario_file import set_path

    fields: dict[str, Any] = {}
    for dotted, value in settings.items():
        set_path(fields, dotted, value)
    try:
        return _find(kind).model_validate(fields)
    except ValidationError as error:
        lines = [(".".join(str(part) for part in line["loc"]), line["msg"]) for line in error.errors(include_url=False)]
        raise ScenarioError(f"audit {kind}", lines) from None


def _find(kind: str) -> type[Plugin]:
    known = auditable_kinds()
    if kind in known:
        return known[kind]
    others = plugins()
    if kind in others:
        raise UsageError(
            f"'{kind}' is a {others[kind].family}: it touches no private data and has nothing to audit. "
            f"Kinds to audit: {', '.join(known)}."
        )
    raise UsageError(f"no mechanism called '{kind}'.{did_you_mean(kind, known)} Kinds to audit: {', '.join(known)}.")
