"""The command `geodp audit --publish`: whole publish commands, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geodp.audit.report import as_dict
from geodp.cli.audit import Outcome, Request
from geodp.cli.console import flags
from geodp.errors import UsageError


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


def publish_outcomes(request: Request, asked: str | None, files: int | None) -> Iterator[Outcome]:
    """Check the request, then audit the commands of a kind of publication."""
    from geodp.audit.publish_audit import FILES, audit_publish, text_of

    if asked is None:
        raise UsageError("--files goes with --publish KIND")
    others = [request.kind is not None, request.everything, request.run is not None, bool(request.settings)]
    if any(others) or request.view is not None or request.mode != "simulate":
        raise UsageError("--publish KIND stands alone: beside it --files, --seed, --json and --sampled-only are read")
    for audit in audit_publish(asked, run_line, files=FILES if files is None else files, seed=request.seed or 0):
        found = audit.refuted or (bool(audit.not_followed) and not request.sampled_only)
        yield Outcome(text_of(audit), as_dict(audit), found)
