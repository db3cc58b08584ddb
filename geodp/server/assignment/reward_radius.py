"""Rewards and circles from a noisy density: the reward-based assignment of the book's section 13.3.3.

How large a circle a task needs is solved for many tasks at once. `poisson`: workers are a Poisson field, so the number
of acceptors is Poisson with mean density · I(r, w) and success is 1 - exp(-density · I); with the density at the task
`Acceptance.radius_for` solves it, with what is believed about the density all over the disc `find_discs` does.
`printed` is the book's eqs. (13.9) to (13.13): n = π r² density workers, all at the mean distance 2r/3, fractions of a
worker allowed, so that it promises success from discs that hold less than one worker; the functions at the end of this
file solve that one. `load_m2` is the book's A = -ln(1 - E)/(π density), the left side of eq. (13.14); `k_m` is its
k = 3cw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.events import Note, Reason
from geodp.public.messages import Circle, Offer, Task
from geodp.public.release import Cells, Points
from geodp.server.assignment import ServerView
from geodp.server.capped import CappedAssignment, Recipients
from geodp.server.density_from_points import density_from_points
from geodp.server.disc import Discs, find_discs
from geodp.server.recipients import PeopleInside
from geodp.server.rewards import by_radius, within


class RewardRadius(CappedAssignment):
    """Offer each task to the smallest circle in which somebody accepts with the target probability.

    Noise-aware circles take the density all over the disc into account, and the region's edge; they are grown beyond
    what is needed, and of the people inside only as many are asked as are (`max_recipients`), in rounds along one
    secret order. A task that not even the maximum travel distance serves is offered there, noted `short_of_target`.

    With `planning: plain` and model `poisson` such a task gets no offer. Model `printed` knows no such case (the book
    cuts circles at that distance): it offers the largest circle and plans the lower success that its own formula gives
    there.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.3. `model: printed` is eqs. (13.9) to
    (13.13); `solver: taylor` is eq. (13.16), `solver: eq1314` is eq. (13.14) as printed, which lacks a factor
    r²; `reward: optimised` is steps 2 and 3 of section 13.3.3.2.
    """

    kind: ClassVar[str] = "reward_radius"

    model: Literal["poisson", "printed"] = "poisson"
    """How success is computed: workers as a Poisson field, or the book's formula, which trusts in fractions
    of a worker and fails where reward and density are high."""
    solver: Literal["exact", "taylor", "eq1314"] = "exact"
    """How the radius is found; `taylor` and `eq1314` are the book's, need `model: printed`, and may fail."""
    reward: Literal["optimised", "uniform"] = "optimised"
    """`optimised`: tasks with larger circles get more of the purse; `uniform`: all get the same."""
    iterations: int = Field(1, ge=1, le=100)
    """Passes of the optimised reward (the book makes one)."""
    planning: Literal["plain", "noise_aware"] = "noise_aware"
    """`plain` takes the noisy density at the task as it is, as the book does; `noise_aware` averages success over what
    densities all over the disc may really be. Default with `model: printed`: plain."""
    widen: float = Field(1.5, ge=1)
    """With every re-offer: factor on the radius of plain circles, which go to everyone in them; on ln(1 - target) for
    all who were asked by then where planning is noise-aware, which asks nobody twice, and one more at least."""

    @model_validator(mode="before")
    @classmethod
    def _as_printed(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("model") == "printed":
            return {"planning": "plain", **data}
        return data

    @model_validator(mode="after")
    def _combination(self) -> Self:
        if self.model == "poisson" and self.solver != "exact":
            raise ValueError(f"solver '{self.solver}' solves the printed model only: set model: printed")
        if self.model == "printed" and self.planning == "noise_aware":
            raise ValueError("planning 'noise_aware' is defined for the Poisson model only: set model: poisson")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the passes where rewards are not optimised, and what a maximum number of recipients would need."""
        passes = {} if self.reward == "optimised" else {"iterations": "with reward: uniform"}
        return super().idle_fields() | passes

    @property
    def _plans_from_beliefs(self) -> bool:
        return self.planning == "noise_aware"

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide reward and circle for every task of a batch; in a later round, the wider circle."""
        if self.solver != "exact" and not isinstance(view.acceptance, TanhReward):
            raise UsageError(
                f"server.assignment: solver '{self.solver}' is algebra for acceptance 'tanh_reward', but the "
                f"server assumes '{view.acceptance.kind}'. Use solver: exact."
            )
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, release: Cells | Points) -> list[Offer]:
        """Plan the tasks that get a reward."""
        if isinstance(release, Points):
            release = density_from_points(release, view.region)
        x_m, y_m = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
        if self._plans_from_beliefs:
            return self._plan_over_discs(tasks, view, release, x_m, y_m)
        return self._plan_at_tasks(tasks, view, release.density(x_m, y_m))

    # -- noise-aware: the density all over the disc ----------------------------------------------------------

    def _plan_over_discs(
        self, tasks: list[Task], view: ServerView, release: Cells, x_m: Array, y_m: Array
    ) -> list[Offer]:
        aim, own_aim = self._aim(view, self.widen**view.round), self._aim_of_offer(view, self.widen)
        belief = self._belief(release, view)

        def discs(reward: Array) -> Discs:
            return find_discs(
                release=release,
                belief=belief,
                acceptance=view.acceptance,
                x_m=x_m,
                y_m=y_m,
                reward=reward / view.workers_per_task,
                target=self._target_of_region(aim),
                aim=aim,
            )

        reward = self._rewards(lambda each: discs(each).needed_m, len(tasks), view)
        found = discs(reward)
        inside = PeopleInside(found.mean, found.variance, found.acceptors)
        asked = self._recipients(tasks, view, inside, found.success, self.widen)
        return [
            self._offer_disc(task=task, reward=float(reward[i]), found=found, i=i, asked=asked[i], aim=own_aim)
            for i, task in enumerate(tasks)
        ]

    def _offer_disc(self, task: Task, reward: float, found: Discs, i: int, asked: Recipients, aim: float) -> Offer:
        if found.success[i] <= 0:  # nobody can be expected within reach: the reward stays in the purse
            return Offer(
                task=task.task,
                planned_success=0.0,
                expected_workers=0.0,
                density_per_m2=float(found.density_per_m2[i]),
                uncapped_radius_m=float("inf"),
                unreachable=Reason.NO_RADIUS,
            )
        notes = [Note.SHORT_OF_TARGET] if self._is_short(asked.planned, aim) else []
        if found.mean[i] < 1:
            notes.append(Note.UNDER_ONE_WORKER)
        return Offer(
            task=task.task,
            reward=reward,
            target=Circle(float(found.radius_m[i])),
            planned_success=asked.planned,
            expected_workers=float(found.mean[i]),
            density_per_m2=float(found.density_per_m2[i]),
            uncapped_radius_m=float(found.needed_m[i]),
            notes=tuple(notes),
            caps=asked.caps,
            shares=asked.shares,
            nearest_first=self.recipients == "nearest",
        )

    # -- plain: the density at the task, taken at its word ---------------------------------------------------

    def _plan_at_tasks(self, tasks: list[Task], view: ServerView, density: Array) -> list[Offer]:
        need_m2 = -np.log1p(-self._aim(view)) / density
        reward = self._rewards(lambda each: self._radius_m(view.acceptance, each, need_m2), len(tasks), view)
        asked_m = self._radius_m(view.acceptance, reward, need_m2)
        reason = self._reasons(asked_m, view.acceptance.max_travel_m)
        offered = reason == ""
        wider_m = np.where(offered, asked_m, 0.0) * self.widen**view.round
        radius_m = np.minimum(wider_m, view.acceptance.max_travel_m)
        reward = np.where(offered, reward, 0.0)  # what an unreachable task would have got stays in the purse
        success = np.where(offered, self._success(view.acceptance, reward, radius_m, density), 0.0)
        workers = density * np.pi * radius_m**2
        caps: tuple[int, ...] = ()
        if isinstance(self.max_recipients, int) and view.trusted:  # without a curator nobody can count
            caps = (self.max_recipients,)
            success = _cap_success(success, workers, self.max_recipients)
        return [
            Offer(
                task=task.task,
                reward=float(reward[i]),
                target=Circle(float(radius_m[i])) if offered[i] else None,
                planned_success=float(success[i]),
                expected_workers=float(workers[i]),
                density_per_m2=float(density[i]),
                uncapped_radius_m=float(asked_m[i]),
                unreachable=Reason(str(reason[i])),
                notes=_notes(asked_m[i], workers[i], bool(offered[i])),
                caps=caps if offered[i] else (),
                nearest_first=self.recipients == "nearest",
            )
            for i, task in enumerate(tasks)
        ]

    def _rewards(self, radius_m: Callable[[Array], Array], tasks: int, view: ServerView) -> Array:
        """Return the reward of each task, all together at most the purse.

        `radius_m` tells the radius that each task needs for a reward. Radii beyond the maximum travel distance count in
        full: more reward may bring their tasks into reach.
        """
        alike = view.purse / tasks
        if self.reward == "uniform":
            return within(np.full(tasks, min(view.uniform_reward, alike)), view.purse)
        reward = np.full(tasks, alike)
        for _ in range(self.iterations):
            reward = by_radius(radius_m(reward), view.purse, view.least_reward)
        return within(reward, view.purse)

    def _radius_m(self, acceptance: Acceptance, reward: Array, need_m2: Array) -> Array:
        """Return the radius each task needs, before any cap; `need_m2` is -ln(1 - target)/density."""
        if self.model == "poisson":
            return acceptance.radius_for(reward, need_m2)
        load_m2 = need_m2 / np.pi
        if not isinstance(acceptance, TanhReward):
            return first_radius_m(acceptance, reward, load_m2)
        return _SOLVERS[self.solver](3 * acceptance.pull_m(reward), load_m2, acceptance.ceiling)

    def _reasons(self, asked_m: Array, max_travel_m: float) -> npt.NDArray[np.str_]:
        """Return why each task is out of reach ('' where it is not)."""
        too_far = (asked_m > max_travel_m) & (self.model == "poisson")
        return np.select(
            [np.isinf(asked_m), asked_m <= 0, too_far],
            [Reason.NO_RADIUS, Reason.BAD_RADIUS, Reason.BEYOND_REACH],
            default="",
        )

    def _success(self, acceptance: Acceptance, reward: Array, radius_m: Array, density: Array) -> Array:
        """Return the success the model itself expects of a circle."""
        if self.model == "poisson":
            return -np.expm1(-density * acceptance.reach_m2(reward, radius_m))
        return compute_printed_success(acceptance, reward, radius_m, density)


