"""What a person allows to be told: a level per category, and what follows for the items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from geodp.device.history_reports import Flags
from geodp.errors import UsageError
from geodp.model import Model, did_you_mean
from geodp.tables.visits.catalogue import Catalogue

Integers = npt.NDArray[np.int64]


def _as_written(value: Any) -> Any:
    """Return the level that was written: YAML 1.1 reads an unquoted no as false."""
    return "no" if value is False else value


Level = Annotated[Literal["no", "perturbed", "all"], BeforeValidator(_as_written)]


class ConsentGroup(Model):
    """People who choose alike."""

    share: float = Field(default=0.1, ge=0, le=1)
    """Share of people in this group, drawn by lot: choices do not depend on where people were."""
    levels: dict[str, Level] = Field(default_factory=dict)
    """Level per category: `no`, `perturbed` or `all`; others are as for everyone."""
    default_level: Level | None = None
    """Level of the categories not named, here or for everyone; default that of everyone."""


@dataclass(frozen=True, eq=False)
class Consent:
    """Categories by level, and the partition of the items that makes EpicRec's multi-level promise true.

    EpicRec tells the counts of all-release categories exactly, with every item in them, also items that carry a
    protected category as well: toggling one changes an output without noise (theorem 4 fails). So items are split: N
    has some no-release category and is never used; A has all-release categories only and is told as it is; P is the
    rest and reaches perturbed columns only.
    """

    none: Flags
    """Categories about which nothing is told."""
    perturbed: Flags
    """Categories told with noise."""
    full: Flags
    """Categories told in full."""
    silent_items: Flags
    """N."""
    open_items: Flags
    """A."""
    protected_items: Flags
    """P."""


def consent_of(levels: Mapping[str, Level], default: Level, catalogue: Catalogue) -> Consent:
    """Return a person's choices for a catalogue, or refuse names it does not have."""
    unknown = [name for name in levels if name not in catalogue.categories]
    if unknown:
        hint = did_you_mean(unknown[0], catalogue.categories)
        raise UsageError(f"consent: no category called '{unknown[0]}'.{hint} Nothing was released or charged.")
    level = np.array([levels.get(name, default) for name in catalogue.categories])
    none, perturbed, full = (level == name for name in ("no", "perturbed", "all"))
    member = catalogue.membership > 0
    silent: Flags = np.asarray(member[:, none].any(axis=1))
    hidden: Flags = np.asarray(member[:, perturbed].any(axis=1))
    return Consent(none, perturbed, full, silent, ~silent & ~hidden, ~silent & hidden)
