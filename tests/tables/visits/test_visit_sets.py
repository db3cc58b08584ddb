import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp.privacy.keyed_choice import draw_key, hash_users, user_words
from geodp.privacy.noise import SimulatedNoise
from geodp.streams import GOLDEN, mix_bits
from geodp.tables.visits import visit_sets as visit_sets_module
from geodp.tables.visits.visit_sets import VisitSets, visit_sets
from tests.tables.visits.tables import table

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=8)


def venues_of(sets: VisitSets, user: int) -> set[int]:
    return set(sets.venue[sets.start[user] : sets.start[user + 1]].tolist())


def test_repeated_visits_count_once() -> None:
    sets = table([[1, 1, 2], [], [2]], 4)
    assert sets.counts().tolist() == [0, 1, 2, 0]
    assert sets.size.tolist() == [2, 0, 1]
    assert sets.sizes_up_to(1).tolist() == [1, 2]


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 5))
def test_the_cap_looks_at_one_user_alone_and_keeps_their_own_venues(rows: list[list[int]], cap: int) -> None:
    whole = table(rows, 10)
    capped = whole.keep_at_most(cap, b"key")
    for user, row in enumerate(rows):
        kept = venues_of(capped, user)
        assert kept <= set(row)
        assert len(kept) == min(cap, len(set(row)))
        alone = visit_sets(whole.user[[user]], np.zeros(len(row), np.int64), np.array(row, dtype=np.int64), 10)
        assert kept == venues_of(alone.keep_at_most(cap, b"key"), 0), "others play no part"


@pytest.mark.parametrize("cap", [1, 20, 90])
def test_the_cap_keeps_the_first_by_priority(cap: int) -> None:
    """Sorting each user's visits by themselves gives the same; 2,000 users with up to 400 venues."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 400, 2000)
    visits = [rng.choice(1000, size, replace=False) for size in sizes]
    whole = visit_sets(
        user_words(np.arange(2000)), np.repeat(np.arange(2000), sizes), np.concatenate(visits).astype(np.int64), 1000
    )
    seed = hash_users(whole.user, b"key")
    with np.errstate(over="ignore"):
        word = np.repeat(seed, whole.size) ^ (whole.venue.astype(np.uint64) * GOLDEN)
        priority = mix_bits(word)
    capped = whole.keep_at_most(cap, b"key")
    for user in range(2000):
        own = slice(whole.start[user], whole.start[user + 1])
        first = whole.venue[own][np.argsort(priority[own])][:cap]
        assert venues_of(capped, user) == set(first.tolist())


@given(st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=12), min_size=1, max_size=9), st.integers(1, 3))
def test_the_first_of_each_are_exactly_as_many_even_where_priorities_begin_alike(
    rows: list[list[int]], cap: int
) -> None:
    priority, sizes = np.array([word for row in rows for word in row], np.uint64), np.array([len(row) for row in rows])
    kept = visit_sets_module.first_of_each(priority, sizes, cap)
    for row, own in zip(rows, np.split(kept, np.cumsum(sizes)[:-1]), strict=True):
        first = sorted(range(len(row)), key=lambda place: (row[place], place))[:cap]
        assert np.flatnonzero(own).tolist() == sorted(first)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 9))
def test_sums_do_not_depend_on_how_many_users_are_looked_at_together(rows: list[list[int]], at_once: int) -> None:
    whole = table(rows, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visit_sets_module, "_AT_ONCE", at_once)
        pieces = whole._pieces()
        assert sum(piece.users for piece in pieces) == whole.users
        capped = whole.sum_pieces(lambda piece: piece.keep_at_most(3, b"key").counts())
        assert capped.tolist() == whole.keep_at_most(3, b"key").counts().tolist()
        assert whole.sum_pieces(lambda piece: piece.one_each(b"key")).tolist() == whole.one_each(b"key").tolist()
        assert whole.sum_pieces(lambda piece: piece.sizes_up_to(4)).tolist() == whole.sizes_up_to(4).tolist()
        assert all(piece.venue.size < at_once + whole.size.max(initial=1) for piece in pieces)


def test_the_cap_and_the_sample_are_even() -> None:
    """20,000 users with 5 venues: kept 2, sampled 1. Each count is binomial; a deviation of 6 sd has odds of 1e-8."""
    users = 20_000
    sets = table([range(5)] * users, 5)
    for counts, share in ((sets.keep_at_most(2, b"k").counts(), 0.4), (sets.one_each(b"k"), 0.2)):
        assert counts.sum() == round(share * 5 * users)
        assert np.abs(counts - share * users).max() < 6 * np.sqrt(users * share * (1 - share))
    taken = sets.rows_sampled(0.1, b"k")
    assert np.all(taken == taken[0]), "rows are taken whole"
    assert abs(taken[0] - 2000) < 6 * np.sqrt(users * 0.09)


def test_rows_are_never_sampled_more_often_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """At β = e^-300 a chance of 2^-53 would be far too much: amplification would promise ε and give hundreds."""
    sets = table([[0]] * 4, 1)
    words = np.array([0, 1, 2, 2**53 - 1], dtype=np.uint64) << np.uint64(11)
    monkeypatch.setattr(visit_sets_module, "hash_users", lambda user, key: words)
    for rate, taken in ((0.0, 0), (1e-300, 0), (2.0**-54, 0), (2.0**-53, 1), (2.5 * 2.0**-53, 2), (0.5, 3), (1.0, 4)):
        assert sets.rows_sampled(rate, b"k").tolist() == [taken]


def test_keys_differ_and_follow_from_the_noise() -> None:
    first, second = (draw_key(SimulatedNoise(np.random.default_rng(seed))) for seed in (0, 1))
    assert len(first) == 32
    assert first != second
    assert first == draw_key(SimulatedNoise(np.random.default_rng(0)))
    sets = table([range(9)] * 200, 9)
    assert (sets.one_each(first) != sets.one_each(second)).any()


def test_users_are_seeded_by_name_on_every_machine() -> None:
    assert user_words(np.array(["a", 12], dtype=np.object_)).tolist() == user_words(np.array(["a", "12"])).tolist()
    assert len(set(user_words(["a", "b"]).tolist())) == 2


def test_a_venue_that_is_not_listed_is_refused() -> None:
    with pytest.raises(DataError, match="not in the public list"):
        table([[4]], 4)
