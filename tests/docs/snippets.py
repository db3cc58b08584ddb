"""Cuts the snippets out of the pages, and runs those of a page in their order, in one folder, as a reader would."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "pages"
_FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", re.S | re.M)
SHOWN_ONLY = {"text"}
"""Blocks that show something: what is printed, a drawing."""
INSTALLS = {"console"}
"""Commands that set a machine up, which a test cannot do: `test_only_installs_are_not_run` reads them."""


@dataclass(frozen=True)
class Snippet:
    """One block of a page."""

    language: str
    text: str
    line: int
    code: int = 0
    """The exit code that a command must have."""


def cut_snippets(page: str) -> list[Snippet]:
    """Return the blocks of a page."""
    found = []
    for block in _FENCE.finditer(page):
        indent, language, more, text = block.groups()
        text = "\n".join(line.removeprefix(indent) for line in text.splitlines()) + "\n"
        expected = re.search(r"expect=(\d+)", more)
        line = page.count("\n", 0, block.start()) + 1
        found.append(Snippet(language, text, line, int(expected.group(1)) if expected else 0))
    return found


def run_snippets(snippets: list[Snippet], folder: Path) -> None:
    """Run the blocks; names that one Python block defines are known in those after it.

    A block whose first line is a comment with a file's name is saved under that name: YAML, and plug-ins.
    """
    with _start_reader(folder) as reader:
        for snippet in snippets:
            name = re.match(r"# ([\w.-]+\.(?:py|yaml))\n", snippet.text)
            if name:
                (folder / name.group(1)).write_text(snippet.text, encoding="utf-8")
            elif snippet.language == "python":
                _ask_reader(reader, snippet)
            elif snippet.language == "sh":
                _run_commands(snippet, folder)
            else:
                assert snippet.language in SHOWN_ONLY | INSTALLS, f"line {snippet.line}: what is {snippet.language}?"


_READER = """
import json, sys, traceback
names = {}
for line in sys.stdin:
    try:
        exec(compile(json.loads(line), "block", "exec"), names)
        told = ""
    except Exception:
        told = traceback.format_exc()
    print("\\0" + json.dumps(told), flush=True)
"""
"""Runs the blocks that it is sent, one after the other, and answers with what went wrong."""


@contextmanager
def _start_reader(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a Python that does what a reader of the page types."""
    with subprocess.Popen(
        [sys.executable, "-c", _READER],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    ) as reader:
        yield reader


def _ask_reader(reader: subprocess.Popen[str], snippet: Snippet) -> None:
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(json.dumps(snippet.text) + "\n")
    reader.stdin.flush()
    answer = next((line for line in reader.stdout if line.startswith("\0")), json.dumps("Python ended"))
    told = json.loads(answer.lstrip("\0"))
    assert told == "", f"line {snippet.line}: {told}"


def _run_commands(snippet: Snippet, folder: Path) -> None:
    for command in snippet.text.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if words:
            assert words[0] == "geodp", f"line {snippet.line}: only geodp is run here: {command}"
            done = subprocess.run(
                [sys.executable, "-m", "geodp", *words[1:]], cwd=folder, capture_output=True, text=True, check=False
            )
            told = f"line {snippet.line}: {command}\n{done.stdout}{done.stderr}"
            assert done.returncode == snippet.code, told
