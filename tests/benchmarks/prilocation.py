"""Publishing visits with PriLocation: as many as in Foursquare's New York, and a million visits to 100,000 venues."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from geodp.curator.publications.prilocation import PriLocation
from geodp.errors import UsageError
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import usage_of

NEW_YORK = Sizes(people=1_000, visits=150, venues=5_000)
MILLION = Sizes(people=10_000, visits=100, venues=100_000, cities=10, districts=30, streets=60)


def measure() -> Iterator[Figure]:
    """Publish each set in a process of its own; the times are those of the publication alone."""
    for name, target in (("new_york", 10.0), ("million", 120.0)):
        used = usage_of(["-m", "tests.benchmarks.prilocation", name, "simulate"])
        yield Figure(f"prilocation_{name}_s", float(used.output), at_most=target)
        if name == "million":
            yield Figure("prilocation_million_peak_mb", used.peak_mb, at_most=4_000)
    for clustering, variant in (("dplloyd", "corrected"), ("public_gazetteer", "geoind_em")):
        used = usage_of(["-m", "tests.benchmarks.prilocation", "new_york", "simulate", clustering, variant])
        yield Figure(f"prilocation_new_york_{clustering if variant == 'corrected' else variant}_s", float(used.output))
    yield _released()


def _released() -> Figure:
    try:
        from geodp.privacy.release_noise import ReleaseNoise

        ReleaseNoise()
    except UsageError:
        return Figure("prilocation_new_york_release_s", None, note="OpenDP is not installed")
    used = usage_of(["-m", "tests.benchmarks.prilocation", "new_york", "release"])
    return Figure("prilocation_new_york_release_s", float(used.output))


def publish_s(sizes: Sizes, mechanism: PriLocation, noise: Noise) -> float:
    """Return the CPU seconds of one publication."""
    histories, venues = generate_histories(sizes, np.random.default_rng(1))
    started = time.process_time()
    mechanism.release(histories, venues, noise)
    return time.process_time() - started


if __name__ == "__main__":
    which, mode, *more = sys.argv[1:]
    fields = dict(zip(("clustering", "variant"), more, strict=False))
    if mode == "release":
        from geodp.privacy.release_noise import ReleaseNoise

        source: Noise = ReleaseNoise()
    else:
        source = SimulatedNoise(np.random.default_rng(0))
    chosen = PriLocation.model_validate({"level": "district", "cap": 150, **fields})
    print(publish_s(NEW_YORK if which == "new_york" else MILLION, chosen, source))
