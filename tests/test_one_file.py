"""One plug-in is one file, everywhere: files outside the package are run, swept, audited, listed and summarised.

Each has only what the base class of its family demands.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.curator.synthesis.small_town import TOWN, trips
from tests.small import small_raw
from tests.test_contributing import EXAMPLES

FILES = {
    "four_cells": """
import numpy as np
from geodp.curator.mechanisms import Mechanism
from geodp.geometry import Grid
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import GridCells

class FourCells(Mechanism):
    '''Noisy counts of four cells.'''

    kind = "four_cells"
    releases = frozenset({"cells"})
    epsilon: float = 0.5
    '''ε of one release.'''

    def release(self, snapshot, noise):
        region, change = snapshot.region, 2 if snapshot.neighbours is Neighbours.REPLACE else 1
        west, south, _, _ = region.box_m
        grid = Grid(west, south, region.width_m / 2, region.height_m / 2, 2, 2)
        counts = grid.count(snapshot.x_m, snapshot.y_m)
        return GridCells(
            snapshot.time_s,
            self.kind,
            self.guarantee(snapshot.neighbours, snapshot.counts),
            *grid.edges(),
            laplace_counts(counts, epsilon=self.epsilon, sensitivity=change, noise=noise),
            np.full(grid.size, change / self.epsilon),
            snapshot.floor_per_m2,
            grid=grid,
        )

    def guarantee(self, neighbours=Neighbours.ADD_REMOVE, counts="all"):
        return Guarantee(self.epsilon, Unit.SNAPSHOT, neighbours, Trust.CENTRAL, counts=counts)
""",
    "wide_circle": """
from geodp.public.messages import Circle, Offer
from geodp.server.assignment import Assignment

class WideCircle(Assignment):
    '''Ask everyone within a kilometre.'''

    kind = "wide_circle"
    reads = frozenset({"cells"})

    def offers(self, tasks, view):
        return [Offer(task.task, view.equal_reward(len(tasks)), Circle(1000.0)) for task in tasks]
""",
    "in_the_middle": """
import numpy as np
from geodp.attacks import ANYONE, Attack, Guesses

class InTheMiddle(Attack):
    '''Guess the middle of the region for everyone.'''

    kind = "in_the_middle"

    def guess(self, view):
        here = [(self.kind, i, np.array([ANYONE]), np.zeros(1), np.zeros(1)) for i in range(len(view.releases))]
        return Guesses.join(here, blind=(0.0, 0.0))
""",
    "tasks_seen": """
from geodp.metrics import Measured, Metric

class TasksSeen(Metric):
    '''Number of tasks of the run.'''

    kind = "tasks_seen"
    unit = "tasks"

    def measure(self, run):
        return {self.kind: Measured(float(len(run.tasks)))}
""",
    "ends_only": """
import pandas as pd
from geodp.curator.publications import Publication, Published
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

class EndsOnly(Publication):
    '''Noisy number of trips.'''

    kind = "ends_only"
    reads = frozenset({"trajectories"})
    epsilon: float = 1.0
    '''ε of one trip.'''

    def publish(self, records, noise):
        number = [records.trajectories().size]
        noisy = laplace_counts(number, epsilon=self.epsilon, sensitivity=1, noise=noise)
        return Published(pd.DataFrame({"trips": noisy}))

    def guarantee(self):
        return Guarantee(self.epsilon, Unit.TRAJECTORY, Neighbours.ADD_REMOVE, Trust.CENTRAL)
""",
    "trip_makers": """
import numpy as np
import pandas as pd
from geodp.curator.publications import Publication, Published
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

class TripMakers(Publication):
    '''Noisy number of people who made a trip.'''

    kind = "trip_makers"
    reads = frozenset({"trajectories"})
    epsilon: float = 1.0
    '''ε of one person.'''

    def publish(self, records, noise):
        people = np.array([np.unique(records.trajectories().person).size])
        noisy = laplace_counts(people, epsilon=self.epsilon, sensitivity=1, noise=noise)
        return Published(pd.DataFrame({"people": noisy}))

    def guarantee(self):
        return Guarantee(self.epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
""",
}
KINDS = ("four_cells", "wide_circle", "in_the_middle", "tasks_seen")
SETTINGS: dict[str, Any] = {
    "workers.source.count": 200,
    "duration_s": 600,
    "curator.mechanism": {"kind": "four_cells"},
    "server.assignment": {"kind": "wide_circle"},
    "attacks": [{"kind": "in_the_middle"}],
}


def geodp(folder: Path, *words: str, code: int = 0, path: Path | None = None) -> str:
    """Run a command in a folder, and return what it prints."""
    more = {} if path is None else {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-m", "geodp", *words],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plug-ins, a scenario that uses them and names no file, and a run of it."""
    folder = tmp_path_factory.mktemp("place")
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "scenario.yaml").write_text(yaml.safe_dump(small_raw(SETTINGS)), encoding="utf-8")
    geodp(folder, "run", "scenario.yaml", "--out", "run", *given(*KINDS))
    return folder


