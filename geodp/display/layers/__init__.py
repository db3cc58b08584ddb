"""What a map shows; verb: `draw`. Layers read the run folder and nothing else.

A layer is one class; layers that share a subject share a file.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.errors import UsageError
from geodp.registry import Plugin

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class Layer(Plugin):
    """Family of map layers.

    A subclass adds what it shows of a run to a page (`draw`).

    Examples
    --------
    >>> import geodp
    >>> layer = geodp.plugin("region", "layer", shown=False)
    >>> layer.title, layer.public, layer.shown
    ('Region', True, False)
    """

    family: ClassVar[str] = "layer"
    title: ClassVar[str]
    """What the layer panel calls it."""
    public: ClassVar[bool] = False
    """Whether it holds released data only, so that it may be part of a public map."""
    shared: ClassVar[bool] = False
    """Whether all arms of a comparison share it, so that it is drawn once."""
    side: ClassVar[bool] = False
    """Whether it shows one side of a thing: two such layers of a run are laid side by side, or swiped between."""
    level: ClassVar[int] = 50
    """Height in the stack, bottom to top: 10 ground, 20-39 surfaces, 40 circles, 50 lines, 60 points, 70 people."""

    shown: bool = True
    """Whether the layer is ticked when the map opens."""

    @abstractmethod
    def draw(self, run: RunFolder, page: Page) -> None:
        """Add the layer to the page; a run that has nothing to show adds nothing."""


class PublicationLayer(Layer):
    """Layers of what was published at the end of a run."""

    published: ClassVar[str]
    """What the publications that it draws release: visits or trajectories."""

    publication: int | None = Field(default=None, ge=0)
    """Place of the publication in `publish`; default the first of its kind."""

    def publication_of(self, run: RunFolder) -> PublishedRun | None:
        """Return the publication to draw: in that place of `publish`, or the first of its kind (None: no such)."""
        found = {item.index: item for _, item in run.publications_of(self.published)}
        if self.publication is None or not found:
            return next(iter(found.values()), None)
        if self.publication not in found:
            known = ", ".join(map(str, found))
            raise UsageError(
                f"map: no publication of {self.published} in place {self.publication} of publish. There are: {known}."
            )
        return found[self.publication]
