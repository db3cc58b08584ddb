"""Believable trips without any data: people on a street-like network, with homes, habits, rush hours and red lights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Region
from geodp.public.streets import StreetNetwork, network_of_segments
from geodp.tables.trajectories.table import Trajectories

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_ARTERIAL_EVERY = 5  # streets
_ARTERIAL_MPS = 15.0
_STREET_MPS = 8.0
_CLOSED_SHARE = 0.12  # of the ordinary streets' blocks
_JITTER = 0.12  # of a block
_BEND = 0.5  # blocks: how far streets wander from straight lines
_WALKERS = 1 << 14  # ways traced at once


@dataclass(frozen=True, eq=False)
class Streets:
    """Crossings and the streets between neighbouring ones; every crossing can be reached from every other."""

    x_m: Array
    y_m: Array
    row: Integers
    column: Integers
    tail: Integers
    """One end of each street, by number of the crossing."""
    head: Integers

    @property
    def size(self) -> int:
        """Number of crossings."""
        return int(self.x_m.size)

    @property
    def arterial(self) -> npt.NDArray[np.bool_]:
        """Whether each street is a main road."""
        same_row = self.row[self.tail] == self.row[self.head]
        return np.where(same_row, _is_arterial(self.row[self.tail]), _is_arterial(self.column[self.tail]))

    def travel_s(self, tail: Integers, head: Integers) -> Array:
        """Return the time from crossings to neighbouring ones on a free road."""
        same_row, same_column = self.row[tail] == self.row[head], self.column[tail] == self.column[head]
        arterial = (same_row & _is_arterial(self.row[tail])) | (same_column & _is_arterial(self.column[tail]))
        length_m = np.hypot(self.x_m[tail] - self.x_m[head], self.y_m[tail] - self.y_m[head])
        return length_m / np.where(arterial, _ARTERIAL_MPS, _STREET_MPS)

    def quickest(self, targets: Integers, rng: np.random.Generator, spread: float) -> npt.NDArray[np.int32]:
        """Return, per target and crossing, the next crossing on the quickest way there (the target itself: -9999).

        `spread` is the standard deviation of the logarithm of travel times: what traffic does to them today.
        """
        from scipy.sparse.csgraph import dijkstra

        time_s = self.travel_s(self.tail, self.head) * rng.lognormal(0.0, spread, self.tail.size)
        graph = _symmetric(self.tail, self.head, time_s, self.size)
        _, following = dijkstra(graph, directed=True, indices=targets, return_predecessors=True)
        return np.asarray(following, dtype=np.int32)


_BLOCKS_ACROSS, _MADE_UP_SEED = 60, 0
_LEAST_BLOCK_M = 100.0


def network_of_streets(streets: Streets) -> StreetNetwork:
    """Return generated streets as a public network, main roads quicker than others."""
    speed = np.where(streets.arterial, _ARTERIAL_MPS, _STREET_MPS)
    return network_of_segments(streets.x_m, streets.y_m, streets.tail, streets.head, speed)


def make_up_streets(region: Region) -> StreetNetwork:
    """Lay out streets of no real place over a region: always the same ones."""
    least_m, longest_m = min(region.width_m, region.height_m), max(region.width_m, region.height_m)
    block_m = min(max(_LEAST_BLOCK_M, longest_m / _BLOCKS_ACROSS), least_m / 4)
    return network_of_streets(street_network(region, np.random.default_rng(_MADE_UP_SEED), block_m))


def street_network(region: Region, rng: np.random.Generator, block_m: float = 250.0) -> Streets:
    """Lay out streets over the whole region: bent rows and columns, every fifth an arterial, some blocks closed."""
    columns, rows = int(region.width_m // block_m), int(region.height_m // block_m)
    if columns < 3 or rows < 3:
        raise UsageError(
            f"the region is too small for streets {block_m:g} m apart: it measures {region.width_m:.0f} m by "
            f"{region.height_m:.0f} m; give a block of at most {min(region.width_m, region.height_m) / 4:.0f} m"
        )
    x_m, y_m = _crossings(region, columns, rows, rng)
    number = np.arange(columns * rows).reshape(rows, columns)
    tail = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    head = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    row, column = np.divmod(np.arange(columns * rows), columns)
    along_row = row[tail] == row[head]
    arterial = np.where(along_row, _is_arterial(row[tail]), _is_arterial(column[tail]))
    is_open = arterial | (rng.random(tail.size) >= _CLOSED_SHARE)
    inside = region.contains(x_m, y_m)
    is_open &= inside[tail] & inside[head]
    is_open &= region.contains((x_m[tail] + x_m[head]) / 2, (y_m[tail] + y_m[head]) / 2)
    kept = _find_connected(tail[is_open], head[is_open], x_m.size)
    renumbered = np.cumsum(kept) - 1
    is_open &= kept[tail] & kept[head]
    return Streets(
        x_m=x_m[kept],
        y_m=y_m[kept],
        row=row[kept],
        column=column[kept],
        tail=renumbered[tail[is_open]],
        head=renumbered[head[is_open]],
    )


def trace(following: npt.NDArray[np.int32], origin: Integers, target: Integers) -> tuple[Integers, Integers]:
    """Follow the quickest ways from crossings to targets (by row of `following`).

    Returns offsets and the crossings passed, both ends included: way i owns crossings `first[i]` to
    `first[i + 1] - 1`.
    """
    counts, nodes = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for begin in range(0, origin.size, _WALKERS):
        block = slice(begin, begin + _WALKERS)
        count, passed = _trace_block(following, origin[block], target[block])
        counts.append(count)
        nodes.append(passed)
    return np.cumsum(np.concatenate(counts)), np.concatenate(nodes)


def _trace_block(
    following: npt.NDArray[np.int32], origin: Integers, target: Integers
) -> tuple[Integers, Integers]:  # fmt: skip
    walker, at = np.arange(origin.size), origin
    who, where, when = [walker], [at], [np.zeros(walker.size, dtype=np.int64)]
    while walker.size:
        at = following[target[walker], at].astype(np.int64)
        going = at >= 0
        walker, at = walker[going], at[going]
        who.append(walker)
        where.append(at)
        when.append(np.full(walker.size, len(when)))
    walkers, nodes, step = np.concatenate(who), np.concatenate(where), np.concatenate(when)
    return np.bincount(walkers, minlength=origin.size), nodes[np.lexsort((step, walkers))]


def _is_arterial(line: Integers) -> Mask:
    return np.asarray(line % _ARTERIAL_EVERY == _ARTERIAL_EVERY // 2)


def _crossings(region: Region, columns: int, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Place crossings on a grid whose lines bend slowly and whose corners are not quite regular."""
    west, south, east, north = region.box_m
    block_x, block_y = (east - west) / columns, (north - south) / rows
    row, column = np.divmod(np.arange(columns * rows), columns)
    phase = rng.uniform(0, 2 * np.pi, 2)
    bend_x = _BEND * np.sin(2 * np.pi * row / rows + phase[0])
    bend_y = _BEND * np.sin(2 * np.pi * column / columns + phase[1])
    jitter = rng.uniform(-_JITTER, _JITTER, (2, row.size))
    x_m = west + (column + 0.5 + bend_x + jitter[0]) * block_x
    y_m = south + (row + 0.5 + bend_y + jitter[1]) * block_y
    margin = 1e-6  # crossings on the edge of the box stay inside it
    return np.clip(x_m, west + margin, east - margin), np.clip(y_m, south + margin, north - margin)


