"""The files of a run: how they are named, made whole, and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, OutputError
from geodp.public.events import Kind, Reason
from geodp.public.guarantee import Unit
from geodp.public.levels import GROUP, IF_COUNTED
from geodp.public.release import Cells, DensityEstimate, Points
from geodp.storage.files import is_regular, write_text_whole, write_whole
from geodp.storage.folders import hold_folder, put_back
from geodp.storage.geoparquet import read_without_shapes
from geodp.storage.manifest import is_listed, is_sealed, names_in, read_manifest, replace_file, require_intact
from geodp.storage.names import require_name
from geodp.streams import Streams as RandomStreams

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Region
    from geodp.public.cell_reports import CellReports
    from geodp.public.streets import StreetNetwork
    from geodp.run_folder.published import HistoryReport, PublishedRun
    from geodp.scenario.costs import SpentByDays
    from geodp.scenario.schema import Scenario
    from geodp.tables.trajectories.generated_trips import Streets
    from geodp.tables.trajectories.table import Trajectories
    from geodp.tables.visits.histories import Histories, Venues


ATTACK_SCORES = {
    "number": "int64",
    "attack": "string",
    "method": "string",
    "release": "int64",
    "time_s": "float64",
    "who": "string",
    "x_m": "float64",
    "y_m": "float64",
    "error_m": "float64",
    "prior_error_m": "float64",
    "hit": "bool",
}
"""Columns of `attacks.parquet`: a row per guess and person; `prior_error_m` is that of a guess without any release."""


class RunFolder:
    """A finished run, read lazily. Metrics, figures and maps read this and nothing else.

    ``summary.md``, ``scenario.yaml`` (resolved), ``manifest.json``, ``metrics.json``, ``events.parquet``,
    ``tasks.parquet`` (what became of each task: truth, as the events are), ``server_view.parquet`` (one row per offer,
    as the server saw it), ``releases/`` (as the server saw them), ``ledger.parquet``, ``truth/`` (for scoring and the
    map only), ``map.html``, ``run.log``; where phones report by themselves ``estimates/`` (densities the server works
    out from reports), with attacks ``attacks.parquet``; with arms also ``arms/<name>/`` and ``comparison.csv``. Tables
    with places are GeoParquet in EPSG:4326.

    Parameters
    ----------
    path
        The folder.
    trust_plugins
        Whether to run the plug-in files that the run names.

    Raises
    ------
    DataError
        If the folder is not a run, or was damaged (when what is damaged is asked for).

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "read", overrides=small, draw_map=False).folder
    >>> len(run.releases), run.has("events.parquet")
    (1, True)
    """

    def __init__(self, path: Path, *, trust_plugins: bool = False) -> None:
        self.path = Path(path)
        self.trust_plugins = trust_plugins
        """Whether the plug-in files that the run names are loaded: programs of whoever made it."""
        if not self.path.is_dir():
            put_back(self.path)
        if not self.path.is_dir():
            raise DataError(f"{self.path}: no such run folder")
        if not (self.path / "manifest.json").is_file():
            raise DataError(f"{self.path}: not a finished run folder (it has no manifest.json)")

    @cached_property
    def scenario(self) -> Scenario:
        """The resolved scenario."""
        from geodp.scenario.file import read_scenario
        from geodp.tables.notices import gather_notices

        with gather_notices():  # the run has said what it guessed about its files: it is in its own notices
            return read_scenario(self._scenario_file(), {}, trust_plugins=self.trust_plugins, stand_ins=True)

    @property
    def plugins_left_out(self) -> tuple[str, ...]:
        """The plug-in files that the run names and that were not loaded (() when it is trusted)."""
        from geodp.scenario.file import find_left_out

        return () if self.trust_plugins else find_left_out(self.scenario.plugins, Path())

    def _scenario_file(self) -> Path:
        _ = self.manifest  # where that is damaged, it is not the scenario that was changed
        try:
            return self.file("scenario.yaml")
        except DataError as error:
            raise DataError(
                f"{error}\nA run's scenario says how the run was made. To run an edited one, name another folder: "
                "geodp run FILE --out DIR."
            ) from error

    @cached_property
    def region(self) -> Region:
        """The public region."""
        return self.scenario.area

    @property
    def basemap_file(self) -> Path | None:
        """The file of features that the map is drawn upon (None for none, and for online tiles)."""
        from geodp.scenario.sections import BASEMAPS

        name = self.scenario.map.basemap
        return None if name in BASEMAPS else self._map_file("map.basemap", name)

    @property
    def places_file(self) -> Path | None:
        """The gazetteer whose names the map shows (None: none was given)."""
        name = self.scenario.map.places
        return None if name is None else self._map_file("map.places", name)

    def _map_file(self, key: str, name: str) -> Path:
        path = self.path / name  # a relative path is meant from the run folder
        if not is_regular(path):
            raise DataError(f"{key}: no file {path}.")
        return path

    @cached_property
    def streets(self) -> Streets:
        """Generated streets of the region: those on which its workers drive, or a network that nobody needs."""
        from geodp.tables.trajectories.generated_trips import street_network

        source, region = self.scenario.workers.source, self.region
        if source.kind == "street_trips":  # the same streets as in the run: they are the first thing it draws
            block_m = float(source.model_dump()["block_m"])
            return street_network(region, RandomStreams(self.scenario.seed).generator("world.source"), block_m)
        longest_m, least_m = max(region.width_m, region.height_m), min(region.width_m, region.height_m)
        block_m = min(max(_BLOCK_M, longest_m / _BLOCKS_ACROSS), least_m / 4)
        return street_network(region, RandomStreams(0).generator("map.streets"), block_m)

    @cached_property
    def network(self) -> StreetNetwork | None:
        """Public streets of the run: those on which its workers drive, or those that a publication names."""
        from geodp.public.streets import open_streets
        from geodp.tables.trajectories.generated_trips import network_of_streets

        if self.scenario.workers.source.kind == "street_trips":
            return network_of_streets(self.streets)
        named = [path for item in self.scenario.publish for path in item.files() if hasattr(item, "streets")]
        found = next((path for path in named if path.exists()), None)  # the file may stay where the run was made
        return None if found is None else open_streets(found, self.region)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, times, and the checksum of every file, against which each is held when it is read."""
        return read_manifest(self.path)

    @cached_property
    def notices(self) -> list[str]:
        """What the run dropped, guessed or clipped, in words (truth); of a comparison: what any arm did."""
        if self.arms:
            return list(dict.fromkeys(text for arm in self.arms.values() for text in arm.notices))
        known = self.has("truth/notices.json")  # runs of earlier versions have none
        return [str(text) for text in self._json("truth/notices.json")] if known else []

    @cached_property
    def metrics(self) -> dict[str, float | None]:
        """The numbers written with the run (empty before they are computed)."""
        return self._json("metrics.json") if self.has("metrics.json") else {}

    @cached_property
    def events(self) -> pd.DataFrame:
        """All events; a missing task or worker is -1."""
        frame = self.table("events.parquet")
        for column in ("task", "worker"):
            frame[column] = frame[column].fillna(-1).astype("int64")
        return frame

    @property
    def answers(self) -> pd.DataFrame:
        """The events in which workers who were asked said yes or no."""
        return self.events[self.events["kind"].isin([Kind.REFUSAL, Kind.ACCEPTANCE])]

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row per task, with what became of it (index: task id).

        arrived_s, x_m, y_m, outcome, reason, decided_s, worker, departed_s, completed_s, travel_m, reward; `outcome`
        is `success` (somebody took it), `failure` (given up or unreachable) or `censored`. Of a task for several
        workers `reward` is their sum, `travel_m` their mean, and the rest that of the last one.
        """
        return _tasks(self.events)

    @cached_property
    def offers(self) -> pd.DataFrame:
        """What the server decided and learnt: one row per task and round (`server_view.parquet`).

        `notes` and `winners` (pseudonyms) are tuples of words; version 0.1 wrote them as text, joined by semicolons.
        """
        frame = self.table("server_view.parquet")
        if "winner" in frame:
            frame = frame.rename(columns={"winner": "winners"})
            return frame.assign(notes=_split(frame["notes"]), winners=_split(frame["winners"]))
        return frame.assign(notes=frame["notes"].map(tuple), winners=frame["winners"].map(tuple))

    @property
    def offers_made(self) -> pd.DataFrame:
        """The rows of `offers` in which the server did offer the task."""
        return self.offers[self.offers["unreachable"].fillna("") == ""]

    @cached_property
    def regions(self) -> list[tuple[int, int, npt.NDArray[np.float64]]]:
        """Regions to which offers went: task, round, and rectangles (west, south, east, north) as they grew."""
        offers = self.offers
        if "region" not in offers:
            return []
        made = offers[offers["region"].notna()]
        rows = zip(made["task"].tolist(), made["round"].tolist(), made["region"], strict=True)
        return [(task, number, np.asarray(region, dtype=np.float64).reshape(-1, 4)) for task, number, region in rows]

    @cached_property
    def notified(self) -> pd.DataFrame:
        """One row per task and notified worker: task, worker, distance_m, accepted; the widest round."""
        rows = self.answers.drop_duplicates(["task", "worker"], keep="last")
        return rows.assign(distance_m=rows["value"], accepted=rows["kind"] == Kind.ACCEPTANCE)[
            ["task", "worker", "distance_m", "accepted"]
        ]

    @property
    def ledger(self) -> pd.DataFrame:
        """One row per charge: time_s, scope, unit, neighbours, mechanism, epsilon, delta, total, account."""
        return self.table("ledger.parquet")

    def charges(self, *units: Unit) -> pd.DataFrame:
        """Return the rows of the ledger about some units of protection."""
        ledger = self.ledger
        return ledger[ledger["unit"].astype(str).isin([str(unit) for unit in units])]

    @property
    def central_charges(self) -> pd.DataFrame:
        """The rows of the ledger that cost each person an epsilon: what can be added up per person."""
        return self.charges(Unit.SNAPSHOT, Unit.USER).drop(index=self.local_charges.index)

    @cached_property
    def spent_by_days(self) -> SpentByDays | None:
        """What was charged by days of the data, where some of it is ρ or about days (None: ε adds up, as it stands)."""
        from geodp.scenario.costs import read_charges

        rows = self.charges(Unit.SNAPSHOT, Unit.USER, Unit.PERSON_DAY, Unit.PERSON_WEEK)
        return read_charges(self.scenario, rows.drop(index=self.local_charges.index, errors="ignore"))

    @property
    def local_charges(self) -> pd.DataFrame:
        """The rows of the ledger for what phones told with nobody trusted, ε per person: an account of its own."""
        rows = self.charges(Unit.SNAPSHOT, Unit.USER)
        if "account" not in rows:  # runs of earlier versions had no such phones
            return rows.iloc[:0]
        return rows[rows["account"].astype(str) == "local"]

    @property
    def charged_apart(self) -> bool:
        """Whether groups of people, or those alone whom a filter counts, are charged in rows of their own."""
        scope = self.ledger["scope"].astype(str)
        return bool((scope.str.startswith(f"{GROUP} ") | scope.str.endswith(IF_COUNTED)).any())

    @property
    def interaction(self) -> pd.DataFrame:
        """Per person who was asked and not named: worker, and what outcomes disclosed about her, in nats (truth)."""
        frame = self.table("truth/ledger.parquet")
        return frame[frame["unit"] == "interaction"]

    @property
    def groups(self) -> pd.DataFrame:
        """Who is in which group with a level of its own: worker, who, group (truth; empty where all are alike)."""
        if not self.has("truth/groups.parquet"):
            import pandas as pd

            return pd.DataFrame({"worker": [], "who": [], "group": []}).astype({"who": "str", "group": "str"})
        return self.table("truth/groups.parquet")

    @property
    def counted(self) -> pd.DataFrame | None:
        """How many were there and how many a filter counted: time_s, group, present, counted (truth; None: all)."""
        return self.table("truth/counted.parquet") if self.has("truth/counted.parquet") else None

    @property
    def paths(self) -> pd.DataFrame:
        """Positions of a sample of workers over time: worker, time_s, x_m, y_m, busy (truth)."""
        return self.table("truth/paths.parquet")

    @property
    def workers(self) -> int:
        """True number of workers (truth)."""
        return int(self._json("truth/world.json")["workers"])

    @cached_property
    def releases(self) -> list[Cells | Points]:
        """What the curator published, or phones reported, in order, as the server saw it."""
        from geodp.run_folder.release_store import read_release

        return [read_release(path) for path in self._list_stored("releases")]

    @cached_property
    def cell_reports(self) -> list[CellReports | None]:
        """What phones answered about their cells, one per release; [] where they were asked nothing of the kind."""
        from geodp.run_folder.cell_report_store import read_cell_reports

        return [read_cell_reports(path) for path in self._list_stored("releases/reports")]

    @cached_property
    def publications(self) -> list[PublishedRun]:
        """What was published at the end of the run, in the order of the scenario ([] when nothing was)."""
        from geodp.run_folder.published import read_publications

        return read_publications(self, self._list_stored("releases/publications"))

    def publications_of(self, topic: str) -> list[tuple[str, PublishedRun]]:
        """Return the publications that release a topic (visits, counts, trajectories), each with its keys' ending.

        The first has plain keys (`mae`), later ones end in their place in the scenario's `publish` (`mae_2`).
        """
        found = [item for item in self.publications if topic in item.topics]
        return [(f"_{item.index}" if number else "", item) for number, item in enumerate(found)]

    @cached_property
    def history_reports(self) -> list[HistoryReport]:
        """What phones reported about their owners' histories, in order of time ([] when they reported nothing)."""
        from geodp.run_folder.published import HISTORY_REPORTS, read_history_reports

        return read_history_reports(self._list_stored(HISTORY_REPORTS), self.plugins_left_out)

    @cached_property
    def venues(self) -> Venues:
        """The public list of venues (where publications or phones tell about visits)."""
        from geodp.run_folder.published import read_venues

        return read_venues(self.table("releases/venues.parquet"))

    @cached_property
    def visits(self) -> Histories:
        """Who was where, by number in the list of venues (truth)."""
        from geodp.run_folder.published import read_visits

        return read_visits(self.table("truth/visits.parquet"), self.table("truth/people.parquet"))

    @cached_property
    def trajectories(self) -> Trajectories:
        """The workers' own trips, where something is published about them (truth)."""
        from geodp.tables.trajectories.table import Trajectories

        return Trajectories.from_frame(self.table("truth/trajectories.parquet"), self.scenario.area)

    @cached_property
    def estimates(self) -> list[DensityEstimate]:
        """The densities that the server works out from reported points, one per release ([] with a curator)."""
        from geodp.run_folder.release_store import read_release

        found = [read_release(path) for path in self._list_stored("estimates")]
        return [estimate for estimate in found if isinstance(estimate, DensityEstimate)]

    @property
    def densities(self) -> list[Cells]:
        """What the server can read densities off: the releases of counts, or its estimates from reports."""
        return [release for release in self.releases if isinstance(release, Cells)] or list(self.estimates)

    @cached_property
    def offer_truth(self) -> pd.DataFrame:
        """What was true of each task's first offer when it went out (index: task; truth; empty where nothing is known).

        time_s, age_s (of the release it was planned from), expected_success (chance that enough of the idle people of
        all rounds accept), asked_workers (in all rounds, if nobody accepts before), idle_workers (inside the target).
        """
        import pandas as pd

        if not self.has("truth/offers.parquet"):  # runs of earlier versions have none
            columns = ["time_s", "age_s", "expected_success", "asked_workers", "idle_workers"]
            return pd.DataFrame(columns=columns, index=pd.Index([], name="task", dtype="int64"), dtype="float64")
        return self.table("truth/offers.parquet").set_index("task")

    @cached_property
    def attacks(self) -> pd.DataFrame:
        """Guesses of the attacks with their errors (empty without attacks).

        number, attack, method, release, time_s, who, x_m, y_m, error_m, prior_error_m, hit.
        """
        return self.table("attacks.parquet") if self.has("attacks.parquet") else no_attack_scores()

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """What adversaries found, number by number, as written with the run ([] where nobody tried).

        attack, score, about, release, value, low, high, chance, bound, knows, targets, people, note, key; `asked` tells
        whether the scenario named the attack.
        """
        return list(self._json("findings.json")["findings"]) if self.has("findings.json") else []

    @property
    def protocol_ends(self) -> dict[str, Any] | None:
        """Both ends of ε of the server's whole view for those who took no task, as written with the run.

        lower, upper (None: there is none), promised, samples.
        """
        return self._json("findings.json").get("protocol") if self.has("findings.json") else None

    @property
    def positions(self) -> pd.DataFrame:
        """Where a sample of workers was at each release: release, worker, who, x_m, y_m (truth)."""
        return self.table("truth/reports.parquet")

    def true_counts(self, index: int) -> pd.Series:
        """Return the true count in each cell of a release, or of the estimate from it (truth)."""
        return self.table(f"truth/counts/{index:04d}.parquet")["count"]

    @property
    def arms(self) -> dict[str, RunFolder]:
        """The arms of a comparison, in the order of the scenario ({} for a plain run)."""
        folder = self.path / "arms"
        return {name: RunFolder(folder / name, trust_plugins=self.trust_plugins) for name in self._arm_names()}

    def _arm_names(self) -> list[str]:
        """Return the names of the arms; one that leads out of the folder is refused."""
        try:
            return [require_name(name, "the name of an arm") for name in self.manifest.get("arms", [])]
        except (TypeError, ValueError) as error:
            raise DataError(f"{self.path / 'manifest.json'}: {error}") from None

    def file(self, name: str) -> Path:
        """Return the path of a file of the run, after holding it against its checksum.

        Raises
        ------
        DataError
            If the run has no such file, or it is not as it was written.
        """
        try:
            self._require(name)
        except DataError:
            if self._was_replaced():
                raise DataError(f"{self.path}: was replaced while it was read. Run the same command again.") from None
            raise
        return self.path / name

    def _require(self, name: str) -> None:
        if not self.has(name):
            raise DataError(f"{self.path}: the run folder has no {name}")
        require_intact(self.path, name, self.manifest)

    def replace_json(self, name: str, values: Any) -> None:
        """Write a file of the run anew; what is the same already is not touched."""
        text, path = json_text(values), self.path / name
        if not is_sealed(self.manifest):
            write_text(path, text)
            return
        if path.is_file() and path.read_bytes() == text.encode():
            return
        with self.hold_unchanged():
            try:
                replace_file(self.path, name, text)
            except OSError as error:
                raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
        self.__dict__.pop("manifest", None)  # the cached reading is out of date

    @contextmanager
    def hold_unchanged(self) -> Iterator[None]:
        """Keep others from replacing the run while something that was worked out from it is written into it.

        Raises
        ------
        OutputError
            If another process is writing the run, or has replaced it since it was opened.
        """
        place = self.path.resolve()
        with hold_folder(place.parents[1] if place.parent.name == "arms" else place):
            if self._was_replaced():
                raise OutputError(f"{self.path}: was replaced or changed meanwhile. Run the same command again.")
            yield

    def write_derived(self, path: Path, content: str | bytes, what: str) -> None:
        """Write what was worked out from the run to a file, whole or not at all; inside the folder the run is held."""
        inside = is_sealed(self.manifest) and path.resolve().parent == self.path.resolve()
        try:
            with self.hold_unchanged() if inside else nullcontext():
                path.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, bytes):
                    write_whole(path, lambda partial: partial.write_bytes(content))
                else:
                    write_text_whole(path, content)
        except OSError as error:
            raise OutputError(f"{path}: {what} could not be written ({error.strerror or error})") from error

    def _was_replaced(self) -> bool:
        """Tell whether another run has taken the place of the one that was opened."""
        try:
            return read_manifest(self.path) != self.manifest
        except DataError:  # that is told by whoever needs it
            return False

    def has(self, name: str) -> bool:
        """Tell whether the run has a file, there or (by its manifest) missing."""
        return (self.path / name).is_file() or is_listed(self.manifest, name)

    def _list_stored(self, part: str) -> list[Path]:
        """Return the JSON files of a part of the folder, after holding all its files against their checksums."""
        files = [self.file(name) for name in self.names(part)]
        return [path for path in files if path.suffix == ".json"]

    def names(self, part: str) -> list[str]:
        """Return the names of the files in a part of the folder, e.g. `releases`; those that are missing, too."""
        return names_in(self.path, part, self.manifest)

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of the run by the name of its file, after holding it against its checksum.

        The shapes of GeoParquet files are left out: other columns say where things are.
        """
        path = self.file(name)
        try:
            return read_without_shapes(path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read ({error})") from error

    def _json(self, name: str) -> Any:
        return read_json(self.file(name))


_BLOCK_M, _BLOCKS_ACROSS = 250.0, 60  # generated streets: how far apart, and how many of them a map can show
_OUTCOMES = {
    Kind.DEPARTURE: "success",
    Kind.EXPIRY: "failure",
    Kind.UNREACHABLE: "failure",
    Kind.CENSORED: "censored",
}


def _tasks(events: pd.DataFrame) -> pd.DataFrame:
    def of(*kinds: str) -> pd.DataFrame:
        return events[events["kind"].isin(kinds)].drop_duplicates("task", keep="last").set_index("task")

    tasks = of(Kind.TASK_ARRIVED)[["time_s", "x_m", "y_m"]].rename(columns={"time_s": "arrived_s"})
    left, arrived = of(Kind.DEPARTURE), of(Kind.COMPLETION)
    ended = of(*_OUTCOMES)
    outcome = ended["kind"].astype(str).map(_OUTCOMES)
    return tasks.assign(
        outcome=outcome.reindex(tasks.index),
        reason=ended["reason"].astype(str).reindex(tasks.index),
        decided_s=ended["time_s"].reindex(tasks.index),
        worker=left["worker"].reindex(tasks.index).fillna(-1).astype("int64"),
        departed_s=left["time_s"].reindex(tasks.index),
        completed_s=arrived["time_s"].reindex(tasks.index),
        travel_m=_per_task(events, Kind.COMPLETION, "mean").reindex(tasks.index),
        reward=_sum_paid(events).reindex(tasks.index),
    )


def _sum_paid(events: pd.DataFrame) -> pd.Series:
    """Return what was paid for each task: to those who set out, and for what was called off too late."""
    called_off = events[(events["reason"].astype(str) == Reason.CALLED_OFF) & (events["value"] > 0)]
    paid = _per_task(events, Kind.DEPARTURE, "sum")
    return paid.add(_per_task(called_off, Kind.EXPIRY, "sum"), fill_value=0.0)


def no_attack_scores() -> pd.DataFrame:
    """Return an empty table of guesses."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in ATTACK_SCORES.items()})


