"""Series of releases are followed from the first to the last; those that keep less than they say are refuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from geodp import plugin
from geodp.audit.auditor import Audit
from geodp.audit.kinds import audit_plugin, noise_by_name
from geodp.curator.mechanisms.kalman_counts import KalmanCounts
from geodp.curator.mechanisms.pegasus import Pegasus, PegasusSeries
from geodp.curator.mechanisms.tree_counts import CappedStays, TreeCounts, TreeSeries
from geodp.curator.mechanisms.w_event_counts import Absorption, Distribution, WEventCounts
from geodp.privacy.hidden_thresholds import HiddenThresholds
from geodp.privacy.noise import Noise, ThresholdLaw
from geodp.public.guarantee import Neighbours


def audit(mechanism: Any) -> Audit:
    return audit_plugin(mechanism, noise_by_name("simulate", 0), samples=1000)


SOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("tree_counts", {"cap": 3}),
    "tree of stays": ("tree_counts", {}),
    "plain tree of events": ("tree_counts", {"variant": "plain", "stream": "events", "cap": 2}),
    "distribution": ("w_event_counts", {}),
    "absorption": ("w_event_counts", {"scheme": "ba"}),
    "pegasus": ("pegasus", {}),
    "pid": ("kalman_counts", {"sampling": "pid", "epsilon": 2.0}),
    "pid as printed": ("kalman_counts", {"sampling": "pid", "variant": "literal", "epsilon": 2.0}),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_promised_about_a_series_is_kept(name: str) -> None:
    kind, fields = SOUND[name]
    found = audit(plugin(kind, **fields))
    assert not found.refuted
    assert not found.not_followed
    assert max(pair.share_asked for pair in found.pairs if "releases" in pair.name or "stay" in pair.name) > 0.7


class HalfTree(TreeCounts):
    """Planted: half of the noise."""

    def node_scale(self, releases: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        return super().node_scale(releases, neighbours) / 2


class UncappedTree(TreeCounts):
    """Planted: noise for two stays, and all are counted."""

    def begin_series(self, releases: int | None = None) -> TreeSeries:
        series = super().begin_series(releases)
        series._capped = CappedStays(None)
        return series


class CheapTests(Distribution):
    """Planted: a test has twice the ε that it pays."""

    def __init__(self, epsilon: float, window: int) -> None:
        super().__init__(epsilon, window)
        self.test *= 2


class CheapDistribution(WEventCounts):
    """Planted, see there."""

    def begin_schedule(self) -> Distribution | Absorption:
        return CheapTests(self.epsilon, self.window)


class NeverNullified(Absorption):
    """Planted: counts that took shares of later releases leave them to these, too."""

    def decide(self, spent: float) -> None:
        self.done += 1
        self._free_from = self.done if spent else self._free_from


class CheapAbsorption(WEventCounts):
    """Planted, see there."""

    def begin_schedule(self) -> Distribution | Absorption:
        return NeverNullified(self.epsilon, self.window)


class HalfPegasus(Pegasus):
    """Planted: half of the noise on counts."""

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        return super().expected_noise(neighbours) / 2


class LoudGroups(Pegasus):
    """Planted: groups are tested with a tenth of the noise."""

    def threshold_law(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> ThresholdLaw:
        law = super().threshold_law(neighbours)
        return ThresholdLaw(law.threshold, law.threshold_scale / 10, law.test_scale / 10)


class ExactGroups(Pegasus):
    """Planted: whether a count joins is decided without noise."""

    def begin_series(self, releases: int | None = None) -> PegasusSeries:
        return ExactSeries(self, releases)


class ExactSeries(PegasusSeries):
    """Planted, see there."""

    def _group(self, hidden: HiddenThresholds, noise: Noise) -> None:
        apart = self._find_apart(np.arange(self._begin.size))
        self._begin[apart > hidden.law.threshold / 10] = len(self._true) - 1
        self._open[:] = True
        del noise


class MoreSamples(KalmanCounts):
    """Planted: samples at twice their share of ε."""

    def count_epsilon(self, releases: int = 1) -> float:
        return 2 * super().count_epsilon(releases)


PLANTED: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "half the noise in a tree": (HalfTree, {"cap": 3}),
    "half the noise in a tree of stays": (HalfTree, {}),
    "stays beyond the cap": (UncappedTree, {"cap": 2}),
    "tests at half their price": (CheapDistribution, {}),
    "shares that are used twice": (CheapAbsorption, {"scheme": "ba"}),
    "half the noise on counts of groups": (HalfPegasus, {}),
    "a tenth of the noise on groups": (LoudGroups, {}),
    "groups without noise": (ExactGroups, {}),
    "samples at twice their share": (MoreSamples, {"sampling": "pid"}),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_series_that_keeps_less_is_refuted(name: str) -> None:
    cls, fields = PLANTED[name]
    assert audit(cls.model_validate(fields)).refuted
