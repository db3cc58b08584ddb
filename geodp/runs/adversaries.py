"""The adversaries of a run: those its scenario names, or a usual one for each kind of release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from geodp.attacks import Attack
from geodp.errors import GeodpError, UsageError
from geodp.pages.quantity import quantity
from geodp.public.release import Cells, Points
from geodp.registry import plugin
from geodp.run_folder.folder import write_json
from geodp.runs.attack_run import play_attack
from geodp.runs.attack_scores import finds_more
from geodp.runs.findings import FoundScore
from geodp.runs.risk import strength
from geodp.storage.markdown import as_code, as_words
from geodp.storage.stamp import SIMULATED, write_simulated

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_FEW = 100
"""Targets of an adversary whom nobody asked for."""
_USUAL_POSITIONS = 120_000
"""Among so many positions (people × releases) she plays at most."""
_USUAL_REDRAWS = 4
_FEW_WITH_TRIPS = 300
"""Among so many people trips are made anew."""
_PROTOCOL_SAMPLES = 4_000


def write_findings(run: RunFolder) -> None:
    """Let the adversaries of a run try, and write what they found, and both ends of the protocol's ε."""
    rows: list[dict[str, Any]] = []
    places: list[pd.DataFrame] = []
    for attack in run.scenario.attacks:
        rows += [one.as_dict() | {"asked": True} for one in _try(run, attack, places=places)]
    if not run.scenario.attacks:
        crowd = max(_FEW, _USUAL_POSITIONS // max(len(run.releases), 1))
        for attack in usual_adversaries(run):
            crowd = _FEW_WITH_TRIPS if attack.kind == "synthetic_membership" else crowd
            found = _try(run, attack, redraws=_USUAL_REDRAWS, crowd=crowd, places=places)
            rows += [one.as_dict() | {"asked": False} for one in found]
    if places:
        write_simulated(pd.concat(places, ignore_index=True), run.path / "truth" / "found_places.parquet")
    ends = _both_ends(run)
    if rows or ends is not None:
        write_json(run.path / "findings.json", {**SIMULATED, "findings": rows, "protocol": ends})


def _both_ends(run: RunFolder) -> dict[str, Any] | None:
    """Return both ends of ε of the server's whole view for those who took no task (None: there is no such view)."""
    from geodp.audit.server_view import estimate_server_view

    if run.scenario.plugins or not run.has("server_view.parquet") or run.scenario.curator is None:
        return None
    cells = [release for release in run.releases if isinstance(release, Cells)]
    if not cells or not all(release.guarantee.holds for release in cells):
        return None  # exact counts tell everything of somebody: there is no ε to speak of
    try:
        found = estimate_server_view(run, samples=_PROTOCOL_SAMPLES, seed=run.scenario.seed)
    except (UsageError, GeodpError):
        return None  # what cannot be played again has no lower end; `geodp audit --view server` says why
    return {
        "lower": found.certified_unnamed,
        "upper": found.upper_unnamed,
        "promised": found.upper_promised,
        "samples": found.samples,
    }


def _try(
    run: RunFolder, attack: Attack, *, redraws: int = 8, crowd: int | None = None, places: list[pd.DataFrame]
) -> list[FoundScore]:
    """Return what an attack found; where it could not try, the reason stands instead."""
    if run.scenario.attacks and not finds_more(attack):
        return _of_guesses(run, attack)
    try:
        scores, found = play_attack(run, attack, seed=run.scenario.seed, redraws=redraws, crowd=crowd)
    except (UsageError, GeodpError) as error:
        reason = str(error).removeprefix(f"{run.path}: ").split("\n", 1)[0]
        return [
            FoundScore(
                attack=attack.kind,
                score="error_m" if attack.about == "place" else "auc",
                about=attack.about,
                release="releases",
                value=None,
                knows=tuple(attack.knows),
                note=f"not scored: {reason}",
            )
        ]
    places += [] if found is None else [found]
    return scores


def _of_guesses(run: RunFolder, attack: Attack) -> list[FoundScore]:
    """Return the scores of guesses that were written down already."""
    from geodp.metrics.intervals import mean

    table = run.table("attacks.parquet")
    rows = table[table["attack"] == attack.kind]
    rows = rows[rows["method"] == rows["method"].iloc[0]] if len(rows) else rows
    what = "reports" if any(isinstance(release, Points) for release in run.releases) else "releases"
    if rows.empty:
        return [FoundScore(attack.kind, "error_m", "place", what, None, note="not scored: nobody could be guessed at")]
    blind_hit = (rows["prior_error_m"] <= attack.hit_radius_m).groupby(rows["who"]).mean()
    people = rows.groupby("who")[["error_m", "prior_error_m", "hit"]].mean()
    error, hit = mean(people["error_m"].to_numpy()), mean(people["hit"].astype(float).to_numpy())
    of: dict[str, Any] = {"targets": len(people), "people": len(people)}
    return [
        FoundScore(
            attack.kind,
            "error_m",
            "place",
            what,
            error.value,
            low=error.low,
            high=error.high,
            chance=float(people["prior_error_m"].mean()),
            **of,
        ),
        FoundScore(
            attack.kind,
            "hit_rate",
            "place",
            what,
            hit.value,
            low=hit.low,
            high=hit.high,
            chance=float(blind_hit.mean()),
            within_m=attack.hit_radius_m,
            **of,
        ),
    ]


def usual_adversaries(run: RunFolder) -> list[Attack]:
    """Return who is let loose where a scenario names nobody: the strongest on counts, the simplest on reports."""
    found: list[Attack] = []
    if run.scenario.plugins:
        return found
    topics = frozenset().union(*(item.topics for item in run.publications))
    if run.scenario.curator is None and run.releases:
        found.append(_build("bayes_location", people=_FEW))
    elif any(isinstance(release, Cells) for release in run.releases) or "counts" in topics:
        found.append(_build("membership", knows=["others"], people=_FEW))
    elif run.releases:
        found.append(_build("bayes_location", people=_FEW))
    if "trajectories" in topics:
        found.append(_build("synthetic_membership", people=_FEW))
    if not found and run.has("server_view.parquet"):
        found.append(_build("triangulation", people=_FEW))
    return found


def _build(kind: str, **fields: Any) -> Attack:
    made = plugin(kind, "attack", **fields)
    assert isinstance(made, Attack)  # noqa: S101 - the registry looked in this family
    return made


def findings_of(run: RunFolder) -> list[FoundScore]:
    """Return what adversaries found, as it was written with the run."""
    return [FoundScore.from_dict(values) for values in run.findings]


def findings_table(runs: dict[str, RunFolder], utility: dict[str, str]) -> str:
    """Return the table `release | utility | promise | what an adversary finds | chance | bound`.

    Parameters
    ----------
    runs
        Arms by name ('' for a run alone).
    utility
        What each arm is worth, in words.
    """
    lines = [
        "| release | utility | promise | what an adversary finds | chance | bound |",
        "|---|---|---|---|---:|---:|",
    ]
    for name, run in runs.items():
        label = as_code(name) if name else _name_releases(run)
        promise = _say_promise(run)
        found = sorted(findings_of(run), key=lambda one: (strength(one), one.score))
        rows = [one for one in found if one.value is not None] or found[:1]
        if not rows:
            lines.append(f"| {label} | {utility[name]} | {promise} | nobody has tried | – | – |")
        before = f"| {label} | {utility[name]} | {promise} |"
        lines += [
            f"{before} {_say_finding(one)} | {_cell(one, one.chance)} | {_cell(one, one.bound)} |" for one in rows
        ]
    return "\n".join(lines)


def _name_releases(run: RunFolder) -> str:
    first = run.releases[0] if run.releases else None
    return "nothing" if first is None else as_words(f"{len(run.releases)} × {first.mechanism}")


def _say_promise(run: RunFolder) -> str:
    promises = [release.guarantee for release in run.releases]
    if not promises or not all(promise.holds for promise in promises) or str(promises[0].unit) == "nothing":
        return "nothing"
    if isinstance(run.releases[0], Points) and run.releases[0].guarantee.trust == "local":
        return as_words(
            f"ε = {promises[0].epsilon:.3g} {'per metre' if str(promises[0].unit) == 'point' else ''}".strip()
        )
    if all(promise.rho is not None for promise in promises):
        return f"ρ = {sum(promise.rho or 0.0 for promise in promises):.3g} in all"
    charged = run.central_charges
    spent = float(charged["total"].max()) if len(charged) else float(np.sum([one.epsilon for one in promises]))
    return f"ε = {spent:.4g} in all"


_WORDS = {
    "auc": "tells in from out, AUC",
    "error_m": "error of guesses",
    "hit_rate": "guesses near the truth",
    "right": "known again",
    "unique": "singled out",
    "top5": "among the first five",
    "hours_right": "hours of tracks right",
    "found": "found by false tasks",
    "epsilon": "certifies from one run ε ≥",
}


def _say_finding(one: FoundScore) -> str:
    knows = f", knows {', '.join(one.knows)}" if one.knows else ""
    if one.value is None:
        return f"{as_code(one.attack)}{knows}: {as_words(one.note or 'not scored')}"
    value = _number(one, one.value)
    if one.low is not None and one.high is not None:
        value += f" ({_number(one, one.low)} to {_number(one, one.high)})"
    sampled = f"; {as_words(one.note)}" if one.note else ""
    return f"{as_code(one.attack)}{knows}: {_WORDS.get(one.score, one.score)} {value}{sampled}"


def _number(one: FoundScore, value: float) -> str:
    return quantity(value, "m") if one.score.endswith("_m") else f"{value:.3f}"


def _cell(one: FoundScore, value: float | None) -> str:
    return "–" if value is None else _number(one, value)
