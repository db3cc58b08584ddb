"""Laws of movement as metrics of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from geodp.metrics.movement import MovementLaws
from geodp.run_folder.folder import RunFolder
from geodp.tables.movement_laws import LAWS

DAY_S = 86_400


def lengthen(run: RunFolder, mobility: str) -> RunFolder:
    """Let a run last a day, and people move."""
    file = run.path / "scenario.yaml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(("duration_s:", "  mobility:"))]
    text = "\n".join([f"duration_s: {DAY_S}", *lines]).replace("workers:\n", f"workers:\n  mobility: {mobility}\n")
    file.write_text(text.replace("total: 80", "total: 80000") + "\n")
    return RunFolder(run.path)


def test_runs_in_which_nobody_moves_have_no_laws(hand_made: RunFolder) -> None:
    assert MovementLaws().measure(hand_made) == {}


def test_stays_of_the_sampled_workers_are_measured(copied: RunFolder) -> None:
    time_s = np.arange(96) * 900.0
    paths = pd.DataFrame(
        {"worker": 0, "time_s": time_s, "x_m": np.where(time_s < DAY_S / 2, 0.0, 3000.0), "y_m": 0.0, "busy": False}
    )
    run = lengthen(copied, "commuter")
    paths.to_parquet(run.path / "truth/paths.parquet")
    found = MovementLaws().measure(run)
    assert found["jump_p50_km"].value == pytest.approx(3.0)
    assert found["wait_p50_h"].value == pytest.approx(12.0)
    assert "gyration_p50_km" not in found, "two visits say nothing about single people"
    assert set(found) <= set(LAWS)


def test_every_law_has_words_and_a_key_of_its_own() -> None:
    assert all(MovementLaws.label_of(key) == law.label for key, law in LAWS.items())
    assert MovementLaws.unit_of("jump_p10_km") == "km"
