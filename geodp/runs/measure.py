"""Measure a run: every metric, flat, in a fixed order, with nothing JSON cannot hold."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.errors import GeodpError, PluginNotLoaded
from geodp.metrics import TOPICS, Measured, Metric
from geodp.registry import USER_MODULE, list_given_files, locate_fault, plugins
from geodp.run_folder.folder import RunFolder, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def measure_run(run: RunFolder) -> dict[str, float | None]:
    """Return all metrics of a run: key → number, with `<key>_low` and `<key>_high` beside a mean or share.

    A comparison has the numbers of its arms, as `<arm>.<key>`.
    """
    flat: dict[str, float | None] = {}
    if run.arms:
        for name, arm in run.arms.items():
            flat |= {f"{name}.{key}": value for key, value in measure_run(arm).items()}
        return flat
    for _, key, measured in measurements(run):
        flat[key] = _json_number(measured.value)
        if measured.has_interval:
            flat[f"{key}_low"] = _json_number(measured.low)
            flat[f"{key}_high"] = _json_number(measured.high)
    return flat


def write_metrics(run: RunFolder, *, progress: Callable[[str, float], None] | None = None) -> dict[str, float | None]:
    """Compute `metrics.json` anew and write it; a new metric works on an old run.

    Numbers that need a plug-in which was not loaded stay as they were. `progress` is called with what is measured and
    the share of all that is done.
    """
    parts = [*run.arms.values(), run]
    for index, part in enumerate(parts):
        if progress is not None:
            _measure_aloud(part, progress, index / len(parts), 1 / len(parts))
        if part is not run:
            write_metrics(part)
    flat = measure_run(run)
    if run.plugins_left_out:  # what they measured cannot be measured again, and is not lost for that
        flat |= {key: value for key, value in run.metrics.items() if key not in flat}
    run.replace_json("metrics.json", flat)
    run.__dict__.pop("metrics", None)  # the cached reading is out of date
    return flat


def measurements(run: RunFolder) -> list[tuple[Metric, str, Measured]]:
    """Return each metric with its keys and values, in the order of tables; worked out once per opened run."""
    cache: dict[str, list[tuple[Metric, str, Measured]]] = run.__dict__  # as `cached_property` does
    if "_measurements" not in cache:
        cache["_measurements"] = list(_measure_all(run))
    return cache["_measurements"]


def _measure_aloud(run: RunFolder, progress: Callable[[str, float], None], begin: float, length: float) -> None:
    """Measure a run, telling how far it is; what is found is kept."""
    if "_measurements" not in run.__dict__:
        run.__dict__["_measurements"] = list(
            _measure_all(run, lambda kind, share: progress(kind, begin + length * share))
        )


def _measure_all(
    run: RunFolder, tell: Callable[[str, float], None] | None = None
) -> Iterator[tuple[Metric, str, Measured]]:
    metrics = metrics_of(run)
    for index, metric in enumerate(metrics):
        if tell is not None:
            tell(metric.kind, index / len(metrics))
        try:
            values = metric.measure(run)
        except PluginNotLoaded:
            continue  # whoever asks says which plug-ins were left out
        except GeodpError:
            raise
        except Exception as error:  # a user's metric may raise anything: say which one it was
            what = locate_fault(error) or f"{type(error).__name__}: {error}"
            raise GeodpError(f"metric '{metric.kind}' failed on {run.path}: {what}") from error
        for key, measured in values.items():
            yield metric, key, measured


def metrics_of(run: RunFolder) -> list[Metric]:
    """Return the metrics that apply to a run: all of this version, of its own plug-in files and of those given now.

    A plug-in file that another scenario of the same process named must not change this run's numbers.
    """
    named = {str(Path(path).resolve()) for path in run.scenario.plugins} | set(list_given_files())
    found = [
        cls()
        for cls in plugins("metric").values()
        if issubclass(cls, Metric) and (not cls.__module__.startswith(USER_MODULE) or inspect.getfile(cls) in named)
    ]
    return sorted(found, key=_place)


def _place(metric: Metric) -> tuple[int, bool, str]:
    """Order by topic, with plain counts of tasks last."""
    topic = TOPICS.index(metric.topic) if metric.topic in TOPICS else len(TOPICS)
    return topic, metric.unit == "tasks", metric.kind


def _json_number(value: float | None) -> float | None:
    return value if isinstance(value, int) else number(value)  # counts stay whole numbers
