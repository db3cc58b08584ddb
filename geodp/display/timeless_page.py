"""A page of one moment: what was released once, with no clock, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from geodp.display.page import Page

if TYPE_CHECKING:
    from geodp.display.drawing import Moment, Surface
    from geodp.display.folium_map import OfflineMap
    from geodp.display.layers import Layer
    from geodp.geometry import Region
    from geodp.public.guarantee import Guarantee

RELEASED = "Released data only, under the guarantee below."
SIMULATED = "Simulated noise, predictable from the seed: not releasable, do not publish."
UNPROTECTED = "No privacy guarantee holds for what is drawn: do not publish."


class TimelessPage(Page):
    """A page without a clock.

    Parameters
    ----------
    region
        The public area, which is drawn.
    max_points
        Maximum number of things drawn per layer.
    unit
        What is counted per area.
    releasable
        Whether what is drawn may leave the house.
    """

    def __init__(self, region: Region, *, max_points: int, unit: str, releasable: bool) -> None:
        from geodp.display.layers.region import RegionLayer

        super().__init__(region, max_points=max_points, public=True)
        self.unit = unit
        self.ground(RegionLayer(), graticule=True)
        self.public = releasable

    def areas(self, layer: Layer, moments: Sequence[Moment], *, unit: str = "", **more: Any) -> None:
        """Draw filled bands; what is counted is said by the page."""
        super().areas(layer, moments, unit=self.unit or unit, **more)

    def cells(self, layer: Layer, surfaces: Sequence[Surface], *, unit: str = "", **more: Any) -> None:
        """Draw rectangles coloured by count per area."""
        super().cells(layer, surfaces, unit=self.unit or unit, **more)

    def _add(self, *drawing: Any, **more: Any) -> None:
        public = self.public and more.get("public", True)
        super()._add(*drawing, **{**more, "timed": False, "history": False, "public": public})

    def finish(
        self,
        title: str,
        guarantee: Guarantee,
        sentences: Sequence[str],
        *,
        per_person: Guarantee | None = None,
        accuracy: str = "",
    ) -> OfflineMap:
        """Return the page as a map with its caption.

        Parameters
        ----------
        title
            What the map is called.
        guarantee
            What is promised.
        sentences
            The promise in words.
        per_person
            What is promised about all that one person left behind (None: what is promised says it).
        accuracy
            How far off it is, in words ('': nothing is said).
        """
        from geodp.display.caption import frame_caption, say_worth, write_privacy_line
        from geodp.display.map import frame_page

        released = self.public
        badge = RELEASED if released else SIMULATED if guarantee.holds else UNPROTECTED
        body = ["<h2>Privacy</h2>", *(f"<p>{escape(sentence)}</p>" for sentence in sentences)]
        body += ["<h2>Accuracy</h2>", f"<p>{escape(accuracy)}</p>"] if accuracy else []
        privacy = [write_privacy_line(*say_worth(guarantee, per_person or guarantee))]
        caption = frame_caption(title, badge, body, self.notes, released=released, privacy=privacy)
        return frame_page(self, title, caption, releasable=released)
