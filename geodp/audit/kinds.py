"""Auditing plug-ins by their kind: which ones claim something, and how their fields are set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from geodp.audit.auditor import (
    MOST_SAMPLED,
    Audit,
    Checked,
    NoiseFor,
    PairAudit,
    audit_cases,
    check_cases,
    require_sound,
)
from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.repeated import repeat_pairs
from geodp.audit.sampled import sample_release
from geodp.errors import UsageError
from geodp.model import did_you_mean
from geodp.privacy.audit_case import AuditCase, CheckedCase
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source
from geodp.public.guarantee import Unit
from geodp.registry import Plugin, plugins
from geodp.streams import Streams

FAMILIES = ("mechanism", "device", "history_report", "publication")
"""Families whose plug-ins touch private data."""
RANDOM_NEIGHBOURS = 8
"""Random pairs of every variant."""


def auditable_kinds() -> dict[str, type[Plugin]]:
    """Return every kind of every family that touches private data."""
    return {kind: cls for family in FAMILIES for kind, cls in plugins(family).items()}


def audit_kind(
    kind: str,
    settings: Mapping[str, Any] | None = None,
    *,
    mode: str = "simulate",
    samples: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    neighbours: int = RANDOM_NEIGHBOURS,
) -> Audit:
    """Audit one kind with some of its fields set (dotted for nested ones).

    Chosen pairs are sampled and followed, and `neighbours` random ones of every variant are followed or their exact
    laws compared; with fields set, of the kind as it is set. `mode` is where the noise comes from: `simulate` follows
    from the seed, `release` is OpenDP's and has none.
    """
    plugin = build(kind, settings or {})
    variants = {"": plugin} if settings else None
    return audit_plugin(
        plugin,
        noise_by_name(mode, seed),
        samples=samples,
        confidence=confidence,
        more_pairs=random_pairs_of(plugin, variants, seed, neighbours),
    )


def audit_plugin(
    plugin: Any,
    noise_for: NoiseFor,
    *,
    samples: int = 100_000,
    confidence: float = 0.95,
    more_pairs: Sequence[CheckedCase] = (),
) -> Audit:
    """Audit a plug-in as it is set.

    Parameters
    ----------
    plugin
        What is audited: `release`, `publish`, `report` or `protect` is run on the chosen pairs of its family, and on
        its own.
    noise_for
        Noise for each named part of the audit.
    samples
        Outputs drawn on each input of each pair that is sampled.
    confidence
        Probability, at least, with which a true claim survives.
    more_pairs
        Pairs to follow beside the chosen ones.
    """
    require_sound(samples, confidence)
    if claims_nothing(plugin):
        return Audit(plugin.kind, samples, confidence, ())
    checked, sampled = pairs_of(plugin, noise_for, samples=samples)
    more = check_cases(more_pairs, lambda name: noise_for(f"{plugin.kind}.drawn.{name}"))
    apart = (*checked.not_followed, *more.not_followed)
    pilots = [sample_release(case, noise_for(f"{plugin.kind}.pilot.{case.name}")) for case in apart[:MOST_SAMPLED]]
    drawn, again = [*sampled, *pilots], checked.to_repeat
    each = 1 - (1 - confidence) / 2 if drawn and again else confidence  # both parts share the error probability
    audit = replace(audit_cases(plugin.kind, drawn, noise_for, samples=samples, confidence=each), confidence=confidence)
    repeated = repeat_pairs(again, noise_for, samples=samples, confidence=each)
    pairs = (*audit.pairs, *repeated, *checked.pairs, *more.pairs)
    failed = [*checked.failed, *more.failed] if plugin.audited_by == "following" else []
    missing = [*(case.name for case in apart), *failed] if plugin.audited_by == "following" else []
    if not any(_is_checked(plugin, pair) for pair in pairs):
        missing.append(f"nothing of it: no pair is checked by {plugin.audited_by}")
    return replace(audit, pairs=pairs, not_followed=tuple(missing), failed=tuple(failed))


def pairs_of(plugin: Any, noise_for: NoiseFor, *, samples: int) -> tuple[Checked, list[AuditCase]]:
    """Check the chosen pairs of a plug-in; return them, and those whose outputs are to be drawn."""
    named = [*chosen_pairs(plugin), *plugin.audit_cases()]
    to_check = [case for case in named if not isinstance(case, AuditCase)]
    checked = check_cases(to_check, lambda name: noise_for(f"{plugin.kind}.{name}"), certifiable=math.log(samples))
    return checked, [*(case for case in named if isinstance(case, AuditCase)), *checked.to_sample]


@dataclass(frozen=True)
class UnsoundForm:
    """A form of a plug-in that says of itself that its promise does not hold, audited."""

    name: str
    """Which field makes it so, e.g. `variant: literal`."""
    why_not: str
    audit: Audit


def audit_unsound_forms(
    kind: str, *, samples: int = 100_000, confidence: float = 0.95, seed: int = 0
) -> list[UnsoundForm]:
    """Audit the forms of a kind that say of themselves that they do not hold: an audit that finds nothing is blind.

    They are for simulation only, and so is their noise. What following refutes is not sampled.
    """
    noise_for = noise_by_name("simulate", seed)
    found: list[UnsoundForm] = []
    for name, form in forms_of(build(kind, {})).items():
        promise = form.guarantee()
        if promise.holds or promise.unit is Unit.NOTHING:
            continue
        checked, _ = pairs_of(form, noise_for, samples=samples)
        audit = Audit(kind, 0, confidence, checked.pairs)
        if not audit.refuted:
            audit = audit_plugin(form, noise_for, samples=samples, confidence=confidence)
        found.append(UnsoundForm(name, promise.why_not or "", audit))
    return found


def claims_nothing(plugin: Any) -> bool:
    """Tell whether a plug-in promises nothing: then there is nothing to refute."""
    return bool(plugin.guarantee().unit is Unit.NOTHING)


def random_pairs_of(plugin: Any, variants: Mapping[str, Any] | None, seed: int, count: int) -> list[CheckedCase]:
    """Return random neighbours for every variant of a plug-in (None: for all whose promise holds)."""
    if claims_nothing(plugin):
        return []
    found: list[CheckedCase] = []
    for name, variant in (variants_of(plugin) if variants is None else variants).items():
        rng = Streams(seed).generator(f"audit.neighbours.{plugin.kind}.{name}")
        cases = random_pairs(variant, rng, count)
        found += [replace(case, name=f"{name}: {case.name}" if name else case.name) for case in cases]
    return found


def _is_checked(plugin: Any, pair: PairAudit) -> bool:
    return pair.transcript is not None or (plugin.audited_by != "following" and pair.exact is not None)


def variants_of(plugin: Any) -> dict[str, Any]:
    """Return a plug-in and its variants whose promise holds."""
    promised = {name: (form, form.guarantee()) for name, form in forms_of(plugin, each_unit=True).items()}
    sound = {
        name: form for name, (form, promise) in promised.items() if promise.holds and promise.unit is not Unit.NOTHING
    }
    return {"": plugin, **sound}


def forms_of(plugin: Any, *, each_unit: bool = False) -> dict[str, Any]:
    """Return every other form of a plug-in: every choice of one field, and of `unit` with another where asked for.

    Choices are fields that list their values (`Literal`) or are true or false.
    """
    fields = {name: _choices(field.annotation) for name, field in type(plugin).model_fields.items()}
    others = {name: [value for value in values if value != getattr(plugin, name)] for name, values in fields.items()}
    updates: list[dict[str, Any]] = [{name: value} for name, values in others.items() for value in values]
    units = others.get("unit", []) if each_unit else []
    updates += [{"unit": unit, **more} for unit in units for more in updates if "unit" not in more]
    found: dict[str, Any] = {}
    for update in updates:
        try:
            idle = plugin.model_copy(update=update).idle_fields()  # another variant reads them: they are left out
            whole = {name: getattr(plugin, name) for name in fields if name not in idle}
            form = type(plugin).model_validate({**whole, **update})
        except ValidationError:
            continue
        found[", ".join(f"{name}: {value}" for name, value in update.items())] = form
    return found


def _choices(annotation: Any) -> list[Any]:
    if annotation is bool:
        return [False, True]
    return list(get_args(annotation)) if get_origin(annotation) is Literal else []


def noise_by_name(mode: str, seed: int) -> NoiseFor:
    """Return a source of independent noise for each named part of an audit."""
    if mode == "simulate":
        streams = Streams(seed)
        return lambda name: SimulatedNoise(streams.generator(f"audit.{name}"))
    source: Noise = noise_source(mode)
    return lambda _: source


def build(kind: str, settings: Mapping[str, Any]) -> Any:
    """Build the plug-in of a kind, with errors for people when there is none or when a field is wrong."""
    from geodp.scenario.file import order_changes, set_path

    fields: dict[str, Any] = {}
    for dotted, value in order_changes(settings):
        set_path(fields, dotted, value)
    return _find(kind).from_options(fields, f"audit {kind}")


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
