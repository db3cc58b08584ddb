"""Messages of the commands in the words of Python: where a command line says `--cap N`, a call says `cap=N`."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from geodp.errors import DataWarning, GeodpError

_SPELT = {
    "--region W,S,E,N": "region=(west, south, east, north)",
    "--column user out": "columns={'user': …} out",
    "--map": "map_file",
}
_RULES = (
    (r"--from\b", "first"),
    (r"--to\b(?!-)", "last"),
    (r"--(venue-)?column (\w+)=NAME", lambda found: f"{_name(found[1] or '')}columns={{'{found[2]}': NAME}}"),
    (r"--mode (\w+)", r"mode='\1'"),
    (r"--set (\w+)=([\w.]+)", r"settings={'\1': \2}"),
    (r"--(force|leave-out|one-row-per-person)", lambda found: f"{_name(found[1])}=True"),
    (r"--([a-z][a-z-]*) (FILE|DIR|[A-Z])\b", lambda found: f"{_name(found[1])}=…"),
    (r"--set\b", "settings"),
    (r"--([a-z][a-z-]*[a-z])", lambda found: _name(found[1])),
)


def _name(option: str) -> str:
    return option.replace("-", "_")


def spell_in_python(text: str) -> str:
    """Return a message with options of commands spelt as arguments of a call."""
    for option, argument in _SPELT.items():
        text = text.replace(option, argument)
    for pattern, spelling in _RULES:
        text = re.sub(pattern, spelling, text)
    return text


@contextlib.contextmanager
def python_words(*names: tuple[str, str]) -> Iterator[None]:
    """Let errors that are raised inside speak of arguments instead of options.

    Parameters
    ----------
    *names
        Names of files that the caller never saw, each with what it stands for.
    """
    try:
        yield
    except GeodpError as error:
        error.args = tuple(_reword(part, names) if isinstance(part, str) else part for part in error.args)
        raise


def warn_in_python(texts: Iterable[str], *names: tuple[str, str]) -> tuple[str, ...]:
    """Warn of each text, in the words of Python, and return them as they were said."""
    said = tuple(_reword(text, names) for text in dict.fromkeys(texts))
    for text in said:
        warnings.warn(text, DataWarning, stacklevel=_count_own_frames() + 1)
    return said


def _count_own_frames() -> int:
    """Return how many calls lie between the caller's line, which a warning is about, and the one that warns."""
    package, frame, depth = str(Path(__file__).parent.parent), sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith((package, contextlib.__file__)):
        frame, depth = frame.f_back, depth + 1
    return depth - 1


def _reword(text: str, names: Iterable[tuple[str, str]]) -> str:
    for name, meant in names:
        text = text.replace(name, meant)
    return spell_in_python(text)
