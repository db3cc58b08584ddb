"""The page that a comparison leaves."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import geodp
from geodp.cli.main import app
from geodp.runs.comparison_page import write_comparison_page
from geodp.runs.result import RunResult
from tests.small import small_file

ARMS: dict[str, dict[str, float]] = {"coarse": {}, "fine": {"curator.mechanism.epsilon": 5.0}}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Two arms of a small run, priced at equal success."""
    folder = tmp_path_factory.mktemp("compared")
    changes = {"about": "Does <b>epsilon</b> pay?", "compare": ARMS, "compare_at_success": 0.5}
    changes |= {"workers.source.count": 800, "duration_s": 600}
    return geodp.run(small_file(folder, changes), folder / "out")


def test_a_comparison_leaves_a_page_with_question_answer_price_and_maps(compared: RunResult) -> None:
    page = (compared.path / "report.html").read_text(encoding="utf-8")
    assert "Does &lt;b&gt;epsilon&lt;/b&gt; pay?" in page
    assert "For the same expected success (50.0 %)" in page
    assert "workers asked per task at equal success" in page
    assert "ε of one release: 5" in page
    assert not re.search(r">\s*(nan|curator\.mechanism\.epsilon)", page)
    for name in ARMS:
        assert f'href="./arms/{name}/map.html"' in page
        assert (compared.path / "arms" / name / "map.html").is_file()
    assert 'href="./map.html"' in page


def test_the_page_is_no_part_of_what_the_folder_is_sealed_with(compared: RunResult) -> None:
    (compared.path / "report.html").write_text("mine")
    assert geodp.open_run(compared.path).metrics == compared.metrics
    made = write_comparison_page(compared.folder)
    assert "The answer" in made.read_text(encoding="utf-8")


def test_runs_are_compared_on_a_page_by_the_command(compared: RunResult, tmp_path: Path) -> None:
    arms = [str(compared.path / "arms" / name) for name in ARMS]
    out = tmp_path / "deep" / "page.html"
    out.parent.mkdir()
    result = CliRunner().invoke(app, ["compare", *arms, "--out", str(out)])
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    assert "<h1>fine against coarse</h1>" in page  # names of runs stay as they are
    links = list(re.findall(r'href="([^"]+map\.html)"', page))
    assert [(out.parent / link).resolve() for link in links] == [Path(arm).resolve() / "map.html" for arm in arms]


def test_a_comparison_ends_with_a_line_for_each_arm_and_names_its_page(tmp_path: Path) -> None:
    changes = {"compare": ARMS, "workers.source.count": 300, "duration_s": 600}
    file, out = small_file(tmp_path, changes), tmp_path / "out"
    result = CliRunner().invoke(app, ["run", str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    for name in ARMS:
        assert f"{name}: success rate " in result.output
    assert f"next: open {out / 'report.html'}" in " ".join(result.output.split())
