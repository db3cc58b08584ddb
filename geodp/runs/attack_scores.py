"""Attacks on a finished run: their guesses held against the truth, and what they find in words.

Each is shown the server's view alone. What it finds is the one yardstick that promises of different kinds share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from geodp.attacks import Attack, AttackView
from geodp.device.planar import PlanarDevice
from geodp.frames.guesses import ask_attack, score_guesses
from geodp.metrics import Measured
from geodp.metrics.attacks import attack_scores
from geodp.pages.quantity import UNDEFINED, quantity, with_interval
from geodp.public.release import Cells, Points
from geodp.run_folder.folder import ATTACK_SCORES, no_attack_scores
from geodp.runs.measure import measurements
from geodp.storage.markdown import as_code
from geodp.storage.stamp import write_simulated

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_WORDS = {
    "prior_error_m": "error of a guess without any release",
    "attack_error_m": "error from what the server got at that moment",
    "tracking_error_m": "error from all linked reports (forward-backward)",
    "tracking_error_viterbi_m": "error of the most likely path (Viterbi)",
    "attack_hit_rate": "guesses within {radius} from one moment",
    "tracking_hit_rate": "guesses within {radius} from linked reports",
}
"""Names of rows; those of other attacks go by their kind."""


def write_attacks(run: RunFolder) -> None:
    """Run the scenario's attacks on a run folder and write `attacks.parquet`."""
    own = [(number, attack) for number, attack in enumerate(run.scenario.attacks) if not finds_more(attack)]
    frames = [score(run, number, attack) for number, attack in own]
    table = pd.concat([no_attack_scores(), *frames], ignore_index=True) if frames else no_attack_scores()
    write_simulated(table, run.path / "attacks.parquet")


def finds_more(attack: Attack) -> bool:
    """Tell whether an attack is scored by a game of its own, and not by guesses at each release."""
    return attack.about != "place" or bool(attack.can_know) or not attack.reads & {"points", "cells", "contours"}


def score(run: RunFolder, number: int, attack: Attack) -> pd.DataFrame:
    """Let one attack guess, and score every guess; people outside the sampled truth are left out."""
    releases = [add_law(run, release) for release in run.releases]
    guesses = ask_attack(attack, AttackView(run.region, releases, run.cell_reports))
    if not guesses.release.size:
        return no_attack_scores()
    named = score_guesses(guesses, run.positions, attack.hit_radius_m)
    times = np.array([release.time_s for release in run.releases])
    named = named.assign(number=number, attack=attack.kind, time_s=times[named["release"].to_numpy()])
    return named[list(ATTACK_SCORES)].astype(ATTACK_SCORES)


def add_law(run: RunFolder, release: Cells | Points) -> Cells | Points:
    """Return reports with their public law, which the run folder does not keep when it is a large table."""
    if not isinstance(release, Points) or release.channel is not None:
        return release
    device = run.scenario.device.mechanism
    laws = {}
    if release.group is not None and isinstance(device, PlanarDevice):
        laws = {name: device.for_group(name).channel(run.region) for name in device.group_shares}
    return replace(release, channel=device.channel(run.region), channels=laws)


def adversary_lines(runs: dict[str, RunFolder]) -> list[str]:
    """Return a section with a column per run ([] when no run was attacked)."""
    if not any(not finds_more(attack) for run in runs.values() for attack in run.scenario.attacks):
        return []
    measured = [{key: value for _, key, value in measurements(run)} for run in runs.values()]
    names = [as_code(name) if name else "value" for name in runs]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key, (words, unit) in _rows(runs).items():
        cells = [with_interval(found.get(key, Measured(None)), unit) for found in measured]
        if any(cell != UNDEFINED for cell in cells):
            lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return ["## What an adversary finds", _explain_attacks(runs), "\n".join(lines)]


def _rows(runs: dict[str, RunFolder]) -> dict[str, tuple[str, str]]:
    """Return the words and the unit of each key: the blind guess first, then errors, then hits."""
    scores = [one for run in runs.values() for one in attack_scores(run)]
    rows = {"prior_error_m": (_WORDS["prior_error_m"], "m")}
    for one in scores:
        what = f"error of {as_code(one.kind)}" + ("" if one.hit_key else f", method {as_code(one.method)}")
        rows[one.error_key] = (_WORDS.get(one.error_key, what + _place(one.error_key)), "m")
    for one in scores:
        if one.hit_key is not None:
            what = f"guesses of {as_code(one.kind)} within {{radius}}" + _place(one.hit_key)
            rows[one.hit_key] = (_WORDS.get(one.hit_key, what).format(radius=_radius(runs, one.kind)), "share")
    return rows


def _place(key: str) -> str:
    """Say which attack of its kind a key is about, where it is not the first."""
    ending = key.rpartition("_")[2]
    return f" (no. {ending})" if ending.isdecimal() else ""


def _radius(runs: dict[str, RunFolder], kind: str) -> str:
    attacks = [attack for run in runs.values() for attack in run.scenario.attacks if attack.kind == kind]
    found = {quantity(attack.hit_radius_m, "m") for attack in attacks}
    return found.pop() if len(found) == 1 else "the hit radius"


def _explain_attacks(runs: dict[str, RunFolder]) -> str:
    text = (
        "Attacks see what the server sees and a public prior, and guess where single people are; their mean distance "
        "from the truth is in the table, with 95 % intervals over people. It is what these attacks find, and no bound "
        "on what others may."
    )
    kinds = {run.scenario.curator is None for run in runs.values()}
    if len(kinds) > 1:
        text += (
            " ε of a curator's releases and ε per metre of phones' reports measure different things: they are neither "
            "added nor compared, and this table is the common yardstick."
        )
    return text
