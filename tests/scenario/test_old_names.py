"""Names of version 0.1 still work, and say what to write instead."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

import geodp
from geodp.cli.main import main
from geodp.errors import OldName, ScenarioError, UsageError
from geodp.run_folder.folder import RunFolder
from geodp.scenario.file import build_scenario, dump
from geodp.sweeps.sweep_file import load_sweep
from geodp.tables.notices import gather_notices
from tests.small import small_file, small_raw

VISITS = {"kind": "generated_visits", "venues": 40, "mean_visits": 5}


def old_raw() -> dict[str, Any]:
    """Return the small scenario as version 0.1 wrote it."""
    raw = small_raw()
    raw["workers"]["histories"] = dict(VISITS)
    raw["device"] = {"history": {"kind": "epicrec"}}
    return raw


def old_file(folder: Path) -> Path:
    path = folder / "old.yaml"
    path.write_text(yaml.safe_dump(old_raw(), sort_keys=False), encoding="utf-8")
    return path


def test_old_keys_are_read_as_the_new_ones_with_a_hint() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        scenario = build_scenario(old_raw(), source="old", folder=Path.cwd())
    assert scenario.workers.visit_source is not None
    assert scenario.workers.visit_source.kind == "generated_visits"
    assert scenario.device.history_report is not None
    said = {str(warning.message) for warning in heard if warning.category is OldName}
    assert said == {
        "'workers.histories' is called 'workers.visit_source' now: write that instead.",
        "'device.history' is called 'device.history_report' now: write that instead.",
    }
    written = dump(scenario)
    assert "visit_source" in written["workers"]
    assert not {"histories", "history"} & {*written["workers"], *written["device"]}


def test_an_old_key_beside_the_new_one_is_refused() -> None:
    raw = old_raw()
    raw["workers"]["visit_source"] = dict(VISITS)
    with pytest.warns(OldName, match="history_report"), pytest.raises(ScenarioError, match="workers.histories"):
        build_scenario(raw, source="old", folder=Path.cwd())


def test_old_paths_are_read_in_overrides_arms_and_sweeps(tmp_path: Path) -> None:
    path = small_file(tmp_path, {"workers.visit_source": VISITS})
    with pytest.warns(OldName, match="'workers.histories' is called 'workers.visit_source' now"):
        scenario = geodp.load_scenario(path, {"workers.histories.venues": 30})
    assert scenario.workers.visit_source.venues == 30  # type: ignore[union-attr]

    raw = small_raw({"compare": {"told": {"device.history": {"kind": "epicrec"}}, "silent": {}}})
    with pytest.warns(OldName):
        scenario = build_scenario(raw, source="old", folder=Path.cwd())
    assert "device.history_report" in scenario.compare["told"]
    raw["compare"]["told"] = {"workers.histories.venues": 3}
    with pytest.warns(OldName), pytest.raises(ScenarioError, match="belongs to the world"):
        build_scenario(raw, source="old", folder=Path.cwd())

    grid = {"geodp": 1, "name": "old", "base": path.name, "grids": [{"workers.histories.venues": [20, 30]}]}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")
    with pytest.warns(OldName):
        cells = load_sweep(tmp_path / "sweep.yaml").cells
    assert [cell.values["workers.histories.venues"] for cell in cells] == [20, 30]


def test_the_command_line_prints_the_hint_as_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["check", str(old_file(tmp_path))])
    assert done.value.code == 0
    assert "warning: 'workers.histories' is called 'workers.visit_source' now: write that instead.\n" in (
        capsys.readouterr().err
    )


def test_a_run_folder_with_old_keys_opens_in_silence(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(old_file(tmp_path).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "manifest.json").write_text('{"geodp": "0.1.0"}', encoding="utf-8")
    assert RunFolder(tmp_path).scenario.workers.visit_source is not None


@pytest.mark.parametrize(("old", "new"), [("histories", "visit_source"), ("history", "history_report")])
def test_the_old_name_of_a_family_answers_with_the_new_one(old: str, new: str) -> None:
    with pytest.raises(UsageError, match=f"the family '{old}' is called '{new}' now"):
        geodp.plugins(old)


@pytest.mark.parametrize(
    ("item", "said"), [("{kind: dpt}", 1), ("{kind: dpt, levels: 6}", 0), ("{kind: synthetic_trips}", 0)]
)
def test_dpt_without_a_variant_says_what_it_means_now(tmp_path: Path, item: str, said: int) -> None:
    path = tmp_path / "town.yaml"
    path.write_text(
        f"geodp: 1\nname: town\nregion: {{west: 10, south: 50, east: 10.1, north: 50.1}}\npublish: [{item}]\n"
    )
    with gather_notices() as notices:
        geodp.load_scenario(path)
    assert sum("kind: dpt means noisy prefix trees" in text for text in notices) == said
