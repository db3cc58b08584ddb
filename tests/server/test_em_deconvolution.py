import numpy as np
import pytest

from geodp.server.em_deconvolution import unfold


def test_a_channel_that_changes_nothing_leaves_counts_in_order() -> None:
    counts = np.array([5.0, 0.0, 3.0])
    shape = (1, 3)
    assert unfold(counts, np.eye(3), shape).sum() == pytest.approx(8.0)
    assert np.argsort(unfold(counts, np.eye(3), shape)).tolist() == [1, 2, 0]


def test_counts_keep_their_sum_and_move_back_to_where_they_came_from() -> None:
    cell = np.arange(60)
    table = np.exp(-np.abs(cell[:, None] - cell) / 4.0)
    table /= table.sum(axis=1, keepdims=True)
    true = np.where((cell > 20) & (cell < 35), 100.0, 5.0)
    found = unfold(true @ table, table, (1, 60))
    assert found.sum() == pytest.approx((true @ table).sum())
    assert np.abs(found - true).sum() < 0.65 * np.abs(true @ table - true).sum()


def test_answers_that_nobody_can_give_do_no_harm() -> None:
    table = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert unfold(np.array([4.0, 0.0]), table, (1, 2)).tolist() == [2.0, 2.0]
    assert unfold(np.zeros(2), table, (1, 2)).tolist() == [0.0, 0.0]
