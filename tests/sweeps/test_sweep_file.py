from pathlib import Path

import pytest

from geodp.errors import ScenarioError
from geodp.sweeps.sweep_file import as_text, load_sweep
from tests.sweeps.small_sweep import sweep_file


def problems(path: Path) -> dict[str, str]:
    with pytest.raises(ScenarioError) as refused:
        load_sweep(path)
    return dict(refused.value.problems)


def test_a_sweep_is_the_union_of_its_grids_without_repeats(tmp_path: Path) -> None:
    grids = [
        {"curator.mechanism.epsilon": [0.2, 2.0], "server.batch_s": [30, 60]},
        {"curator.mechanism.epsilon": [2.0, 4.0]},
    ]
    loaded = load_sweep(sweep_file(tmp_path, {"grids": grids}))
    values = [tuple(cell.values.values()) for cell in loaded.cells]
    assert values == [(0.2, 30), (0.2, 60), (2.0, 30), (2.0, 60), (4.0, None)]
    assert loaded.varied == ["curator.mechanism.epsilon", "server.batch_s"]
    assert loaded.sweep.seed_list() == [1, 2, 3]


@pytest.mark.parametrize("first", ["kind", "epsilon"])
def test_a_kind_does_not_undo_what_stands_above_it(tmp_path: Path, first: str) -> None:
    varied = {"curator.mechanism.kind": ["contour", "uniform_grid"], "curator.mechanism.epsilon": [0.25, 2.0]}
    grid = dict(sorted(varied.items(), key=lambda item: not item[0].endswith(first)))
    cells = load_sweep(sweep_file(tmp_path, {"grids": [grid]})).cells
    made = {(cell.values["curator.mechanism.kind"], cell.values["curator.mechanism.epsilon"]) for cell in cells}
    assert made == {(kind, epsilon) for kind in ("contour", "uniform_grid") for epsilon in (0.25, 2.0)}
    assert {getattr(cell.scenario.curator.mechanism, "epsilon", None) for cell in cells if cell.scenario.curator} == {
        0.25,
        2.0,
    }


def test_every_cell_is_checked_before_anything_runs_and_all_problems_are_told(tmp_path: Path) -> None:
    grids = [
        {"curator.mechanism.epsilon": [0.2, -1]},
        {"curator.mechanism.epsilonn": [1]},
        {"server.batch_s": [60, 1e9]},
    ]
    path = sweep_file(
        tmp_path, {"grids": grids, "plot": {"y": "succes_rate", "x": "nothing"}, "baseline": {"seeds": 1}}
    )
    found = problems(path)
    assert "must be greater than 0, got -1" in found["grids.0"]
    assert "Did you mean 'epsilon'" in found["grids.1"]
    assert "longer than the run" in found["grids.2"]
    assert "Did you mean 'success_rate'" in found["plot.0.y"]
    assert "not varied" in found["plot.0.x"]
    assert "not varied" in found["baseline"]


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"base": "absent.yaml"}, "base", "no such file"),
        ({"seeds": [1, 1]}, "seeds", "different seeds"),
        ({"grids": []}, "grids", "at least 1"),
        ({"grids": [{"seed": [1]}]}, "grids", "vary seeds with 'seeds'"),
        ({"grids": [{"seed_x": []}]}, "grids", "no values"),
        ({"kep": ["metrics"]}, "kep", "Did you mean 'keep'"),
        ({"keep": ["everything"]}, "keep.0", "must be"),
        ({"baseline": {"curator.mechanism.epsilon": 7}}, "baseline", "no cell has"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, changes: dict[str, object], path: str, words: str) -> None:
    assert words in problems(sweep_file(tmp_path, changes))[path]


def test_a_base_that_compares_arms_is_refused(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, base={"compare": {"a": {}}})
    assert "drop 'compare'" in problems(path)["base"]


def test_shipped_sweeps_are_valid() -> None:
    for path in sorted(Path("scenarios/sweeps").glob("*.yaml")):
        assert load_sweep(path).cells


def test_values_read_well_in_one_line() -> None:
    assert as_text({"kind": "contour", "epsilon": 0.3}) == "{kind: contour, epsilon: 0.3}"
    assert [as_text(value) for value in (0.5, "a", None, True)] == ["0.5", "a", "null", "True"]


@pytest.mark.parametrize("seeds", [10, "10", 1.5, None])
def test_a_number_of_seeds_is_answered_with_a_range(tmp_path: Path, seeds: object) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_sweep(sweep_file(tmp_path, {"seeds": seeds}))
    assert dict(refused.value.problems)["seeds"].startswith(
        "must be a list of seeds such as [0, 1, 2], or a range: {first: 0, count: 10} stands for the 10 seeds from 0 on"
    )


def test_a_scenario_is_sent_to_run_and_a_sweep_too_large_to_check_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"this is a scenario \(it has .*not a sweep: use 'geodp run"):
        load_sweep("scenarios/quickstart.yaml")
    many = {f"tasks.x{number}": list(range(100)) for number in range(5)}
    with pytest.raises(ScenarioError, match="10,000,000,000 cells"):
        load_sweep(sweep_file(tmp_path, {"grids": [many]}))
    with pytest.raises(ScenarioError, match="at most 100,000"):
        load_sweep(sweep_file(tmp_path, {"seeds": {"count": 10**12}}))
