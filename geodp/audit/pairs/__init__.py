"""Neighbouring inputs for single plug-ins: the worst pairs that are known for each, found by its class.

A module of this folder names pairs for a class and whatever derives from it: `@chosen_pairs.of(DPSense)`. Every family
has pairs for its base class, so any plug-in is audited; one that lives elsewhere adds its own by `audit_cases`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from geodp.privacy.audit_case import AnyCase

Namer = TypeVar("Namer", bound=Callable[..., Sequence[AnyCase]])


class PairsByClass:
    """Functions that name pairs of inputs, each for a class of plug-ins; the nearest class counts."""

    def __init__(self) -> None:
        self._known: dict[type, Callable[..., Sequence[AnyCase]]] = {}

    def of(self, cls: type) -> Callable[[Namer], Namer]:
        """Register a function for a class and for all that derive from it."""

        def register(name_pairs: Namer) -> Namer:
            self._known[cls] = name_pairs
            return name_pairs

        return register

    def __call__(self, plugin: Any, *details: Any) -> Sequence[Any]:
        """Name pairs for a plug-in."""
        _import_all()
        nearest = next((self._known[cls] for cls in type(plugin).__mro__ if cls in self._known), None)
        return [] if nearest is None else nearest(plugin, *details)


chosen_pairs = PairsByClass()
"""The worst pairs that are known: `(plugin) -> cases` of any sort."""
random_pairs = PairsByClass()
"""Random pairs: `(plugin, rng, count) -> cases` that are checked without samples."""


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