def _split(words: pd.Series) -> pd.Series:
    words = words.fillna("").astype(object)  # of strings pandas would make a list type that has no truth value
    return words.map(lambda text: tuple(text.split(";")) if text else ())


def _per_task(events: pd.DataFrame, kind: str, how: str) -> pd.Series:
    """Return the sum or mean over a task's workers of the value of one kind of event."""
    values: pd.Series = events[events["kind"] == kind].groupby("task")["value"].agg(how).astype("float64")
    return values


def check_is_run(path: Path) -> None:
    """Refuse to replace what is not a run folder: a sweep, somebody's thesis."""
    if not _is_run_folder(path):
        raise OutputError(f"{path} exists and is not a run folder of geodp: it will not be replaced.")


def _is_run_folder(path: Path) -> bool:
    """Tell whether a run wrote a folder; a damaged one may be replaced, too."""
    if not path.is_dir():
        return False
    if not any(path.iterdir()):
        return True
    try:
        facts = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return (path / "scenario.yaml").is_file() and ((path / "events.parquet").is_file() or (path / "arms").is_dir())
    return isinstance(facts, dict) and "seed" in facts and "noise" in facts


def read_json(path: Path) -> Any:
    """Read a JSON file of a run; one that is none is told by its name (runs of version 0.1 have no checksums)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: not valid JSON ({error})") from error


def write_json(path: Path, values: Any) -> None:
    """Write JSON with sorted structure as given; NaN and infinity are refused, not written."""
    path.write_text(json_text(values), encoding="utf-8")


def json_text(values: Any) -> str:
    """Return JSON as it is written to files; NaN and infinity are refused."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text file, with an error for people when that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error


def number(value: float | None) -> float | None:
    """Return a finite float, or None: metrics files never hold NaN."""
    return None if value is None or not math.isfinite(value) else float(value)
