"""Pictures of maps, where there is a browser."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from geodp.display.map import make_map, write_map
from geodp.display.picture import find_browser
from geodp.errors import OutputError, UsageError
from geodp.run_folder.folder import RunFolder


@pytest.mark.browser
@pytest.mark.skipif(find_browser() is None, reason="needs a browser")
def test_a_map_is_written_as_a_picture_of_its_page(plain: RunFolder, tmp_path: Path) -> None:
    path = write_map(plain, tmp_path / "map.png")
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", head[16:24]) == (1400, 900)
    assert path.stat().st_size > 50_000  # an empty page is smaller by far
    make_map(plain).save(tmp_path / "again.png")
    assert (tmp_path / "again.png").stat().st_size > 50_000


def test_without_a_browser_it_says_what_to_do(
    plain: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("geodp.display.picture.BROWSERS", ("chromium",))
    with pytest.raises(UsageError, match=r"none was found\. Install Chromium .* or write the page instead"):
        write_map(plain, tmp_path / "map.png")
    monkeypatch.setenv("GEODP_BROWSER", "netscape")
    with pytest.raises(UsageError, match="GEODP_BROWSER names netscape, which is no program"):
        write_map(plain, tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()


def test_a_program_that_takes_no_picture_is_named(
    plain: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "browser"
    program.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("GEODP_BROWSER", str(program))
    with pytest.raises(OutputError, match=r"browser took no picture of the map \(no display\)"):
        write_map(plain, tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()


def test_another_kind_of_file_is_refused(plain: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.html, or in \.png"):
        write_map(plain, tmp_path / "map.svg")
