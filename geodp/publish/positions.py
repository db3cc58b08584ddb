"""`geodp publish positions`: where people are, as reports of phones or as counts per cell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from geodp.device import Device
from geodp.errors import UsageError
from geodp.publish.counted_cells import CountedCells
from geodp.publish.methods import find_method, merge_options, require_epsilon
from geodp.publish.pipeline import Outcome, Plan, publish
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.reading import bounding_box, read_rows
from geodp.publish.reported_points import ReportedPoints
from geodp.publish.request import NOTHING_DONE, Request, require_positive
from geodp.publish.used_positions import used_positions
from geodp.registry import Plugin, plugins

DEFAULT_MECHANISM = "planar_geometric"
PARTS = ("user", "lon", "lat")
"""Columns of the private data."""


def publish_positions(
    request: Request, *, mechanism: str = DEFAULT_MECHANISM, expected_workers: float | None = None
) -> Outcome:
    """Publish a file of positions (user, lon, lat; without user only where every row is a person) by a mechanism.

    A device mechanism (planar_geometric, planar_laplace) gives one reported point per row; a curator's mechanism
    (contour) gives cells with noisy counts.
    """
    require_positive("--expected-workers", expected_workers)
    return publish(request, partial(_prepare, kind=mechanism, expected_workers=expected_workers))


def _prepare(request: Request, inputs: PublicInputs, *, kind: str, expected_workers: float | None) -> Plan:
    mechanism = build(kind, request.epsilon, request.settings)
    if request.one_row_per_person and "user" in request.columns:
        raise UsageError(f"--one-row-per-person: then no column is the user: leave --column user out. {NOTHING_DONE}")
    rows = read_rows(
        request.source,
        numbers=("lon", "lat"),
        names=() if request.one_row_per_person else ("user",),
        releasing=request.releasing,
        called=request.columns,
    )
    region = inputs.region(request, lambda: bounding_box(rows))
    positions = used_positions(request, inputs, rows, region)
    if isinstance(mechanism, Device):
        if expected_workers is not None:
            raise UsageError(f"--expected-workers is for counts; {kind} reports every row by itself. {NOTHING_DONE}")
        return ReportedPoints(mechanism, positions)
    return CountedCells.prepared(mechanism, positions, inputs, expected_workers)


def build(kind: str, epsilon: float | None, settings: Mapping[str, Any]) -> Plugin:
    """Build the mechanism, with errors for people when there is none, or when a field is wrong."""
    points = {name: cls for name, cls in plugins("device").items() if "points" in cls.releases}
    cells = {name: cls for name, cls in plugins("mechanism").items() if "cells" in cls.releases}
    cls = find_method("positions", kind, points | cells, noun="mechanism")
    known = next((name for name in ("epsilon", "epsilon_per_m") if name in cls.model_fields), None)
    if known is None and epsilon is not None:
        raise UsageError(f"{kind} promises nothing and takes no --epsilon. {NOTHING_DONE}")
    other_words = {"level", "radius_m"} <= set(settings)
    if other_words and epsilon is not None:
        raise UsageError(f"--epsilon and --set both state the epsilon of {kind}: give only one. {NOTHING_DONE}")
    fields = merge_options(cls, settings, {} if known is None else {known: epsilon})
    if not other_words:
        require_epsilon(cls, fields)
    return cls.from_options(fields, f"publish positions --mechanism {kind}")
