"""Words of others in our Markdown pages: they are shown as written, and never become markup or HTML."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)")
_FIRST = re.compile(r"^([-+#=>]|\d+(?=[.)](\s|$)))")
_ENTITY = re.compile(r"&(?=[#\w])")
_TAG = re.compile(r"<(?=\S)")


def as_words(text: object) -> str:
    """Return a text as one line of Markdown that shows it as it was written.

    What could be emphasis, code, a link, a picture, a cell of a table, a formula or HTML is escaped, and so is a first
    sign that would make a list or a heading.
    """
    line = " ".join(printable(text).split())
    line = _SIGNS.sub(lambda sign: "\\" + sign[0], line)
    line = _TAG.sub("&lt;", _ENTITY.sub("&amp;", line))
    return _FIRST.sub(lambda sign: _escape_number(sign[0]) if sign[0].isdigit() else "\\" + sign[0], line)


def as_code(text: object) -> str:
    """Return a text as one span of code, whatever backticks it holds; it may stand in a table."""
    line = " ".join(printable(text).split()).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    if not longest and line:
        return f"`{line}`"
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}"


def printable(text: object) -> str:
    """Return text without signs that steer a terminal or turn the line around."""
    return "".join(sign if sign.isprintable() or sign.isspace() else "\ufffd" for sign in str(text))


def _escape_number(digits: str) -> str:
    """Return a number at the start of a line that makes no numbered list: its last digit as an entity."""
    return f"{digits[:-1]}&#{ord(digits[-1])};"
