"""What the curator publishes about histories (visits, trajectories); verb: `release`."""

from __future__ import annotations

from typing import ClassVar

from geodp.plugins import Plugin


class Publication(Plugin):
    """Family of end-of-run publications."""

    family: ClassVar[str] = "publication"
