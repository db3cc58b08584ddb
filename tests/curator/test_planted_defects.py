"""Defects planted in mechanisms and publications themselves: `geodp audit` finds every one, and none without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import geodp.curator.accuracy as paid_file
import geodp.curator.count_noise as count_noise_file
import geodp.curator.mechanisms.dawa as dawa_file
import geodp.curator.mechanisms.privtree as privtree_file
import geodp.curator.publications.dpsense as dpsense_file
import geodp.curator.publications.fourier_counts as fourier_file
import geodp.curator.publications.grouping_smoothing as grouping_file
import geodp.curator.publications.laplace_counts as laplace_file
import geodp.curator.publications.uniform as uniform_file
import geodp.curator.synthesis.epsilon_parts as epsilon_parts_file
import geodp.curator.synthesis.trip_model as trips_file
import geodp.curator.venue_clusters as clusters_file
import geodp.curator.venue_clusters as selection_file
import geodp.device.history_reports.epicrec as epicrec_file
import geodp.device.planar_geometric as geometric_file
from geodp.audit.kinds import audit_kind
from geodp.curator.counts_publication import count_capped
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.hierarchical_grid import HierarchicalGrid
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.curator.publications.zeros import Zeros
from geodp.curator.synthesis.densities import count_density, count_points
from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS, count_trip_ends
from geodp.curator.synthesis.trip_model import NUMBER
from geodp.curator.synthesis.trip_shapes import count_shapes, count_timing
from geodp.curator.tree_mechanism import TreeMechanism
from geodp.curator.trips_publication import TripModelPublication
from geodp.errors import DataError
from geodp.privacy.primitives import (
    exponential_mechanism,
    laplace_counts,
    with_geometric,
    with_laplace,
    with_planar_geometric,
)
from geodp.tables.trajectories.table import Trajectories
from geodp.tables.visits.histories import VenueCounts
from geodp.tables.visits.visit_sets import VisitSets

Plant = Callable[[pytest.MonkeyPatch], None]
SAMPLES = 1000


def _in_file(file: Any, name: str, function: Any) -> Plant:
    return lambda patch: patch.setattr(file, name, function)


def _noise(factor: float) -> Any:
    """Return noise on counts that is too narrow by a factor."""
    return lambda values, *, epsilon, sensitivity, noise: laplace_counts(
        values, epsilon=epsilon, sensitivity=sensitivity / factor, noise=noise
    )


def _choice(factor: float) -> Any:
    """Return an exponential mechanism that spends too much by a factor."""
    return lambda scores, *, epsilon, **more: exponential_mechanism(scores, epsilon=factor * epsilon, **more)


def _unpaid_total(values: Any, *, epsilon: float, sensitivity: float, noise: Any, **more: Any) -> Any:
    """Return noise that forgets the cap on single totals."""
    wide = 1.0 if np.size(values) == 1 else sensitivity
    return laplace_counts(values, epsilon=epsilon, sensitivity=wide, noise=noise, **more)


def _exact_factor(self: GroupingSmoothing, visits: Any, cap: int, noise: Any) -> float:
    sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=cap))
    return float(np.dot(sizes, np.arange(cap + 1)) / max(sizes[1:].sum(), 1))


def _threshold(*arguments: Any, epsilon: float, noise: Any) -> int:
    from geodp.curator.grouping import choose_threshold

    return choose_threshold(*arguments, epsilon=90 * epsilon, noise=noise)


def _true_order(self: GroupingSmoothing, visits: Any, cap: int, key: bytes, noise: Any) -> Any:
    return visits.sum_pieces(partial(count_capped, cap=cap, key=key)).astype(np.float64)


_smoothed, _fourier, _counts = GroupingSmoothing.smooth, fourier_file.FourierCounts.noisy, EpsilonParts.add_noise


def _without_noise(self: EpsilonParts, part: str, values: Any, sensitivity: float = 1.0) -> Any:
    _counts(self, part, values, sensitivity)
    return np.asarray(values, dtype=np.float64)


def _exact_number(self: EpsilonParts, part: str, values: Any, sensitivity: float = 1.0) -> Any:
    return (_without_noise if part == NUMBER else _counts)(self, part, values, sensitivity)


def _one_end(self: EpsilonParts, part: str, values: Any, sensitivity: float = 1.0) -> Any:
    return _counts(self, part, values, 1.0 if part in (COARSE_ENDS, FINE_ENDS) else sensitivity)


def _longest_of_the_data(
    trajectories: Any, parts: Any, *, total: float, most_points: int, weights: Any = None
) -> Any:  # fmt: skip
    longest = min(most_points, int(trajectories.counts.max(initial=2)))
    return count_points(trajectories, parts, total=total, most_points=longest, weights=weights)


def _width_of_the_data(trajectories: Any, parts: Any, number: float, widest_m: float, weights: Any = None) -> Any:
    width = float(np.ptp(trajectories.x_m)) if trajectories.points else widest_m
    return count_shapes(trajectories, parts, number, max(width, 100.0), weights)


def _half_as_wide(values: Any, scale: float, noise: Any) -> Any:
    return with_laplace(values, scale / 2, noise)


def _empty_cells_stay_empty(values: Any, scale: float, noise: Any) -> Any:
    return np.where(values == 0, 0.0, with_laplace(values, scale, noise))


def _exact(values: Any, scale: float, noise: Any) -> Any:
    return values.astype(np.float64)


def _likelier(logits: Any, noise: Any, after: Any = None) -> Any:
    return logits[:, 1] > logits[:, 0]


def _half_a_bound(self: EpsilonParts, part: str, values: Any, sensitivity: float = 1.0) -> Any:
    return _counts(self, part, values, sensitivity / 2 if part == "cells" else sensitivity)


def _true_number_for(function: Any) -> Any:
    """Return a step that takes the true number of trips for the noisy one."""
    return lambda trajectories, *more, total, **fields: function(
        trajectories, *more, total=float(trajectories.size), **fields
    )


def _ends_by_true_number(trajectories: Any, region: Any, parts: Any, total: float, weights: Any = None) -> Any:
    return count_trip_ends(trajectories, region, parts, max(1.0, float(trajectories.size)), weights)


def _trips_by_place(self: Trajectories, cap: int, key: bytes = b"") -> Trajectories:
    """Keep trips by where they stand in the table instead of by what they are."""
    chance = np.random.default_rng(3).random(self.size)
    order = np.lexsort((chance, self.person))
    begin = np.searchsorted(self.person[order], np.arange(len(self.people)))
    kept = np.zeros(self.size, dtype=np.bool_)
    kept[order] = np.arange(self.size) - begin[self.person[order]] < cap
    return self.select(kept)


def _visits_by_place(self: VisitSets, cap: int, key: bytes) -> VisitSets:
    """Keep visits by where their user stands in the table."""
    return _capped(replace(self, user=np.arange(self.users, dtype=np.uint64)), cap, key)


def _true_zeros(self: Zeros, visits: Any, noise: Any, order: Any = None) -> VenueCounts:
    return VenueCounts(visits.sum_pieces(VisitSets.counts).astype(np.float64), self.kind, self.guarantee())


def _refused(piece: VisitSets, *, cap: int, key: bytes) -> Any:
    if piece.size.max(initial=0) >= 30 and piece.users > 6:
        raise DataError("somebody has too many venues")
    return count_capped(piece, cap=cap, key=key)


def _steps_at_twice_epsilon(column: Any, row: Any, *, epsilon_per_m: float, **more: Any) -> Any:
    return with_planar_geometric(column, row, epsilon_per_m=2 * epsilon_per_m, **more)


_capped, _rates = VisitSets.keep_at_most, PriLocation.rates_per_m
TRIP = {"unit": "trajectory"}
CAPPED_TRIP = {"unit": "trajectory", "trajectories_per_person": 3}
GEODP = {"variant": "geodp"}
DEFECTS: dict[str, tuple[str, dict[str, Any], Plant]] = {
    "contour: half the noise": ("contour", {}, _in_file(count_noise_file, "with_laplace", _half_as_wide)),
    "adaptive grid: truly empty cells": (
        "adaptive_grid",
        {},
        _in_file(count_noise_file, "with_laplace", _empty_cells_stay_empty),
    ),
    "quadtree: all of ε on every level": (
        "quadtree",
        {},
        _in_file(TreeMechanism, "_level_epsilons", lambda self, height: [self.epsilon] * (height + 1)),
    ),
    "cube: exact counts": ("dpcube", {}, _in_file(count_noise_file, "with_laplace", _exact)),
    "privtree: half the noise on leaves": ("privtree", {}, _in_file(count_noise_file, "with_laplace", _half_as_wide)),
    "privtree: divided by true counts": ("privtree", {}, _in_file(privtree_file, "decide_in_series", _likelier)),
    "privtree: counts that do not decay": ("privtree", {}, _in_file(privtree_file, "decay_of", lambda scale: 0.0)),
    "privtree: a path that costs one decision": ("privtree", {}, _in_file(privtree_file, "_PATH", 1.0)),
    "hierarchical grid: all of ε on every level": (
        "hierarchical_grid",
        {},
        _in_file(HierarchicalGrid, "_level_epsilons", lambda self, branching: [self.epsilon] * len(branching)),
    ),
    "hierarchical grid: half the noise": (
        "hierarchical_grid",
        {},
        _in_file(count_noise_file, "with_laplace", _half_as_wide),
    ),
    "dawa: half the noise": ("dawa", {}, _in_file(count_noise_file, "with_laplace", _half_as_wide)),
    "dawa: squares by true counts": ("dawa", {}, _in_file(dawa_file, "decide_in_series", _likelier)),
    "dawa: scores that one moves by a quarter": ("dawa", {}, _in_file(dawa_file, "_MOST_CHANGE", 0.25)),
    "LPA: noise for half the cap": ("laplace_counts", {}, _in_file(laplace_file, "laplace_counts", _noise(2))),
    "LPA: the cap is not applied": (
        "laplace_counts",
        {},
        _in_file(laplace_file, "count_capped", lambda piece, cap, key: piece.counts()),
    ),
    "LPA: users are told apart by their place": (
        "laplace_counts",
        {"cap": 2},
        _in_file(VisitSets, "keep_at_most", _visits_by_place),
    ),
    "LPA: users are told apart by their place, at the usual cap": (
        "laplace_counts",
        {"cap": 20},
        _in_file(VisitSets, "keep_at_most", _visits_by_place),
    ),
    "LPA: half the noise on the accuracy": ("laplace_counts", {}, _in_file(paid_file, "laplace_counts", _noise(2))),
    "DPSense: no noise on the accuracy": ("dpsense", {}, _in_file(paid_file, "laplace_counts", _noise(1e9))),
    "GS: the error against all venues of a user": (
        "grouping_smoothing",
        {"cap": 2},
        _in_file(paid_file, "_counts_up_to", lambda piece, limit, key: piece.counts()),
    ),
    "LPA: refused because of one user": ("laplace_counts", {}, _in_file(laplace_file, "count_capped", _refused)),
    "zeros: the true counts": ("zeros", {}, _in_file(Zeros, "release", _true_zeros)),
    "uniform: the cap is forgotten": ("uniform", {}, _in_file(uniform_file, "laplace_counts", _unpaid_total)),
    "FPA: noise for half the cap": (
        "fourier_counts",
        {},
        _in_file(fourier_file.FourierCounts, "noisy", lambda self, v, cap, noise: _fourier(self, v, cap // 2, noise)),
    ),
    "FPA: noise for a quarter of the cap": (
        "fourier_counts",
        {},
        _in_file(fourier_file.FourierCounts, "noisy", lambda self, v, cap, noise: _fourier(self, v, cap // 4, noise)),
    ),
    "FPA: the number of coefficients at 9 ε": (
        "fourier_counts",
        {},
        _in_file(fourier_file, "exponential_mechanism", _choice(90)),
    ),
    "GS: noise for one venue": (
        "grouping_smoothing",
        {},
        _in_file(GroupingSmoothing, "smooth", lambda self, c, o, w, cap, n: _smoothed(self, c, o, w, 1, n)),
    ),
    "GS: ordered by the true counts": ("grouping_smoothing", {}, _in_file(GroupingSmoothing, "sample", _true_order)),
    "GS: the total has noise for one": (
        "grouping_smoothing",
        {},
        _in_file(grouping_file, "laplace_counts", _unpaid_total),
    ),
    "GS: the exact mean of rows": ("grouping_smoothing", {}, _in_file(GroupingSmoothing, "factor", _exact_factor)),
    "GS: the threshold at 9 ε": ("grouping_smoothing", GEODP, _in_file(grouping_file, "choose_threshold", _threshold)),
    "DPSense: half the noise": ("dpsense", {}, _in_file(dpsense_file, "laplace_counts", _noise(2))),
    "DPSense-S: the choice at 9 ε": (
        "dpsense",
        {"scaling": True},
        _in_file(dpsense_file, "exponential_mechanism", _choice(90)),
    ),
    "DPSense-S: the choice without its half": (
        "dpsense",
        {"scaling": True},
        _in_file(dpsense_file, "exponential_mechanism", partial(exponential_mechanism, one_directional=True)),
    ),
    "PriLocation: half the noise on the numbers": (
        "prilocation",
        {},
        _in_file(
            selection_file, "with_geometric", lambda values, scale, noise: with_geometric(values, scale / 2, noise)
        ),
    ),
    "PriLocation: places drawn twice as sharply": (
        "prilocation",
        {"unit": "user"},
        _in_file(PriLocation, "rates_per_m", lambda self, *more: 8 * _rates(self, *more)),
    ),
    "PriLocation: the cap is not applied": (
        "prilocation",
        {"unit": "user"},
        _in_file(PriLocation, "cap_visits", lambda self, histories, key=b"": histories),
    ),
    "PriLocation: centres at twice ε": (
        "prilocation",
        {"clustering": "dplloyd"},
        _in_file(
            clusters_file, "with_geometric", lambda values, scale, noise: with_geometric(values, scale / 9, noise)
        ),
    ),
    "phones: steps for half the distance": (
        "planar_geometric",
        {},
        _in_file(geometric_file, "with_planar_geometric", _steps_at_twice_epsilon),
    ),
    "EpicRec: noise for two thirds": (
        "epicrec",
        {},
        _in_file(epicrec_file, "with_laplace", lambda values, scale, noise: with_laplace(values, scale / 1.5, noise)),
    ),
    "counts: the true number in a floor": (
        "contour",
        {},
        _in_file(Snapshot, "floor_per_m2", property(lambda self: self.x_m.size / (10 * self.region.area_m2))),
    ),
    "trips: no noise": ("synthetic_trips", {}, _in_file(EpsilonParts, "add_noise", _without_noise)),
    "trips: noise for two thirds": (
        "synthetic_trips",
        TRIP,
        _in_file(epsilon_parts_file, "laplace_counts", _noise(1.5)),
    ),
    "trips: noise a twentieth short": (
        "synthetic_trips",
        {},
        _in_file(epsilon_parts_file, "laplace_counts", _noise(1.05)),
    ),
    "trips: their exact number": ("synthetic_trips", {}, _in_file(EpsilonParts, "add_noise", _exact_number)),
    "trips: the cap is not applied": (
        "synthetic_trips",
        {},
        _in_file(SyntheticTrips, "weigh_trips", lambda self, trips: None),
    ),
    "trips: the cap of trees is not applied": (
        "dpt",
        {},
        _in_file(TripModelPublication, "cap_trips", lambda self, trips, region, key=b"": trips),
    ),
    "trips: one pushes out another": (
        "synthetic_trips",
        CAPPED_TRIP,
        _in_file(TripModelPublication, "crowd", lambda self: 1),
    ),
    "trips: two ends for one": ("synthetic_trips", TRIP, _in_file(EpsilonParts, "add_noise", _one_end)),
    "trips: the longest one of the data": (
        "synthetic_trips",
        {},
        _in_file(trips_file, "count_points", _longest_of_the_data),
    ),
    "trips: departures as fine as the true number": (
        "synthetic_trips",
        {},
        _in_file(trips_file, "count_timing", _true_number_for(count_timing)),
    ),
    "trips: densities as fine as the true number": (
        "synthetic_trips",
        {},
        _in_file(trips_file, "count_density", _true_number_for(count_density)),
    ),
    "trips: ends as fine as the true number": (
        "synthetic_trips",
        {},
        _in_file(trips_file, "count_trip_ends", _ends_by_true_number),
    ),
    "trips: kept by their place in the table": (
        "dpt",
        {},
        _in_file(Trajectories, "keep_at_most", _trips_by_place),
    ),
    "trees: noise for half the bound": ("dpt", {}, _in_file(EpsilonParts, "add_noise", _half_a_bound)),
    "trips: the width of the data": ("synthetic_trips", {}, _in_file(trips_file, "count_shapes", _width_of_the_data)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_planted_defect_is_refuted(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, settings, plant = DEFECTS[defect]
    plant(monkeypatch)
    assert audit_kind(kind, settings, samples=SAMPLES, neighbours=0).refuted


SOUND = [
    *((kind, settings) for kind, settings, _ in {(k, str(s)): (k, s, p) for k, s, p in DEFECTS.values()}.values()),
    *(("grouping_smoothing", {"sampling": sampling}) for sampling in ("none", "row")),
    *(("grouping_smoothing", {"grouping": grouping}) for grouping in ("sampled", "random", "space")),
    *(("fourier_counts", {"coefficients": number}) for number in (1, 7)),
    ("adaptive_grid", {"count_share": 0.1}),
    *(("kd_tree", {"epsilon": epsilon}) for epsilon in (0.4, 5.0)),
    *((kind, {}) for kind in ("uniform_grid", "kalman_counts")),
    ("dpsense", {"variant": "literal"}),
    ("dpsense", {"max_theta": 2}),
    ("dpt", {"levels": 3}),
    ("grid_markov", {}),
    ("dpt", {"levels": 3, "epsilon": 40.0, **CAPPED_TRIP}),
    ("synthetic_trips", {"epsilon": 40.0}),
    ("synthetic_trips", {"unit": "trajectory", "trajectories_per_person": 200}),
    ("dpsense", {"choice_share": 0.999}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "settings"), SOUND)
def test_without_a_defect_whole_releases_ask_for_what_they_claim(kind: str, settings: dict[str, Any]) -> None:
    """Following a release has no chance in it: what is asked is at most ε, on every pair."""
    audit = audit_kind(kind, settings, samples=SAMPLES, neighbours=2)
    followed = [pair for pair in audit.pairs if pair.transcript is not None]
    assert followed
    assert not audit.not_followed
    assert all((pair.transcript or 0.0) <= pair.claimed * (1 + 1e-9) for pair in followed)
    assert not audit.refuted


@pytest.mark.parametrize("kind", ["laplace_counts", "fourier_counts", "grouping_smoothing"])
def test_a_cap_read_off_the_data_is_found_out(kind: str) -> None:
    followed = [pair for pair in audit_kind(kind, {"variant": "literal"}, samples=SAMPLES).pairs if pair.transcript]
    assert any(pair.refuted for pair in followed)
