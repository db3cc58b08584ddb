"""One person whose companions do as she does: the laws of a count, given that she was there or not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.pairs.trips import random_trips, world_of
from geodp.curator.publications.wasserstein_count import WassersteinCount
from geodp.geometry import Region
from geodp.privacy.audit_case import LARGE_EPSILON, ExactCase, TranscriptCase
from geodp.privacy.dependence import bin_laws, count_laws
from geodp.privacy.noise import Noise
from geodp.tables.trajectories.table import Trajectories

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)


@chosen_pairs.of(WassersteinCount)
def choose_answers(publication: WassersteinCount) -> list[ExactCase | TranscriptCase]:
    """Return the laws of the model for households of every size, and one person more whom nobody follows."""
    found: list[ExactCase | TranscriptCase] = []
    for epsilon in (publication.epsilon, LARGE_EPSILON):
        at = "" if epsilon == publication.epsilon else f" (ε = {epsilon:g})"
        method = publication.model_copy(update={"epsilon": epsilon})
        scale = method.distance / epsilon
        for size in sorted({1, 2, (method.household + 1) // 2, method.household}):
            if size <= method.household:
                laws = count_laws(size, method.degree, method.model, method.share)
                found.append(ExactCase(f"one of a household of {size}{at}", epsilon, partial(bin_laws, *laws, scale)))
        price = method.cost().epsilon
        rng = np.random.default_rng(0)
        crowd = [trip for who in range(5) for trip in random_trips(rng, f"p{who}", 2)]
        for name, others in {"one person more": crowd, "the only person": []}.items():
            more = random_trips(rng, "q", 3)
            release = partial(_publish, method, world_of([*others, *more]), world_of(others))
            found.append(TranscriptCase(f"{name}, alone{at}", price, release, runs=1))
    return found


@random_pairs.of(WassersteinCount)
def random_answers(publication: WassersteinCount, rng: np.random.Generator, count: int) -> list[ExactCase]:
    """Return random models: any degree, share and household."""
    found = []
    for number in range(count):
        household = int(rng.integers(1, publication.household + 1))
        update = {"household": household, "degree": float(rng.random()), "share": float(rng.uniform(0.01, 0.99))}
        method = publication.model_copy(update=update)
        laws = count_laws(household, method.degree, method.model, method.share)
        scale = method.distance / method.epsilon
        name = f"random model {number + 1}: {household} people, chance {method.degree:.3g}"
        found.append(ExactCase(name, method.epsilon, partial(bin_laws, *laws, scale)))
    return found


def _publish(
    method: WassersteinCount, whole: Trajectories, fewer: Trajectories, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    trips = whole if present else fewer
    records: Any = type("Trips", (), {"trajectories": staticmethod(lambda: trips), "region": _TOWN})
    return [method.publish(records, noise).released["people"].to_numpy()]
