"""Publications of trips: what they promise, what they cost, what comes out, and what they were called before."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.audit.certify import certify_epsilon
from geodp.audit.kinds import audit_plugin
from geodp.curator.publications.dpt import Dpt
from geodp.curator.publications.exact_trips import ExactTrips
from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.tree_model import TreeModel
from geodp.curator.synthesis.trip_model import TripModel
from geodp.curator.trips_publication import KIND_OF_VARIANT, TripModelPublication
from geodp.errors import DataError, NotReleasable, OldName
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.registry import Slot, plugin, plugins
from geodp.tables.trajectories.table import Trajectories, nobody
from tests.curator.synthesis.small_town import TOWN, polyline, trips
from tests.curator.synthesis.witness import Witness

METHODS = ("synthetic_trips", "dpt", "grid_markov", "ngram", "adaptive_markov", "second_order_markov")


class Recorder(SimulatedNoise):
    """Notes every Laplace draw: its scale and how many numbers it covers."""

    def laplace(self, scale: Any, size: int) -> Any:
        self.__dict__.setdefault("drawn", []).append((float(np.max(scale)), size))
        return super().laplace(scale, size)


def built(kind: str, **fields: Any) -> Any:
    """Return a publication with those of the fields that it has."""
    known = plugins("publication")[kind].model_fields
    return plugin(kind, **{name: value for name, value in fields.items() if name in known})


def simulated(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def counted(publication: TripModelPublication, world: Trajectories) -> Witness:
    noise: Any = simulated()
    witness = Witness(noise=noise, epsilons=publication.parts(), crowd=publication.crowd())
    publication.fit(publication.cap_trips(world, TOWN), TOWN, witness)
    return witness


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("unit", ["person", "trajectory"])
def test_all_noise_together_costs_what_the_guarantee_says(kind: str, unit: Any) -> None:
    publication = plugin(kind, unit=unit, epsilon=70.0, trajectories_per_person=4)
    noise = Recorder(np.random.default_rng(0))
    _, receipts = publication.release_with_receipts(trips(), TOWN, noise)
    drawn = noise.__dict__["drawn"]
    assert [(pytest.approx(receipt.scale), receipt.size) for receipt in receipts] == drawn
    assert sum(receipt.sensitivity / scale for receipt, (scale, _) in zip(receipts, drawn, strict=True)) == (
        pytest.approx(publication.guarantee().epsilon)
    )
    assert {receipt.part for receipt in receipts} == set(publication.parts())


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(("unit", "cap"), [("person", 3), ("trajectory", None), ("trajectory", 3)])
def test_nobody_changes_the_counts_by_more_than_was_paid_for(kind: str, unit: Any, cap: int | None) -> None:
    publication = built(kind, unit=unit, trajectories_per_person=cap, tokens_per_trajectory=8, baseline_cells=4)
    world = trips(people=8)
    whole = counted(publication, world)
    rng = np.random.default_rng(0)
    for who in range(5):
        if unit == "person":
            without = world.select(world.person != who)
        else:
            without = world.select(np.arange(world.size) != rng.integers(world.size))
        part_counts = counted(publication, without)
        assert part_counts.seen.keys() == whole.seen.keys() == publication.parts().keys()
        for part, values in whole.seen.items():
            paid = whole.scales[part] * publication.parts()[part]
            assert np.abs(values - part_counts.seen[part]).sum() <= paid + 1e-9, part


@pytest.mark.parametrize("kind", METHODS)
def test_the_stated_noise_is_the_noise_that_is_drawn(kind: str) -> None:
    """The noise on densities depends on a noisy bound, so it is stated per point."""
    publication = built(kind, epsilon=50.0, trajectories_per_person=3, tokens_per_trajectory=8)
    _, receipts = publication.release_with_receipts(trips(), TOWN, simulated())
    text, stated = publication.expected_error()
    drawn = {receipt.part: receipt.scale for receipt in receipts}
    assert {f"noise on {part}": scale for part, scale in drawn.items() if part != "density"} == pytest.approx(
        {name: scale for name, scale in stated.items() if "density" not in name}
    )
    assert float(text.split("±")[1].split()[0]) == pytest.approx(min(drawn.values()), rel=1e-3)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("epsilon", [1e-5, 1e-300, 5e-324])
def test_an_epsilon_that_would_fill_the_memory_with_noise_is_refused(kind: str, epsilon: float) -> None:
    with pytest.raises(ValueError, match="too small"):
        plugin(kind, epsilon=epsilon)


class Replayed(EpsilonParts):
    """Answers with what other parts drew, and notes the true counts: the second of two neighbours."""

    def __init__(self, publication: TripModelPublication, answers: dict[str, Any] | None = None) -> None:
        super().__init__(simulated(7), publication.parts(), publication.crowd())
        self.answers, self.known = answers or {}, answers is not None
        self.true: dict[str, Any] = {}

    def add_noise(self, part: str, values: Any, sensitivity: float = 1.0) -> Any:
        noisy = super().add_noise(part, values, sensitivity)
        self.true[part] = np.asarray(values, dtype=np.float64)
        if not self.known:
            self.answers[part] = noisy
        return self.answers[part].copy()


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("epsilon", [1.0, 200.0])
@pytest.mark.parametrize(("unit", "cap"), [("person", 2), ("trajectory", None), ("trajectory", 2)])
def test_given_the_same_answers_so_far_neighbours_differ_by_what_was_paid(
    kind: str, epsilon: float, unit: Any, cap: int | None
) -> None:
    """Grids, bounds and zones follow from noisy answers, so the bound must hold after every history of them."""
    publication = built(kind, epsilon=epsilon, unit=unit, trajectories_per_person=cap, baseline_cells=6)
    world = trips(people=8)
    for which in range(4):
        kept = world.person != which if unit == "person" else np.arange(world.size) != 5 * which
        for one, two in ((world, world.select(kept)), (world.select(kept), world)):
            first = Replayed(publication)
            publication.fit(publication.cap_trips(one, TOWN), TOWN, first)
            second = Replayed(publication, first.answers)
            publication.fit(publication.cap_trips(two, TOWN), TOWN, second)
            assert [receipt.sensitivity for receipt in first.receipts] == [
                receipt.sensitivity for receipt in second.receipts
            ]
            for receipt in first.receipts:
                change = np.abs(first.true[receipt.part] - second.true[receipt.part]).sum()
                assert change <= receipt.sensitivity + 1e-9, receipt.part


@pytest.mark.parametrize("kind", METHODS)
def test_nobody_a_single_point_and_a_crowd_in_one_place_can_be_published(kind: str) -> None:
    who = np.array([f"{number}" for number in range(50)], dtype=np.object_)
    point = Trajectories(who, np.array([0, 1]), np.array([0]), np.zeros(1), np.zeros(1), np.zeros(1))
    times = np.tile([0.0, 0.0, 9.0], 50)
    crowd = Trajectories(who, np.arange(0, 151, 3), np.arange(50), times, np.zeros(150), np.zeros(150))
    for world in (nobody(), point, crowd):
        for epsilon in (2.0, 100.0):
            released = built(kind, epsilon=epsilon, finest_m=800.0).release(world, TOWN, simulated())
            assert TOWN.contains(released.x_m, released.y_m).all()
            assert np.isfinite(released.time_s).all()


@pytest.mark.parametrize("kind", METHODS)
def test_trips_may_be_limited_to_their_ends(kind: str) -> None:
    released = plugin(kind, epsilon=20.0, most_points=2).release(trips(people=20), TOWN, simulated())
    assert released.size
    assert released.counts.max() <= 2


@pytest.mark.parametrize("kind", METHODS)
def test_every_point_lies_in_the_region_and_none_is_true(kind: str) -> None:
    world = trips()
    released = plugin(kind, epsilon=5.0).release(world, TOWN, simulated())
    assert TOWN.contains(released.x_m, released.y_m).all()
    assert not np.isin(released.x_m, world.x_m).any()
    assert not np.isin(released.y_m, world.y_m).any()
    assert (released.time_s >= 0).all()


@pytest.mark.parametrize("kind", METHODS)
def test_equal_seeds_give_equal_trips(kind: str) -> None:
    one, two, other = (
        plugin(kind, epsilon=20.0).release(trips(people=20), TOWN, simulated(seed)) for seed in (3, 3, 4)
    )
    assert np.array_equal(one.x_m, two.x_m)
    assert np.array_equal(one.time_s, two.time_s)
    assert not np.array_equal(one.x_m[:100], other.x_m[:100])


def test_with_a_large_epsilon_lengths_starts_and_times_are_the_empirical_ones() -> None:
    world = trips()
    publication = Dpt(epsilon=1e9, unit="trajectory", tokens_per_trajectory=1000)
    model = publication.fit(world, TOWN, _exact_parts(publication))
    assert isinstance(model, TreeModel)
    assert model.lengths.counts.sum() == pytest.approx(world.size)
    released = model.draw(np.random.default_rng(0))
    assert released.size == world.size
    assert released.counts.mean() == pytest.approx(world.counts.mean(), rel=0.05)
    assert np.sort(released.counts)[[20, 100, 180]] == pytest.approx(np.sort(world.counts)[[20, 100, 180]], abs=2)
    middle = np.median(np.mod(world.departures_s, 86_400.0))
    assert np.median(np.mod(released.departures_s, 86_400.0)) == pytest.approx(middle, abs=1800)


def test_with_a_large_epsilon_trips_keep_their_lengths_ends_and_densities() -> None:
    """Every score is what two halves of the same data would give, or better; discretisation is all that is left."""
    from geodp.run_folder.trip_scores import density_jsd, diameter_jsd, length_jsd, path_length_ratio, trip_jsd

    world = trips(people=400)
    released = SyntheticTrips(epsilon=1e9, unit="trajectory").release(world, TOWN, simulated())
    assert released.size == world.size
    for score, most in ((length_jsd, 0.01), (diameter_jsd, 0.01), (density_jsd, 0.05), (trip_jsd, 0.1)):
        assert score(world, released, TOWN) == pytest.approx(0.0, abs=most), score.__name__
    assert path_length_ratio(world, released, TOWN) == pytest.approx(1.0, abs=0.03)


def test_without_noise_the_model_of_trips_is_the_empirical_one() -> None:
    world = trips()
    publication = SyntheticTrips(epsilon=1e9, unit="trajectory")
    model = publication.fit(world, TOWN, _exact_parts(publication))
    assert isinstance(model, TripModel)
    assert model.number == world.size
    grid = model.density.grid
    weights = np.minimum(1.0, model.density.bound / world.counts)[world.owner]
    true = np.bincount(grid.locate(world.x_m, world.y_m), weights, grid.size)
    assert np.allclose(model.density.share, true / true.sum(), atol=1e-4)
    zones = model.ends.zones
    first, last = world.first[:-1], world.first[1:] - 1
    pair = zones.of(world.x_m[first], world.y_m[first]) * zones.count + zones.of(world.x_m[last], world.y_m[last])
    assert np.allclose(model.ends.trips.ravel(), np.bincount(pair, minlength=zones.count**2), atol=1e-3)
    edges = model.shapes.length_edges_m
    lengths = np.bincount(np.searchsorted(edges, world.lengths_m, side="right") - 1, minlength=edges.size - 1)
    assert np.allclose(model.shapes.counts.sum(axis=1), lengths, atol=1e-3)


def _exact_parts(publication: TripModelPublication) -> Any:
    return EpsilonParts(simulated(), publication.parts(), publication.crowd())


def test_the_guarantee_names_its_unit() -> None:
    assert SyntheticTrips().guarantee().unit is Unit.USER
    trip = SyntheticTrips(unit="trajectory", trajectories_per_person=6).guarantee()
    assert trip.unit is Unit.TRAJECTORY
    assert trip.for_users(6).epsilon == 6.0
    assert "one trip" in trip.sentence()
    assert ExactTrips().guarantee().unit is Unit.NOTHING


def test_the_parts_add_up_to_epsilon() -> None:
    for kind in METHODS:
        parts = plugin(kind, epsilon=0.3).parts()
        assert sum(parts.values()) == pytest.approx(0.3)
        assert math.fsum(parts.values()) <= 0.3


def test_trips_as_they_are_must_not_leave_the_house() -> None:
    released = ExactTrips(trajectories_per_person=None).release(trips(), TOWN, simulated())
    assert released.points == trips().points
    with pytest.raises(NotReleasable, match="promises nothing"):
        ExactTrips().release(trips(), TOWN, SimulatedNoise(np.random.default_rng(0), releasable=True))


def test_points_outside_the_region_are_refused() -> None:
    with pytest.raises(DataError, match="outside the region"):
        SyntheticTrips().release(polyline((0.0, 0.0), (90_000.0, 0.0)), TOWN, simulated())


@pytest.mark.slow
@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("unit", ["person", "trajectory"])
def test_the_canary_audit_does_not_refute_it(kind: str, unit: Any) -> None:
    audit = audit_plugin(plugin(kind, unit=unit), lambda _: simulated(1), samples=5_000)
    assert not audit.refuted
    assert any(pair.findings for pair in audit.pairs)


class Unpaid(SyntheticTrips):
    """Pays for two trips of a person and counts ten: a planted defect."""

    def crowd(self) -> int:
        return 2


def test_a_release_that_does_not_pay_for_all_trips_of_a_person_is_refuted() -> None:
    assert audit_plugin(Unpaid(), lambda _: simulated(1), samples=5_000).refuted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["synthetic_trips", "dpt"])
def test_synthetic_trips_tell_no_more_about_a_canary_than_epsilon_allows(kind: str) -> None:
    """The whole release, 300 times with and without a person who waits in an empty corner."""
    others = trips(people=6, each=2, points=6)
    corner = polyline(*[(3000.0, 3000.0)] * 18)
    x_m, y_m = (np.concatenate([getattr(one, name) for one in (others, corner)]) for name in ("x_m", "y_m"))
    world = Trajectories(
        np.append(others.people, "the canary"),
        np.append(others.first, others.points + 18),
        np.append(others.person, len(others.people)),
        np.concatenate([others.time_s, corner.time_s]),
        x_m,
        y_m,
    )
    publication = built(kind, epsilon=2.0, trajectories_per_person=2, finest_m=800.0, levels=2, most_points=20)

    def hits(data: Trajectories, seed: int) -> int:
        count = 0
        for number in range(300):
            released = publication.release(data, TOWN, simulated(seed + number))
            count += bool(((released.x_m > 2500) & (released.y_m > 2500)).any())
        return count

    seen, unseen = hits(world, 10_000), hits(others, 50_000)
    assert certify_epsilon(seen, 300, unseen, 300, alpha=1e-6) <= 2.0


@pytest.mark.parametrize(("variant", "kind"), KIND_OF_VARIANT.items())
def test_a_variant_of_version_0_1_still_works_and_says_what_to_write(variant: str, kind: str) -> None:
    with pytest.warns(OldName, match=f"variant: {variant} is a publication of its own: write kind: {kind}"):
        old = Slot("publication").build({"kind": "dpt", "variant": variant, "trajectories_per_person": 4})
    assert old == plugin(kind, trajectories_per_person=4)


@pytest.mark.parametrize("variant", KIND_OF_VARIANT)
def test_a_resolved_variant_of_version_0_1_states_fields_that_it_never_read(variant: str) -> None:
    resolved = {"variant": variant, "unit": "person", "trajectories_per_person": None, "finest_m": 100.0, "levels": 6}
    resolved |= {"epsilon": 1.0, "baseline_cells": 16, "most_points": 1000, "tokens_per_trajectory": 20.0}
    with pytest.warns(OldName):
        old = Slot("publication").build({"kind": "dpt", **resolved})
    # The default of the fields that trees did read, and still read, is another today: what is stated stands.
    read = {"tokens_per_trajectory": 20.0} if "tokens_per_trajectory" in type(old).model_fields else {}
    assert old == plugin(KIND_OF_VARIANT[variant], **read)


def test_a_variant_that_never_was_and_fields_without_effect_are_refused() -> None:
    with pytest.raises(ValidationError, match="no variant called 'gedp'.*Did you mean 'geodp'"):
        plugin("dpt", variant="gedp")
    with pytest.raises(ValidationError, match="levels has no effect in synthetic_trips: leave it out"):
        plugin("dpt", variant="geodp", levels=3)
    for kind, field in (("synthetic_trips", "levels"), ("dpt", "baseline_cells"), ("ngram", "order")):
        with pytest.raises(ValidationError, match=field):
            plugin(kind, **{field: 3})
    with pytest.raises(ValidationError, match="epsilon"):
        plugin("exact_trips", epsilon=1.0)
