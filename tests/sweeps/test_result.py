"""A finished sweep in Python: tables with types, plots, LaTeX, the best cell."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from geodp.errors import GeodpError, UsageError
from geodp.sweeps.latex import escape_latex, write_latex
from geodp.sweeps.line_plots import SIZES, draw_plot
from geodp.sweeps.report import say_answers
from geodp.sweeps.result import SweepResult
from geodp.sweeps.series import find_panels
from geodp.sweeps.significance import compare_pairs, correct_holm, find_best
from geodp.sweeps.sweep import sweep
from geodp.sweeps.sweep_file import Plot
from geodp.sweeps.tables import name_cells, type_runs
from tests.sweeps.small_sweep import sweep_file

EPSILON, MECHANISM = "curator.mechanism.epsilon", "curator.mechanism"
VARIED = [MECHANISM, EPSILON]


def make_runs(seeds: int = 6) -> pd.DataFrame:
    """Runs of two mechanisms with unlike epsilons and of exact counts: success, and what it costs."""
    rng = np.random.default_rng(3)
    luck = rng.normal(0, 0.01, seeds)
    cells = [
        ("{kind: contour}", 0.1, 0.80, 40.0),
        ("{kind: contour}", 1.0, 0.90, 20.0),
        ("{kind: adaptive_grid}", 0.2, 0.85, 30.0),
        ("{kind: adaptive_grid}", 2.0, 0.90, 15.0),
        ("{kind: no_privacy}", np.nan, 0.90, 10.0),
    ]
    rows: list[dict[str, Any]] = []
    for number, (mechanism, epsilon, success, asked) in enumerate(cells):
        for seed in range(seeds):
            own = {"cell": f"c{number:04d}", "run_id": f"r{number}-{seed}", "seed": seed, "status": "ok", "error": ""}
            values = {
                "success_rate": success + luck[seed] + rng.normal(0, 0.001),
                "notified_workers": asked + 10 * luck[seed] + rng.normal(0, 0.1),
            }
            rows.append(own | {MECHANISM: mechanism, EPSILON: epsilon} | values)
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """A sweep of four cells with two seeds, which keeps the maps of its runs."""
    folder = tmp_path_factory.mktemp("sweep")
    path = sweep_file(folder, {"seeds": [1, 2], "keep": ["map", "summary"], "plot": {"y": "success_rate"}})
    return sweep(path, folder / "out", workers=1)


def test_tables_have_types_and_cells_have_words(finished: SweepResult) -> None:
    table, cells = finished.table, finished.cells
    assert table["server.assignment.reward"].dtype == "category"
    assert table[EPSILON].dtype == "float64"
    assert len(table) == 8
    row = cells[(cells["cell"] == "c0000") & (cells["metric"] == "notified_workers")].iloc[0]
    assert (row["label"], row["unit"], row["better"], row["n"]) == ("workers asked per task", "workers", "lower", 2)
    own = finished.runs.query("cell == 'c0000'")["notified_workers"]
    assert row["mean"] == pytest.approx(own.mean())
    assert "reward" in row["cell_words"]


def test_yes_and_no_are_booleans_and_null_is_missing() -> None:
    runs = make_runs().assign(yardstick=["True", "False", "null"] * 10)
    assert type_runs(runs, ["yardstick"])["yardstick"].tolist()[:2] == [True, False]
    assert type_runs(runs, ["yardstick"])["yardstick"].isna().sum() == 10


def test_mechanisms_with_unlike_epsilons_share_an_axis_of_a_metric() -> None:
    data = find_panels(make_runs(), VARIED, x="notified_workers", y="success_rate", lines=MECHANISM, along=None)
    (panel,) = data.panels
    assert [line.label for line in panel.lines] == ["contour", "adaptive grid", "no privacy"]
    assert data.along == EPSILON
    first = panel.lines[0].points
    assert [point.name for point in first] == ["0.1", "1"]
    assert [round(point.x.value or 0) for point in first if not isinstance(point.x, str)] == [40, 20]
    assert all(point.y.low is not None for point in first)


@pytest.mark.parametrize("size", ["column", "page"])
def test_plots_for_papers_are_as_wide_as_a_column_or_a_page(size: Any, tmp_path: Path) -> None:
    plot = Plot(x="notified_workers", y="success_rate", lines=MECHANISM, size=size, font="serif")
    figure = draw_plot(make_runs(), plot, VARIED)
    assert figure.get_size_inches()[0] == SIZES[size].width
    figure.savefig(tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as image:
        assert image.width == pytest.approx(SIZES[size].width * 300, abs=2)
    letters = {text.get_fontfamily()[0] for text in figure.findobj(lambda own: hasattr(own, "get_fontfamily"))}
    assert letters == {"STIXGeneral"}


@pytest.mark.parametrize("x", [EPSILON, "notified_workers"])
def test_nothing_of_a_plot_is_clipped_or_hidden_by_its_legend(x: str) -> None:
    title = "A title that is much longer than the plot is wide, so that it has to be broken into lines " * 2
    figure = draw_plot(make_runs(), Plot(x=x, y="success_rate", lines=MECHANISM, title=title), VARIED)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    whole, box = figure.bbox, legend.get_window_extent()
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1
    assert box.y1 <= whole.y1
    for axes in figure.axes:
        inside = axes.get_tightbbox()
        assert not box.overlaps(inside)
        assert whole.x0 <= inside.x0
        assert inside.x1 <= whole.x1


def test_a_plot_is_saved_in_the_format_of_its_name_or_in_three(finished: SweepResult, tmp_path: Path) -> None:
    finished.plot("notified_workers", "success_rate", save=tmp_path / "all")
    assert {path.name for path in tmp_path.iterdir()} == {"all.png", "all.svg", "all.pdf"}
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")
    finished.plot("success_rate", save=tmp_path / "one.svg")
    assert "<svg" in (tmp_path / "one.svg").read_text()
    with pytest.raises(UsageError, match=r"saved as png, svg, pdf, not \.gif"):
        finished.plot("success_rate", save=tmp_path / "one.gif")


def test_a_wrong_name_says_which_is_meant(finished: SweepResult) -> None:
    with pytest.raises(UsageError, match="success_rate"):
        finished.plot("sucess_rate")
    with pytest.raises(UsageError, match=f"Did you mean '{EPSILON}'"):
        finished.plot("curator.mechanism.epsilom", "success_rate")
    with pytest.raises(UsageError, match="is a metric: lines are made of varied paths"):
        finished.plot("success_rate", "notified_workers", lines="success_rate")
    with pytest.raises(UsageError, match="no run of this sweep has"):
        finished.plot("success_rate", where={EPSILON: 77})
    with pytest.raises(UsageError, match="name what to draw"):
        finished.plot()
    with pytest.raises(UsageError, match="size"):
        finished.plot("success_rate", size="poster")  # type: ignore[arg-type]


def test_latex_has_intervals_and_stars_where_the_corrected_test_says_so() -> None:
    runs = make_runs()
    text = write_latex(
        runs,
        VARIED,
        metrics=["success_rate", "notified_workers"],
        baseline="c0004",
        test="t",
        caption="A & B",
        label="tab:a_b",
        bold_best=True,
    )
    rows = {row.split(" & ")[0].strip() + row.split(" & ")[1]: row for row in text.splitlines() if row.count("&") == 3}
    assert "A \\& B" in text
    assert "\\label{tab:a-b}" in text
    worst = next(row for row in rows.values() if "contour" in row and "0.1" in row)
    assert worst.count("^{***}") == 2
    best = next(row for row in rows.values() if "no privacy" in row)
    assert "\\mathbf{10." in best or "\\mathbf{9." in best
    assert "^{*" not in best
    own = runs.query("cell == 'c0000'")["notified_workers"]
    half = 2.5706 * own.std() / np.sqrt(6)  # Student's t with five degrees of freedom
    assert f"\\pm {half:.2f}" in worst


def test_no_sign_of_a_text_is_a_command_of_latex() -> None:
    assert escape_latex(r"\input{a}_$&%#~^") == (
        r"\textbackslash{}input\{a\}\_\$\&\%\#\textasciitilde{}\textasciicircum{}"
    )


def test_the_best_cell_is_decided_only_against_cells_that_are_clearly_worse() -> None:
    cheapest = find_best(make_runs(), VARIED, "notified_workers")
    assert (cheapest.cell, cheapest.better, cheapest.decided) == ("c0004", "lower", True)
    assert cheapest.runner_up is not None
    assert cheapest.runner_up.cell == "c0003"
    successful = find_best(make_runs(), VARIED, "success_rate")
    assert not successful.decided
    assert {cell.cell for cell in successful.tied} | {successful.cell} == {"c0001", "c0003", "c0004"}


def test_the_best_cell_meets_bounds_with_its_whole_interval() -> None:
    runs = make_runs()
    bounded = find_best(runs, VARIED, "success_rate", subject_to="notified_workers>=25")
    assert bounded.cell == "c0002"
    assert len(bounded.left_out) == 3
    with pytest.raises(GeodpError, match="no cell of this sweep has success_rate >= 0.99"):
        find_best(runs, VARIED, "notified_workers", subject_to="success_rate>=0.99")
    with pytest.raises(UsageError, match="subject_to"):
        find_best(runs, VARIED, "notified_workers", subject_to="success_rate=0.5")


def test_p_values_are_those_of_the_paired_test_and_are_corrected_by_holm() -> None:
    gaps = [1.0, 2.0, 3.0, 4.0]
    assert compare_pairs(gaps, 10.0) == pytest.approx(0.030466, abs=1e-5)  # t = 3.873, three degrees of freedom
    assert compare_pairs(gaps, 10.0, "wilcoxon") == pytest.approx(0.125)
    assert compare_pairs([1e-16, -1e-16], 1.0) == 1.0
    assert correct_holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])


def test_what_is_undecided_is_said_in_whole_sentences_and_few_seeds_are_warned_of() -> None:
    said = [str(line) for line in say_answers(make_runs(), VARIED, ["success_rate"])]
    assert not any("seeds only" in line for line in said)
    assert any("and 1 more of 4 other cells, are not clearly lower" in line for line in said), said
    two = make_runs().query("cell in ['c0001', 'c0003']")
    assert any(
        "Undecided: " in line and ") is not clearly lower" in line
        for line in map(str, say_answers(two, VARIED, ["success_rate"]))
    )


def test_cells_are_named_by_what_varies_and_no_two_alike() -> None:
    names = name_cells(make_runs(), VARIED)
    assert names["c0000"] == "contour, ε of one release 0.1"
    assert names["c0004"] == "no privacy"
    assert len(set(names.values())) == 5


def test_the_page_says_question_and_answer_and_links_each_runs_map(finished: SweepResult) -> None:
    page = finished.report.read_text(encoding="utf-8")
    assert "Does epsilon matter?" in page
    assert "The answer" in page
    assert "workers asked per task" in page
    assert "2 seeds only" in page
    assert ">curator.mechanism.epsilon" not in page  # readable labels instead of dotted paths
    assert "nan" not in page.split("<body>")[1].replace("nance", "").split("data:image")[0]
    for run_id in finished.runs["run_id"]:
        assert f'href="./runs/{run_id}/map.html"' in page
        assert (finished.path / "runs" / run_id / "map.html").is_file()
