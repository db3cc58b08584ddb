from pathlib import Path

import numpy as np
import pytest

from geodp import plugin
from geodp.attacks import AttackView
from geodp.attacks.inference import Prior, from_reports
from geodp.errors import DataError
from geodp.geometry import Region
from tests.server.reports import REGION, Hills, reported


def test_a_uniform_prior_guesses_the_middle() -> None:
    prior = Prior.uniform(REGION)
    assert prior.share.sum() == pytest.approx(1.0)
    assert np.hypot(*prior.best_guess()) < 200
    assert prior.at([0.0, 1e6], [0.0, 0.0]).tolist()[1] == 0.0


def test_a_uniform_prior_leaves_out_what_lies_outside_the_polygon() -> None:
    import shapely

    west = Region(0.0, 0.0, 0.1, 0.1, polygon=shapely.box(0.0, 0.0, 0.05, 0.1))
    prior = Prior.uniform(west)
    x, _ = prior.best_guess()
    assert x == pytest.approx(-west.width_m / 4, abs=200)
    assert prior.at([2000.0], [0.0])[0] == 0.0


def test_noisy_reports_alone_show_where_people_are() -> None:
    """The prior from reports lies nearer to the truth than counting reports does, and knows no true place."""
    rng = np.random.default_rng(1)
    hills = Hills()
    points = reported(*hills.sample(20_000, rng), rng, epsilon_per_m=0.004)
    before = Prior.uniform(REGION)
    after = from_reports(before, [points])
    x, y = before.grid.centres()
    true = hills.density(np.tile(x, before.grid.rows), np.repeat(y, before.grid.columns))
    true /= true.sum()
    counted = before.grid.count(points.x_m, points.y_m) / points.size
    assert after.share.sum() == pytest.approx(1.0)
    assert np.abs(after.share - true).sum() < 0.8 * np.abs(counted - true).sum()


def test_public_counts_from_a_file_are_a_prior(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("lon,lat,count\n-122.40,37.75,30\n-122.40,37.75,70\n-122.50,37.80,1\n0,0,1000\n")
    attack = plugin("bayes_location", prior_file="places.csv").anchor(tmp_path)
    assert attack.files() == [path]
    guess = attack.learn_prior(AttackView(REGION, [])).best_guess()
    x, y = REGION.projection.to_m(lon=-122.40, lat=37.75)
    assert guess == pytest.approx((float(x), float(y)), abs=200)


@pytest.mark.parametrize(
    ("text", "words"),
    [("lon,lat\n0,0\n", "missing: count"), ("lon,lat,count\n0,0,5\n", "no count lies inside")],
)
def test_files_that_are_no_prior_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "places.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        plugin("bayes_location", prior_file=str(path)).blind(REGION)
