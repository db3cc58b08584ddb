"""The command `geodp list`: a line per plug-in, or the pages of a family or of one plug-in, straight from its class."""

from __future__ import annotations

import re
import textwrap
import typing
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.completion import complete_listed
from geodp.cli.console import Json, Plugins, print_json, say, suggest
from geodp.errors import UsageError

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
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A plug-in, or a whole family.", autocompletion=complete_listed),
    ] = None,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """List the plug-ins, a line each; of one, or of a family: options, units, defaults, guarantee and reference."""
    found = find_listed(name)
    print_json([describe_plugin(cls, brief=name is None) for cls in found])
    say(plugin_lines(found) if name is None else plugin_list(name))
    if name is None:
        say("")
        suggest("geodp list NAME   shows options, guarantee and reference of one; geodp list FAMILY   of a family")
    elif len(found) == 1:
        suggest(_say_where(found[0]))
    else:
        suggest(
            f"geodp list KIND   shows one of them alone, e.g. geodp list {found[0].kind}" if found else "geodp list"
        )


def find_listed(name: str | None) -> list[type[Plugin]]:
    """Return the plug-ins of a family, or the one that is called so; all of them where nothing is named."""
    from geodp.model import did_you_mean
    from geodp.registry import ROOMS, plugins, room

    if name is None:
        return [cls for family in ROOMS for cls in plugins(family).values()]
    if name in ROOMS:
        return list(plugins(name).values())
    known = plugins()
    if name in known:
        return [known[name]]
    if hint := did_you_mean(name, [*ROOMS, *known]):
        raise UsageError(f"no family and no plug-in called '{name}'.{hint}")
    room(name)  # which says what families there are, and what an old one is called now
    return []


def plugin_lines(found: list[type[Plugin]]) -> str:
    """Return a line per plug-in: family, kind, what it does, and where it comes from."""
    from geodp.registry import origin

    family = max((len(cls.family) for cls in found), default=0)
    kind = max((len(cls.kind) for cls in found), default=0)
    return "\n".join(f"{cls.family:<{family}}  {cls.kind:<{kind}}  {cls.headline()} ({origin(cls)})" for cls in found)


def plugin_list(name: str | None = None) -> str:
    """Return the pages of one family or plug-in, or of all."""
    from geodp.registry import ROOMS

    blocks = []
    for family in ROOMS if name is None else [name]:
        found = find_listed(family)
        if family in ROOMS:
            blocks.append(f"{family} ({len(found)})\n{'=' * len(family)}")
        blocks += [_page(cls, family=family not in ROOMS) for cls in found] or ["  none in this version"]
    return "\n\n".join(blocks)


def describe_plugin(cls: type[Plugin], *, brief: bool) -> dict[str, Any]:
    """Return what is known of a plug-in as plain values; `brief` leaves out its options."""
    from geodp.registry import origin

    values: dict[str, Any] = {"family": cls.family, "kind": cls.kind, "about": cls.headline(), "origin": origin(cls)}
    if brief:
        return values
    cls.describe_fields()
    options = [
        {
            "name": name,
            "type": _type(field.annotation),
            "default": _value(field.get_default(call_default_factory=True)),
            "unit": _unit(name) or None,
            "about": " ".join((field.description or "").split()),
        }
        for name, field in cls.model_fields.items()
    ]
    values |= {"reads": sorted(cls.reads), "releases": sorted(cls.releases), "options": options}
    return values | {title.lower(): cls.section(title) or None for title in ("Guarantee", "Reference")}


def _say_where(cls: type[Plugin]) -> str:
    """Say how a plug-in is used."""
    from geodp.registry import PLACES

    if cls.family in PLACES:
        place = PLACES[cls.family]
        many = cls.family in ("publication", "attack", "layer")
        value = f"[{{kind: {cls.kind}}}]" if many else f"{{kind: {cls.kind}}}"
        return f"in a scenario:   {place}: {value}"
    return {
        "loader": f"geodp datasets describe FILE --format {cls.kind}",
        "metric": "geodp metrics RUN   computes all metrics of a run again",
    }.get(cls.family, "geodp figures   lists the figures")


def _unit(name: str) -> str:
    return next((text for end, text in sorted(_UNITS.items(), key=_longest) if name.endswith(end)), "")


def _page(cls: type[Plugin], *, family: bool = False) -> str:
    from geodp.registry import origin

    what = f"{cls.family}, " if family else ""
    lines = [f"{cls.kind} ({what}{origin(cls)})", _wrap_text(cls.headline(), "  ")]
    for word, kinds in (("reads", cls.reads), ("releases", cls.releases)):
        if kinds:
            lines.append(f"  {word}: {', '.join(sorted(kinds))}")
    cls.describe_fields()
    for name, field in cls.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = _value(default)
        unit = _unit(name)
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
