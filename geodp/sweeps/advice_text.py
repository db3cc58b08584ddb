"""Advice in words, and as plain values: of a target on a metric, and of a price at equal success."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from geodp.metrics.intervals import Measured
from geodp.runs.equal_success import COLUMNS, WITHIN
from geodp.sweeps.advise_within import LEAST_TASKS
from geodp.sweeps.trend import ERROR

if TYPE_CHECKING:
    from geodp.sweeps.advise import Advice, Tried
    from geodp.sweeps.advise_within import PriceAdvice
    from geodp.sweeps.prices import Priced

STAMP = (
    "NOT RELEASABLE: the scenario reads {files}. Choosing a number on private data is itself a release that nobody has "
    "paid for; keep this answer inside, or repeat it on synthetic or public data (--public-data if these are public)."
)


def advice_text(advice: Advice) -> str:
    """Say the answer, what the next step would cost, and all that was tried."""
    lines = [*_answer(advice), _direction(advice), "", *(_line(one) for one in advice.tried), ""]
    lines.append(
        f"Each value: {len(advice.seeds)} seeds, the same for all. A value meets the target when the whole 95 % "
        "interval of its mean does."
    )
    if advice.fixed_target and not advice.refused:
        lines.append(
            "This is success at a fixed target: how many people are asked for it differs from value to value. The "
            "price at equal success: --within 0.1."
        )
    if not advice.releasable:
        lines.append(STAMP.format(files=", ".join(path.name for path in advice.private_files)))
    return "\n".join(lines)


def _answer(advice: Advice) -> list[str]:
    if advice.refused:
        return [f"Refused: {advice.refused}"]
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
    step, way = advice.next_step, "down" if advice.smallest else "up"
    return [
        f"{found} is the {word} value found that meets {advice.target}: {_number(advice.answer.mean)}.",
        f"Next step {way}, {step.value:.4g}: {_number(step.mean)}, which misses it; "
        f"paired difference {_number(advice.step_cost(), '+')}.",
    ]


def _direction(advice: Advice) -> str:
    """Say where the metric goes, and which values are the better ones for it."""
    goes = f"Direction: {advice.target.metric} {advice.trend.word} as {advice.path} grows"
    if not advice.monotone or not (advice.trend.rises or advice.trend.falls):
        return f"{goes}."
    better = (advice.trend.rises is not None) == advice.target.at_least
    return f"{goes}: larger values are {'better' if better else 'worse'} for {advice.target}."


def _line(one: Tried) -> str:
    return f"  {one.value:>10.4g}  {_number(one.mean):<32} {'meets' if one.met else 'misses'}"


def _number(measured: Measured, sign: str = "") -> str:
    return measured.text(lambda value: f"{value:{sign}.4g}")


def advice_values(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain values."""
    cost = advice.step_cost()
    return {
        "target": str(advice.target),
        "path": advice.path,
        "found": advice.answer is not None,
        "value": None if advice.answer is None else advice.answer.value,
        "direction": "smallest" if advice.smallest else "largest",
        "answer": _values(advice.answer),
        "next_step": _values(advice.next_step),
        "difference": cost.value,
        "difference_low": cost.low,
        "difference_high": cost.high,
        "monotone": advice.monotone,
        "trend": advice.trend.word,
        "refused": advice.refused,
        "releasable": advice.releasable,
        "seeds": advice.seeds,
        "tried": [_values(one) for one in advice.tried],
    }


def _values(one: Tried | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"value": one.value, "mean": one.mean.value, "low": one.mean.low, "high": one.mean.high, "meets": one.met}


def price_text(advice: PriceAdvice) -> str:
    """Say the smallest epsilon that is enough, what it costs in people and in privacy, and all that was tried."""
    lines = [*_price_answer(advice), "", *_price_table(advice), ""]
    lines.append(
        f"The ratio is that of workers asked per task, at an expected success of {advice.success:g} ± {WITHIN:g} on "
        f"every seed, to the same assignment on exact counts ({advice.reference.what}), with its 95 % interval. "
        "`success` is the share of tasks taken; a task without an offer counts with expected success 0 and nobody "
        f"asked. {len(advice.seeds)} seeds, the same worlds and luck for all, {_tasks(advice)} tasks in each; "
        f"{advice.runs:,} runs."
    )
    if not advice.enough_tasks:
        lines.append(
            f"Take care: {advice.tasks[0]} tasks in a run are few for a calibration ({LEAST_TASKS} or more are "
            "better): raise duration_s or the demand, and the reward's total with them."
        )
    if not advice.monotone and advice.trend.rises is not None:
        first, second = (advice.tried[place].value for place in advice.trend.rises)
        lines.append(
            f"Not monotone: the price clearly rises from {first:.4g} to {second:.4g}, where it should fall (paired by "
            f"seed, wrong in at most {ERROR:.0%} of cases). The answer is the smallest value from which on all that "
            "were tried are enough; look at all of them."
        )
    if not advice.releasable:
        lines.append(STAMP.format(files=", ".join(path.name for path in advice.private_files)))
    return "\n".join(lines)


