from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from geodp.audit.kinds import audit_kind, audit_plugin
from geodp.audit.repeated import audit_rho, certify_concentrated, certify_gaussian, count_repeats
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.errors import GeodpError, UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.primitives import with_discrete_gaussian
from geodp.privacy.zcdp import largest_rho
from tests.audit.zoo import BROKEN_FLOWS, Flow, repeated_pairs, sound_flows

RHO_1 = largest_rho(1.0, 1e-6)


def certify(flow: Flow, samples: int = 1000, seed: int = 0) -> tuple[float, bool]:
    found = audit_rho(
        [flow.case], lambda name: SimulatedNoise(np.random.default_rng([seed, len(name)])), samples=samples
    )
    return found.pairs[0].share, found.refuted


def test_releases_with_gaussian_noise_are_repeated_by_the_audit_of_a_kind() -> None:
    found = audit_kind("uniform_grid", {"noise": "gaussian", "epsilon": 2.0}, samples=10_000, neighbours=0)
    assert found.worst is not None
    assert found.worst.currency == "ρ"
    assert 0.9 <= found.worst.share < 1
    assert not found.refuted


def test_a_choice_beside_gaussian_noise_is_left_out_of_its_repeats() -> None:
    found = audit_kind("dawa", {"noise": "gaussian", "epsilon": 4.0, "height": 3}, samples=1000, neighbours=0)
    repeated = [pair for pair in found.pairs if pair.name.startswith("repeated")]
    assert repeated
    assert all(0.3 < pair.share < 0.6 for pair in repeated)  # counts have .6 of ρ, of which .83 is certified
    assert not found.refuted


def test_half_the_noise_is_refuted_by_its_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    def whisper(self: CountNoise, counts: npt.NDArray[np.number], scale: float, noise: Noise) -> Array:
        return with_discrete_gaussian(counts.astype(np.int64), scale / np.sqrt(2), noise).astype(np.float64)

    monkeypatch.setattr(CountNoise, "add_noise", whisper)
    mechanism = UniformGrid(noise="gaussian", epsilon=2.0)
    found = audit_plugin(mechanism, lambda name: SimulatedNoise(np.random.default_rng(len(name))), samples=1000)
    repeated = [pair for pair in found.pairs if pair.name.startswith("repeated")]
    assert [pair.refuted for pair in repeated] == [True, True]
    assert 2 < repeated[0].share < 4


def test_releases_are_repeated_until_they_lie_two_deviations_apart() -> None:
    assert count_repeats(RHO_1) == 83
    assert count_repeats(2.0) == 1
    for rho in (0.0, -1.0, 1e-9):
        with pytest.raises(UsageError, match="rho"):
            count_repeats(rho)


def test_nine_tenths_of_a_rho_are_certified_from_ten_thousand_samples() -> None:
    """As specified: .95 of ρ at N 1e4 for Gaussian noise. (False alarms: at most 5 % by the claim, fixed seed.)"""
    share, refuted = certify(sound_flows(RHO_1), 10_000)
    assert 0.9 <= share < 1
    assert share == pytest.approx(0.95, abs=0.04)
    assert not refuted


@pytest.mark.parametrize(
    ("samples", "gaussian", "any_release"), [(1000, 0.83, 0.5), (10_000, 0.95, 0.6), (100_000, 0.98, 0.65)]
)
def test_what_the_expected_hits_certify(samples: int, gaussian: float, any_release: float) -> None:
    """The specified shares, of hits as expected: Φ(±1) halfway; ½ and Φ(-2) at what the person makes expected."""
    hits = [round(0.8413447 * samples), round(0.1586553 * samples)]
    assert certify_gaussian(hits, samples, 2, 0.05) == pytest.approx(gaussian, abs=0.02)
    hits = [round(0.5 * samples), round(0.0227501 * samples)]
    assert certify_concentrated(hits, samples, 2, 0.05) == pytest.approx(any_release, abs=0.02)


def test_a_claim_that_is_not_about_gaussian_noise_is_certified_with_less() -> None:
    share, refuted = certify(sound_flows(RHO_1, gaussian=False), 4000)
    assert 0.4 < share < 0.75
    assert not refuted


def test_sound_flows_survive_as_often_as_promised() -> None:
    """A true claim survives an audit with probability 95 %: of 100 more than 14 refuted has probability 1.5e-4."""
    refuted = sum(certify(sound_flows(0.5), 1000, seed)[1] for seed in range(100))
    assert refuted <= 14


@pytest.mark.parametrize("broken", BROKEN_FLOWS, ids=lambda flow: flow.__name__)
def test_planted_defects_are_refuted(broken: object) -> None:
    flow = broken(RHO_1)  # type: ignore[operator]
    share, refuted = certify(flow)
    assert refuted
    assert 1 < share <= flow.ratio * 1.001


def test_repeated_pairs_show_six_times_the_claim_from_a_thousand_samples() -> None:
    """As specified: 6.1 of the 8 that eight trips in one cell spend."""
    assert certify(repeated_pairs(RHO_1))[0] == pytest.approx(6.1, abs=0.5)


def test_stays_across_midnight_spend_twice() -> None:
    assert [flow(RHO_1).ratio for flow in BROKEN_FLOWS][3] == 2.0


def test_pairs_share_the_error_and_answers_have_their_shape() -> None:
    sound = sound_flows(0.5).case
    alone, both = (
        audit_rho([sound] * number, lambda _: SimulatedNoise(np.random.default_rng(3)), samples=1000).pairs[0]
        for number in (1, 2)
    )
    assert both.certified < alone.certified
    with pytest.raises(GeodpError, match="rows of 3 answers were due"):
        certify(Flow(replace(sound, direction=np.ones(3)), 1.0))
    with pytest.raises(UsageError, match="--samples"):
        certify(sound_flows(0.5), 10)
    assert certify_gaussian([500, 500], 1000, 4, 0.05) == 0.0
    assert certify_concentrated([500, 500], 1000, 4, 0.05) == 0.0
