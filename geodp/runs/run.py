"""Running a scenario: from a file to a finished run folder."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import logging
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodp._version import __version__
from geodp.geometry import Array, Region
from geodp.public.cell_reports import CellReports
from geodp.public.release import Cells, Points
from geodp.run_folder.cell_report_store import write_cell_reports
from geodp.run_folder.folder import RunFolder, check_is_run, write_json, write_text
from geodp.run_folder.release_store import write_release
from geodp.runs.publications import book_publications, records_of, write_publications
from geodp.runs.result import RunResult
from geodp.scenario.file import arms, write_scenario
from geodp.scenario.schema import Scenario, load_scenario
from geodp.server.density_from_points import density_from_points
from geodp.simulation.answers import pseudonym_numbers, pseudonyms
from geodp.simulation.engine import Engine, World, build_world
from geodp.simulation.event_log import EventLog
from geodp.simulation.worker_states import WorkerStates
from geodp.storage.folders import whole_folder
from geodp.storage.geoparquet import PlaceColumn
from geodp.storage.manifest import MANIFEST, seal
from geodp.storage.stamp import SIMULATED, write_simulated
from geodp.streams import Streams
from geodp.tables.notices import gather_notices, notice

Progress = Callable[[str, float], None]
"""Called with a phase and the share of it that is done."""

LIBRARIES = ("contourpy", "folium", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "shapely", "simpy")
SAMPLED_WORKERS = 500
SCORED_WORKERS = 20_000
"""Maximum number of workers against whose true positions attacks are held, the same at all times."""
KEPT_POSITIONS = 300_000
"""So many positions (people × releases) are kept even where no attack is named, for `geodp attack`."""
LEAST_KEPT = 100
"""So many people's positions are kept in any case."""
FOR_PEOPLE = ("arms", "map.html", "map-public.html", "report.html", "risk.html", "run.log", "summary.md")
logger = logging.getLogger("geodp")


def run(
    scenario: Scenario | str | Path,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    force: bool = False,
    draw_map: bool = True,
    summarise: bool = True,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario and return its run folder, ready to look at.

    Parameters
    ----------
    scenario
        A scenario, or the path of its YAML file.
    out
        The run folder (default `runs/<name>-s<seed>`); made whole or not at all.
    seed
        Replaces the scenario's seed.
    overrides
        Dotted path → value, when `scenario` is a file.
    force
        Replace an existing run folder.
    draw_map
        Write `map.html` too.
    summarise
        Write `summary.md` too.
    progress
        Called with a phase and the share done.

    Returns
    -------
    RunResult
        The run: its metrics, events, releases, summary and map.

    Raises
    ------
    ScenarioError
        If the scenario is wrong; it lists all problems.
    OutputError
        If the folder exists already and `force` is not set, or cannot be written.
    ValueError
        If there are overrides and the scenario is not a file.
    BudgetSpent
        If the ledger refuses a release and `when_spent` is `fail`.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> result = geodp.run("scenarios/quickstart.yaml", "small", overrides=small, draw_map=False)
    >>> result.metrics["epsilon_spent"]
    0.3
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario, overrides, trust_plugins=True)
    elif overrides:
        raise ValueError("overrides go with a scenario file; use load_scenario(path, overrides)")
    if seed is not None:
        scenario = scenario.model_copy(update={"seed": seed})
    target = Path(out) if out is not None else Path("runs") / f"{scenario.name}-s{scenario.seed}"
    with whole_folder(target, force=force, check_replaceable=check_is_run) as folder:
        run_into(folder, scenario, draw_map=draw_map, summarise=summarise, progress=progress)
    return RunResult(target, trust_plugins=True)


def run_into(
    folder: Path, scenario: Scenario, *, draw_map: bool, summarise: bool, progress: Progress | None = None
) -> None:
    """Run a scenario into an empty folder that nobody looks at yet: what fails leaves it half-written."""
    say = progress or (lambda _phase, _share: None)
    with _log_to(folder / "run.log"):
        _run_arms(scenario, folder, say, partial(_finish, draw_map=draw_map, summarise=summarise))
    seal_run(folder)


