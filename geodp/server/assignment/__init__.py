"""How the server turns releases into offers; verb: `offers`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from geodp.public.messages import Offer, Task
from geodp.registry import Plugin
from geodp.server.view import ServerView


class Assignment(Plugin):
    """Family of assignments."""

    family: ClassVar[str] = "assignment"
    plans_circles: ClassVar[bool] = True
    """Whether offers go to everyone inside a circle; otherwise to a region, or to named workers."""
    plans_regions: ClassVar[bool] = False
    """Whether offers go to everyone inside a region of rectangles."""

    @abstractmethod
    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide reward and whom to ask for every task of a batch, in order; rewards sum to at most the purse."""
