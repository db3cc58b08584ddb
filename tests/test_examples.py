"""Every public name documents its parameters, what it returns and raises, and has an example that runs."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import geodp
from geodp import errors, metrics
from geodp.figures import kinds
from geodp.frames import bare
from geodp.model import Model
from geodp.privacy import audit_case, primitives
from geodp.publish.bare_publication import BarePublication

ROOT = Path(__file__).parent.parent
NAMED_IN = (audit_case, errors, kinds, metrics, primitives)
"""Modules whose names CONTRIBUTING.md mentions between its examples."""
SLOW = {"advise", "advise_within", "cost_at_success", "sweep"}


def words_in_prose(page: str) -> set[str]:
    """Return what a page writes as code outside its blocks, without arguments and modules."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    return {word.rpartition(".")[2] for word in re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*)?`", prose)}


def public_names() -> dict[str, Any]:
    """Return what `geodp` offers, what the examples of CONTRIBUTING.md import, and what an audit is handed."""
    found = {name: getattr(geodp, name) for name in geodp.__all__ if name != "__version__"}
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("geodp"):
                module = importlib.import_module(str(node.module))
                found |= {alias.name: getattr(module, alias.name) for alias in node.names}
    published = [name for name in geodp.publish.__all__ if not name.endswith("Options")]  # those are keys of a call
    found |= {f"publish.{name}": getattr(geodp.publish, name) for name in published}
    found |= {
        value.__name__: value for value in (bare.BareMechanism, bare.BareDevice, bare.BareAttack, BarePublication)
    }
    found |= {"device": bare.device}
    found |= {
        name: value for module in NAMED_IN for name, value in vars(module).items() if name in words_in_prose(page)
    }
    return {name: value for name, value in found.items() if str(getattr(value, "__module__", "")).startswith("geodp")}


NAMES = public_names()


def section(doc: str, title: str) -> str:
    """Return one section of a docstring ('' where there is none)."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n[A-Z][\w ]*\n-+\n|\Z)", doc, re.S | re.M)
    return found.group(1) if found else ""


def undocumented(value: Any, doc: str) -> list[str]:
    """Return the parameters of a function, or fields of a class, about which nothing is said."""
    listed = re.findall(r"\w+", " ".join(re.findall(r"^[\w*, ]+$", section(doc, "Parameters"), re.M)))
    if inspect.isfunction(value):
        names = list(inspect.signature(value).parameters)
    elif isinstance(value, type) and issubclass(value, Model):
        value.describe_fields()
        names = [name for name, field in value.model_fields.items() if not field.description]
    elif dataclasses.is_dataclass(value):
        cls: Any = value
        tree: Any = ast.parse(inspect.getsource(cls))
        body = tree.body[0].body
        fields: list[Any] = [node for node in body if isinstance(node, ast.AnnAssign)]
        own = {node.target.id for node in fields}
        said = {one.target.id for one, after in pairwise(body) if one in fields and isinstance(after, ast.Expr)}
        names = [field.name for field in dataclasses.fields(value) if field.name in own - said]
    else:
        names = []
    return [name for name in names if name not in listed]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_takes_returns_and_raises(name: str) -> None:
    value, doc = NAMES[name], inspect.getdoc(NAMES[name]) or ""
    assert not undocumented(value, doc)
    if inspect.isfunction(value):
        assert section(doc, "Returns")
        raises = re.findall(r"^\s+raise (\w+)", inspect.getsource(value), re.M)
        told = section(doc, "Raises")
        assert not [error for error in raises if error not in told]
    assert ">>> " in section(doc, "Examples")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in NAMES])
def test_every_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    parser = doctest.DocTestParser()
    test = parser.get_doctest(inspect.getdoc(NAMES[name]) or "", {}, name, None, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert test.examples
    assert runner.run(test, out=told.append).failed == 0, "".join(told)
