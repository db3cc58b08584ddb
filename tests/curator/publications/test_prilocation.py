"""PriLocation: exact enumeration, what depends on what, modes, baselines, bad input."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import geodp
from geodp.audit.certify import exact_epsilon
from geodp.audit.kinds import audit_kind, audit_plugin, noise_by_name
from geodp.curator.publications.k_anonymous_visits import KAnonymousVisits, groups_of
from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.venue_clusters import cluster_around, cluster_venues, fill_slots
from geodp.errors import DataError, NotReleasable, UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.run_folder.visit_scores import match_people
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from geodp.tables.visits.hierarchy import hierarchy_of
from geodp.tables.visits.histories import Histories, Venues
from tests.curator.publications.prilocation_law import exact_law, toy_profiles, toy_town, worst_visit
from tests.tables.visits.tables import distance_error, same_unit_share


@pytest.fixture(scope="module")
def town() -> tuple[Histories, Venues]:
    return generate_histories(Sizes(people=200, visits=40, venues=1200), np.random.default_rng(4))


def noise(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def error_of(town: tuple[Histories, Venues], **fields: object) -> float:
    histories, venues = town
    mechanism = PriLocation.model_validate({"level": "district", **fields})
    _, truth = mechanism.release_with_truth(histories, venues, noise())
    hierarchy = hierarchy_of(venues)
    return distance_error(truth, hierarchy, hierarchy.sensitivity_m("district"))


@pytest.mark.parametrize(("epsilon", "worst"), [(0.5, 0.191), (1.0, 0.381), (4.0, 1.524)])
def test_exact_enumeration_stays_within_the_budget_of_weights_and_selection(epsilon: float, worst: float) -> None:
    """Six places, two clusters, all histories of at most three visits and one more: at most ε/2 is allowed."""
    mechanism = PriLocation(epsilon=epsilon, spare="keep", level="street", cap=None)
    spent = worst_visit(mechanism)[0]
    assert spent == pytest.approx(worst, abs=5e-4)
    assert spent <= epsilon / 2
    assert mechanism.guarantee().epsilon == epsilon / 2


class OneVisit(PriLocation):
    """Planted: under a cap the noise is that for one changed visit."""

    def count_changed_visits(self) -> int:
        return 1


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_visit_that_pushes_another_out_of_the_cap_stays_within_the_budget(epsilon: float) -> None:
    """Under a cap, neighbouring histories differ by a replacement: noise for one visit spends 1.5ε here."""
    spent, shorter, longer = worst_visit(PriLocation(epsilon=epsilon, cap=2, level="street"), 2)
    assert len(longer) == len(shorter) + 1 == 3
    assert 0.7 * epsilon < spent <= epsilon
    planted = OneVisit(epsilon=epsilon, cap=2, level="street")
    assert worst_visit(planted, 2)[0] > 1.4 * epsilon
    unbounded = PriLocation(epsilon=epsilon, cap=None, level="street")
    assert worst_visit(unbounded, 2)[0] <= epsilon
    assert unbounded.count_changed_visits() == 1


@pytest.mark.parametrize("fields", [{}, {"variant": "em_local"}, {"clustering": "dplloyd"}])
def test_the_auditor_refutes_a_cap_that_is_not_paid_for(fields: dict[str, object]) -> None:
    planted = OneVisit.model_validate({"epsilon": 1.0, **fields})
    assert audit_plugin(planted, noise_by_name("simulate", 0), samples=20_000).refuted


def test_the_cap_looks_at_each_persons_own_visits_alone() -> None:
    """Adding, removing or moving rows of one person never changes which rows of another are kept."""
    rng = np.random.default_rng(7)
    people = np.array(["a", "b", "c"], dtype=np.object_)
    person, venue = rng.integers(0, 3, 60), rng.integers(0, 9, 60)
    whole = Histories(people, person, venue).keep_at_most(5)
    assert np.bincount(whole.person).tolist() == [5, 5, 5]
    for someone in range(3):
        others = person != someone
        rest = Histories(people, person[others], venue[others]).keep_at_most(5)
        for other in {0, 1, 2} - {someone}:
            assert np.array_equal(rest.venue[rest.person == other], whole.venue[whole.person == other])


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=12), st.integers(0, 4), st.integers(0, 12), st.binary(min_size=8, max_size=8)
)
def test_one_visit_more_takes_the_place_of_at_most_one(venues: list[int], more: int, at: int, key: bytes) -> None:
    """Wherever in the file it stands: what is kept is a matter of how often one was where, not of the order."""

    def kept(visited: list[int]) -> Counter[int]:
        person = np.zeros(len(visited), dtype=np.int64)
        one = Histories(np.array(["a"], dtype=np.object_), person, np.array(visited, dtype=np.int64))
        return Counter(one.keep_at_most(4, key).venue.tolist())

    before, after = kept(venues), kept([*venues[:at], more, *venues[at:]])
    assert (after - before).total() <= 1
    assert (before - after).total() <= 1
    assert kept(venues[::-1]) == before


def test_a_cap_under_a_promise_per_metre_does_not_look_at_places() -> None:
    mechanism = PriLocation(variant="geoind_em", cap=3)
    people, person = np.array(["a"], dtype=np.object_), np.zeros(20, dtype=np.int64)
    places = np.random.default_rng(0).integers(0, 9, (5, 20))
    kept = [mechanism.cap_visits(Histories(people, person, venue, np.arange(20.0)), b"key") for venue in places]
    assert len({str(one.time_s) for one in kept}) == 1


def test_late_visits_are_kept_as_often_as_early_ones() -> None:
    """4,000 people keep 5 of 10 visits, the first five in the east: 10,000 of each, σ = 53 for both; 5.5 σ: 4e-8."""
    number = np.repeat(np.arange(4000), 10)
    venue = np.tile(np.arange(10), 4000)
    people = np.array([f"p{one}" for one in range(4000)], dtype=np.object_)
    for blind in (False, True):
        kept = Histories(people, number, venue).keep_at_most(5, b"some key", blind=blind)
        assert kept.size == 20_000
        assert abs(np.count_nonzero(kept.venue < 5) - 10_000) < 5.5 * 53


def test_the_own_places_as_candidates_spend_without_bound() -> None:
    assert worst_visit(PriLocation(variant="literal", level="street"), 1)[0] == math.inf


def test_a_whole_user_is_hidden_when_the_noise_is_scaled_by_the_cap() -> None:
    mechanism = PriLocation(unit="user", cap=3, level="street")
    empty = exact_law(mechanism, ())
    worst = max(exact_epsilon(exact_law(mechanism, profile), empty) for profile in toy_profiles(3))
    assert worst <= 1.0
    event = PriLocation(cap=None, level="street")
    assert max(exact_epsilon(exact_law(event, profile), exact_law(event, ())) for profile in toy_profiles(3)) > 1.5


def test_the_enumeration_is_the_law_of_the_code() -> None:
    """Frequencies of 40,000 releases against the exact law: G-test-free bound, 6 standard errors everywhere."""
    mechanism = PriLocation(level="street", epsilon=2.0)
    hierarchy, clusters = toy_town()
    samples, profile = 40_000, np.array([0, 2])
    visits = Histories(
        np.arange(samples).astype(np.object_), np.repeat(np.arange(samples), 2), np.tile(profile, samples)
    )
    released, _ = mechanism.move_visits(visits, clusters, hierarchy, noise())
    counts = np.bincount(released.person * 6 + released.venue, minlength=6 * samples).reshape(-1, 6)[:, :3]
    law = exact_law(mechanism, (0, 2))
    seen, index = np.zeros(law.size), 0
    for n in range(4):
        for first in range(n + 1):
            for second in range(n + 1 - first):
                seen[index] = np.mean((counts == [first, second, n - first - second]).all(axis=1))
                index += 1
    spread = np.sqrt(law[:index] / samples)
    assert np.all(np.abs(seen[:index] - law[:index]) < 6 * spread)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"unit": "user"},
        {"variant": "em_local"},
        {"clustering": "dplloyd"},
        {"clustering": "dplloyd", "unit": "user"},
        {"clustering": "dplloyd", "cap": None},
        {"cap": None},
        {"cap": 1},
    ],
)
def test_the_auditor_does_not_refute_it(fields: dict[str, object]) -> None:
    assert not audit_kind("prilocation", fields, samples=8000).refuted


@pytest.mark.parametrize("fields", [{"variant": "geoind_em"}])
def test_the_metric_variant_is_not_refuted_and_counts_per_metre(fields: dict[str, object]) -> None:
    assert not audit_kind("prilocation", fields, samples=8000).refuted
    assert PriLocation.model_validate(fields).guarantee().unit is Unit.POINT


@pytest.mark.slow
def test_the_auditor_refutes_the_printed_candidates() -> None:
    assert audit_kind("prilocation", {"variant": "literal"}, samples=2000).refuted


@pytest.mark.slow
def test_the_auditor_does_not_pass_the_printed_centres() -> None:
    assert audit_kind("prilocation", {"clustering": "literal"}, samples=2000).not_followed
    assert not audit_kind("prilocation", {}, samples=2000).not_followed


@pytest.mark.slow
def test_the_auditor_refutes_the_printed_centres() -> None:
    centres = audit_kind("prilocation", {"clustering": "literal"}, samples=2000)
    assert any(pair.refuted for pair in centres.pairs if pair.transcript is not None), "whole releases tell"


def test_answers_alone_refute_noise_that_is_too_small() -> None:
    """Planted, noise a fourth as wide: samples of what was asked tell; at its own width nothing is refuted."""

    class Narrow(PriLocation):
        def count_changed_visits(self) -> int:
            return 0.25  # type: ignore[return-value]

    for mechanism, refuted in ((Narrow(cap=None), True), (PriLocation(cap=None), False)):
        report = audit_plugin(mechanism, noise_by_name("simulate", 0), samples=20_000)
        assert any(pair.refuted for pair in report.pairs if pair.findings) is refuted


@pytest.mark.parametrize("fields", [{"variant": "literal"}, {"clustering": "literal"}])
def test_what_is_not_private_says_so_and_is_never_released(
    town: tuple[Histories, Venues], fields: dict[str, object]
) -> None:
    mechanism = PriLocation.model_validate({"clusters": 5, **fields})
    assert not mechanism.guarantee().holds
    with pytest.raises(NotReleasable, match="not private"):
        mechanism.release(*town, SimulatedNoise(np.random.default_rng(0), releasable=True))
    assert mechanism.release(*town, noise()).venue.size > 0


def test_the_error_falls_with_the_number_of_clusters_and_hardly_with_epsilon(town: tuple[Histories, Venues]) -> None:
    """Eq. (12.16) gives odds within e^(ε/8): at ε = 1 the draw is all but uniform, so ε cannot bring the error down."""
    errors = [error_of(town, clusters=number) for number in (1, 10, 40, 80)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 5 * errors[1] > 10 * errors[3]
    small, large = (error_of(town, clusters=40, epsilon=epsilon) for epsilon in (0.1, 1.0))
    assert abs(large / small - 1) < 0.05
    assert "hardly on ε" in PriLocation.section("Reference"), "the user is told why the book's trend is not found"
    method = PriLocation(spare="keep", cap=None)
    assert math.exp(method.budgets()[2] / method.count_changed_visits() / 2) == pytest.approx(math.exp(1 / 8))


def test_the_local_sensitivity_and_the_metric_variant_stay_nearer(town: tuple[Histories, Venues]) -> None:
    assert error_of(town, clusters=40, variant="em_local", epsilon=10) < error_of(town, clusters=40, epsilon=10)
    assert error_of(town, variant="geoind_em", epsilon_per_m=0.01) < error_of(town, clusters=40)


def test_numbers_of_slots_are_exactly_the_noisy_counts() -> None:
    """Noise that adds 2 everywhere appends the nearest venue twice; noise that takes 1 off removes the farthest."""

    class Fixed(SimulatedNoise):
        def geometric(self, scale: object, size: int) -> np.ndarray:
            return np.full(size, int(self.mode))

    x_m, y_m = np.array([0.0, 10.0, 50.0, 1000.0]), np.zeros(4)
    clusters = cluster_around(x_m, y_m, np.array([8.0, 1000.0]), np.zeros(2))
    visits = Histories(np.array(["u"], dtype=np.object_), np.zeros(3, dtype=np.int64), np.array([2, 0, 1]))
    more = fill_slots(visits, clusters, Fixed(np.random.default_rng(0), mode="2"), scale=1.0)
    assert sorted(more.venue.tolist()) == [0, 1, 1, 1, 2, 3, 3]
    assert more.survived.sum() == 3
    fewer = fill_slots(visits, clusters, Fixed(np.random.default_rng(0), mode="-1"), scale=1.0)
    assert sorted(fewer.venue.tolist()) == [0, 1]


def test_public_clusters_do_not_depend_on_visits_and_cost_nothing(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    other = Histories(histories.people, histories.person[:0], histories.venue[:0])
    mechanism = PriLocation(clusters=20)
    first = mechanism.release(histories, venues, noise()).cluster
    second = mechanism.release(other, venues, noise()).cluster
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)
    assert mechanism.budgets() == (0.0, 0.5, 0.5)
    assert PriLocation(clustering="dplloyd").budgets() == (0.5, 0.25, 0.25)


def test_the_output_is_sorted_so_its_order_tells_nothing(town: tuple[Histories, Venues]) -> None:
    released = PriLocation(clusters=20).release(*town, noise())
    assert np.all(np.diff(released.person * 1200 + released.venue) >= 0)


def test_personal_levels_change_the_selection_of_that_person_only(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    hierarchy = hierarchy_of(venues)
    clusters = cluster_venues(hierarchy.x_m, hierarchy.y_m, 40)
    slots = fill_slots(histories, clusters, noise(), scale=2.0)
    mechanism = PriLocation(level="district", personal_levels={"person-00003": "city"})
    plain = PriLocation(level="district").rates_per_m(slots, histories, clusters, hierarchy)
    personal = mechanism.rates_per_m(slots, histories, clusters, hierarchy)
    assert np.all((plain != personal) == (slots.person == 3))
    assert np.all(personal[slots.person == 3] < plain[slots.person == 3])


def test_places_stay_in_their_city_and_hiding_visits_hides_nobody(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    released, truth = PriLocation(clusters=80, level="district", epsilon=4.0).release_with_truth(
        histories, venues, noise()
    )
    assert same_unit_share(truth, hierarchy_of(venues), "city") > 0.95
    assert match_people(histories, released, venues).share() > 0.5
    hidden = PriLocation(clusters=80, unit="user", level="district").release(histories, venues, noise())
    assert match_people(histories, hidden, venues).share() < 0.05


def test_noisy_k_means_finds_the_crowds() -> None:
    rng = np.random.default_rng(2)
    x_m = np.concatenate([rng.normal(-5000, 100, 50), rng.normal(5000, 100, 50)])
    y_m = rng.normal(0, 100, 100)
    from geodp.curator.venue_clusters import cluster_visits

    visited = rng.integers(0, 100, 20_000)
    found = cluster_visits(x_m, y_m, visited, 2, noise(3), epsilon=1.0, rounds=5)
    assert sorted(np.round(found.x_m / 1000).tolist()) in ([-5.0, 5.0], [-5.0], [5.0])
    assert found.label.size == 100


def test_groups_of_k_hold_k_to_2k_minus_1_and_larger_groups_err_more(town: tuple[Histories, Venues]) -> None:
    rng = np.random.default_rng(0)
    sizes = np.bincount(groups_of(rng.random(1000), rng.random(1000), np.arange(1000), 10))
    assert sizes.min() >= 10
    assert sizes.max() < 20
    histories, venues = town
    hierarchy = hierarchy_of(venues)
    errors = [
        distance_error(KAnonymousVisits(k=k).release_with_truth(histories, venues, noise())[1], hierarchy, 1000.0)
        for k in (1, 10, 50)
    ]
    assert errors[0] == pytest.approx(0.0, abs=1e-9)
    assert errors[1] < errors[2]


def test_groups_are_of_k_people_not_of_k_visits(town: tuple[Histories, Venues]) -> None:
    """A regular guest who comes a hundred times is one person: nine others have to stand with her."""
    rng = np.random.default_rng(1)
    x_m, y_m = np.append(np.full(100, 0.9), rng.random(300)), np.append(np.full(100, 0.9), rng.random(300))
    person = np.append(np.zeros(100, dtype=np.int64), 1 + np.arange(300) // 3)
    group = groups_of(x_m, y_m, person, 10)
    for one in range(group.max() + 1):
        assert np.unique(person[group == one]).size >= 10
    histories, venues = town
    released = KAnonymousVisits(k=10).release(histories, venues, noise())
    places = np.unique(np.column_stack([released.x_m, released.y_m]), axis=0, return_inverse=True)[1].ravel()
    assert min(np.unique(released.person[places == one]).size for one in range(places.max() + 1)) >= 10
    few = histories.choose_people(np.arange(4))
    with pytest.raises(DataError, match="4 people make no group of k = 10"):
        KAnonymousVisits(k=10).release(few, venues, noise())


def test_bad_input_is_refused_before_anything_is_drawn(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    with pytest.raises(UsageError, match="2000 clusters are more than the 1200 venues"):
        PriLocation(clusters=2000).release(histories, venues, noise())
    with pytest.raises(ValidationError, match="at least 1, got 0"):
        PriLocation(cap=0)
    with pytest.raises(ValidationError, match="unit: user needs a cap"):
        PriLocation(unit="user", cap=None)
    with pytest.raises(ValidationError, match="add up to 1"):
        PriLocation(weights_share=0.5)
    with pytest.raises(UsageError, match="no level called 'distric'"):
        PriLocation(level="distric").release(histories, venues, noise())
    with pytest.raises(UsageError, match="nobody is called 'x'"):
        PriLocation(personal_levels={"x": "city"}).require_people(histories.people)
    with pytest.raises(DataError, match="not in the public list"):
        PriLocation().release(Histories(histories.people, np.array([0]), np.array([-1])), venues, noise())


def test_nobodys_level_follows_from_who_else_is_there() -> None:
    """Levels are drawn by name: 3,000 of 10,000 within 5.5 σ = 252 (false alarms: 4e-8), and each alone as with all."""
    people = np.array([f"person {number}" for number in range(10_000)], dtype=np.object_)
    mechanism = PriLocation(level="street", level_shares={"city": 0.3})
    together = dict(zip(people, mechanism.levels_of(people), strict=True))
    assert abs(sum(level == "city" for level in together.values()) - 3000) < 5.5 * 45.9
    some = people[::-1][::7]
    assert mechanism.levels_of(some) == [together[name] for name in some]
    other = PriLocation(level="street", level_shares={"city": 0.3}, public_seed=1)
    assert other.levels_of(people) != list(together.values())


def test_it_is_found_by_its_name() -> None:
    assert geodp.plugin("prilocation", epsilon=0.5).epsilon == 0.5


def test_people_choose_their_level_by_name_or_by_lot_and_errors_follow() -> None:
    histories, venues = generate_histories(Sizes(people=300, visits=20, venues=300), np.random.default_rng(3))
    hierarchy = hierarchy_of(venues)
    device = PriLocation(level="street", level_shares={"city": 0.3}, personal_levels={"person-00000": "district"})
    levels = device.levels_of(histories.people)
    assert levels[0] == "district"
    assert 50 < levels.count("city") < 130  # 300 draws at 0.3: 90 ± 40 is 5 standard deviations
    assert levels == device.levels_of(histories.people), "the lot is public: it does not change"
    wide = device.sensitivities_m(histories.people, hierarchy)
    assert {round(value) for value in wide} == {
        round(hierarchy.sensitivity_m(level)) for level in ("street", "district", "city")
    }
    with pytest.raises(UsageError, match="no level called 'town'"):
        PriLocation(level_shares={"town": 0.1}).check(histories, venues, hierarchy)
    with pytest.raises(ValidationError, match="add up to 1.2"):
        PriLocation(level_shares={"city": 0.6, "street": 0.6})


def test_stated_noise_of_the_numbers_is_what_is_measured(town: tuple[Histories, Venues]) -> None:
    """4,000 people who were nowhere, or fifty times at one venue: standard errors are below 1 %, so 6 % is six."""
    _, venues = town
    mechanism = PriLocation(epsilon=1.0, level="district", cap=60, clusters=10)
    _, stated = mechanism.expected_error(hierarchy_of(venues))
    people = np.array([f"p{number}" for number in range(4000)], dtype=np.object_)
    person = np.repeat(np.arange(2000), 50)
    histories = Histories(people, person, np.zeros(person.size, dtype=np.int64))
    released, _ = mechanism.release_with_truth(histories, venues, noise())
    clusters = cluster_venues(*venues.places_m(), 10, seed=mechanism.public_seed)
    told = np.zeros((4000, clusters.size))
    np.add.at(told, (released.person, clusters.label[released.venue]), 1)
    own = clusters.label[0]
    assert np.abs(told[:2000, own] - 50).mean() == pytest.approx(stated["count_noise"], rel=0.12)
    made_up = stated["made_up_visits_per_unvisited_cluster"]
    assert told[2000:].mean() == pytest.approx(made_up, rel=0.06)
