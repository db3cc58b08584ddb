"""Progress bars, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Yield a callback that shows phase and share done; silent when asked, or when nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield lambda _phase, _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("starting", total=1.0)
        yield lambda phase, share: bars.update(bar, description=phase, completed=share)
