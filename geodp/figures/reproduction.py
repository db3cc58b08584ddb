"""REPRODUCTION.md: for each figure what the paper claims, what we get, and whether that is the same.

The page is made of blocks, one per figure and panel, between comments that name them. A panel whose data are not here
keeps the block that was measured earlier, marked as such: numbers are never lost silently, and never invented.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from geodp._version import __version__
from geodp.figures.checks import Verdict
from geodp.figures.figure_file import FigureFile
from geodp.figures.make import MadeFigure, needs_text
from geodp.storage.files import write_text_whole
from geodp.storage.markdown import as_words

EARLIER = "*Measured earlier"
_BLOCK = re.compile(r"<!-- (?P<id>\S+) / (?P<panel>\S+) -->\n(?P<body>.*?)<!-- end -->", re.S)
_HEAD = """# What reproduces, and what does not

Made by `geodp figures` (`--all`, or `ID --record`) with geodp {version}. Each figure is one file in
[`scenarios/figures`](scenarios/figures); `geodp figures ID` makes one of them again and draws it.
*Ours* are means with 95 % intervals over repetitions with
different seeds. A claim about a trend counts as reproduced when the change between the two ends has an interval on the
right side of 0 and the line goes there steadily; a claim that one line is below another when the paired difference has
an interval below 0 and holds at three quarters of the places at least. Where a paper's data cannot be had, generated
ones stand in, and the figure says so. Lines called *printed* follow the formulas as the paper prints them, *corrected*
ones ours.

Read verdicts with three grains of salt. Repetitions are few, so *not reproduced* often means that a difference does not
stand out from chance. What follows *because*, beyond the number, is our explanation; it was not put to a test of its
own. And chapter 13 states neither the total reward W nor the slope c: of some seven settings tried (c from 2.5 to 25,
two ceilings of acceptance, tasks where people are or anywhere) we keep one that shows the book's picture of rejections,
and some verdicts depend on it.

Left out, with the reason: **PriTop** (Zhu et al. 2017, chapter 11; tags by a private topic model). Its clustering of
words into topics has no proof that holds, so there is no promise to keep or to refute by numbers; where the topics
are public categories it is `prilocation` with strata, and `epicrec` controls categories on the phone. What became of
every other system that the sources name stands [at the end](#systems-that-the-sources-name).
"""
_SYSTEMS = "## Systems that the sources name\n"
"""Heading of the last section, which no figure makes."""


def write_reproduction(
    path: Path,
    made: Sequence[MadeFigure],
    failed: Sequence[tuple[FigureFile, str]] = (),
    order: Sequence[str] = (),
) -> None:
    """Write the page, keeping earlier blocks of panels that could not be made this time."""
    old = earlier_blocks(path.read_text(encoding="utf-8")) if path.is_file() else {}
    sections = {figure.file.id: _section(figure.file, figure.verdicts, figure.absent, old) for figure in made}
    sections |= {file.id: _write_failed_section(file, error, old) for file, error in failed}
    _write(path, [sections[name] for name in order or sections])


def record_figures(path: Path, made: Sequence[MadeFigure], order: Sequence[str]) -> None:
    """Put these figures into the page and leave all others in it as they stand."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    old = earlier_blocks(text)
    parts = re.split(r"^(?=## \S+: )", text.partition(_SYSTEMS)[0], flags=re.M)[1:]
    sections = {part.split(": ", 1)[0].removeprefix("## "): part.rstrip("\n") + "\n" for part in parts}
    sections |= {figure.file.id: _section(figure.file, figure.verdicts, figure.absent, old) for figure in made}
    known = [name for name in order if name in sections]
    _write(path, [sections[name] for name in [*known, *(name for name in sections if name not in known)]])


def _write(path: Path, sections: Sequence[str]) -> None:
    body = "\n".join(sections)
    text = "\n".join([_HEAD.format(version=__version__), _totals(body), body, read_systems()])
    write_text_whole(path, text)


def read_systems() -> str:
    """Return the section about what became of every system that the sources name."""
    return resources.files("geodp").joinpath("templates/systems.md").read_text(encoding="utf-8")


def earlier_blocks(text: str) -> dict[tuple[str, str], str]:
    """Return the measured blocks of a page by figure and panel."""
    found = {(block["id"], block["panel"]): block["body"] for block in _BLOCK.finditer(text)}
    return {key: body for key, body in found.items() if "\n|" in body}


def _section(
    file: FigureFile, verdicts: Mapping[str, list[Verdict]], absent: Mapping[str, str], old: dict[tuple[str, str], str]
) -> str:
    """Return what is said about a figure: panels with verdicts, and those without, with the reason."""
    parts = [_make_heading(file)]
    for name in file.section.panels:
        made = name in verdicts
        parts.append(
            _block(file, name, _rows(verdicts[name]) if made else _keep_block(old.get((file.id, name)), absent[name]))
        )
    return "\n".join(parts)


def _write_failed_section(file: FigureFile, error: str, old: dict[tuple[str, str], str]) -> str:
    failed = f"could not be made this time: {as_words(error.strip().splitlines()[0])}"
    panels = file.section.panels.items()
    absent = {name: failed if panel.files() is not None else needs_text(panel.needs) for name, panel in panels}
    return _section(file, {}, absent, old)


def _make_heading(file: FigureFile) -> str:
    about = f"\n{as_words(file.about)}\n" if file.about else ""
    title, source = as_words(file.section.title), as_words(file.section.source)
    return f"## {file.id}: {title}\n\n{source}.\n{about}"


def _block(file: FigureFile, panel: str, body: str) -> str:
    title = as_words(file.section.panels[panel].title or panel)
    return f"<!-- {file.id} / {panel} -->\n**Data: {title}**\n\n{body}\n<!-- end -->\n"


def _keep_block(body: str | None, why: str) -> str:
    """Return the block as it was measured earlier, marked; or what is missing, when there is none."""
    if body is None:
        return f"Not measured: {why}."
    table = body.partition("\n\n")[2].strip("\n")
    if table.startswith(EARLIER):
        table = table.partition("\n\n")[2]
    return f"{EARLIER}; not this time ({why}).*\n\n{table}"


def _rows(verdicts: Sequence[Verdict]) -> str:
    lines = ["| the paper | line | ours | verdict |", "|---|---|---|---|"]
    claim, notes = "", []
    for verdict in verdicts:
        says = verdict.says if verdict.says != claim else "″"
        claim = verdict.says
        word = re.sub(r"^(not reproduced|reproduced|shown)", r"**\1**", as_words(verdict.word))
        cells = [*(as_words(text) for text in (says, verdict.line, verdict.ours)), word]
        lines.append("| " + " | ".join(cells) + " |")
        note = as_words(verdict.note)
        if note and note not in notes:
            notes.append(note)
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _totals(body: str) -> str:
    """Count the verdicts of the whole page."""
    yes, no = body.count("| **reproduced**"), body.count("| **not reproduced**")
    waiting = body.count("Not measured: ")
    text = f"**{yes + no} checks: {yes} reproduced, {no} not reproduced"
    return f"{text}; {waiting} panels without data.**\n" if waiting else f"{text}.**\n"
