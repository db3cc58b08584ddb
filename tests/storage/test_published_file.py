"""What geodp published is held against its guarantee when geodp reads it again."""

from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.publish.positions_plan import publish_positions
from geodp.registry import plugin
from geodp.storage.published_file import guarantee_path, require_as_published
from tests.publish.conftest import LEDGER, TOWN, Make, make, places  # noqa: F401 - the fixture

FOREIGN = "is not what out.csv.guarantee.json beside it speaks of"


@pytest.fixture
def published(make: Make) -> Path:  # noqa: F811 - the fixture
    request = make()
    publish_positions(request)
    return request.out


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def test_a_flipped_bit_in_either_file_is_found(published: Path) -> None:
    require_as_published(published)
    before = published.read_bytes()
    damage(published)
    with pytest.raises(DataError, match=FOREIGN):
        require_as_published(published)
    published.write_bytes(before)
    guarantee_path(published).write_text("{}")
    with pytest.raises(DataError, match=FOREIGN):
        require_as_published(published)
    guarantee_path(published).unlink()
    require_as_published(published)


def test_a_run_reads_a_published_file_only_as_it_was_published(published: Path) -> None:
    source = plugin("table", "source", path=str(published), one_row_per_person=True)
    region = Region(*(float(edge) for edge in TOWN.split(",")))
    assert source.load(region, np.random.default_rng(0)).size > 0
    damage(published)
    with pytest.raises(DataError, match=FOREIGN):
        source.load(region, np.random.default_rng(0))


def test_publishing_reads_it_likewise_and_no_release_depends_on_its_private_file(
    published: Path,
    make: Make,  # noqa: F811 - the fixture
    opendp: None,
) -> None:
    damage(published)
    more = {"source": "out.csv", "out": "next.csv"}
    with pytest.raises(DataError, match=FOREIGN):
        publish_positions(make(places(20), **more))
    publish_positions(make(places(20), mode="release", **more))


@pytest.fixture
def opendp() -> None:
    pytest.importorskip("opendp", reason="needs the extra release (OpenDP)")
