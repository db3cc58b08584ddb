"""Reports along a public tree: the phone's draw against the exact law, and a planted fault."""

import numpy as np
import pytest
from scipy import stats

from geodp.audit.kinds import audit_plugin, noise_by_name
from geodp.device import tree_obfuscation
from geodp.device.tree_obfuscation import TreeObfuscation
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.release_noise import ReleaseNoise
from geodp.public.guarantee import Unit

REGION = Region(10.0, 50.0, 10.02, 50.01)
PHONE = TreeObfuscation(epsilon_per_m=0.002, leaf_m=200.0)
LAW = PHONE.law(REGION)


@pytest.mark.parametrize("leaf", [0, 27, 63])
def test_every_leaf_comes_as_often_as_its_law_says(leaf: int) -> None:
    """Chi-square over all 64 leaves; false alarm 1e-6 in each of three."""
    assert LAW.tree.grid.size == 64
    x, y = (float(place[0]) for place in LAW.tree.centres(np.array([leaf])))
    n = 200_000
    told = PHONE.report(np.full(n, x + 20), np.full(n, y - 20), rng=np.random.default_rng(leaf), region=REGION)
    counts = np.bincount(LAW.tree.locate(*told), minlength=64)
    assert stats.chisquare(counts, n * LAW.law_of(leaf)).pvalue > 1e-6
    centre = LAW.tree.centres(LAW.tree.locate(*told))
    assert told[0] == pytest.approx(centre[0])


def test_the_promise_is_in_the_metric_of_the_tree_and_says_so() -> None:
    promise = PHONE.guarantee(REGION)
    assert (promise.unit, promise.epsilon) == (Unit.POINT, 0.002)
    assert "along the public tree" in promise.sentence()
    assert "exp(0.002·d)" in promise.sentence()
    assert "nowhere further apart than d metres in that metric" in promise.together(3, "All")


def test_it_is_for_simulation_and_needs_a_region() -> None:
    assert PHONE.channel() is None
    assert PHONE.channel(REGION) == LAW
    with pytest.raises(UsageError, match="needs a region"):
        PHONE.report([0.0], [0.0], rng=np.random.default_rng(0))
    pytest.importorskip("opendp")
    with pytest.raises(NotReleasable, match="planar_geometric"):
        PHONE.report([0.0], [0.0], rng=ReleaseNoise(), region=REGION)


def test_a_phone_that_stays_too_near_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: levels are drawn with twice the epsilon; samples alone must tell."""
    plain = tree_obfuscation.obfuscate_leaves

    phone = TreeObfuscation(epsilon_per_m=0.002, leaf_m=10 / 0.002 / 4)
    assert not audit_plugin(phone, noise_by_name("simulate", 0), samples=20_000).refuted

    def twice(tree: object, level_law: Array, *rest: object) -> object:
        weight = level_law * np.exp(-0.002 * tree.distance_m)  # type: ignore[attr-defined]
        return plain(tree, weight / weight.sum(), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_obfuscation, "obfuscate_leaves", twice)
    assert audit_plugin(phone, noise_by_name("simulate", 0), samples=20_000).refuted
