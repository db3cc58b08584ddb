"""What was dropped, guessed or clipped on the way: said aloud where people look, and never while releasing.

`notice` is the one way to say it. A run puts what it gathered under *Take care* in its summary, commands print it.
While releasing nothing is said, since it follows from private data, and nothing may be guessed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from geodp.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger("geodp")


@dataclass(frozen=True)
class _Ears:
    """Who listens to notices at the moment."""

    heard: tuple[list[str], ...] = ()
    releasing: bool = False


_NOBODY = _Ears()
_ears: ContextVar[_Ears] = ContextVar("geodp_notices", default=_NOBODY)


def notice(text: str) -> None:
    """Say that something was dropped, clipped or derived; in a release nobody hears it."""
    ears = _ears.get()
    if ears.releasing:
        return
    log.log(logging.INFO if ears.heard else logging.WARNING, "%s", text)  # nobody gathers it: the log must show it
    for texts in ears.heard:
        if text not in texts:
            texts.append(text)


def guess(text: str, *, instead: str) -> None:
    """Say what was guessed; a release guesses nothing, and asks for what is to be stated `instead`."""
    if _ears.get().releasing:
        raise DataError(f"{text} A release guesses nothing: {instead}.")
    notice(text)


def notice_cap(kind: str, counts: npt.NDArray[np.int64], cap: int | None, what: str) -> None:
    """Say how much a cap on what one person contributes leaves out; `counts` has a number per person."""
    if cap is None:
        return
    if beyond := int((counts - cap).clip(min=0).sum()):
        total, people = int(counts.sum()), int((counts > cap).sum())
        notice(
            f"{kind}: {beyond:,} of {total:,} {what} are beyond the cap of {cap:,} per person and are not used "
            f"({people:,} people have more)."
        )


@contextmanager
def gather_notices() -> Iterator[list[str]]:
    """Gather what is noticed inside; who gathers further out hears it, too."""
    ears, texts = _ears.get(), list[str]()
    token = _ears.set(_Ears((*ears.heard, texts), ears.releasing))
    try:
        yield texts
    finally:
        _ears.reset(token)


@contextmanager
def silence_notices() -> Iterator[None]:
    """Say nothing and guess nothing inside: whatever one could say follows from private data."""
    token = _ears.set(_Ears((), releasing=True))
    try:
        yield
    finally:
        _ears.reset(token)
