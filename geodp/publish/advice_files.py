"""Advice about a publication in words, as a table, and as a picture of utility and price."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from geodp.publish.advice import EPSILONS, Price, PublicationAdvice

ON_DATA = (
    "NOT RELEASABLE: chosen on the private file. What is chosen tells of the data; use it to learn, not to publish."
)
_WHAT = {
    "zone-hour": "zones with {above:,.0f} people in an hour",
    "zone-day": "zones with {above:,.0f} people at a time, over a day",
    "zone-all": "zones with {above:,.0f} people at a time, over {days} days",
    "od-day": "flows of {above:,.0f} trips a day",
    "od-all": "flows of {above:,.0f} trips a day, over {days} days",
}


def describe_advice(advice: PublicationAdvice) -> str:
    """Say the answer, what it costs in words, and the table.

    Parameters
    ----------
    advice
        The answer.
    """
    asked, lines = advice.question, [ON_DATA] if advice.private else []
    what = _WHAT[asked.table].format(above=asked.above, days=asked.days)
    if asked.publication == "counts":
        what = f"places with {asked.above:,.0f} visits"
    wanted = f"a median relative error of at most {100 * asked.error:.3g} % for {what}"
    if advice.answer is None:
        lines.append(f"No ε up to 10,000 gives {wanted}: ask for larger places, or for days instead of hours.")
    else:
        lines += [f"{_say_budget(advice, advice.answer)} gives {wanted}.", _say_price(advice, advice.answer)]
    if advice.private:
        found = advice.measured
        lines.append(f"{found['numbers']:,} of {found['of']:,} numbers in the file are as large (median "
                     f"{found['median']:,.0f}).")  # fmt: skip
    else:
        paid = f"The number of people was paid with ε = {asked.paid:g}; nothing else of the file decided."
        lines.append(paid if asked.paid else "No private file was read: noise follows from public settings alone.")
    lines += ["", *_say_table(advice.prices)]
    if advice.caps:
        caps = (f"{cap}: " + ("none" if epsilon is None else f"ε {epsilon:.3g}") for cap, epsilon in advice.caps)
        of = "visits" if asked.publication == "counts" else "trips"
        lines += ["", f"With another cap on {of}: {', '.join(caps)}. A smaller cap leaves more out."]
    if advice.sizes:
        lines += ["", "side of a zone   zones   people each   median error"]
        lines += [
            f"{one['side_km']:>11.3g} km {one['zones']:>7,.0f} {one['people']:>13,.0f} {100 * one['error']:>12.3g} %"
            for one in advice.sizes
        ]
    return "\n".join(lines)


def _say_budget(advice: PublicationAdvice, price: Price) -> str:
    asked = advice.question
    if asked.pure or asked.publication == "counts":
        return f"ε = {price.epsilon:.4g}"
    return f"ε = {price.epsilon:.4g} at δ = {asked.delta:g} (ρ = {price.rho:.4g}) for a {asked.unit}"


def _say_price(advice: PublicationAdvice, price: Price) -> str:
    days = advice.question.days
    if advice.question.publication == "counts":
        return (
            f"Price: a 50:50 guess whether someone is in the data is right in at most {100 * price.risk_all:.3g} % of "
            f"cases (advantage {price.advantage:.3g})."
        )
    return (
        f"Price: a 50:50 guess whether someone was there that day is right in at most {100 * price.risk_day:.3g} % of "
        f"cases, in a week {100 * price.risk_week:.3g} %, in all {days} days {100 * price.risk_all:.3g} % (advantage "
        f"{price.advantage:.3g})."
    )


def _say_table(prices: tuple[Price, ...]) -> list[str]:
    head = "       ε          ρ   noise (sd)   median error   guess: day    week     all   advantage"
    return [head] + [
        f"{one.epsilon:>8.4g} {one.rho:>10.4g} {one.deviation:>12,.4g} {100 * one.error:>12.3g} % "
        f"{100 * one.risk_day:>10.3g} % {100 * one.risk_week:>5.3g} % {100 * one.risk_all:>5.3g} % "
        f"{one.advantage:>11.3g}"
        for one in prices
    ]


def list_values(advice: PublicationAdvice) -> dict[str, Any]:
    """Return the advice as plain values.

    Parameters
    ----------
    advice
        The answer.
    """

    def plain(price: Price | None) -> dict[str, float] | None:
        return None if price is None else asdict(price) | {"advantage": price.advantage}

    return {
        "releasable": not advice.private,
        "chosen_on_private_data": advice.private,
        "question": asdict(advice.question),
        "answer": plain(advice.answer),
        "prices": [plain(one) for one in advice.prices],
        "caps": [{"cap": cap, "epsilon": epsilon} for cap, epsilon in advice.caps],
        "sizes": list(advice.sizes),
        "measured": advice.measured,
    }


def write_advice(folder: Path, advice: PublicationAdvice) -> list[Path]:
    """Write the advice as text, table, values and picture; return the files.

    Parameters
    ----------
    folder
        Where: made if it is not there.
    advice
        The answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    values = list_values(advice)
    (folder / "advice.txt").write_text(describe_advice(advice) + "\n", encoding="utf-8")
    (folder / "advice.json").write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with (folder / "advice.csv").open("w", encoding="utf-8", newline="") as file:
        rows = values["prices"]
        stamp = {"chosen_on_private_data": advice.private}
        writer = csv.DictWriter(file, [*rows[0], *stamp])
        writer.writeheader()
        writer.writerows(row | stamp for row in rows)
    draw_advice(advice).savefig(folder / "advice.png", dpi=120)
    return [folder / f"advice.{ending}" for ending in ("txt", "json", "csv", "png")]


def draw_advice(advice: PublicationAdvice) -> Any:
    """Return a figure of two panels: the median relative error, and what a guess is right in, against ε.

    Parameters
    ----------
    advice
        The answer.
    """
    from matplotlib.figure import Figure

    asked, prices = advice.question, advice.prices
    figure = Figure(figsize=(10.4, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    epsilons = [one.epsilon for one in prices]
    left.plot(epsilons, [100 * one.error for one in prices], "o-", color="#0072B2")
    left.axhline(100 * asked.error, color="#009E73", linewidth=1, label=f"wanted: {100 * asked.error:.3g} %")
    left.set(xscale="log", yscale="log", xlabel="ε", ylabel="median relative error, %")
    left.set_title("Utility", loc="left")
    left.legend(frameon=False)
    risks = {"of a day": "risk_day", "of a week": "risk_week", f"of {asked.days} days": "risk_all"}
    for (words, name), style in zip(risks.items(), ("o-", "s--", "^:"), strict=True):
        right.plot(epsilons, [100 * getattr(one, name) for one in prices], style, label=words)
    right.set(xscale="log", xlabel="ε", ylabel="right guesses at most, %", ylim=(49, 101))
    right.set_title("Price: was she there?", loc="left")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(visible=True, alpha=0.3)
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.minorticks_off()
        if advice.answer is not None:
            epsilon = advice.answer.epsilon
            axes.axvline(epsilon, color="black", linewidth=1, linestyle=":")
            axes.annotate(f"{epsilon:.3g}", (epsilon, axes.get_ylim()[0]), xytext=(5, 8), textcoords="offset points",
                          fontweight="bold")  # fmt: skip
    if advice.private:
        figure.text(0.5, 0.5, "NOT RELEASABLE: chosen on the private file", ha="center", color="#D55E00", fontsize=13)
    return figure
