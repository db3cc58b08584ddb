"""Stand-ins for plug-ins whose files were not loaded: they hold what was written, and refuse to do anything."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from geodp.errors import PluginNotLoaded
from geodp.registry import ROOMS, Plugin
from geodp.storage.markdown import printable
from geodp.storage.names import require_name

HOW_TO_TRUST = "If you trust whoever made them, add --trust-plugins (in Python: trust_plugins=True)."


@dataclass
class StandIns:
    """What validation is told when a scenario is read without its plug-in files, and what it found."""

    files: tuple[str, ...]
    """The files that were not loaded."""
    kinds: list[str] = field(default_factory=list)
    """The kinds for which something stands in."""

    def build(self, kind: str, family: str, fields: Mapping[str, Any]) -> Plugin:
        """Return a stand-in with the settings of a plug-in of that kind."""
        require_name(kind, "a kind")  # parts of a run folder are called after it
        self.kinds.append(kind)
        made: Any = _class(kind, family, self.files)
        return cast("Plugin", made.model_construct(**fields))


def not_loaded(files: Sequence[str]) -> str:
    """Say which plug-in files were not loaded, why, and how to load them."""
    named = ", ".join(map(printable, files))
    many = len(files) > 1
    return (
        f"{'plug-ins' if many else 'a plug-in'} of its own ({named}) {'were' if many else 'was'} not loaded: "
        f"{'they are programs' if many else 'it is a program'}, and reading runs none. {HOW_TO_TRUST}"
    )


def _class(kind: str, family: str, files: tuple[str, ...]) -> type[Plugin]:
    """Return a class of the family whose every method and choice raises.

    A default of the family would be a guess about a class that nobody has seen.
    """
    base = _base(family)
    refuse = _make_refusal(f"{family} '{kind}': {not_loaded(files)}")
    methods = [name for name, value in vars(base).items() if callable(value) and not name.startswith(("_", "model_"))]
    choices = [name for name in base.__annotations__ if isinstance(vars(base).get(name), bool)]
    namespace: dict[str, Any] = {name: refuse for name in methods if name != "files"}
    namespace |= {name: property(refuse) for name in choices if family != "layer"}
    namespace |= {"__module__": __name__, "model_config": {**base.model_config, "extra": "allow"}}
    metaclass: Any = type(base)
    made = metaclass("StandIn", (base,), namespace)
    made.kind = kind  # set afterwards: a class that is defined with a kind is registered under it
    if family == "layer":
        made.title = kind
    return cast("type[Plugin]", made)


def _base(family: str) -> type[Plugin]:
    """Return the base class of a family: it stands in the room's own file."""
    room = importlib.import_module(ROOMS[family])
    found = [value for value in vars(room).values() if isinstance(value, type) and issubclass(value, Plugin)]
    return next(cls for cls in found if cls.__dict__.get("family") == family)


def _make_refusal(text: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise PluginNotLoaded(text)

    return refuse
