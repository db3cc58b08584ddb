"""The region: its outline, and a graticule that needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.display.layers import Layer

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class RegionLayer(Layer):
    """Outline of the public region, with a graticule and its labels."""

    kind: ClassVar[str] = "region"
    title: ClassVar[str] = "Region"
    public: ClassVar[bool] = True
    shared: ClassVar[bool] = True
    level: ClassVar[int] = 10

    graticule: bool = True
    """Whether meridians and parallels are drawn."""

    def draw(self, run: RunFolder, page: Page) -> None:  # noqa: ARG002 - the page knows the region
        """Draw the outline, the shade outside it and the graticule."""
        page.ground(self, graticule=self.graticule)
