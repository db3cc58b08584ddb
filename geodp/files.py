"""Files that appear whole or not at all, and one writer at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

_CHUNK_BYTES = 1 << 20


class FileBusy(Exception):
    """Another process holds the lock."""


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Let one process at a time pass; the lock goes with the process, so a crash leaves none behind.

    Parameters
    ----------
    path
        The lock's own file. It is made when it is not there and stays: removing it would let two processes hold
        locks on two files of one name.
    wait
        Whether to wait for another holder, or to raise.

    Raises
    ------
    FileBusy
        If another process holds it and `wait` is false.
    OSError
        If the lock's file cannot be opened.
    """
    with Path(path).open("a+b") as file:
        _lock(file, wait=wait)
        yield


def _lock(file: IO[bytes], *, wait: bool) -> None:
    """Take the exclusive lock; closing the file gives it up."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(0)
        mode = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined]
        while True:
            try:
                return msvcrt.locking(file.fileno(), mode, 1)  # type: ignore[attr-defined,no-any-return]
            except OSError:  # LK_LOCK gives up after ten tries
                if not wait:
                    raise FileBusy(file.name) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise FileBusy(file.name) from None


def write_whole(path: Path, write: Callable[[Path], object], *, mode: int | None = None) -> None:
    """Write a file beside its place, make it outlast a power cut, and give it its name in one step.

    Parameters
    ----------
    path
        The file; an older one stays as it is until the new one is complete.
    write
        Called with the name to write to: in the same folder, with the same suffix.
    mode
        Permissions of the file (0o600 for what is private); default: as the system gives them.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=f".partial{path.suffix}")
    os.close(handle)
    partial = Path(name)
    try:
        write(partial)
        partial.chmod(_usual_mode() if mode is None else mode)
        sync_file(partial)
        partial.replace(path)
        sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_text_whole(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a text file whole or not at all (as `write_whole` does)."""
    write_whole(path, lambda partial: partial.write_bytes(text.encode()), mode=mode)


def sync_file(path: Path) -> None:
    """Make a file's content outlast a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a rename outlast a power cut; where folders cannot be synced (Windows), it is left to the system."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            total.update(chunk)
    return total.hexdigest()


def _usual_mode() -> int:
    """Return the permissions that a new file gets here (mkstemp gives 0600 to all)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