def run_on_world(folder: Path, scenario: Scenario, world: World) -> RunFolder:
    """Run a resolved scenario on a world that was built before, for the metrics of tasks and effort alone.

    The same events as in a whole run. What the map, other metrics and the reader of a folder need (releases, counts,
    paths, ledgers, publications) is not written.
    """
    streams = Streams(scenario.seed)
    (folder / "truth").mkdir(mode=0o700)
    log = EventLog(folder / "events.parquet")
    try:
        with gather_notices():  # a whole run says what was dropped or guessed
            engine = Engine(
                scenario,
                world,
                streams,
                log,
                on_release=_ignore,
                on_sample=_ignore,
                on_progress=_ignore,
                samples=0,
            )
            if scenario.publish:  # what it spends may leave less for releases
                book_publications(scenario, records_of(scenario, world, streams), engine.ledger)
            engine.run()
    finally:
        log.close()
    _write_server_view(engine, folder)
    write_simulated(_offer_truths(engine), folder / "truth" / "offers.parquet")
    write_scenario(scenario, folder / "scenario.yaml")
    write_json(folder / MANIFEST, {"kind": "run", "geodp": __version__, "seed": scenario.seed})
    return RunFolder(folder, trust_plugins=True)


def _ignore(*_: object) -> None:
    """Take what nobody keeps."""


def _run_arms(scenario: Scenario, folder: Path, say: Progress, finish: Callable[[Path, Progress], None]) -> None:
    """Run a plain scenario, or every arm of a comparison on one world, and then compare them."""
    from geodp.runs.compare import compare_runs, comparison_csv

    compared = bool(scenario.compare)
    made = arms(scenario, trust_plugins=True) if compared else {"": scenario}
    scenarios = {name: arm.resolve() for name, arm in made.items()}
    say("world", 0.0)
    started = time.perf_counter()
    with gather_notices() as noticed:
        world = build_world(next(iter(scenarios.values())), Streams(scenario.seed))
    world_s = time.perf_counter() - started
    if not compared:
        _run_one(scenarios[""], world, folder, say, world_s=world_s, noticed=noticed)
        finish(folder, say)
        return
    for name, arm in scenarios.items():
        part = folder / "arms" / name
        part.mkdir(parents=True)
        say_of_arm = partial(_say_of_arm, name, say)
        with _log_to(part / "run.log"):
            _run_one(arm, world, part, say_of_arm, world_s=world_s, noticed=noticed)
            finish(part, say_of_arm)
    write_scenario(scenario, folder / "scenario.yaml")
    write_json(folder / MANIFEST, _manifest(scenario, {}) | {"arms": list(scenarios)})
    runs = RunFolder(folder, trust_plugins=True).arms
    table = compare_runs(runs)
    write_text(folder / "comparison.csv", comparison_csv(table))
    if scenario.compare_at_success is not None:
        from geodp.runs.equal_success import price_arms

        priced = price_arms(made, world, scenario.compare_at_success, say, runs)
        write_text(folder / "equal_success.csv", comparison_csv(priced))
    finish(folder, say)


def _say_of_arm(name: str, say: Progress, phase: str, share: float) -> None:
    say(f"{name}: {phase}", share)


def _run_one(
    scenario: Scenario, world: World, folder: Path, say: Progress, *, world_s: float, noticed: Sequence[str]
) -> None:
    """Run one resolved scenario into a folder: everything but what is derived from the folder.

    `noticed` is what was dropped or guessed when the world was built.
    """
    with gather_notices() as heard:
        _simulate(scenario, world, folder, say, world_s=world_s)
    write_json(folder / "truth" / "notices.json", list(dict.fromkeys([*noticed, *heard])))


