"""Plug-ins built from keyword arguments."""

from __future__ import annotations

from typing import Any

from geodp.errors import ScenarioError
from geodp.model import problems_of
from geodp.registry import Plugin, find


def build_plugin(family: str, kind: str, fields: dict[str, Any]) -> Any:
    """Build a plug-in of a family from keyword arguments; all that is wrong with them is told at once."""
    from pydantic import ValidationError

    cls: type[Plugin] = find(kind, family)
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        raise ScenarioError(f"geodp.{family}({kind!r})", problems_of(error, whole="")) from None
