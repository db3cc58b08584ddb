"""Attacks on a finished run: each is shown the server's view alone, and its guesses are held against the truth here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from geodp.attacks import ANYONE, Attack, AttackView, Guesses
from geodp.public.release import Cells, Points
from geodp.run_folder.folder import ATTACK_SCORES, no_attack_scores
from geodp.storage.stamp import write_simulated

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

ANYONE_SCORED = 2000
"""A guess that names nobody is held against the positions of so many people."""


def write_attacks(run: RunFolder) -> None:
    """Run the scenario's attacks on a run folder and write `attacks.parquet`."""
    frames = [score(run, number, attack) for number, attack in enumerate(run.scenario.attacks)]
    table = pd.concat([no_attack_scores(), *frames], ignore_index=True) if frames else no_attack_scores()
    write_simulated(table, run.path / "attacks.parquet")


def score(run: RunFolder, number: int, attack: Attack) -> pd.DataFrame:
    """Let one attack guess, and score every guess; people outside the sampled truth are left out."""
    guesses = attack.guess(AttackView(run.region, [_with_law(run, release) for release in run.releases]))
    truth = run.positions if guesses.release.size else None
    if truth is None:
        return no_attack_scores()
    named = _matched(guesses, truth)
    error = np.hypot(named["x_m"] - named["true_x_m"], named["y_m"] - named["true_y_m"])
    blind = np.hypot(guesses.blind_x_m - named["true_x_m"], guesses.blind_y_m - named["true_y_m"])
    times = np.array([release.time_s for release in run.releases])
    named = named.assign(
        number=number,
        attack=attack.kind,
        time_s=times[named["release"].to_numpy()],
        error_m=error,
        prior_error_m=blind,
        hit=error <= attack.hit_radius_m,
    )
    return named[list(ATTACK_SCORES)].astype(ATTACK_SCORES)


def _with_law(run: RunFolder, release: Cells | Points) -> Cells | Points:
    """Return reports with their public law, which the run folder does not keep when it is a large table."""
    if not isinstance(release, Points) or release.channel is not None:
        return release
    return replace(release, channel=run.scenario.device.mechanism.channel(run.region))


def _matched(guesses: Guesses, truth: pd.DataFrame) -> pd.DataFrame:
    """Put each guess beside the true place of the person it is about, or of everybody when it names nobody."""
    guessed = pd.DataFrame({name: getattr(guesses, name) for name in ("method", "release", "who", "x_m", "y_m")})
    places = truth[["release", "who", "x_m", "y_m"]].rename(columns={"x_m": "true_x_m", "y_m": "true_y_m"})
    anyone = guessed["who"] == ANYONE
    people = np.sort(places["who"].unique())[:ANYONE_SCORED]
    for_all = guessed[anyone].drop(columns="who").merge(places[places["who"].isin(people)], on="release")
    for_one = guessed[~anyone].merge(places, on=["release", "who"])
    return pd.concat([for_one, for_all], ignore_index=True)
