"""Series of releases, followed from the first to the last, with one worker more for a while, or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.pairs.snapshots import HOUSEHOLD, choose_snapshots, list_numbers, random_releases
from geodp.curator.continual_counts import ContinualCounts
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.tree_counts import TreeCounts
from geodp.geometry import Region
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_RELEASES, _EVERY_S = 8, 600.0
_LONGEST = 13
"""Releases of random series, at most."""
Place = tuple[float, float]
Track = Sequence[Place | None]
"""Where someone is at every release (None: not there)."""
Crowd = list[npt.NDArray[np.float64]]
"""Where everyone else is at every release."""


@chosen_pairs.of(ContinualCounts)
def choose_series(mechanism: ContinualCounts) -> list[TranscriptCase]:
    """Return pairs of single snapshots, and of series: one who stays, one who moves every time, one short stay."""
    window = mechanism.window_releases() or _RELEASES // 2
    found, releases = choose_snapshots(mechanism), max(_RELEASES, mechanism.fewest_releases(), 2 * window)
    low, high = _corners()
    always, wandering = [high] * releases, [low if number % 2 else high for number in range(releases)]
    briefly: Track = [high if number in (2, 3, 4) else None for number in range(releases)]
    late: Track = [None if number < releases - window else high for number in range(releases)]
    away: Track = [None] * releases
    moves = [(-1) ** number * 900.0 for number in range(releases)]
    crowds = {
        "": _wander(40, releases),
        ", nobody else": [np.empty((0, 2))] * releases,
        ", all others move": [np.full((2000, 2), place) for place in moves],
        ", all others move later": [np.full((2000, 2), place) for place in [900.0] * window + moves[window:]],
    }
    tracks: dict[str, tuple[Track, Track, Neighbours]] = {
        f"one more at all {releases} releases": (always, away, Neighbours.ADD_REMOVE),
        f"one more who moves at all {releases} releases": (wandering, away, Neighbours.ADD_REMOVE),
        f"one more at the last {window} releases": (late, away, Neighbours.ADD_REMOVE),
        "one stay more": (briefly, away, Neighbours.ADD_REMOVE),
        f"one elsewhere at all {releases} releases": (always, [low] * releases, Neighbours.REPLACE),
    }
    for at, method in {"": mechanism, f" (ε = {LARGE_EPSILON:g})": mechanism.with_epsilon(LARGE_EPSILON)}.items():
        for setting, one in _vary_cap(method).items():
            for name, (with_, without, neighbours) in tracks.items():
                for around, crowd in list(crowds.items())[: 1 if setting else None]:
                    found.append(_make_case(name + around + setting + at, one, crowd, (with_, without), neighbours))
    grouped = mechanism if mechanism.household > 1 else mechanism.model_copy(update={"household": HOUSEHOLD})
    for at, method in {"": grouped, f" (ε = {LARGE_EPSILON:g})": grouped.with_epsilon(LARGE_EPSILON)}.items():
        for name, (with_, without, neighbours) in tracks.items():
            title, pair = f"{name}, a household of {grouped.household}{at}", (with_, without)
            found.append(_make_case(title, method, crowds[""], pair, neighbours, people=grouped.household))
    return found


@random_pairs.of(ContinualCounts)
def draw_series(mechanism: ContinualCounts, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random snapshots, and random series: someone there now and then, who stays or moves; any ε."""
    found = random_releases(mechanism, rng, count)
    for number in range(count):
        fewest = max(2, mechanism.fewest_releases())
        releases = int(rng.integers(fewest, _LONGEST + fewest))
        replaced = bool(rng.random() < 0.3)
        pair = (_draw_track(rng, releases), _draw_track(rng, releases) if replaced else [None] * releases)
        epsilon = float(rng.choice([mechanism.guarantee().epsilon, LARGE_EPSILON, 10 ** rng.uniform(-2, 1)]))
        crowd = _wander(int(rng.choice([0, 2, 40])), releases, rng)
        settings = _vary_cap(mechanism.with_epsilon(epsilon))
        setting = list(settings)[int(rng.integers(len(settings)))]
        neighbours = Neighbours.REPLACE if replaced else Neighbours.ADD_REMOVE
        change = "other" if replaced else "more"
        name = f"random series {number + 1} of {releases}, one {change}{setting} (ε = {epsilon:.3g})"
        found.append(_make_case(name, settings[setting], crowd, pair, neighbours, runs=1))
    return found


