"""Publishing real data, `geodp publish`: read, ask the ledger, draw noise, write. Trusted: it sees the raw data.

`pipeline.py` holds the steps that every kind of publication shares; a kind is one file that prepares a `PublishPlan`.
In Python, `geodp.publish.counts | visits | positions | trajectories | flows` do on data frames
what the commands do on files.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geodp.publish.flows_function import PublishedFlows, flows
    from geodp.publish.functions import PublishedData, PublishOptions, counts, positions, trajectories, visits

_FLOWS = ("PublishedFlows", "flows")
__all__ = [
    "PublishOptions",
    "PublishedData",
    "PublishedFlows",
    "counts",
    "flows",
    "positions",
    "trajectories",
    "visits",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that commands stay fast."""
    if name not in __all__:
        raise AttributeError(f"module 'geodp.publish' has no attribute '{name}'")
    where = "flows_function" if name in _FLOWS else "functions"
    value = getattr(importlib.import_module(f"geodp.publish.{where}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
