"""The package as it is installed, and the whole site built with it, once for all processes of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from geodp.storage.files import lock_file
from tests.display.conftest import browser

__all__ = ["browser"]
ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "runs", "tests", "maps", "docs", "*.egg-info", "__pycache__")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of one run of the tests share."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    (folder / "docs").mkdir(exist_ok=True)
    return folder / "docs"


@pytest.fixture(scope="session")
def installed(shared: Path) -> Path:
    """Return a folder that holds the package as its wheel would install it, and nothing else of the repository."""
    pytest.importorskip("setuptools", minversion="77")  # as pyproject.toml asks; what tests need holds it
    with lock_file(shared / "wheel.lock"):
        if not (shared / "installed").exists():
            shutil.copytree(ROOT, shared / "source", ignore=LEFT_OUT)
            code = "from setuptools import build_meta; build_meta.build_wheel('..')"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=shared / "source", capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            (wheel,) = shared.glob("*.whl")
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(shared / "unpacked")
            (shared / "unpacked").rename(shared / "installed")
    return shared / "installed"


@pytest.fixture(scope="session")
def site(shared: Path, installed: Path) -> Path:
    """Return the folder of the site; its tutorials were run with the installed package."""
    with lock_file(shared / "site.lock"):
        if not (shared / "site").exists():
            done = subprocess.run(
                [sys.executable, "-m", "docs", "--out", str(shared / "site")],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(installed)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    return shared / "site"