def _cap_success(success: Array, workers: Array, cap: int) -> Array:
    """Return the success of circles with a maximum number of recipients, if as many are inside as expected."""
    share = np.minimum(1.0, cap / np.maximum(workers, 1e-300))
    return np.asarray(-np.expm1(np.log1p(-np.minimum(success, 1 - 1e-15)) * share))


def _notes(asked_m: float, workers: float, offered: bool) -> tuple[str, ...]:
    notes = [Note.NEGATIVE_RADIUS] if asked_m < 0 else []
    if offered and workers < 1:
        notes.append(Note.UNDER_ONE_WORKER)
    return tuple(notes)


TAYLOR_POINT_M = 1000.0  # the book expands about r0 = 1, and measures in kilometres
_CHUNK = 8192  # tasks solved together: their arrays stay in the processor's cache
_GRID = 600  # radii tried by `first_radius_m`; the default steps of `zipf` fall on the grid


def compute_printed_success(
    acceptance: Acceptance, reward: npt.ArrayLike, radius_m: npt.ArrayLike, density_per_m2: npt.ArrayLike
) -> Array:
    """Return 1 - (1 - θ(w, 2r/3))^(π r² density), eqs. (13.9)-(13.11)."""
    radius = np.asarray(radius_m, dtype=np.float64)
    some = radius > 0
    refusal = acceptance.log_refusal(reward, 2 / 3 * np.where(some, radius, 1.0))
    workers = np.pi * radius**2 * np.asarray(density_per_m2)
    return np.where(some, -np.expm1(workers * refusal), 0.0)


