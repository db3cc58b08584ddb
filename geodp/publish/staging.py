"""An output and its guarantee, which appear together or not at all, written by one process at a time.

Both are written beside their places (`.NAME.partial`). Then older ones are moved aside (`.NAME.old`), the output
first; the new ones take the names, the output last; and the older ones go. So an output never stands beside another's
guarantee, and what a process that was killed in between has left is put right by the next call: the guarantee states
the checksum of its output, which tells what belongs together.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from geodp.errors import OutputError
from geodp.publish.request import NOTHING_DONE
from geodp.storage.files import FileBusy, lock_file, sync_file, sync_folder
from geodp.storage.published_file import belong_together

log = logging.getLogger("geodp")


class Staging:
    """Holds the lock on an output and the partial files, from before anything is charged until both are in place."""

    def __init__(self, out: Path, guarantee: Path, *, force: bool) -> None:
        self.out, self.guarantee, self.force = out, guarantee, force
        self._held = contextlib.ExitStack()
        self._replacing = False

    def __enter__(self) -> Staging:
        with contextlib.ExitStack() as undo:
            try:
                self.out.parent.mkdir(parents=True, exist_ok=True)
                self._held.enter_context(_lock_output(self.out))
                undo.callback(self._leave)
                self._open()
            except OSError as error:
                raise OutputError(
                    f"{self.out}: cannot be written ({error.strerror or error}). {NOTHING_DONE}"
                ) from error
            undo.pop_all()
        return self

    def _open(self) -> None:
        """Start from a place that is in order; one that cannot be written to is found free of charge."""
        _put_right(self.out, self.guarantee)
        for target in (self.guarantee, self.out):
            if target.exists() and not self.force:
                raise OutputError(f"{target} has appeared in the meantime and is not replaced. {NOTHING_DONE}")
            self.partial(target).write_bytes(b"")

    def __exit__(self, *error: object) -> None:
        self._leave()

    def partial(self, target: Path) -> Path:
        """Return the file to write instead of a target."""
        return _beside(target, "partial")

    def commit(self) -> None:
        """Give both files their names."""
        both = (self.out, self.guarantee)
        if not self.force and any(target.exists() for target in both):
            raise OutputError(f"{self.out} has appeared in the meantime and is not replaced.")
        for target in both:
            sync_file(self.partial(target))
        self._replacing = True
        for target in both:
            if target.exists():
                target.replace(_beside(target, "old"))
        for target in reversed(both):
            self.partial(target).replace(target)
        self._replacing = False
        sync_folder(self.out.parent)

    def _leave(self) -> None:
        """Remove what is not needed any more; undo a replacement that was broken off."""
        with self._held, contextlib.suppress(OSError):
            if self._replacing and self.partial(self.out).exists():
                if not self.partial(self.guarantee).exists():
                    self.guarantee.unlink()
                self.partial(self.out).unlink()
                _move_back(self.out, self.guarantee)
            _clear(self.out, self.guarantee)


def put_right(out: Path, guarantee: Path) -> None:
    """Put right what a killed process left of an output: both files are the new ones then, or both the older ones.

    Raises
    ------
    OutputError
        If another process is writing the output, or what was left cannot be put right.
    """
    if any(_beside(target, ending).exists() for target in (out, guarantee) for ending in ("partial", "old")):
        try:
            with _lock_output(out):
                _put_right(out, guarantee)
        except OSError as error:
            raise OutputError(
                f"{out}: an older call was broken off and is not put right ({error.strerror or error}). {NOTHING_DONE}"
            ) from error


@contextlib.contextmanager
def _lock_output(out: Path) -> Iterator[None]:
    """Keep other processes from writing an output, whatever links lead to its folder."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock_file(_beside(out.parent.resolve() / out.name, "lock"), wait=False, stays=False))
        except FileBusy:
            raise OutputError(
                f"{out}: another geodp is publishing to this file. Wait for it, or use another --out. {NOTHING_DONE}"
            ) from None
        yield


def _put_right(out: Path, guarantee: Path) -> None:
    """Finish or undo what was broken off. Needs the lock."""
    if not out.exists():
        stated = next((path for path in (_beside(guarantee, "partial"), guarantee) if path.exists()), guarantee)
        if belong_together(_beside(out, "partial"), stated):
            stated.replace(guarantee)
            _beside(out, "partial").replace(out)
            log.warning("%s: an earlier call was broken off when it had paid and written; its files are in place.", out)
        else:
            _move_back(out, guarantee)
        sync_folder(out.parent)
    _clear(out, guarantee)


def _move_back(out: Path, guarantee: Path) -> None:
    for target in (guarantee, out):
        if _beside(target, "old").exists():
            _beside(target, "old").replace(target)


def _clear(out: Path, guarantee: Path) -> None:
    """Remove partial files and older ones, also those of earlier versions, which had the number of their process."""
    for target in (out, guarantee):
        left = re.compile(rf"\.{re.escape(target.name)}\.(\d+\.)?(partial|old)")
        for name in os.listdir(target.parent):  # noqa: PTH208 - names are enough
            if left.fullmatch(name):
                target.with_name(name).unlink(missing_ok=True)


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{ending}")
