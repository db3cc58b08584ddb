import math
from pathlib import Path

import pytest

from geodp.errors import BudgetSpent, OutputError, UsageError
from geodp.publish.positions_plan import publish_positions
from geodp.publish.request import Request
from tests.publish.conftest import Make, files


@pytest.mark.parametrize("option", ["epsilon", "budget"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, -math.inf, math.nan])
def test_an_impossible_epsilon_or_budget_releases_and_charges_nothing(make: Make, option: str, value: float) -> None:
    request = make(**{option: value})
    with pytest.raises(UsageError, match=f"--{option} must be a finite number greater than 0"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_a_cap_of_zero_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match="--cap must be a whole number of at least 1, got 0"):
        make(cap=0).check()


def test_the_suffix_tells_the_format(make: Make) -> None:
    for name in ("out.csv", "out.parquet", "out.geoparquet", "out.geojson", "OUT.CSV"):
        make(out=name).check()
    for name in ("out.xlsx", "out", "out.json"):
        with pytest.raises(UsageError, match=r"use one of \.csv, \.parquet, \.geoparquet, \.geojson"):
            make(out=name).check()


def test_the_guarantee_lies_beside_the_output_and_the_ledger_by_the_data(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "data" / "in.csv")
    by_the_data = tmp_path.resolve() / "data" / "geodp-ledger.json"
    for source in ("data/in.csv", "data/../data/in.csv", "link.csv"):
        request = Request(tmp_path / source, Path("here/out.csv"))
        assert request.guarantee_path == Path("here/out.csv.guarantee.json")
        assert request.ledger_path == by_the_data
    whole_folder = Request(tmp_path / "data", Path("here/out.csv"))
    assert whole_folder.ledger_path == tmp_path.resolve() / "geodp-ledger.json"
    assert Request(tmp_path / "data", Path("out.csv"), ledger=Path("l.csv")).ledger_path == Path("l.csv")


def test_two_publications_of_one_population_share_its_ledger_wherever_they_go(make: Make, tmp_path: Path) -> None:
    for folder in ("here", "there"):
        publish_positions(make(out=f"{folder}/out.csv", budget=0.1))
    with pytest.raises(BudgetSpent):
        publish_positions(make(out="elsewhere.csv"))


def test_a_release_needs_a_ledger(make: Make, tmp_path: Path) -> None:
    request = make(mode="release", ledger=None)
    with pytest.raises(UsageError, match=r"--mode release needs --ledger.*Nothing was released, nothing was charged"):
        publish_positions(request)
    assert files(tmp_path) == {"in.csv"}
    (tmp_path / "out.csv.ledger.json").write_text("{}")
    with pytest.raises(UsageError, match=r"needs --ledger .*geodp publish adopt-ledger .*out\.csv\.ledger\.json"):
        publish_positions(request)


def test_where_the_ledger_is_now_is_said_to_whom_has_an_old_one(make: Make, tmp_path: Path) -> None:
    (tmp_path / "out.csv.ledger.json").write_text("{}")
    (warning,) = publish_positions(make()).warnings
    assert "out.csv.ledger.json is not asked any more" in warning
    assert str(tmp_path.resolve() / "geodp-ledger.json") in warning
    assert (tmp_path / "out.csv.ledger.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["out.csv", "out.csv.guarantee.json", "map.html"])
def test_nothing_is_overwritten_without_force(make: Make, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    request = make(map=tmp_path / "map.html")
    with pytest.raises(OutputError, match="Use --force"):
        publish_positions(request)
    assert (tmp_path / name).read_text() == "mine"
    assert not request.ledger_path.exists()
    publish_positions(make(map=tmp_path / "map.html", force=True))
    assert (tmp_path / name).read_text() != "mine"


def test_the_private_file_is_never_the_output_even_with_force(make: Make, tmp_path: Path) -> None:
    request = make(out="in.csv", force=True)
    before = request.source.read_bytes()
    with pytest.raises(UsageError, match="cannot be both the input and the output"):
        publish_positions(request)
    assert request.source.read_bytes() == before
    with pytest.raises(UsageError, match="both the output and the ledger"):
        make(ledger=tmp_path / "out.csv").check()
    with pytest.raises(UsageError, match="both the guarantee and the map"):
        make(map=tmp_path / "out.csv.guarantee.json").check()


def test_a_folder_is_no_output(make: Make, tmp_path: Path) -> None:
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        make(force=True).check()
