"""How far long work is, told to whoever watches; nobody does, unless a command shows a line of progress.

Reading tells it for every file, by the share of its rows. What is told goes to the screen of whoever holds the data and
nowhere else: it is part of no release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Watch = Callable[[str, float], None]
"""Called with a phase and the share of it that is done."""
T = TypeVar("T")
READING = "reading"
"""The phase in which a file is read."""
_watch: ContextVar[Watch | None] = ContextVar("geodp_progress", default=None)


def tell_progress(phase: str, share: float) -> None:
    """Tell how far a phase is (0 to 1), where somebody watches."""
    watch = _watch.get()
    if watch is not None:
        watch(phase, min(max(share, 0.0), 1.0))


def is_watched() -> bool:
    """Tell whether somebody watches: what costs time to find out is found out for them only."""
    return _watch.get() is not None


def go_through(phase: str, items: Sequence[T]) -> Iterator[T]:
    """Yield items one after the other, telling how far it is.

    Examples
    --------
    >>> from geodp.tables.progress import go_through, watch_progress
    >>> seen = []
    >>> with watch_progress(lambda phase, share: seen.append(share)):
    ...     _ = list(go_through("counting", "ab"))
    >>> seen
    [0.0, 0.5, 1.0]
    """
    for number, item in enumerate(items):
        tell_progress(phase, number / len(items))
        yield item
    tell_progress(phase, 1.0)


@contextmanager
def watch_progress(watch: Watch) -> Iterator[None]:
    """Hear what is told inside."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def count_rows(phase: str, batches: Iterable[T], rows: Callable[[T], int], total: Callable[[], float]) -> Iterator[T]:
    """Yield batches, telling how many rows of a file (about `total`) have been read."""
    if not is_watched():
        yield from batches
        return
    expected, read = max(total(), 1.0), 0
    tell_progress(phase, 0.0)
    for batch in batches:
        yield batch
        read += rows(batch)
        tell_progress(phase, min(read / expected, 1.0))
