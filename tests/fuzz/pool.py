"""Several workers, watched: one that ends is a finding, and another takes its place."""

from __future__ import annotations

import json
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.fuzz.oracle import Finding

Task = tuple[str, int]
WALL_S = 1200.0
"""A case that has not answered by then, also on a busy machine, waits for something that never comes."""


def answers(tasks: Iterable[Task], seed: int, workers: int, go_on: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield the answer to every task, in the order in which they come."""
    left = iter(tasks)
    found: queue.Queue[dict[str, Any] | None] = queue.Queue()
    lock = threading.Lock()

    def next_task() -> Task | None:
        with lock:
            return next(left, None) if go_on() else None

    threads = [threading.Thread(target=_serve, args=(next_task, found, seed), daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    running = len(threads)
    while running:
        answer = found.get()
        if answer is None:
            running -= 1
        else:
            yield answer


def _serve(next_task: Callable[[], Task | None], found: queue.Queue[dict[str, Any] | None], seed: int) -> None:
    process: subprocess.Popen[str] | None = None
    folder = tempfile.mkdtemp(prefix="geodp-fuzz-")
    try:
        while (task := next_task()) is not None:
            if process is None or process.poll() is not None:
                _end(process)
                process = _started(folder)
            found.put(_asked(process, task, seed))
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)
        found.put(None)


def _started(folder: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.fuzz.worker", folder]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is not None:
        process.kill()
        process.communicate()  # closes the pipes, and takes note of its end


def _asked(process: subprocess.Popen[str], task: Task, seed: int) -> dict[str, Any]:
    kind, number = task
    assert process.stdin is not None
    assert process.stdout is not None
    watch = threading.Timer(WALL_S, process.kill)
    watch.daemon = True
    watch.start()
    begun = time.monotonic()
    try:
        process.stdin.write(f"{kind} {number} {seed}\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    finally:
        watch.cancel()
    if line:
        answer: dict[str, Any] = json.loads(line)
        return answer
    process.wait()
    hang = -process.returncode == signal.SIGPROF or time.monotonic() - begun >= WALL_S
    fault = "hang" if hang else "crash"
    finding = Finding(kind, number, fault, "", "", f"the process ended with {process.returncode}")
    return {"kind": kind, "number": number, "commands": 1, "findings": [finding.plain()]}
