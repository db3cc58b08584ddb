"""Files that appear whole or not at all, and one writer at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

_CHUNK_BYTES = 1 << 20


class FileBusy(Exception):
    """Another process holds the lock."""


@contextlib.contextmanager
def lock_file(path: Path, *, wait: bool = True, stays: bool = True) -> Iterator[None]:
    """Let one process at a time pass; the lock goes with the process, so a crash leaves none behind.

    Parameters
    ----------
    path
        The lock's own file. It is made when it is not there.
    wait
        Whether to wait for another holder, or to raise.
    stays
        Whether the file stays afterwards. All who lock one file must say the same: who waited for a file that its
        holder then removed begins anew with the file that has the name now.

    Raises
    ------
    FileBusy
        If another process holds it and `wait` is false.
    OSError
        If the lock's file cannot be opened.
    """
    path = Path(path)
    while True:
        with path.open("a+b") as file:
            _lock(file, wait=wait)
            if stays:
                yield
                return
            if _has_name(file, path):
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):  # Windows keeps a file that is open
                        path.unlink()
                return


def _has_name(file: IO[bytes], path: Path) -> bool:
    """Tell whether a file that is open is the one that has the name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
        The file, or a link to it; an older one stays as it is until the new one is complete. What is no file but a
        pipe or a device (`/dev/stdout`) is written into, never replaced.
    write
        Called with the name to write to: in the same folder, with the same suffix.
    mode
        Permissions of the file (0o600 for what is private); default: as the system gives them.
    """
    if path.exists() and not path.is_file():
        write(path)
        return
    path = Path(os.path.realpath(path))
    _clear_partials(path)
    with _partial_of(path) as partial:
        try:
            write(partial)
            partial.chmod(_usual_mode() if mode is None else mode)
            sync_file(partial)
            partial.replace(path)
            sync_folder(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def _partial_of(path: Path) -> Iterator[Path]:
    """Make a file beside a place, and hold it while it is written: what nobody holds is left over."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=f".partial{path.suffix}")
        with os.fdopen(handle, "r+b") as file:
            if not _HOLDS_PARTIALS:
                file.close()
            else:
                with contextlib.suppress(OSError):  # a file system without locks: nobody clears up there either
                    if not _lock_at_once(file) or not _has_name(file, Path(name)):
                        continue  # another process took it for left over, between its making and its lock
            yield Path(name)
            return


def _clear_partials(path: Path) -> None:
    """Remove what killed processes left of earlier writings of a file."""
    if not _HOLDS_PARTIALS:
        return
    left = re.compile(rf"\.{re.escape(path.stem)}-[a-z0-9_]{{8}}\.partial{re.escape(path.suffix)}")
    for name in os.listdir(path.parent):  # noqa: PTH208 - names are enough, and there may be many
        if left.fullmatch(name):
            with contextlib.suppress(OSError), path.with_name(name).open("rb") as file:
                if _lock_at_once(file):
                    path.with_name(name).unlink()


_HOLDS_PARTIALS = os.name != "nt"
"""On Windows a lock would keep the writer itself out of the file."""


def _lock_at_once(file: IO[bytes]) -> bool:
    """Take the lock of a file unless another has it."""
    try:
        _lock(file, wait=False)
    except FileBusy:
        return False
    return True


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


def anchor_path(path: str, folder: Path) -> str:
    """Return the path as seen from the folder of the file that names it ('' stays '')."""
    if not path:
        return ""
    try:
        return str(folder.resolve() / Path(path).expanduser())
    except RuntimeError:  # '~somebody' who has no home here
        return str(folder.resolve() / path)


def is_regular(path: Path) -> bool:
    """Tell whether there is a plain file of that name; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a NUL in it
        return False


def why_not_regular(path: Path) -> str:
    """Say why a name is not that of a plain file."""
    try:
        return "is a folder" if path.is_dir() else "is a pipe or a device" if path.exists() else "no such file"
    except (OSError, ValueError):
        return "no such file"


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            total.update(chunk)
    return total.hexdigest()


def same_content(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to one file, or to files that hold the same: a link or a copy changes nothing."""
    if not (is_regular(one) and is_regular(other)):
        return False
    if one.samefile(other):
        return True
    if one.stat().st_size != other.stat().st_size or _read_beginning(one) != _read_beginning(other):
        return False  # most files differ early, however long they are
    return digest(one) == digest(other)


def _read_beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_CHUNK_BYTES)


def _usual_mode() -> int:
    """Return the permissions that a new file gets here (mkstemp gives 0600 to all)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
