"""The auditor compares the exact laws of answers about cells, and draws some: what claims too little is refuted."""

from dataclasses import replace

import pytest

from geodp.audit.kinds import audit_plugin, noise_by_name, random_pairs_of
from geodp.device.cell_response import CellResponse
from geodp.geometry import Region
from geodp.public.cell_laws import PROTOCOLS
from geodp.public.guarantee import Guarantee


class Braggart(CellResponse):
    """Answers as with ε = 1, and claims 0.8."""

    def guarantee(self, region: Region | None = None) -> Guarantee:
        return replace(super().guarantee(region), epsilon=0.8)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_passes_with_its_exact_law(protocol: str) -> None:
    phone = CellResponse.model_validate({"protocol": protocol})
    more = random_pairs_of(phone, {"": phone}, 0, 8)
    audit = audit_plugin(phone, noise_by_name("simulate", 0), samples=20_000, more_pairs=more)
    assert not audit.refuted
    assert not audit.not_followed
    exact = [pair.exact for pair in audit.pairs]
    assert exact == pytest.approx([1.0] * 11)
    assert max(pair.certified for pair in audit.pairs) > 0.5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_epsilon_that_is_claimed_too_small_is_refuted(protocol: str) -> None:
    phone = Braggart.model_validate({"protocol": protocol})
    pairs = random_pairs_of(phone, {"": phone}, 0, 4)
    audit = audit_plugin(phone, noise_by_name("simulate", 0), samples=1000, more_pairs=pairs)
    assert audit.refuted
