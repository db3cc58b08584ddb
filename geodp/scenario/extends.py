"""Scenario files that start from another: `extends: FILE`, one level, with dotted changes under `set:`.

Whatever else stands in the file takes the place of the same key of the other one, as a whole; `set:` changes single
values, as `--set` does. Relative paths are meant from the file that names them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodp.errors import DataError, ScenarioError, UsageError
from geodp.scenario.sections import BASEMAPS
from geodp.scenario.shipped import locate_file

KEYS = ("extends", "set")
_OWN_NAMES = ("name", "about", "kind")
_FILE_KEYS = ("path", "file", "venues", "streets", "basemap", "places")
_NO_FILES = BASEMAPS
_LONGEST_PATH = 1000


def find_extended(raw: dict[str, Any], path: Path) -> Path | None:
    """Return the file that a raw scenario starts from (None: it stands alone), or raise what is wrong about that.

    A file of another's name beside this one comes first, then a shipped scenario of that name.
    """
    if "extends" not in raw:
        if "set" in raw:
            raise ScenarioError(str(path), [("set", "goes with 'extends: FILE': it changes what that file states")])
        return None
    named, changes = raw["extends"], raw.get("set", {})
    problems = []
    if not isinstance(named, str) or not named.strip():
        problems.append(("extends", f"must be the name of a scenario file, got {named!r}"))
    if not isinstance(changes, dict):
        problems.append(("set", "must be a mapping of dotted paths to values, e.g. curator.mechanism.epsilon: 0.5"))
    if "name" not in raw:
        problems.append(("name", "missing: a file that starts from another needs a name of its own"))
    if problems:
        raise ScenarioError(str(path), problems)
    folder = path.resolve().parent
    try:
        beside = folder / str(named)
        found = beside if beside.is_file() else locate_file(str(named))
        found = found if found.is_absolute() else folder / found
        if found.resolve() == path.resolve():
            raise ScenarioError(str(path), [("extends", "names the file itself")])
    except (OSError, ValueError, UsageError) as error:
        raise ScenarioError(str(path), [("extends", str(error))]) from None
    return found


def merge_extended(raw: dict[str, Any], base: dict[str, Any], base_path: Path, path: Path) -> dict[str, Any]:
    """Return the scenario that a file and the one it starts from come to; `set` is still to be applied."""
    if "extends" in base or "set" in base:
        why = f"{base_path.name} starts from another file itself: one level is allowed. Name that file, or write it out"
        raise ScenarioError(str(path), [("extends", why)])
    if base_path.resolve().parent != path.resolve().parent:
        base = _anchor_texts(base, base_path.resolve().parent, "")
    own = {key: value for key, value in raw.items() if key not in KEYS}
    return base | own


def explain_base_problem(error: ScenarioError | DataError, path: Path) -> ScenarioError:
    """Say that the file which another starts from cannot be read."""
    if isinstance(error, ScenarioError):
        return ScenarioError(str(path), [("extends", f"{error.source}: {text}") for _, text in error.problems])
    return ScenarioError(str(path), [("extends", str(error))])


def _anchor_texts(value: Any, folder: Path, key: str) -> Any:
    """Return plain values in which names of files are found from a folder."""
    if isinstance(value, dict):
        return {name: part if name in _OWN_NAMES else _anchor_texts(part, folder, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_anchor_texts(part, folder, key) for part in value]
    if not isinstance(value, str) or not value or value in _NO_FILES or len(value) > _LONGEST_PATH:
        return value
    last = key.rpartition(".")[2]
    names_file = last in _FILE_KEYS or last.endswith(("_path", "_file")) or key == "plugins"
    try:
        return str((folder / value).resolve()) if names_file or (folder / value).is_file() else value
    except (OSError, ValueError):
        return value
