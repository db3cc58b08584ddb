import numpy as np

from geodp.public.z_order import MOST_BITS, interleave_bits, separate_bits


def test_numbers_are_bits_in_turn_and_can_be_taken_apart() -> None:
    rng = np.random.default_rng(0)
    column, row = rng.integers(0, 2**MOST_BITS, (2, 1000))
    number = interleave_bits(column, row)
    written = [
        int("".join(b + a for a, b in zip(f"{c:031b}", f"{r:031b}", strict=True)), 2)
        for c, r in zip(column, row, strict=True)
    ]
    assert number.tolist() == written
    assert all(np.array_equal(a, b) for a, b in zip(separate_bits(number), (column, row), strict=True))


def test_every_square_of_the_quadtree_is_an_unbroken_run() -> None:
    row, column = np.divmod(np.arange(64), 8)
    number = interleave_bits(column, row)
    for height in (1, 2, 3):
        square = (row >> height) * 8 + (column >> height)
        for one in np.unique(square):
            inside = np.sort(number[square == one])
            assert inside[0] % 4**height == 0
            assert np.array_equal(inside, inside[0] + np.arange(4**height))
