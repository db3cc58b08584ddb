"""Rules of the house: who may import whom, style, and that the pages and CI say the same."""

import ast
import builtins
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

import geodp
from tests.house import (
    MOST_LOOSE,
    PACKAGE,
    PAGE,
    ROOT,
    cycles,
    layers,
    loose_modules,
    picture,
    picture_on_page,
    room_graph,
    rooms,
    trespasses,
)

UNTRUSTED = {"public"}
READERS = {"run_folder", "public"}
ALLOWED = {
    "public": set[str](),
    "storage": set[str](),
    "privacy": {"public", "storage"},
    "server": UNTRUSTED,
    "attacks": UNTRUSTED,
    "metrics": READERS,
    "display": READERS,
    "run_folder": {"scenario", "curator", "device", "tables", "public", "storage"},
}
"""The rooms whose imports are part of what the house promises (beside the loose modules and themselves)."""


def write_package(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "geodp"
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_no_rooms_import_one_another_in_a_circle() -> None:
    assert cycles(room_graph()) == []


def test_few_modules_stand_beside_the_rooms() -> None:
    assert len(loose_modules()) <= MOST_LOOSE


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_what_it_may_know_and_nothing_else(room: str) -> None:
    assert room in rooms()
    assert trespasses(PACKAGE, room, ALLOWED[room] | loose_modules()) == []


def test_contributing_shows_the_rooms_as_they_are() -> None:
    shown = picture_on_page(PAGE.read_text(encoding="utf-8"))
    assert shown == picture(), "CONTRIBUTING.md is out of date: run `python -m tests.house --write`"
    assert max(map(len, picture().splitlines())) <= 100


@pytest.mark.parametrize(
    "code",
    [
        "from ..world import motion",
        "import geodp.curator",
        "from geodp import world",
        "from geodp.world.motion import walk",
        "from .. import world",
    ],
)
@pytest.mark.parametrize(
    "frame",
    ["{}", "def f():\n    {}", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"],
    ids=["top", "lazy", "types"],
)
def test_trespassers_are_caught_wherever_they_import(tmp_path: Path, code: str, frame: str) -> None:
    files = {
        "__init__.py": "",
        "errors.py": "",
        "server/__init__.py": "from geodp.errors import E\nfrom . import spy",
        "server/spy.py": frame.format(code),
        "world/motion.py": "",
        "curator/__init__.py": "",
    }
    package = write_package(tmp_path, files)
    (found,) = trespasses(package, "server", {"errors", "__init__"})
    assert found.startswith("geodp/server/spy.py: ")


def test_a_circle_is_found_through_sub_packages_and_lazy_imports(tmp_path: Path) -> None:
    files = {
        "a/__init__.py": "",
        "a/deep/x.py": "from ...b import y",
        "b/y.py": "def f():\n    import geodp.c.z",
        "c/z.py": "from geodp.a.deep import x",
        "d/w.py": "import geodp.a.deep.x",
        "loose.py": "",
        "e/v.py": "import geodp.loose",
    }
    graph = room_graph(write_package(tmp_path, files))
    assert cycles(graph) == [["a", "b", "c"]]
    assert graph["e"] == {"loose"}


def test_the_package_itself_counts_when_a_room_imports_it(tmp_path: Path) -> None:
    files = {"__init__.py": "from geodp.a.x import run", "a/x.py": "import geodp"}
    assert cycles(room_graph(write_package(tmp_path, files))) == [["__init__", "a"]]


def test_the_picture_has_layers_and_leaves_out_what_follows(tmp_path: Path) -> None:
    files = {
        "errors.py": "",
        "low/x.py": "import geodp.errors",
        "mid/x.py": "import geodp.low.x, geodp.errors",
        "top/x.py": "import geodp.low.x\nimport geodp.mid.x",
    }
    package = write_package(tmp_path, files)
    assert layers(room_graph(package)) == [["top"], ["mid"], ["low"], ["errors"]]
    rows = [line for line in picture(package).splitlines() if not line.startswith("─")]
    assert rows == ["top/       → mid/", "mid/       → low/", "low/", "errors.py"]


def test_tests_mirror_the_package() -> None:
    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms() - tested == set()


def private_imports(text: str) -> list[str]:
    """Return the names with a leading underscore that a test imports from the package, or reads off its modules."""
    tree = ast.parse(text)
    found, modules = [], set()
    for node in ast.walk(tree):
        names: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            names = [(alias.name, alias.asname or "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
        ours = [(name, known_as) for name, known_as in names if name.split(".")[0] == "geodp"]
        found += [name for name, _ in ours if any(re.match("_[^_]", part) for part in name.split("."))]
        modules |= {known_as for name, known_as in ours if is_module(name)}
    found += [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in modules and re.match("_[^_]", node.attr)
    ]
    return [name for name in found if name != "geodp._version.__version__"]


def is_module(name: str) -> bool:
    path = ROOT / Path(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_tests_name_behaviour_through_public_names() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in private_imports(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "code",
    [
        "from geodp.privacy._ledger import Row",
        "import geodp.privacy._ledger as ledger",
        "def test():\n    from geodp.registry import _registered",
        "from geodp.simulation import range_join as module\nmodule._Runs()",
    ],
)
def test_private_names_are_caught(code: str) -> None:
    assert len(private_imports(code)) == 1


MOST_BY_PLACE = 5
"""How many arguments a call may give without their names."""


def count_by_place(call: ast.Call) -> int:
    """Return how many arguments a call surely gives by place (what `*rest` holds is not known)."""
    return sum(not isinstance(argument, ast.Starred) for argument in call.args)


@cache
def defined_names(package: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of functions and classes of the package, and those whose functions gather `*arguments`."""
    nodes = [node for path in package.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    gathering = {node.name for node in functions if node.args.vararg}
    fixed = {node.name for node in functions if not node.args.vararg}
    fixed |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return frozenset(fixed), frozenset(gathering - fixed)


def foreign_names(tree: ast.AST) -> set[str]:
    """Return the names that a file imports from elsewhere, and Python's own."""
    found = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] != "geodp":
            found |= {alias.asname or alias.name for alias in node.names}
    return found - {"geodp"}


def is_ours(callee: ast.expr, ours: frozenset[str], others: set[str]) -> bool:
    """Tell whether a call is one of ours: by a name not known to be another's, or by an attribute that we define."""
    if isinstance(callee, ast.Name):  # `cls`, and a variable that holds one of two functions, too
        return callee.id not in others
    if isinstance(callee, ast.Attribute):
        return callee.attr in ours and not (isinstance(callee.value, ast.Name) and callee.value.id in others)
    return True  # `type(self)(…)`


def crowded_calls(text: str, package: Path = PACKAGE) -> list[str]:
    """Return the calls of our own functions and classes that give more than five arguments by place."""
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and count_by_place(node) > MOST_BY_PLACE]
    if not calls:
        return []
    ours, gathering = defined_names(package)
    others = foreign_names(tree) | gathering
    return [f"line {call.lineno}: {ast.unparse(call.func)}" for call in calls if is_ours(call.func, ours, others)]


def test_more_than_five_arguments_are_given_by_keyword() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}, {call}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for call in crowded_calls(path.read_text(encoding="utf-8"))
    ]
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 1
    wrong += [f"{PAGE.name}, {call}" for block in blocks for call in crowded_calls(block)]
    assert wrong == [], "give the arguments by keyword"


@pytest.mark.parametrize(
    "code",
    [
        "Grid(0, 0, 1, 1, 2, 2)",
        "geometry.Grid(0, 0, 1, 1, 2, 2)",
        "from geodp.geometry import Grid as Lattice\nLattice(0, 0, 1, 1, 2, 2)",
        "Grid(0, 0, *sides, 1, 1, 2, 2)",
        "Grid(0, 0, 1, 1, 2, 2, note=3)",
        "def fit(cls):\n    return cls(0, 0, 1, 1, 2, 2)",
        "type(self)(0, 0, 1, 1, 2, 2)",
        "draw = f if fine else g\ndraw(0, 0, 1, 1, 2, 2)",
        "super().fit(0, 0, 1, 1, 2, 2)",
    ],
)
def test_crowded_calls_are_caught(tmp_path: Path, code: str) -> None:
    package = write_package(tmp_path, {"geometry.py": "class Grid:\n    def fit(self, *, a): ..."})
    assert len(crowded_calls(code, package)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "Grid(0, 0, 1, 1, 2)",
        "Grid(0, 0, 1, 1, 2, rows=2)",
        "Grid(*edges, 0, 0)",
        "min(0, 0, 1, 1, 2, 2)",
        "import numpy as np\nnp.fit(0, 0, 1, 1, 2, 2)",
        "from scipy.special import hyp\nhyp(0, 0, 1, 1, 2, 2)",
        "ax.quiver(0, 0, 1, 1, 2, 2)",
        "join(0, 0, 1, 1, 2, 2)",
    ],
)
def test_calls_of_others_and_of_functions_that_gather_arguments_are_let_be(tmp_path: Path, code: str) -> None:
    files = {"geometry.py": "class Grid:\n    def fit(self, *, a): ...\ndef join(*parts): ..."}
    assert crowded_calls(code, write_package(tmp_path, files)) == []


PARTICIPLES = re.compile(
    "begun|bought|broken|brought|built|caught|chosen|done|drawn|driven|fallen|forgotten|found|frozen|given|gone|got|grown|"
    "heard|held|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|sought|spent|stood|"
    "taken|taught|thought|thrown|told|won|written|.{2,}ed|.{2,}ing"
)
"""Participles: of verbs that are not regular, and what ends in -ed or -ing."""
NO_PARTICIPLES = {"bring", "embed", "feed", "need", "ring", "seed", "expected"}
"""Verbs that end so, and the expectation of a number (`expected_noise`), which has no other name."""


def defined(text: str) -> tuple[list[str], list[str]]:
    """Return the names of classes, and of functions that are no properties."""
    nodes = list(ast.walk(ast.parse(text)))
    functions = [
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not any(ast.unparse(each).endswith(("property", "computed_field")) for each in node.decorator_list)
    ]
    return [node.name.lstrip("_") for node in nodes if isinstance(node, ast.ClassDef)], functions


def begins_with_participle(name: str) -> bool:
    word = name.lstrip("_").partition("_")[0]
    return word not in NO_PARTICIPLES and PARTICIPLES.fullmatch(word) is not None


def test_functions_are_verbs_and_no_participles() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in defined(path.read_text(encoding="utf-8"))[1]
        if begins_with_participle(name)
    ]
    assert wrong == [], "say what the function does: draw_places, not drawn_places"


