from pathlib import Path
from typing import Any

import pytest
import yaml

from geodp.errors import ScenarioError
from geodp.scenario.schema import Scenario, load_scenario
from tests.small import small_file, small_raw


def write(path: Path, values: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path


def problems(path: Path) -> dict[str, str]:
    with pytest.raises(ScenarioError) as raised:
        load_scenario(path)
    return dict(raised.value.problems)


def test_a_scenario_starts_from_another_and_changes_dotted_paths(tmp_path: Path) -> None:
    small_file(tmp_path)
    changes = {"curator.mechanism.epsilon": 0.25, "workers.source.count": 900}
    mine = load_scenario(write(tmp_path / "mine.yaml", {"extends": "small.yaml", "name": "mine", "set": changes}))
    written_out = small_raw(changes) | {"name": "mine"}
    assert mine == load_scenario(write(tmp_path / "whole.yaml", written_out))


def test_keys_beside_set_take_the_place_of_the_others_as_a_whole(tmp_path: Path) -> None:
    small_file(tmp_path)
    tasks = {"demand": {"kind": "poisson", "per_hour": 7}}
    mine = load_scenario(write(tmp_path / "mine.yaml", {"extends": "small.yaml", "name": "mine", "tasks": tasks}))
    assert mine.tasks.reward.total != small_raw()["tasks"]["reward"]["total"]  # the default, not that of the base
    assert mine.about == small_raw()["about"]


def test_the_command_line_changes_what_set_has_changed(tmp_path: Path) -> None:
    small_file(tmp_path)
    file = write(tmp_path / "mine.yaml", {"extends": "small.yaml", "name": "mine", "set": {"duration_s": 600}})
    assert load_scenario(file).duration_s == 600
    assert load_scenario(file, {"duration_s": 900}).duration_s == 900


def test_a_shipped_scenario_is_a_base_by_its_name(tmp_path: Path) -> None:
    mine: Scenario = load_scenario(write(tmp_path / "mine.yaml", {"extends": "quickstart", "name": "mine"}))
    assert mine.name == "mine"
    assert mine.region == load_scenario(Path("quickstart")).region


def test_files_of_the_base_are_found_from_the_base(tmp_path: Path) -> None:
    table = tmp_path / "base" / "people.csv"
    source = {"workers.source": {"kind": "table", "path": "people.csv"}, "curator.expected_workers": 2}
    write(tmp_path / "base" / "small.yaml", small_raw(source))
    table.write_text("worker,lon,lat\n1,10.01,50.01\n2,10.02,50.02\n", encoding="utf-8")
    mine = load_scenario(write(tmp_path / "mine.yaml", {"extends": "base/small.yaml", "name": "mine"}))
    assert Path(mine.workers.source.path) == table  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("raw", "path", "words"),
    [
        ({"extends": 3, "name": "a"}, "extends", "must be the name of a scenario file, got 3"),
        ({"extends": "small.yaml", "name": "a", "set": [1]}, "set", "must be a mapping of dotted paths"),
        ({"extends": "small.yaml"}, "name", "needs a name of its own"),
        ({"extends": "mine.yaml", "name": "a"}, "extends", "names the file itself"),
        ({"extends": "smal.yaml", "name": "a"}, "extends", "no such file"),
        ({"extends": "quikstart", "name": "a"}, "extends", "Did you mean 'quickstart'?"),
        ({"extends": "second.yaml", "name": "a"}, "extends", "starts from another file itself: one level is allowed"),
        ({"extends": "sweep.yaml", "name": "a"}, "extends", "this is a sweep"),
        ({"geodp": 1, "name": "a", "set": {"seed": 1}}, "set", "goes with 'extends: FILE'"),
        ({"extends": "small.yaml", "name": "a", "set": {7: 1}}, "7", "unknown key"),
        ({"extends": "small.yaml", "name": "a", "set": {"a..b": 1}}, "set.a..b", "not a dotted path"),
    ],
)
def test_what_is_wrong_with_a_base_is_said(tmp_path: Path, raw: dict[str, Any], path: str, words: str) -> None:
    small_file(tmp_path)
    write(tmp_path / "second.yaml", {"extends": "small.yaml", "name": "second"})
    write(tmp_path / "sweep.yaml", {"geodp": 1, "name": "s", "base": "small.yaml", "grids": [{"seed": [1]}]})
    found = problems(write(tmp_path / "mine.yaml", raw))
    assert words in found[path]


def test_anchors_and_merge_keys_share_what_is_written_once(tmp_path: Path) -> None:
    text = yaml.safe_dump(small_raw(), sort_keys=False)
    text += (
        "compare:\n"
        "  plain: &plain {curator.mechanism.epsilon: 0.4, tasks.patience_s: 600}\n"
        "  patient: {<<: *plain, tasks.patience_s: 1200}\n"
    )
    (tmp_path / "small.yaml").write_text(text, encoding="utf-8")
    arms = load_scenario(tmp_path / "small.yaml").compare
    assert dict(arms["patient"]) == {"curator.mechanism.epsilon": 0.4, "tasks.patience_s": 1200}
    assert dict(arms["plain"])["tasks.patience_s"] == 600
