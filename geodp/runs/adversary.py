"""What an adversary finds, in words: the one yardstick that promises of different kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodp.metrics import Measured
from geodp.runs.measure import measurements
from geodp.runs.quantity import UNDEFINED, quantity, with_interval
from geodp.storage.markdown import as_code

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_ROWS = (
    ("prior_error_m", "error of a guess without any release", "m"),
    ("attack_error_m", "error from what the server got at that moment", "m"),
    ("tracking_error_m", "error from all linked reports (forward-backward)", "m"),
    ("tracking_error_viterbi_m", "error of the most likely path (Viterbi)", "m"),
    ("attack_hit_rate", "guesses within {radius} from one moment", "share"),
    ("tracking_hit_rate", "guesses within {radius} from linked reports", "share"),
)


def adversary_lines(runs: dict[str, RunFolder]) -> list[str]:
    """Return a section with a column per run ([] when no run was attacked)."""
    if not any(run.scenario.attacks for run in runs.values()):
        return []
    measured = [{key: value for _, key, value in measurements(run)} for run in runs.values()]
    names = [as_code(name) if name else "value" for name in runs]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    radius = _radius(runs)
    for key, words, unit in _ROWS:
        cells = [with_interval(found.get(key, Measured(None)), unit) for found in measured]
        if any(cell != UNDEFINED for cell in cells):
            lines.append(f"| {words.format(radius=radius)} | " + " | ".join(cells) + " |")
    return ["## What an adversary finds", _explained(runs), "\n".join(lines)]


def _radius(runs: dict[str, RunFolder]) -> str:
    found = {quantity(attack.hit_radius_m, "m") for run in runs.values() for attack in run.scenario.attacks}
    return found.pop() if len(found) == 1 else "the hit radius"


def _explained(runs: dict[str, RunFolder]) -> str:
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
