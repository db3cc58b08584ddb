from pathlib import Path

import pytest

from geodp.errors import GeodpError
from geodp.runs.gallery import LARGEST_BYTES, rebuild
from geodp.scenario.schema import load_scenario
from tests.small import small_file

ROOT = Path(__file__).parent.parent.parent
SHIPPED = sorted((ROOT / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("scenario", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_has_a_small_map(scenario: Path) -> None:
    page = ROOT / "maps" / f"{scenario.stem}.html"
    assert page.stat().st_size <= LARGEST_BYTES
    assert load_scenario(scenario).name in page.read_text(encoding="utf-8")


def test_one_command_rebuilds_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_file(tmp_path)
    (page,) = rebuild(tmp_path, tmp_path / "maps")
    assert page.name == "small.html"
    monkeypatch.setattr("geodp.runs.gallery.LARGEST_BYTES", 10_000)
    with pytest.raises(GeodpError, match="more than 10,000"):
        rebuild(tmp_path, tmp_path / "maps")
