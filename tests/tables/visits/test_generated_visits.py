import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.tables.visits.generated_visits import GS_SHAPES, ModelledVisits, Shape, draw_shaped_table, model_visits
from tests.tables.visits.tables import long_tailed


@pytest.mark.parametrize(
    "shape", [Shape(3000, 700, 55, 43.54), Shape(400, 9000, 300, 1.08), Shape(2000, 90, 88, 200.0)], ids=str
)
def test_a_table_has_the_shape_that_is_asked_for(shape: Shape) -> None:
    table = draw_shaped_table(shape, np.random.default_rng(0))
    assert (table.users, table.venues) == (shape.rows, shape.columns)
    assert table.size.max() == shape.largest
    assert table.size.min() >= 1
    assert table.counts().mean() == pytest.approx(shape.mean_count, rel=0.06)
    counts = np.sort(table.counts())
    assert counts[-1] > 3 * np.median(counts), "popularity has a long tail"
    assert abs(np.corrcoef(np.arange(shape.columns), table.counts())[0, 1]) < 0.2, "the order of the list tells nothing"


@pytest.mark.parametrize("name", ["netflix", "trajectory"])
def test_modelled_visits_have_the_shape_at_full_size(name: str) -> None:
    shape = GS_SHAPES[name]
    table = model_visits(shape, np.random.default_rng(0))
    assert (table.users, table.venues, table.size.max()) == (shape.rows, shape.columns, shape.largest)
    assert table.counts().mean() == pytest.approx(shape.mean_count, rel=0.01)
    assert table.size.sum() == pytest.approx(table.counts().sum(), rel=0.01)
    assert table.counts().max() <= shape.rows


def test_modelled_samples_have_the_law_of_drawn_ones() -> None:
    """Where all rows are alike the laws are the same: ten classes of venues by popularity, summed over 20 keys."""
    drawn = long_tailed(4000, 500, np.full(4000, 6))
    model = ModelledVisits(drawn.size, drawn.counts())
    order = np.argsort(-drawn.counts())
    for kind in ("columns", "rows"):
        first, second = (
            np.sum(
                [
                    table.one_each(bytes([key])) if kind == "columns" else table.rows_sampled(0.3, bytes([key]))
                    for key in range(20)
                ],
                axis=0,
            )[order]
            for table in (drawn, model)
        )
        classes = (
            [part.sum() for part in np.array_split(first, 10)],
            [part.sum() for part in np.array_split(second, 10)],
        )
        assert classes[0] == pytest.approx(classes[1], rel=0.07)
    assert model.sum_weights(np.ones(4000)).tolist() == drawn.counts().tolist()
    assert model.keep_at_most(20, b"") is model
    with pytest.raises(UsageError, match="longest row"):
        model.keep_at_most(5, b"")


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match="mean count"):
        Shape(10, 10, 2, 9.0)
    with pytest.raises(UsageError, match="largest row"):
        Shape(10, 10, 20, 1.0)
