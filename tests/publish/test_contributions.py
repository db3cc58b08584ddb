import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp.publish.contributions import settle_cap, within_cap
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.reading import Rows, read_rows
from geodp.publish.request import Request
from tests.publish.conftest import Make, places


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 4))
def test_the_first_rows_of_every_user_are_kept(users: list[int], cap: int) -> None:
    seen: dict[int, int] = {}
    expected = []
    for user in users:
        seen[user] = seen.get(user, 0) + 1
        expected.append(seen[user] <= cap)
    assert within_cap(np.array(users), cap).tolist() == expected


def test_which_rows_of_a_user_are_kept_depends_on_that_user_alone() -> None:
    users = np.array([0, 1, 0, 2, 1, 0, 2, 2])
    kept = within_cap(users, 2)
    without_one = within_cap(users[users != 1], 2)
    assert kept[users != 1].tolist() == without_one.tolist()


def rows_of(request: Request) -> Rows:
    names = () if request.one_row_per_person else ("user",)
    return read_rows(request.source, numbers=("lon", "lat"), names=names, releasing=request.releasing)


def with_users(users: list[str]) -> pd.DataFrame:
    return places(len(users)).assign(user=users)


@pytest.mark.parametrize("mode", ["simulate", "release"])
def test_one_row_per_user_needs_no_cap(make: Make, mode: str) -> None:
    request = make(with_users(["ann", "bob", "cy"]), mode=mode)
    inputs = PublicInputs(request.releasing)
    assert settle_cap(request, inputs, rows_of(request)) is None
    assert inputs.derived == []


def test_users_who_repeat_need_a_public_cap(make: Make) -> None:
    frame = with_users(["ann", "bob", "ann", "ann"])
    request = make(frame, mode="release")
    with pytest.raises(DataError, match="Say with --cap N") as refused:
        settle_cap(request, PublicInputs(releasing=True), rows_of(request))
    assert "ann" not in str(refused.value)
    assert "3" not in str(refused.value)
    given_cap = make(frame, mode="release", cap=2)
    assert settle_cap(given_cap, PublicInputs(releasing=True), rows_of(given_cap)) == 2
    simulated, inputs = make(frame), PublicInputs(releasing=False)
    assert settle_cap(simulated, inputs, rows_of(simulated)) == 3
    assert inputs.derived == ["cap"]


def test_a_cap_without_users_cannot_be_enforced(make: Make) -> None:
    request = make(cap=2)
    with pytest.raises(DataError, match="there is no column 'user'"):
        settle_cap(request, PublicInputs(releasing=False), rows_of(request))
