import json
from pathlib import Path

import pytest

from geodp.errors import OutputError, UsageError
from geodp.scenario.editor_schema import FILE_NAME, HEADER, make_schema
from geodp.scenario.schema import load_scenario
from geodp.scenario.shipped import FIGURES, SCENARIOS, SWEEPS, copy_shipped, list_names, list_shipped, locate_file
from geodp.scenario.template import write_template


def test_every_shipped_file_asks_a_question_of_its_own() -> None:
    files = list_shipped()
    questions = [file.question for file in files]
    assert {file.kind for file in files} == {"scenario", "sweep"}
    assert all(questions)
    assert len(set(questions)) == len(questions)


def test_a_name_is_a_shipped_scenario_unless_such_a_file_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_scenario(Path("quickstart")).name == "quickstart"
    assert locate_file("quickstart.yaml").is_absolute()
    (tmp_path / "quickstart").write_text("name: own", encoding="utf-8")
    assert locate_file("quickstart") == Path("quickstart")


def test_a_folder_of_that_name_does_not_hide_a_shipped_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    assert locate_file("quickstart").name == "quickstart.yaml"


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'quickstart'"):
        locate_file("quikstart")


@pytest.mark.parametrize("kind", [SCENARIOS, SWEEPS, FIGURES])
def test_copies_find_all_that_they_name(tmp_path: Path, kind: str) -> None:
    for name in list_names(kind):
        folder = tmp_path / name
        copied = copy_shipped(f"{kind}/{name}" if kind else name, folder)
        assert copied[0].stem == name
        if kind == SCENARIOS:
            assert load_scenario(copied[0], trust_plugins=True).name


def test_a_copied_sweep_brings_its_base(tmp_path: Path) -> None:
    assert [path.relative_to(tmp_path).as_posix() for path in copy_shipped("epsilon", tmp_path)] == [
        "sweeps/epsilon.yaml",
        "quickstart.yaml",
    ]


def test_copying_replaces_nothing(tmp_path: Path) -> None:
    copied = copy_shipped("quickstart", tmp_path)[0]
    copied.write_text("mine", encoding="utf-8")
    for name in ("quickstart", "epsilon"):
        with pytest.raises(OutputError, match="exists already"):
            copy_shipped(name, tmp_path)
    assert copied.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "sweeps").exists()


def test_a_new_scenario_names_its_editor_schema_which_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_template("downtown")
    assert path.read_text(encoding="utf-8").splitlines()[0] == f"{HEADER}{FILE_NAME}"
    assert json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8")) == make_schema()
    assert load_scenario(path).name == "downtown"


def test_a_file_of_somebody_else_is_not_replaced_by_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE_NAME).write_text("{}", encoding="utf-8")
    write_template("downtown")
    assert (tmp_path / FILE_NAME).read_text(encoding="utf-8") == "{}"


def test_the_schema_knows_files_that_start_from_another() -> None:
    schema = make_schema()
    assert {"extends", "set"} <= set(schema["properties"])
    assert {"required": ["extends", "name"]} in schema["anyOf"]
