import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import DataError, UsageError
from geodp.publish.private_positions import Rows, read_rows, rows_beyond, settle_cap, within_cap
from geodp.publish.request import PublicInputs, Request
from tests.publish.conftest import Make, places


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 4), st.binary(min_size=32, max_size=32))
def test_every_user_keeps_as_many_rows_as_the_cap_allows(users: list[int], cap: int, key: bytes) -> None:
    kept = within_cap(pa.array(users, pa.int64()), cap, key)
    for user in set(users):
        assert np.count_nonzero(kept[np.array(users) == user]) == min(cap, users.count(user))
    assert rows_beyond(np.array(users, dtype=np.int64), cap) == np.count_nonzero(~kept)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.sampled_from("abc"), st.binary(min_size=32, max_size=32))
def test_which_rows_of_a_user_are_kept_depends_on_that_user_alone(users: list[str], gone: str, key: bytes) -> None:
    others = np.array(users, dtype=np.object_) != gone
    kept = within_cap(pa.array(users, pa.string()), 2, key)
    without_one = within_cap(pa.array([user for user in users if user != gone], pa.string()), 2, key)
    assert kept[others].tolist() == without_one.tolist()


def test_every_row_of_a_user_is_as_likely_as_any_other() -> None:
    """400 keys, 50 users with 8 rows and a cap of 2: a place among them is kept 5,000 times, σ = 61; 5.5 σ: 3e-7."""
    users = pa.array(np.repeat(np.arange(50), 8))
    kept = sum(within_cap(users, 2, bytes([number % 256, number // 256] * 16)).astype(int) for number in range(400))
    by_place = np.asarray(kept).reshape(50, 8).sum(axis=0)
    assert by_place.sum() == 400 * 50 * 2
    assert np.abs(by_place - 5000).max() < 5.5 * 61.3


def rows_of(request: Request) -> Rows:
    names = () if request.one_row_per_person else ("user",)
    return read_rows(request.source, numbers=("lon", "lat"), names=names, releasing=request.releasing)


def with_users(users: list[str]) -> pd.DataFrame:
    return places(len(users)).assign(user=users)


def test_one_row_per_user_needs_no_cap_in_a_simulation(make: Make) -> None:
    request = make(with_users(["ann", "bob", "cy"]))
    inputs = PublicInputs(request.releasing)
    assert settle_cap(request, inputs, rows_of(request)) is None
    assert inputs.derived == []


@pytest.mark.parametrize("users", [["ann", "bob", "cy"], ["ann", "bob", "ann", "ann"], []])
def test_a_release_with_users_needs_a_public_cap_whatever_its_rows_are(make: Make, users: list[str]) -> None:
    request = make(with_users(users), mode="release")
    with pytest.raises(UsageError, match="in.csv: has a column of users. Say with --cap N"):
        settle_cap(request, PublicInputs(releasing=True), rows_of(request))


def test_users_who_repeat_need_a_public_cap(make: Make) -> None:
    frame = with_users(["ann", "bob", "ann", "ann"])
    given_cap = make(frame, mode="release", cap=2)
    assert settle_cap(given_cap, PublicInputs(releasing=True), rows_of(given_cap)) == 2
    simulated, inputs = make(frame), PublicInputs(releasing=False)
    assert settle_cap(simulated, inputs, rows_of(simulated)) == 3
    assert inputs.derived == ["cap"]


def test_a_cap_without_users_cannot_be_enforced(make: Make) -> None:
    request = make(cap=2)
    with pytest.raises(DataError, match="there is no column 'user'"):
        settle_cap(request, PublicInputs(releasing=False), rows_of(request))
