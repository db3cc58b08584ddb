"""On the phone, over a person's history: which categories of places may be told; verb: `protect`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from geodp.errors import OldMethod
from geodp.geometry import Array
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee
from geodp.registry import Plugin
from geodp.tables.visits.catalogue import Catalogue

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ProtectedHistory:
    """What leaves the phone about one person's history."""

    items: Flags
    """The items told (by number in the catalogue): some true ones, some that only look like the person."""
    aggregates: Array
    """Noisy number of items per category; NaN where nothing is told about a category."""
    guarantee: Guarantee


class HistoryDevice(Plugin):
    """Family of mechanisms that run on the phone over a person's history."""

    family: ClassVar[str] = "history_report"

    @abstractmethod
    def protect(self, history: Flags, catalogue: Catalogue, *, rng: np.random.Generator | Noise) -> ProtectedHistory:
        """Return what the phone tells about a history (one flag per item of the public catalogue)."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Say what one report of the history guarantees."""

    def settle(self, catalogue: Catalogue, noise: Noise) -> Self:  # noqa: ARG002 - some choose from public data
        """Return the mechanism with everything chosen that public data decide, once for all phones."""
        return self

    settled: ClassVar[Any] = OldMethod("settle")

    def choices(self, lot: Array) -> tuple[list[Self], npt.NDArray[np.int64]]:
        """Return the mechanisms that people use, and which of them each person does, from a number in [0, 1) each."""
        return [self], np.zeros(len(lot), dtype=np.int64)

    def levels(self, catalogue: Catalogue) -> dict[str, str]:
        """Return what may be told about each category: `no`, `perturbed` or `all`."""
        return dict.fromkeys(catalogue.categories, "perturbed")

    def choices_text(self) -> str:
        """Say what people allow to be told ('' when all choose alike and name nothing)."""
        return ""

    def list_categories(self) -> set[str]:
        """Return the categories that anybody's choices name."""
        return set()

    named_categories: ClassVar[Any] = OldMethod("list_categories")

    def audit_cases(self) -> Sequence[AnyCase]:
        """Name worse neighbouring inputs than an audit tries anyway ([]: those of the family are enough).

        Reports are followed on pairs of the family, question by question; these are added to them.
        """
        return []
