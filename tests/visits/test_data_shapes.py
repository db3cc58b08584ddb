import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.visits.data_shapes import DPSENSE_SHAPES, GS_SHAPES, Shape, shaped_table


@pytest.mark.parametrize(
    "shape", [Shape(3000, 700, 55, 43.54), Shape(400, 9000, 300, 1.08), Shape(2000, 90, 88, 200.0)], ids=str
)
def test_a_table_has_the_shape_that_is_asked_for(shape: Shape) -> None:
    table = shaped_table(shape, np.random.default_rng(0))
    assert (table.users, table.venues) == (shape.rows, shape.columns)
    assert table.size.max() == shape.largest
    assert table.size.min() >= 1
    assert table.counts().mean() == pytest.approx(shape.mean_count, rel=0.06)
    counts = np.sort(table.counts())
    assert counts[-1] > 3 * np.median(counts), "popularity has a long tail"
    assert abs(np.corrcoef(np.arange(shape.columns), table.counts())[0, 1]) < 0.2, "the order of the list tells nothing"


def ratios(shape: Shape) -> list[float]:
    return [shape.mean_count / shape.rows, shape.mean_count / shape.largest, shape.rows / shape.columns]


def test_scaling_keeps_what_decides_how_methods_compare() -> None:
    for whole in (*GS_SHAPES.values(), *DPSENSE_SHAPES.values()):
        assert ratios(whole.scaled(0.4)) == pytest.approx(ratios(whole), rel=0.02)


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match="mean count"):
        Shape(10, 10, 2, 9.0)
    with pytest.raises(UsageError, match="largest row"):
        Shape(10, 10, 20, 1.0)
