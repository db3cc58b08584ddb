"""Names that become names of folders and files, and stand in pages and tables: one rule for all of them."""

from __future__ import annotations

import re

LONGEST = 120
"""Letters of a name; with a seed and a suffix it still fits what file systems allow."""
RULE = "letters, digits, '-', '_' and '.', beginning with a letter, a digit or '_'"


def require_name(value: object, what: str = "") -> str:
    """Return a name that is safe wherever it is put, or raise.

    A folder is called after it: `..`, a slash or a leading dot would put files elsewhere, or hide them.

    Parameters
    ----------
    value
        The name, as it was written.
    what
        What bears the name, for the message.

    Raises
    ------
    ValueError
        If it is no such name.
    """
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]*", value):
        raise ValueError(f"{what} must be {RULE}, got {_format_value(value)}".strip())
    if len(value) > LONGEST:
        raise ValueError(f"{what} must have at most {LONGEST} letters, got {len(value)}".strip())
    return value


def _format_value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
