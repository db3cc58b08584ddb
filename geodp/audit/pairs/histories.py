"""Catalogues and histories on which reports are followed, with one item more or less."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.device.history_reports import Flags, HistoryDevice
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise
from geodp.tables.visits.catalogue import Catalogue

_LEVELS = ("no", "perturbed", "all")
_SEARCHED = 2
"""Pairs where the budget is searched for: that reads no history, and takes as long as many reports."""


@chosen_pairs.of(HistoryDevice)
def four_reports(device: HistoryDevice) -> list[TranscriptCase]:
    """Return four histories."""
    return random_reports(device, np.random.default_rng(0), 4)


@random_pairs.of(HistoryDevice)
def random_reports(device: HistoryDevice, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random catalogues, choices and histories; the item that comes and goes is one that is promised something.

    An item with a `no` category must change nothing at all; one with a `perturbed` category is hidden at ε; nothing is
    promised about items that are all `all`.
    """
    found: list[TranscriptCase] = []
    if getattr(device, "budget_rule", "fixed") != "fixed":
        count = min(count, _SEARCHED)
    for _ in range(50 * count):  # choices that hide nothing are drawn again
        if len(found) == count:
            break
        catalogue = _random_catalogue(rng)
        method = device
        if "consent" in type(device).model_fields:
            chosen = {name: str(rng.choice(_LEVELS)) for name in catalogue.categories if rng.random() < 0.7}
            method = device.model_copy(update={"consent": chosen})
        item = int(rng.integers(catalogue.items))
        told = {method.levels(catalogue)[catalogue.categories[at]] for at in np.flatnonzero(catalogue.membership[item])}
        if not told - {"all"}:
            continue
        claimed = 0.0 if "no" in told else method.guarantee().epsilon
        history = rng.random(catalogue.items) < 0.4
        name = f"random history {len(found) + 1}, one item more ({', '.join(sorted(told))})"
        found.append(TranscriptCase(name, claimed, partial(_told, method, catalogue, history, item), runs=1))
    return found


def _random_catalogue(rng: np.random.Generator) -> Catalogue:
    items, categories = int(rng.integers(1, 8)), int(rng.integers(1, 5))
    membership = (rng.random((items, categories)) < 0.5).astype(np.float64)
    membership[np.arange(items), rng.integers(0, categories, items)] = 1.0
    return Catalogue(membership)


def _told(
    device: HistoryDevice, catalogue: Catalogue, history: Flags, item: int, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    owned = history.copy()
    owned[item] = present
    told = device.protect(owned, catalogue, rng=noise)
    return [told.items, np.nan_to_num(told.aggregates, nan=-1e9), told.guarantee.epsilon]
