"""What releases tell about people who move together, and about one person over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean, share
from geodp.public.guarantee import Neighbours, Unit
from geodp.public.release import Cells

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder

_LEAST_RELEASES = 2


class CompanionAdvantage(Metric):
    """What who knows everyone else, and who moves with whom, learns about one member of a household from a release.

    She asks of a household whether all of it stands in its cell or none (under replacement: in its cell or the next),
    takes the others off the noisy count, and guesses the likelier answer: the advantage is the chance of a right yes
    less that of a wrong one. The noise is that of the run's own releases in every cell. `companion_advantage` is for
    the largest households of `workers.mobility.sizes`, `companion_advantage_of_k_people` for others,
    `companion_advantage_theory` what Laplace noise of scale b gives for the largest: 1 - e^(-k/2b), and under
    replacement 1 - (1 + k/2b)·e^(-k/b). `companion_advantage_whole_run` is for all releases together, of a household
    that stays where it is. Only where people move together.
    """

    kind: ClassVar[str] = "companion_advantage"
    label: ClassVar[str] = "advantage about one of the largest household"
    labels: ClassVar[Mapping[str, str]] = {
        "companion_advantage_theory": "advantage about one of the largest household, in theory",
        "companion_advantage_whole_run": "advantage about one of the largest household, all releases together",
    }
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Play the game with the noise of every cell."""
        mobility = run.scenario.workers.mobility
        largest, noise = getattr(mobility, "largest", 1), _find_noise(run)
        if largest == 1 or noise is None:
            return {}
        errors, scale, replaced = noise
        sizes = sorted({1, *(size for size, part in mobility.sizes.items() if part > 0)})  # type: ignore[attr-defined]
        found = {f"{self.kind}_of_{size}_people": _play(errors, size, replaced=replaced) for size in sizes}
        found[self.kind] = found.pop(f"{self.kind}_of_{largest}_people")
        found[f"{self.kind}_theory"] = Measured(expect_advantage(largest, scale, replaced=replaced))
        found[f"{self.kind}_whole_run"] = _play_series(errors, largest, replaced=replaced)
        return found


def expect_advantage(people: int, scale: float, *, replaced: bool = False) -> float:
    """Return the advantage about so many people together behind Laplace noise: the distance of the two laws.

    Parameters
    ----------
    people
        How many are there or not.
    scale
        b of the noise of one count.
    replaced
        Whether they are in one of two cells, instead of there or not.
    """
    shift = people / scale
    return 1 - math.exp(-shift) * (1 + shift / 2) if replaced else -math.expm1(-shift / 2)


def _find_noise(run: RunFolder) -> tuple[Array, float, bool] | None:
    """Return the errors of all counts (a row per release), their scale, and whether people are replaced."""
    made = [(at, release) for at, release in enumerate(run.releases) if isinstance(release, Cells) and release.measured]
    sizes = {release.count.size for _, release in made}
    if len(sizes) != 1 or run.scenario.device.mechanism.guarantee().unit is not Unit.NOTHING:
        return None
    errors = np.array([release.count - run.true_counts(at).to_numpy(dtype=np.float64) for at, release in made])
    first = made[0][1]
    scale = float(np.mean(first.noise_scale))
    return (errors, scale, first.guarantee.neighbours is Neighbours.REPLACE) if scale > 0 else None


def _log_ratio(counts: Array, people: int) -> Array:
    """Return what counts less everyone else say for so many people, in units of the scale."""
    # |z| - |z - k|, but exactly ±k outside: differences and sums of it are ties there, which rounding must not decide
    return np.clip(2 * counts - people, -people, people)


def _weigh(errors: Array, people: int, *, replaced: bool) -> tuple[Array, Array]:
    """Return what is said for the household where it is, and where it is not."""
    if not replaced:
        return _log_ratio(errors + people, people), _log_ratio(errors, people)
    pairs = errors.shape[1] // 2
    own, other = errors[:, : 2 * pairs : 2], errors[:, 1 : 2 * pairs : 2]
    there = _log_ratio(own + people, people) - _log_ratio(other, people)
    return there, _log_ratio(own, people) - _log_ratio(other + people, people)


def _play(errors: Array, people: int, *, replaced: bool) -> Measured:
    there, not_there = _weigh(errors, people, replaced=replaced)
    if not replaced:  # the same noise decides both: right where it is, and not wrong where it is not
        found_out = (there > 0) & (not_there <= 0)
        return share(int(found_out.sum()), found_out.size)
    return mean(((np.sign(there) - np.sign(not_there)) / 2).mean(axis=1))


