"""Errors of attacks, as several metrics need them: one number per person."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


def per_person(run: RunFolder, attack: str, column: str, method: str | None = None) -> pd.Series:
    """Return each attacked person's mean of a column, for the first attack of a kind (empty without one).

    Guesses about the same person at different times err alike, so people, not guesses, are the independent ones.
    """
    scores = run.attacks
    scores = scores[scores["attack"] == attack]
    if len(scores):
        scores = scores[scores["number"] == scores["number"].min()]
    if method is not None:
        scores = scores[scores["method"] == method]
    mean: pd.Series = scores.groupby("who")[column].mean().astype("float64")
    return mean