@pytest.mark.parametrize("name", ["drawn", "_told", "joined_parts", "_asking", "used"])
def test_participles_are_caught(name: str) -> None:
    assert begins_with_participle(name)


@pytest.mark.parametrize("name", ["draw", "seed_list", "expected_noise", "read_told", "ring_edges", "bring_home"])
def test_verbs_and_expectations_are_let_be(name: str) -> None:
    assert not begins_with_participle(name)


def test_a_class_name_means_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in defined(path.read_text(encoding="utf-8"))[0]:
            homes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("tool", [["ruff", "check"], ["ruff", "format", "--check"]])
def test_ruff_is_content(tool: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *tool, "docs", "geodp", "tests"], cwd=ROOT, capture_output=True, text=True, check=False
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


def test_hooks_before_a_commit_run_the_tools_of_the_tests() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    assert {tuple(hook["entry"].split()[:2]) for hook in local["hooks"]} == {
        ("ruff", "check"),
        ("ruff", "format"),
        ("mypy",),
    }
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


@pytest.mark.parametrize("name", ["bug", "privacy", "method"])
def test_issue_forms_ask_for_something(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    assert any(part.get("validations", {}).get("required") for part in form["body"])
    assert all(isinstance(word, str) for part in form["body"] for word in part["attributes"].get("options", []))


def test_version_changelog_and_citation_agree_and_lines_are_short() -> None:
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", page, re.M)[0]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (str(citation["version"]), citation["date-released"]) == (version, date)
    assert geodp.__version__ == version or geodp.__version__.endswith(".dev0")
    assert max(map(len, page.splitlines())) <= 122
