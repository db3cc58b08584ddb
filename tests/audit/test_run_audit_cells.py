"""Runs whose cells are no regular grid are audited with as many canaries as share no noise."""

from pathlib import Path
from typing import Any

import pytest

from geodp.audit.run_audit import audit_releases
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from tests.small import small

QUICK: dict[str, Any] = {
    "duration_s": 600,
    "workers.source.count": 1000,
    "workers.mobility": {"kind": "static"},
    "tasks.demand.per_hour": 30,
    "tasks.reward.total": 60,
    "curator.release_every_s": 300,
}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_an_adaptive_grid_spends_no_more_than_the_ledger_says(tmp_path: Path, neighbours: str) -> None:
    """Coarse cells share no noise, so there is a canary in each of them, which gives the audit some power."""
    changes = {"curator.mechanism": {"kind": "adaptive_grid", "epsilon": 1.5}, "curator.neighbours": neighbours}
    run(small({**QUICK, **changes}), tmp_path / "run", draw_map=False, summarise=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=5000)
    assert audit.worst is not None
    assert audit.worst.claimed == 3.0
    assert not audit.refuted
    assert audit.worst.certified > 0.3 * audit.worst.claimed
