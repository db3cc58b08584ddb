"""Scenario files: reading YAML, overriding dotted paths, and one report of everything that is wrong."""

from __future__ import annotations

import codecs
import contextlib
import copy
import operator
import os
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from geodp.errors import DataError, OldName, ScenarioError, UsageError
from geodp.model import Model, problems_of
from geodp.registry import FilePlugin, Plugin, list_given_files, load_file, require_file
from geodp.scenario.checks import cross_check
from geodp.scenario.extends import explain_base_problem, find_extended, merge_extended
from geodp.scenario.schema import WORLD_PATHS, Scenario
from geodp.scenario.sections import BASEMAPS, Box
from geodp.scenario.shipped import locate_file
from geodp.scenario.stand_ins import StandIns, not_loaded
from geodp.scenario.yaml_text import MOST_BYTES, MOST_DEPTH, YamlProblem, parse_yaml
from geodp.storage.files import is_regular, why_not_regular
from geodp.storage.folders import put_back
from geodp.tables.notices import notice
from geodp.tables.towers import TowerNetwork
from geodp.world.bounds import MOST_ARMS, MOST_PLUGINS

Problem = tuple[str, str]
_STAND_IN: dict[str, Any] = {
    "geodp": 1,
    "name": "stand-in",
    "region": {"west": 0.0, "south": 0.0, "east": 0.1, "north": 0.1},
}
_LOOKED_AT = 100
"""With more problems than that, (further) arms are not looked at: each of them repeats the whole scenario."""


def read_scenario(
    path: Path, overrides: dict[str, Any], *, trust_plugins: bool = False, stand_ins: bool = False
) -> Scenario:
    """Read and check a scenario file (see `build_scenario`), or the shipped one of that name."""
    path = locate_scenario(path)
    raw = read_raw_scenario(path, overrides)
    folder = path.resolve().parent
    return build_scenario(raw, source=str(path), folder=folder, trust_plugins=trust_plugins, stand_ins=stand_ins)


def locate_scenario(path: Path) -> Path:
    """Return the scenario file, or the shipped one of that name where there is no such file."""
    with contextlib.suppress(ValueError):  # a name with a NUL in it
        put_back(path.parent)  # it may be that of a run which a killed process was about to replace
    return locate_file(path)


