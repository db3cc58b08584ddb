"""Groups of people by lot, and the shares that make them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.levels import complete_shares, draw_groups


def test_the_rest_of_the_shares_is_a_group_of_its_own() -> None:
    assert complete_shares({"a": 0.2, "b": 0.3}) == {"a": 0.2, "b": 0.3, "others": 0.5}
    assert complete_shares({"a": 0.1 + 0.2, "b": 0.7}) == {"a": 0.1 + 0.2, "b": 0.7}  # adds up but for rounding


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ({"a": 0.6, "b": 0.5}, r"add up to 1\.1 \(0\.6 \+ 0\.5\)"),
        ({"a": 0.0, "b": 0.5}, "nobody has the level 'a'"),
        ({"others": 0.5}, "use another name"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares: dict[str, float], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        complete_shares(shares)


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.floats(0, 1, exclude_max=True))
def test_everyone_has_exactly_one_group_whatever_her_lot(parts: list[float], lot: float) -> None:
    shares = {f"g{number}": part / sum(parts) for number, part in enumerate(parts)}
    assert draw_groups(shares, np.array([lot]))[0] in shares


def test_groups_have_their_shares() -> None:
    """Of 200,000 lots each share is off by 5.2 standard deviations with probability 2e-7 at most."""
    shares = {"a": 0.2, "b": 0.3, "c": 0.5}
    drawn = draw_groups(shares, np.random.default_rng(1).random(200_000))
    for name, share in shares.items():
        assert abs(np.mean(drawn == name) - share) < 5.2 * np.sqrt(share * (1 - share) / 200_000)


def test_a_promise_to_groups_weakens_for_each_of_them() -> None:
    both = Guarantee(
        1.0, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL, by_group=(("careful", 0.1), ("relaxed", 1.0))
    )
    assert dict(both.for_users(3).by_group) == {"careful": 0.3, "relaxed": 3.0}
    assert dict(both.for_replacement().by_group) == {"careful": 0.2, "relaxed": 2.0}
    assert dict(both.repeat(7).for_group(2).by_group) == {"careful": 1.4, "relaxed": 14.0}
    assert "careful ε = 0.1, relaxed ε = 1" in both.sentence()
    assert Guarantee.from_dict(both.as_dict()) == both
    assert both.for_one("careful").epsilon == 0.1
    with pytest.raises(UsageError, match="no group called 'nobody'"):
        both.for_one("nobody")
    with pytest.raises(ValueError, match="no group's epsilon may be larger"):
        Guarantee(0.5, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, by_group=(("a", 0.6),))
