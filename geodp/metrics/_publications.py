"""Numbers about publications: one rule for the keys of all metrics that score them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from geodp.metrics import Measured

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


def of_topic(run: RunFolder, topic: str) -> Iterator[tuple[str, PublishedRun]]:
    """Yield the publications that release a topic (visits, counts, trajectories), each with the ending of its keys.

    The first has plain keys (`mae`), later ones end in their place in the scenario's `publish` (`mae_2`).
    """
    found = [item for item in run.publications if topic in item.topics]
    for number, item in enumerate(found):
        yield (f"_{item.index}" if number else ""), item


def finite(value: float) -> float | None:
    """Return a finite number, or None where it is undefined."""
    return value if math.isfinite(value) else None


def measured_by(
    run: RunFolder, topic: str, measure: Callable[[PublishedRun], dict[str, Measured]]
) -> dict[str, Measured]:
    """Measure every publication of a topic ({} when the run has none, so that other runs keep their numbers)."""
    return {f"{key}{ending}": value for ending, item in of_topic(run, topic) for key, value in measure(item).items()}
