import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import geodp.cli.figures as console
from geodp.errors import ScenarioError, UsageError
from geodp.figures.figure_file import Panel, figure_paths, find_figure, load_figure
from geodp.figures.make import make_figure
from geodp.figures.reproduction import earlier_blocks, write_reproduction
from geodp.sweeps import sweep as sweep_module
from geodp.sweeps.sweep_file import load_sweep
from tests.figures.small_figure import FIGURE, NumbersForATest, figure_file, plain_file


def test_a_sweep_figure_is_made_once_and_then_taken_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = load_figure(figure_file(tmp_path))
    made = make_figure(file, tmp_path / "out", workers=1)
    (verdict,) = made.verdicts["town"]
    assert verdict.reproduced, verdict
    assert "at 0.2 to" in verdict.ours
    png, svg, pdf = made.images
    assert (png.name, svg.name, pdf.name) == ("T1.png", "T1.svg", "T1.pdf")
    with Image.open(png) as image:
        assert image.width > 600
    text = svg.read_text()
    assert "<svg" in text
    monkeypatch.setattr(sweep_module, "_executor", _never)
    again = make_figure(file, tmp_path / "out", workers=1)
    assert again.verdicts == made.verdicts
    assert svg.read_text() == text
    shown = made.text()
    assert "claim:   what is spent rises with epsilon" in shown
    assert "verdict: reproduced" in shown
    assert all(f"data:    {path}" in shown for path in made.data["town"])
    runs, summary = made.data["town"]
    assert (runs.name, summary.name) == ("runs.parquet", "summary.csv")
    assert made.drawn is not None
    drawn = pd.read_csv(made.drawn)
    assert set(drawn["panel"]) == {"town"}
    spent = drawn.loc[drawn["y_name"] == "epsilon_spent", "y"]
    assert sorted(spent) == sorted(pd.read_parquet(runs)["epsilon_spent"])


def _never(*_: Any) -> None:
    raise AssertionError("runs were made again")


def test_other_kinds_are_made_by_their_class_and_kept(tmp_path: Path) -> None:
    panels = {"up": {}, "down": {"set": {"slope": -2.0}}}
    file = load_figure(plain_file(tmp_path, panels=panels))
    NumbersForATest.calls.clear()
    made = make_figure(file, tmp_path / "out")
    assert [made.verdicts[panel][0].reproduced for panel in panels] == [True, False]
    assert made.verdicts["down"][0].word == "not reproduced, because it goes the other way"
    assert NumbersForATest.calls == ["up", "down"]
    make_figure(file, tmp_path / "out")
    assert NumbersForATest.calls == ["up", "down"]
    make_figure(file, tmp_path / "out", fresh=True)
    assert NumbersForATest.calls == ["up", "down", "up", "down"]


def test_data_that_are_absent_leave_a_panel_out_and_keep_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "real.csv").write_text("1\n")
    monkeypatch.setenv("GEODP_DATA", str(data))
    panels = {"made_up": {}, "real": {"title": "real people", "needs": ["real.csv"]}}
    file = load_figure(plain_file(tmp_path, panels=panels))
    page = tmp_path / "REPRODUCTION.md"
    write_reproduction(page, [make_figure(file, tmp_path / "out")])
    full = page.read_text()
    assert "2 checks: 2 reproduced, 0 not reproduced" in full
    assert set(earlier_blocks(full)) == {("P1", "made_up"), ("P1", "real")}
    monkeypatch.delenv("GEODP_DATA")
    partial = make_figure(file, tmp_path / "out")
    assert list(partial.verdicts) == ["made_up"]
    assert "left out, needs real.csv" in partial.text()
    for _ in range(2):  # a second time the mark is not doubled
        write_reproduction(page, [partial])
        kept = page.read_text()
        assert kept.count("*Measured earlier; not this time (needs real.csv") == 1
        assert "2 checks: 2 reproduced, 0 not reproduced" in kept
    page.unlink()
    write_reproduction(page, [partial])
    assert "Not measured: needs real.csv" in page.read_text()
    assert "1 checks" in page.read_text()


