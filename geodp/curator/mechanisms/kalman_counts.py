"""Counts followed over time: a few releases are measured, the others predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.continual_counts import ContinualCounts
from geodp.curator.count_noise import CountNoise
from geodp.curator.decomposition import equal_noise
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.series import Pay, Series
from geodp.curator.tree_mechanism import Estimates
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.public.release import Cells
from geodp.public.zcdp import epsilon_of_rho
from geodp.registry import PublicFacts

_RECENT = 5
_NOW, _BEFORE = 0.9, 0.1
"""Weights of the newest error and of the mean of the last five: proportional and integral part."""
_LITERAL_GAIN, _LITERAL_AIM = 5.0, 0.1
"""θ and ξ of the paper."""


class KalmanCounts(CountNoise, ContinualCounts):
    """Counts on fixed cells that are measured now and then and predicted in between by a Kalman filter.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in each measured release (snapshot), against everyone but the
    curator. Which releases are measured is a public schedule; n measured ones cost n ε. Filtering and predicting read
    earlier releases alone: post-processing, which costs nothing. A prediction says nothing about where anyone is now.
    With `sampling: pid`, ε for everything that one person does in the run (user), charged once before the first
    release: `samples` releases are measured with an equal part of ε each, at most, and when they are is decided by
    earlier releases alone. With `noise: gaussian`, ρ that is worth ε at delta: of each measured release, or of all
    samples together, which have equal parts of ρ; they lose less to one another than parts of ε.

    Reference
    ---------
    Fan and Xiong 2014, An adaptive approach to real-time aggregate monitoring with differential privacy (FAST), with
    sampling at a fixed rate, or by a controller (`pid`). How far counts wander is not given by hand: in a cell with n
    people of whom each stays for a time τ, the count changes within t by a variance of 2 n (1 - exp(-t/τ)). That knows
    no rush hours: while many people move the same way, predictions are further off than they say. The paper's
    controller (`variant: literal`) compares |x - x⁻|/x (sums over cells) with 0.1, which is mostly its own noise:
    intervals stay short, and all samples are gone early. It keeps its ε; that it follows counts better than a fixed
    rate does not hold here. Ours measures surprise: E = Σ|z - x⁻| over what its own noise makes of it,
    √(2/π) Σ√(P + R), which is 1 where the filter is right, and shares what is left of the samples evenly over what is
    left of the run.
    """

    kind: ClassVar[str] = "kalman_counts"

    epsilon: float = Field(default=0.4, gt=0)
    """ε of one measured release, predicted ones cost nothing; with `sampling: pid`, of the whole series."""
    measure_every: int = Field(default=4, ge=1)
    """With `sampling: fixed`: every so many releases one is measured, the first included; 1 = all."""
    stay_s: float = Field(default=3600.0, gt=0)
    """How long a worker stays in a cell, seconds: a public guess. The shorter, the less earlier counts are trusted."""
    sampling: Literal["fixed", "pid"] = "fixed"
    """Which releases are measured: every so many, or sooner where earlier releases came as a surprise (`pid`)."""
    samples: int = Field(default=8, ge=1)
    """With `sampling: pid`: how many releases are measured at most; each has this part of ε."""
    variant: Literal["corrected", "literal"] = "corrected"
    """With `sampling: pid`: our controller, or the paper's."""
    run_length: int | None = Field(default=None, ge=1)
    """With `sampling: pid`: over how many releases the samples are shared out. Default: those of the run."""

    def idle_fields(self) -> dict[str, str]:
        """Return what the other way of sampling reads."""
        found = super().idle_fields()
        if self.sampling == "pid":
            return found | {"measure_every": "with sampling: pid"}
        return found | dict.fromkeys(("samples", "variant", "run_length"), "without sampling: pid")

    @model_validator(mode="after")
    def _measures_with_that_noise(self) -> Self:
        if self.noise == "gaussian" and not isinstance(self.cells, CountNoise):
            raise ValueError(f"noise: the cells of '{self.cells.kind}' have no Gaussian noise; take uniform_grid")
        return self

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the cells, and the length of the run."""
        made = super().resolve(facts)
        if self.noise == "gaussian":  # the cells themselves stay as they were written
            made = made.model_copy(update={"cells": made.cells.model_copy(update={"noise": "laplace"})})
        if self.sampling == "fixed" or self.run_length is not None:
            return made
        return made.model_copy(update={"run_length": facts.releases})

    def count_epsilon(self, releases: int = 1) -> float:  # noqa: ARG002 - the same in every series
        """Return ε of one measured release."""
        if self.sampling == "fixed":
            return self.epsilon
        if self.noise == "laplace":
            return self.epsilon / self.samples
        return epsilon_of_rho(self.rho / self.samples, self.delta)

    def _make_measuring(self) -> Mechanism:
        return self.shape_cells(self.count_epsilon())

    def shape_cells(self, epsilon: float) -> Mechanism:
        """Return the mechanism of the cells, with the noise of this one."""
        made = super().shape_cells(epsilon)
        return made if self.noise == "laplace" else made.model_copy(update={"noise": self.noise, "delta": self.delta})

    def measures(self, number: int, earlier: Sequence[Cells] = ()) -> bool:
        """Measure every so many releases, beginning with the first; or when earlier ones ask for it."""
        if self.sampling == "fixed":
            return number % self.measure_every == 0
        taken = [place for place, release in enumerate(earlier) if release.measured]
        if not taken or len(taken) >= self.samples:
            return not taken
        return number >= taken[-1] + self.find_interval(earlier, taken)

    def find_interval(self, earlier: Sequence[Cells], taken: Sequence[int]) -> int:
        """Return after how many releases the next sample is due, from what was released: nobody is looked at.

        Parameters
        ----------
        earlier
            All releases so far.
        taken
            Which of them were measured.
        """
        errors = [self._find_error(earlier[place - 1], earlier[place]) for place in taken[1:]]
        if self.variant == "literal":
            interval = 1.0
            for number in range(1, len(errors) + 1):
                step = 1 - math.exp(min((_weigh(errors[:number]) - _LITERAL_AIM) / _LITERAL_AIM, 50.0))
                interval = max(1.0, interval + _LITERAL_GAIN * step)
            return round(interval)
        length = max(self.run_length or len(earlier), len(earlier))
        fair = (length - taken[-1]) / (self.samples - len(taken))  # the last of them may fall on the end
        factor = find_factor(_weigh(errors)) if errors else 1.0
        return max(1, round(factor * fair))

    def _find_error(self, before: Cells, sample: Cells) -> float:
        """Return how far a sample surprised, worked back from the release that it corrected."""
        prior = self._predict(before, sample.time_s)
        corrected = np.abs(sample.count - prior.value)
        if self.variant == "literal":
            return float(corrected.sum() / max(sample.count.sum(), 1.0))
        noise = (self._make_measuring().expected_noise(sample.guarantee.neighbours) or 0.0) / self.mean_noise(1.0)
        spread = prior.second + noise**2  # half of P + R
        return float((corrected * spread / prior.second).sum() / (math.sqrt(2 / math.pi) * np.sqrt(2 * spread).sum()))

    def fewest_releases(self) -> int:
        """Return the number of samples, where there is one."""
        return 1 if self.sampling == "fixed" else self.samples

    def begin_series(self, releases: int | None = None) -> Series:
        """Begin a series; of which length must be known where samples are shared out over it."""
        if self.sampling == "fixed":
            return Series(self, releases)
        length = releases or self.run_length
        if length is None:
            raise UsageError("sampling: pid needs to know how many releases there will be, to share out its samples")
        if self.samples > length:
            raise UsageError(
                f"samples: {self.samples} are more than the {length} releases of the run: use at most {length}. "
                "Nothing was released or charged."
            )
        return SampledSeries(self.model_copy(update={"run_length": length}), length)

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Measure; there is nothing earlier to filter with."""
        return replace(self._make_measuring().release(snapshot, noise), **self._name_release(snapshot))

    def release_next(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:
        """Let the counts of the earlier release wander up to now and, where this one is measured, correct them."""
        if self.sampling == "pid":
            raise UsageError("sampling: pid reads all earlier releases: use begin_series")
        return self.advance(earlier, snapshot, noise, measured=self.measures(number))

    def advance(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, measured: bool) -> Cells:
        """Predict from the earlier release (None: there is none, so measure) and, where asked to, correct."""
        if earlier is None:
            return self.release(snapshot, noise)
        found, fresh = self._predict(earlier, snapshot.time_s), earlier
        if measured:
            fresh = self.release(snapshot, noise)
            second = fresh.noise_scale**2
            found = found.average(Estimates(fresh.count, second, second**2 / _terms(fresh)))
        scale, terms = equal_noise(found.second, found.fourth)
        made = self._make_measuring().with_counts(fresh, found.value, scale, terms)
        return replace(made, measured=measured, **self._name_release(snapshot))

    def _predict(self, earlier: Cells, time_s: float) -> Estimates:
        """Return the earlier counts as estimates of those now: as large, and less certain.

        The change of a count over time adds to the variance; being a sum of many small steps it has no kurtosis.
        """
        people = np.maximum(earlier.count, earlier.floor_per_m2 * earlier.area_m2)
        wandered = 2 * people * -np.expm1(-(time_s - earlier.time_s) / self.stay_s)
        second = earlier.noise_scale**2
        return Estimates(earlier.count, second + wandered / 2, second**2 / _terms(earlier))

    def _name_release(self, snapshot: Snapshot) -> dict[str, Any]:
        guarantee = self.guarantee(snapshot.neighbours, snapshot.counts)
        return {"time_s": snapshot.time_s, "mechanism": self.kind, "guarantee": guarantee}

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise what a measured release promises; where samples share ε, all that they promise together."""
        if self.sampling == "fixed":
            return self._make_measuring().guarantee(neighbours, counts)
        return self.make_promise(Unit.USER, neighbours, counts)

    def series_guarantee(
        self,
        releases: int,  # noqa: ARG002 - samples are what counts
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        counts: str = "all",
    ) -> Guarantee | None:
        """Promise ε for one person, where samples share it."""
        return None if self.sampling == "fixed" else self.guarantee(neighbours, counts)

    def presence_promise(self, span: int, releases: int, *, stays: int | None = None) -> Guarantee | None:
        """Return what is promised by as many samples as may fall into the span."""
        if self.sampling == "fixed":
            return super().presence_promise(span, releases, stays=stays)
        promise, share = self.guarantee(), min(span, self.samples) / self.samples
        if promise.rho is None:
            return replace(promise, epsilon=self.epsilon * share)
        return self.promise_rho(promise.rho * share, promise)

    @property
    def decides_together(self) -> bool:
        """Whether cells share decisions: when they are measured follows from all of them."""
        return self.sampling == "pid"

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:
        """Return the noise of a measured count; filtering lowers it, predicting raises it."""
        return self._make_measuring().expected_noise(neighbours)


class SampledSeries(Series):
    """One run whose samples are taken when earlier releases ask for them; all of it is public."""

    mechanism: KalmanCounts

    def make(self, snapshot: Snapshot, noise: Noise, *, number: int, pay: Pay) -> Cells:  # noqa: ARG002 - paid before
        """Decide by earlier releases whether to measure, and do so or predict."""
        measured = self.last is None or self.mechanism.measures(number, self.releases)
        return self.mechanism.advance(self.last, snapshot, noise, measured=measured)


def find_factor(surprise: float) -> float:
    """Return by how much the fair interval is stretched: 1 at a surprise of 1, at most twice, at least half."""
    return min(max(2 - math.exp(min(surprise - 1, 50.0)), 0.5), 2.0)


def _weigh(errors: Sequence[float]) -> float:
    """Return the newest error with a tenth of what the last few were on average."""
    recent = errors[-_RECENT:]
    return _NOW * errors[-1] + _BEFORE * sum(recent) / len(recent)


def _terms(release: Cells) -> Array | float:
    return 1.0 if release.noise_terms is None else release.noise_terms
