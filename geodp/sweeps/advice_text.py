"""Advice in words and as plain values."""

from __future__ import annotations

from typing import Any

from geodp.metrics import Measured
from geodp.sweeps.advise import Advice, Tried

STAMP = (
    "NOT RELEASABLE: the scenario reads {files}. Choosing a number on private data is itself a release that nobody has "
    "paid for; keep this answer inside, or repeat it on synthetic or public data (--public-data if these are public)."
)


def advice_text(advice: Advice) -> str:
    """Say the answer, what the next step would cost, and all that was tried."""
    lines = [*_answer(advice), "", *(_line(one) for one in advice.tried), ""]
    lines.append(
        f"Each value: {len(advice.seeds)} seeds, the same for all. A value meets the target when the whole 95 % "
        "interval of its mean does."
    )
    if not advice.monotone:
        lines.append(
            "Not monotone: values that meet the target and values that miss it take turns. Look at all of them."
        )
    if not advice.releasable:
        lines.append(STAMP.format(files=", ".join(path.name for path in advice.private_files)))
    return "\n".join(lines)


def _answer(advice: Advice) -> list[str]:
    low, high = advice.tried[0].value, advice.tried[-1].value
    where = f"{advice.path} between {low:g} and {high:g}"
    if advice.answer is None:
        best = max(advice.tried, key=lambda one: advice.target.margin(one.mean))
        return [f"No value of {where} meets {advice.target}.", f"Nearest: {best.value:g} gives {_number(best.mean)}."]
    word, end = ("smallest", "low") if advice.smallest else ("largest", "high")
    found = f"{advice.path} = {advice.answer.value:.4g}"
    if advice.next_step is None:
        return [
            f"Every value of {where} that was tried meets {advice.target}.",
            f"The {word}, {found}, gives {_number(advice.answer.mean)}; try a wider range with --{end}.",
        ]
    step, cost = advice.next_step, advice.step_cost()
    way = "down" if advice.smallest else "up"
    return [
        f"{found} is the {word} value found that meets {advice.target}: {_number(advice.answer.mean)}.",
        f"Next step {way}, {step.value:.4g}: {_number(step.mean)}, which misses it; "
        f"paired difference {_number(cost, '+') if cost is not None else 'undefined'}.",
    ]


def _line(one: Tried) -> str:
    return f"  {one.value:>10.4g}  {_number(one.mean):<32} {'meets' if one.met else 'misses'}"


def _number(measured: Measured, sign: str = "") -> str:
    if measured.value is None:
        return "undefined"
    if measured.low is None or measured.high is None:
        return f"{measured.value:{sign}.4g}"
    return f"{measured.value:{sign}.4g} ({measured.low:{sign}.4g} to {measured.high:{sign}.4g})"


def advice_values(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain values."""
    cost = advice.step_cost()
    return {
        "target": str(advice.target),
        "path": advice.path,
        "found": advice.answer is not None,
        "value": None if advice.answer is None else advice.answer.value,
        "direction": "smallest" if advice.smallest else "largest",
        "answer": None if advice.answer is None else _values(advice.answer),
        "next_step": None if advice.next_step is None else _values(advice.next_step),
        "difference": None if cost is None else cost.value,
        "difference_low": None if cost is None else cost.low,
        "difference_high": None if cost is None else cost.high,
        "monotone": advice.monotone,
        "releasable": advice.releasable,
        "seeds": advice.seeds,
        "tried": [_values(one) for one in advice.tried],
    }


def _values(one: Tried) -> dict[str, Any]:
    return {"value": one.value, "mean": one.mean.value, "low": one.mean.low, "high": one.mean.high, "meets": one.met}
