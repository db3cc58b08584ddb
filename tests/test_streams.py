import subprocess
import sys

import numpy as np
from scipy import stats

from geodp.streams import Streams


def test_the_same_name_gives_the_same_numbers_and_another_name_others() -> None:
    streams = Streams(7)
    first = streams.generator("world.source").random(5)
    assert np.array_equal(first, streams.generator("world.source").random(5))
    assert not np.array_equal(first, streams.generator("world.demand").random(5))
    assert not np.array_equal(first, Streams(8).generator("world.source").random(5))


def test_keyed_uniforms_do_not_depend_on_who_else_is_asked() -> None:
    streams = Streams(3)
    workers = np.arange(1000)
    together = streams.uniform("worker.answer", workers, 17)
    alone = [float(streams.uniform("worker.answer", worker, 17)) for worker in workers[::100]]
    assert together[::100].tolist() == alone


def test_keyed_uniforms_are_uniform_and_unrelated_between_neighbouring_keys() -> None:
    """False alarm: each of the three Kolmogorov–Smirnov tests at 3e-7."""
    grid = Streams(0).uniform("worker.answer", np.repeat(np.arange(500), 400), np.tile(np.arange(400), 500))
    square = grid.reshape(500, 400)
    pairs = [square[:, 1:] + square[:, :-1], square[1:] + square[:-1]]
    assert stats.kstest(grid, "uniform").pvalue > 3e-7
    for total in pairs:  # the sum of two independent uniforms is triangular
        law = stats.triang(0.5, loc=0, scale=2)
        assert stats.kstest(total.ravel()[::2], law.cdf).pvalue > 3e-7


def test_numbers_do_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = "from geodp.streams import Streams; print(Streams(1).generator('a').random(), Streams(1).uniform('b', 2, 3))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
