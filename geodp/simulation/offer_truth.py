"""What is true of first offers when they go out: for scoring, never for the server."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.simulation.answers import Answers
from geodp.simulation.meant import NEVER, Meant, People, with_distance

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OfferTruth:
    """What is true of first offers when they go out, task by task: for scoring, never for the server."""

    task: Ids
    expected_success: Array
    """Chance that enough of the idle people of all rounds accept, from where they are."""
    asked_workers: Ids
    """People who are asked in all rounds, if nobody accepts before."""
    idle_workers: Ids
    """Idle people inside the target."""

    def take(self, which: npt.NDArray[np.bool_]) -> OfferTruth:
        """Return some of the tasks."""
        return OfferTruth(*(getattr(self, one.name)[which] for one in fields(self)))


def offer_truth(answers: Answers, meant: Meant, people: People, needed: int = 1) -> OfferTruth:
    """Work out what offers can be expected to come to."""
    rewards = np.array([offer.reward for offer in meant.offers]) / needed
    rows = np.flatnonzero((meant.round != NEVER) & ~people.busy[meant.worker])
    index, worker, distance = with_distance(meant.index[rows], meant.worker[rows], meant.tasks, people)
    chance = answers.chance(worker, rewards[index], distance)
    if answers.refusal is not None:
        chance = np.where(answers.refusal.is_spent(worker, people.time_s), 0.0, chance)
    size = len(meant.offers)
    return OfferTruth(
        task=np.array([task.task for task in meant.tasks], dtype=np.int64),
        expected_success=_chance_of_enough(index, chance, size, needed),
        asked_workers=np.bincount(meant.index[meant.round != NEVER], minlength=size),
        idle_workers=meant.inside,
    )


def _chance_of_enough(index: Ids, chance: Array, size: int, needed: int) -> Array:
    """Return the chance of at least so many acceptances per offer: exact, for people who answer independently."""
    if needed == 1:
        with np.errstate(divide="ignore"):
            return -np.expm1(np.bincount(index, weights=np.log1p(-chance), minlength=size))
    enough = np.zeros(size)
    for place in range(size):
        fewer = np.zeros(needed)
        fewer[0] = 1.0
        for each in chance[index == place].tolist():
            fewer[1:] = fewer[1:] * (1 - each) + fewer[:-1] * each
            fewer[0] *= 1 - each
        enough[place] = 1 - fewer.sum()
    return enough