def test_all_makes_the_page_although_one_figure_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scenarios" / "figures"
    folder.mkdir(parents=True)
    plain_file(folder, "A10")
    plain_file(folder, "A9", claims=[{"says": "no such line", "check": "rises", "lines": ["absent"]}])
    (folder / "broken.yaml").write_text("geodp: 1\nname: broken\n")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    complaints: list[str] = []
    done = console.make_all(None, workers=1, fresh=False, say=said.append, complain=complaints.append)
    assert [figure.file.id for figure in done.made] == ["A10"]
    assert set(done.failed) == {"A9", "broken"}
    assert len(complaints) == 2
    assert "FAILED A9: panel 'town' has no line called 'absent'" in complaints[0]
    text = (tmp_path / "REPRODUCTION.md").read_text()
    assert text.index("## A9") < text.index("## A10")
    assert "Not measured: could not be made this time" in text
    assert (tmp_path / "runs" / "figures" / "A10" / "A10.png").is_file()
    assert "A9 " in console.list_text()
    assert "A10     What is spent" in console.list_text()
    assert "broken" in console.list_text()


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"titel": "x"}, "figure.titel", "Did you mean 'title'"),
        ({"make": {"kind": "sweeep"}}, "figure.make.kind", "Did you mean 'sweep'"),
        ({"make": FIGURE["make"] | {"x": "epsilon"}}, "figure.make.x", "not varied"),
        (
            {"claims": [{"says": "s", "check": "rises", "lines": ["evn"]}]},
            "figure.claims.0.lines",
            "Did you mean 'even'",
        ),
        ({"claims": [{"says": "s", "check": "rises", "panels": ["tow"]}]}, "figure.claims.0.panels", "mean 'town'"),
    ],
)
def test_mistakes_in_a_figure_file_are_explained(tmp_path: Path, changes: Any, place: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_figure(figure_file(tmp_path, **changes))
    assert words in dict(refused.value.problems)[place]


def test_paths_of_data_are_filled_in_and_must_be_needed(tmp_path: Path) -> None:
    panel = Panel(needs=("a/b.csv",), set={"workers.source": {"kind": "table", "path": "$GEODP_DATA/a/b.csv"}})
    filled = panel.fill_paths({"a/b.csv": tmp_path / "a" / "b.csv"})
    assert filled["workers.source"]["path"] == str(tmp_path / "a" / "b.csv")
    with pytest.raises(UsageError, match="among the panel's needs"):
        panel.fill_paths({})


def test_shipped_figures_are_valid_and_found_by_id() -> None:
    paths = figure_paths()
    assert paths
    for path in paths:
        file = find_figure(path.stem)
        assert file.section.source
        if file.section.make.kind == "sweep":
            assert load_sweep(path).cells
    with pytest.raises(UsageError, match="Did you mean '13.7a'"):
        find_figure("13.7aa")


def test_the_command_line_lists_makes_and_refuses(tmp_path: Path) -> None:
    def geodp(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "geodp", *words], capture_output=True, text=True, check=False)

    listed = geodp("figures")
    assert listed.returncode == 0
    assert "13.7a" in listed.stdout
    made = geodp("figures", str(figure_file(tmp_path)), "--out", str(tmp_path / "out"), "--workers", "1")
    assert made.returncode == 0, made.stderr
    assert "verdict: reproduced" in made.stdout
    assert geodp("figures", "13.77x").returncode == 2
    both = geodp("figures", "13.7a", "--all")
    assert both.returncode == 2
    assert "not both" in both.stderr


def test_one_figure_is_recorded_and_the_others_stay_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scenarios" / "figures"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    plain_file(folder, "A2")
    plain_file(folder, "A10")
    console.make_some(["A10"], None, workers=1, fresh=False, say=lambda _: None, record=True)
    page = tmp_path / "REPRODUCTION.md"
    alone = page.read_text()
    assert "1 checks: 1 reproduced" in alone
    console.make_some(["A2"], None, workers=1, fresh=False, say=lambda _: None, record=True)
    both = page.read_text()
    assert "2 checks: 2 reproduced" in both
    assert both.index("## A2: ") < both.index("## A10: ")
    assert alone[alone.index("## A10: ") :].strip() in both
    console.make_all(None, workers=1, fresh=False, say=lambda _: None, complain=lambda _: None)
    assert page.read_text() == both