def _play_series(errors: Array, people: int, *, replaced: bool) -> Measured:
    there, not_there = (weights.sum(axis=0) for weights in _weigh(errors, people, replaced=replaced))
    return mean((np.sign(there) - np.sign(not_there)) / 2)


class TemporalLeakage(Metric):
    """What all releases together tell about where someone was at one of them, to who knows how people move, as an ε.

    Each release hides one position at its ε. Who knows the chances with which people go from place to place learns
    about the position at t also from the releases before and after: backward and forward leakage, less the ε counted
    twice, at the worst of all releases. At least ε of one release, where places tell nothing about the next; at most
    the sum of all, where nobody ever moves. The chances are those of the run's own people between `per_side`²
    places, with one move more from every place to anywhere people are. A measurement for this one model of movement,
    and no promise: it is never charged. Only where releases hide positions, and people move by themselves.

    Reference
    ---------
    Cao, Yoshikawa, Xiao and Xiong 2017, Quantifying differential privacy under temporal correlations (recalled).
    """

    kind: ClassVar[str] = "temporal_leakage"
    label: ClassVar[str] = "ε about one position, to who knows how people move"
    unit: ClassVar[str] = "epsilon"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    per_side: int = Field(default=10, ge=2, le=20)
    """Places are so many cells per side of the region."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Estimate how people move, and follow what is told from release to release."""
        from geodp.metrics.temporal_leakage import measure_leakage

        promises = [release.guarantee for release in run.releases if isinstance(release, Cells)]
        hidden = all(promise.unit is Unit.SNAPSHOT and promise.window == 1 and promise.holds for promise in promises)
        if len(promises) < _LEAST_RELEASES or not hidden or run.scenario.workers.mobility.kind == "static":
            return {}
        epsilons = [release.guarantee.epsilon if release.measured else 0.0 for release in run.releases]  # type: ignore[union-attr]
        forward, backward = self._estimate_chains(run)
        found = measure_leakage(forward, epsilons, backward=backward)
        return {self.kind: Measured(float(found.max()))}

    def _estimate_chains(self, run: RunFolder) -> tuple[Array, Array]:
        """Return the chances to go from place to place between two releases, and to have come from there."""
        times = np.array([release.time_s for release in run.releases])
        places = _follow_sample(run, times, self.per_side)
        visited, number = np.unique(places, return_inverse=True)
        place = number.reshape(places.shape)
        moves = np.zeros((visited.size, visited.size))
        np.add.at(moves, (place[:, :-1].ravel(), place[:, 1:].ravel()), 1.0)
        anywhere = np.bincount(place.ravel(), minlength=visited.size) / place.size
        return _as_chances(moves, anywhere), _as_chances(moves.T, anywhere)


def _as_chances(moves: Array, anywhere: Array) -> Array:
    some = moves + anywhere
    return np.asarray(some / some.sum(axis=1, keepdims=True))


def _follow_sample(run: RunFolder, times_s: Array, per_side: int) -> npt.NDArray[np.int64]:
    """Return the place of every person of the sample (row) at every time, by number."""
    paths = run.paths.sort_values(["worker", "time_s"])
    known = np.unique(paths["time_s"].to_numpy())
    x_m, y_m = (paths[name].to_numpy().reshape(-1, known.size) for name in ("x_m", "y_m"))
    west, south, east, north = run.region.box_m
    column, row = (
        np.clip(
            ((_read_between(known, way, times_s) - low) / (high - low) * per_side).astype(np.int64), 0, per_side - 1
        )
        for way, low, high in ((x_m, west, east), (y_m, south, north))
    )
    return np.asarray(row * per_side + column)


def _read_between(known_s: Array, way: Array, times_s: Array) -> Array:
    """Return coordinates at some times, on straight lines between known ones."""
    after = np.clip(np.searchsorted(known_s, times_s), 1, max(known_s.size - 1, 1))
    if known_s.size == 1:
        return np.repeat(way, times_s.size, axis=1)
    part = np.clip((times_s - known_s[after - 1]) / (known_s[after] - known_s[after - 1]), 0.0, 1.0)
    return np.asarray(way[:, after - 1] + part * (way[:, after] - way[:, after - 1]))
