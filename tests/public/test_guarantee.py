import json
import math

import pytest

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

CENTRAL = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)
VISIT = Guarantee(0.1, Unit.EVENT, Neighbours.ADD_REMOVE, Trust.CENTRAL)
PLACE = Guarantee.per_metre(0.005)


def test_the_sentence_names_what_is_hidden_from_whom_and_how_well() -> None:
    sentence = CENTRAL.sentence()
    for words in ("one worker's position at one instant", "trusted curator", "adding or removing", "ε = 0.3"):
        assert words in sentence


def test_the_sentence_of_a_reported_place_is_about_distances() -> None:
    assert PLACE.sentence() == (
        "Hides one reported place from everyone, with no trusted party: places d metres apart (as the crow flies) "
        "change the odds of any output by a factor of at most exp(0.005·d)."
    )
    assert "exp(0.005·(d + 70.71))" in Guarantee.per_metre(0.005, extra_m=50 * math.sqrt(2)).sentence()


def test_delta_is_explained_and_a_local_promise_trusts_nobody() -> None:
    both = Guarantee(1.0, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6)
    assert "δ = 1e-06 (δ: the probability with which more may be disclosed)" in both.sentence()
    local = Guarantee(1.0, Unit.ITEM, Neighbours.REPLACE, Trust.LOCAL)
    assert "one item of one person's history from everyone, with no trusted party: replacing it" in local.sentence()


def test_a_guarantee_that_fails_says_so() -> None:
    broken = Guarantee(1.0, Unit.USER, Neighbours.REPLACE, Trust.CENTRAL, holds=False, why_not="the cap is observed")
    assert "DOES NOT HOLD: the cap is observed" in broken.sentence()
    assert "No privacy guarantee: exact counts" in Guarantee.none("exact counts").sentence()
    with pytest.raises(ValueError, match="say why not"):
        Guarantee(1.0, Unit.USER, Neighbours.REPLACE, Trust.CENTRAL, holds=False)


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, math.inf, math.nan])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        Guarantee(epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_impossible_deltas_are_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        Guarantee(1.0, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=delta)


@pytest.mark.parametrize("guarantee", [CENTRAL, PLACE, Guarantee.none("exact counts are published")])
def test_guarantees_survive_json(guarantee: Guarantee) -> None:
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.as_dict(), allow_nan=False))) == guarantee


def test_visits_become_users_by_the_public_cap() -> None:
    user = VISIT.for_users(20)
    assert (user.unit, user.epsilon) == (Unit.USER, 2.0)
    assert user.for_users(5) is user
    for cap in (0, -1, 2.5, True):
        with pytest.raises(UsageError, match="whole number of at least 1"):
            VISIT.for_users(cap)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="does not become one about users"):
        PLACE.for_users(3)


def test_group_privacy_inflates_delta() -> None:
    """(ε, δ) for one visit is (mε, δ(1 + e^ε + … + e^((m-1)ε))) for m of them."""
    visit = Guarantee(0.5, Unit.EVENT, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6)
    expected = 1e-6 * (1 + math.exp(0.5) + math.exp(1.0))
    assert visit.for_users(3).delta == pytest.approx(expected)
    assert not visit.for_users(60).holds  # delta would exceed 1


def test_replacing_is_removing_and_adding() -> None:
    replaced = CENTRAL.for_replacement()
    assert (replaced.epsilon, replaced.neighbours) == (0.6, Neighbours.REPLACE)
    assert replaced.for_replacement() is replaced
    with pytest.raises(UsageError, match="add/remove"):
        PLACE.for_replacement()


def test_n_reports_cost_n_epsilon() -> None:
    ten = PLACE.repeat(10)
    assert ten.epsilon == 0.05
    assert ten.at_distance(100.0) == pytest.approx(10 * PLACE.at_distance(100.0))
    assert CENTRAL.repeat(3).epsilon == 0.9
    with pytest.raises(UsageError, match="whole number"):
        PLACE.repeat(0)


def test_rounding_the_true_place_adds_to_every_distance_but_none() -> None:
    snapped = Guarantee.per_metre(0.01, extra_m=70.0)
    assert snapped.at_distance(30.0) == pytest.approx(1.0)
    assert snapped.at_distance(0.0) == 0.0
    with pytest.raises(UsageError, match="reported places"):
        CENTRAL.at_distance(1.0)


def test_reports_together_keep_the_term_that_rounding_adds() -> None:
    """Places are rounded before the noise: of twelve reports, each distance may grow by √2 cells."""
    promise = Guarantee.per_metre(0.01, extra_m=70.71)
    said = promise.together(12, "All 12 reports of one phone")
    assert said == (
        "All 12 reports of one phone together cost ε = 0.12 per metre: tracks that are nowhere further apart than d "
        "metres change the odds by a factor of at most exp(0.12·(d + 70.71))."
    )
    assert "exp(0.01·(d + 70.71))" in promise.sentence()


def test_nothing_is_said_about_reports_together_where_nothing_is_promised() -> None:
    assert Guarantee.none("raw places").together(3, "All") == ""


def test_a_memoised_promise_survives_being_written() -> None:
    promise = Guarantee.per_metre(0.01, memoised=True)
    assert Guarantee.from_dict(promise.as_dict()) == promise
