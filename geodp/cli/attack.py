"""The command `geodp attack`: what an adversary finds in a run, or in a published file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.console import JsonFile, Plugins, Settings, TrustPlugins, overrides, print_json, say, suggest, write_json

if TYPE_CHECKING:
    from geodp.attacks import Attack
    from geodp.runs.findings import FoundScore


ALSO_CALLED = {"companions": "companion_pairs"}
"""Attacks by a word that a kind of another family has in scenarios."""


def attack(
    what: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="A finished run folder, or a published table.")],
    kind: Annotated[str, typer.Option("--kind", help="The attack; `geodp list attack` names them.")],
    knows: Annotated[
        str | None, typer.Option(help="Background of the adversary, e.g. past, or points=4; the weakest is best told.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Table of where people truly were, to score a published file against.")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(min=0, help="Of coins, redraws and samples.")] = 0,
    json_file: JsonFile = None,
    trust_plugins: TrustPlugins = False,
    _plugins: Plugins = None,
) -> None:
    """Let an adversary try what it finds, beside chance and bound; exit code 1 if it refutes a promise."""
    from geodp.runs.findings import list_refuted

    one = build_attack(kind, knows, overrides(settings))
    found = _attack(what, one, truth, seed, trust_plugins=trust_plugins)
    wrong = list_refuted(found)
    values = {
        "attack": one.kind,
        "knows": list(one.knows),
        "refuted": bool(wrong),
        "findings": [score.as_dict() for score in found],
    }
    write_json(json_file, values)
    print_json(values)
    from geodp.runs.risk import risk_sentences, score_line

    say(*(score_line(score) for score in found), *risk_sentences(found))
    if wrong:
        named = ", ".join(f"{score.key} on {score.release}" for score in wrong)
        say(f"REFUTED: {named} exceeds what the promise allows anybody.")
        raise typer.Exit(1)
    suggest(
        "geodp audit KIND   tries to refute what a mechanism promises", "geodp list attack   names other adversaries"
    )


def build_attack(kind: str, knows: str | None, settings: dict[str, Any]) -> Attack:
    """Return an attack with its background and settings; `points=4` says how many points are known."""
    from geodp.attacks import Attack as Family
    from geodp.errors import UsageError
    from geodp.registry import plugin

    fields = dict(settings)
    if knows is not None:
        names = []
        for word in (part.strip() for part in knows.split(",") if part.strip()):
            name, _, number = word.partition("=")
            names.append(name)
            if not number:
                continue
            if not number.isdecimal():
                raise UsageError(f"--knows {word}: a number of points is meant, e.g. points=4.")
            fields[name] = int(number)
        fields["knows"] = names
    made = plugin(ALSO_CALLED.get(kind, kind), "attack", **fields)
    assert isinstance(made, Family)  # noqa: S101 - the registry looked in this family
    return made


def _attack(what: Path, one: Attack, truth: Path | None, seed: int, *, trust_plugins: bool) -> list[FoundScore]:
    from geodp.errors import UsageError

    if not what.is_dir():
        from geodp.runs.attack_file import attack_file

        return attack_file(what, one, truth=truth, seed=seed)
    if truth is not None:
        raise UsageError("--truth goes with a published file: a run folder holds its own truth.")
    from geodp.run_folder.folder import RunFolder
    from geodp.runs.attack_run import attack_run

    run = RunFolder(what, trust_plugins=trust_plugins)
    found = []
    for name, arm in (run.arms or {"": run}).items():
        scores = attack_run(arm, one, seed=seed)
        if name:
            from dataclasses import replace

            scores = [replace(score, release=f"{name}: {score.release}") for score in scores]
        found += scores
    return found
