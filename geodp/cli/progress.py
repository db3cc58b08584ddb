"""Progress bars, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodp.sweeps.prices import PriceProgress
    from geodp.sweeps.sweep import Progress


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
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


@contextmanager
def show_sweep(*, quiet: bool) -> Iterator[tuple[Callable[[Progress], None] | None, Callable[[str], None]]]:
    """Yield callbacks that show how far a sweep is (None: nobody watches) and which runs failed, as it happens."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True, soft_wrap=True)

    def complain(message: str) -> None:
        console.print(f"FAILED {message}", markup=False, highlight=False)

    if quiet or not sys.stderr.isatty():
        yield None, complain
        return
    columns = (TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("starting")

        def show(progress: Progress) -> None:
            left = progress.seconds_left()
            words = f"{progress.failed} failed" + (f", {duration(left)} left" if left is not None else "")
            bars.update(bar, total=progress.total, completed=progress.done + progress.failed, description=words)

        yield show, complain


@contextmanager
def show_prices(*, quiet: bool) -> Iterator[Callable[[PriceProgress], None] | None]:
    """Yield a callback that says each value's price as it is found, and how long the rest takes (None: be silent)."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True, soft_wrap=True)

    def left(progress: PriceProgress) -> str:
        seconds = progress.seconds_left()
        return "" if seconds is None else f", about {duration(seconds)} left"

    def tell(progress: PriceProgress) -> None:
        one = progress.finished
        if one is not None:
            ratio = "not reached" if one.missed else one.ratio.text(lambda value: f"{value:.3f}")
            count = f"{progress.done} of about {max(progress.total, progress.done)} calibrations{left(progress)}"
            console.print(f"epsilon {one.value:.4g}: {ratio}  ({count})", markup=False, highlight=False)
        elif progress.seconds and len(progress.seconds) == 2 * progress.workers:
            console.print(f"about {progress.total} calibrations{left(progress)}", markup=False, highlight=False)

    if not sys.stderr.isatty():
        yield tell
        return
    columns = (TextColumn("calibrating"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("")

        def show(progress: PriceProgress) -> None:
            tell(progress)
            total = max(progress.total, progress.done)
            bars.update(bar, total=total, completed=progress.done, description=left(progress).lstrip(", "))

        yield show


def duration(seconds: float) -> str:
    """Say a duration in the unit a person would use."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
