"""The method of a publication: found by its kind, built from the options of a command, with errors for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from geodp.errors import UsageError
from geodp.model import did_you_mean
from geodp.registry import Plugin

P = TypeVar("P", bound=Plugin)
_EPSILONS = ("epsilon", "epsilon_per_m")
_OPTIONS = {"epsilon_per_m": "--epsilon", "trajectories_per_person": "--cap"}


def find_method(what: str, kind: str, known: Mapping[str, type[P]], *, noun: str = "method") -> type[P]:
    """Return the class of a kind among those that publish `what`, or refuse it with the nearest known name."""
    if kind not in known:
        hint = did_you_mean(kind, known)
        raise UsageError(f"{what}: no {noun} called '{kind}'.{hint} Known: {', '.join(known)}.")
    return known[kind]


def merge_options(cls: type[Plugin], settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a method is built from: those of --set, and those that have an option of their own.

    Parameters
    ----------
    cls
        The method.
    settings
        Fields that --set states.
    options
        Field → what its option says (None: it was not given).
    """
    fields = dict(settings)
    for name, value in options.items():
        if value is None:
            continue
        option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
        if name not in cls.model_fields:
            raise UsageError(f"{cls.kind} takes no {option}.")
        if name in fields:
            raise UsageError(f"{option} and --set both state {name}: give only one.")
        fields[name] = value
    return fields


def require_epsilon(cls: type[Plugin], fields: Mapping[str, Any], whose: str = "") -> None:
    """Refuse to guess an epsilon where the method has one and nobody has stated it."""
    own = [name for name in _EPSILONS if name in cls.model_fields]
    if own and not set(own) & set(fields):
        per = " per metre" if own == ["epsilon_per_m"] else ""
        raise UsageError(f"give --epsilon: the epsilon{per} of {cls.kind}{whose}.")
