"""The command `geodp audit --publish`: whole publish commands, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from geodp.audit.report import as_dict
from geodp.cli.audit import Outcome, Request
from geodp.errors import UsageError


def publish_outcomes(request: Request, asked: str | None, files: int | None) -> Iterator[Outcome]:
    """Check the request, then audit the commands of a kind of publication."""
    from geodp.audit.publish_audit import FILES, audit_publish, text_of

    if asked is None:
        raise UsageError("--files goes with --publish KIND")
    others = [request.kind is not None, request.everything, request.run is not None, bool(request.settings)]
    if any(others) or request.view is not None or request.mode != "simulate":
        raise UsageError("--publish KIND stands alone: beside it --files, --seed, --json and --sampled-only are read")
    for audit in audit_publish(asked, files=FILES if files is None else files, seed=request.seed or 0):
        found = audit.refuted or (bool(audit.not_followed) and not request.sampled_only)
        yield Outcome(text_of(audit), as_dict(audit), found)
