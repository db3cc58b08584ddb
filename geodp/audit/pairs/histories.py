"""Catalogues and histories on which reports are followed, with one item more or less."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.device.history_reports import Flags, HistoryDevice
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.tables.visits.catalogue import Catalogue, golden_catalogue

_LEVELS = ("no", "perturbed", "all")
_SEARCHED = 2
"""Pairs where the budget is searched for: that reads no history, and takes as long as many reports."""


@chosen_pairs.of(HistoryDevice)
def choose_histories(device: HistoryDevice) -> list[TranscriptCase]:
    """Return an item of the catalogue of a paper's figure more or less, and items with mixed levels of consent."""
    fixed = {"consent": {}, "default_level": "perturbed", "budget_rule": "fixed"}
    plain = _with(device, fixed)
    mixed = _with(plain, {"consent": {"0": "all", "1": "perturbed", "2": "no"}})
    levels = Catalogue(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    pairs = {
        "an item of figure 4": (plain, golden_catalogue(), 3),
        "an item that is both all-release and perturbed": (mixed, levels, 0),
        "an item that is both perturbed and no-release": (mixed, levels, 1),
    }
    found = [
        _pair(name, method, catalogue, np.zeros(catalogue.items, dtype=np.bool_), item)
        for name, (method, catalogue, item) in pairs.items()
    ]
    return [case for case in found if case is not None]


@random_pairs.of(HistoryDevice)
def random_histories(device: HistoryDevice, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random catalogues, choices and histories; something is promised about the item that comes and goes."""
    found: list[TranscriptCase] = []
    if getattr(device, "budget_rule", "fixed") != "fixed":
        count = min(count, _SEARCHED)
    for _ in range(50 * count):  # choices that hide nothing are drawn again
        if len(found) == count:
            break
        catalogue = _random_catalogue(rng)
        chosen = {name: str(rng.choice(_LEVELS)) for name in catalogue.categories if rng.random() < 0.7}
        method = _with(device, {"consent": chosen})
        item = int(rng.integers(catalogue.items))
        history = rng.random(catalogue.items) < 0.4
        case = _pair(f"random history {len(found) + 1}, one item more", method, catalogue, history, item)
        found += [] if case is None else [case]
    return found


def _with(device: HistoryDevice, update: dict[str, Any]) -> HistoryDevice:
    """Return the device with those of the fields that it has."""
    return device.model_copy(update={name: update[name] for name in update if name in type(device).model_fields})


def _pair(name: str, device: HistoryDevice, catalogue: Catalogue, history: Flags, item: int) -> TranscriptCase | None:
    """Return a history with and without an item (None: nothing is promised about it).

    An item with a `no` category must change nothing at all; one with a `perturbed` category is hidden at ε; nothing is
    promised about items that are all `all`.
    """
    levels = device.levels(catalogue)
    labels = {levels[catalogue.categories[at]] for at in np.flatnonzero(catalogue.membership[item])}
    if not labels - {"all"}:
        return None
    claimed = 0.0 if "no" in labels else device.guarantee().epsilon
    release = partial(_report_history, device, catalogue, history, item)
    return TranscriptCase(f"{name} ({', '.join(sorted(labels))})", claimed, release, runs=1)


def _random_catalogue(rng: np.random.Generator) -> Catalogue:
    items, categories = int(rng.integers(1, 8)), int(rng.integers(1, 5))
    membership = (rng.random((items, categories)) < 0.5).astype(np.float64)
    membership[np.arange(items), rng.integers(0, categories, items)] = 1.0
    return Catalogue(membership)


def _report_history(
    device: HistoryDevice, catalogue: Catalogue, history: Flags, item: int, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    owned = history.copy()
    owned[item] = present
    source = noise.rng if isinstance(noise, SimulatedNoise) and not noise.releasable else noise
    report = device.protect(owned, catalogue, rng=source)
    return [report.items, np.nan_to_num(report.aggregates, nan=-1e9), report.guarantee.epsilon]
