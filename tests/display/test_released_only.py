"""A public map cannot read the truth, whatever its layers try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from geodp.display.layers.tasks import TasksLayer
from geodp.display.map import build_map
from geodp.display.released_only import ReleasedOnly
from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Made
from tests.display.map_contents import contents

SECRETS: dict[str, Callable[[RunFolder], Any]] = {
    "events": lambda run: run.events,
    "tasks": lambda run: run.tasks,
    "offers": lambda run: run.offers,
    "notified": lambda run: run.notified,
    "paths": lambda run: run.paths,
    "workers": lambda run: run.workers,
    "true_counts": lambda run: run.true_counts(0),
    "interaction": lambda run: run.interaction,
}


@pytest.mark.parametrize("name", SECRETS)
def test_the_truth_is_locked(plain: RunFolder, name: str) -> None:
    with pytest.raises(UsageError, match="released data only"):
        SECRETS[name](ReleasedOnly(plain.path))


def test_what_was_released_is_open(plain: RunFolder) -> None:
    locked = ReleasedOnly(plain.path)
    assert len(locked.releases) == len(plain.releases) == 3
    assert locked.ledger["total"].iloc[-1] == pytest.approx(0.9)


def test_the_arms_are_locked_too(arms: RunFolder) -> None:
    with pytest.raises(UsageError, match=r"events\.parquet"):
        _ = ReleasedOnly(arms.path).arms["contour"].tasks


def test_a_layer_that_wrongly_calls_itself_public_stops_the_map(
    plain: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TasksLayer, "public", True)
    with pytest.raises(UsageError, match="calls itself public"):
        build_map(plain, public=True)


def test_exact_counts_are_not_published(make_run: Made) -> None:
    run = make_run(guarantee=Guarantee.none("exact counts are published"), releases=2)
    page = build_map(run, public=True)
    assert len(contents(page)) == 1  # the region
    assert "2 releases left out: no privacy guarantee holds for them." in page
