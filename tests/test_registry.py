import importlib.util
from pathlib import Path
from typing import ClassVar

import pytest

import geodp
from geodp.cli.plugin_list import plugin_list
from geodp.curator.mechanisms import Mechanism
from geodp.errors import UsageError
from geodp.registry import ROOMS, Plugin, find, load_file, plugins
from tests.small import small

ALL = {kind: cls for kind, cls in plugins().items() if cls.__module__.startswith("geodp.")}
"""Those of the package; tests define some of their own."""


@pytest.mark.parametrize("kind", ALL)
def test_every_plugin_builds_without_arguments_and_explains_itself(kind: str) -> None:
    cls = ALL[kind]
    built = geodp.plugin(kind)
    assert isinstance(built, cls)
    assert cls.headline().endswith(".")
    cls.describe_fields()
    assert all(field.description for field in cls.model_fields.values()), "every field has a docstring"
    text = plugin_list(cls.family)
    assert f"\n{kind} (geodp)\n" in text
    assert all(f"  {name}: " in text for name in cls.model_fields)


@pytest.mark.parametrize("kind", [kind for kind, cls in ALL.items() if cls.family in {"mechanism", "device"}])
def test_every_mechanism_states_its_guarantee(kind: str) -> None:
    assert ALL[kind].section("Guarantee")
    assert geodp.plugin(kind).guarantee().sentence()


def test_plugins_live_in_the_room_of_their_family() -> None:
    for kind, cls in ALL.items():
        if cls.__module__.startswith("geodp."):
            assert cls.__module__.startswith(ROOMS[cls.family] + "."), f"{kind} lives in another room"


def test_unknown_names_get_the_nearest_known_one() -> None:
    with pytest.raises(UsageError, match="no mechanism called 'contur'. Did you mean 'contour'"):
        find("contur", "mechanism")
    with pytest.raises(UsageError, match="no family called 'mechanisms'. Did you mean 'mechanism'"):
        plugins("mechanisms")


def test_plugins_are_frozen_and_closed() -> None:
    contour = geodp.plugin("contour", epsilon=0.5)
    with pytest.raises(ValueError, match="frozen"):
        contour.epsilon = 1.0
    with pytest.raises(ValueError, match="Did you mean 'epsilon'"):
        geodp.plugin("contour", epsilo=1)


def test_a_kind_cannot_be_taken_twice_and_every_field_needs_a_default() -> None:
    with pytest.raises(UsageError, match="two plug-ins are called 'contour'"):

        class Other(Mechanism):
            """Another."""

            kind: ClassVar[str] = "contour"

    with pytest.raises(UsageError, match="give every field a default; missing: width"):

        class Unready(Plugin):
            """Not ready."""

            family: ClassVar[str] = "mechanism"
            kind: ClassVar[str] = "unready"
            width: float


def test_a_scenario_may_bring_a_plugin_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "standing.py"
    file.write_text(
        "from typing import ClassVar\n"
        "from geodp.world.mobility.static import Static\n"
        "class Standing(Static):\n"
        "    '''Workers who stand.'''\n"
        "    kind: ClassVar[str] = 'standing_for_a_test'\n"
    )
    scenario = small({"plugins": [str(file)], "workers.mobility.kind": "standing_for_a_test"})
    assert scenario.workers.mobility.kind == "standing_for_a_test"
    load_file(file)  # a second time changes nothing
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        load_file(broken)


def test_public_names_are_never_hidden_by_modules_of_the_same_name() -> None:
    rooms = {"device", "layers", "publish"}  # offered as a whole; the first can be called as well
    for name in set(geodp.__all__) - rooms - {"__version__"}:
        assert importlib.util.find_spec(f"geodp.{name}") is None, name
    importlib.import_module("geodp.device")
    assert geodp.device("planar_laplace").plugin.kind == "planar_laplace"
    importlib.import_module("geodp.registry")
    assert callable(geodp.plugins)
    assert "contour" in geodp.plugins("mechanism")