def refusal_exponent(u: npt.ArrayLike, ceiling: float) -> tuple[Array, Array]:
    """Return f(u) = -ln(1 - a·tanh(u/2)) and f'(u); with a = 1, f is the book's ln((e^u + 1)/2), u = k/r."""
    x = np.asarray(u, dtype=np.float64)
    if ceiling == 1:
        e = np.expm1(-x)  # f = u + ln((1 + e^-u)/2) neither overflows for large u nor cancels for small u
        return np.asarray(x + np.log1p(0.5 * e)), np.asarray(1 / (2 + e))
    t = np.tanh(0.5 * x)
    return np.asarray(-np.log1p(-ceiling * t)), np.asarray(ceiling * (1 - t * t) / (2 - 2 * ceiling * t))


def compute_printed_load_m2(radius_m: npt.ArrayLike, k_m: npt.ArrayLike, ceiling: float = 1.0) -> tuple[Array, Array]:
    """Return h(r) = r² f(k/r), the right side of eq. (13.13) for `tanh_reward`, and h'(r).

    Eq. (13.14) prints it without the r²; the Taylor form (13.16) follows only with it.
    """
    radius, k = np.asarray(radius_m, dtype=np.float64), np.asarray(k_m, dtype=np.float64)
    f, slope = refusal_exponent(k / radius, ceiling)
    return radius**2 * f, 2 * radius * f - k * slope