def _symmetric(tail: Integers, head: Integers, weight: Array, size: int) -> Any:
    from scipy.sparse import csr_array

    ends = np.concatenate([tail, head]), np.concatenate([head, tail])
    return csr_array((np.concatenate([weight, weight]), ends), shape=(size, size))


def _find_connected(tail: Integers, head: Integers, size: int) -> Mask:
    """Tell which crossings belong to the largest connected part."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_symmetric(tail, head, np.ones(tail.size), size), directed=False)
    return np.asarray(part == np.bincount(part).argmax())


DAY_S = 86_400.0
_HOUR_S = 3_600.0
_FAVOURITES = 3  # places a person returns to, beside home
_TRAFFICS = 3  # states of traffic, each with its own quickest ways
_TRAFFIC_SPREAD = 0.25
_RED_LIGHT = 0.25  # probability at a crossing
_RED_LIGHT_S = 15.0
_GPS_M = 4.0  # standard deviation of a fix, east and north
_LEAST_STAY_S = 300.0
_CANDIDATES = 4  # a place to go now and then is one of this many popular ones, near ones preferred
_NEAR_M = 2_500.0
_CENTRES = 5
_LEAST_STOPS, _MOST_STOPS = 2, 5  # of a trip that roams
_EVENLY = 0.15  # share of the pull that is spread over the whole city


@dataclass(frozen=True)
class TripSizes:
    """How many of everything, and what kind of trips."""

    people: int = 400
    trips: int = 4_000
    points: int = 80_000
    """Points of all trips together."""
    days: int = 1
    habit: float = 0.6
    """Probability that a trip goes home or to a favourite place; 0 for taxis, who go where their fares want."""
    block_m: float = 250.0
    """Distance between streets (m)."""
    places: int = 400
    """Places where trips begin and end."""
    roaming: float = 0.0
    """Probability that a trip passes two to five other places before its end: cabs that look for a fare, errands."""

    def __post_init__(self) -> None:
        if min(self.people, self.trips, self.days) < 1 or self.places < 2:
            raise UsageError("generated trips need at least one person, one trip, one day and two places")
        if self.points < 2 * self.trips:
            raise UsageError(f"{self.trips:,} trips need at least {2 * self.trips:,} points, got {self.points:,}")
        if not (0 <= self.habit <= 1 and 0 <= self.roaming <= 1) or self.block_m <= 0:
            raise UsageError("habit and roaming must lie between 0 and 1, and block_m above 0")


TAXI_TRIPS = TripSizes(people=500, trips=15_771, points=298_156, days=14, habit=0.0)
"""As many trips and points as a much used set of taxi trips."""
BRINKHOFF_TRIPS = TripSizes(people=10_000, trips=10_000, points=576_762, habit=0.6)
"""As many as a much used set of trips of Brinkhoff's generator: one trip each."""


