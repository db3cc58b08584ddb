"""What a map shows, one layer per file; verb: `draw`. Layers read the run folder and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from geodp.registry import Plugin

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class Layer(Plugin):
    """Family of map layers."""

    family: ClassVar[str] = "layer"
    title: ClassVar[str]
    """What the layer panel calls it."""
    public: ClassVar[bool] = False
    """Whether it holds released data only, so that it may be part of a public map."""
    shared: ClassVar[bool] = False
    """Whether all arms of a comparison share it, so that it is drawn once."""
    level: ClassVar[int] = 50
    """Height in the stack, bottom to top: 10 ground, 20-39 surfaces, 40 circles, 50 lines, 60 points, 70 people."""

    shown: bool = True
    """Whether the layer is ticked when the map opens."""

    @abstractmethod
    def draw(self, run: RunFolder, page: Page) -> None:
        """Add the layer to the page; a run that has nothing to show adds nothing."""
