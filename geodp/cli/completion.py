"""What the shell may complete: names of scenarios, sweeps and figures, kinds of plug-ins, families and metrics.

Each function gets what was typed so far and returns what it may become. A name that cannot be looked up completes to
nothing: a shell shows no errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from geodp.errors import GeodpError

Complete = Callable[[str], list[str]]


def complete_scenario(incomplete: str) -> list[str]:
    """Complete a scenario file, or the name of a shipped one."""
    from geodp.scenario.shipped import SCENARIOS

    return _complete_shipped(incomplete, (SCENARIOS,), files=True)


def complete_sweep(incomplete: str) -> list[str]:
    """Complete a sweep file, or the name of a shipped one."""
    from geodp.scenario.shipped import SWEEPS

    return _complete_shipped(incomplete, (SWEEPS,), files=True)


def complete_copied(incomplete: str) -> list[str]:
    """Complete the name of anything that can be copied."""
    from geodp.scenario.shipped import FIGURES, SCENARIOS, SWEEPS

    return _complete_shipped(incomplete, (SCENARIOS, SWEEPS, FIGURES), files=False)


def complete_figure(incomplete: str) -> list[str]:
    """Complete a figure's id, or a figure file."""
    from geodp.scenario.shipped import FIGURES

    return _complete_shipped(incomplete, (FIGURES,), files=True)


def complete_listed(incomplete: str) -> list[str]:
    """Complete a family or a plug-in's kind."""
    from geodp.registry import ROOMS

    return [*_keep(ROOMS, incomplete), *complete_kind()(incomplete)]


def complete_kind(*families: str) -> Complete:
    """Return what completes the kinds of some families (default: of all)."""

    def complete(incomplete: str) -> list[str]:
        from geodp.registry import plugins

        return _keep([kind for family in families or (None,) for kind in plugins(family)], incomplete)

    return complete


def complete_auditable(incomplete: str) -> list[str]:
    """Complete a kind that can be audited."""
    from geodp.audit.kinds import auditable_kinds

    return _keep(auditable_kinds(), incomplete)


def complete_target(incomplete: str) -> list[str]:
    """Complete the metric of a target such as `success_rate>=0.9`."""
    from geodp.metrics import metrics_by_key

    if "<" in incomplete or ">" in incomplete:
        return []
    return [f"{key}{sign}" for key in _keep(metrics_by_key(), incomplete) for sign in ("<=", ">=")]


def _complete_shipped(incomplete: str, kinds: tuple[str, ...], *, files: bool) -> list[str]:
    from geodp.scenario.shipped import list_names

    found: list[str] = []
    with contextlib.suppress(GeodpError):
        found += _keep([name for kind in kinds for name in list_names(kind)], incomplete)
    return found + (_find_files(incomplete) if files else [])


def _find_files(incomplete: str) -> list[str]:
    """Return the YAML files, and the folders, that a path may become."""
    folder, _, begun = incomplete.rpartition("/")
    with contextlib.suppress(OSError, ValueError):
        inside = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
        before = f"{folder}/" if "/" in incomplete else ""
        hidden = begun.startswith(".")
        fitting = [path for path in inside if path.name.startswith(begun) and (hidden or path.name[0] != ".")]
        return [
            f"{before}{path.name}{'/' if path.is_dir() else ''}"
            for path in fitting
            if path.is_dir() or path.suffix in (".yaml", ".yml")
        ]
    return []


def _keep(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
