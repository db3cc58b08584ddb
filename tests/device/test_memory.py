import numpy as np
import pytest

from geodp.device.memory import Memory, state_memoised
from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import BudgetSpent, DataError, UsageError
from geodp.geometry import Region
from geodp.privacy.ledger import Account, Ledger

DEVICE = PlanarLaplace(epsilon_per_m=0.01)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_same_person_in_the_same_cell_gives_the_same_answer() -> None:
    memory = Memory(cell_m=100.0)
    generator = rng()
    first_x, first_y, fresh = memory.report(DEVICE, [1, 2], [10.0, 10.0], [0.0, 0.0], generator)
    assert fresh.tolist() == [True, True]
    assert first_x[0] != first_x[1]  # another person, another answer
    x, y, fresh = memory.report(DEVICE, [2, 1, 1], [-40.0, 49.0, 60.0], [30.0, -49.0, 0.0], generator)
    assert fresh.tolist() == [False, False, True]
    assert (x[0], y[0]) == (first_x[1], first_y[1])
    assert (x[1], y[1]) == (first_x[0], first_y[0])
    assert x[2] != first_x[0]
    assert memory.cells_of(1) == 2
    assert memory.cells_of(7) == 0


def test_the_same_cell_twice_in_one_call_is_one_draw() -> None:
    x, _, fresh = Memory(100.0).report(DEVICE, [4, 4, 4], [0.0, 20.0, 500.0], [0.0, 0.0, 0.0], rng())
    assert fresh.tolist() == [True, False, True]
    assert x[0] == x[1] != x[2]


def test_every_new_cell_is_charged_jitter_across_a_border_included() -> None:
    memory, ledger, generator = Memory(100.0), Ledger(0.05), rng()
    for step in range(40):  # to and fro across the border at 50 m
        memory.report(DEVICE, [9], [49.0 + 2 * (step % 2)], [0.0], generator, ledger=ledger, time_s=float(step))
    assert ledger.sum_spent(Account.METRIC, person=9) == 0.02
    assert ledger.sum_spent(Account.METRIC, person=8) == 0.0


def test_a_refused_report_is_neither_drawn_nor_remembered() -> None:
    memory, ledger, generator = Memory(100.0), Ledger(0.015), rng()
    memory.report(DEVICE, [0], [0.0], [0.0], generator, ledger=ledger)
    before = generator.bit_generator.state
    with pytest.raises(BudgetSpent):
        memory.report(DEVICE, [0], [200.0], [0.0], generator, ledger=ledger)
    assert generator.bit_generator.state == before
    assert memory.cells_of(0) == 1
    memory.report(DEVICE, [0], [0.0], [0.0], generator, ledger=ledger)  # an old cell is still free
    assert ledger.sum_spent(Account.METRIC) == 0.01


def test_nothing_is_promised_about_who_returns_where_and_both_sentences_say_so() -> None:
    promise = state_memoised(DEVICE.guarantee())
    assert promise.sentence().startswith("Hides the first report of one phone in a cell from everyone")
    assert promise.sentence().endswith("later reports there repeat it, so returning to a cell is not hidden.")
    together = promise.together(3, "All 3 reports of one phone")
    assert "cost ε = 0.03 per metre" in together
    assert "nothing is promised about tracks that return to their cells in different patterns" in together


def test_different_patterns_are_told_apart_by_equal_answers() -> None:
    """A track that returns repeats its answer; one that moves on never does: no finite epsilon covers that."""
    stays, _, _ = Memory(100.0).report(DEVICE, [0, 0], [0.0, 10.0], [0.0, 0.0], rng(1))
    moves, _, _ = Memory(100.0).report(DEVICE, [0, 0], [0.0, 90.0], [0.0, 0.0], rng(1))
    assert stays[0] == stays[1]
    assert moves[0] != moves[1]


def test_many_people_at_once() -> None:
    memory, generator = Memory(200.0), rng(3)
    people = np.arange(20_000)
    region = Region(10.0, 50.0, 10.08, 50.05)
    x, y = region.sample(people.size, rng(4))
    first = memory.report(DEVICE, people, x, y, generator, region)
    again = memory.report(DEVICE, people[::-1], x[::-1], y[::-1], generator, region)
    np.testing.assert_array_equal(first[0], again[0][::-1])
    assert first[2].all()
    assert not again[2].any()


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="cell_m"):
        Memory(0.0)
    memory = Memory(1.0)
    with pytest.raises(DataError, match="NaN"):
        memory.report(DEVICE, [0], [np.nan], [0.0], rng())
    with pytest.raises(UsageError, match="numbered"):
        memory.report(DEVICE, [-1], [0.0], [0.0], rng())
    with pytest.raises(UsageError, match="cannot be remembered"):
        memory.report(DEVICE, [0], [1e6], [0.0], rng())
