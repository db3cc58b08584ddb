"""The parts of a page: header, answer, sortable table, figure, fold, footer, and the page that holds them.

A page is one file. It loads nothing, runs one script of ours (named by its hash in the page's policy, so no other
can), and is made for screens, phones, paper and the dark.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from geodp._version import __version__
from geodp.metrics import Measured
from geodp.pages.html import Html, Part, build_element, escape, join_html
from geodp.pages.labels import Label
from geodp.pages.quantity import UNDEFINED

STAMP = "simulated: not releasable"


def build_page(title: str, *parts: Part, scripts: Sequence[str] = ()) -> str:
    """Build a whole page.

    Parameters
    ----------
    title
        What the window is called.
    parts
        The parts, from the top.
    scripts
        Names of further scripts of ours that its parts need.

    Returns
    -------
    str
        One HTML file that asks for nothing.

    Examples
    --------
    >>> from geodp.pages.parts import build_header, build_page
    >>> page = build_page("a <b>", build_header("a <b>", kicker="Sweep"))
    >>> "<title>a &lt;b&gt;</title>" in page, "http" in page
    (True, False)
    """
    style, ours = _asset("page.css"), [_asset(name) for name in ("page.js", *scripts)]
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {' '.join(map(_hash, ours))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = build_element(
        "head",
        build_element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        build_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        build_element("meta", name="referrer", content="no-referrer"),
        build_element("title", title),
        Html(f"<style>{style}</style>"),
    )
    said = build_element("div", id="said", class_="said", role="status")
    run = join_html(
        Html(f"<script>{script}</script>") for script in reversed(ours)
    )  # the last one says that the page is ready
    body = build_element("body", join_html(parts, "\n"), said, run)
    return f'<!doctype html>\n<html lang="en">{head}\n{body}</html>\n'


@cache
def _asset(name: str) -> str:
    return (files("geodp.pages") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def build_header(title: str, *, kicker: str, question: str = "", facts: Part = None) -> Html:
    """Build the head of a page: what it is, its title, the question, and the facts that a reader needs first."""
    return build_element(
        "header",
        build_element("p", kicker, class_="kicker"),
        build_element("h1", title),
        build_element("p", question, class_="question") if question else None,
        build_element("p", facts, class_="facts") if facts else None,
    )


def build_answer(sentences: Sequence[Part], *, title: str = "The answer") -> Html:
    """Build the box that answers the question in words."""
    items = join_html(build_element("li", sentence) for sentence in sentences)
    return build_element(
        "section", build_element("h2", title), build_element("ul", items), class_="answer", aria_label=title
    )


def build_warning(*paragraphs: Part) -> Html:
    """Build a box for what a reader must not miss."""
    inside = join_html(build_element("p", paragraph) for paragraph in paragraphs)
    return build_element("section", inside, class_="warn", role="note")


def build_section(title: str, *parts: Part) -> Html:
    """Build a section under a heading."""
    return build_element("section", build_element("h2", title), *parts)


def build_list(items: Iterable[Part]) -> Html:
    """Build a list of points."""
    return build_element("ul", join_html(build_element("li", item) for item in items))


def build_fold(title: str, *parts: Part, is_open: bool = False) -> Html:
    """Build a part that is folded away until somebody wants it; print opens it."""
    return build_element("details", build_element("summary", title), *parts, open=is_open)


def build_commands(*lines: str) -> Html:
    """Build a block of commands to type."""
    return build_element("pre", build_element("code", "\n".join(lines)))


def build_figure(svg: bytes, *, alt: str, caption: Part = None, is_wide: bool = False) -> Html:
    """Build a figure from a drawing in SVG, which travels inside the page."""
    source = "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
    return build_element(
        "figure",
        build_element("img", src=source, alt=alt),
        build_element("figcaption", caption) if caption is not None else None,
        class_="figure wide" if is_wide else "figure",
    )


def build_figures(figures: Iterable[Part]) -> Html:
    """Build figures side by side where there is room."""
    return build_element("div", *figures, class_="figures")


def build_footer(*, promise: Part, made: Part = None) -> Html:
    """Build the foot of a page: what is promised, and the stamp that nothing of it may be released."""
    return build_element(
        "footer",
        build_element("p", build_element("span", STAMP, class_="stamp")),
        build_element("p", promise),
        build_element("p", made if made is not None else f"Made with geodp {__version__}."),
    )


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Parameters
    ----------
    text
        What it shows.
    sort
        What it is sorted by (None: nothing, last in either order; default: its text).
    """

    text: Part
    sort: float | str | None = ""

    def build(self, *, words: bool) -> Html:
        """Build the cell."""
        sort = self.sort
        if isinstance(sort, float | int):
            shown: str | None = f"{sort:.17g}" if math.isfinite(sort) else ("1e999" if sort > 0 else "")
        else:
            shown = "" if sort is None else (sort or None)
        return build_element("td", self.text, data_sort=shown, class_="words" if words else None)


