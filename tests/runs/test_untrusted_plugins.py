"""Reading a run folder or a scenario runs none of the programs it names, unless that is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import geodp
from geodp.audit.run_audit import audit_releases
from geodp.cli.main import main
from geodp.display.map import build_map
from geodp.errors import GeodpError, PluginNotLoaded
from geodp.run_folder.folder import RunFolder
from geodp.runs.compare import compare_runs
from geodp.runs.measure import write_metrics
from tests.small import small_raw

PLUGINS = """
import os
from pathlib import Path
from typing import ClassVar

from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.public.acceptance.linear import Linear
from geodp.device.none import NoDevice
from geodp.display.layers.tasks import TasksLayer
from geodp.metrics import Measured, Metric
from geodp.server.assignment.reward_radius import RewardRadius
from geodp.world.mobility.static import Static
from geodp.world.sources.synthetic_city import SyntheticCity

with Path(os.environ["GEODP_TEST_MARK"]).open("a") as mark:
    mark.write("ran\\n")


class ForeignGrid(UniformGrid):
    '''Cells.'''

    kind: ClassVar[str] = "foreign_grid"


class ForeignCounts(LaplaceCounts):
    '''Counts.'''

    kind: ClassVar[str] = "foreign_counts"


class ForeignAcceptance(Linear):
    '''Willingness.'''

    kind: ClassVar[str] = "foreign_acceptance"


class ForeignMobility(Static):
    '''Workers who stand.'''

    kind: ClassVar[str] = "foreign_mobility"


class ForeignAssignment(RewardRadius):
    '''Circles.'''

    kind: ClassVar[str] = "foreign_assignment"


class ForeignLayer(TasksLayer):
    '''Tasks.'''

    kind: ClassVar[str] = "foreign_layer"
    title: ClassVar[str] = "My own tasks"


class ForeignMetric(Metric):
    '''A number.'''

    kind: ClassVar[str] = "foreign_metric"

    def measure(self, run):
        return {"foreign_metric": Measured(42.0)}
