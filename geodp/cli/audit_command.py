"""The command `geodp audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodp.cli.completion import complete_auditable
from geodp.cli.console import JsonFile, Plugins, TrustPlugins, flags, overrides, say, suggest, write_json

if TYPE_CHECKING:
    from geodp.cli.audit import AuditOutcome


def audit(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help="What to audit, e.g. contour.", autocompletion=complete_auditable),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Audit every kind that exists.")] = False,
    run: Annotated[Path | None, typer.Option("--run", metavar="DIR", help="Audit a finished run.")] = None,
    view: Annotated[str | None, typer.Option(metavar="VIEW", help="With --run: releases or server.")] = None,
    publish: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Audit publish commands: counts, counts:dpsense, a method of yours, or all."),
    ] = None,
    files: Annotated[int | None, typer.Option(metavar="N", help="With --publish: pairs of files per command.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of KIND, e.g. epsilon=0.5.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Outputs drawn on each input of each pair.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="Chance, at least, that a true claim survives.")] = 0.95,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the audit [default: 0].")] = None,
    mode: Annotated[str, typer.Option(metavar="MODE", help="Noise: simulate, or release.")] = "simulate",
    sampled_only: Annotated[
        bool, typer.Option("--sampled-only", help="Take samples for enough where a release cannot be followed.")
    ] = False,
    json_file: JsonFile = None,
    trust_plugins: TrustPlugins = False,
    _plugins: Plugins = None,
) -> None:
    """Try to refute what a mechanism claims; exit code 1 when that succeeds."""
    from geodp.cli.audit import AuditRequest, count_outcomes, outcomes, publish_outcomes
    from geodp.cli.progress import AUDIT_PHASES, FILES_PHASES, show_audits
    from geodp.tables.progress import watch_progress

    request = AuditRequest(
        kind=kind,
        everything=everything,
        run=run,
        view=view,
        settings=overrides(settings),
        samples=samples,
        confidence=confidence,
        seed=seed,
        mode=mode,
        trust_plugins=trust_plugins,
        sampled_only=sampled_only,
    )
    whole = publish is not None or files is not None
    found = []
    total = count_outcomes(request, publish)
    phases = FILES_PHASES if whole else AUDIT_PHASES
    with show_audits(total, quiet="--quiet" in flags, phases=phases) as (tell, advance), watch_progress(tell):
        for outcome in publish_outcomes(request, publish, files) if whole else outcomes(request):
            say(outcome.text)
            found.append(outcome)
            advance()
    values = [outcome.values for outcome in found]
    write_json(json_file, values if everything or publish == "all" or len(values) != 1 else values[0])
    _suggest_after(found, request.kind)
    if any(outcome.refuted for outcome in found):
        raise typer.Exit(1)


def _suggest_after(found: list[AuditOutcome], kind: str | None) -> None:
    """Say what to do with the outcome."""
    if any(outcome.refuted for outcome in found):
        suggest("do not rely on what was refuted: report it, or mend the plug-in; --samples N and --seed S look again")
    elif kind is not None:
        suggest(f"geodp list {kind}   says what it promises; --samples N looks closer, --mode release at real noise")
    else:
        suggest("--samples N looks closer; geodp audit KIND   tries one mechanism alone")
