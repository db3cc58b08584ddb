"""The worked examples of CONTRIBUTING.md: cut out of the page, saved as files outside the package, run from there."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import geodp
from tests.small import small_raw

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FAMILIES = {
    "mechanism": "coarse_grid",
    "publication": "last_places",
    "device": "axis_noise",
    "assignment": "fixed_circle",
    "attack": "believe_it",
    "metric": "taken_soon",
    "layer": "lost_tasks",
    "loader": "badge_log",
}
Geodp = Callable[..., subprocess.CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


EXAMPLES = {text.partition("\n")[0].removeprefix("# ").removesuffix(".py"): text for text in blocks("python")}
SETTINGS = {Path(values["plugins"][0]).stem: values for values in map(yaml.safe_load, blocks("yaml"))}


@pytest.fixture
def command(tmp_path: Path) -> Geodp:
    """Return what runs `geodp` in a folder with all the examples, as a user would."""
    for name, text in EXAMPLES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    def run(*words: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "geodp", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done

    return run


def run_with(command: Geodp, folder: Path, name: str) -> Path:
    """Run the small scenario with the settings that the page shows for an example, and return the run folder."""
    raw = small_raw()
    for key, value in SETTINGS[name].items():
        raw[key] = raw[key] | value if isinstance(value, dict) and isinstance(raw.get(key), dict) else value
    (folder / "scenario.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    command("run", "scenario.yaml", "--out", "run")
    return folder / "run"


def metrics_of(run: Path) -> dict[str, float | None]:
    found: dict[str, float | None] = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    return found


def test_there_is_one_example_per_family_of_at_most_sixty_lines() -> None:
    assert set(EXAMPLES) == set(FAMILIES.values())
    assert max(len(text.splitlines()) for text in EXAMPLES.values()) <= 60


def test_the_mechanism_publishes_noisy_counts(tmp_path: Path, command: Geodp) -> None:
    folder = geodp.open_run(run_with(command, tmp_path, "coarse_grid")).folder
    release = folder.densities[0]
    assert release.mechanism == "coarse_grid"
    assert release.count.size == 100
    # A mean of 100 |Lap(2)|: mean 2, standard deviation 0.2, so it is off by 1 with probability below 1e-5, seed fixed.
    assert np.abs(release.count - folder.true_counts(0).to_numpy()).mean() == pytest.approx(2.0, abs=1.0)
    assert folder.metrics["epsilon_spent"] == 1.5


def test_the_publication_writes_a_public_table_and_keeps_the_truth_apart(tmp_path: Path, command: Geodp) -> None:
    run = run_with(command, tmp_path, "last_places")
    released = pd.read_parquet(run / "releases" / "publications" / "0-last_places.parquet")
    truth = pd.read_parquet(run / "truth" / "publications" / "0-last_places" / "last_places.parquet")
    assert list(released) == ["venue", "people"]
    assert (released["venue"] == truth["venue"]).all()
    assert truth["people"].sum() <= 1500
    # Mean of |Lap(1)| over some hundreds of venues.
    assert (released["people"] - truth["people"]).abs().mean() == pytest.approx(1.0, abs=0.5)
    assert metrics_of(run)["epsilon_spent"] == 2.5


def test_the_device_moves_every_report_in_whole_steps(tmp_path: Path, command: Geodp) -> None:
    run = geodp.open_run(run_with(command, tmp_path, "axis_noise")).folder
    west, _, east, _ = run.scenario.area.box_m
    x_m = run.releases[0].x_m  # type: ignore[union-attr]
    inside = (x_m > west) & (x_m < east)
    assert inside.mean() > 0.8
    assert (np.abs(x_m[inside] / 50 - np.rint(x_m[inside] / 50)) < 1e-9).all()
    assert run.metrics["epsilon_per_m_spent"] == pytest.approx(3 * 0.02, rel=0.01)


def test_the_assignment_asks_inside_its_circle(tmp_path: Path, command: Geodp) -> None:
    run = geodp.open_run(run_with(command, tmp_path, "fixed_circle")).folder
    assert set(run.offers["radius_m"].dropna()) == {400.0}
    assert run.notified["distance_m"].max() <= 400
    assert 0 < (run.metrics["success_rate"] or 0) <= 1


def test_the_attack_is_scored(tmp_path: Path, command: Geodp) -> None:
    run = geodp.open_run(run_with(command, tmp_path, "believe_it")).folder
    assert set(run.attacks["attack"]) == {"believe_it"}
    assert (run.attacks["error_m"] > 0).all()
    assert (run.metrics["believe_it_error_m"] or 0) > 300
    assert "believe_it" in (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")


def test_the_metric_is_measured_with_its_interval(tmp_path: Path, command: Geodp) -> None:
    values = metrics_of(run_with(command, tmp_path, "taken_soon"))
    low, value, high = (values[f"taken_soon{end}"] for end in ("_low", "", "_high"))
    assert low is not None
    assert value is not None
    assert high is not None
    assert 0 <= low < value < high <= 1
    assert value <= (values["success_rate"] or 0)


def test_the_layer_is_on_the_map_and_not_on_the_public_one(tmp_path: Path, command: Geodp) -> None:
    run = run_with(command, tmp_path, "lost_tasks")
    assert "nobody took it" in (run / "map.html").read_text(encoding="utf-8")
    command("map", "run", "--public", "--trust-plugins", "--out", "public.html")
    assert "nobody took it" not in (tmp_path / "public.html").read_text(encoding="utf-8")


def test_the_loader_counts_what_it_leaves_out(tmp_path: Path, command: Geodp) -> None:
    (tmp_path / "doors.badges").write_text(
        "a;d1;2026-11-18T08:00:00;50.01;10.01\n"
        'b;d"2;2026-11-18T09:30:00+01:00;50.02;10.02\n'
        "b;d1;yesterday;50.01;10.01\n"
        "c;d1;2026-11-18T08:00:00;5001;10.01\n"
    )
    done = command("datasets", "convert", "doors.badges", "--out", "doors", "--plugin", "badge_log.py")
    assert "left out: 2 rows (no badge, door, time or place)" in done.stdout
    visits = pd.read_parquet(tmp_path / "doors" / "visits.parquet")
    assert visits["time_s"].tolist() == [1794988800.0, 1794990600.0]
    assert visits["venue"].tolist() == ["d1", 'd"2']


@pytest.mark.parametrize("family", ["mechanism", "publication", "device"])
def test_the_auditor_follows_the_release_itself(command: Geodp, family: str) -> None:
    kind = FAMILIES[family]
    done = command("audit", kind, "--plugin", f"{kind}.py", "--samples", "2000", "--json", "audit.json")
    assert "followed" in done.stdout
    assert "not refuted" in done.stdout


@pytest.mark.parametrize(
    "noisy",
    [
        "counts + noise.laplace(0.001, counts.size)",
        "laplace_counts(counts, epsilon=1000.0, sensitivity=1, noise=noise)",
    ],
    ids=["drawn apart", "too narrow"],
)
def test_the_auditor_refutes_the_example_with_too_little_noise(tmp_path: Path, command: Geodp, noisy: str) -> None:
    honest = "laplace_counts(counts, epsilon=self.epsilon, sensitivity=change, noise=noise)"
    assert EXAMPLES["coarse_grid"].count(honest) == 1
    (tmp_path / "coarse_grid.py").write_text(EXAMPLES["coarse_grid"].replace(honest, noisy), encoding="utf-8")
    done = command("audit", "coarse_grid", "--plugin", "coarse_grid.py", "--samples", "2000", expected=1)
    assert "verdict    refuted" in done.stdout


@pytest.mark.slow
def test_the_examples_are_typed_and_tidy(tmp_path: Path) -> None:
    for name, text in EXAMPLES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--strict", "--cache-dir", str(tmp_path / "cache")]
    for tool in (["mypy", *settings], ["ruff", "check", "--ignore", "D", "--config", str(ROOT / "pyproject.toml")]):
        done = subprocess.run(
            [sys.executable, "-m", *tool, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