def given(*names: str) -> list[str]:
    return [word for name in names for word in ("--plugin", f"{name}.py")]


def test_a_run_uses_measures_and_summarises_them_and_names_their_files(place: Path) -> None:
    values = json.loads((place / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert values["tasks_seen"] > 0
    assert values["epsilon_spent"] == 0.5
    assert values["in_the_middle_error_m"] > 0
    summary = (place / "run" / "summary.md").read_text(encoding="utf-8")
    assert "tasks_seen" in summary
    assert "in_the_middle" in summary
    made = yaml.safe_load((place / "run" / "scenario.yaml").read_text(encoding="utf-8"))
    assert made["plugins"] == [str(place.resolve() / f"{name}.py") for name in KINDS]


@pytest.mark.slow
def test_a_run_folder_is_read_with_the_files_that_the_reader_names(place: Path) -> None:
    assert "not loaded" in geodp(place, "metrics", "run")
    assert "not loaded" not in geodp(place, "metrics", "run", *given(*KINDS))
    (place / "later.py").write_text(FILES["tasks_seen"].replace("tasks_seen", "seen_later"), encoding="utf-8")
    assert '"seen_later"' in geodp(place, "metrics", "run", *given(*KINDS, "later"))


def test_a_scenario_that_uses_them_is_checked_and_they_are_listed(place: Path) -> None:
    text = geodp(place, "check", "scenario.yaml", *given(*KINDS))
    assert "ok" in text
    assert "noise     not stated by four_cells" in text
    assert "no mechanism called 'four_cells'" in geodp(place, "check", "scenario.yaml", code=2)
    listed = geodp(place, "list", *given(*KINDS))
    for kind in KINDS:
        assert re.search(rf"^\w+ +{kind} .*\({re.escape(str(place.resolve() / kind))}\.py\)$", listed, re.MULTILINE)
    assert re.search(r"^mechanism +contour .*\(geodp\)$", listed, re.MULTILINE)


@pytest.mark.slow
def test_they_are_swept_on_other_processes(place: Path) -> None:
    sweep = {
        "geodp": 1,
        "name": "mine",
        "base": "scenario.yaml",
        "grids": [{"curator.mechanism.epsilon": [0.2, 2.0]}],
        "plot": {"y": "tasks_seen"},
    }
    (place / "sweep.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
    geodp(place, "sweep", "sweep.yaml", "--out", "sweep", "--workers", "2", *given(*KINDS))
    runs = pd.read_parquet(place / "sweep" / "runs.parquet")
    assert list(runs["status"]) == ["ok", "ok"]
    assert (runs["tasks_seen"] > 0).all()


def test_a_mechanism_is_audited(place: Path) -> None:
    text = geodp(place, "audit", "four_cells", "--samples", "2000", *given("four_cells"))
    assert "four_cells" in text
    assert "not refuted" in text


def test_any_publication_of_trajectories_is_published(tmp_path: Path) -> None:
    (tmp_path / "ends_only.py").write_text(FILES["ends_only"], encoding="utf-8")
    trips(people=20).frame(TOWN).to_csv(tmp_path / "in.csv", index=False)
    words = ["publish", "trajectories", "in.csv", "--out", "out.csv", "--region=-0.03,-0.03,0.03,0.03"]
    words += ["--method", "ends_only", *given("ends_only")]
    assert "give --epsilon" in geodp(tmp_path, *words, code=2)
    assert "does not state" in geodp(tmp_path, *words, "--epsilon", "1000")
    number = pd.read_csv(tmp_path / "out.csv")["trips"].iloc[0]
    assert number == pytest.approx(trips(people=20).size, abs=0.1)  # |Lap(0.001)| > 0.1 has probability e^-100
    ledger = ["--mode", "release", "--ledger", "ledger.json", "--budget", "5"]
    assert "bounds no person's total" in geodp(tmp_path, *words, "--epsilon", "1", *ledger, "--force", code=2)
    assert "takes no --cap" in geodp(tmp_path, *words, "--epsilon", "1", "--cap", "3", "--force", code=2)
    assert "no method called 'prilocation'" in geodp(
        tmp_path, *words[:5], "--method", "prilocation", "--epsilon", "1", "--force", code=2
    )


NOISY = "laplace_counts(people, epsilon=self.epsilon, sensitivity=1, noise=noise)"
FAULTS = {
    "no noise": ("people", "REFUTED"),
    "half of the noise": (NOISY.replace("self.epsilon", "2 * self.epsilon"), "was asked"),
    "noise of its own": ("people + np.random.default_rng().laplace(0, 1 / self.epsilon, 1)", "not followed: files"),
    "a table that is never made": ("1 / 0", "no file could be published"),
}


def test_a_publication_is_audited_through_the_whole_command(tmp_path: Path) -> None:
    (tmp_path / "trip_makers.py").write_text(FILES["trip_makers"], encoding="utf-8")
    for asked in ("trip_makers", "trajectories:trip_makers"):
        told = geodp(tmp_path, "audit", "--publish", asked, "--files", "9", *given("trip_makers"))
        assert "publish trajectories: trip_makers: 9 pairs of files, not refuted" in told
        assert "at most 100.0% of what is claimed was asked" in told
    (tmp_path / "axis_noise.py").write_text(EXAMPLES["axis_noise"], encoding="utf-8")
    told = geodp(tmp_path, "audit", "--publish", "axis_noise", "--files", "6", *given("axis_noise"))
    assert "publish positions: axis_noise, one row per person: 6 pairs of files, not refuted" in told
    (tmp_path / "last_places.py").write_text(EXAMPLES["last_places"], encoding="utf-8")
    told = geodp(tmp_path, "audit", "--publish", "last_places", *given("last_places"), code=2)
    assert "'geodp audit last_places' audits what a scenario publishes" in told


def test_an_installed_publication_is_audited_through_the_whole_command(tmp_path: Path) -> None:
    here = install(tmp_path / "site", "townsfolk", FILES["trip_makers"])
    told = geodp(tmp_path, "audit", "--publish", "trip_makers", "--files", "4", path=here)
    assert "publish trajectories: trip_makers: 4 pairs of files, not refuted" in told


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_publication_is_found_through_the_whole_command(tmp_path: Path, fault: str) -> None:
    text, said = FAULTS[fault]
    assert NOISY in FILES["trip_makers"]
    (tmp_path / "trip_makers.py").write_text(FILES["trip_makers"].replace(NOISY, text), encoding="utf-8")
    words = ["audit", "--publish", "trip_makers", "--files", "9", *given("trip_makers")]
    assert said in geodp(tmp_path, *words, code=1)
    geodp(tmp_path, *words, "--sampled-only", code=0 if fault == "noise of its own" else 1)


def test_a_table_without_places_is_no_map_and_that_is_said_before_anything_is_charged(tmp_path: Path) -> None:
    (tmp_path / "trip_makers.py").write_text(FILES["trip_makers"], encoding="utf-8")
    trips(people=20).frame(TOWN).to_csv(tmp_path / "in.csv", index=False)
    words = ["publish", "trajectories", "in.csv", "--region=-0.03,-0.03,0.03,0.03", "--epsilon", "1", "--budget", "5"]
    words += ["--method", "trip_makers", *given("trip_makers"), "--mode", "release", "--ledger", "ledger.json"]
    told = geodp(tmp_path, *words, "--out", "out.geojson", code=2)
    assert "what is published has no places, so it cannot be written as geojson" in told
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize("command", ["list", "audit", "figures", "schema"])
def test_a_file_that_is_broken_or_absent_is_named_with_its_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "broken.py").write_text("x = 1\nx.nothing\n", encoding="utf-8")
    text = geodp(tmp_path, command, "--plugin", "broken.py", code=2)
    assert f"{tmp_path.resolve() / 'broken.py'} failed in line 2: AttributeError" in text
    assert "no file" in geodp(tmp_path, command, "--plugin", "absent.py", code=2)


def install(folder: Path, name: str, text: str) -> Path:
    """Put a fake installed package into a folder that can be put on the path."""
    about = folder / f"{name}-1.2.dist-info"
    about.mkdir(parents=True)
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[geodp.plugins]\n{name} = {name}\n", encoding="utf-8")
    return folder


def test_installed_packages_offer_plugins_by_an_entry_point(tmp_path: Path) -> None:
    here = install(tmp_path / "site", "townsfolk", FILES["wide_circle"])
    assert "\nwide_circle (townsfolk 1.2)\n" in geodp(tmp_path, "list", "assignment", path=here)
    raw = small_raw({"server.assignment": {"kind": "wide_circle"}, "curator.mechanism": {"kind": "uniform_grid"}})
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    assert "ok" in geodp(tmp_path, "check", "scenario.yaml", path=here)


def test_an_installed_package_that_offers_nothing_is_named(tmp_path: Path) -> None:
    here = install(tmp_path / "site", "townsfolk", "x = 1\n")
    told = geodp(tmp_path, "list", "assignment", path=here)
    assert "warning: the installed package townsfolk 1.2 offers plug-ins (townsfolk), and defines none" in told
    assert "\ngeocast (geodp)\n" in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nothing_of_that_name\n", "failed in line 1: ModuleNotFoundError"),
        (FILES["wide_circle"].replace("wide_circle", "geocast"), "two plug-ins are called 'geocast'"),
    ],
)
def test_a_broken_installed_package_is_named_and_stops_nothing(tmp_path: Path, text: str, why: str) -> None:
    here = install(tmp_path / "site", "townsfolk", text)
    told = geodp(tmp_path, "list", "assignment", path=here)
    assert "\ngeocast (geodp)\n" in told
    assert "warning: the installed package townsfolk 1.2 offers plug-ins (townsfolk) that cannot be loaded" in told
    assert why in told
    assert "townsfolk" not in geodp(tmp_path, "--version", path=here), "nobody looks a plug-in up"
