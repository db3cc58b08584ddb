"""A malicious server: tasks that nobody wants done, posted until a certain person takes one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance


@dataclass(frozen=True)
class Rules:
    """What limits a malicious server.

    Parameters
    ----------
    answers
        So many tasks a phone answers in a window at most (None: any number).
    mute
        ρ: probability with which a phone mutes a task before its owner sees it.
    least_people
        Expected number of people in a circle, at least (by the released map).
    per_km2_hour
        Tasks per km² and hour at most (None: any number).
    pay_called_off
        Whether who accepts is paid though the task is called off.
    new_names
        Whether whoever accepts has a new pseudonym for each task: then the server cannot tell whom it found.
    """

    answers: int | None = None
    mute: float = 0.0
    least_people: float = 0.0
    per_km2_hour: float | None = None
    pay_called_off: bool = True
    new_names: bool = False


@dataclass(frozen=True)
class Outcome:
    """What one attempt came to."""

    named: bool
    posts: int
    paid: int
    error_m: float
    """Distance of the place where the target was found from where she is (of the last guess where she was not)."""


def lattice(side_m: float, spacing_m: float) -> tuple[Array, Array]:
    """Return the middles of a square's cells of some width."""
    steps = np.arange(max(1, round(side_m / spacing_m)))
    x, y = np.meshgrid((steps + 0.5) * side_m / steps.size, (steps + 0.5) * side_m / steps.size)
    return x.ravel(), y.ravel()


def post_until_named(
    x_m: Array,
    y_m: Array,
    acceptance: Acceptance,
    *,
    reward: float,
    side_m: float,
    spacing_m: float,
    radius_m: float,
    passes: int,
    rules: Rules,
    rng: np.random.Generator,
    target: int = 0,
) -> Outcome:
    """Post a task at every place of a lattice, pass after pass, until the target takes one.

    Everybody inside who is not muted and not exhausted answers by chance; one of those who accept is named at random,
    and paid where the rules say so. Under new names the server takes one of all who were named for the target, at
    random.
    """
    posts, paid, pays = 0, 0, int(rules.pay_called_off)
    nameless: list[tuple[int, float]] = []
    at_x, at_y = lattice(side_m, spacing_m)
    answered = np.zeros(x_m.size, dtype=np.int64)
    density = x_m.size / side_m**2
    allowed = at_x.size * passes
    if rules.per_km2_hour is not None:
        allowed = math.floor(rules.per_km2_hour * side_m**2 / 1e6)
    if density * math.pi * radius_m**2 < rules.least_people:  # the circle grows until enough are expected in it
        radius_m = math.sqrt(rules.least_people / (math.pi * density))
    for _ in range(passes):
        for place in rng.permutation(at_x.size):
            if posts >= allowed:
                return _pick_nameless(nameless, target, posts, paid, side_m=side_m, rng=rng)
            posts += 1
            far = np.hypot(x_m - at_x[place], y_m - at_y[place])
            asked = np.flatnonzero(far <= radius_m)
            if rules.answers is not None:
                asked = asked[answered[asked] < rules.answers]
            answered[asked] += 1
            heard = asked[rng.random(asked.size) >= rules.mute]
            chance = acceptance.probability(np.full(heard.size, reward), far[heard])
            willing = heard[rng.random(heard.size) < chance]
            if not willing.size:
                continue
            paid += pays
            winner = int(rng.choice(willing))
            if rules.new_names:
                nameless.append((winner, float(far[winner])))
            elif winner == target:
                return Outcome(named=True, posts=posts, paid=paid, error_m=float(far[winner]))
    return _pick_nameless(nameless, target, posts, paid, side_m=side_m, rng=rng)


def _pick_nameless(
    nameless: list[tuple[int, float]], target: int, posts: int, paid: int, *, side_m: float, rng: np.random.Generator
) -> Outcome:
    """Return an attempt that ended without a name: one of those who came is taken for the target, if anybody came."""
    if nameless:
        winner, error_m = nameless[int(rng.integers(len(nameless)))]
        if winner == target:
            return Outcome(named=True, posts=posts, paid=paid, error_m=error_m)
    return Outcome(named=False, posts=posts, paid=paid, error_m=side_m)


