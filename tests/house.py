"""The rooms of geodp/ and who imports whom, drawn from the imports: `python -m tests.house`.

A folder of geodp/ is a room, its sub-packages belong to it; a module that stands beside the rooms is loose and counts
by itself. Imports count wherever they stand: at the top, inside functions, under TYPE_CHECKING, relative or not.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "geodp"
PAGE = ROOT / "CONTRIBUTING.md"
WIDTH = 100
MOST_LOOSE = 8

Graph = Mapping[str, frozenset[str]]


def imported(path: Path, package: Path = PACKAGE) -> set[str]:
    """Return the modules (and names in them) of the package that a file imports, wherever in the file.

    Parameters
    ----------
    path
        A file of the package.
    package
        The package's folder.
    """
    place = [*path.relative_to(package.parent).with_suffix("").parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = place[: len(place) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == package.name}


def rooms(package: Path = PACKAGE) -> set[str]:
    """Return the folders of the package that hold modules."""
    return {path.relative_to(package).parts[0] for path in package.glob("*/**/*.py")}


def loose_modules(package: Path = PACKAGE) -> set[str]:
    """Return the modules that stand beside the rooms."""
    return {path.stem for path in package.glob("*.py")}


def _node(name: str, nodes: set[str]) -> str:
    """Return the room or loose module that an imported name belongs to (the package itself is `__init__`)."""
    first = (*name.split("."), "")[1]
    return first if first in nodes else "__init__"


def room_graph(package: Path = PACKAGE) -> dict[str, frozenset[str]]:
    """Return what each room and each loose module imports of the others."""
    nodes = rooms(package) | loose_modules(package)
    found: dict[str, set[str]] = {node: set() for node in nodes}
    for path in package.rglob("*.py"):
        here = path.relative_to(package).with_suffix("").parts[0]
        found[here] |= {_node(name, nodes) for name in imported(path, package)} - {here}
    return {node: frozenset(found[node]) for node in sorted(nodes)}


def reach(graph: Graph, start: str) -> set[str]:
    """Return all that can be reached from one node by one arrow or more."""
    found: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead += graph[node]
    return found


def cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that import one another, directly or by way of others."""
    reached = {node: reach(graph, node) for node in graph}
    groups = {tuple(sorted({node, *(far for far in reached[node] if node in reached[far])})) for node in graph}
    return sorted([*group] for group in groups if len(group) > 1)


def arrows_to_draw(graph: Graph) -> dict[str, frozenset[str]]:
    """Return the arrows that do not follow from others (A → B → C says that A may know C)."""
    reached = {node: reach(graph, node) for node in graph}
    return {
        node: frozenset(target for target in targets if not any(target in reached[other] for other in targets))
        for node, targets in graph.items()
    }


def layers(graph: Graph) -> list[list[str]]:
    """Return the nodes in layers from the top: every arrow leads to a lower one."""
    height: dict[str, int] = {}
    for node in TopologicalSorter(graph).static_order():
        height[node] = 1 + max((height[target] for target in graph[node]), default=-1)
    levels = reversed(range(max(height.values()) + 1))
    return [sorted(node for node in graph if height[node] == level) for level in levels]


def picture(package: Path = PACKAGE) -> str:
    """Draw the room graph as text: layers from the top, arrows by names, at most 100 columns wide.

    Arrows of rooms to loose modules are left out: every room may import those.
    """
    graph = room_graph(package)
    folders = rooms(package)
    drawn = {node: targets & folders if node in folders else targets for node, targets in arrows_to_draw(graph).items()}
    names = {node: f"{node}/" if node in folders else f"{node}.py" for node in graph}
    indent = max(map(len, names.values())) + 2
    blocks = [
        [line for node in layer for line in _arrows(names[node], [names[far] for far in sorted(drawn[node])], indent)]
        for layer in layers(graph)
    ]
    rule = "─" * max(len(line) for block in blocks for line in block)
    return "\n".join([rule, *(line for block in blocks for line in (*block, rule))])


def _arrows(name: str, targets: Sequence[str], indent: int) -> list[str]:
    if not targets:
        return [name]
    arrow = "→ "
    text = textwrap.wrap(", ".join(targets), WIDTH - indent - len(arrow), break_on_hyphens=False)
    first = f"{name:{indent}}{arrow}{text[0]}"
    return [first, *(" " * (indent + len(arrow)) + line for line in text[1:])]


_DRAWN = re.compile(r"(?<=```text\n)─+\n.*?(?=\n```)", re.S)


def picture_on_page(page: str) -> str | None:
    """Return the picture that a page of Markdown shows (None: it shows none)."""
    found = _DRAWN.search(page)
    return found.group() if found else None


def trespasses(package: Path, room: str, allowed: Iterable[str]) -> list[str]:
    """Return the imports of a room that lead neither to itself nor to what is allowed, each with its file."""
    nodes = rooms(package) | loose_modules(package)
    fine = {room, *allowed}
    return sorted(
        f"{path.relative_to(package.parent)}: {name}"
        for path in (package / room).rglob("*.py")
        for name in imported(path, package)
        if _node(name, nodes) not in fine
    )


def main(words: Sequence[str]) -> int:
    """Print the picture, or the cycles that stand in its way; exit code 1 when there are some."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description="Draws the rooms of geodp/.")
    parser.add_argument("--write", action="store_true", help="put the picture into CONTRIBUTING.md, too")
    wanted = parser.parse_args(words)
    found = cycles(room_graph())
    if found:
        print("\n".join(f"a cycle: {', '.join(group)}" for group in found), file=sys.stderr)
        return 1
    drawn = picture()
    print(drawn)
    if wanted.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_DRAWN.sub(lambda _: drawn, page, count=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