"""
CHANGES = {
    "plugins": ["mine.py"],
    "duration_s": 900,
    "workers.source.count": 300,
    "workers.mobility": {"kind": "foreign_mobility"},
    "workers.acceptance": {"kind": "foreign_acceptance"},
    "curator.mechanism": {"kind": "foreign_grid", "epsilon": 0.5},
    "server.assignment": {"kind": "foreign_assignment"},
    "publish": [{"kind": "foreign_counts", "epsilon": 1.0}],
    "map": {"layers": ["region", "release", "foreign_layer"]},
}


def geodp_process(*words: str, mark: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own: what it loads must not stay with the tests."""
    environment = {**os.environ, "GEODP_TEST_MARK": str(mark)}
    return subprocess.run(
        [sys.executable, "-m", "geodp", *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario, its plug-in file, the run of it, and how often the file was run."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "mine.py").write_text(PLUGINS, encoding="utf-8")
    (folder / "scenario.yaml").write_text(yaml.safe_dump(small_raw(CHANGES)), encoding="utf-8")
    done = geodp_process("run", str(folder / "scenario.yaml"), "--out", str(folder / "run"), mark=folder / "mark")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def unloaded(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the plug-in file is run in this process, it fails: there is nowhere to leave its mark."""
    monkeypatch.setenv("GEODP_TEST_MARK", str(made / "nowhere" / "mark"))


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(str(ended.value.code or 0))


def test_a_run_loads_its_plugins(made: Path) -> None:
    assert (made / "mark").read_text() == "ran\n"
    assert json.loads((made / "run" / "metrics.json").read_text())["foreign_metric"] == 42.0


@pytest.mark.parametrize("flags", [[], ["--public"]])
def test_a_map_is_drawn_without_the_plugins(
    made: Path, tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map.html"
    assert command("map", str(made / "run"), "--out", str(out), *flags) == 0
    told = capsys.readouterr().err
    assert "mine.py" in told
    assert "--trust-plugins" in told
    page = out.read_text()
    assert '"kind":"release"' in page
    assert '"kind":"foreign_layer"' not in page
    assert ("foreign_layer: not drawn, it needs a plug-in of the run that was not loaded" in page) == (not flags)


def test_metrics_are_measured_without_the_plugins_and_none_is_lost(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = json.loads((made / "run" / "metrics.json").read_text())
    assert command("metrics", str(made / "run")) == 0
    told = capsys.readouterr()
    assert "--trust-plugins" in told.err
    assert json.loads(told.out) == pytest.approx(before)
    assert json.loads((made / "run" / "metrics.json").read_text()) == pytest.approx(before)


def test_runs_are_compared_without_the_plugins(made: Path) -> None:
    runs = {"one": RunFolder(made / "run"), "two": RunFolder(made / "run")}
    table = compare_runs(runs).set_index("metric")
    assert table.loc["success_rate", "two - one"] == 0
    assert "foreign_metric" not in table.index


def test_an_audit_of_a_run_needs_the_mechanism_and_says_so(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("audit", "--run", str(made / "run"), "--samples", "1000") == 2
    told = capsys.readouterr().err
    assert "'foreign_counts'" in told
    assert "--trust-plugins" in told
    with pytest.raises(PluginNotLoaded):
        audit_releases(RunFolder(made / "run"), samples=1000)


def test_check_says_that_it_loads_no_plugins(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("check", str(made / "scenario.yaml")) == 2
    told = capsys.readouterr().err
    assert "no mechanism called 'foreign_grid'" in told
    assert "mine.py" in told
    assert "--trust-plugins" in told


def test_check_reports_what_needs_no_plugin(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = small_raw({"plugins": [str(made / "mine.py")], "compare": {"a": {}, "b": {"curator.mechanism.epsilon": 1}}})
    (tmp_path / "plain.yaml").write_text(yaml.safe_dump(raw))
    assert command("check", str(tmp_path / "plain.yaml")) == 0
    told = capsys.readouterr()
    assert ": ok" in told.out
    assert "--trust-plugins" in told.err


def test_the_library_reads_without_the_plugins(made: Path) -> None:
    result = geodp.open_run(made / "run")
    assert result.folder.plugins_left_out == (str(made / "mine.py"),)
    assert result.folder.releases[0].mechanism == "foreign_grid"
    assert result.folder.scenario.curator is not None
    assert result.folder.scenario.curator.mechanism.kind == "foreign_grid"
    with pytest.raises(PluginNotLoaded, match="foreign_grid"):
        result.folder.scenario.curator.mechanism.guarantee()
    with pytest.raises(PluginNotLoaded, match="foreign_assignment"):
        assert result.folder.scenario.server.assignment.plans_regions
    assert "foreign_layer" in result.map().html
    with pytest.raises(GeodpError, match="trust_plugins=True"):
        geodp.load_scenario(made / "scenario.yaml")
    assert "foreign_grid" not in geodp.plugins("mechanism")


@pytest.mark.parametrize("name", ["check", "map", "audit"])
def test_trusted_plugins_are_loaded(made: Path, tmp_path: Path, name: str) -> None:
    page, run = tmp_path / "map.html", str(made / "run")
    words = {
        "check": [str(made / "scenario.yaml")],
        "map": [run, "--out", str(page)],
        "audit": ["--run", run, "--samples", "2000"],
    }
    done = geodp_process(name, *words[name], "--trust-plugins", mark=tmp_path / "mark")
    assert done.returncode == 0, done.stderr
    assert "not loaded" not in done.stderr
    assert (tmp_path / "mark").read_text() == "ran\n"
    assert name != "map" or '"kind":"foreign_layer"' in page.read_text()


def test_a_folder_whose_kinds_are_misspelt_is_still_an_error(made: Path, tmp_path: Path) -> None:
    raw = yaml.safe_load((made / "run" / "scenario.yaml").read_text())
    raw["plugins"] = []
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(raw))
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(GeodpError, match="no mechanism called 'foreign_grid'"):
        assert RunFolder(tmp_path).scenario
    raw["plugins"], raw["curator"]["mechanism"]["kind"] = ["mine.py"], "../../up"
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(GeodpError, match="a kind must be"):
        assert RunFolder(tmp_path).scenario


def test_the_public_map_is_the_same_with_and_without(made: Path) -> None:
    write_metrics(RunFolder(made / "run"))
    assert build_map(RunFolder(made / "run"), public=True).count('class="geodp-badge') == 1
