"""Scenarios, sweeps and figure files, damaged by rule: values, structure, grammar of plug-ins, text."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.fuzz import good_files
from tests.fuzz.case import SCENARIO, Case, Command, generator
from tests.fuzz.gentle_changes import GENTLE
from tests.fuzz.oracle import READ_FIGURE
from tests.fuzz.slots import SLOTS, place_plugin
from tests.fuzz.values import any_value, mutated

ROOT = Path(__file__).parents[2] / "scenarios"
RUN_ONE_IN = 20
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Raw = dict[str, Any]


def scenario_case(seed: int, number: int, folder: Path, inputs: Path) -> Case:
    """Make the case of a number: a shipped file, shrunk so that it runs in a moment, with one to four damages."""
    rng = generator(seed, SCENARIO, number)
    family, name = rng.choice(_shipped())
    raw = _base(family, name, inputs, rng)
    told = []
    gentle = family == "scenarios" and rng.random() < 0.5
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        damage = rng.choice(GENTLE if gentle else _STRUCTURE)
        damage(rng, raw)
        told.append(damage.__name__.strip("_"))
    text = _text(raw)
    if not gentle and rng.random() < 0.3:
        hurt = rng.choice(_TEXT)
        text = hurt(rng, text)
        told.append(hurt.__name__.strip("_"))
    content = text.encode() if gentle else _encoded(rng, text)
    path = folder / "case.yaml"
    what = f"{family}/{name}: {', '.join(told)}"
    return Case(folder, what, {"case.yaml": content}, _commands(family, path, folder, number))


def _commands(family: str, path: Path, folder: Path, number: int) -> list[Command]:
    if family == "sweeps":
        return [Command(["sweep", str(path), "--dry-run", "--out", str(folder / "swept")], names="case.yaml")]
    if family == "figures":
        return [Command([READ_FIGURE, str(path)], names="case.yaml")]
    commands = [Command(["check", str(path)], names="case.yaml")]
    if number % RUN_ONE_IN == 1:
        words = ["run", str(path), "--out", str(folder / "run"), "--quiet"]
        commands.append(Command(words, makes=("run",), only_after=0, light=True))
    return commands


@cache
def _shipped() -> list[tuple[str, str]]:
    scenarios = [("scenarios", path.name) for path in sorted(ROOT.glob("*.yaml"))]
    sweeps = [("sweeps", path.name) for path in sorted((ROOT / "sweeps").glob("*.yaml"))]
    figures = [("figures", path.name) for path in sorted((ROOT / "figures").glob("*.yaml"))]
    made = [("scenarios", name) for name in _FROM_FILES]
    return scenarios * 3 + made * 4 + sweeps * 6 + [("figures", name) for _, name in figures]


_TOWN = {"west": good_files.WEST, "south": good_files.SOUTH, "east": good_files.EAST, "north": good_files.NORTH}
_FROM_FILES: dict[str, Raw] = {
    "table": {"workers": {"source": {"kind": "table", "path": "people.csv"}}, "curator": {"expected_workers": 100}},
    "recorded": {
        "workers": {"source": {"kind": "table", "path": "fixes.parquet"}, "mobility": {"kind": "recorded"}},
        "curator": {"expected_workers": 100},
    },
    "trace": {"tasks": {"demand": {"kind": "trace", "path": "tasks.csv"}}},
    "visits": {
        "workers": {"visit_source": {"kind": "visits_file", "path": "visits.csv", "venues": "venues.csv"}},
        "publish": [{"kind": "laplace_counts"}],
    },
    "replay": {"workers": {"mobility": {"kind": "replay", "path": "trips.csv", "times": "each"}}},
    "polygon": {"region": {"file": "region.geojson"}},
    "phones": {"curator": None, "device": {"mechanism": {"kind": "planar_laplace"}}},
}
"""Scenarios on files of their own, named by what they read."""


@cache
def _read(family: str, name: str) -> Raw:
    folder = ROOT if family == "scenarios" else ROOT / family
    raw: Raw = yaml.load((folder / name).read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506
    return raw


def _base(family: str, name: str, inputs: Path, rng: random.Random) -> Raw:
    if name in _FROM_FILES:
        raw = copy.deepcopy(_FROM_FILES[name])
        raw = {"geodp": 1, "name": name, "region": dict(_TOWN), **raw}
        _anchor(raw, inputs)
    else:
        raw = copy.deepcopy(_read(family, name))
        raw.pop("plugins", None)
        if "base" in raw:
            raw["base"] = str((ROOT / family / raw["base"]).resolve())
    if family == "scenarios":
        _shrink(raw)
    if family == "figures" and rng.random() < 0.5:
        raw.pop("figure", None)
    return raw


def _anchor(value: Any, inputs: Path) -> None:
    for key, item in value.items() if isinstance(value, dict) else ():
        if key in ("path", "venues", "file") and isinstance(item, str):
            value[key] = str(inputs / item)
        else:
            _anchor(item, inputs)


def _shrink(raw: Raw) -> None:
    """Make a shipped scenario small enough to be run by the hundred."""
    raw["duration_s"] = min(raw.get("duration_s", 3600), 900)
    source = raw.setdefault("workers", {}).setdefault("source", {"kind": "synthetic_city"})
    if "path" not in source:
        source["count"] = min(source.get("count", 1000), 150)
    demand = raw.setdefault("tasks", {}).setdefault("demand", {"kind": "poisson"})
    if demand.get("kind") == "poisson":
        demand["per_hour"] = min(demand.get("per_hour", 60), 60)
    raw["tasks"].pop("reward", None)


# -- structure --------------------------------------------------------------------------------------------------------


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with every key or index in it, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def _somewhere(rng: random.Random, raw: Raw) -> tuple[Any, Any] | None:
    found = list(_places(raw))
    return rng.choice(found) if found else None


def _change_value(rng: random.Random, raw: Raw) -> None:
    if place := _somewhere(rng, raw):
        place[0][place[1]] = mutated(rng, place[0][place[1]])


def _delete(rng: random.Random, raw: Raw) -> None:
    if place := _somewhere(rng, raw):
        del place[0][place[1]]


def _replace_any(rng: random.Random, raw: Raw) -> None:
    if place := _somewhere(rng, raw):
        place[0][place[1]] = any_value(rng)


def _swap(rng: random.Random, raw: Raw) -> None:
    first, second = _somewhere(rng, raw), _somewhere(rng, raw)
    if first and second:
        one, other = copy.deepcopy(first[0][first[1]]), copy.deepcopy(second[0][second[1]])
        first[0][first[1]] = other
        if isinstance(second[0], dict) or second[1] < len(second[0]):
            second[0][second[1]] = one


def _unknown_key(rng: random.Random, raw: Raw) -> None:
    mappings = [raw] + [item for holder, key in _places(raw) if isinstance(item := holder[key], dict)]
    rng.choice(mappings)[rng.choice(["extra", "epsilonn", "Kind", "", "a.b", "éé", "x" * 200, "duration", "1"])] = 1


def _many_keys(rng: random.Random, raw: Raw) -> None:
    raw |= {f"key{number}": number for number in range(rng.choice([20, 200, 3000]))}


def _rename_key(rng: random.Random, raw: Raw) -> None:
    place = _somewhere(rng, raw)
    if place and isinstance(place[0], dict) and isinstance(place[1], str):
        place[0][rng.choice([place[1][:-1], place[1] + "s", place[1].upper()])] = place[0].pop(place[1])


def _deepen(rng: random.Random, raw: Raw) -> None:
    if place := _somewhere(rng, raw):
        value = place[0][place[1]]
        for _ in range(rng.choice([1, 5, 30, 60])):
            value = [value] if rng.random() < 0.5 else {"a": value}
        place[0][place[1]] = value


def _other_plugin(rng: random.Random, raw: Raw) -> None:
    """Put a plug-in of its family, or of another one, where one may stand, with some of its fields set."""
    from geodp.registry import plugins

    family = rng.choice([*SLOTS, "publication", "attack", "layer"])
    kind, cls = rng.choice(list(plugins(family if rng.random() < 0.9 else rng.choice(list(SLOTS))).items()))
    value: Raw = {"kind": kind}
    for name, field in cls.model_fields.items():
        if rng.random() < 0.3:
            default = field.get_default(call_default_factory=True)
            value[name] = mutated(rng, default if isinstance(default, bool | int | float | str) else 1.0)
    place_plugin(raw, family, value)


def _set_section_field(rng: random.Random, raw: Raw) -> None:
    """Set a field of a section that the file may not mention."""
    from geodp.model import Model
    from geodp.scenario.schema import Scenario
    from geodp.scenario.sections import CuratorSection, DeviceSection, MapSection, ServerSection, Tasks, Workers

    sections: dict[str, type[Model]] = {
        "workers": Workers, "tasks": Tasks, "device": DeviceSection, "curator": CuratorSection,
        "server": ServerSection, "map": MapSection, "": Scenario,
    }  # fmt: skip
    section = rng.choice(list(sections))
    name, field = rng.choice(list(sections[section].model_fields.items()))
    default = field.get_default(call_default_factory=True)
    value = mutated(rng, default if isinstance(default, bool | int | float | str) else 1.0)
    holder = raw.get(section) if section else raw
    if isinstance(holder, dict):
        holder[name] = value
    else:
        raw[section] = {name: value}


def _compare(rng: random.Random, raw: Raw) -> None:
    paths = ["curator.mechanism.epsilon", "server.batch_s", "tasks.patience_s", "workers.source.count", "curator",
             "publish.0.kind", "a..b", "", "device.mechanism.kind", "map.layers.0"]  # fmt: skip
    arms = {rng.choice(["one", "two", "..", "a/b", "", "ä", "1"]): {rng.choice(paths): any_value(rng)} for _ in "ab"}
    raw["compare"] = rng.choice([arms, any_value(rng), {"one": {}, **arms}])


_STRUCTURE: list[Callable[[random.Random, Raw], None]] = [
    *[_change_value] * 6, *[_other_plugin] * 5, *[_set_section_field] * 5, *[_delete] * 2, _replace_any, _swap,
    _unknown_key, _many_keys, _rename_key, _deepen, _compare,
]  # fmt: skip


# -- text -------------------------------------------------------------------------------------------------------------


def _text(raw: Any) -> str:
    try:
        return str(yaml.dump(raw, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=10**6))
    except (yaml.YAMLError, ValueError, OverflowError):
        return repr(raw)


def _lines(rng: random.Random, text: str) -> tuple[list[str], int]:
    lines = text.splitlines() or [""]
    return lines, rng.randrange(len(lines))


def _repeat_line(rng: random.Random, text: str) -> str:
    lines, at = _lines(rng, text)
    return "\n".join([*lines[: at + 1], *lines[at:]])


def _drop_line(rng: random.Random, text: str) -> str:
    lines, at = _lines(rng, text)
    return "\n".join(lines[:at] + lines[at + 1 :])


def _indent_line(rng: random.Random, text: str) -> str:
    lines, at = _lines(rng, text)
    lines[at] = rng.choice([" ", "\t", "   ", "- "]) + lines[at]
    return "\n".join(lines)


def _cut_off(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _odd_characters(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice([1, 3, 30])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(list(":-[]{},&*!|>'\"%@`#?\t\x01\u2028é\ufeff")) + text[at + rng.choice([0, 1]) :]
    return text


def _yaml_tricks(rng: random.Random, text: str) -> str:
    bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(f"{n}: &{n} [{','.join(['*' + o] * 10)}]\n" for o, n in
                                                     zip("abcdefg", "bcdefgh", strict=True))  # fmt: skip
    tricks = ["<<: {about: merged}\n", "x: &x {a: 1}\n<<: *x\n", "a: &a [*a]\n", bomb, "z: " + "[" * 3000 + "\n",
              "z: " + "{a: " * 500 + "\n", "z: !!int x\n", "z: !!python/object/apply:os.getcwd []\n", "z: *nobody\n",
              "---\n", "...\n", "%YAML 3.0\n---\n", "z: " + "9" * 5000 + "\n", "? [a, b]\n: c\n", "z: !!binary abc\n",
              "z: !!timestamp 2024-99-99\n", "z: |\n  text\n", "'unclosed: 1\n", "z: 'it''s'\n"]  # fmt: skip
    trick = rng.choice(tricks)
    return trick + text if rng.random() < 0.5 else text + "\n" + trick


def _long_word(rng: random.Random, text: str) -> str:
    lines, at = _lines(rng, text)
    key, colon, _ = lines[at].partition(":")
    lines[at] = key + (colon or ":") + " " + "w" * rng.choice([1000, 100_000])
    return "\n".join(lines)


_TEXT: list[Callable[[random.Random, str], str]] = [
    _repeat_line, _drop_line, _indent_line, _cut_off, _odd_characters, _yaml_tricks, _long_word,
]  # fmt: skip


def _encoded(rng: random.Random, text: str) -> bytes:
    """Return the bytes: mostly UTF-8, now and then something else, or nothing but noise."""
    chance = rng.random()
    if chance < 0.02:
        return rng.randbytes(rng.choice([0, 1, 100, 5000]))
    if chance < 0.06:
        return text.encode(rng.choice(["utf-16", "utf-8-sig", "latin-1", "cp1252", "utf-32"]), errors="replace")
    content = bytearray(text.encode("utf-8", errors="surrogatepass"))
    if chance < 0.1 and content:
        for _ in range(rng.choice([1, 10])):
            content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)
