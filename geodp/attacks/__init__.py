"""The adversary: sees what the server sees, plus a prior; verb: `guess`."""

from __future__ import annotations

from typing import ClassVar

from geodp.plugins import Plugin


class Attack(Plugin):
    """Family of attacks."""

    family: ClassVar[str] = "attack"