class Sybil(Attack):
    """Post tasks for the least reward on a lattice of small circles until a certain person takes one, and is found.

    An active attack by the server itself: it is played against people who are spread evenly, as many per km² as the
    releases say, and who answer by the public model of willingness. What limits it is what the scenario's `protocol`
    says: at most so many answers of a phone, muted tasks, no small circles, no crowd of tasks, pay for what is called
    off, and a new pseudonym per task, which hides whom it found. Fields of the same names say otherwise.

    Reference
    ---------
    ours: the attack is folklore; the figures are those of the game described here.
    """

    kind: ClassVar[str] = "sybil"
    about: ClassVar[str] = "member"
    reads: ClassVar[frozenset[str]] = frozenset({"offers", "cells", "contours", "points"})

    spacing_m: float = Field(default=200.0, gt=0)
    """Width of the lattice, metres."""
    radius_m: float = Field(default=141.0, gt=0)
    """Radius of a circle, metres."""
    passes: int = Field(default=10, ge=1, le=100)
    """How often every place of the lattice is used."""
    trials: int = Field(default=200, ge=10, le=10_000)
    """How many targets are looked for, one after the other."""
    side_m: float = Field(default=2000.0, gt=0, le=20_000)
    """Side of the square that is searched, metres."""
    answers: int | None = Field(default=None, ge=1)
    """Answers of a phone at most (null: as the protocol says)."""
    mute: float | None = Field(default=None, ge=0, lt=1)
    """Probability with which a phone mutes a task (null: as the protocol says)."""
    least_people: float | None = Field(default=None, ge=0)
    """People expected in a circle, at least (null: as the protocol says)."""
    per_km2_hour: float | None = Field(default=None, gt=0)
    """Tasks per km² and hour at most (null: as the protocol says)."""
    pay_called_off: bool | None = None
    """Whether who accepts is paid though the task is called off (null: as the protocol says)."""
    new_names: bool | None = None
    """Whether every task meets new pseudonyms (null: as the protocol says)."""
    people_per_km2: float | None = Field(default=None, gt=0)
    """How many people there are (null: what the releases say)."""
    reward: float | None = Field(default=None, gt=0)
    """Reward of a task (null: the least that anybody accepts)."""

    def guess(self, view: AttackView) -> Findings:
        """Say how likely a person is to be found: the log-odds, once per trial in which she was."""
        outcomes = self.play(view)
        names = np.array([f"trial {number}" for number in range(len(outcomes))], dtype=np.str_)
        return Findings.about_members(names, np.array([1.0 if one.named else -1.0 for one in outcomes]))

    def find_rules(self, view: AttackView) -> Rules:
        """Return the rules of the protocol, or what stands in their place here."""
        stated = dict(view.laws.get("protocol", {}))
        own = {name: getattr(self, name) for name in Rules.__dataclass_fields__}
        return Rules(**stated | {name: value for name, value in own.items() if value is not None})

    def play(self, view: AttackView, seed: int = 0) -> list[Outcome]:
        """Play all trials ([]: nothing says how many people there are, or how they answer)."""
        acceptance, density = view.laws.get("acceptance"), self.people_per_km2 or _density_per_km2(view)
        if acceptance is None or density is None:
            return []
        reward = self.reward if self.reward is not None else max(acceptance.minimum_reward or 0.0, 1e-9)
        rng = np.random.default_rng(seed)
        number = max(1, round(density * self.side_m**2 / 1e6))
        rules = self.find_rules(view)
        outcomes = []
        for _ in range(self.trials):
            x, y = rng.uniform(0, self.side_m, (2, number))
            outcomes.append(
                post_until_named(
                    x,
                    y,
                    acceptance,
                    reward=reward,
                    side_m=self.side_m,
                    spacing_m=self.spacing_m,
                    radius_m=self.radius_m,
                    passes=self.passes,
                    rules=rules,
                    rng=rng,
                )
            )
        return outcomes


def _density_per_km2(view: AttackView) -> float | None:
    counts = [float(np.maximum(release.count, 0).sum()) for release in view.releases if hasattr(release, "count")]
    sizes = [float(release.who.size) for release in view.releases if hasattr(release, "who")]
    found = counts or sizes
    return float(np.mean(found)) / (view.region.area_m2 / 1e6) if found else None
