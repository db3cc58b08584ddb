"""Public inputs can never be the private file: not by path, link or copy, in either mode, before anything is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from geodp.cli.main import main

VISITS = "user,venue,lon,lat,level\nann,a,10.01,50.01,x\nbob,b,10.02,50.02,x\n"
VENUES = "venue,lon,lat\na,10.01,50.01\nb,10.02,50.02\nc,10.03,50.03\n"
REGION = "--region=10.0,50.0,10.08,50.05"


def disguise(how: str) -> str:
    """Return another name of the private file."""
    private, other = Path("in.csv"), Path("public.csv")
    if how == "itself":
        return "./in.csv"
    if how == "symbolic link":
        other.symlink_to(private.resolve())
    elif how == "hard link":
        other.hardlink_to(private)
    else:
        shutil.copy(private, other)
    return str(other)


PUBLIC = {
    "the venue list": ("counts", ["--epsilon", "1", "--venues", "{}"]),
    "the venue list of visits": ("visits", ["--epsilon", "1", "--venues", "{}"]),
    "the list of users": ("visits", ["--epsilon", "1", "--venues", "venues.csv", "--users", "{}"]),
    "the personal levels": ("visits", ["--epsilon", "1", "--venues", "venues.csv", "--personal-levels", "{}"]),
    "the areas of level 'x'": ("visits", ["--epsilon", "1", "--venues", "venues.csv", "--areas", "x={}:name"]),
    "the region": ("positions", ["--epsilon", "0.1", "--cap", "1", "--region", "{}"]),
    "the prior": (
        "positions",
        ["--epsilon", "0.1", "--cap", "1", REGION, "--set", "remap=true", "--set", "prior_file={}"],
    ),
    "the region of trips": ("trajectories", ["--epsilon", "1", "--region", "{}"]),
}


@pytest.mark.parametrize("mode", ["simulate", "release"])
@pytest.mark.parametrize("how", ["itself", "symbolic link", "hard link", "copy"])
@pytest.mark.parametrize("what", PUBLIC)
def test_the_private_file_is_no_public_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str, how: str, mode: str
) -> None:
    if mode == "release":
        pytest.importorskip("opendp")
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(VISITS)
    Path("venues.csv").write_text(VENUES)
    name = disguise(how)
    before = set(Path().iterdir())
    kind, options = PUBLIC[what]
    words = [
        "publish",
        kind,
        "in.csv",
        "--out",
        "out.csv",
        "--mode",
        mode,
        "--ledger",
        "l.csv",
        *(word.format(name) for word in options),
    ]
    with pytest.raises(SystemExit) as done:
        main(words)
    error = capsys.readouterr().err
    assert done.value.code == 2
    assert "must be public, and this is the private data (or a copy of them)" in error
    assert what.partition(" of ")[0] in error
    assert "Nothing was released, nothing was charged." in error
    assert set(Path().iterdir()) == before


def test_a_file_of_a_private_folder_is_no_public_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for number in range(3):
        Path(f"parts/{number}.csv").write_text(f"user,venue\nann,v{number}\n")
    shutil.copy("parts/1.csv", "venues.csv")
    with pytest.raises(SystemExit) as done:
        main(["publish", "counts", "parts", "--venues", "venues.csv", "--epsilon", "1", "--out", "out.csv"])
    assert done.value.code == 2
    assert "venues.csv: the venue list must be public" in capsys.readouterr().err
