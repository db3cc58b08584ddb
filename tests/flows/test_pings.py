"""Names as words: whatever a column's type, one name is one person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from geodp.flows.pings import hash_names

NAMES = ["12", "-3", "0", "007", "1e3", "p1", "", "9" * 18, "9" * 19, "-0", "+5", "é", " 12"]


def test_numbers_and_the_words_they_are_written_as_are_the_same_people() -> None:
    numbers = [12, -3, 0, 10**18 - 1, 10**18, 2**63 - 1, -(2**63)]
    for kind in (pa.int64(), pa.uint64()):
        fit = [number for number in numbers if kind == pa.int64() or number >= 0]
        np.testing.assert_array_equal(hash_names(pa.array(fit, kind)), hash_names(pa.array([str(n) for n in fit])))
    np.testing.assert_array_equal(hash_names(pa.array([12, 0], pa.int8())), hash_names(pa.array(["12", "0"])))


def test_different_names_are_different_people() -> None:
    words = hash_names(pa.array(NAMES))
    assert np.unique(words).size == len(NAMES)
    many = hash_names(pa.array(np.arange(200_000)))
    assert np.unique(many).size == 200_000


def test_a_name_is_the_same_whatever_stands_beside_it() -> None:
    whole = hash_names(pa.array(NAMES))
    alone = [hash_names(pa.array([name]))[0] for name in NAMES]
    assert whole.tolist() == alone
    with_nothing = hash_names(pa.array(["12", None, "p1"]))
    assert with_nothing[[0, 2]].tolist() == whole[[0, 5]].tolist()
    assert hash_names(pa.array([12, None]))[0] == whole[0]
    assert hash_names(pa.array([], pa.string())).size == 0
    assert hash_names(pa.array([None, None], pa.int64())).size == 2