@dataclass(frozen=True)
class Column:
    """One column of a table: its heading, an explanation, and whether it holds words (left) or numbers (right)."""

    heading: Part
    about: str = ""
    words: bool = False
    sorts: bool = True


@dataclass(frozen=True)
class Row:
    """One row of a table; `marked` ones stand out."""

    entries: Sequence[Entry]
    marked: bool = False


@dataclass
class Scale:
    """The range of one column's intervals, on which they are drawn."""

    low: float = math.inf
    high: float = -math.inf
    zero: bool = field(default=False)
    """Whether zero is drawn: for differences."""

    def include(self, measured: Measured) -> None:
        """Widen the range so that an interval fits."""
        for end in measured.ends():
            if math.isfinite(end):
                self.low, self.high = min(self.low, end), max(self.high, end)
        if self.zero and math.isfinite(self.low):
            self.low, self.high = min(self.low, 0.0), max(self.high, 0.0)

    def place(self, value: float) -> float:
        """Return where a value stands, between 2 and 98."""
        if self.high <= self.low:
            return 50.0
        return round(2 + 96 * (value - self.low) / (self.high - self.low), 2)


def build_measured(label: Label, measured: Measured, scale: Scale | None = None, *, signed: bool = False) -> Entry:
    """Build the cell of a number: its value, its interval beneath, and a bar on the scale of its column."""
    text = label.value(measured, signed=signed)
    value, _, interval = text.partition(" (")
    if value == UNDEFINED:
        return Entry(UNDEFINED, None)
    parts: list[Part] = [build_element("strong", value)]
    if interval:
        parts.append(build_element("span", f"{interval.rstrip(')')}", class_="range"))
    if scale is not None and measured.value is not None and math.isfinite(measured.value) and scale.high > scale.low:
        parts.append(_bar(measured, scale))
    return Entry(join_html(parts), measured.value)


def _bar(measured: Measured, scale: Scale) -> Html:
    low, high = measured.ends()
    at = scale.place(float(measured.value or 0.0))
    line = {"stroke": "currentColor", "vector_effect": "non-scaling-stroke"}
    shown = [
        build_element("line", x1=2, x2=98, y1=5, y2=5, stroke_width=1, stroke_opacity=0.25, **line),
        build_element("line", x1=scale.place(low), x2=scale.place(high), y1=5, y2=5, stroke_width=2, **line),
        build_element("line", x1=at, x2=at, y1=0.5, y2=9.5, stroke_width=3, **line),
    ]
    if scale.zero:
        zero = scale.place(0.0)
        shown.insert(0, build_element("line", x1=zero, x2=zero, y1=0, y2=10, stroke_width=1, **line))
    return build_element(
        "svg", *shown, class_="bar", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true"
    )


def build_table(columns: Sequence[Column], rows: Sequence[Row], *, caption: Part = None, name: str = "Table") -> Html:
    """Build a table that sorts by its headings, with mouse or keyboard, and scrolls by itself where it is wide."""
    headings = [
        build_element(
            "th",
            build_element("button", column.heading, type="button") if column.sorts else escape(column.heading),
            scope="col",
            class_="words" if column.words else None,
            title=column.about or None,
            aria_sort="none" if column.sorts else None,
        )
        for column in columns
    ]
    body = [
        build_element(
            "tr",
            *(entry.build(words=column.words) for column, entry in zip(columns, row.entries, strict=True)),
            class_="marked" if row.marked else None,
        )
        for row in rows
    ]
    table = build_element(
        "table",
        build_element("caption", build_element("span", caption, class_="beneath")) if caption is not None else None,
        build_element("thead", build_element("tr", *headings)),
        build_element("tbody", join_html(body, "\n")),
    )
    return build_element("div", table, class_="scroll", tabindex=0, role="region", aria_label=name)