def read_raw_scenario(path: Path, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read the plain values of a scenario file, with those of the file that it starts from, and change them."""
    raw = read_yaml(path)
    base_path = find_extended(raw, path)
    if base_path is None:
        refuse_other_kind(raw, path, "scenario")
    else:
        try:
            base = read_yaml(base_path)
            refuse_other_kind(base, base_path, "scenario")
        except (ScenarioError, DataError) as error:
            raise explain_base_problem(error, path) from None
        changes = raw.get("set", {})
        raw = merge_extended(raw, base, base_path, path)
        for dotted, value in order_changes(changes):
            try:
                set_path(raw, dotted, value)
            except UsageError as error:
                raise ScenarioError(str(path), [(f"set.{dotted}", str(error).partition(": ")[2])]) from None
    for dotted, value in order_changes(overrides or {}):
        set_path(raw, dotted, value)
    return raw


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; whatever the file is, an answer comes soon and says what is wrong with it."""
    try:
        raw = parse_yaml(_text(path))
    except YamlProblem as problem:
        raise ScenarioError(str(path), [("(file)", f"not valid YAML: {problem}")]) from None
    if not isinstance(raw, dict):
        raise ScenarioError(str(path), [("(file)", "must be a mapping of keys to values, such as 'geodp: 1'")])
    return raw


_KINDS = {
    "figure": ({"figure"}, "a figure file", "geodp figures {}"),
    "sweep": ({"base", "grids"}, "a sweep", "geodp sweep {}"),
    "scenario": ({"extends", "region", "workers", "tasks", "curator", "server"}, "a scenario", "geodp run {}"),
}
"""Keys that only one kind of file has, what it is, and which command takes it."""


def refuse_other_kind(raw: dict[str, Any], path: Path, wanted: str) -> None:
    """Refuse a file that is plainly of another kind, and say which command takes it."""
    if not set(raw).isdisjoint(_KINDS[wanted][0]):
        return
    for keys, what, command in _KINDS.values():
        if found := sorted(keys.intersection(raw)):
            named = " and ".join(f"'{key}'" for key in found[:2])
            text = f"this is {what} (it has {named}), not {_KINDS[wanted][1]}: use '{command.format(path)}'"
            raise ScenarioError(str(path), [("(file)", text)])


def _text(path: Path) -> str:
    """Return the text of a regular file of a reasonable size; a pipe or a device is never opened, as it may block."""
    try:
        if not is_regular(path):
            raise DataError(f"{path}: {why_not_regular(path)}; name a YAML file")
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DataError(f"{path}: has {size >> 20:,} MB; a file of settings has at most {MOST_BYTES >> 20}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        raise DataError(f"{path!s}: cannot be read ({error})") from None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{path}: cannot be read: it is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}: cannot be read: line {line} is not UTF-8 text; save the file as UTF-8") from None


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


_OLD_KEYS = {"workers.histories": "workers.visit_source", "device.history": "device.history_report"}
"""What scenarios of version 0.1 call them, and what to write instead."""


_OF_DPT = {"variant", "finest_m", "levels", "order", "kappa", "window", "choice_share"}
"""Fields that only someone states who means the prefix trees, or an old variant, which is hinted at by itself."""


def current_path(dotted: str, *, hint: bool = False) -> str:
    """Return a dotted path with today's names of the keys; `hint` says what to write instead of an old one."""
    for old, new in _OLD_KEYS.items():
        if dotted == old or dotted.startswith(f"{old}."):
            if hint:
                warnings.warn(f"'{old}' is called '{new}' now: write that instead.", OldName, stacklevel=2)
            return new + dotted[len(old) :]
    return dotted


def _hint_at_dpt(published: Any) -> None:
    """Say what `kind: dpt` means today, where nothing shows that its writer knows."""
    for item in published if isinstance(published, list) else ():
        named = {"kind": item} if isinstance(item, str) else item
        if isinstance(named, dict) and named.get("kind") == "dpt" and not _OF_DPT & named.keys():
            notice(
                "publish: kind: dpt means noisy prefix trees. Version 0.1 took it for what is kind: synthetic_trips "
                "now: write that if it is meant, or state levels to say that it is not."
            )


def _rename_old_keys(raw: dict[str, Any], *, hint: bool = True) -> None:
    """Give the keys of a raw scenario, and the paths of its arms, today's names."""
    if hint:
        _hint_at_dpt(raw.get("publish"))
    for old in _OLD_KEYS:
        section, key = old.split(".")
        here, name = raw.get(section), current_path(old).split(".")[1]
        if isinstance(here, dict) and key in here and name not in here:
            current_path(old, hint=hint)
            raw[section] = {name if each == key else each: value for each, value in here.items()}
    arms: Any = raw.get("compare")
    for name, changes in arms.items() if isinstance(arms, dict) else ():
        if isinstance(changes, dict):
            arms[name] = {current_path(str(path), hint=hint): value for path, value in changes.items()}


def set_path(raw: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted path in a raw scenario; a new `kind` starts from its own defaults."""
    _rename_old_keys(raw)
    keys = current_path(dotted, hint=True).split(".")
    if not all(keys) or len(keys) > MOST_DEPTH:
        raise UsageError(f"--set {dotted[:80]}: not a dotted path such as curator.mechanism.epsilon")
    here: Any = raw
    for depth, key in enumerate(keys[:-1]):
        if isinstance(here, list):
            here = here[_index(here, key, dotted)]
            if not isinstance(here, dict | list):
                raise UsageError(f"--set {dotted}: '{key}' is a single value, nothing lies below it")
            continue
        if not isinstance(here.get(key), dict | list):
            existing = here.get(key)
            here[key] = {"kind": existing} if isinstance(existing, str) and depth else {}
        here = here[key]
    last = keys[-1]
    if isinstance(here, list):
        here[_index(here, last, dotted)] = value
    elif last == "kind" and here.get("kind") != value:
        here.clear()
        here["kind"] = value
    else:
        here[last] = value


def order_changes(changes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return dotted paths and values in the order in which to set them: a section, its kind, then what lies below it.

    A new kind starts from its own defaults, so it must not come after an epsilon that stands above it in the file.
    """

    def depth(item: tuple[str, Any]) -> float:
        dotted = str(item[0])
        return dotted.count(".") - (0.5 if dotted.endswith(".kind") else 0.0)

    return sorted(((str(dotted), value) for dotted, value in changes.items()), key=depth)


def _index(items: list[Any], key: str, dotted: str) -> int:
    if not key.isdigit() or int(key) >= len(items):
        raise UsageError(f"--set {dotted}: '{key}' is not a place in a list of {len(items)} (0 is the first)")
    return int(key)


def parse_override(text: str) -> tuple[str, Any]:
    """Read `dotted.path=value`; the value is YAML, so numbers, lists and `null` are what they look like."""
    dotted, equals, value = text.partition("=")
    if not equals or not dotted.strip():
        raise UsageError(f"--set {text}: write it as dotted.path=value, for example curator.mechanism.epsilon=0.5")
    try:
        return dotted.strip(), parse_yaml(value)
    except YamlProblem as problem:
        raise UsageError(f"--set {dotted.strip()}: the value is not valid YAML: {problem}") from None


def build_scenario(
    raw: dict[str, Any], *, source: str, folder: Path, trust_plugins: bool = False, stand_ins: bool = False
) -> Scenario:
    """Validate a raw scenario, with all problems of all its parts and arms in one report.

    Parameters
    ----------
    raw
        The plain values of the file.
    source
        What the report calls it.
    folder
        Relative paths are meant from here.
    trust_plugins
        Run the plug-in files that the scenario names: they are programs of whoever wrote it.
    stand_ins
        Without them, let something stand in for kinds that are not known, and leave out the checks that would ask
        them: right for a run that has been made and is only read.
    """
    raw = copy.deepcopy(raw)
    _rename_old_keys(raw, hint=not stand_ins)
    if trust_plugins and not stand_ins and isinstance(raw.setdefault("plugins", []), list):
        raw["plugins"] += [file for file in list_given_files() if file not in raw["plugins"]]
    absent = () if trust_plugins else find_left_out(_plugin_names(raw), folder)
    problems = [] if absent and stand_ins else _plugin_problems(raw, folder, load=trust_plugins)
    unknown = StandIns(absent) if absent and stand_ins else None
    scenario, found = _validate_raw(raw, folder, unknown)
    problems += found
    if _arms_are_few(raw) and len(problems) <= _LOOKED_AT:
        problems += _arm_problems(raw, folder, {message for _, message in problems}, unknown)
    if problems or scenario is None:
        raise ScenarioError(source, problems + ([("plugins", not_loaded(absent))] if absent else []))
    return scenario


def _arms_are_few(raw: dict[str, Any]) -> bool:
    """Tell whether the arms can be looked at one by one; of too many, only that is told."""
    return isinstance(raw.get("compare"), dict) and len(raw["compare"]) <= MOST_ARMS


def find_left_out(names: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the plug-in files, of those that a scenario names, that the user did not name as well."""
    return tuple(name for name in names if os.path.normpath(folder / name) not in list_given_files())


def _plugin_names(raw: dict[str, Any]) -> tuple[str, ...]:
    """Return the plug-in files that a raw scenario names (those of a wrong list are reported elsewhere)."""
    names = raw.get("plugins", [])
    return tuple(map(str, names)) if isinstance(names, list) and len(names) <= MOST_PLUGINS else ()


def _plugin_problems(raw: dict[str, Any], folder: Path, *, load: bool) -> list[Problem]:
    """Load the plug-in files, or only look whether they are there."""
    problems = []
    for index, name in enumerate(_plugin_names(raw)):
        try:
            load_file(folder / name) if load else require_file(folder / name)
        except UsageError as error:
            problems.append((f"plugins.{index}", str(error).removeprefix("plugins: ")))
    return problems


def _validate_raw(
    raw: dict[str, Any], folder: Path, stand_ins: StandIns | None = None
) -> tuple[Scenario | None, list[Problem]]:
    """Validate fields, then check what belongs together; wrong fields do not hide the second kind."""
    problems: list[Problem] = []
    broken: list[tuple[str | int, ...]] = []
    try:
        scenario = Scenario.model_validate(raw, context=stand_ins)
    except ValidationError as error:
        problems += problems_of(error)
        broken += [line["loc"] for line in error.errors(include_url=False)]
        mended = _mend_raw(raw, broken)
        if mended is None:
            return None, problems
        scenario = mended
    scenario = _with_absolute_paths(scenario, folder)
    if stand_ins is not None and stand_ins.kinds:
        return (None if problems else scenario), problems
    unsound = [".".join(str(part) for part in loc) for loc in broken]
    for touched, path, message in cross_check(scenario):
        if not any(_are_related(place, bad) for place in touched for bad in unsound):
            problems.append((path, message))
    return (None if problems else scenario), problems


def _mend_raw(raw: dict[str, Any], broken: list[tuple[str | int, ...]]) -> Scenario | None:
    """Return the scenario without its broken parts, so that the rest can still be checked."""
    rest = copy.deepcopy(raw)
    for loc in broken:
        _remove(rest, loc)
    _drop_unknown_kinds(rest)
    for key, value in _STAND_IN.items():
        rest.setdefault(key, value)
    try:
        return Scenario.model_validate(rest)
    except ValidationError:
        return None


def _remove(raw: dict[str, Any], loc: tuple[str | int, ...]) -> None:
    """Remove one place from a raw scenario; the whole list when the place lies inside a list."""
    here: Any = raw
    for part, following in pairwise(loc):
        if not isinstance(here, dict) or part not in here:
            return
        if isinstance(following, int):
            del here[part]
            return
        here = here[part]
    if not isinstance(here, dict) or not loc:
        return
    if loc[-1] == "kind":  # an unknown kind makes its whole mapping meaningless
        here.clear()
        here["kind"] = ""
    else:
        here.pop(loc[-1], None)


def _drop_unknown_kinds(raw: dict[str, Any]) -> None:
    for key, value in list(raw.items()):
        if isinstance(value, dict):
            if value.get("kind") == "":
                del raw[key]
            else:
                _drop_unknown_kinds(value)


def _are_related(path: str, other: str) -> bool:
    return path == other or path.startswith(other + ".") or other.startswith(path + ".")


def _arm_problems(
    raw: dict[str, Any], folder: Path, known: set[str], stand_ins: StandIns | None = None
) -> list[Problem]:
    problems: list[Problem] = []
    for name in raw["compare"]:
        if len(problems) > _LOOKED_AT:
            break
        try:
            arm = arm_raw(raw, name)
        except UsageError as error:
            problems.append((f"compare.{name}", str(error)))
            continue
        _, found = _validate_raw(arm, folder, stand_ins)
        problems += [(f"compare.{name}: {path}", text) for path, text in found if text not in known]
    return problems


def arm_raw(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the raw scenario of one arm of a comparison."""
    arm = copy.deepcopy({key: value for key, value in raw.items() if key not in ("compare", "compare_at_success")})
    changes = copy.deepcopy(raw["compare"][name]) or {}
    if not isinstance(changes, dict):
        raise UsageError("an arm is a mapping of dotted paths to values")
    for dotted, value in order_changes(changes):
        if any(_are_related(dotted, path) for path in WORLD_PATHS):
            raise UsageError(
                f"'{dotted}' belongs to the world, which all arms share: arms differ in device, curator, server, "
                "acceptance, reward or patience. To change the world, run two scenarios and use 'geodp compare'."
            )
        set_path(arm, dotted, value)
    return arm


def _with_absolute_paths(scenario: Scenario, folder: Path) -> Scenario:
    """Return the scenario with every path made absolute, so that its resolved file runs from anywhere."""
    updates: dict[str, Any] = {"plugins": tuple(str((folder / name).resolve()) for name in scenario.plugins)}
    if scenario.region.file is not None:
        updates["region"] = Box(file=str((folder / scenario.region.file).resolve()))
    named = {"basemap": scenario.map.basemap, "places": scenario.map.places}
    files = {key: str((folder / name).resolve()) for key, name in named.items() if name not in (None, *BASEMAPS)}
    if files:
        updates["map"] = scenario.map.model_copy(update=files)
    found: Scenario = _anchor_paths(scenario, folder)
    return found.model_copy(update=updates)


def _anchor_paths(value: Any, folder: Path) -> Any:
    """Return a section, or a list of plug-ins, whose plug-ins find their files from the given folder."""
    if isinstance(value, FilePlugin):
        return value.anchor(folder) if value.files() else value
    if isinstance(value, tuple):
        parts = tuple(_anchor_paths(part, folder) for part in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if isinstance(value, TowerNetwork):
        return value.anchor(folder)
    if not isinstance(value, Model) or isinstance(value, Plugin):
        return value
    fields = {name: getattr(value, name) for name in type(value).model_fields}
    changed = {name: new for name, old in fields.items() if (new := _anchor_paths(old, folder)) is not old}
    return value.model_copy(update=changed) if changed else value


def arms(scenario: Scenario, *, trust_plugins: bool = False) -> dict[str, Scenario]:
    """Return the scenario of every arm; the scenario itself under '' when it compares nothing."""
    if not scenario.compare:
        return {"": scenario}
    raw = dump(scenario)
    return {
        name: build_scenario(arm_raw(raw, name), source=f"arm {name}", folder=Path.cwd(), trust_plugins=trust_plugins)
        for name in scenario.compare
    }


def dump(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as plain values, every default written out."""
    plain: dict[str, Any] = scenario.model_dump(mode="json")
    return plain


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Write a scenario as YAML that loads back to the same scenario."""
    text = yaml.dump(dump(scenario), Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100)
    path.write_text(text, encoding="utf-8")