def _simulate(scenario: Scenario, world: World, folder: Path, say: Progress, *, world_s: float) -> None:
    (folder / "truth").mkdir(mode=0o700)
    for name in ("releases", "truth/counts"):
        (folder / name).mkdir()
    streams = Streams(scenario.seed)
    asked = bool(scenario.attacks) or scenario.phones_report
    kept = SCORED_WORKERS if asked else min(SCORED_WORKERS, KEPT_POSITIONS // max(scenario.release_count(), 1))
    positions = _PositionSampler(world.population.size, streams, max(kept, LEAST_KEPT))
    releases = _ReleaseWriter(folder, scenario, positions)
    paths = _PathSampler(world, streams)
    log = EventLog(folder / "events.parquet")
    started = time.perf_counter()
    try:
        engine = Engine(
            scenario,
            world,
            streams,
            log,
            on_release=releases.write,
            on_sample=paths.sample,
            on_progress=lambda share: say("running", share),
            on_positions=releases.note_positions,
            on_answers=releases.write_answers,
        )
        records = records_of(scenario, world, streams)
        book_publications(scenario, records, engine.ledger)
        engine.run()
    finally:
        log.close()
    timings = {"world_s": round(world_s, 3), "engine_s": round(time.perf_counter() - started, 3)}
    items = None
    if scenario.device.history_report is not None:
        from geodp.runs.publications import write_history_reports

        say("histories", 0.0)
        items = write_history_reports(scenario, records, engine.ledger, streams, folder)
    _write_ledgers(engine, folder, items)
    _write_groups(engine, folder)
    _write_server_view(engine, folder)
    write_simulated(_offer_truths(engine), folder / "truth" / "offers.parquet")
    if scenario.publish or scenario.needs_visits:
        say("publications", 0.0)
        write_publications(scenario, records, streams, folder)
    write_simulated(paths.frame(), folder / "truth" / "paths.parquet")
    if engine.yardstick is not None:
        write_simulated(engine.yardstick.frame(), folder / "truth" / "yardstick.parquet")
    elif scenario.yardstick == "auto":
        notice("The yardstick of an omniscient server was left out of so large a run: `yardstick: true` measures it.")
    if positions.parts:
        write_simulated(positions.frame(), folder / "truth" / "reports.parquet")
    write_json(folder / "truth" / "world.json", {**SIMULATED, "workers": world.population.size})
    write_scenario(scenario, folder / "scenario.yaml")
    facts = {"events": log.rows, "releases": releases.count, "tasks": int(world.arrivals.time_s.size)}
    facts |= {"publications": len(scenario.publish)} if scenario.publish else {}
    write_json(folder / MANIFEST, _manifest(scenario, timings) | facts)


def _finish(folder: Path, say: Progress, *, draw_map: bool, summarise: bool) -> None:
    """Derive numbers, summary and map from the folder alone."""
    from geodp.runs.measure import write_metrics
    from geodp.runs.risk_page import write_risk_page
    from geodp.runs.summary import write_summary

    run = RunFolder(folder, trust_plugins=True)  # they ran in this very process
    if not run.arms and (run.scenario.attacks or summarise):
        from geodp.runs.adversaries import write_findings
        from geodp.runs.attack_scores import write_attacks

        say("attacks", 0.0)
        if run.scenario.attacks:
            write_attacks(run)
        write_findings(run)
    say("metrics", 0.0)
    run = RunFolder(folder, trust_plugins=True)  # what metrics and summary both read of a large run is read once
    if not run.arms:
        write_simulated(run.tasks, folder / "tasks.parquet", shapes=_shapes_at(run.tasks, run.region), truth=True)
    write_metrics(run)
    if summarise:
        write_summary(run)
        write_risk_page(run)
    if draw_map:
        from geodp.display.map import write_map

        say("map", 0.0)
        write_map(RunFolder(folder, trust_plugins=True), folder / "map.html")
    if summarise and run.arms:
        from geodp.runs.comparison_page import write_comparison_page

        write_comparison_page(run)


def seal_run(folder: Path) -> None:
    """Make the truth readable by its owner alone, and state the checksum of every file that is read back.

    What people may write into (the summary) or draw anew (maps), and the log, is left out; arms have their own.
    """
    run = RunFolder(folder)
    for arm in run.arms.values():
        seal_run(arm.path)
    for path in [
        *folder.glob("events.parquet"),
        *folder.glob("tasks.parquet"),
        *folder.glob("truth/**/*"),
        *folder.glob("truth"),
    ]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    seal(folder, run.manifest, leave_out=FOR_PEOPLE)


class _ReleaseWriter:
    """Writes releases as the server saw them, what it works out from reports, and the true counts apart."""

    def __init__(self, folder: Path, scenario: Scenario, positions: _PositionSampler) -> None:
        self.folder, self.scenario, self.positions, self.count = folder, scenario, positions, 0

    def write(self, release: Cells | Points, true_count: np.ndarray[Any, Any]) -> None:
        """Write a release, and the true count of each of its cells."""
        write_release(self.folder / "releases", self.count, release, self.scenario.area.projection)
        path = self.folder / "truth" / "counts" / f"{self.count:04d}.parquet"
        write_simulated(pd.DataFrame({"count": true_count}), path)
        self.count += 1

    def write_answers(self, reports: CellReports) -> None:
        """Write what phones answered about their cells, before the release that is counted from it."""
        folder = self.folder / "releases" / "reports"
        folder.mkdir(exist_ok=True)
        write_cell_reports(folder, self.count, reports)

    def note_positions(self, release: Cells | Points, x_m: Array, y_m: Array) -> None:
        """Keep the truth behind any release that somebody will be scored on.

        Reports are written here, with the density that the server estimates from them and the truth about that.
        """
        if isinstance(release, Points):
            estimate = density_from_points(release, self.scenario.area)
            (self.folder / "estimates").mkdir(exist_ok=True)
            write_release(self.folder / "estimates", self.count, estimate, self.scenario.area.projection)
            self.write(release, estimate.grid.count(x_m, y_m))
        self.positions.add(x_m, y_m)


class _PositionSampler:
    """Remembers where a sample of workers is at each release, for scoring attacks.

    The sample is that of the smallest pseudonyms: the same at all times, and those an attack looks at first.
    """

    def __init__(self, workers: int, streams: Streams, most: int) -> None:
        self.workers, self.streams, self.most = workers, streams, most
        self.parts: list[pd.DataFrame] = []

    @cached_property
    def _sample(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        first = pseudonym_numbers(self.streams, np.arange(self.workers))
        chosen = np.argsort(first, kind="stable")[: self.most]  # names have one length, so they are in this order
        return chosen, pseudonyms(self.streams, chosen)

    def add(self, x_m: Array, y_m: Array) -> None:
        """Keep the positions behind the next release."""
        chosen, names = self._sample
        columns = {"worker": chosen, "who": names, "x_m": x_m[chosen], "y_m": y_m[chosen]}
        self.parts.append(pd.DataFrame({"release": len(self.parts), **columns}))

    def frame(self) -> pd.DataFrame:
        """Return all positions kept."""
        return pd.concat(self.parts, ignore_index=True)


class _PathSampler:
    """Remembers where a few workers are over time, for the map."""

    def __init__(self, world: World, streams: Streams) -> None:
        size = world.population.size
        rng = streams.generator("map.sample")
        chosen = rng.choice(size, min(size, SAMPLED_WORKERS), replace=False, shuffle=False)
        self.workers = np.sort(chosen).astype(np.int64)
        self.parts: list[pd.DataFrame] = []

    def sample(self, time_s: float, states: WorkerStates) -> None:
        x_m, y_m = states.positions(time_s, self.workers)
        columns = {"time_s": float(time_s), "x_m": x_m, "y_m": y_m, "busy": states.busy[self.workers]}
        self.parts.append(pd.DataFrame({"worker": self.workers, **columns}))

    def frame(self) -> pd.DataFrame:
        return pd.concat(self.parts, ignore_index=True)


def _write_ledgers(engine: Engine, folder: Path, items: Array | None) -> None:
    """Write the public charges, and apart what each person disclosed, reported, and reported about their history."""
    accounts = [str(row.account) for row in engine.ledger.charges]
    charged = engine.ledger.to_frame().assign(account=accounts)
    write_simulated(_with_refusal(charged, engine.scenario), folder / "ledger.parquet")
    reported = "snapshot" if engine.phones.answers is not None else "point"
    costs = {"interaction": engine.disclosure.nats, reported: engine.phones.charged}
    costs |= {} if items is None else {"item": items}
    counted = engine.ledger.sum_filtered()
    costs |= {"snapshot": counted} if counted.size else {}
    tables: list[pd.DataFrame] = []
    for unit, cost in costs.items():
        people = np.flatnonzero(cost > 0)
        if people.size or not tables:
            columns = {"worker": people, "unit": unit, "epsilon": cost[people]}
            tables.append(pd.DataFrame({"time_s": engine.scenario.duration_s, **columns}))
    write_simulated(pd.concat(tables, ignore_index=True), folder / "truth" / "ledger.parquet")


def _with_refusal(charged: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Add a public row per window of randomised refusal: all are charged in full at its start, in an account apart."""
    refusal = scenario.protocol.refusal
    if refusal is None:
        return charged
    windows = np.arange(refusal.windows(scenario.duration_s))
    rows = pd.DataFrame({
        "time_s": windows * refusal.window_s, "scope": "everyone", "unit": "interaction", "neighbours": "add_remove",
        "mechanism": "refusal", "epsilon": refusal.epsilon, "delta": 0.0, "total": (windows + 1) * refusal.epsilon,
        "account": "interaction",
    })  # fmt: skip
    if charged.empty:
        return rows.reindex(columns=charged.columns)
    return pd.concat([charged, rows], ignore_index=True)[list(charged.columns)]


def _write_groups(engine: Engine, folder: Path) -> None:
    """Write who is in which group, and how many a filter counted, where there are groups or a filter."""
    curator = engine.curator
    groups = engine.phones.groups if curator is None or curator.groups is None else curator.groups
    if groups is not None:
        everyone = np.arange(groups.size)
        columns = {"worker": everyone, "who": pseudonyms(engine.streams, everyone), "group": groups}
        write_simulated(pd.DataFrame(columns), folder / "truth" / "groups.parquet")
    if curator is not None and curator.people is not None:
        counted = pd.DataFrame(curator.counted, columns=["time_s", "group", "present", "counted"])
        write_simulated(counted, folder / "truth" / "counted.parquet")


_PLANNED = ("radius_m", "uncapped_radius_m", "planned_success", "density_per_m2", "expected_workers", "phones_share")
SERVER_VIEW = {
    **dict.fromkeys(("task", "round"), "int64"),
    **dict.fromkeys(("time_s", "x_m", "y_m", "reward", *_PLANNED), "float64"),
    **dict.fromkeys(("recipients", "most_recipients", "planned_rounds"), "Int64"),
    "unreachable": "string",
    **dict.fromkeys(("notes", "winners"), "object"),
    **dict.fromkeys(("answered_s", "completed_s"), "float64"),
}
"""Columns of `server_view.parquet`: what the server decided and learnt, and nothing else."""


def _write_server_view(engine: Engine, folder: Path) -> None:
    """Write the records; where there are regions also `region` and `growth`.

    `region` holds west, south, east and north of each rectangle, in the order in which it grew, `growth` the success
    planned after each.
    """
    frame = pd.DataFrame(engine.server.records, columns=list(SERVER_VIEW)).astype(SERVER_VIEW)
    regions = [record["region"] for record in engine.server.records]
    if any(region is not None for region in regions):
        packed = [None if region is None else np.array(region).ravel() for region in regions]
        frame["region"] = pd.Series(packed, dtype="object")
        frame["growth"] = pd.Series([np.array(record["growth"]) for record in engine.server.records], dtype="object")
    frame = frame.replace({"uncapped_radius_m": {np.inf: np.nan}})
    shapes = _shapes_at(frame, engine.scenario.area)
    write_simulated(frame, folder / "server_view.parquet", text_lists=("notes", "winners"), shapes=shapes)


def _shapes_at(frame: pd.DataFrame, region: Region) -> PlaceColumn:
    """Return the places of rows with x_m and y_m, in degrees."""
    places = region.projection.to_lonlat(x_m=frame["x_m"].to_numpy(), y_m=frame["y_m"].to_numpy())
    return PlaceColumn.from_points(*places)


def _offer_truths(engine: Engine) -> pd.DataFrame:
    """Return what was true of every first offer: `RunFolder.offer_truth`."""
    columns = {"task": "int64", "time_s": "float64", "age_s": "float64"}
    columns |= {"expected_success": "float64", "asked_workers": "int64", "idle_workers": "int64"}
    parts = [
        pd.DataFrame({**asdict(truth), "time_s": now, "age_s": age_s}) for now, age_s, truth in engine.offer_truths
    ]
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))
    return whole[list(columns)].astype(columns)


def _manifest(scenario: Scenario, timings: dict[str, float]) -> dict[str, Any]:
    return {
        "kind": "run",
        "geodp": __version__,
        "name": scenario.name,
        "seed": scenario.seed,
        "noise": "simulate",
        "releasable": False,
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "libraries": dict(_library_versions()),
        "checksums": checksums(scenario),
        "timings": timings,
    }


@cache
def _library_versions() -> dict[str, str]:
    """Look up the versions once per process: it takes a while."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def checksums(scenario: Scenario) -> dict[str, str]:
    """Return the checksum of every file a scenario reads: data, region and plug-ins."""
    workers = scenario.workers
    files = [*workers.source.files(), *workers.mobility.files(), *scenario.tasks.demand.files()]
    files += scenario.workers.visit_source.files() if scenario.workers.visit_source is not None else []
    files += [path for item in scenario.publish for path in item.files()]
    files += [Path(name) for name in scenario.plugins]
    if scenario.region.file is not None:
        files.append(Path(scenario.region.file))
    return {str(path): _checksum(path) for path in files}


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


@contextlib.contextmanager
def _log_to(path: Path) -> Iterator[None]:
    """Write the library's log to a file while a run lasts."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    previous = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        logger.info("geodp %s, Python %s", __version__, platform.python_version())
        yield
        logger.info("finished")
    finally:
        logger.setLevel(previous)
        logger.removeHandler(handler)
        handler.close()
