"""Simulate location privacy and spatial crowdsourcing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from geodp._version import __version__

if TYPE_CHECKING:
    from geodp.errors import GeodpError
    from geodp.registry import plugin, plugins
    from geodp.runs.result import open_run
    from geodp.runs.run import run
    from geodp.scenario.schema import Scenario, load_scenario
    from geodp.sweeps.advise import advise
    from geodp.sweeps.advise_within import advise_within
    from geodp.sweeps.equal_success import cost_at_success
    from geodp.sweeps.sweep import open_sweep, sweep

__all__ = [
    "GeodpError",
    "Scenario",
    "__version__",
    "advise",
    "advise_within",
    "cost_at_success",
    "load_scenario",
    "open_run",
    "open_sweep",
    "plugin",
    "plugins",
    "run",
    "sweep",
]

_HOMES = {
    "GeodpError": "geodp.errors",
    "Scenario": "geodp.scenario.schema",
    "advise": "geodp.sweeps.advise",
    "advise_within": "geodp.sweeps.advise_within",
    "cost_at_success": "geodp.sweeps.equal_success",
    "load_scenario": "geodp.scenario.schema",
    "open_run": "geodp.runs.result",
    "open_sweep": "geodp.sweeps.sweep",
    "plugin": "geodp.registry",
    "plugins": "geodp.registry",
    "run": "geodp.runs.run",
    "sweep": "geodp.sweeps.sweep",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `geodp --help` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'geodp' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
