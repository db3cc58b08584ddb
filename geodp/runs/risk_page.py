"""The page about risk: what adversaries find of 100 people, in sentences and pictures, the weakest of them first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geodp.pages.html import Html, Part, build_element, join_html
from geodp.pages.parts import (
    build_answer,
    build_figure,
    build_figures,
    build_footer,
    build_header,
    build_page,
    build_section,
)
from geodp.runs.adversaries import findings_of
from geodp.runs.findings import FoundScore
from geodp.runs.risk import LAST_LINE, people_picture, score_line, sentence, weakest_first
from geodp.storage.files import write_text_whole

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

RISK_PAGE = "risk.html"


def write_risk_page(run: RunFolder, path: Path | None = None) -> Path:
    """Write the page of a run, or of all arms of a comparison: `risk.html` in its folder, or `path`."""
    path = path if path is not None else run.path / RISK_PAGE
    write_text_whole(path, build_risk_page(run))
    return path


def build_risk_page(run: RunFolder) -> str:
    """Build the page; it needs no other file and no network."""
    arms = run.arms or {"": run}
    sections: list[Part] = []
    found = {name: weakest_first(findings_of(arm)) for name, arm in arms.items()}
    for name, scores in found.items():
        figures = [_picture(score) for score in scores]
        left_out = [score_line(score) for score in scores if score.value is None]
        drawn = [figure for figure in figures if figure is not None]
        parts: list[Part] = [build_figures(drawn)] if drawn else []
        if not parts:
            parts.append(build_element("p", "No adversary has tried, or none could be scored."))
        parts += [build_element("p", text) for text in left_out]
        sections.append(build_section(name or "What was released", *parts))
    return build_page(
        f"Risk: {run.scenario.name}",
        build_header(
            run.scenario.name,
            kicker="What adversaries find",
            question="Of 100 people, how many does an adversary find, or tell that they are in?",
        ),
        build_answer([LAST_LINE], title="Before you read on"),
        *sections,
        build_footer(promise=_promise(found)),
    )


def _promise(found: dict[str, list[FoundScore]]) -> str:
    bounded = any(score.bound is not None for scores in found.values() for score in scores)
    if bounded:
        return f"Bounds follow from the promises of the releases, and hold against anybody. {LAST_LINE}"
    return f"None of these releases bounds what an adversary may find. {LAST_LINE}"


def _picture(score: FoundScore) -> Html | None:
    """Return a sentence with 100 small people (None: the number is no share of people)."""
    text = sentence(score)
    if text is None or score.value is None:
        return None
    drawing = people_picture(score.value, bound=score.bound)
    caption = join_html([text, f" {score.note}." if score.note else ""])
    return build_figure(drawing.encode(), alt=text, caption=caption)
