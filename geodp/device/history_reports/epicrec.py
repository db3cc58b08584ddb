"""EpicRec: what a phone tells about the categories of a person's history, with consent per category."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, model_validator

from geodp.device.category_counts import (
    EpsilonSearch,
    Rule,
    calibrate_scales,
    fit_history,
    global_scales,
    quantify_epsilon,
)
from geodp.device.history_reports import Flags, HistoryDevice, ProtectedHistory
from geodp.errors import DataError, NotReleasable, UsageError
from geodp.geometry import Array
from geodp.model import Model, did_you_mean
from geodp.privacy.noise import Noise, as_noise
from geodp.privacy.primitives import positive, with_laplace
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.visits.catalogue import Catalogue, check_membership

_LEAK = (
    "counts of all-release categories are told exactly and contain items that carry a protected category as well: one "
    "such item changes an output that has no noise"
)


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


class EpicRec(HistoryDevice):
    """A phone tells noisy category counts of its history and a history that fits them (EpicRec), by consent.

    Guarantee
    ---------
    ε-differential privacy for one item of one person's history (added or removed), with no trusted party; a history of
    k items is protected at k·ε, and every further report costs ε again. Holds for items with a `perturbed` category
    and none with `no`; items with a `no` category are never used (perfect); for items whose categories are all `all`
    nothing is promised: the person chose to tell them.

    Reference
    ---------
    Shen and Jin 2016, EpicRec, sections 4.3 (noise calibration and sanitisation), 4.4 (quantification of the budget)
    and 5 (levels per category). Theorem 4 fails for items with mixed levels; `variant: literal` is the printed method.
    """

    kind: ClassVar[str] = "epicrec"
    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"visits"})

    epsilon: float = Field(default=1.0, gt=0)
    """ε of one report, for one item; with a budget rule, the most it may choose."""
    method: Literal["calibrated", "global_sensitivity", "nothing"] = "calibrated"
    """`calibrated`: the noise program (S-DPDP, M-DPDP); `global_sensitivity`: equal noise for all categories;
    `nothing`: tell nothing (for short histories and ε ≤ 1 it is hard to beat)."""
    consent: dict[str, Level] = Field(default_factory=dict)
    """Level per category: `no`, `perturbed` or `all`."""
    default_level: Level = "perturbed"
    """Level of the categories not named."""
    groups: tuple[ConsentGroup, ...] = ()
    """People who choose otherwise, each with a share of all: `[{share: 0.3, levels: {clinic: no, café: all}}]`."""
    typical_items: float = Field(default=17.0, gt=0)
    """Public average number of items in a history, for the budget rule and the fitted histories of scenarios."""
    budget_rule: Literal["fixed", "relative", "prose", "literal"] = "fixed"
    """`fixed`: use ε; otherwise choose it from public data by S-PBQ with one of its stopping rules, at most ε."""
    variant: Literal["corrected", "literal"] = "corrected"
    """`literal`: all-release counts are exact over all items. Not private for items with mixed categories."""

    def guarantee(self) -> Guarantee:
        """Promise ε for one item, with no trusted party."""
        leak = self.variant == "literal"
        return Guarantee(
            self.epsilon,
            Unit.ITEM,
            Neighbours.ADD_REMOVE,
            Trust.LOCAL,
            holds=not leak,
            why_not=_LEAK if leak else "",
        )

    @model_validator(mode="after")
    def _shares_of_people(self) -> Self:
        total = sum(group.share for group in self.groups)
        if total > 1 + 1e-9:
            raise ValueError(f"groups: their shares add up to {total:g}, more than 1")
        return self

    def settle(self, catalogue: Catalogue, noise: Noise) -> Self:
        """Return the mechanism with the budget that its rule chooses from public data, once for all phones."""
        chosen = self.choose_epsilon(catalogue, noise)
        return self.model_copy(update={"epsilon": chosen, "budget_rule": "fixed"})

    def choices(self, lot: Array) -> tuple[list[Self], npt.NDArray[np.int64]]:
        """Return one mechanism per group and that of the others, and the group of every person."""
        made = [
            self.model_copy(
                update={
                    "consent": {**self.consent, **group.levels},
                    "default_level": group.default_level or self.default_level,
                    "groups": (),
                }
            )
            for group in self.groups
        ]
        bounds = np.cumsum([group.share for group in self.groups])
        number = np.searchsorted(bounds, lot, side="right").astype(np.int64)
        return [*made, self.model_copy(update={"groups": ()})], number

    def levels(self, catalogue: Catalogue) -> dict[str, str]:
        """Return what this person's choices say about each category."""
        return {name: self.consent.get(name, self.default_level) for name in catalogue.categories}

    def choices_text(self) -> str:
        """Say what people allow to be told."""
        parts = [
            _levels_text(f"{group.share:.0%} of people", group.levels, group.default_level) for group in self.groups
        ]
        others = "the others" if parts else "everyone"
        if parts or self.consent or self.default_level != "perturbed":
            parts.append(_levels_text(others, self.consent, self.default_level))
        return "; ".join(parts)

    def list_categories(self) -> set[str]:
        """Return the categories that anybody's choices name."""
        return set(self.consent).union(*(group.levels for group in self.groups))

    def noise_scales(self, membership: npt.ArrayLike) -> Array:
        """Return the Laplace scale z of every category for a matrix of items × categories."""
        table = check_membership(membership)
        scales = calibrate_scales if self.method == "calibrated" else global_scales
        return scales(table, positive("epsilon", self.epsilon))

    def mean_noise(self, membership: npt.ArrayLike) -> float:
        """Return the expected error of a noisy category count, Σ z / c (E|Lap(z)| = z)."""
        return float(self.noise_scales(membership).mean())

    def error_bound(self, membership: npt.ArrayLike) -> float:
        """Return a bound on the expected mean absolute error of the counts of the history told.

        (‖z‖₁ + √(2c)·‖z‖₂)/c + √c/2: the noise itself; the distance from noisy counts to the nearest possible ones,
        at most that to the true ones because the true history is possible; and the rounding of at most c items. (The
        last step of the paper's theorem 3 is not valid, and it leaves the rounding out.)
        """
        scales = self.noise_scales(membership)
        c = scales.size
        noise = scales.sum() + math.sqrt(2 * c) * float(np.linalg.norm(scales))
        return float(noise / c + math.sqrt(c) / 2)

    def choose_epsilon(self, catalogue: Catalogue, noise: Noise) -> float:
        """Return ε of a report: fixed, or quantified on random public histories, at no cost."""
        if self.budget_rule == "fixed":
            return self.epsilon
        rule: Rule = self.budget_rule
        return min(self.epsilon, quantify_epsilon(catalogue, noise, rule=rule, search=EpsilonSearch(most=self.epsilon)))

    def protect(self, history: Flags, catalogue: Catalogue, *, rng: np.random.Generator | Noise) -> ProtectedHistory:
        """Return what the phone tells: noisy counts, open items as they are, and items that fit the counts."""
        noise = as_noise(rng)
        if self.variant == "literal" and noise.releasable:
            raise NotReleasable(f"epicrec, variant literal, is not private: {_LEAK}. It must not be released.")
        owned = np.asarray(history, dtype=np.bool_)
        if owned.shape != (catalogue.items,):
            raise DataError(f"a history has one flag per item: {catalogue.items} were due, got {owned.shape}")
        consent = consent_of(self.consent, self.default_level, catalogue)
        settled = self.settle(catalogue, noise)
        aggregates = settled.noisy_aggregates(owned, catalogue, noise, consent)
        reported = self._tell_items(owned, aggregates, catalogue, consent, noise)
        return ProtectedHistory(reported, aggregates, settled.guarantee())

    def noisy_aggregates(self, owned: Flags, catalogue: Catalogue, noise: Noise, consent: Consent) -> Array:
        """Return the counts per category with their noise; NaN for categories about which nothing is told."""
        counts = np.full(consent.none.shape, np.nan)
        if self.method != "nothing":
            literal = self.variant == "literal"
            exact = owned if literal else owned & consent.open_items
            hidden = owned if literal else owned & consent.protected_items
            counts[consent.full] = catalogue.membership[:, consent.full].T @ exact
            counts[consent.perturbed] = catalogue.membership[:, consent.perturbed].T @ hidden
        scales = self._scales(catalogue, consent)
        noisy = np.flatnonzero(scales > 0)
        if noisy.size:
            counts[noisy] = with_laplace(counts[noisy], scales[noisy], noise)
        return counts

    def _scales(self, catalogue: Catalogue, consent: Consent) -> Array:
        """Return noise for the perturbed columns, calibrated for the items that reach them; 0 elsewhere."""
        key = (self.method, self.variant, self.epsilon, consent.none.tobytes(), consent.perturbed.tobytes())
        if key in catalogue.remembered:
            return catalogue.remembered[key]
        scales = np.zeros(consent.none.size)
        reached = catalogue.membership[:, consent.perturbed]
        items = reached.any(axis=1) & (consent.protected_items | (self.variant == "literal"))
        if self.method != "nothing" and items.any():
            scales[consent.perturbed] = self.noise_scales(reached[items])
        catalogue.remembered[key] = scales
        return scales

    def _tell_items(
        self, owned: Flags, aggregates: Array, catalogue: Catalogue, consent: Consent, noise: Noise
    ) -> Flags:
        """Fit the protected items to the perturbed counts; open items are told as they are, silent ones never."""
        if self.method == "nothing":
            return np.zeros(owned.size, dtype=np.bool_)
        target = np.where(consent.perturbed, aggregates, np.nan)
        fitted = fit_history(target, catalogue, consent.protected_items.astype(np.float64), noise)
        return np.asarray((fitted > 0) | (owned & consent.open_items))


def _levels_text(who: str, levels: Mapping[str, str], others: str | None) -> str:
    named = [f"{category}: {level}" for category, level in levels.items()]
    rest = "all other categories" if named else "all categories"
    return f"{who}: " + ", ".join([*named, *([] if others is None else [f"{rest}: {others}"])])


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
    return Consent(
        none=none,
        perturbed=perturbed,
        full=full,
        silent_items=silent,
        open_items=~silent & ~hidden,
        protected_items=~silent & hidden,
    )