def _vary_cap(mechanism: ContinualCounts) -> dict[str, ContinualCounts]:
    """Return the mechanism, and where stays may be capped also with other caps."""
    if not isinstance(mechanism, TreeCounts):
        return {"": mechanism}
    caps = {None, 1, 2} - {mechanism.cap}
    others = {f", cap {cap}": mechanism.model_copy(update={"cap": cap}) for cap in sorted(caps, key=str)}
    return {"": mechanism, **others}


def _draw_track(rng: np.random.Generator, releases: int) -> Track:
    """Return where someone is who comes, goes and moves, often or seldom."""
    west, south, east, north = _TOWN.box_m
    places = [*_corners(), *(tuple(place) for place in rng.uniform((west, south), (east, north), (3, 2)).tolist())]
    there = rng.random(releases) < rng.choice([0.2, 0.6, 1.0])
    moves = np.cumsum(rng.random(releases) < rng.choice([0.0, 0.3, 1.0]))
    return [places[move % len(places)] if here else None for move, here in zip(moves.tolist(), there, strict=True)]


def _corners() -> tuple[Place, Place]:
    west, south, east, north = _TOWN.box_m
    return (west + 1.0, south + 1.0), (east - 1.0, north - 1.0)


def _wander(people: int, releases: int, rng: np.random.Generator | None = None) -> Crowd:
    """Return a crowd that comes and goes: places at every release; all go elsewhere now and then."""
    rng = np.random.default_rng(0) if rng is None else rng
    centre = rng.uniform(-1200.0, 1200.0, (1, 2))
    found = []
    for _ in range(releases):
        if rng.random() < 0.3:
            centre = rng.uniform(-1200.0, 1200.0, (1, 2))
        found.append(centre + rng.normal(0.0, 250.0, (people, 2)))
    return found


def _make_case(
    name: str,
    mechanism: ContinualCounts,
    crowd: Crowd,
    pair: tuple[Track, Track],
    neighbours: Neighbours,
    *,
    runs: int = 2,
    people: int = 1,
) -> TranscriptCase:
    release = partial(_release, mechanism, crowd, pair, neighbours, people=people)
    epsilon, rho = _claim(mechanism, pair)
    return TranscriptCase(name, epsilon, release, runs=runs, rho=rho)


def _claim(mechanism: ContinualCounts, pair: tuple[Track, Track]) -> tuple[float, float | None]:
    """Return ε (and ρ) that the mechanism says such a difference costs: where someone is at all, or is elsewhere."""
    one, other = pair
    differ = [number for number, (here, there) in enumerate(zip(one, other, strict=True)) if here != there]
    none = None if mechanism.guarantee().rho is None else 0.0
    if not differ:
        return 0.0, none
    span, stays = differ[-1] - differ[0] + 1, max(_count_stays(one), _count_stays(other))
    promise = mechanism.presence_promise(span, len(one), stays=max(stays, 1))
    if none is None or promise is None:
        return mechanism.presence_epsilon(span, len(one), stays=stays), none
    return promise.epsilon, promise.rho


def _count_stays(track: Track) -> int:
    return sum(now is not None and now != before for before, now in zip([None, *track], track, strict=False))


def _release(
    mechanism: ContinualCounts,
    crowd: Crowd,
    pair: tuple[Track, Track],
    neighbours: Neighbours,
    noise: Noise,
    present: bool,
    *,
    people: int = 1,
) -> list[npt.ArrayLike]:
    track = pair[0] if present else pair[1]
    series, made = mechanism.begin_series(len(track)), []
    for number, (place, others) in enumerate(zip(track, crowd, strict=True)):
        everyone = others if place is None else np.vstack([others, [place] * people])
        who = np.arange(people, len(others) + people)
        made.append(
            series.release(
                Snapshot(
                    time_s=_EVERY_S * number,
                    x_m=everyone[:, 0],
                    y_m=everyone[:, 1],
                    region=_TOWN,
                    expected_workers=60.0,
                    neighbours=neighbours,
                    who=who if place is None else np.append(who, np.arange(people)),
                ),
                noise,
            )
        )
    return list_numbers([release for release in made if release is not None])
