"""Changes that a scenario mostly survives, so that what follows the check is tried, too."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

from geodp.model import Model
from tests.fuzz.slots import LISTS, SLOTS, place_plugin

Raw = dict[str, Any]
_FACTORS = (0.01, 0.1, 0.3, 0.5, 0.9, 1.1, 2, 3, 10, 100)


def _gentle_fields(rng: random.Random, cls: type[Model], share: float) -> Raw:
    """Return values of some fields that are mostly sound: scaled numbers, other words of a choice."""
    values: Raw = {}
    for name, field in cls.model_fields.items():
        if rng.random() >= share:
            continue
        default = field.get_default(call_default_factory=True)
        words = _choices(field.annotation)
        if words:
            values[name] = rng.choice(words)
        elif isinstance(default, bool):
            values[name] = not default
        elif isinstance(default, int):
            values[name] = max(0, round(default * rng.choice(_FACTORS)))
        elif isinstance(default, float):
            values[name] = default * rng.choice(_FACTORS)
        elif default is None and "float" in str(field.annotation):
            values[name] = rng.choice([0.1, 1.0, 10.0, 100.0, 300.0])
    return values


def _choices(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for part in get_args(annotation) for word in _choices(part)]


def _other_kind(rng: random.Random, raw: Raw) -> None:
    """Use another plug-in of a family, some of its settings changed a little."""
    from geodp.registry import plugins

    family = rng.choice([*SLOTS, *LISTS, "layer"])
    kind, cls = rng.choice(list(plugins(family).items()))
    place_plugin(raw, family, {"kind": kind, **_gentle_fields(rng, cls, 0.3)})


def _other_settings(rng: random.Random, raw: Raw) -> None:
    """Set some fields of a section."""
    from geodp.scenario.sections import Budget, CuratorSection, DeviceSection, ServerSection, Tasks

    sections: dict[str, type[Model]] = {"tasks": Tasks, "device": DeviceSection, "server": ServerSection}
    sections |= {} if raw.get("curator", {}) is None else {"curator": CuratorSection}
    section = rng.choice(list(sections))
    holder = raw.setdefault(section, {})
    if isinstance(holder, dict):
        holder |= _gentle_fields(rng, sections[section], 0.3)
        if section == "curator" and rng.random() < 0.5:
            holder["budget"] = _gentle_fields(rng, Budget, 0.4) | {"epsilon": rng.choice([0.5, 2.0, 20.0])}


def _no_curator(rng: random.Random, raw: Raw) -> None:
    raw["curator"] = None
    device = raw.setdefault("device", {})
    if isinstance(device, dict):
        device["mechanism"] = {"kind": rng.choice(["none", "planar_laplace", "planar_geometric"])}
    raw.pop("publish", None)
    raw.pop("compare", None)


def _other_region(rng: random.Random, raw: Raw) -> None:
    lon, lat = rng.uniform(-170, 170), rng.uniform(-70, 70)
    width, height = rng.choice([1e-4, 0.01, 0.1, 1.0]), rng.choice([1e-4, 0.01, 0.1, 1.0])
    raw["region"] = {"west": lon, "south": lat, "east": lon + width, "north": lat + height}


def _few_people(rng: random.Random, raw: Raw) -> None:
    source = raw["workers"]["source"] if isinstance(raw.get("workers"), dict) else None
    if isinstance(source, dict) and "path" not in source:
        source["count"] = rng.choice([1, 2, 3, 10])


def _other_times(rng: random.Random, raw: Raw) -> None:
    raw["duration_s"] = rng.choice([1.0, 61.0, 100.0, 600.5, 3600.0])
    raw["start_time"] = rng.choice(["00:00", "23:59", "8:30"])
    raw["seed"] = rng.randrange(1000)


def _no_tasks(rng: random.Random, raw: Raw) -> None:
    raw["tasks"] = {"demand": {"kind": "poisson", "per_hour": rng.choice([1e-9, 0.1, 4.0, 500.0])}}


GENTLE: list[Callable[[random.Random, Raw], None]] = [
    *[_other_kind] * 5, *[_other_settings] * 4, _no_curator, _other_region, _few_people, _other_times, _no_tasks,
]  # fmt: skip
