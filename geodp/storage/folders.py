"""Folders that appear whole or not at all, beside an older one that stays until the new one is in place.

A folder is written beside its place (`.<name>.<token>.partial`), made to outlast a power cut, and takes the name in
one step; an older one is moved aside for that moment (`.<name>.<token>.old`). Who writes holds a lock
(`.<name>.lock`), which goes with the process: whatever a killed process left is put right by the next that asks.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from geodp.errors import OutputError
from geodp.storage.files import FileBusy, lock_file, sync_file, sync_folder

_Ending = Literal["partial", "old"]
_SWAP_WITHIN_S = 5.0
"""How long a reader waits for two renames of a living process."""
_LEFT_OF_ANY = re.compile(r"\.(.+?)\.(?:lock|[0-9a-f]{16}\.(?:partial|old))")
_SCRATCH = re.compile(r"\.?(geodp-[0-9a-f]{16})(\.lock)?")


@contextlib.contextmanager
def whole_folder(
    target: Path, *, force: bool, check_replaceable: Callable[[Path], None], wait: bool = False
) -> Iterator[Path]:
    """Give a folder to write into; it takes the target's name when everything went well, and is gone otherwise.

    Parameters
    ----------
    target
        The folder to make. An older one stays as it is until the new one is complete, whatever happens before.
    force
        Whether an older one may be replaced.
    check_replaceable
        Raises `OutputError` for an older one that is not to be replaced, because something else made it.
    wait
        Whether to wait for another process that writes to the same target, or to raise.

    Raises
    ------
    OutputError
        If the target may not be replaced, is being written by another process, or cannot be written.
    """
    target = real_place(target)
    with _errors_of(target, "cannot"):
        target.parent.mkdir(parents=True, exist_ok=True)
    with hold_folder(target, wait=wait):
        if target.exists():
            if not force:
                raise OutputError(f"{target} exists already. Use --force to replace it, or another --out.")
            check_replaceable(target)
        partial = _beside(target, "partial")
        try:
            with _errors_of(target, "cannot"):
                partial.mkdir()
                usual = partial.stat().st_mode
                partial.chmod(0o700)  # what is private may have its own permissions only later
            with _errors_of(target, "could not"):
                yield partial
                partial.chmod(usual)
                _sync_tree(partial)
                _put_in_place(partial, target)
        except BaseException:
            _put_right(target)
            raise


@contextlib.contextmanager
def hold_folder(target: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep all others from writing to a folder, and put right what a killed process left there."""
    target = real_place(target)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock_file(target.with_name(f".{target.name}.lock"), wait=wait, stays=False))
        except FileBusy:
            raise OutputError(
                f"{target}: another geodp is writing to this folder. Wait for it, or use another --out."
            ) from None
        except OSError as error:
            raise OutputError(f"{target}: cannot be written ({error.strerror or error})") from error
        _put_right(target)
        yield


def put_back(target: Path) -> None:
    """Bring back a folder that was moved aside by a process that was killed before its successor arrived."""
    if Path(target).exists():
        return
    target = real_place(target)
    deadline = time.monotonic() + _SWAP_WITHIN_S
    while not target.exists() and _find_leftovers(target, "old") and time.monotonic() < deadline:
        try:
            with hold_folder(target):
                return
        except OutputError:  # its process lives, and is between two renames; or we may not write here
            time.sleep(0.02)


def clear_folder(parent: Path) -> None:
    """Put right what killed processes left of any folder in `parent`; what living ones write is left alone."""
    for name in sorted({found[1] for entry in _names(parent) if (found := _LEFT_OF_ANY.fullmatch(entry))}):
        with contextlib.suppress(OutputError), hold_folder(parent / name):
            pass


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder that lasts as long as the block; what killed processes left of theirs is removed."""
    place = Path(tempfile.gettempdir())
    for name in {found[1] for entry in _names(place) if (found := _SCRATCH.fullmatch(entry))}:
        with (
            contextlib.suppress(OutputError),
            hold_folder(place / name),
        ):  # nobody makes the folder before they have the lock
            shutil.rmtree(place / name, ignore_errors=True)
    scratch = place / f"geodp-{secrets.token_hex(8)}"
    with hold_folder(scratch):
        scratch.mkdir(mode=0o700)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def real_place(target: Path) -> Path:
    """Return where a folder really is: behind links, and with a name of its own."""
    place = Path(target).resolve()
    if not place.name:
        raise OutputError(f"{target}: cannot be replaced. Name another --out.")
    return place


def _put_in_place(partial: Path, target: Path) -> None:
    """Give a complete folder its name. From the first rename to the last, one complete folder can be found."""
    old = _beside(target, "old")
    if target.exists():
        target.rename(old)
    partial.rename(target)
    sync_folder(target.parent)
    if old.exists():
        _discard(old, target)


def _put_right(target: Path) -> None:
    """Move an older folder back whose successor never arrived, and remove what is left over. Needs the lock."""
    with contextlib.suppress(OSError):
        older = sorted(_find_leftovers(target, "old"), key=lambda path: path.stat().st_mtime)
        if older and not target.exists():
            older.pop().rename(target)
            sync_folder(target.parent)
        for path in older:
            _discard(path, target)
        for path in _find_leftovers(target, "partial"):
            shutil.rmtree(path, ignore_errors=True)


def _discard(old: Path, target: Path) -> None:
    """Delete a folder under another name, so that one that is half deleted is never taken for one moved aside."""
    doomed = _beside(target, "partial")
    with contextlib.suppress(OSError):  # then it is left over, for the next that asks
        old.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _beside(target: Path, ending: _Ending) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.{ending}")


def _find_leftovers(target: Path, ending: _Ending) -> list[Path]:
    form = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.{ending}")
    return [target.with_name(name) for name in _names(target.parent) if form.fullmatch(name)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are enough, and there may be many
    except OSError:
        return []


def _sync_tree(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            sync_file(Path(place) / name)
        sync_folder(Path(place))


@contextlib.contextmanager
def _errors_of(target: Path, could: Literal["cannot", "could not"]) -> Iterator[None]:
    """Say of an error of the system where it happened."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{target}: {could} be written ({error.strerror or error})") from error
