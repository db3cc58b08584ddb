"""The privacy promise of a run in words: what one release promises, and what all of them cost together."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from geodp.privacy.guarantee import Guarantee, Neighbours, Trust, Unit

if TYPE_CHECKING:
    import pandas as pd

    from geodp.runs.run_folder import RunFolder


def promise_lines(run: RunFolder) -> list[str]:
    """Return the promise as Markdown paragraphs."""
    return [_device(run), *_releases(run), _total(run)]


def both_relations(epsilon: float, neighbours: str) -> str:
    """Print a central epsilon in both neighbour relations: `ε = 0.3 (add/remove), 0.6 (replace)`.

    Replacing a worker's position is removing it and adding another: twice the cost. A server that knows who
    takes part already knows that nobody was added, so for it the figure for replacing is the honest one.
    """
    if neighbours == Neighbours.ADD_REMOVE:
        return f"ε = {_plain(epsilon)} (add/remove), {_plain(2 * epsilon)} (replace)"
    return f"ε = {_plain(epsilon)} ({neighbours})"


def _device(run: RunFolder) -> str:
    guarantee = run.scenario.device.mechanism.guarantee()
    return "" if guarantee.unit is Unit.NOTHING else f"**On the phone**, each report: {guarantee.sentence()}"


def _releases(run: RunFolder) -> list[str]:
    if run.scenario.curator is None:
        return ["There is no curator: nothing is published about where people are."]
    found = {release.guarantee.sentence(): release.guarantee for release in run.releases}
    if not found:
        return ["The curator published nothing."]
    return [_one_release(sentence, guarantee) for sentence, guarantee in found.items()]


def _one_release(sentence: str, guarantee: Guarantee) -> str:
    text = f"**One release**: {sentence}"
    if guarantee.unit is not Unit.NOTHING and guarantee.trust is Trust.CENTRAL and guarantee.holds:
        text += f" In both neighbour relations: {both_relations(guarantee.epsilon, guarantee.neighbours)}."
    return text


def _total(run: RunFolder) -> str:
    """Say what the releases cost together, per person, against the budget."""
    charges = run.ledger
    central = charges[charges["unit"].astype(str) != str(Unit.POINT)]
    if central.empty or not all(release.guarantee.holds for release in run.releases):
        return ""
    terms = " + ".join(
        f"{len(group):,} release{'s' if len(group) > 1 else ''} × {_plain(float(epsilon))}"
        for epsilon, group in _by_epsilon(central)
    )
    spent = float(central["total"].max())
    together = both_relations(spent, str(central["neighbours"].iloc[0]))
    text = f"**Over the whole run**, costs add up, for each person: {terms}, so {together}"
    budget = run.scenario.curator.budget.epsilon if run.scenario.curator is not None else None
    return text + (f", of a budget of {_plain(budget)}." if budget is not None and math.isfinite(budget) else ".")


def _by_epsilon(charges: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    return [(float(str(epsilon)), group) for epsilon, group in charges.groupby("epsilon", sort=False)]


def _plain(value: float) -> str:
    """Return a short decimal without the noise of binary fractions."""
    return f"{Decimal(repr(round(value, 10))).normalize():f}"
