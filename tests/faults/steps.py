"""A process that stops itself at a chosen change of the file system, so that every window can be met on purpose.

The interpreter announces each change before it makes it (audit events); counting them gives every moment between two
changes a number. What libraries write from C between two of them goes into files that have no final name yet.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def stop_at(step: int, kill: signal.Signals, root: Path) -> None:
    """Send this process a signal right before its change number `step` (from 1) of anything below `root`."""
    _watch(root, step, kill)


def count_steps(root: Path, counted: Path) -> None:
    """Write the number of changes below `root` to a file as they happen."""
    handle = os.open(counted, os.O_WRONLY | os.O_CREAT)
    _watch(root, None, None, handle)


def _watch(root: Path, step: int | None, kill: signal.Signals | None, handle: int | None = None) -> None:
    top, seen = str(root.resolve()), 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if not _changes(event, arguments, top):
            return
        seen += 1
        if handle is not None:
            os.pwrite(handle, str(seen).encode(), 0)
        if seen == step and kill is not None:
            os.kill(os.getpid(), kill)

    sys.addaudithook(hook)


def _changes(event: str, arguments: tuple[Any, ...], top: str) -> bool:
    """Tell whether an audit event is a change of a file or folder below the top."""
    if event == "open":
        flags = arguments[2]
        if not isinstance(flags, int) or not flags & _WRITING:
            return False
    elif event not in _CHANGES:
        return False
    named = arguments[0]
    if isinstance(named, int):  # by its number: below a folder that is being removed, or a file that is open
        return event != "open"
    text = os.fsdecode(named)
    return not Path(text).is_absolute() or text.startswith(top)  # relative ones are those of a tree that is removed
