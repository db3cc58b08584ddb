"""Scenarios that come with geodp: found by name, listed with their question, copied with all they name.

They stand in `scenarios/` of the repository, and as `geodp/shipped/` in an installed wheel, in the same order: plain
scenarios on top, sweeps and figures in folders of their own. What one of them names lies among them, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.errors import DataError, OutputError, UsageError
from geodp.model import did_you_mean
from geodp.scenario.yaml_text import YamlProblem, parse_yaml

SCENARIOS, SWEEPS, FIGURES = "", "sweeps", "figures"
"""Folders in which each kind of file stands."""
_ENDINGS = (".yaml", ".yml")
_LONGEST_NAME = 100


@dataclass(frozen=True)
class ShippedFile:
    """A scenario or sweep that comes with geodp."""

    name: str
    path: Path
    kind: str
    """`scenario`, `sweep` or `figure`."""
    question: str
    """What it asks: the first line of the file."""
    about: str
    """One or two sentences on what it shows."""


def find_shipped_folder() -> Path:
    """Return the folder of shipped scenarios: inside the package, or in the repository that it is run from.

    Raises
    ------
    DataError
        If there is none: the package was put together by other means than its own build.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "shipped", package.parent / "scenarios"):
        if (folder / "quickstart.yaml").is_file():
            return folder
    raise DataError("this installation holds no scenarios: install geodp from its wheel, or from a clone of it")


def locate_file(path: str | Path, kind: str = SCENARIOS) -> Path:
    """Return the file of that name; where there is none, the shipped one that is called so.

    Parameters
    ----------
    path
        A file, or the name of a shipped scenario such as `quickstart`.
    kind
        The folder of shipped files to look into: `SCENARIOS`, `SWEEPS` or `FIGURES`.

    Returns
    -------
    Path
        The file; the path as it was given where nothing goes by that name, for the reader to refuse.

    Raises
    ------
    UsageError
        If it is no file, and looks like the name of a shipped one.
    """
    path = Path(path)
    try:
        if path.is_dir() or not path.exists():
            return _find_by_name(str(path), kind) or path
    except (OSError, ValueError):  # a name that no file can have
        pass
    return path


def _find_by_name(text: str, kind: str) -> Path | None:
    """Return the shipped file that is called so; None where the text is a path rather than a name."""
    stem = _stem(text)
    if not stem or len(stem) > _LONGEST_NAME or Path(stem).name != stem:
        return None
    try:
        known = _list_paths(kind)
    except DataError:
        return None
    if stem in known:
        return known[stem]
    if text.endswith(_ENDINGS):
        return None
    hint = did_you_mean(stem, known)
    raise UsageError(
        f"{text}: no such file, and no {_words(kind)} of that name comes with geodp.{hint} "
        f"'geodp scenarios list' shows them; 'geodp new {stem}' writes one of your own."
    )


def _stem(text: str) -> str:
    return next((text.removesuffix(ending) for ending in _ENDINGS if text.endswith(ending)), text)


def _words(kind: str) -> str:
    return kind.removesuffix("s") or "scenario"


def list_names(kind: str) -> list[str]:
    """Return the names of the shipped files of a kind."""
    return list(_list_paths(kind))


def _list_paths(kind: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted((find_shipped_folder() / kind).glob("*.yaml"))}


def list_shipped(kinds: tuple[str, ...] = (SCENARIOS, SWEEPS)) -> list[ShippedFile]:
    """Return the shipped files of some kinds, each with its question.

    Examples
    --------
    >>> from geodp.scenario.shipped import list_shipped
    >>> [file.question for file in list_shipped() if file.name == "uniform_reward"][0][:26]
    'Does tuning rewards pay? T'
    """
    return [_describe(path, kind) for kind in kinds for path in _list_paths(kind).values()]


def _describe(path: Path, kind: str) -> ShippedFile:
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    about = " ".join(str(parse_yaml(text).get("about", "")).split())
    question = first.removeprefix("#").strip() if first.startswith("#") else about
    return ShippedFile(path.stem, path, _words(kind), question, about)


def copy_shipped(name: str, folder: Path) -> list[Path]:
    """Copy a shipped scenario, sweep or figure file with all it names; nothing is ever replaced.

    Parameters
    ----------
    name
        Its name, e.g. `quickstart`, or `sweeps/epsilon` where two kinds share a name.
    folder
        Where it goes. Files keep their places beside one another, so that they find one another.

    Returns
    -------
    list of Path
        The copies, the file itself first. What it names and was there already, the same to the byte, is not among them.

    Raises
    ------
    UsageError
        If nothing goes by that name.
    OutputError
        If a file is in the way, or the folder cannot be written.
    """
    root = find_shipped_folder()
    first = _find_any(name)
    wanted = [first, *(path for path in _find_named(first, root) if path != first)]
    targets = {path: folder / path.relative_to(root) for path in wanted}
    try:
        for path, target in targets.items():
            if (target.exists() or target.is_symlink()) and (path == first or not _same(path, target)):
                raise OutputError(f"{target} exists already; it was left as it is, and nothing was copied.")
        copied = []
        for path, target in targets.items():
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file, path.open("rb") as source:
                    shutil.copyfileobj(source, file)
                copied.append(target)
    except FileExistsError as error:
        raise OutputError(f"{error.filename} exists already; it was left as it is.") from None
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return copied


def _find_any(name: str) -> Path:
    kind, _, last = name.rpartition("/")
    kinds = [kind] if kind in (SWEEPS, FIGURES) else [SCENARIOS, SWEEPS, FIGURES] if not kind else []
    known = {stem: path for one in reversed(kinds) for stem, path in _list_paths(one).items()}
    if _stem(last) in known:
        return known[_stem(last)]
    hint = did_you_mean(_stem(last), known)
    raise UsageError(
        f"nothing called '{name}' comes with geodp.{hint} 'geodp scenarios list' shows what does; 'geodp figures' "
        "lists the figures."
    )


def _same(path: Path, other: Path) -> bool:
    return other.is_file() and path.read_bytes() == other.read_bytes()


def _find_named(path: Path, root: Path) -> list[Path]:
    """Return the files that a shipped file names, and those which they name."""
    found, todo = dict[Path, None](), [path]
    while todo:
        here = todo.pop()
        if here in found:
            continue
        found[here] = None
        if here.suffix in _ENDINGS:
            try:
                raw = parse_yaml(here.read_text(encoding="utf-8"))
            except YamlProblem:
                continue
            named = [(here.parent / text).resolve() for text in _texts(raw) if _may_name_file(text)]
            todo += [file for file in named if file.is_relative_to(root.resolve()) and file.is_file()]
    return list(found)


def _may_name_file(text: str) -> bool:
    return "." in text and "\n" not in text and len(text) <= _LONGEST_NAME


def _texts(value: Any) -> Iterator[str]:
    """Yield every text among the values of a file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
