"""What an audit says: a few lines for people, and an object for programs. Never the word "private"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from geodp.audit.auditor import Audit, PairAudit
from geodp.audit.kinds import UnsoundForm

LARGEST_EPSILON = 709.0


def text_of(audit: Audit, forms: Sequence[UnsoundForm] = ()) -> str:
    """Say claim, certified lower bound and verdict; and what became of forms that say that they do not hold."""
    return "\n".join([_text_of(audit), *(line for form in forms for line in _form_lines(form))])


def _form_lines(form: UnsoundForm) -> list[str]:
    """Say whether a form that does not hold was refuted: that is no finding, it says so itself."""
    says, worst = f"  {form.name} says of itself that it does not hold", form.audit.worst
    if worst is None or not worst.refuted:
        return [f"{says}; not refuted with these samples"]
    much = "with no bound" if math.isinf(worst.certified) else f"ε ≥ {worst.certified:.4g}"
    return [f"{says}; refuted: {much} where it claims {worst.claimed:.4g} ({worst.name})"]


def _text_of(audit: Audit) -> str:
    worst = audit.worst
    if worst is None and not audit.not_followed:
        return f"{audit.kind}: claims nothing, so there is nothing to refute."
    if worst is None:
        return "\n".join([f"{audit.kind}: nothing of what it claims was audited.", *_not_followed_line(audit)])
    sampled = sum(bool(pair.findings) for pair in audit.pairs)
    pairs = "1 pair" if sampled == 1 else f"{sampled} pairs"
    lines = [
        f"{audit.kind}: {worst.name}" + (f" (the worst of {len(audit.pairs)} pairs)" if len(audit.pairs) > 1 else ""),
        f"  claimed    {worst.currency} = {worst.claimed:.4g} "
        + ("by the scale of its noise" if worst.of_noise else "at this pair"),
        f"  certified  {worst.currency} ≥ {worst.certified:.4g} ({worst.share:.0%} of the claim; "
        f"{worst.best.test}; {audit.confidence:.6g} confidence over {pairs} and all tests)",
        f"  verdict    {verdict(audit)}",
    ]
    more = [*_exact_line(worst), *_transcript_line(audit), *_not_followed_line(audit), *_raw_bits_line(audit)]
    return "\n".join([*lines, *more])


def verdict(audit: Audit) -> str:
    """Return the verdict in words."""
    return "refuted" if audit.refuted else f"not refuted at N = {audit.samples}"


def as_dict(audit: Audit, forms: Sequence[UnsoundForm] = ()) -> dict[str, Any]:
    """Return the audit as plain values; `claimed` and `certified` are those of the audited (worst) pair."""
    worst = audit.worst
    return {
        "kind": audit.kind,
        "claimed": None if worst is None else _finite(worst.claimed),
        "certified": None if worst is None else _finite(worst.certified),
        "refuted": audit.refuted,
        "samples": audit.samples,
        "confidence": audit.confidence,
        "pairs": [_pair(pair) for pair in audit.pairs if pair.transcript is None],
        "followed": [_report_followed(pair) for pair in audit.pairs if pair.transcript is not None],
        "not_followed": list(audit.not_followed),
        "unsound_forms": [_report_form(form) for form in forms],
    }


def _report_form(form: UnsoundForm) -> dict[str, Any]:
    worst = form.audit.worst
    return {
        "form": form.name,
        "why_not": form.why_not,
        "claimed": None if worst is None else _finite(worst.claimed),
        "certified": None if worst is None else _finite(worst.certified),
        "refuted": form.audit.refuted,
        "pair": None if worst is None else worst.name,
    }


def _pair(pair: PairAudit) -> dict[str, Any]:
    return {
        "name": pair.name,
        "claimed": _finite(pair.claimed),
        "certified": _finite(pair.certified),
        "refuted": pair.refuted,
        "test": pair.best.test,
        "exact": None if pair.exact is None else _finite(pair.exact),
        "raw_bits": _finite(pair.raw_bits_certified),
    }


def _report_followed(pair: PairAudit) -> dict[str, Any]:
    asked = _finite(math.inf if pair.transcript is None else pair.transcript)
    return {"name": pair.name, "claimed": pair.claimed, "asked": asked, "refuted": pair.refuted} | (
        {} if pair.currency == "ε" else {"currency": pair.currency}
    )


def _exact_line(worst: PairAudit) -> list[str]:
    return [] if worst.exact is None else [f"  exact      ε = {worst.exact:.6g} from the channel itself, no sampling"]


def _transcript_line(audit: Audit) -> list[str]:
    """Say what whole releases asked of their data, and where it was most."""
    followed = [pair for pair in audit.pairs if pair.transcript is not None]
    if not followed:
        return []
    as_set = followed[0].claimed  # the release as it is set, where nothing else is found

    def rank_telling(pair: PairAudit) -> tuple[bool, bool, float]:
        return pair.refuted, pair.claimed == as_set, pair.share_asked

    most = max(followed, key=rank_telling)
    if most.transcript == math.inf:
        return [
            f"  followed   {most.name}: the questions, their noise or the output change (or it fails) although all "
            "answers were the same: something is read that was not paid for"
        ]
    line = f"  followed   {most.currency} = {most.transcript:.6g} of {most.claimed:.6g} asked of the data"
    return [f"{line}, question by question ({most.name}; the most of {len(followed)} pairs)"]


def _not_followed_line(audit: Audit) -> list[str]:
    """Say what nobody followed; samples alone find faults that show often."""
    if not audit.not_followed:
        return []
    first, many = audit.not_followed[0], len(audit.not_followed)
    which = first if many == 1 else f"{first}, and {many - 1} more"
    return [
        f"  not followed  {which}: draw noise by laplace_counts, with_laplace, with_geometric or choose, so that every "
        "question is seen, or declare an exact check (audited_by). --sampled-only takes samples for enough"
    ]


def _raw_bits_line(audit: Audit) -> list[str]:
    """Say what the last bits give away; with simulated noise they always give something away, which binds nobody."""
    leaks = max(audit.pairs, key=lambda pair: pair.raw_bits_certified - pair.claimed)
    line = f"  raw bits   ε ≥ {leaks.raw_bits_certified:.4g} ({leaks.name})"
    if audit.raw_bits_bind:
        return [f"{line}; counted in the verdict"]
    if leaks.raw_bits_certified <= leaks.claimed:
        return []
    return [
        f"{line}: the last bits of simulated doubles tell the inputs apart. They are not releasable, so this does not "
        "count; noise in release mode has no such bits"
    ]


def _finite(value: float) -> float:
    """Return a number for JSON; an infinite epsilon (an output that only one input gives) as the largest there is.

    e^709 is about the largest double, so no ratio of two probabilities that doubles can hold is larger.
    """
    return float(value) if math.isfinite(value) else LARGEST_EPSILON
