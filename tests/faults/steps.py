"""A process that stops itself at a chosen change of the file system, so that every window can be met on purpose.

The interpreter announces each change before it makes it (audit events); counting them gives every moment between two
changes a number. What libraries write from C between two of them goes into files that have no final name yet.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def stop_at(step: int, kill: signal.Signals, root: Path) -> None:
    """Send this process a signal right before its change number `step` (from 1) of anything below `root`."""
    seen = 0

    def count(_event: str) -> None:
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), kill)

    _watch(root, count)


def list_steps(root: Path, file: Path) -> None:
    """Write the kind of each change of anything below `root` to a file (outside of it), a line each."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    _watch(root, lambda event: os.write(handle, f"{event}\n".encode()))


def _watch(root: Path, tell: Callable[[str], object]) -> None:
    top, own = str(root.resolve()), os.getpid()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if os.getpid() == own and _changes(event, arguments, top):
            tell(event)

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
