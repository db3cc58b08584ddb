"""What the publications of trips have in common: the cap, the promise, the parts of ε, and names of version 0.1."""

from __future__ import annotations

import math
import sys
import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from geodp.curator.publications import Publication, Published, Records
from geodp.curator.synthesis.densities import DENSITY
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, Receipt, split
from geodp.curator.synthesis.prefix_trees import Direction, level_parts
from geodp.curator.synthesis.tree_model import LENGTHS, TreeModel, TreeSettings, fit_tree_model, length_edges
from geodp.curator.synthesis.trip_shapes import DEPARTURES, SCALES_PER_BIN
from geodp.errors import DataError, OldName
from geodp.geometry import Region
from geodp.model import did_you_mean
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.registry import Plugin, find
from geodp.tables.notices import notice, notice_cap
from geodp.tables.trajectories.remarks import remark_changed
from geodp.tables.trajectories.table import Trajectories

DEFAULT_CAP = 10
_MOST_SPREAD = 300_000
"""Noise on the number of trips (a standard deviation) beyond which a release would be noise, and fill the memory."""
KIND_OF_VARIANT = {
    "geodp": "synthetic_trips",
    "dpt": "dpt",
    "grid_markov": "grid_markov",
    "ngram": "ngram",
    "none": "exact_trips",
}
"""Version 0.1 had one publication, `dpt`, with variants."""


class TripsPublication(Publication):
    """Publications of trips, of which at most a public number of each person's count."""

    reads: ClassVar[frozenset[str]] = frozenset({"trajectories"})
    releases: ClassVar[frozenset[str]] = frozenset({"trajectories"})

    trajectories_per_person: int | None = Field(default=None, ge=1)
    """Maximum number of trips per person, drawn at random from their own: public (null: all of them)."""

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        """Build it from its fields; with `variant`, build what that variant of version 0.1 is now."""
        if not isinstance(obj, dict) or "variant" not in obj or "variant" in cls.model_fields:
            return super().model_validate(obj, **options)
        try:
            method, fields = _read_variant(dict(obj))
        except ValueError as error:
            line = PydanticCustomError("geodp", "{text}", {"text": str(error)})
            details = InitErrorDetails(type=line, loc=("variant",), input=obj["variant"])
            raise ValidationError.from_exception_data(cls.kind, [details]) from None
        return method.model_validate(fields, **options)

    @property
    def cap(self) -> int | None:
        """The public cap on one person's trips (None: nobody is bounded)."""
        return self.trajectories_per_person

    @property
    def hard_cap(self) -> int | None:
        """The cap beyond which trips are not used at all (None: those beyond it count for less, or there is none)."""
        return self.cap

    def release(self, trajectories: Trajectories, region: Region, noise: Noise) -> Trajectories:
        """Publish trips, with noise from `noise` alone."""
        return self.release_with_receipts(trajectories, region, noise)[0]

    @abstractmethod
    def release_with_receipts(
        self, trajectories: Trajectories, region: Region, noise: Noise
    ) -> tuple[Trajectories, tuple[Receipt, ...]]:
        """Publish trips, and say what every part of them cost."""

    @abstractmethod
    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the error will be, from public facts alone, in words and numbers."""

    def for_run(self, duration_s: float) -> Self:  # noqa: ARG002 - some count by the time of day
        """Return the publication as it is used in a run of this length (public)."""
        return self

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish the trips of a run; which parts ε was spent on is public."""
        true, method = records.trajectories(), self.for_run(records.duration_s)
        released, receipts = method.release_with_receipts(true, records.region, noise)
        notice_cap(self.kind, np.bincount(true.person), self.hard_cap, "trips")
        if text := remark_changed(true, released):
            notice(f"{self.kind}: {text}")
        paid = {receipt.part: receipt.epsilon for receipt in receipts}
        used = {"trajectories_per_person": self.cap}
        if (period_s := getattr(method, "period_s", None)) is not None:
            used["period_s"] = period_s
        return Published(released.frame(records.region), facts={"epsilon_of_parts": paid, "used": used})

    def cap_trips(self, trajectories: Trajectories, region: Region, key: bytes = b"") -> Trajectories:
        """Return the trips that count: inside the region, and of each person those that the key chooses."""
        inside = require_inside(trajectories, region)
        return inside if self.cap is None else inside.keep_at_most(self.cap, key)


def require_inside(trajectories: Trajectories, region: Region) -> Trajectories:
    """Return trips as they are, or refuse them if some points lie outside the region."""
    if not region.contains(trajectories.x_m, trajectories.y_m).all():
        raise DataError("some points lie outside the region: leave them out first. Nothing was drawn.")
    return trajectories


class TripsModel(Protocol):
    """Noisy counts of trips, from which synthetic ones are drawn."""

    @property
    def number(self) -> int:
        """Noisy number of trips."""
        ...

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        ...


