"""On the phone: sees one person, trusts nobody; verb: `report`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise, as_noise
from geodp.public.channels import Channel
from geodp.public.guarantee import Guarantee
from geodp.public.place_sets import Candidates
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


class DecoyDevice(Device):
    """Mechanisms that report several places of each phone, one of which is the true one."""

    @abstractmethod
    def candidates(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None,
        last: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Return x and y of the places of each phone, a row each, the true one first.

        Parameters
        ----------
        x_m, y_m
            Where each phone is, metres.
        rng
            Where chance comes from.
        region
            The public area.
        last
            The made-up places of each phone's last report, a row each; NaN where there was none (None: nowhere).
        """

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return one of the places of each phone, any with the same chance: for whoever reads one place per phone."""
        x, y = self.candidates(x_m, y_m, rng=rng, region=region)
        pick = np.floor(as_noise(rng).uniform(len(x)) * x.shape[1]).astype(np.int64)
        chosen, shape = np.arange(len(x)), np.shape(x_m)
        return x[chosen, pick].reshape(shape), y[chosen, pick].reshape(shape)

    def report_all(
        self,
        x_m: Array,
        y_m: Array,
        *,
        rng: np.random.Generator | Noise,
        region: Region,
        last: tuple[Array, Array] | None,
        about: Mapping[str, Any],
    ) -> tuple[Candidates, tuple[Array, Array]]:
        """Return the reports of all phones, in an order of places that tells nothing, and the made-up places.

        Parameters
        ----------
        x_m, y_m, rng, region, last
            As of `candidates`.
        about
            The fields that all reports have: when, by what, at what promise, and whose (`who`).
        """
        x, y = self.candidates(x_m, y_m, rng=rng, region=region, last=last)
        order = np.argsort(as_noise(rng).uniform(x.size).reshape(x.shape), axis=1)
        shuffled = [np.take_along_axis(place, order, axis=1) for place in (x, y)]
        reported = Candidates(
            **about,
            x_m=x.mean(axis=1),
            y_m=y.mean(axis=1),
            channel=None,
            candidate_x_m=shuffled[0],
            candidate_y_m=shuffled[1],
        )
        return reported, (x[:, 1:], y[:, 1:])
