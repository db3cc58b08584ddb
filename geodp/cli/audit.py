"""The command `geodp audit`: one kind, all kinds, a finished run, or whole publish commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp.audit.auditor import Audit, require_sound
from geodp.audit.kinds import audit_kind, audit_unsound_forms, auditable_kinds, build
from geodp.audit.report import as_dict, text_of
from geodp.cli.console import flags
from geodp.errors import NotReleasable, UsageError
from geodp.model import did_you_mean

VIEWS = ("releases", "server")


@dataclass(frozen=True)
class AuditRequest:
    """What was asked for on the command line."""

    kind: str | None = None
    everything: bool = False
    run: Path | None = None
    view: str | None = None
    settings: Mapping[str, Any] | None = None
    samples: int = 100_000
    confidence: float = 0.95
    seed: int | None = None
    mode: str = "simulate"
    trust_plugins: bool = False
    """Whether the plug-in files that a run names are loaded."""
    sampled_only: bool = False
    """Take samples for enough where a release cannot be followed."""


@dataclass(frozen=True)
class AuditOutcome:
    """One audit, said and written down."""

    text: str
    values: dict[str, Any]
    refuted: bool
    """Whether it found something: more spent than claimed, or releases that nobody could follow."""


def outcomes(request: AuditRequest) -> Iterator[AuditOutcome]:
    """Check the request, then audit one thing after the other."""
    _check(request)
    if request.run is not None:
        yield from _run_outcomes(request, request.run)
        return
    for kind in list(auditable_kinds()) if request.everything else [str(request.kind)]:
        yield _kind_outcome(request, kind)


def count_outcomes(request: AuditRequest, publish: str | None) -> int:
    """Return how many audits are asked for, about."""
    if publish is not None:
        from geodp.audit.publish_commands import publish_commands

        try:
            return len(list(publish_commands(publish)))
        except UsageError:
            return 1  # it is refused where it is asked for
    return len(auditable_kinds()) if request.everything else 1


def _kind_outcome(request: AuditRequest, kind: str) -> AuditOutcome:
    settings: Any = {"samples": request.samples, "confidence": request.confidence, "seed": request.seed or 0}
    try:
        audit = audit_kind(kind, request.settings, mode=request.mode, **settings)
    except NotReleasable as error:
        if not request.everything:
            raise UsageError(f"{error}\nIn mode 'release' there is nothing of it to audit.") from error
        nothing = as_dict(Audit(kind, 0, request.confidence, ()))
        return AuditOutcome(f"{kind}: for simulation only, not audited in mode 'release'.", nothing, refuted=False)
    if not request.everything or request.mode != "simulate":
        return _outcome(audit, text_of(audit), request)
    forms = audit_unsound_forms(kind, **settings)
    return replace(_outcome(audit, text_of(audit, forms), request), values=as_dict(audit, forms))


def _check(request: AuditRequest) -> None:
    """Refuse requests that make no sense, before anything is drawn."""
    asked = [request.kind is not None, request.everything, request.run is not None]
    if sum(asked) != 1:
        raise UsageError("give one of: a KIND, --all, or --run DIR")
    require_sound(request.samples, request.confidence)
    if request.settings and request.kind is None:
        raise UsageError("--set goes with one KIND: it sets the fields of that plug-in")
    if request.view is not None and request.run is None:
        raise UsageError("--view goes with --run DIR")
    if request.view is not None and request.view not in VIEWS:
        raise UsageError(
            f"no view called '{request.view}'.{did_you_mean(request.view, VIEWS)} Views: {', '.join(VIEWS)}."
        )
    if request.mode == "release" and request.seed is not None:
        raise UsageError("noise in release mode has no seed: leave --seed out")
    if request.mode == "release" and request.run is not None:
        raise UsageError("a run is simulated: --mode release goes with a KIND or --all")
    if request.kind is not None:
        build(request.kind, request.settings or {})


def _run_outcomes(request: AuditRequest, path: Path) -> Iterator[AuditOutcome]:
    from geodp.audit.run_audit import audit_releases
    from geodp.audit.server_view import estimate_server_view
    from geodp.run_folder.folder import RunFolder

    run = RunFolder(path, trust_plugins=request.trust_plugins)
    settings: Any = {"samples": request.samples, "confidence": request.confidence, "seed": request.seed or 0}
    for name, arm in (run.arms or {"": run}).items():
        if request.view == "server":
            estimate = estimate_server_view(arm, **settings)
            outcome = AuditOutcome(estimate.text(), estimate.as_dict(), refuted=False)
        else:
            audit = audit_releases(arm, **settings)
            outcome = _outcome(audit, text_of(audit), request)
            outcome.values["view"] = "releases"
        if name:
            outcome.values["arm"] = name
        yield AuditOutcome(f"{name}: {outcome.text}" if name else outcome.text, outcome.values, outcome.refuted)


def publish_outcomes(request: AuditRequest, asked: str | None, files: int | None) -> Iterator[AuditOutcome]:
    """Check the request, then audit the commands of a kind of publication, whole."""
    from geodp.audit.publish_audit import FILES, audit_publish, text_of

    if asked is None:
        raise UsageError("--files goes with --publish KIND")
    others = [request.kind is not None, request.everything, request.run is not None, bool(request.settings)]
    if any(others) or request.view is not None or request.mode != "simulate":
        raise UsageError("--publish KIND stands alone: beside it --files, --seed, --json and --sampled-only are read")
    for audit in audit_publish(asked, run_line, files=FILES if files is None else files, seed=request.seed or 0):
        yield _outcome(audit, text_of(audit), request)


def run_line(words: Sequence[str]) -> int:
    """Run `geodp WORDS` in this process and return its exit code; the flags of this call stay as they are."""
    from geodp.cli.main import main

    given = set(flags)
    try:
        main(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        flags.clear()
        flags.update(given)
    return 0


def _outcome(audit: Audit, text: str, request: AuditRequest) -> AuditOutcome:
    found = audit.refuted or bool(audit.failed) or (bool(audit.not_followed) and not request.sampled_only)
    return AuditOutcome(text, as_dict(audit), found)
