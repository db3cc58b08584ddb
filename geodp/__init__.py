"""Simulate location privacy and spatial crowdsourcing."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from geodp._version import __version__

if TYPE_CHECKING:
    from geodp import layers, publish
    from geodp.errors import GeodpError
    from geodp.frames.bare import BareDevice, attack, device, mechanism
    from geodp.frames.release import Release, ReleasedTable
    from geodp.publish.bare_publication import publication
    from geodp.publish.functions import PublishedData
    from geodp.registry import plugin, plugins
    from geodp.runs.result import RunResult, open_run
    from geodp.runs.run import run
    from geodp.scenario.schema import Scenario, load_scenario
    from geodp.sweeps.advise import advise
    from geodp.sweeps.advise_within import advise_within
    from geodp.sweeps.equal_success import cost_at_success
    from geodp.sweeps.result import SweepResult, open_sweep
    from geodp.sweeps.sweep import sweep

__all__ = [
    "GeodpError",
    "PublishedData",
    "Release",
    "ReleasedTable",
    "RunResult",
    "Scenario",
    "SweepResult",
    "__version__",
    "advise",
    "advise_within",
    "attack",
    "cost_at_success",
    "device",
    "layers",
    "load_scenario",
    "mechanism",
    "open_run",
    "open_sweep",
    "plugin",
    "plugins",
    "publication",
    "publish",
    "run",
    "sweep",
]

_HOMES = {
    "GeodpError": "geodp.errors",
    "PublishedData": "geodp.publish.functions",
    "Release": "geodp.frames.release",
    "ReleasedTable": "geodp.frames.release",
    "RunResult": "geodp.runs.result",
    "Scenario": "geodp.scenario.schema",
    "SweepResult": "geodp.sweeps.result",
    "advise": "geodp.sweeps.advise",
    "advise_within": "geodp.sweeps.advise_within",
    "attack": "geodp.frames.bare",
    "cost_at_success": "geodp.sweeps.equal_success",
    "load_scenario": "geodp.scenario.schema",
    "mechanism": "geodp.frames.bare",
    "open_run": "geodp.runs.result",
    "open_sweep": "geodp.sweeps.result",
    "plugin": "geodp.registry",
    "plugins": "geodp.registry",
    "publication": "geodp.publish.bare_publication",
    "run": "geodp.runs.run",
    "sweep": "geodp.sweeps.sweep",
}


_ROOMS = ("device", "layers", "publish")
"""Rooms that are offered as a whole."""


class _CalledRoom(ModuleType):
    """The room `geodp.device`, which can be called as well: `geodp.device("planar_laplace").report(frame)`."""

    def __call__(self, kind: str, /, **fields: Any) -> BareDevice:
        made: BareDevice = importlib.import_module("geodp.frames.bare").device(kind, **fields)
        return made


class _Package(ModuleType):
    """The package itself: whenever and by whomever its room `device` is imported, it can be called."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "device" and type(value) is ModuleType:
            value.__class__ = _CalledRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `geodp --help` stays fast."""
    if name in _ROOMS:
        return importlib.import_module(f"geodp.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'geodp' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
