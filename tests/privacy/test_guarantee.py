import json
import math

import pytest

from geodp.privacy.guarantee import Guarantee, Neighbours, Trust, Unit

CENTRAL = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def test_the_sentence_names_what_is_hidden_from_whom_and_how_well() -> None:
    sentence = CENTRAL.sentence()
    for words in ("one worker's position at one instant", "trusted curator", "adding or removing", "ε = 0.3"):
        assert words in sentence


def test_a_guarantee_that_fails_says_so() -> None:
    broken = Guarantee(1.0, Unit.USER, Neighbours.REPLACE, Trust.CENTRAL, holds=False, why_not="the cap is observed")
    assert "DOES NOT HOLD: the cap is observed" in broken.sentence()
    assert "No privacy guarantee: exact counts" in Guarantee.none("exact counts").sentence()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        Guarantee(epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


@pytest.mark.parametrize("guarantee", [CENTRAL, Guarantee.none("exact counts are published")])
def test_guarantees_survive_json(guarantee: Guarantee) -> None:
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.as_dict(), allow_nan=False))) == guarantee
