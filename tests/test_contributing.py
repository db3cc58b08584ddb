"""The worked example of CONTRIBUTING.md, cut out of the page and run as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import geodp
from tests.small import small_raw

PAGE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return str(found)


def test_the_worked_example_runs_in_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "coarse_grid.py").write_text(block("python"))
    raw = small_raw()
    lines = yaml.safe_load(block("yaml"))
    raw["plugins"] = lines["plugins"]
    raw["curator"]["mechanism"] = lines["curator"]["mechanism"]
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(raw))
    result = geodp.run(tmp_path / "scenario.yaml", tmp_path / "run", draw_map=True)
    release = result.folder.densities[0]
    assert release.mechanism == "coarse_grid"
    assert release.count.size == 100
    truth = result.folder.true_counts(0).to_numpy()
    assert np.abs(release.count - truth).mean() == pytest.approx(2.0, abs=1.0)
    assert result.metrics["epsilon_spent"] == 1.5
    assert "coarse_grid" in geodp.plugins("mechanism")
