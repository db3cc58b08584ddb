"""`geodp publish positions`: where people are, as reports of phones or as counts per cell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import ValidationError

from geodp.device import Device
from geodp.errors import ScenarioError, UsageError
from geodp.model import did_you_mean
from geodp.publish.counted_cells import CountedCells
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
_EPSILONS = ("epsilon", "epsilon_per_m")


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
    cls = _find(kind)
    known = next((name for name in _EPSILONS if name in cls.model_fields), None)
    fields = dict(settings)
    stated = known in fields or {"level", "radius_m"} <= set(fields)
    if known is None and epsilon is not None:
        raise UsageError(f"{kind} promises nothing and takes no --epsilon. {NOTHING_DONE}")
    if known is not None and epsilon is None and not stated:
        per = " per metre" if known == "epsilon_per_m" else ""
        raise UsageError(f"give --epsilon: the epsilon{per} of {kind}. {NOTHING_DONE}")
    if epsilon is not None and stated:
        raise UsageError(f"--epsilon and --set both state the epsilon of {kind}: give only one. {NOTHING_DONE}")
    if known is not None and epsilon is not None:
        fields[known] = epsilon
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        lines = [(".".join(str(part) for part in line["loc"]), line["msg"]) for line in error.errors(include_url=False)]
        raise ScenarioError(f"publish positions --mechanism {kind}", lines) from None


def _find(kind: str) -> type[Plugin]:
    points = {name: cls for name, cls in plugins("device").items() if "points" in cls.releases}
    cells = {name: cls for name, cls in plugins("mechanism").items() if "cells" in cls.releases}
    known = points | cells
    if kind not in known:
        hint = did_you_mean(kind, known)
        raise UsageError(f"positions: no mechanism called '{kind}'.{hint} Known: {', '.join(known)}. {NOTHING_DONE}")
    return known[kind]
