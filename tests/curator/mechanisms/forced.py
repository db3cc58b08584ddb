"""All that a release can decide on a small input, with exact probabilities: the release itself is run on every way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.public.release import Cells


class ForcedNoise:
    """Answers decisions as written down (then with no), adds no noise to counts, and multiplies probabilities up."""

    mode, releasable = "simulate", False

    def __init__(self, answers: list[int]) -> None:
        self.answers, self.asked, self.log_probability = answers, 0, 0.0

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> npt.NDArray[np.int64]:
        assert size is None
        table = np.asarray(logits, dtype=np.float64)
        laws = table - np.logaddexp.reduce(table, axis=1, keepdims=True)
        told = [(self.answers[at] if at < len(self.answers) else 0) for at in range(self.asked, self.asked + len(laws))]
        self.asked += len(laws)
        self.answers = self.answers + [0] * (self.asked - len(self.answers))
        self.log_probability += float(laws[np.arange(len(laws)), told].sum())
        return np.array(told, dtype=np.int64)

    def laplace(self, scale: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
        return np.zeros(size)

    def geometric(self, scale: npt.ArrayLike, size: int) -> Any:
        raise NotImplementedError

    gaussian = uniform = geometric


def every_decision(release: Callable[[Any], Cells]) -> dict[tuple[Any, ...], tuple[float, Cells]]:
    """Run a release on all its decisions; return each outcome's exact log-probability, by the cells that it has."""
    found: dict[tuple[Any, ...], tuple[float, Cells]] = {}
    answers: list[int] = []
    while True:
        noise = ForcedNoise(list(answers))
        made = release(noise)
        edges = np.column_stack([made.west_m, made.south_m, made.east_m, made.north_m]).round(6)
        found[tuple(sorted(map(tuple, edges.tolist())))] = (noise.log_probability, made)
        answers = noise.answers
        while answers and answers[-1] == 1:
            answers.pop()
        if not answers:
            return found
        answers[-1] = 1
