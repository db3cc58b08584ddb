"""Tests against noisy thresholds that nobody sees (above threshold, sparse vector): however many pass, they cost once.

A threshold gets Lap(2Δ/ε) once, every test Lap(4Δ/ε), Δ the most by which one person changes a tested value. All tests
of a threshold up to the first that fails cost ε together (Dwork and Roth 2014, section 3.6). Then it must be renewed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.privacy.noise import AnsweringNoise, Array, Integers, Noise, ThresholdLaw

Mask = npt.NDArray[np.bool_]


class HiddenThresholds:
    """Noisy thresholds, one per place, that are never published.

    Parameters
    ----------
    size
        Number of places.
    law
        Thresholds and noise.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.hidden_thresholds import HiddenThresholds
    >>> from geodp.privacy.noise import SimulatedNoise, ThresholdLaw
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> hidden, both = HiddenThresholds(2, ThresholdLaw(50.0, 4.0, 8.0)), np.arange(2)
    >>> hidden.renew(both, noise)
    >>> hidden.are_below(both, np.array([-100.0, 300.0]), noise).tolist()
    [True, False]
    """

    def __init__(self, size: int, law: ThresholdLaw) -> None:
        self.law = law
        self._hidden = np.zeros(size)
        self._serial = np.full(size, -1)
        self._renewed = 0

    def renew(self, places: Integers, noise: Noise) -> None:
        """Draw new thresholds at some places."""
        self._serial[places] = self._renewed + np.arange(places.size)
        self._renewed += places.size
        if not isinstance(noise, AnsweringNoise):  # an auditor draws them itself when they are first asked about
            self._hidden[places] = self.law.threshold + noise.laplace(self.law.threshold_scale, places.size)

    def are_below(self, places: Integers, values: Array, noise: Noise) -> Mask:
        """Tell whether values, with noise, are below the thresholds of their places; after a no these are renewed."""
        if isinstance(noise, AnsweringNoise):
            return noise.threshold_answer(values, self._serial[places], self.law)
        return np.asarray(values + noise.laplace(self.law.test_scale, places.size) < self._hidden[places])
