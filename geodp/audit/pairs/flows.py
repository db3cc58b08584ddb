"""Runs in which one person more moves about, whose days everybody else's pings and trips must not notice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.publications import Records
from geodp.curator.publications.flows import Flows
from geodp.geometry import Region
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise
from geodp.streams import Streams
from geodp.world.motion import Motion

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_DAY_S = 86_400.0
_STOPS = 10
"""Places of a day, two hours and more at each."""


@chosen_pairs.of(Flows)
def choose_runs(publication: Flows) -> list[TranscriptCase]:
    """Return runs of one and of two days with one busy person more."""
    rng = np.random.default_rng(0)
    return [_make_case(publication, rng, people, days) for people, days in ((1, 1), (6, 1), (6, 2))]


@random_pairs.of(Flows)
def draw_runs(publication: Flows, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return a few random runs."""
    sizes = [(int(rng.integers(1, 8)), int(rng.integers(1, 3))) for _ in range(min(count, 2))]
    return [_make_case(publication, rng, people, days) for people, days in sizes]


def _make_case(publication: Flows, rng: np.random.Generator, people: int, days: int) -> TranscriptCase:
    method = publication.model_copy(update={"cell_m": 1000.0, "pings_per_hour": 6.0, "districts": None, "zones": ""})
    promise = method.guarantee()
    times = {"person-day": days, "person-week": days / 7, "person": 1.0}[method.unit]
    tracks = [_wander(rng, days) for _ in range(people)]
    release = partial(_publish, method, tracks, days)
    rho = None if promise.rho is None else promise.rho * times
    name = f"one of {people} who moves about for {days} days"
    return TranscriptCase(name, promise.epsilon * times, release, runs=1, rho=rho)


def _wander(rng: np.random.Generator, days: int) -> npt.NDArray[np.float64]:
    """Return knots (time, x, y) of somebody who goes from stop to stop."""
    west, south, east, north = _TOWN.box_m
    stops = _STOPS * days
    places = rng.uniform((west, south), (east, north), (stops, 2))
    begin = np.linspace(0.0, days * _DAY_S, stops, endpoint=False)
    knots = [(time_s + late, *place) for time_s, place in zip(begin, places, strict=True) for late in (0.0, 7000.0)]
    return np.array(knots)


def _publish(
    publication: Flows, tracks: Sequence[npt.NDArray[np.float64]], days: int, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    known = tracks if present else tracks[:-1]
    first = np.append(0, np.cumsum([len(knots) for knots in known])).astype(np.int64)
    knots = np.concatenate([np.empty((0, 3)), *known])
    motion = Motion(first, knots[:, 0], knots[:, 1], knots[:, 2])
    records = Records(_TOWN, days * _DAY_S, motion, _refuse, start_s=4 * 3600.0, draw=Streams(1).generator)
    published = publication.publish(records, noise)
    table, facts = published.released, json.dumps(published.facts, sort_keys=True, default=str)
    return [
        np.array([*table.columns, facts], dtype=str),
        *(np.array([str(value) for value in table[name]]) for name in table),
    ]


def _refuse() -> NoReturn:
    raise AssertionError("flows are no visits")
