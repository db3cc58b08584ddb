"""A run folder made by hand: the files of a run, without an engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from geodp.geometry import Grid, Region
from geodp.public.events import Kind, Reason
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import Cells, Contours
from geodp.run_folder.release_store import write_release
from geodp.simulation.event_log import EventLog

BOX = {"west": -122.5135, "south": 37.7113, "east": -122.3627, "north": 37.8327}
GUARANTEE = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)


@dataclass
class FakeRun:
    """Settings of a made-up run; `write` writes it."""

    workers: int = 2000
    tasks: int = 60
    releases: int = 3
    duration_s: float = 3600.0
    movers: int = 40
    times: int = 13
    cell_m: float = 600.0
    about: str = "Couriers in a city centre."
    box: dict[str, float] = field(default_factory=lambda: dict(BOX))
    map: dict[str, Any] = field(default_factory=dict)
    arms: tuple[str, ...] = ()
    seed: int = 5
    irregular: bool = False
    """Release plain cells instead of contours."""
    halves: bool = False
    """Every cell of the northern half holds 50 workers, the southern half none, and there is no noise."""
    guarantee: Guarantee = GUARANTEE
    noise_scale: float = 1 / 0.3

    def write(self, folder: Path) -> Path:
        """Write the run folder, and the folders of its arms."""
        folder.mkdir(parents=True)
        scenario = {
            "geodp": 1,
            "name": "downtown",
            "about": self.about,
            "region": self.box,
            "duration_s": self.duration_s,
            "map": self.map,
        }
        (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
        (folder / "manifest.json").write_text(json.dumps({"arms": list(self.arms)}), encoding="utf-8")
        for number, arm in enumerate(self.arms):
            FakeRun(**{**vars(self), "arms": (), "seed": self.seed + number}).write(folder / "arms" / arm)
        if not self.arms:
            self._write_run(folder)
        return folder

    @property
    def region(self) -> Region:
        """The box as a region."""
        return Region(**self.box)

    def _write_run(self, folder: Path) -> None:
        rng = np.random.default_rng(self.seed)
        self._write_releases(folder, rng)
        self._write_protocol(folder, rng)
        self._write_paths(folder, rng)

    def _places(self, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw places about five centres and over the whole region."""
        width, height = self.region.width_m, self.region.height_m
        centres = np.array([[0.05, 0.0], [-0.22, 0.18], [0.25, 0.28], [-0.28, -0.25], [0.24, -0.22]]) * [width, height]
        spread = np.array([0.09, 0.06, 0.05, 0.05, 0.07])
        which = rng.choice(6, count, p=[0.38, 0.15, 0.12, 0.1, 0.1, 0.15])
        safe = np.minimum(which, 4)
        near = rng.normal(centres[safe], spread[safe, None] * [width, height])
        anywhere = rng.uniform(-0.5, 0.5, (count, 2)) * [width, height]
        x, y = np.where((which < 5)[:, None], near, anywhere).T
        return self.region.clamp(x, y)

    def _write_releases(self, folder: Path, rng: np.random.Generator) -> None:
        (folder / "releases").mkdir()
        (folder / "truth" / "counts").mkdir(parents=True)
        grid = Grid.fit(self.region, self.cell_m)
        rows = []
        for index in range(self.releases):
            true = grid.count(*self._places(self.workers, rng))
            noisy = true + rng.laplace(0, self.noise_scale, grid.size)
            if self.halves:
                noisy = np.where(np.arange(grid.size) >= grid.columns * (grid.rows // 2), 50.0, 0.0)
            time_s = index * self.duration_s / self.releases
            west, south, east, north = grid.edges()
            levels = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8]) * max(float(true.max()), 1.0)
            shared: dict[str, Any] = {
                "time_s": time_s,
                "mechanism": "contour",
                "guarantee": self.guarantee,
                "west_m": west,
                "south_m": south,
                "east_m": east,
                "north_m": north,
                "count": noisy,
                "noise_scale": np.full(grid.size, self.noise_scale),
                "floor_per_m2": 1e-7,
            }
            release = (
                Cells(**shared)
                if self.irregular
                else Contours(**shared, grid=grid, sigma_cells=1.0, levels=levels, reading="bilinear")
            )
            write_release(folder / "releases", index, release)
            pd.DataFrame({"count": true}).to_parquet(folder / "truth" / "counts" / f"{index:04d}.parquet")
            rows.append((time_s, "everyone", "snapshot", "add_remove", "contour", 0.3, 0.0, 0.3 * (index + 1)))
        names = ["time_s", "scope", "unit", "neighbours", "mechanism", "epsilon", "delta", "total"]
        pd.DataFrame(rows, columns=names).to_parquet(folder / "ledger.parquet")

    def _write_protocol(self, folder: Path, rng: np.random.Generator) -> None:
        log = EventLog(folder / "events.parquet")
        x, y = self._places(self.tasks, rng)
        arrived = np.sort(rng.uniform(0, 0.95 * self.duration_s, self.tasks))
        fate = rng.choice(4, self.tasks, p=[0.7, 0.15, 0.1, 0.05])
        rows = []
        for task in range(self.tasks):
            place = {"task": task, "x_m": x[task], "y_m": y[task]}
            radius = float(rng.uniform(300, 1200))
            decided = float(arrived[task] + 90)
            log.add(arrived[task], Kind.TASK_ARRIVED, **place)
            unreachable = "target_needs_more_than_max_travel" if fate[task] == 2 else ""
            rows.append((task, 0, arrived[task] + 30, x[task], y[task], 9.5, radius, radius, 0.9, unreachable))
            if fate[task] == 2:
                log.add(arrived[task] + 30, Kind.UNREACHABLE, reason=Reason.BEYOND_REACH, **place)
                continue
            log.add(arrived[task] + 30, Kind.OFFER, value=radius, **place)
            if fate[task] == 1:
                log.add(decided, Kind.EXPIRY, reason=Reason.NO_ACCEPTANCE, **place)
            elif fate[task] == 3:
                log.add(self.duration_s, Kind.CENSORED, reason=Reason.RUN_ENDED, **place)
            else:
                self._write_trip(log, rng, task, (float(x[task]), float(y[task])), radius, decided)
        log.close()
        names = ["task", "round", "time_s", "x_m", "y_m", "reward", "radius_m", "uncapped_radius_m", "planned_success"]
        view = pd.DataFrame(rows, columns=[*names, "unreachable"])
        view = view.assign(density_per_m2=1e-5, expected_workers=12.0, answered_s=0.0)
        nothing = pd.Series([()] * len(view), dtype="object")
        view = view.assign(notes=nothing, winners=nothing)
        view.assign(completed_s=0.0).to_parquet(folder / "server_view.parquet")

    def _write_trip(
        self,
        log: EventLog,
        rng: np.random.Generator,
        task: int,
        place: tuple[float, float],
        radius: float,
        decided: float,
    ) -> None:
        angle, distance = rng.uniform(0, 2 * np.pi), radius * np.sqrt(rng.uniform(0.05, 1))
        start = {"x_m": place[0] + distance * np.cos(angle), "y_m": place[1] + distance * np.sin(angle)}
        worker = int(rng.integers(self.workers))
        log.add(decided, Kind.REFUSAL, task=task, worker=worker + 1, value=distance, reason=Reason.UNWILLING, **start)
        log.add(decided, Kind.ACCEPTANCE, task=task, worker=worker, value=distance, reason=Reason.PICKED, **start)
        log.add(decided, Kind.DEPARTURE, task=task, worker=worker, value=9.5, **start)
        end = decided + distance / 4
        if end < self.duration_s:
            log.add(end, Kind.COMPLETION, task=task, worker=worker, x_m=place[0], y_m=place[1], value=distance)

    def _write_paths(self, folder: Path, rng: np.random.Generator) -> None:
        start, end = self._places(self.movers, rng), self._places(self.movers, rng)
        times = np.linspace(0, self.duration_s, self.times)
        share = np.clip(times[None, :] / self.duration_s * rng.uniform(0.2, 2, (self.movers, 1)), 0, 1)
        x, y = (a[:, None] + share * (b - a)[:, None] for a, b in zip(start, end, strict=True))
        frame = pd.DataFrame(
            {
                "worker": np.repeat(np.arange(self.movers) * 7, self.times),
                "time_s": np.tile(times, self.movers),
                "x_m": x.ravel(),
                "y_m": y.ravel(),
                "busy": (rng.random((self.movers, self.times)) < 0.15).ravel(),
            }
        )
        frame.to_parquet(folder / "truth" / "paths.parquet")
        (folder / "truth" / "world.json").write_text(json.dumps({"workers": self.workers}), encoding="utf-8")
