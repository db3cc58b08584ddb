"""Says of the fields of a model, in the words of YAML, what may stand in them."""

from __future__ import annotations

import math
import re
import typing
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any

from geodp.model import Model
from geodp.registry import Plugin, Slot

UNITS = {"_per_m": "1/m", "_m2": "m²", "_mps": "m/s", "_per_hour": "1/h", "_m": "m", "_s": "s"}
"""Unit of a field by the end of its name; the first that fits counts."""
_BOUNDS = {"gt": "> {}", "ge": "≥ {}", "lt": "< {}", "le": "≤ {}"}
_PLAIN = {float: "number", int: "whole number", str: "text", bool: "true or false", NoneType: "null", Any: "anything"}


@dataclass(frozen=True)
class Described:
    """One field: its name, unit, type, default and text."""

    name: str
    type_name: str
    unit: str
    default: str
    about: str
    family: str = ""
    """The family of plug-ins that may stand here ('' for none)."""
    below: type[Model] | None = None
    """The section that stands here (None for a value)."""


def describe(cls: type[Model]) -> list[Described]:
    """Describe the fields of a model in their order."""
    cls.describe_fields()
    found = []
    for name, field in cls.model_fields.items():
        slot = _find_slot(field.annotation, field.metadata)
        section = _find_section(field.annotation)
        bounds = [
            form.format(_number(getattr(part, key)))
            for part in field.metadata
            for key, form in _BOUNDS.items()
            if getattr(part, key, None) is not None
        ]
        what = f"plug-in: {slot.family}" if slot else "section" if section else name_type(field.annotation)
        default = "required" if field.is_required() else f"`{show(field.get_default(call_default_factory=True))}`"
        found.append(
            Described(
                name=name,
                type_name=", ".join([what, *bounds]),
                unit=next((unit for end, unit in UNITS.items() if name.endswith(end)), ""),
                default="" if section and not field.is_required() else default,
                about=" ".join((field.description or "").split()),
                family=slot.family if slot else "",
                below=section,
            )
        )
    return found


def name_type(annotation: Any) -> str:  # noqa: PLR0911 - a word for every kind of type
    """Say a field's type in the words of YAML."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(name_type(part) for part in parts))
    if origin is Annotated:
        return name_type(parts[0])
    if origin is typing.Literal:
        return ", ".join(f"`{show(value)}`" for value in parts)
    if origin in (list, tuple):
        return "list"
    if origin is dict:
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    if isinstance(annotation, type) and issubclass(annotation, Model) and not issubclass(annotation, Plugin):
        return "section"
    return _PLAIN.get(annotation, re.sub(r"^.*\.", "", str(annotation)).strip("'>"))


def show(value: Any) -> str:  # noqa: PLR0911 - a way to write every kind of value
    """Write a value as YAML would, plug-ins by their kinds."""
    if kind := getattr(value, "kind", None):
        return str(kind)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple | frozenset):
        return f"[{', '.join(show(part) for part in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {show(part)}" for key, part in value.items()) + "}"
    return str(value) if value != "" else '""'


def escape_cell(text: str) -> str:
    """Make a text fit for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("_name_", r"\_name\_")


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else f"{value:g}"


def _find_slot(annotation: Any, metadata: list[Any]) -> Slot | None:
    for part in metadata:
        if isinstance(part, Slot):
            return part
    for part in typing.get_args(annotation):
        inner = list(getattr(part, "__metadata__", ()))
        if found := _find_slot(part, inner):
            return found
    return None


def _find_section(annotation: Any) -> type[Model] | None:
    for one in (annotation, *typing.get_args(annotation)):
        if isinstance(one, type) and issubclass(one, Model) and not issubclass(one, Plugin):
            return one
    return None