def generate_trips(sizes: TripSizes, region: Region, rng: np.random.Generator) -> Trajectories:
    """Draw trips in a region: from place to place by the quickest way of the day's traffic, fixed evenly in time.

    Popular places are many in a few centres; people live everywhere, return home and to favourites, and go to near
    popular places otherwise. Departures follow two rush hours; a person's trips never overlap. Times count from the
    midnight that begins the first day.
    """
    streets = street_network(region, rng, sizes.block_m)
    city = _City.draw(streets, region, sizes, rng)
    person, origin, target = _itineraries(city, sizes, rng)
    if sizes.roaming:
        legs, origin, target = _detour(city, origin, target, sizes.roaming, rng)
        first, x_m, y_m, time_s = _join_legs(legs, *_ways(streets, city.node, origin, target, rng))
    else:
        first, x_m, y_m, time_s = _ways(streets, city.node, origin, target, rng)
    first, x_m, y_m, time_s = _fixes(first=first, x_m=x_m, y_m=y_m, time_s=time_s, points=sizes.points, rng=rng)
    x_m, y_m = _fuzz_points(region, x_m, y_m, rng)
    duration_s = time_s[first[1:] - 1]  # every way begins at 0
    departure_s = _departures(person, duration_s, sizes, rng)
    names = np.array([f"person-{i:05d}" for i in range(sizes.people)], dtype=np.object_)
    return Trajectories(
        people=names,
        first=first,
        person=person,
        time_s=time_s + np.repeat(departure_s, np.diff(first)),
        x_m=x_m,
        y_m=y_m,
    )


@dataclass(frozen=True, eq=False)
class _City:
    """Places on the streets: where trips begin and end, how popular each is and how many live there."""

    node: Integers
    """Crossing of each place."""
    x_m: Array
    y_m: Array
    pull: Array
    homes: Array

    @classmethod
    def draw(cls, streets: Streets, region: Region, sizes: TripSizes, rng: np.random.Generator) -> _City:
        reach_m = min(region.width_m, region.height_m)
        centre = rng.integers(streets.size, size=_CENTRES)
        weight, width = rng.exponential(1.0, _CENTRES) + 0.3, reach_m * rng.uniform(0.05, 0.15, _CENTRES)
        distance_m = np.hypot(
            streets.x_m[:, None] - streets.x_m[centre], streets.y_m[:, None] - streets.y_m[centre]
        )  # fmt: skip
        pull = (weight * np.exp(-((distance_m / width) ** 2) / 2)).sum(axis=1)
        pull = (1 - _EVENLY) * pull / pull.sum() + _EVENLY / streets.size
        count = min(sizes.places, streets.size)
        node = np.sort(rng.choice(streets.size, count, replace=False, p=np.sqrt(pull) / np.sqrt(pull).sum()))
        own = np.sqrt(pull[node]) * rng.lognormal(0.0, 0.8, count)  # the other half of the pull: some are famous
        homes = rng.lognormal(0.0, 0.5, count)
        return cls(node, streets.x_m[node], streets.y_m[node], own / own.sum(), homes / homes.sum())

    def popular(self, count: int, rng: np.random.Generator) -> Integers:
        return rng.choice(self.node.size, count, p=self.pull)

    def from_here(self, here: Integers, rng: np.random.Generator) -> Integers:
        """Draw somewhere else to go: one of some popular places, near ones preferred."""
        options = self.popular(here.size * _CANDIDATES, rng).reshape(here.size, _CANDIDATES)
        away_m = np.hypot(self.x_m[options] - self.x_m[here][:, None], self.y_m[options] - self.y_m[here][:, None])
        liking = np.where(options == here[:, None], 0.0, np.exp(-away_m / _NEAR_M)) + 1e-12
        chance = np.cumsum(liking, axis=1)
        pick = (rng.random(here.size)[:, None] * chance[:, -1:] > chance).sum(axis=1)
        there = options[np.arange(here.size), pick]
        return np.asarray(np.where(there == here, (there + 1) % self.node.size, there), dtype=np.int64)


