"""Writes the page of Python names: mkdocstrings reads their signatures and docstrings from the source."""

from __future__ import annotations

import inspect
from pathlib import Path

_INTRODUCTION = """# Python

Everything here is typed, and stable by the [stated policy](../contributing.md#versions). `import geodp` takes less than
a tenth of a second: what is heavy is imported when it is first used.
"""
_DIRECTIVE = """::: {home}
    options:
      heading: {name}
      toc_label: {name}"""


def write_page(path: Path) -> None:
    """Write the page."""
    parts = [_INTRODUCTION]
    for title, names in group_names().items():
        parts.append(f"## {title}")
        parts += [_DIRECTIVE.format(home=home, name=name) for name, home in names.items()]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def group_names() -> dict[str, dict[str, str]]:
    """Return the public names of `geodp`, each with where it is defined: functions, classes, then modules."""
    import geodp
    from geodp.frames import bare

    groups: dict[str, dict[str, str]] = {"Functions": {}, "Classes": {}}
    for name in sorted(geodp.__all__, key=str.lower):
        value = getattr(geodp, name)
        if inspect.ismodule(value) and callable(value):
            value = getattr(bare, name)  # a room that can be called, too: what it calls has the words
        if inspect.ismodule(value):
            public = {item: getattr(value, item) for item in value.__all__}
            groups[f"geodp.{name}"] = {f"geodp.{name}.{item}": _home(inner) for item, inner in public.items()}
        elif inspect.isclass(value) or inspect.isfunction(value):
            groups["Classes" if inspect.isclass(value) else "Functions"][f"geodp.{name}"] = _home(value)
    return groups


def _home(value: object) -> str:
    return f"{value.__module__}.{value.__qualname__}"  # type: ignore[attr-defined]
