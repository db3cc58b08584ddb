"""Guesses of an attack, asked for and held against the truth; the attack itself never meets it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodp.attacks import ANYONE, Attack, AttackView, Guesses
from geodp.errors import GeodpError
from geodp.registry import origin

_ROWS = ("method", "release", "who", "x_m", "y_m")
ANYONE_SCORED = 2000
"""A guess that names nobody is held against the positions of so many people."""


def ask_attack(attack: Attack, view: AttackView) -> Guesses:
    """Let an attack guess; what is no table of guesses is refused in the name of the plug-in."""
    guesses: object = attack.guess(view)
    whose = f"the attack '{attack.kind}' ({origin(type(attack))})"
    if not isinstance(guesses, Guesses):
        raise GeodpError(
            f"{whose} answered with {type(guesses).__name__}: guess(view) must return Guesses; for none, "
            "Guesses.join([], blind=(x_m, y_m))."
        )
    sizes = {name: np.size(getattr(guesses, name)) for name in _ROWS}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise GeodpError(f"{whose}: the columns of its Guesses must have one row per guess each, and have {lengths}.")
    return guesses


def score_guesses(guesses: Guesses, truth: pd.DataFrame, hit_radius_m: float) -> pd.DataFrame:
    """Put each guess beside the true place of the person it is about, or of everybody when it names nobody.

    Parameters
    ----------
    guesses
        What an attack said.
    truth
        Where people were at each release: release, who, x_m, y_m. People outside of it are not scored.
    hit_radius_m
        How near a guess must be to be a hit.

    Returns
    -------
    pandas.DataFrame
        Columns method, release, who, x_m, y_m (guessed), error_m, prior_error_m (of a blind guess), hit.
    """
    guessed = pd.DataFrame({name: getattr(guesses, name) for name in _ROWS})
    places = truth[["release", "who", "x_m", "y_m"]].rename(columns={"x_m": "true_x_m", "y_m": "true_y_m"})
    anyone = guessed["who"] == ANYONE
    people = np.sort(places["who"].unique())[:ANYONE_SCORED]
    for_all = guessed[anyone].drop(columns="who").merge(places[places["who"].isin(people)], on="release")
    for_one = guessed[~anyone].merge(places, on=["release", "who"])
    both = pd.concat([for_one, for_all], ignore_index=True)
    error = np.hypot(both["x_m"] - both["true_x_m"], both["y_m"] - both["true_y_m"])
    blind = np.hypot(guesses.blind_x_m - both["true_x_m"], guesses.blind_y_m - both["true_y_m"])
    scored = both.assign(error_m=error, prior_error_m=blind, hit=error <= hit_radius_m)
    return scored.drop(columns=["true_x_m", "true_y_m"])
