"""On the phone: sees one person, trusts nobody; verb: `report`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise
from geodp.public.channels import Channel
from geodp.public.guarantee import Guarantee
from geodp.registry import FilePlugin


class Device(FilePlugin):
    """Family of mechanisms that run on the phone.

    A subclass moves places (`report`) and says what one report guarantees (`guarantee`).

    Examples
    --------
    >>> import geodp, numpy as np
    >>> phone = geodp.plugin("planar_laplace", epsilon_per_m=0.01)
    >>> x_m, y_m = phone.report([0.0, 100.0], [0.0, 0.0], rng=np.random.default_rng(1))
    >>> x_m.shape
    (2,)
    """

    family: ClassVar[str] = "device"

    @abstractmethod
    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return what each phone reports for its true position."""

    @abstractmethod
    def guarantee(self, region: Region | None = None) -> Guarantee:
        """Say what one report guarantees.

        With a region, distances are those on the ground: epsilon is multiplied by the most that the region's
        projection stretches any of them.
        """

    def channel(self, region: Region | None = None) -> Channel | None:  # noqa: ARG002
        """Return the public law f(z|x) of a report, for de-biasing and for attacks (None: there is no such law)."""
        return None

    def audit_cases(self) -> Sequence[AnyCase]:
        """Name worse neighbouring inputs than an audit tries anyway ([]: those of the family are enough).

        Reports are followed on pairs of the family, question by question; these are added to them.
        """
        return []
