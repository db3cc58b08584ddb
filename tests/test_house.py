"""Rules of the house: who may import whom, style, and that the README and CI say the same."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PUBLIC = {
    "geodp.public.acceptance",
    "geodp.errors",
    "geodp.geometry",
    "geodp.public.messages",
    "geodp.model",
    "geodp.registry",
    "geodp.public.channels",
    "geodp.public.guarantee",
    "geodp.public.release",
}


def imported(path: Path) -> set[str]:
    """Return the geodp modules that a file imports, wherever in the file, relative imports resolved."""
    package = [*path.relative_to(ROOT).with_suffix("").parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.add(module)
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "geodp"}


def allowed(name: str, room: str) -> bool:
    own = f"geodp.{room}"
    public = any(name == module or name.startswith(module + ".") for module in PUBLIC)
    parents = {"geodp", "geodp.privacy"}
    return public or name == own or name.startswith(own + ".") or name in parents


@pytest.mark.parametrize("room", ["server", "attacks"])
def test_the_untrusted_side_imports_public_modules_and_its_own_room_only(room: str) -> None:
    files = list((ROOT / "geodp" / room).rglob("*.py"))
    assert files
    wrong = {
        f"{path.relative_to(ROOT)}: {name}" for path in files for name in imported(path) if not allowed(name, room)
    }
    assert not wrong


def test_public_modules_do_not_import_the_trusted_side() -> None:
    trusted = (
        "geodp.world",
        "geodp.tables.loaders",
        "geodp.device",
        "geodp.curator",
        "geodp.simulation",
        "geodp.runs",
    )
    for module in PUBLIC:
        path = ROOT / Path(*module.split("."))
        files = list(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            if file.is_file():
                assert not {name for name in imported(file) if name.startswith(trusted)}, file


@pytest.mark.parametrize("code", ["from ..world import motion", "import geodp.curator", "from geodp import world"])
def test_the_boundary_test_catches_trespassers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "geodp" / "server" / "spy.py"
    file.parent.mkdir(parents=True)
    file.write_text(code)
    assert any(not allowed(name, "server") for name in imported(file))


def test_metrics_and_layers_read_the_run_folder_and_nothing_of_the_world() -> None:
    for room in ("metrics", "display"):
        for path in (ROOT / "geodp" / room).rglob("*.py"):
            inside = ("geodp.world", "geodp.curator", "geodp.simulation.engine", "geodp.server")
            assert not {name for name in imported(path) if name.startswith(inside)}, path


def test_tests_mirror_the_package() -> None:
    rooms = {path.parent.relative_to(ROOT / "geodp").parts[0] for path in (ROOT / "geodp").glob("*/*.py")}
    tested = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert rooms - tested == set()


@pytest.mark.parametrize("tool", [["ruff", "check"], ["ruff", "format", "--check"]])
def test_ruff_is_content(tool: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *tool, "geodp", "tests"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_mypy_is_content() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def commands_of_readme() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^python3 -m venv .*$", text, re.M)


def test_the_readme_has_two_commands_and_ci_calls_the_second() -> None:
    first, second = commands_of_readme()
    assert "scenarios/quickstart.yaml" in first
    assert "pytest" in second
    assert second in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