def _itineraries(
    city: _City, sizes: TripSizes, rng: np.random.Generator
) -> tuple[Integers, Integers, Integers]:  # fmt: skip
    """Draw who goes from where to where, sorted by person, in the order in which they go."""
    share = rng.lognormal(0.0, 0.6, sizes.people)
    least = min(1, sizes.trips // sizes.people)
    number = least + rng.multinomial(sizes.trips - least * sizes.people, share / share.sum())
    home = rng.choice(city.node.size, sizes.people, p=city.homes)
    known = np.column_stack([home, *(city.from_here(home, rng) for _ in range(_FAVOURITES))])
    first = np.append(0, np.cumsum(number))
    origin, target = np.empty((2, sizes.trips), dtype=np.int64)
    here = home.copy()
    for ordinal in range(int(number.max())):
        going = np.flatnonzero(number > ordinal)
        trip = first[going] + ordinal
        fares = rng.random(going.size) >= sizes.habit
        if sizes.habit == 0:
            here[going] = city.popular(going.size, rng)
        usual = known[going, rng.integers(0, known.shape[1], going.size)]
        usual = np.where(usual == here[going], home[going], usual)
        there = np.where(fares | (usual == here[going]), city.from_here(here[going], rng), usual)
        origin[trip], target[trip] = here[going], there
        here[going] = there
    return np.repeat(np.arange(sizes.people), number), origin, target


def _ways(
    streets: Streets, node: Integers, origin: Integers, target: Integers, rng: np.random.Generator
) -> tuple[Integers, Array, Array, Array]:
    """Return the crossings of every trip with the time since its departure, red lights and own pace included."""
    traffic = rng.integers(0, _TRAFFICS, origin.size)
    following = np.concatenate([streets.quickest(node, rng, _TRAFFIC_SPREAD) for _ in range(_TRAFFICS)])
    first, passed = trace(following, node[origin], traffic * node.size + target)
    count = np.diff(first)
    leg_s = np.zeros(passed.size)
    leg_s[1:] = streets.travel_s(passed[:-1], passed[1:])
    leg_s *= np.repeat(rng.lognormal(0.0, 0.2, origin.size), count)
    leg_s += np.where(rng.random(passed.size) < _RED_LIGHT, rng.exponential(_RED_LIGHT_S, passed.size), 0.0)
    leg_s[first[:-1]] = 0.0
    total = np.cumsum(leg_s)
    return first, streets.x_m[passed], streets.y_m[passed], total - np.repeat(total[first[:-1]], count)


def _detour(
    city: _City, origin: Integers, target: Integers, share: float, rng: np.random.Generator
) -> tuple[Integers, Integers, Integers]:
    """Send some trips over two to five other places, each near the one before; return legs of trips, and their ends."""
    stops = np.where(rng.random(origin.size) < share, rng.integers(_LEAST_STOPS, _MOST_STOPS + 1, origin.size), 0)
    legs = np.append(0, np.cumsum(stops + 1))
    begin, end = np.repeat(origin, stops + 1), np.repeat(target, stops + 1)
    for ordinal in range(_MOST_STOPS):
        going = legs[:-1][stops > ordinal] + ordinal
        end[going] = begin[going + 1] = city.from_here(begin[going], rng)
    circling = legs[1:][(stops > 0) & (begin[legs[1:] - 1] == end[legs[1:] - 1])] - 1
    begin[circling] = end[circling - 1] = (end[circling] + 1) % city.node.size  # every leg leads somewhere
    return legs, begin, end


def _join_legs(
    legs: Integers, first: Integers, x_m: Array, y_m: Array, time_s: Array
) -> tuple[Integers, Array, Array, Array]:
    """Return the legs of every trip as one way: each begins when the one before is over."""
    lasted_s = np.cumsum(time_s[first[1:] - 1])
    begun_s = np.append(0.0, lasted_s[:-1])
    begun_s -= np.repeat(begun_s[legs[:-1]], np.diff(legs))
    return first[legs], x_m, y_m, time_s + np.repeat(begun_s, np.diff(first))


def _fixes(
    first: Integers, x_m: Array, y_m: Array, time_s: Array, points: int, rng: np.random.Generator
) -> tuple[Integers, Array, Array, Array]:
    """Fix every trip evenly in time, `points` times altogether; trips begin and end somewhere along a street."""
    trips = first.size - 1
    last = first[1:] - 1
    first_leg_s, last_leg_s = time_s[first[:-1] + 1], time_s[last] - time_s[last - 1]
    begin_s = rng.random(trips) * np.minimum(0.8 * first_leg_s, time_s[last] / 4)
    end_s = time_s[last] - rng.random(trips) * np.minimum(0.8 * last_leg_s, time_s[last] / 4)
    duration_s = np.maximum(end_s - begin_s, 1.0)
    count = 2 + _share_out(points - 2 * trips, duration_s)
    offset = np.append(0, np.cumsum(count))
    rank = np.arange(points) - np.repeat(offset[:-1], count)
    since_s = rank * np.repeat(duration_s / (count - 1), count)
    # One line through all trips: each begins where the one before cannot reach, so a single search serves all.
    shift_s = np.arange(trips) * (time_s.max() + 10.0)
    along_s = time_s + np.repeat(shift_s, np.diff(first))
    at_s = np.repeat(shift_s + begin_s, count) + since_s
    return offset, np.interp(at_s, along_s, x_m), np.interp(at_s, along_s, y_m), since_s


def _share_out(total: int, weight: Array) -> Integers:
    """Share a number out in proportion to weights, in whole numbers that add up to it."""
    edges = np.floor(np.cumsum(weight) / weight.sum() * total + 0.5)
    edges[-1] = total
    return np.asarray(np.diff(edges, prepend=0.0), dtype=np.int64)


def _fuzz_points(region: Region, x_m: Array, y_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Add the error of a satellite fix; one that would leave the region stays on the street."""
    seen_x, seen_y = x_m + rng.normal(0, _GPS_M, x_m.size), y_m + rng.normal(0, _GPS_M, y_m.size)
    inside = region.contains(seen_x, seen_y)
    seen_x, seen_y = np.where(inside, seen_x, x_m), np.where(inside, seen_y, y_m)
    if region.polygon is None:
        return region.clamp(seen_x, seen_y)
    return seen_x, seen_y


def _departures(
    person: Integers, duration_s: Array, sizes: TripSizes, rng: np.random.Generator
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Draw when trips depart, around two rush hours; a person's next trip waits for the last one's end."""
    peak = rng.choice(3, person.size, p=[0.4, 0.4, 0.2])
    hour = np.choose(
        peak,
        [rng.normal(8.5, 1.2, person.size), rng.normal(17.5, 1.8, person.size), rng.uniform(6, 23, person.size)],
    )
    wanted_s = rng.integers(0, sizes.days, person.size) * DAY_S + np.clip(hour, 0.0, 23.9) * _HOUR_S
    wanted_s = wanted_s[np.lexsort((wanted_s, person))]  # each person's departures ascend, as their trips do
    first = np.searchsorted(person, np.arange(sizes.people + 1))
    number, free_s = np.diff(first), np.zeros(sizes.people)
    for ordinal in range(int(number.max())):
        going = np.flatnonzero(number > ordinal)
        trip = first[going] + ordinal
        wanted_s[trip] = np.maximum(wanted_s[trip], free_s[going])
        free_s[going] = wanted_s[trip] + duration_s[trip] + _LEAST_STAY_S
    return np.asarray(np.round(wanted_s), dtype=np.float64)
