"""Fitting a world to data: what is counted, what it promises, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from geodp.cli.main import main
from geodp.fit import evidence as module
from geodp.fit.evidence import PARTS, count_with_noise, read_exact
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.scenario.schema import load_scenario
from geodp.tables.movement_laws import LAWS
from geodp.tables.visit_log import VisitLog, read_log

REGION = Region(2.0, 48.0, 2.2, 48.15)
DAY_S = 86_400.0


def write_rows(people: int, seed: int = 0) -> dict[str, npt.NDArray[Any]]:
    """Return visits of people with favourites, a few a day for three weeks."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(people), rng.integers(1, 120, people))
    venue = (user * 7 + np.minimum(rng.geometric(0.3, user.size), 12)) % 60
    lon, lat = 2.0 + 0.2 * (venue * 37 % 60) / 60, 48.0 + 0.15 * (venue * 23 % 60) / 60
    time_s = 1.4e9 + rng.uniform(0, 21 * DAY_S, user.size)
    return {
        "user": np.array([f"u{i}" for i in user]),
        "venue": np.array([f"v{i}" for i in venue]),
        "time_s": np.floor(time_s),
        "lon": lon,
        "lat": lat,
    }


def read_rows(columns: dict[str, npt.NDArray[Any]], thing: str = "venue") -> VisitLog:
    if thing == "trajectory":
        columns = {("trajectory" if name == "venue" else name): values for name, values in columns.items()}
    return read_log([pa.record_batch(columns)], region=REGION)[0]


class Asked:
    """Writes down what noise is asked for, and adds none."""

    def __init__(self) -> None:
        self.asked: list[tuple[npt.NDArray[np.float64], float, float]] = []

    def count(self, counts: Any, *, epsilon: float, sensitivity: float, noise: Any) -> npt.NDArray[np.float64]:
        self.asked.append((np.asarray(counts, dtype=np.float64), epsilon, sensitivity))
        return self.asked[-1][0]


def ask(log: VisitLog, monkeypatch: pytest.MonkeyPatch) -> list[tuple[npt.NDArray[np.float64], float, float]]:
    asked = Asked()
    monkeypatch.setattr(module, "laplace_counts", asked.count)
    count_with_noise(log, REGION, epsilon=1.0, noise=SimulatedNoise(np.random.default_rng(0)))
    return asked.asked


