"""What adversaries find, in plain sentences: out of 100 people, how many, beside chance and what nobody can exceed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from geodp.attacks.traces import BACKGROUND
from geodp.pages.quantity import quantity
from geodp.runs.findings import FoundScore

LAST_LINE = "Others may find more; only the bound is promised."
_KNOWN = {
    (): "sees what was released, and knows nothing else,",
    ("prior",): "knows public counts",
    ("streets",): "knows the street map",
    ("past",): "knows everybody's traces of an earlier period",
    ("points",): "knows a few true points of a person",
    ("companions",): "knows who moves with whom",
    ("traces",): "knows everybody's traces, and not who of them is in,",
    ("others",): "knows everything about everybody else",
}
_STRENGTH = list(BACKGROUND)


def strength(score: FoundScore) -> int:
    """Return how strong the background of an adversary is: the weakest first."""
    return max((1 + _STRENGTH.index(name) for name in score.knows if name in _STRENGTH), default=0)


def out_of_100(share: float) -> str:
    """Say a share as people out of 100."""
    if 0 < share < 0.005:
        return "fewer than 1"
    return f"{share * 100:.0f}"


def sentence(score: FoundScore) -> str | None:
    """Say one number in one plain sentence (None: it is no share of people)."""
    if score.value is None:
        return None
    knowing = _KNOWN.get(score.knows, f"knows {', '.join(score.knows)}")
    least = "" if score.bound is None else f", at most {out_of_100(score.bound)}"
    chance = "" if score.chance is None else f" (chance {out_of_100(score.chance)}{least})"
    who, found = f"Out of 100 people, an adversary who {knowing}", out_of_100(score.value)
    near = "near where they were" if score.within_m is None else f"within {quantity(score.within_m, 'm')}"
    told = {
        "auc": f"Of 100 people who are in, each beside one who is not, an adversary who {knowing} tells {found} apart",
        "hit_rate": f"{who} finds {found} {near}",
        "right": f"{who} knows {found} again under another name",
        "unique": f"{who} singles out {found} for certain",
        "hours_right": f"Of 100 hours of somebody's track an adversary who {knowing} gets {found} right",
        "found": f"{who} and posts tasks of her own finds {found}",
    }
    if score.about == "pair":
        told["auc"] = f"Of 100 pairs who move together, each beside one who does not, an adversary tells {found} apart"
        told["right"] = f"Of the 100 pairs that an adversary names first, {found} move together"
    if score.score not in told:
        return None
    after = f", {score.release.partition(':')[0]}" if score.release.startswith("after ") else ""
    return f"{told[score.score]}{after}{chance}, by {score.attack.replace('_', ' ')}."


def risk_sentences(found: Iterable[FoundScore]) -> list[str]:
    """Return the sentences, weakest background first, and the last line ([]: nothing could be said)."""
    ordered = sorted(found, key=lambda score: (strength(score), score.release))
    said = [text for score in ordered if (text := sentence(score)) is not None]
    return [*dict.fromkeys(said), LAST_LINE] if said else []


def score_line(score: FoundScore) -> str:
    """Return one number on one line, for the terminal."""
    name = f"{score.key} ({score.release}" + (f", knows {', '.join(score.knows)})" if score.knows else ")")
    if score.value is None:
        return f"{name}: {score.note or 'not scored'}"
    unit = "m" if score.score.endswith("_m") else "share"

    def show(value: float) -> str:
        return quantity(value, "m") if unit == "m" else f"{value:.3f}"

    interval = "" if score.low is None or score.high is None else f" ({show(score.low)} to {show(score.high)})"
    parts = [f"{name}: {show(score.value)}{interval}"]
    parts += [f"chance {show(score.chance)}"] if score.chance is not None else []
    parts += [f"bound {show(score.bound)}"] if score.bound is not None else ["no bound"]
    parts += [score.note] if score.note else []
    return "; ".join(parts)


def people_picture(share: float, *, bound: float | None = None, per_row: int = 20) -> str:
    """Draw 100 small people, of whom as many are coloured, as SVG; a bound is a line after the last that it allows."""
    coloured, parts, step_x, step_y = round(share * 100), [], 14, 27
    for number in range(100):
        x, y = number % per_row * step_x + 7, number // per_row * step_y + 6
        fill = "#b2182b" if number < coloured else "#b9bec5"
        parts.append(
            f'<g fill="{fill}"><circle cx="{x}" cy="{y}" r="3.6"/>'
            f'<path d="M{x - 4.5} {y + 16}v-7a4.5 4.5 0 0 1 9 0v7z"/></g>'
        )
    if bound is not None and bound < 1:
        last = round(bound * 100)
        x, y = last % per_row * step_x, last // per_row * step_y
        parts.append(f'<path d="M{x} {y}v{step_y - 3}" stroke="#1f4e79" stroke-width="2"/>')
    width, height = step_x * per_row, step_y * -(-100 // per_row)
    size = f'width="{2 * width}" height="{2 * height}" viewBox="-2 0 {width + 4} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def weakest_first(found: Sequence[FoundScore]) -> list[FoundScore]:
    """Return the numbers in the order in which they are told."""
    return sorted(found, key=lambda score: (strength(score), score.release, score.score))
