"""The command `geodp list`: every plug-in with its options, straight from its class."""

from __future__ import annotations

import re
import textwrap
import typing
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.console import Plugins

if TYPE_CHECKING:
    from geodp.registry import Plugin

_UNITS = {
    "_m": "metres",
    "_m2": "square metres",
    "_s": "seconds",
    "_mps": "metres per second",
    "_per_m": "per metre",
}
_WIDTH = 110


def list_(
    family: Annotated[str | None, typer.Argument(metavar="[FAMILY]", help="One family only.")] = None,
    _plugins: Plugins = None,
) -> None:
    """List the plug-ins with where they come from, options, units, defaults, guarantee and reference."""
    typer.echo(plugin_list(family))


def plugin_list(family: str | None = None) -> str:
    """Describe one family, or all of them."""
    from geodp.registry import ROOMS, plugins

    blocks = []
    for name in [family] if family is not None else ROOMS:
        known = plugins(name)
        blocks.append(f"{name} ({len(known)})\n{'=' * len(name)}")
        blocks += [_describe_plugin(cls) for cls in known.values()] or ["  none in this version"]
    return "\n\n".join(blocks)


def _describe_plugin(cls: type[Plugin]) -> str:
    from geodp.registry import origin

    lines = [f"{cls.kind} ({origin(cls)})", _wrap_text(cls.headline(), "  ")]
    for word, kinds in (("reads", cls.reads), ("releases", cls.releases)):
        if kinds:
            lines.append(f"  {word}: {', '.join(sorted(kinds))}")
    cls.describe_fields()
    for name, field in cls.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = _value(default)
        unit = next((text for end, text in sorted(_UNITS.items(), key=_longest) if name.endswith(end)), "")
        about = " ".join((field.description or "").split())
        lines.append(f"  {name}: {_type(field.annotation)} = {shown}" + (f"  [{unit}]" if unit else ""))
        if about:
            lines.append(_wrap_text(about, "      "))
    for title in ("Guarantee", "Reference"):
        text = cls.section(title)
        if text:
            lines.append(_wrap_text(f"{title}: {text}", "  "))
    return "\n".join(lines)


def _value(default: Any) -> str:
    """Write a default as YAML would."""
    if kind := getattr(default, "kind", None):
        return f"{{kind: {kind}}}"
    return "null" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def _longest(item: tuple[str, str]) -> int:
    return -len(item[0])


def _wrap_text(text: str, indent: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _type(annotation: Any) -> str:
    """Say a field's type in the words of YAML."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, UnionType):
        return " | ".join(_type(part) for part in typing.get_args(annotation))
    if origin is Annotated:
        return _type(typing.get_args(annotation)[0])
    if origin is typing.Literal:
        return " | ".join(str(value) for value in typing.get_args(annotation))
    if origin in (list, tuple):
        return "list"
    if origin is dict:
        return "mapping"
    plain = {float: "number", int: "whole number", str: "text", bool: "true | false", NoneType: "null"}
    return plain.get(annotation, re.sub(r"^.*\.", "", str(annotation)).strip("'>"))
