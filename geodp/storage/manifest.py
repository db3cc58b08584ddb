"""The manifest of a folder: what it is, and a checksum of every file, so that damage is noticed and never read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from geodp.errors import DataError
from geodp.storage.files import digest, write_text_whole

MANIFEST = "manifest.json"
_FILES, _NEXT, _OWN = "files", "files_next", "checksum"


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write a manifest whole, with a checksum of its own."""
    plain = {key: value for key, value in facts.items() if key != _OWN}
    sealed = {**plain, _OWN: _own_checksum(plain)}
    write_text_whole(folder / MANIFEST, json.dumps(sealed, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a manifest that is as it was written; one of version 0.1 has no checksums, and is taken as it is.

    Raises
    ------
    DataError
        If there is none, or it was changed since.
    """
    path = folder / MANIFEST
    try:
        facts = json.loads(path.read_bytes().decode(), parse_constant=_no_number)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: not valid JSON ({error})") from error
    if not isinstance(facts, dict) or not all(isinstance(facts.get(key, {}), dict) for key in (_FILES, _NEXT)):
        raise DataError(f"{path}: is damaged: not a manifest")
    if _FILES not in facts and _OWN not in facts:
        return facts
    if facts.pop(_OWN, None) != _own_checksum(facts):
        raise DataError(f"{path}: is damaged: its content does not match its own checksum. {_ADVICE}")
    return facts


def list_digests(folder: Path, *, leave_out: Iterable[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder by its name in it, without the manifest and what is left out."""
    out = (MANIFEST, *leave_out)
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    kept = sorted(name for name in names if not any(name == one or name.startswith(f"{one}/") for one in out))
    return {name: digest(names[name]) for name in kept}


def seal(folder: Path, facts: dict[str, Any], *, leave_out: Iterable[str] = ()) -> None:
    """Write the manifest of a finished folder, with the checksums of its files."""
    write_manifest(folder, {**facts, _FILES: list_digests(folder, leave_out=leave_out)})


def require_intact(folder: Path, name: str, facts: dict[str, Any]) -> None:
    """Refuse a file that is not the one which the manifest lists; a file is looked at once per process.

    Raises
    ------
    DataError
        If the file was changed, is gone, or was not there when the folder was finished.
    """
    if not is_sealed(facts):
        return  # a folder of version 0.1, or one that is being made
    path = folder / name
    known = {facts[_FILES].get(name), facts.get(_NEXT, {}).get(name)} - {None}
    if not known:
        put = "was put there later, and is not part of it" if path.is_file() else "is not part of it"
        raise DataError(f"{folder}: the folder has no {name} of its own: it {put}")
    if not path.is_file():
        raise DataError(f"{path}: is missing: the folder had it when it was finished. {_ADVICE}")
    if _digest_now(path) not in known:
        raise DataError(f"{path}: is damaged: its content is not what was written (checksum). {_ADVICE}")


def require_all_intact(folder: Path, facts: dict[str, Any]) -> None:
    """Refuse a folder of which any file is not as it was written."""
    for name in facts.get(_FILES, {}):
        require_intact(folder, name, facts)


def names_in(folder: Path, part: str, facts: dict[str, Any]) -> list[str]:
    """Return the names of the files of one part of a folder, there or (by its manifest) missing."""
    there = {f"{part}/{path.name}" for path in (folder / part).glob("*") if path.is_file()}
    return sorted(there | {name for name in facts.get(_FILES, {}) if name.rpartition("/")[0] == part})


def is_listed(facts: dict[str, Any], name: str) -> bool:
    """Tell whether the manifest lists a file."""
    return name in facts.get(_FILES, {})


def is_sealed(facts: dict[str, Any]) -> bool:
    """Tell whether a folder was finished, with checksums."""
    return _FILES in facts


def replace_file(folder: Path, name: str, text: str) -> None:
    """Replace a file of a finished folder, so that its checksum is right whenever this is stopped."""
    facts = read_manifest(folder)
    new = hashlib.sha256(text.encode()).hexdigest()
    write_manifest(folder, {**facts, _NEXT: {name: new}})  # from here on both are right
    write_text_whole(folder / name, text)
    facts.pop(_NEXT, None)
    write_manifest(folder, {**facts, _FILES: {**facts[_FILES], name: new}})


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


_ADVICE = "Make it anew, or take it from a copy."


def _own_checksum(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _digest_now(path: Path) -> str:
    state = path.stat()
    return _digest_of(path.resolve(), state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=100_000)
def _digest_of(path: Path, mtime_ns: int, size: int, inode: int) -> str:  # noqa: ARG001 - they tell versions apart
    return digest(path)
