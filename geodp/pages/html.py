"""HTML that holds others' words as words: whatever is not HTML already is escaped, and there are no templates."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from urllib.parse import quote

from geodp.storage.markdown import printable

_VOID = frozenset({"img", "meta", "br"})
_SHAPES = frozenset({"line", "rect", "circle"})  # of SVG: they have to be closed
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")


class Html(str):
    """A text that is HTML already: made by `build_element` and `join_html`, never from a user's words.

    Examples
    --------
    >>> from geodp.pages.html import build_element
    >>> print(build_element("p", "1 < 2", class_="note"))
    <p class="note">1 &lt; 2</p>
    """

    __slots__ = ()


Part = str | int | float | None
"""What may stand in an element: `Html` as it is, anything else escaped, None not at all."""


def escape(part: Part) -> Html:
    """Return what may stand between tags: HTML as it is, everything else as the words it is."""
    if part is None:
        return Html("")
    return part if isinstance(part, Html) else Html(html.escape(printable(part), quote=True))


def join_html(parts: Iterable[Part], between: str = "") -> Html:
    """Return parts one after the other."""
    return Html(str(escape(between)).join(escape(part) for part in parts if part is not None))


def build_element(tag: str, *parts: Part, **attributes: str | float | bool | None) -> Html:
    """Build an element.

    Parameters
    ----------
    tag
        Its name.
    parts
        What stands in it; whatever is not `Html` is escaped.
    attributes
        `class_` is `class`, `data_sort` is `data-sort`; None or False leaves one out, True has no value.

    Returns
    -------
    Html
        The element.

    Raises
    ------
    ValueError
        If the name of the tag or of an attribute is none.

    Examples
    --------
    >>> from geodp.pages.html import build_element
    >>> print(build_element("td", build_element("b", "a & b"), data_sort=3))
    <td data-sort="3"><b>a &amp; b</b></td>
    """
    shown = [tag]
    for name, value in attributes.items():
        plain = name.rstrip("_").replace("_", "-")
        if not _NAME.fullmatch(plain):
            raise ValueError(f"not the name of an attribute: {name!r}")
        if value is None or value is False:
            continue
        shown.append(plain if value is True else f'{plain}="{html.escape(printable(value), quote=True)}"')
    if not _NAME.fullmatch(tag):
        raise ValueError(f"not the name of an element: {tag!r}")
    if tag in _SHAPES:
        return Html(f"<{' '.join(shown)}/>")
    opened = f"<{' '.join(shown)}>"
    return Html(opened if tag in _VOID else f"{opened}{join_html(parts)}</{tag}>")


def build_link(words: Part, path: str) -> Html:
    """Build a link to a file beside the page, whatever signs its name holds: never to another host."""
    return build_element("a", words, href="./" + quote(path, safe="/._-"))


_MARK = re.compile(
    r"\\(?P<plain>.)|(?P<fence>`+)(?P<code>.+?)(?<!`)(?P=fence)(?!`)|\*\*(?P<strong>.+?)\*\*|"
    r"(?<![\w*])\*(?P<em>[^*\s][^*]*?)\*(?!\w)|(?P<entity>&(?:lt|amp|#\d{1,6});)"
)


def render_line(text: str) -> Html:
    """Return a line of our own Markdown (bold, emphasis, code, escaped signs) as HTML; tags in it are shown as text."""
    found: list[Html] = []
    at = 0
    for mark in _MARK.finditer(text):
        found.append(escape(text[at : mark.start()]))
        at = mark.end()
        if mark["plain"] is not None:
            found.append(escape(mark["plain"]))
        elif mark["code"] is not None:
            found.append(build_element("code", mark["code"].strip().replace("\\|", "|")))
        elif mark["strong"] is not None:
            found.append(build_element("strong", render_line(mark["strong"])))
        elif mark["em"] is not None:
            found.append(build_element("em", render_line(mark["em"])))
        else:
            found.append(escape(html.unescape(mark["entity"])))
    return join_html([*found, escape(text[at:])])