@pytest.mark.parametrize("thing", ["venue", "trajectory"])
def test_nobody_moves_a_histogram_by_more_than_its_noise_is_made_for(
    thing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = write_rows(12)
    if thing == "trajectory":  # everyone comes by every three minutes
        columns["time_s"] = np.floor(1.4e9 + np.arange(columns["user"].size) * 180.0)
    everyone = ask(read_rows(columns, thing), monkeypatch)
    assert sum(epsilon for _, epsilon, _ in everyone) == pytest.approx(1.0)
    assert len(everyone) == len(PARTS)
    moved = np.zeros(len(everyone))
    for person in ("u0", "u5", "u11"):
        others = {name: values[columns["user"] != person] for name, values in columns.items()}
        without = ask(read_rows(others, thing), monkeypatch)
        change = [
            float(np.abs(one - other).sum()) for (one, _, _), (other, _, _) in zip(everyone, without, strict=True)
        ]
        assert all(each <= bound for each, (_, _, bound) in zip(change, everyone, strict=True))
        moved = np.maximum(moved, change)
    assert np.count_nonzero(moved) > len(PARTS) / 2


def test_what_others_do_decides_nothing_about_one_person(monkeypatch: pytest.MonkeyPatch) -> None:
    # b is at x and at y by turns: which of them is her home may not follow from a, who went to y first.
    rows = [("a", "y", 0)] + [("b", "xy"[number % 2], number) for number in range(20)]
    columns = {
        "user": np.array([user for user, _, _ in rows]),
        "venue": np.array([venue for _, venue, _ in rows]),
        "time_s": np.array([1.4e9 + 3600.0 * number for _, _, number in rows]),
        "lon": np.array([2.01 if venue == "x" else 2.19 for _, venue, _ in rows]),
        "lat": np.full(len(rows), 48.05),
    }
    both = ask(read_rows(columns), monkeypatch)
    alone = ask(read_rows({name: values[1:] for name, values in columns.items()}), monkeypatch)
    assert all(np.abs(one - other).sum() <= bound for (one, _, bound), (other, _, _) in zip(both, alone, strict=True))


def test_nobody_at_all_is_counted_without_an_error() -> None:
    columns = {name: values[:0] for name, values in write_rows(2).items()}
    found = count_with_noise(read_rows(columns), REGION, epsilon=1.0, noise=SimulatedNoise(np.random.default_rng(0)))
    assert found.people >= 10
    assert all(np.isfinite(value) for value in found.targets.values())


def test_with_almost_no_noise_the_histograms_tell_what_exact_numbers_do() -> None:
    log = read_rows(write_rows(300))
    exact = read_exact(log, REGION)
    noisy = count_with_noise(log, REGION, epsilon=1e6, noise=SimulatedNoise(np.random.default_rng(0)))
    assert noisy.people == exact.people == 300
    for key in ("jump_p50_km", "gyration_p50_km", "top_place_share", "entropy_real_bits", "visits_p50"):
        assert noisy.targets[key] == pytest.approx(exact.targets[key], rel=0.3), key
    assert noisy.targets["weekend_share"] == pytest.approx(exact.targets["weekend_share"], abs=0.05)


def write_file(folder: Path) -> Path:
    columns = write_rows(60)
    file = folder / "visits.csv"
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    file.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return file


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    return int(end.value.code or 0)


@pytest.mark.slow
def test_a_fit_writes_a_scenario_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write_file(tmp_path), tmp_path / "fitted.yaml"
    assert run("fit", data, "--out", out, "--rounds", 1, "--places", 300, "--json", tmp_path / "fit.json") == 0
    text = capsys.readouterr().out
    assert "jump, median (km)" in text
    assert out.read_text().startswith("# PRIVATE")
    found = json.loads((tmp_path / "fit.json").read_text())
    assert set(found["laws"]) == {"data", "wanted", "unfitted", "fitted"}
    assert set(LAWS) & set(found["laws"]["data"])
    assert load_scenario(out).workers.mobility.kind == "epr"
    assert run("run", out, "--out", tmp_path / "run", "--quiet") == 0
    assert not (tmp_path / "geodp-ledger.json").exists(), "what promises nothing costs nothing"


@pytest.mark.slow
def test_a_release_needs_noise_a_ledger_and_a_region_and_is_charged_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out, ledger = write_file(tmp_path), tmp_path / "fitted.yaml", tmp_path / "ledger.json"
    words = ("fit", data, "--out", out, "--mode", "release", "--rounds", 0, "--places", 50)
    assert run(*words, "--epsilon", 1) == 2
    assert run(*words, "--ledger", ledger) == 2
    assert run(*words, "--ledger", ledger, "--epsilon", 1) == 2
    assert not out.exists()
    assert not ledger.exists()
    box = ("--region", "2.0,48.0,2.2,48.15")
    assert run(*words, "--ledger", ledger, "--epsilon", 1, "--budget", 1.5, *box) == 0
    shown = capsys.readouterr().out
    header = next(line for line in shown.splitlines() if line.startswith("law  "))
    assert header.split() == ["law", "wanted", "unfitted", "fitted"], "a release says nothing exact about the data"
    assert "PRIVATE" not in out.read_text()
    promise = json.loads((tmp_path / "fitted-places.csv.guarantee.json").read_text())
    assert promise["guarantee"]["epsilon"] == 1
    assert run(*words, "--ledger", ledger, "--epsilon", 1, *box, "--force") != 0
    assert "budget" in capsys.readouterr().err
