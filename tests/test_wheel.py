"""What is installed holds all that runs need: scenarios, sweeps, figure files, the template and the parts of pages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package as a wheel holds it, put together by the project's own build step."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("geodp", "scenarios"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in ("setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = re.sub(r'^license = (".*")$', r"license = {text = \1}", settings, flags=re.M)
    settings = re.sub(r"^license-files = .*$", "", settings, flags=re.M)
    (source / "pyproject.toml").write_text(settings, encoding="utf-8")
    build = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(target)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    return target


def run(installed: Path, folder: Path, *words: str) -> str:
    """Run a command of the installed package in a folder."""
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from geodp.cli.main import main; main(sys.argv[1:])"
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=clean, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_file_that_is_no_module_is_installed(installed: Path) -> None:
    ours = {path.relative_to(ROOT) for path in (ROOT / "geodp").rglob("*") if path.is_file()}
    ours = {path for path in ours if "__pycache__" not in path.parts and path.parts[1] != "shipped"}
    assert {path for path in ours if not (installed / path).is_file()} == set()


def test_every_scenario_sweep_and_figure_file_is_installed(installed: Path) -> None:
    ours = [path for path in (ROOT / "scenarios").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    shipped = installed / "geodp" / "shipped"
    assert [path for path in ours if not (shipped / path.relative_to(ROOT / "scenarios")).is_file()] == []


def test_the_quickstart_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    assert "success rate" in run(installed, tmp_path, "run", "quickstart", "--set", "workers.source.count=500")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    assert (tmp_path / "runs" / "quickstart-s0" / "map.html").is_file()


def test_scenarios_are_listed_copied_and_written_anew(installed: Path, tmp_path: Path) -> None:
    assert "Does tuning rewards pay?" in run(installed, tmp_path, "scenarios", "list")
    run(installed, tmp_path, "scenarios", "copy", "uniform_reward")
    run(installed, tmp_path, "new", "downtown")
    run(installed, tmp_path, "check", "downtown.yaml")
    assert "13.7a" in run(installed, tmp_path, "figures")
    assert {"uniform_reward.yaml", "downtown.yaml"} <= {path.name for path in tmp_path.iterdir()}
