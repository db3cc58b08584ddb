from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import hand_made_run


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run written by hand; read only."""
    return hand_made_run(tmp_path_factory.mktemp("runs") / "hand_made")


@pytest.fixture
def copied(hand_made: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of the run written by hand, for tests that change files."""
    shutil.copytree(hand_made.path, tmp_path / "copied")
    return RunFolder(tmp_path / "copied")
