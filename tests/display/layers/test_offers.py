"""Circles of a sample of offers."""

from __future__ import annotations

from geodp.display.layers.tasks import OffersLayer
from geodp.display.page import Page
from geodp.run_folder.folder import RunFolder


def test_a_sample_is_drawn_and_the_caption_says_of_how_many(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    OffersLayer(max_circles=10).draw(plain, page)
    made = int((plain.offers["unreachable"] == "").sum())
    assert len(page.drawings[0].data["x"]) == 10
    assert page.notes == [f"10 of {made} offer circles"]


def test_tasks_that_were_not_offered_have_no_circle(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    OffersLayer(max_circles=1000).draw(plain, page)
    unreachable = set(plain.offers.loc[plain.offers["unreachable"] != "", "task"])
    assert unreachable
    assert unreachable.isdisjoint(page.drawings[0].data["ids"].tolist())
