"""Who met whom: the graph, and what one person or one pair changes in what is counted."""

from itertools import combinations

import numpy as np
import pytest

from geodp.curator.meeting_graph import MeetingGraph, count_by_degree, find_meetings
from geodp.tables.trajectories.table import Trajectories

PAIRS = list(combinations(range(5), 2))
NAMES = np.array([f"p{number}" for number in range(5)], dtype=np.object_)


def graph_of(edges: list[tuple[int, int]], left_out: int | None = None) -> MeetingGraph:
    """Return the graph of these edges among five people, or among four of them."""
    kept = [number for number in range(5) if number != left_out]
    place = {who: number for number, who in enumerate(kept)}
    ends = [(place[one], place[other]) for one, other in edges if left_out not in (one, other)]
    table = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return MeetingGraph(NAMES[kept], table[:, 0], table[:, 1])


def every_graph() -> list[list[tuple[int, int]]]:
    return [[pair for bit, pair in enumerate(PAIRS) if word >> bit & 1] for word in range(2 ** len(PAIRS))]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_person_changes_no_count_by_more_than_stated_on_all_graphs_of_five(most: int) -> None:
    largest = {"edges": 0.0, "flow": 0.0, "histogram": 0.0, "cumulative": 0.0}
    for edges in every_graph():
        whole = graph_of(edges)
        degrees = count_by_degree(whole.bound_degrees(most).count_degrees(), most)
        for person in range(5):
            less = graph_of(edges, left_out=person)
            without = count_by_degree(less.bound_degrees(most).count_degrees(), most)
            found = {
                "edges": abs(whole.bound_degrees(most).edges - less.bound_degrees(most).edges),
                "flow": abs(whole.flow(most) - less.flow(most)) / 2,
                "histogram": np.abs(degrees - without).sum(),
                "cumulative": np.abs(np.cumsum(degrees) - np.cumsum(without)).sum(),
            }
            largest = {name: max(largest[name], float(value)) for name, value in found.items()}
    assert largest["edges"] <= most
    assert largest["flow"] == most
    assert largest["histogram"] <= 2 * most + 1
    assert largest["cumulative"] <= most + 1
    if most == 1:
        assert largest["histogram"] == 3, "the bound is reached: two who met nobody become two who met one"


def test_one_pair_changes_all_degrees_by_two_and_their_histogram_by_four() -> None:
    degrees, histograms = 0, 0
    for edges in every_graph():
        whole = graph_of(edges)
        for pair in edges:
            less = graph_of([other for other in edges if other != pair])
            degrees = max(degrees, int(np.abs(whole.count_degrees() - less.count_degrees()).sum()))
            of_whole, of_less = count_by_degree(whole.count_degrees(), 4), count_by_degree(less.count_degrees(), 4)
            histograms = max(histograms, int(np.abs(of_whole - of_less).sum()))
    assert degrees == 2
    assert histograms == 4


def test_a_star_of_five_with_degree_three_counts_three() -> None:
    star = graph_of([(0, 1), (0, 2), (0, 3), (0, 4)])
    assert star.flow(3) / 2 == 3
    assert star.bound_degrees(3).edges == 3


def test_where_nobody_met_too_many_nothing_is_left_out() -> None:
    for edges in every_graph()[::37]:
        whole = graph_of(edges)
        assert whole.flow(4) == 2 * whole.edges
        assert whole.bound_degrees(4).edges == whole.edges


def test_edges_are_kept_whatever_the_order_of_the_people() -> None:
    edges = PAIRS[::2]
    whole = graph_of(edges).bound_degrees(2)
    turned = MeetingGraph(NAMES[::-1], np.array([4 - b for _, b in edges]), np.array([4 - a for a, _ in edges]))
    again = turned.bound_degrees(2)
    names = {frozenset((NAMES[a], NAMES[b])) for a, b in zip(whole.first, whole.second, strict=True)}
    assert names == {
        frozenset((NAMES[::-1][a], NAMES[::-1][b])) for a, b in zip(again.first, again.second, strict=True)
    }


def trips_of(*trips: list[tuple[float, float]], person: list[int] | None = None) -> Trajectories:
    """Return trips along a line: time in seconds and metres east of each point."""
    points = np.array([point for trip in trips for point in trip])
    first = np.append(0, np.cumsum([len(trip) for trip in trips])).astype(np.int64)
    whose = np.arange(len(trips)) if person is None else np.array(person)
    return Trajectories(NAMES, first, whose, points[:, 0], points[:, 1], np.zeros(len(points)))


def test_people_meet_at_the_steps_of_the_clock_only() -> None:
    # one walks east from 0 to 600 m in 600 s; another stands at 300 m from the 290th to the 310th second
    trips = trips_of([(0.0, 0.0), (600.0, 600.0)], [(290.0, 300.0), (310.0, 300.0)])
    met = find_meetings(trips, radius_m=5.0, every_s=60.0, gap_s=1800.0)
    assert met.edges == 1
    assert find_meetings(trips, radius_m=5.0, every_s=7000.0, gap_s=1800.0).edges == 0
    assert find_meetings(trips, radius_m=5.0, every_s=60.0, gap_s=599.0).edges == 0, "nobody knows where the walker was"
    assert find_meetings(trips, radius_m=5.0, every_s=280.0, gap_s=1800.0).edges == 0


def test_a_person_with_two_trips_at_once_meets_nobody_by_that() -> None:
    walk = [(0.0, 0.0), (600.0, 600.0)]
    assert find_meetings(trips_of(walk, walk, person=[0, 0]), radius_m=5.0, every_s=60.0, gap_s=1800.0).edges == 0
    assert find_meetings(trips_of(walk, walk), radius_m=5.0, every_s=60.0, gap_s=1800.0).edges == 1
