"""A sample of workers that move."""

from __future__ import annotations

import numpy as np

from geodp.display.layers.people import WorkersLayer
from geodp.display.page import Page
from geodp.run_folder.folder import RunFolder


def test_rows_are_workers_and_columns_are_times(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    WorkersLayer().draw(plain, page)
    data = page.drawings[0].data
    first = plain.paths[plain.paths["worker"] == 0]
    assert data["things"] == 40
    assert data["x"].shape == (40, 13)
    assert np.max(np.abs(data["x"][0] - first["x_m"])) <= 0.5
    assert np.array_equal(data["busy"][0], first["busy"].astype(int))


def test_the_caption_says_how_many_of_all_workers_move(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    WorkersLayer(max_workers=15).draw(plain, page)
    assert page.drawings[0].data["things"] == 15
    assert page.notes == ["15 of 2,000 workers move"]
