"""Names of the plug-in interface that were changed still answer, and say what to write instead."""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import geodp
from geodp import registry
from geodp.attacks import Guesses
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.device.history_reports import HistoryDevice
from geodp.errors import OldName
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Guarantee
from geodp.public.lattice import Lattice
from geodp.public.messages import Offer
from geodp.public.release import Cells
from geodp.public.tree_metric import PublicTree
from geodp.registry import FilePlugin
from geodp.scenario.schema import Scenario
from tests.curator.mechanisms.crowds import REGION

METHODS: list[tuple[Any, str, str]] = [
    (FilePlugin, "anchored", "anchor"),
    (Guarantee, "repeated", "repeat"),
    (Guesses, "joined", "join"),
    (HistoryDevice, "named_categories", "list_categories"),
    (HistoryDevice, "settled", "settle"),
    (Lattice, "clamped", "clamp"),
    (Mechanism, "following", "release_next"),
    (Offer, "refused", "refuse"),
    (PublicTree, "meeting_level", "find_meeting_level"),
    (Scenario, "resolved", "resolve"),
]
NAMES = [
    ("geodp.privacy.noise", "audited_release", "intercept_noise"),
    ("geodp.privacy.noise", "checked_logits", "check_logits"),
    ("geodp.privacy.noise", "checked_scale", "check_scale"),
    ("geodp.public.messages", "Region", "GeocastRegion"),
    ("geodp.public.planar_laws", "signed_edges", "sign_edges"),
    ("geodp.registry", "blamed", "locate_fault"),
    ("geodp.registry", "given_files", "list_given_files"),
]


@pytest.mark.parametrize(("owner", "old", "new"), METHODS, ids=lambda each: each if isinstance(each, str) else "")
def test_an_old_method_answers_with_the_new_one(owner: type, old: str, new: str) -> None:
    with pytest.warns(OldName, match=rf"'{owner.__name__}\.{old}' is called '{new}' now.* 0\.4"):
        assert getattr(owner, old) == getattr(owner, new)


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_an_old_name_of_a_module_answers_with_the_new_one(module: str, old: str, new: str) -> None:
    home = importlib.import_module(module)
    with pytest.warns(OldName, match=rf"'{module}\.{old}' is called '{new}' now.* 0\.4"):
        assert getattr(home, old) is getattr(home, new)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = home.nonsense


def snapshot() -> Snapshot:
    return Snapshot(0.0, np.zeros(5), np.zeros(5), REGION, 5.0)


def noise() -> Noise:
    return SimulatedNoise(np.random.default_rng(1))


@pytest.fixture
def old_class() -> Iterator[type[Mechanism]]:
    """Define a mechanism as it was written for 0.2."""
    with pytest.warns(OldName, match=r"'OldSeries\.following' is called 'release_next' now"):

        class OldSeries(UniformGrid):
            """Count its releases."""

            kind: ClassVar[str] = "old_series"

            def following(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:
                released: Cells = super().following(earlier, snapshot, noise, number=number)
                return replace(released, count=released.count + 1000.0)

    yield OldSeries
    registry.forget("old_series")


def test_a_method_that_is_overridden_by_its_old_name_is_called_by_the_new_one(old_class: type[Mechanism]) -> None:
    plain = UniformGrid().release_next(None, snapshot(), noise(), number=0)
    with pytest.warns(OldName):  # by its call of `super().following`
        moved = old_class().release_next(None, snapshot(), noise(), number=0)
    np.testing.assert_allclose(moved.count, plain.count + 1000.0)


def test_an_old_method_of_an_instance_is_that_of_its_own_class() -> None:
    guarantee = Guarantee.per_metre(0.01)
    with pytest.warns(OldName):
        again = getattr(guarantee, "repeated")(3)  # noqa: B009 - the rename of names must not reach it
    assert again == guarantee.repeat(3)


def test_nothing_of_the_house_uses_an_old_name() -> None:
    with warnings.catch_warnings(action="error", category=OldName):
        assert geodp.plugins()
