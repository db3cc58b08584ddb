"""Trajectories as tokens: the right grid for every step, hops in between, and nothing borrowed from a neighbour."""

import numpy as np
import pytest

from geodp.curator.synthesis.grids import ReferenceSystems
from geodp.curator.synthesis.tokens import DOWN, END, STAY, UP, insert_points, targets, tokenise
from geodp.errors import UsageError
from geodp.geometry import Region
from tests.curator.synthesis.small_town import TOWN, polyline, trips

SYSTEMS = ReferenceSystems.over(TOWN, 100.0, 6)


def test_cells_double_from_grid_to_grid() -> None:
    assert SYSTEMS.side_m.tolist() == [100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0]
    assert SYSTEMS.columns.tolist() == [67, 34, 17, 9, 5, 3]


def test_a_grid_beyond_reason_is_refused() -> None:
    with pytest.raises(UsageError, match="larger finest_m"):
        ReferenceSystems.over(Region(0.0, 0.0, 1.0, 1.0), 10.0, 3)


def test_slow_steps_stay_fine_and_fast_ones_go_up_and_down_again() -> None:
    west, south, _, _ = TOWN.box_m
    way = polyline(
        (west + 50, south + 50), (west + 150, south + 50), (west + 750, south + 50), (west + 850, south + 50)
    )
    tokens = tokenise(way, SYSTEMS)
    # one cell east at 100 m; 600 m east needs cells of 400 m: two hops up; and down again for the last 100 m.
    assert tokens.token.tolist() == [STAY + 1, UP, UP, STAY + 1, DOWN + 1, DOWN + 1, STAY + 1, END]
    assert tokens.moves.tolist() == [3]
    assert tokens.counts.tolist() == [9]


def test_following_the_tokens_leads_to_the_cells_they_were_emitted_in() -> None:
    world = trips()
    tokens = tokenise(world, SYSTEMS)
    reached = targets(SYSTEMS, tokens.state)[np.arange(tokens.token.size), tokens.token]
    inner = tokens.token != END
    assert (reached[inner] == np.roll(tokens.state, -1)[inner]).all()
    assert (tokens.token[tokens.first[1:] - 1] == END).all()
    assert (np.diff(tokens.first) >= 1).all()


def test_grids_that_were_not_kept_are_skipped_in_one_hop() -> None:
    kept = SYSTEMS.keep([1, 4])
    tokens = tokenise(trips(), kept)
    reached = targets(kept, tokens.state)[np.arange(tokens.token.size), tokens.token]
    inner = tokens.token != END
    assert (reached[inner] == np.roll(tokens.state, -1)[inner]).all()


def test_steps_too_long_for_every_grid_are_filled_with_points() -> None:
    far = polyline((-3000.0, 0.0), (3000.0, 0.0))
    filled = insert_points(far, 400.0)
    assert filled.points == 16
    assert np.allclose(filled.steps_m[:-1], 400.0)
    assert filled.lengths_m[0] == pytest.approx(6000.0)


def test_what_a_trip_becomes_depends_on_that_trip_alone() -> None:
    """Otherwise one person's presence would change another one's counts, and the noise would not cover it."""
    world = trips(people=12, each=1)
    together = tokenise(world, SYSTEMS)
    for number in range(world.size):
        alone = tokenise(world.select(np.array([number])), SYSTEMS)
        part = slice(together.first[number], together.first[number + 1])
        assert (together.state[part] == alone.state).all()
        assert (together.token[part] == alone.token).all()


def test_a_single_point_is_a_start_and_an_end() -> None:
    tokens = tokenise(polyline((10.0, 10.0)), SYSTEMS)
    assert tokens.token.tolist() == [END]
    assert tokens.counts.tolist() == [2]