@dataclass(frozen=True, eq=False)
class PaidModel:
    """A model of trips, what every part of it cost, and chance for drawing from it, which costs nothing."""

    model: TripsModel
    receipts: tuple[Receipt, ...]
    rng: np.random.Generator

    @property
    def number(self) -> int:
        """Noisy number of trips."""
        return self.model.number

    def draw(self, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        return self.model.draw(self.rng, count)


class TripModelPublication(TripsPublication):
    """Publications of trips that are drawn from noisy counts of real ones."""

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the release, for one person or one trajectory."""
    unit: Literal["person", "trajectory"] = "person"
    """What ε hides: everything a person did, or one trip."""
    trajectories_per_person: int | None = Field(default=None, ge=1)
    """Maximum number of trips per person, drawn at random from their own: public. Default 10 for
    `unit: person`; none for `unit: trajectory`, which then promises nothing about a person."""
    most_points: int = Field(default=1000, ge=2)
    """Longest synthetic trip, points."""
    period_s: float = Field(default=86_400.0, gt=0)
    """Departures are counted by their time in this period (s): a day."""

    @model_validator(mode="after")
    def _enough_for_a_number(self) -> Self:
        # As many trips are drawn as the noisy number says; it is the sum of some noisy counts.
        part, counts = self._number_part()
        spread = math.sqrt(2 * counts) * self.crowd() / max(self.parts()[part], sys.float_info.min)
        if spread > _MOST_SPREAD:
            raise ValueError(
                f"epsilon {self.epsilon:g} is too small: the number of trips would be off by ±{spread:.2g}, more than "
                f"{_MOST_SPREAD:,}. Use a larger epsilon or a smaller trajectories_per_person"
            )
        return self

    @abstractmethod
    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""

    @abstractmethod
    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TripsModel:
        """Count everything that the model needs, with noise from the parts of ε alone."""

    @abstractmethod
    def _number_part(self) -> tuple[str, int]:
        """Return the part that tells the number of trips, and from how many noisy counts that is summed."""

    @abstractmethod
    def _bound_counts_per_trip(self) -> dict[str, float]:
        """Return how much one trip adds to the parts that do not count every trip once (density: by its points)."""

    @property
    def cap(self) -> int | None:
        """The public cap on one person's trips (None: nobody is bounded)."""
        return self.trajectories_per_person or (DEFAULT_CAP if self.unit == "person" else None)

    def most_contributions(self) -> int | None:
        """Return the public cap on what one person contributes; None where a promise about a person is impossible."""
        return 1 if self.unit == "person" else self.cap

    def crowd(self) -> int:
        """Return how many trips of the capped data change at most with one protected unit.

        A person is at most `cap` trips. One trip more is one, unless a cap binds: then it may push another one out.
        """
        if self.unit == "person":
            return int(self.cap or DEFAULT_CAP)
        return 1 if self.cap is None else 2

    def guarantee(self) -> Guarantee:
        """Promise ε for one person or one trajectory."""
        unit = Unit.USER if self.unit == "person" else Unit.TRAJECTORY
        return Guarantee(self.epsilon, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL)

    def release_with_receipts(
        self, trajectories: Trajectories, region: Region, noise: Noise
    ) -> tuple[Trajectories, tuple[Receipt, ...]]:
        """Publish synthetic trips, and say what every part of them cost."""
        model = self.fit_model(trajectories, region, noise)
        return model.draw(), model.receipts

    def fit_model(self, trajectories: Trajectories, region: Region, noise: Noise) -> PaidModel:
        """Learn all that synthetic trips follow from; here, and nowhere else, are people looked at."""
        used = self.cap_trips(trajectories, region, b"" if self.cap is None else draw_key(noise))
        parts = EpsilonParts(noise, self.parts(), self.crowd())
        model = self.fit(used, region, parts)
        parts.require_within(self.epsilon)
        return PaidModel(model, tuple(parts.receipts), parts.generator())

    def for_run(self, duration_s: float) -> Self:
        """Trips of a run count from its start and end with it: a shorter period wastes no bin on other times."""
        return self.model_copy(update={"period_s": min(self.period_s, duration_s)})

    def forecast(self, region: Region) -> str:
        """Say what the release will cost and what it can show, from public settings alone."""
        number = self.crowd() / self.parts()[self._number_part()[0]]
        finest = min(self.crowd() / epsilon for epsilon in self.parts().values())
        unit = "each person" if self.unit == "person" else "one trip"
        size = f"{region.width_m / 1000:.3g} km by {region.height_m / 1000:.3g} km"
        return (
            f"{self.kind} costs ε = {self.epsilon:g} of {unit}. Counts of trips get noise of ±{finest:.3g} at best, "
            f"their number ±{number:.3g}: of N trips about N/{4 * finest:.3g} cells of the {size} stand out"
            f"{self._hours()}, and no trip has more than {self.most_points:,} points. What is finer follows laws"
            f"{' and streets' if getattr(self, 'streets', '') else ''}."
        )

    def _hours(self) -> str:
        epsilon = self.parts().get(DEPARTURES)
        return (
            "" if epsilon is None else f", hours come in at most N/{SCALES_PER_BIN * self.crowd() / epsilon:.3g} bins"
        )

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise is, from public facts alone, in words and numbers."""
        scales = {part: self.crowd() / epsilon for part, epsilon in self.parts().items()}
        adds = self._bound_counts_per_trip()
        least = min(scale for part, scale in scales.items() if part not in adds)
        noise_scales = {
            f"noise on {part}": scale * adds.get(part, 1.0) for part, scale in scales.items() if part != DENSITY
        }
        if DENSITY in scales:  # how many points a trip counts for follows from noisy counts: not known beforehand
            noise_scales[f"noise on {DENSITY}, per point that a trip may count for"] = scales[DENSITY]
        text = (
            f"A count of trips has noise of ±{least:.4g} on average at best (OUT.guarantee.json has all parts). "
            f"N trips can tell about N/{least:.4g} numbers (cells, pairs of zones) from the noise; what is finer is "
            "smoothed over."
        )
        return text, noise_scales


class TreeTripsPublication(TripModelPublication):
    """Publications of trips that are walked over noisy prefix trees."""

    tokens_per_trajectory: float = Field(default=20.0, ge=1)
    """Most that one trip adds to the counts of one depth of the trees (l): longer trips count less per move."""
    lengths_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for the lengths of trips (their number follows from it)."""
    times_share: float = Field(default=0.05, gt=0, lt=1)
    """Part of ε for departures and paces."""

    @model_validator(mode="after")
    def _whole_budget(self) -> Self:
        if self._choice_share() + self.lengths_share + self.times_share >= 1:
            raise ValueError("the shares of the budget must leave something for the movement itself")
        return self

    def _choice_share(self) -> float:
        """Return the part of ε for the choice of grids."""
        return 0.0

    @abstractmethod
    def settings(self, widest_m: float) -> TreeSettings:
        """Say how trees are grown and walked in a region whose longer side is `widest_m`."""

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        shares = self.settings(1.0).shares(
            choice=self._choice_share(), lengths=self.lengths_share, times=self.times_share
        )
        return split(self.epsilon, shares)

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TreeModel:
        """Count moves on grids, with noise from the parts of ε alone."""
        return fit_tree_model(trajectories, region, parts, self.settings(max(region.width_m, region.height_m)))

    def _number_part(self) -> tuple[str, int]:
        return LENGTHS, length_edges(self.most_points).size - 1

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return dict.fromkeys(level_parts(self.settings(1.0).order)[1:], self.tokens_per_trajectory)


class OneGridPublication(TreeTripsPublication):
    """Publications of trips that are walked over one grid: baselines."""

    baseline_cells: int = Field(default=16, ge=2)
    """Cells along the longer side of the region."""

    order: ClassVar[int]
    """Length of the sequences that are counted."""
    prune: ClassVar[bool] = True
    """Whether sequences that do not stand out of the noise are followed no further."""
    ends_in_tree: ClassVar[bool] = False
    """Whether trips end where the tree says so."""

    def settings(self, widest_m: float) -> TreeSettings:
        """Return trees on one grid, walked without a preference for going straight on."""
        return TreeSettings(
            finest_m=widest_m / self.baseline_cells,
            levels=1,
            order=self.order,
            bound=self.tokens_per_trajectory,
            most_points=self.most_points,
            direction=Direction(0.0, 1),
            prune=self.prune,
            ends_in_tree=self.ends_in_tree,
            period_s=self.period_s,
        )


def _read_variant(fields: dict[str, Any]) -> tuple[type[Plugin], dict[str, Any]]:
    """Return the publication that a variant of version 0.1 is now, with its fields; say what to write instead."""
    variant = str(fields.pop("variant"))
    kind = KIND_OF_VARIANT.get(variant)
    if kind is None:
        raise ValueError(
            f"no variant called '{variant}'.{did_you_mean(variant, KIND_OF_VARIANT)} Every method of publishing trips "
            f"is a kind of its own: {', '.join(KIND_OF_VARIANT.values())}"
        )
    if kind == "exact_trips" and fields.pop("unit", "person") == "person":
        fields["trajectories_per_person"] = fields.get("trajectories_per_person") or DEFAULT_CAP
    elif kind == "exact_trips":
        fields.setdefault("trajectories_per_person", None)
    methods = {name: find(name, "publication") for name in KIND_OF_VARIANT.values()}
    method = methods.pop(kind)
    # Run folders of that version state the fields of all variants.
    others = {name: field.default for each in methods.values() for name, field in each.model_fields.items()}
    unread = [name for name in fields if name in others and name not in method.model_fields]
    stated = [name for name in unread if fields.pop(name) != others[name]]
    if stated:
        raise ValueError("; ".join(f"{name} has no effect in {kind}: leave it out" for name in stated))
    warnings.warn(f"variant: {variant} is a publication of its own: write kind: {kind}", OldName, stacklevel=3)
    return method, fields
