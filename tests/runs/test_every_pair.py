"""Any mechanism serves any assignment: every pair that fits together runs, and its plans come from the releases."""

from pathlib import Path
from typing import Any

import pytest

from geodp.registry import plugins
from geodp.runs.run import run
from tests.small import small

PAIRS = [
    (mechanism, assignment)
    for mechanism, publisher in plugins("mechanism").items()
    for assignment, reader in plugins("assignment").items()
    if reader.reads & publisher.releases
]
QUICK: dict[str, Any] = {
    "duration_s": 900,
    "workers.source.count": 800,
    "workers.mobility": {"kind": "static"},
    "tasks.demand.per_hour": 120,
    "tasks.reward.total": 300,
    "curator.release_every_s": 225,  # four releases: as many as the shortest series that a default asks for
}


def test_every_decomposition_serves_every_way_to_assign() -> None:
    older = ("uniform_grid", "adaptive_grid", "quadtree", "kd_tree", "dpcube", "kalman_counts", "contour")
    for mechanism in (*older, "privtree", "hierarchical_grid", "dawa"):
        assert {(mechanism, "reward_radius"), (mechanism, "geocast")} <= set(PAIRS)


@pytest.mark.parametrize(("mechanism", "assignment"), PAIRS)
def test_the_pair_runs_and_tasks_are_taken(tmp_path: Path, mechanism: str, assignment: str) -> None:
    chosen = {"kind": assignment}
    if "planning" in plugins("assignment")[assignment].model_fields:  # not all assignments can choose
        chosen["planning"] = "noise_aware"
    changes = {**QUICK, "curator.mechanism": {"kind": mechanism}, "server.assignment": chosen}
    done = run(small(changes), tmp_path / "run", draw_map=False, summarise=False)
    view = done.folder.offers
    planned = view[view["unreachable"].fillna("") == ""]
    assert len(planned) > 5
    # What a plan expects may be left unsaid.
    assert planned["planned_success"].dropna().between(0.3, 1).all()
    assert (planned["expected_workers"].dropna() > 0).all()
    assert (done.events["kind"] == "acceptance").any()
