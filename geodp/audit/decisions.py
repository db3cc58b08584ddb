"""Decisions that follow one another: a whole series may tell less than all of its decisions one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodp.geometry import Array
from geodp.privacy.noise import Integers, Noise

NO, YES, NOT_ASKED = 0, 1, -1


@dataclass(frozen=True, eq=False)
class Step:
    """Decisions that were asked for at once: log-probabilities of no and yes on either input."""

    true: Array
    other: Array
    after: Integers
    """The decision of the step before that each follows, which was a yes; -1: it follows none."""


@dataclass(frozen=True, eq=False)
class DecisionsChanged:
    """Decisions whose laws differ, and those on the way to them; one is asked only where the one before it was a yes.

    A no ends its series, so no series tells the worst of each of its decisions: a yes, and then what follows from it,
    or a no. The worst is taken over all series that could have come about on the way that was gone; what a longer way
    would have told is seen where a run goes it.
    """

    true: Array
    other: Array
    after: Integers
    """The decision that each follows, an earlier one; -1: none."""

    @classmethod
    def along(cls, steps: Sequence[Step]) -> DecisionsChanged | None:
        """Return the decisions of some steps that matter; None: all laws are the same on both inputs."""
        first = np.cumsum([0, *(len(step.after) for step in steps)])
        after = np.concatenate(
            [np.where(step.after >= 0, step.after + start, -1) for step, start in zip(steps, [0, *first], strict=False)]
        )
        true, other = (np.concatenate([getattr(step, name) for step in steps]) for name in ("true", "other"))
        kept = (true != other).any(axis=1)
        for decision in range(len(after) - 1, -1, -1):
            if kept[decision] and after[decision] >= 0:
                kept[after[decision]] = True
        if not kept.any():
            return None
        place = np.append(np.cumsum(kept) - 1, -1)  # the last is for those that follow none
        return cls(true[kept], other[kept], place[after[kept]])

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return len(self.true)

    @property
    def cost(self) -> float:
        """The most that the decisions together may tell, for either input."""
        no, yes = (self.true - self.other).T
        most, least = np.zeros(len(no) + 1), np.zeros(len(no) + 1)  # of what follows a yes; the last place is the start
        for decision in range(len(no) - 1, -1, -1):
            most[self.after[decision]] += max(no[decision], yes[decision] + most[decision])
            least[self.after[decision]] += min(no[decision], yes[decision] + least[decision])
        return float(max(most[-1], -least[-1]))

    @property
    def parts(self) -> Array:
        """What each decision may tell at most by itself, in nats."""
        return np.asarray(np.abs(self.true - self.other).max(axis=1))

    @property
    def shows_bits(self) -> bool:
        """Whether last bits may tell something: these are whole numbers."""
        return False

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row, with nothing (-1) for what is not asked any more."""
        decided = np.empty((samples, self.columns))
        for decision, (law, after) in enumerate(zip(self.true if present else self.other, self.after, strict=True)):
            asked = np.full(samples, fill_value=True) if after < 0 else decided[:, after] == YES
            decided[:, decision] = np.where(asked, noise.choose(law, samples), NOT_ASKED)
        return decided

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        no, yes = (self.true - self.other).T
        return np.asarray((answers == NO) @ no + (answers == YES) @ yes)
