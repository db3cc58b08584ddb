"""Runs the tutorials as notebooks, each in an empty folder with the installed package, and makes pages of them.

A tutorial is a Python file with cells (`# %%` code, `# %% [markdown]` text). Its page shows the code and what it
printed, and offers the notebook itself.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

LONGEST_CELL_S = 900  # a busy machine is slow; only what hangs should fail
_KERNEL = "geodp-docs"
_FRAME = re.compile(r'<iframe\b[^>]*?\bsrcdoc="([^"]*)"[^>]*>\s*</iframe>', re.S)
_HEAVY_STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.S)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class TutorialError(Exception):
    """A tutorial failed; the message names the cell."""


def write_pages(sources: Path, folder: Path, *, run: bool = True) -> list[dict[str, str]]:
    """Write the page and the notebook of every tutorial, and return their entries in the navigation."""
    paths = list_tutorials(sources)
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 4)) as pool:  # the kernels do the work
        made = list(pool.map(run_tutorial if run else read_tutorial, paths))
    entries = []
    for path, notebook in zip(paths, made, strict=True):
        nbformat.write(read_tutorial(path), folder / f"{path.stem}.ipynb")
        page = Page(path.stem, folder)
        (folder / f"{path.stem}.md").write_text(page.write(notebook), encoding="utf-8")
        entries.append({title_of(notebook): f"{folder.name}/{path.stem}.md"})
    return entries


def list_tutorials(sources: Path) -> list[Path]:
    """Return the tutorials of a folder in their order."""
    return sorted(sources.glob("*.py"))


def read_tutorial(path: Path) -> Any:
    """Read a tutorial as a notebook without outputs."""
    notebook = jupytext.read(path)
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem}-{number}"  # the same source gives the same file
        cell["metadata"] = {}
    return notebook


def title_of(notebook: Any) -> str:
    """Return the title of a tutorial: its first heading."""
    return str(notebook.cells[0].source).partition("\n")[0].lstrip("# ")


def run_tutorial(path: Path) -> Any:
    """Run a tutorial in an empty folder, with a kernel of this Python and nobody's settings, and return the notebook.

    Raises
    ------
    TutorialError
        If a cell fails or takes too long.
    """
    notebook = read_tutorial(path)
    with tempfile.TemporaryDirectory() as folder, _own_settings() as environment:
        client = NotebookClient(
            notebook,
            timeout=LONGEST_CELL_S,
            kernel_name=_KERNEL,
            resources={"metadata": {"path": folder}},
            record_timing=False,
        )
        client.create_kernel_manager()
        if os.name == "posix":
            client.km.transport = "ipc"  # nothing goes over a network, not even this machine's own
            client.km.ip = f"{environment['IPYTHONDIR']}-socket"
        client.km.kernel_spec_manager.kernel_dirs = [environment["GEODP_DOCS_KERNELS"]]
        try:
            client.execute(env=environment)
        except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
            raise TutorialError(f"{path.name}: {_COLOURS.sub('', str(error))}") from error
    return notebook


@contextmanager
def _own_settings() -> Iterator[dict[str, str]]:
    """Yield the environment of a kernel: this Python, its commands first, settings of Jupyter and IPython left out."""
    with tempfile.TemporaryDirectory() as settings:
        kernel = Path(settings) / "kernels" / _KERNEL
        kernel.mkdir(parents=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        yield {
            **os.environ,
            "GEODP_DOCS_KERNELS": str(kernel.parent),
            "IPYTHONDIR": f"{settings}/ipython",
            "JUPYTER_CONFIG_DIR": f"{settings}/config",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "NO_COLOR": "1",
            "COLUMNS": "110",
            "TERM": "dumb",  # no lines that are written over
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }


@dataclass
class Page:
    """Makes the page of a notebook; pictures and maps become files beside it."""

    name: str
    folder: Path
    files: int = field(default=0, init=False)

    def write(self, notebook: Any) -> str:
        """Return the page as Markdown."""
        parts = []
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                parts.append(str(cell.source))
            elif cell.cell_type == "code" and cell.source.strip():
                parts.append(f"```python\n{cell.source}\n```")
                shown = [self._show(output) for output in _joined(cell.get("outputs", []))]
                shown = [text for text in shown if text]
                if shown:
                    parts.append('<div class="output" markdown>\n\n' + "\n\n".join(shown) + "\n\n</div>")
        head, _, rest = parts[0].partition("\n")
        offer = f"*This page is a notebook that was run when the site was built: [download it]({self.name}.ipynb).*"
        return "\n\n".join([head, offer, rest.strip(), *parts[1:]]) + "\n"

    def _show(self, output: Any) -> str:
        if output.output_type == "stream":
            return _as_text(output.text)
        data = output.get("data", {})
        if "text/html" in data:
            return self._show_html(data["text/html"])
        if "image/png" in data:
            return self._show_picture(base64.b64decode(data["image/png"]))
        if "text/markdown" in data:
            return str(data["text/markdown"])
        return _as_text(data.get("text/plain", ""))

    def _show_html(self, text: str) -> str:
        """Show HTML as it is; pages within it become files of their own, which are loaded when they are looked at."""

        def move_out(found: re.Match[str]) -> str:
            name = self._new_file("html")
            (self.folder / name).write_text(html.unescape(found.group(1)), encoding="utf-8")
            return f'<iframe class="map" src="{name}" title="map" loading="lazy"></iframe>'

        shown = _FRAME.sub(move_out, _HEAVY_STYLE.sub("", text))
        shown = "\n".join(
            line.strip() for line in shown.splitlines() if line.strip()
        )  # nothing that Markdown would read
        return f'<div markdown="0">\n{shown}\n</div>'

    def _show_picture(self, content: bytes) -> str:
        name = self._new_file("png")
        (self.folder / name).write_bytes(content)
        return f"![figure]({name})"

    def _new_file(self, ending: str) -> str:
        self.files += 1
        return f"{self.name}-{self.files}.{ending}"


def _joined(outputs: list[Any]) -> list[Any]:
    """Join what was printed in several pieces."""
    joined: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(output.copy())
    return joined


def _as_text(text: str) -> str:
    text = _COLOURS.sub("", text).rstrip()
    return f"```text\n{text}\n```" if text else ""
