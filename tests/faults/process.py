"""Commands in processes that are forked from one that has everything imported: two hundred kills take minutes."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.faults.steps import list_steps, stop_at

T = TypeVar("T")
_PATIENCE_S = 180.0
_MODULES = (
    *("geodp.cli.main", "geodp.runs.run", "geodp.runs.summary", "geodp.runs.compare"),
    *("geodp.display.map", "geodp.display.offline", "geodp.sweeps.sweep", "geodp.sweeps.output"),
    *(
        "geodp.publish.counts_plan",
        "geodp.publish.positions_plan",
        "geodp.publish.visits_plan",
        "geodp.publish.trajectories_plan",
    ),
    *("geodp.publish.pipeline", "pandas", "pyarrow.parquet", "matplotlib.pyplot", "scipy.optimize", "geopandas"),
)


@dataclass(frozen=True)
class Fault:
    """What happens to a process: a signal at a step or after a while, or a limit on the size of its files."""

    kill: signal.Signals | None = None
    step: int | None = None
    after_s: float | None = None
    most_bytes: int | None = None

    def __str__(self) -> str:
        if self.kill is not None:
            when = f"at step {self.step}" if self.step is not None else f"after {self.after_s:.3f} s"
            return f"{self.kill.name} {when}"
        return "none" if self.most_bytes is None else f"no file over {self.most_bytes} bytes"


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, or minus the signal; what it printed; how long it took."""

    code: int
    text: str
    seconds: float


@dataclass
class Running:
    """A command under way."""

    pid: int
    log: Path
    started: float

    def wait(self) -> Ended:
        """Wait for the end; a process that hangs is killed, and counts as code -100."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            seconds = time.monotonic() - self.started
            if pid:
                return Ended(os.waitstatus_to_exitcode(status), self._text(), seconds)
            if seconds > _PATIENCE_S:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return Ended(-100, f"hung for {seconds:.0f} s\n{self._text()}", seconds)
            time.sleep(0.002)

    def _text(self) -> str:
        """Return what it printed, if it came that far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def alive(self) -> bool:
        """Tell whether it has not ended yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def children(self) -> list[int]:
        """Return the processes that it has started and that are at work."""
        try:
            text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except OSError:
            return []
        return [int(word) for word in text.split() if _works(int(word))]


def _works(pid: int) -> bool:
    """Tell a worker from what Python starts beside it (a tracker of resources)."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def preload() -> None:
    """Import what commands need; using none of it, so that no thread is there when processes fork."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in _MODULES:
        importlib.import_module(name)
    from geodp.registry import plugins

    plugins()  # all kinds: they take longer to import than a small run to make


def start(words: list[str], place: Path, fault: Fault | None = None, steps: Path | None = None) -> Running:
    """Start a geodp command in a folder, with its temporary files in `<place>.tmp`, which stands for the machine's."""
    fault = fault or Fault()
    log = place.with_suffix(f".{time.monotonic_ns()}.log")
    pid = os.fork()
    if pid == 0:
        _be_command(words, place, fault, steps, log)
    running = Running(pid, log, time.monotonic())
    if fault.kill is not None and fault.after_s is not None:
        _kill_later(running, fault.kill, fault.after_s)
    return running


def run(words: list[str], place: Path, fault: Fault | None = None, steps: Path | None = None) -> Ended:
    """Run a geodp command to its end, whatever it is."""
    return start(words, place, fault, steps).wait()


def apart(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a process of its own and return what it returns; an error is raised here, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            answer: Any = (True, function(*arguments))
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            answer = (False, traceback.format_exc())
        with contextlib.suppress(BaseException), os.fdopen(write, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    answer = pickle.loads(data) if data else (False, "the process died")  # noqa: S301 - our own
    if not answer[0]:
        raise RuntimeError(answer[1])
    result: T = answer[1]
    return result


def _kill_later(running: Running, kill: signal.Signals, after_s: float) -> None:
    deadline = running.started + after_s
    while time.monotonic() < deadline:
        if not running.alive():
            return
        time.sleep(0.001)
    os.kill(running.pid, kill)


def _be_command(words: list[str], place: Path, fault: Fault, steps: Path | None, log: Path) -> None:
    code = 1
    try:
        faulthandler.disable()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        scratch = place.with_suffix(".tmp")
        scratch.mkdir(exist_ok=True)
        os.environ["TMPDIR"], tempfile.tempdir = str(scratch), None
        os.chdir(place)
        if fault.most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (fault.most_bytes, fault.most_bytes))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if steps is not None:
            list_steps(place, steps)
        if fault.kill is not None and fault.step is not None:
            stop_at(fault.step, fault.kill, place)
        code = _exit_code(words)
    except KeyboardInterrupt:
        code = 130
    except BaseException:  # noqa: BLE001 - a test that cannot even begin says so
        with contextlib.suppress(OSError):
            traceback.print_exc()
    finally:  # whatever happens, this process never goes on with what its parent was doing
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _exit_code(words: list[str]) -> int:
    from geodp.cli.main import main

    try:
        main(words)
    except SystemExit as done:
        return int(done.code or 0)
    return 0
