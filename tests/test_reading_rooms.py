"""Metrics and maps read the run folder: they know nothing of how a run is made, so they work on old runs."""

import pytest

from tests.house import PACKAGE, loose_modules, trespasses

READ = {"run_folder", "public", "tables", "storage"}


@pytest.mark.parametrize("room", ["metrics", "display"])
def test_reading_rooms_import_the_run_folder_and_what_it_holds_and_nothing_else(room: str) -> None:
    assert trespasses(PACKAGE, room, READ | loose_modules()) == []


def test_the_run_folder_knows_nothing_of_those_who_fill_and_read_it() -> None:
    may_know = {"scenario", "curator", "device", "tables", "public", "storage"}
    assert trespasses(PACKAGE, "run_folder", may_know | loose_modules()) == []
