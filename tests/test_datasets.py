from pathlib import Path

import pandas as pd

import geodp
from datasets.sample import SAMPLE, sample_positions
from tests.small import small


def test_the_sample_is_what_its_script_writes() -> None:
    pd.testing.assert_frame_equal(pd.read_csv(SAMPLE), sample_positions())


def test_the_sample_runs_through_the_table_source(tmp_path: Path) -> None:
    scenario = small(
        {
            "region": {"west": -122.5135, "south": 37.7113, "east": -122.3627, "north": 37.8327},
            "workers.source": {"kind": "table", "path": str(SAMPLE)},
            "workers.mobility": {"kind": "static"},
            "curator.expected_workers": 400,
        }
    )
    result = geodp.run(scenario, tmp_path / "run", draw_map=False)
    assert result.folder.workers == 400
    assert result.folder.manifest["checksums"].keys() == {str(SAMPLE)}
