from pathlib import Path

import pytest

from geodp.errors import GeodpError
from geodp.figures.figure_file import load_figure
from geodp.scenario.template import write_template
from geodp.storage.names import LONGEST, require_name
from geodp.sweeps.sweep import sweep
from tests.small import small
from tests.sweeps.small_sweep import sweep_file

BAD = [
    "",
    ".",
    "..",
    "...",
    ".hidden",
    "a/b",
    "../up",
    "a\\b",
    "a\nb",
    "a\x00b",
    "a b",
    "-flag",
    "=cmd",
    "a" * (LONGEST + 1),
]


@pytest.mark.parametrize("name", ["a", "_a", "13.7a", "Straße-2", "x..y", "a" * LONGEST])
def test_letters_digits_and_a_few_signs_make_a_name(name: str) -> None:
    assert require_name(name) == name


@pytest.mark.parametrize("name", BAD)
def test_what_would_lead_elsewhere_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="must"):
        require_name(name)


@pytest.mark.parametrize("name", BAD)
def test_scenarios_arms_and_sweeps_bear_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(GeodpError, match="name"):
        small({"name": name})
    with pytest.raises(GeodpError, match="the name of an arm"):
        small({"compare": {"first": {}, name: {}}})
    with pytest.raises(GeodpError, match="name|no text"):
        sweep(sweep_file(tmp_path, {"name": name}), tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["..", ".hidden", "-flag", "a b"])
def test_a_figure_bears_the_name_of_its_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(GeodpError, match="the name of a figure file"):
        load_figure(tmp_path / f"{name}.yaml")


@pytest.mark.parametrize("name", ["..", ".hidden.yaml", "-flag", "a b"])
def test_a_new_scenario_bears_a_name(name: str) -> None:
    with pytest.raises(GeodpError, match="a scenario's name"):
        write_template(name)