def solve_printed_radius_m(k_m: npt.ArrayLike, load_m2: npt.ArrayLike, ceiling: float = 1.0) -> Array:
    """Solve h(r) = A exactly, by Newton's method inside a bracket; infinite where k is 0.

    h increases, so the root is unique. For a = 1, u/2 <= f(u) <= u puts it in [A/k, 2A/k]. For a < 1,
    f(u) <= u and f(u) <= -ln(1 - a) bound it from below; a·u/(u + 2) <= a·tanh(u/2) <= f(u) from above.
    """
    k, load = np.broadcast_arrays(np.asarray(k_m, dtype=np.float64), np.asarray(load_m2, dtype=np.float64))
    solvable = k > 0
    flat_k, flat_load = np.where(solvable, k, 1.0).ravel(), load.ravel()
    radius = np.empty_like(flat_k)
    for start in range(0, radius.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        bracket = _bracket(flat_k[part], flat_load[part], ceiling)
        radius[part] = _newton(flat_k[part], flat_load[part], ceiling, bracket)
    return np.where(solvable, radius.reshape(k.shape), np.inf)


def _bracket(k: Array, load: Array, ceiling: float) -> tuple[Array, Array, Array]:
    """Return a lower bound, an upper bound and a first guess of the radius."""
    low = load / k
    if ceiling == 1:
        high = 2 * low
        kappa = k / low  # r·k/A is 2 - κ/4 for small κ = k²/A, and 1 + ln(2)/κ for large: between them, within 2.5 %
        guess = low * (1 + (1 + kappa / 8) / (1 + kappa * (3 / 8 + kappa / (8 * np.log(2)))))
    else:
        high = (load + np.sqrt(load**2 + ceiling * k**2 * load)) / (ceiling * k)
        low = np.maximum(low, np.sqrt(load / -np.log1p(-ceiling)))
        guess = np.sqrt(low * high)
    slack = 1e-9  # a root on a bound must not be lost to rounding
    return low * (1 - slack), high * (1 + slack), guess


def _newton(k: Array, load: Array, ceiling: float, bracket: tuple[Array, Array, Array]) -> Array:
    low, high, radius = bracket
    for _ in range(100):
        value, slope = compute_printed_load_m2(radius, k, ceiling)
        short = value < load
        low, high = np.where(short, radius, low), np.where(short, high, radius)
        newton = radius + (load - value) / slope
        moved = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        settled = np.abs(moved - radius) <= 1e-8 * radius  # Newton squares the error: rounding is next
        radius = moved
        if settled.all():
            break
    return radius


def taylor_radius_m(k_m: npt.ArrayLike, load_m2: npt.ArrayLike, ceiling: float = 1.0) -> Array:
    """Return eq. (13.16)'s radius, h linearised at 1 km: it may be negative, and hangs on the unit of length.

    A ceiling below 1 goes through the same steps; with 1 the formula is the printed one.
    """
    k = np.asarray(k_m, dtype=np.float64)
    value, slope = compute_printed_load_m2(TAYLOR_POINT_M, k, ceiling)
    slope = np.where(k > 0, slope, 1.0)
    radius = TAYLOR_POINT_M + (np.asarray(load_m2, dtype=np.float64) - value) / slope
    return np.where(k > 0, radius, np.inf)


def eq1314_radius_m(k_m: npt.ArrayLike, load_m2: npt.ArrayLike, ceiling: float = 1.0) -> Array:
    """Solve eq. (13.14) as printed, without the r²: A [km²] = f(k/r), so r = k / (2 artanh((1 - e^-A)/a)).

    With a < 1 and A above -ln(1 - a) it has no root; the limit 0 is returned, which no circle has.
    """
    load_km2 = np.asarray(load_m2, dtype=np.float64) / 1e6
    share = np.minimum(-np.expm1(-load_km2) / ceiling, 1.0)
    if ceiling == 1:
        doubled = load_km2 + np.log1p(share)  # ln(2e^A - 1), also where e^A overflows
    else:
        with np.errstate(divide="ignore"):
            doubled = 2 * np.arctanh(share)
    return np.asarray(np.asarray(k_m, dtype=np.float64) / doubled, dtype=np.float64)


def first_radius_m(acceptance: Acceptance, reward: npt.ArrayLike, load_m2: npt.ArrayLike) -> Array:
    """Return the smallest radius with -r² ln(1 - θ(w, 2r/3)) >= A, eq. (13.13), for any acceptance model.

    The left side need not increase there (θ falls to 0 at the maximum travel distance), so the first crossing
    is bracketed on a grid and then halved; infinite where there is none.
    """
    worth, load = np.broadcast_arrays(np.asarray(reward, dtype=np.float64), np.asarray(load_m2, dtype=np.float64))

    def reaches(radius: Array, tasks: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(-(radius**2) * acceptance.log_refusal(worth[tasks], 2 / 3 * radius) >= load[tasks])

    radii = np.linspace(0.0, 1.5 * acceptance.max_travel_m, _GRID + 1)  # beyond it 2r/3 is too far for all
    low, high = np.full(worth.shape, np.inf), np.full(worth.shape, np.inf)
    for start, end in pairwise(radii):
        open_tasks = np.isinf(high)
        if not open_tasks.any():
            break
        open_tasks[open_tasks] = reaches(np.full(open_tasks.sum(), end), open_tasks)
        low[open_tasks], high[open_tasks] = start, end
    found = np.isfinite(high)
    a, b = low[found], high[found]
    for _ in range(60):
        middle = (a + b) / 2
        enough = reaches(middle, found)
        a, b = np.where(enough, a, middle), np.where(enough, middle, b)
    high[found] = b
    return high


_SOLVERS = {"exact": solve_printed_radius_m, "taylor": taylor_radius_m, "eq1314": eq1314_radius_m}
