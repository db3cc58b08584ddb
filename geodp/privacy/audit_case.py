"""What a mechanism hands to the auditor: its worst neighbouring inputs and an event that tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.privacy.noise import Noise

Array = npt.NDArray[np.float64]

LARGE_EPSILON = 1000.0
"""Releases are followed at this ε, too: with hardly any noise sizes and choices are as fine as they get, and whatever
was read beside the answers shows in them."""


@dataclass(frozen=True)
class AuditCase:
    """A pair of neighbouring inputs and a likelihood-ratio event.

    A claim of epsilon says: for every event S, P(S | with) <= e^epsilon P(S | without), and the reverse. Under
    replacement or a metric, "with" and "without" are simply the first and the second input.

    Parameters
    ----------
    name
        What the report calls the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.audit_case import AuditCase
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> def draw(noise, present, number):
    ...     return present + noise.laplace(2.0, number)
    >>> case = AuditCase("one person more", 0.5, draw, score=lambda outputs: outputs, threshold=1.0)
    >>> case.draw(SimulatedNoise(np.random.default_rng(0)), True, 10).shape
    (10,)
    """

    name: str
    claimed: float
    """Epsilon claimed for this pair (epsilon times distance for a metric guarantee)."""
    draw: Callable[[Noise, bool, int], Array]
    """`draw(noise, present, n)`: n independent outputs on the input with or without the person; one number each, or one
    row each (n, k), such as points."""
    score: Callable[[Array], Array]
    """Larger where the output speaks more for the person being present."""
    threshold: float
    """The likelihood-ratio event is {score >= threshold}."""
    delta: float = 0.0
    """Delta claimed for this pair: P(S | with) <= e^epsilon P(S | without) + delta."""
    exact: Callable[[], tuple[Array, Array]] | None = None
    """For a finite mechanism: the exact probability of every output, with and without the person."""
    raw: Callable[[Array], Array] | None = None
    """Doubles, one row per output, whose bits are searched for lattices, such as the distances of a reported point from
    the two places; default: the outputs themselves."""
    most: int | None = None
    """No more outputs than this are drawn (None: as many as asked for)."""
    of_noise: bool = False
    """Whether it is about the noise of one answer: `claimed` is then what noise of its scale may tell."""


@dataclass(frozen=True)
class TranscriptCase:
    """A pair of neighbouring inputs on which the release itself is followed, question by question.

    For releases whose cost is the sum of what they ask (composition). Where randomness that nobody sees makes a
    question cheaper (sampling few users), following it says too much, and only samples can tell. What is read unpaid
    is seen where it makes a difference on the pair at hand, so pairs are to be extreme.

    Parameters
    ----------
    name
        What the report calls the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.audit_case import TranscriptCase
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import laplace_counts
    >>> def release(noise, present):
    ...     return [laplace_counts([3 + present], epsilon=1000.0, sensitivity=1.0, noise=noise)]
    >>> case = TranscriptCase("one person more", 1000.0, release)
    >>> case.release(SimulatedNoise(np.random.default_rng(0)), True)[0].round().tolist()
    [4.0]
    """

    name: str
    claimed: float
    """Epsilon claimed for the whole release."""
    release: Callable[[Noise, bool], Sequence[npt.ArrayLike]]
    """`release(noise, present)`: all that is published, on the input with or without the person."""
    runs: int = 4
    """Releases on either input; what is asked later depends on earlier answers, so there are several."""
    rho: float | None = None
    """ρ claimed for the whole release, where that is what is promised: it is followed instead of the epsilon."""

    @property
    def claim(self) -> float:
        """What is claimed, in the currency of the promise."""
        return self.claimed if self.rho is None else self.rho


@dataclass(frozen=True)
class ExactCase:
    """A pair of neighbouring inputs whose laws are known: they are compared output by output, and nothing is drawn.

    Parameters
    ----------
    name
        What the report calls the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.audit_case import ExactCase
    >>> case = ExactCase("yes or no", np.log(3), lambda: (np.array([0.75, 0.25]), np.array([0.25, 0.75])))
    >>> there, away = case.laws()
    >>> bool((there <= np.exp(case.claimed) * away + 1e-12).all())
    True
    """

    name: str
    claimed: float
    """Epsilon claimed for this pair."""
    laws: Callable[[], tuple[Array, Array]]
    """The exact probability of every output, on either input."""


CheckedCase = TranscriptCase | ExactCase
"""A pair that is checked without samples."""
AnyCase = AuditCase | CheckedCase
"""What a plug-in may name: pairs to sample, to follow, or to compare exactly."""


@dataclass(frozen=True)
class RhoCase:
    """A pair of neighbouring inputs of a concentrated release, and the direction in which its answers move.

    The auditor repeats the release until the pair lies two standard deviations apart, if the claim is just met.

    Parameters
    ----------
    name
        What the report calls the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.audit_case import RhoCase
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> def draw(noise, present, number):
    ...     return present + noise.discrete_gaussian(5.0, number)[:, None]
    >>> case = RhoCase("one person more", 0.02, draw, direction=np.ones(1), threshold=0.5)
    >>> case.draw(SimulatedNoise(np.random.default_rng(0)), True, 10).shape
    (10, 1)
    """

    name: str
    claimed: float
    """ρ claimed for this pair."""
    draw: Callable[[Noise, bool, int], Array]
    """`draw(noise, present, n)`: the answers that differ, of n independent releases, one row each (n, k), on the input
    with or without the person."""
    direction: Array
    """Weights of the answers: larger sums speak more for the person being present."""
    threshold: float
    """Sum of one release from which on it speaks for the person: halfway between those expected on the two inputs for
    Gaussian noise; otherwise the one with the person, by which most is certified."""
    gaussian: bool = True
    """Whether the claim rests on Gaussian noise, so that repeats of it trade one error for the other as normals do."""