def _price_answer(advice: PriceAdvice) -> list[str]:
    low, high = advice.tried[0].value, advice.tried[-1].value
    bound = f"within {100 * advice.within:g} % of exact counts"
    if advice.answer is None:
        best = min(advice.tried, key=lambda one: math.inf if one.ratio.value is None else one.ratio.value)
        nearest = (
            "none reaches the success" if best.missed else f"{best.value:.4g} asks {_ratio(best)} times as many workers"
        )
        return [
            f"No value of {advice.path} between {low:g} and {high:g} is {bound} with confidence.",
            f"Nearest: {nearest}.",
        ]
    one, base = advice.answer, advice.reference.priced
    lines = [
        f"{advice.path} = {one.value:.4g} is the smallest value found whose price is {bound}: "
        f"at an expected success of {advice.success:g} it asks {_ratio(one)} times as many workers, "
        f"{_plain(one.average('cost_at_success'))} instead of {_plain(base.average('cost_at_success'))} per task."
    ]
    if advice.next_step is None:
        lines.append("All smaller values that were tried are within it, too; try a wider range with --low.")
    else:
        step = advice.next_step
        lines.append(f"Next step down, {step.value:.4g}: {_ratio(step)}, which may be above {1 + advice.within:g}.")
    ways, rewards = (
        f"{_plain(one.average(key))} instead of {_plain(base.average(key))}"
        for key in ("travel_at_success_m", "reward_at_success")
    )
    lines.append(f"Whoever takes a task travels {ways} m, for a reward of {rewards}.")
    return [*lines, *_describe_spent(advice)]


def _describe_spent(advice: PriceAdvice) -> list[str]:
    """Say what the answer comes to over a run, and whether the scenario's budget has that."""
    spent = advice.spent
    if spent is None or spent.total is None:
        return []
    unit = " per metre" if spent.place.endswith("_per_m") else ""
    said = f"Its price in privacy: {spent.total:.4g}{unit} per person {spent.lasts}, for {spent.releases} releases"
    if spent.stated is None or spent.stated >= spent.total * (1 - 1e-9):
        return [f"{said}."]
    return [f"{said}. The scenario's budget is {spent.stated:g}: raise {spent.place}, or release less often."]


_TABLE = ("cost_at_success", "taken_at_success", "travel_at_success_m", "reward_at_success")


def _price_table(advice: PriceAdvice) -> list[str]:
    fixed = f"(target {advice.success:g}: success, asked)"
    rows: list[tuple[str, ...]] = [("epsilon", "cost ratio", "workers asked", "success", "metres", "reward", fixed, "")]
    for one in (*advice.tried, advice.reference.priced):
        exact = one is advice.reference.priced
        values = ["–" if one.missed else _plain(one.average(key)) for key in _TABLE]
        at_target = f"({_plain(one.average('fixed_success'))}, {_plain(one.average('fixed_cost'))})"
        word = "" if exact else "enough" if one.enough else "more"
        rows.append(("exact" if exact else f"{one.value:.4g}", "1" if exact else _ratio(one), *values, at_target, word))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _tasks(advice: PriceAdvice) -> str:
    few, many = advice.tasks
    return f"{few:,}" if few == many else f"{few:,} to {many:,}"


def _ratio(one: Priced) -> str:
    if one.missed:
        return f"infinite (on {one.missed} of {len(one.costs)} seeds)"
    return one.ratio.text(lambda value: f"{value:.3f}" if value < 10 else f"{value:.3g}")


def _plain(measured: Measured) -> str:
    return "–" if measured.value is None else f"{measured.value:#.3g}".rstrip(".")


def price_values(advice: PriceAdvice) -> dict[str, Any]:
    """Return the advice as plain values; an infinite ratio is null, with `missed` above 0."""
    return {
        "path": advice.path,
        "within": advice.within,
        "success": advice.success,
        "found": advice.answer is not None,
        "value": None if advice.answer is None else advice.answer.value,
        "answer": _price_row(advice.answer),
        "next_step": _price_row(advice.next_step),
        "reference": {"mechanism": advice.reference.what} | (_price_row(advice.reference.priced) or {}),
        "spent": None if advice.spent is None else advice.spent.total,
        "budget": None if advice.spent is None else advice.spent.stated,
        "monotone": advice.monotone,
        "releasable": advice.releasable,
        "seeds": advice.seeds,
        "tasks": list(advice.tasks),
        "enough_tasks": advice.enough_tasks,
        "runs": advice.runs,
        "tried": [_price_row(one) for one in advice.tried],
    }


def _price_row(one: Priced | None) -> dict[str, Any] | None:
    if one is None:
        return None
    keys = (*COLUMNS, "fixed_success", "fixed_cost")
    finite = one.ratio.value is not None and math.isfinite(one.ratio.value)
    return {
        "value": one.value if math.isfinite(one.value) else None,
        "cost_ratio": one.ratio.value if finite else None,
        "cost_ratio_low": one.ratio.low if finite else None,
        "cost_ratio_high": one.ratio.high if finite else None,
        "missed": one.missed,
        "enough": one.enough,
        **{key: one.average(key).value for key in keys},
    }
