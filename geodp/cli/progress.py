"""One line of progress with the time left, on a terminal only, for whatever takes more than two seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodp.sweeps.advise import Tried
    from geodp.sweeps.prices import PriceProgress
    from geodp.sweeps.sweep import Progress

Tell = Callable[[str, float], None]
"""Called with a phase and the share of it that is done."""
DELAY_S = 2.0
"""What ends sooner needs no progress."""
_LEAST_SHARE, _LEAST_S = 0.02, 1.0
"""Before so much is done, nobody knows how long the rest takes."""
RUN_PHASES = {"running": 0.6, "histories": 0.05, "publications": 0.1, "attacks": 0.1, "metrics": 0.1, "map": 0.05}
"""Phases of one run and, roughly, their shares of its time."""
AUDIT_PHASES = {"following pairs": 0.4, "sampling pairs": 0.6}
"""Phases of an audit and, roughly, their shares of its time."""
FILES_PHASES = {"following files": 1.0}
"""The one phase of an audit of a whole command."""
PUBLISH_PHASES = {"reading": 0.5, "working out": 0.4, "writing": 0.05, "map": 0.05}
"""Phases of a publication and, roughly, their shares of its time."""


class WholeShare:
    """How much of the whole is done, from phases that each tell about themselves alone.

    Parameters
    ----------
    phases
        Phases in their order, each with its rough share of the time.
    parts
        What goes through all phases one after the other (the arms of a comparison); a phase is then told as
        `part: phase`.
    """

    def __init__(self, phases: Mapping[str, float], parts: Sequence[str] = ("",)) -> None:
        total = sum(phases.values())
        self.spans: dict[str, tuple[float, float]] = {}
        """Beginning and length of each phase, as shares of the whole."""
        for index, part in enumerate(parts):
            done = 0.0
            for phase, weight in phases.items():
                name = f"{part}: {phase}" if part else phase
                self.spans[name] = ((index + done / total) / len(parts), weight / total / len(parts))
                done += weight
        self.done = 0.0

    def move_to(self, phase: str, share: float) -> float:
        """Return the share of the whole; it never falls, whatever is told."""
        begin, length = self.spans.get(phase, (self.done, 0.0))
        self.done = min(1.0, max(self.done, begin + length * min(max(share, 0.0), 1.0)))
        return self.done


def can_write_over() -> bool:
    """Tell whether standard error is a terminal on which a line can be written over (a `dumb` one repeats it)."""
    named = os.name == "nt" or os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")
    return named and sys.stderr.isatty()


@contextmanager
def show_progress(
    phases: Mapping[str, float] | None = None, parts: Sequence[str] = ("",), *, quiet: bool
) -> Iterator[Tell]:
    """Yield a callback that shows phase, bar and time left; silent when asked, or when nobody watches.

    Without `phases` the share that is told is that of the whole.
    """
    if quiet or not can_write_over():
        yield lambda _phase, _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    bar = bars.add_task("starting", total=1.0, left="")
    whole = WholeShare(phases, parts) if phases else None
    started = time.monotonic()

    def tell(phase: str, share: float) -> None:
        done = share if whole is None else whole.move_to(phase, share)
        bars.update(bar, description=phase, completed=done, left=time_left(done, time.monotonic() - started))

    with _show_later(bars.start, bars.stop):
        yield tell


@contextmanager
def _show_later(start: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """Start a display when `DELAY_S` have passed, from a thread of its own: work that tells nothing is shown, too."""
    lock, ended = threading.Lock(), False

    def begin() -> None:
        with lock:
            if not ended:
                start()

    timer = threading.Timer(DELAY_S, begin)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            ended = True
            stop()


def time_left(share: float, elapsed_s: float) -> str:
    """Say how long the rest takes if it goes on as before ('' while nobody knows)."""
    if share < _LEAST_SHARE or elapsed_s < _LEAST_S:
        return ""
    return f"about {duration(elapsed_s * (1 - share) / share)} left"


@contextmanager
def show_tries(total: int, *, quiet: bool) -> Iterator[Callable[[Tried], None]]:
    """Yield a callback that shows how many values were tried, of about so many in all."""
    tried = 0
    with show_progress(quiet=quiet) as tell:

        def show(one: Tried) -> None:
            nonlocal tried
            tried += 1
            tell(f"tried {one.value:.4g}", tried / max(total, tried + 1))

        yield show


@contextmanager
def show_audits(
    total: int, *, quiet: bool, phases: Mapping[str, float] = AUDIT_PHASES
) -> Iterator[tuple[Tell, Callable[[], None]]]:
    """Yield what hears how far an audit is, and what is called at the end of each of them."""
    done, one = 0, WholeShare(phases)
    with show_progress(quiet=quiet) as show:

        def tell(phase: str, share: float) -> None:
            show(phase, (done + one.move_to(phase, share)) / max(total, done + 1))

        def advance() -> None:
            nonlocal done, one
            done, one = done + 1, WholeShare(phases)

        yield tell, advance


@contextmanager
def show_sweep(*, quiet: bool) -> Iterator[tuple[Callable[[Progress], None] | None, Callable[[str], None]]]:
    """Yield callbacks that show how far a sweep is (None: nobody watches) and which runs failed, as it happens."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True, soft_wrap=True)

    def complain(message: str) -> None:
        console.print(f"FAILED {message}", markup=False, highlight=False)

    if quiet or not can_write_over():
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

    def describe_left(progress: PriceProgress) -> str:
        seconds = progress.seconds_left()
        return "" if seconds is None else f", about {duration(seconds)} left"

    def tell(progress: PriceProgress) -> None:
        one = progress.finished
        if one is not None:
            ratio = "not reached" if one.missed else one.ratio.text(lambda value: f"{value:.3f}")
            count = (
                f"{progress.done} of about {max(progress.total, progress.done)} calibrations{describe_left(progress)}"
            )
            console.print(f"epsilon {one.value:.4g}: {ratio}  ({count})", markup=False, highlight=False)
        elif progress.seconds and len(progress.seconds) == 2 * progress.workers:
            console.print(
                f"about {progress.total} calibrations{describe_left(progress)}", markup=False, highlight=False
            )

    if not can_write_over():
        yield tell
        return
    columns = (TextColumn("calibrating"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("")

        def show(progress: PriceProgress) -> None:
            tell(progress)
            total = max(progress.total, progress.done)
            bars.update(bar, total=total, completed=progress.done, description=describe_left(progress).lstrip(", "))

        yield show


def duration(seconds: float) -> str:
    """Say a duration in the unit a person would use."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
