"""The commands that are audited: every publication with every method that may be released, on public inputs of ours.

Methods are whatever the commands take: those of plug-in files and of installed packages, too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from geodp.audit.kinds import variants_of
from geodp.audit.neighbouring_files import (
    FIRST_DAY,
    PINGS,
    POSITIONS,
    REGION,
    TRIPS,
    VISITS,
    FileKind,
    venue_places,
)
from geodp.errors import UsageError
from geodp.model import did_you_mean
from geodp.public.guarantee import Trust, Unit
from geodp.registry import origin, plugins

KINDS = ("counts", "visits", "positions", "trajectories", "flows")
CAP = 3
"""Public cap of the audited commands: small enough to bind."""
VENUE_LIST, USER_LIST, ZONES = "venues.csv", "users.csv", "zones.geojson"


@dataclass(frozen=True)
class PublishCommand:
    """A command without its files."""

    kind: str
    method: str
    words: tuple[str, ...]
    file: FileKind
    changes: tuple[str, ...]
    """What may differ between neighbouring files (see `neighbours.py`)."""
    epsilons: tuple[float, ...] = (0.5, 1000.0)
    public: tuple[str, ...] = field(default=())
    """Public files that it is given."""
    has_places: bool = True
    """Whether what is published lies somewhere, so that it can be written as a map's file."""

    @property
    def plugin(self) -> str:
        """Kind of the plug-in that does it."""
        return self.method.partition(",")[0]

    @property
    def name(self) -> str:
        """What an audit calls it."""
        return f"publish {self.kind}: {self.method}"

    def line(self, folder: Path, source: Path, out: Path, rng: np.random.Generator) -> list[str]:
        """Return the whole command line; the map and ε are drawn."""
        words = ["publish", self.kind, str(source), "--out", str(out), "--mode", "release"]
        words += ["--ledger", str(folder / "ledger.json"), *self.words]
        if ZONES in self.public:
            words += ["--zones", f"{folder / ZONES}:zone"]
        if self.epsilons:
            words += ["--epsilon", f"{rng.choice(self.epsilons):g}"]
        if VENUE_LIST in self.public:
            words += ["--venues", str(folder / VENUE_LIST)]
        if USER_LIST in self.public:
            words += ["--users", str(folder / USER_LIST)]
        if self.kind == "flows":
            return words
        return [*words, *(["--map", str(folder / "map.html")] if rng.random() < 0.25 else [])]

    @property
    def statement(self) -> str:
        """What the statement of a release is called, after the name of its file or folder."""
        return "/guarantee.json" if self.kind == "flows" else ".guarantee.json"


def publish_commands(asked: str) -> list[PublishCommand]:
    """Return the commands of a kind (`counts`), of one of its methods (`counts:dpsense`, `dpsense`), or `all`."""
    kind, _, method = asked.partition(":")
    if kind not in (*KINDS, "all"):
        if not method:
            return _of_method(kind)
        raise UsageError(f"--publish {asked}: no publication called '{kind}'.{did_you_mean(kind, KINDS)}")
    found = [command for each in (KINDS if kind == "all" else (kind,)) for command in _of_kind(each)]
    chosen = [command for command in found if not method or command.plugin == method]
    if not chosen:
        known = sorted({command.plugin for command in found})
        raise UsageError(f"--publish {asked}: no method called '{method}'.{did_you_mean(method, known)}")
    return chosen


def _of_method(method: str) -> list[PublishCommand]:
    """Return the commands that publish by a method, whatever they publish."""
    every = [command for kind in KINDS for command in _of_kind(kind)]
    chosen = [command for command in every if command.plugin == method]
    if chosen:
        return chosen
    if any(method in plugins(family) for family in ("publication", "mechanism", "device")):
        raise UsageError(
            f"--publish {method}: no publish command takes it, or nothing that it promises can be released. "
            f"'geodp audit {method}' audits what a scenario publishes by it."
        )
    known = (*KINDS, *sorted({command.plugin for command in every}))
    raise UsageError(f"--publish {method}: no publication called '{method}'.{did_you_mean(method, known)}")


def _of_kind(kind: str) -> Iterator[PublishCommand]:
    yield from {"counts": _counts, "visits": _visits, "positions": _positions, "trajectories": _trajectories,
                "flows": _flows}[kind]()  # fmt: skip


def _set(update: dict[str, Any]) -> tuple[str, ...]:
    return tuple(word for name, value in update.items() for word in ("--set", f"{name}={str(value).lower()}"))


def _epsilons(cls: type[Any], *tried: float) -> tuple[float, ...]:
    """Return the ε to try (none where a method has no ε of its own)."""
    return tried if {"epsilon", "epsilon_per_m"} & set(cls.model_fields) else ()


def _updates(cls: type[Any], leave: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the variants of a method that may be released: their name, and the fields that differ from the default."""
    plugin = cls()
    for name, variant in variants_of(plugin).items():
        if not plugin.guarantee().holds and not name:
            continue
        changed = {each: getattr(variant, each) for each in cls.model_fields}
        update = {each: value for each, value in changed.items() if value != getattr(plugin, each)}
        if not set(update) & set(leave):
            yield ", ".join([cls.kind, *([name] if name else [])]), update


def _counts() -> Iterator[PublishCommand]:
    from geodp.curator.counts_publication import CountsPublication

    for kind, cls in plugins("publication").items():
        if not issubclass(cls, CountsPublication):
            continue
        cap = ("--cap", str(CAP)) if "cap" in cls.model_fields else ()
        epsilons = _epsilons(cls, 0.5, 1000.0)
        for name, update in _updates(cls):
            words = ("--method", kind, *cap, *_set(update))
            changes = ("person", "unusable", "order", "columns")
            yield PublishCommand(
                kind="counts",
                method=name,
                words=words,
                file=VISITS,
                changes=changes,
                epsilons=epsilons,
                public=(VENUE_LIST,),
            )


def _visits() -> Iterator[PublishCommand]:
    from geodp.curator.visits_publication import VisitsPublication

    for kind, cls in plugins("publication").items():
        if not issubclass(cls, VisitsPublication) or cls().guarantee().unit is Unit.NOTHING:
            continue
        cap = ("--cap", str(CAP)) if "cap" in cls.model_fields else ()
        for name, update in _updates(cls):
            metric = update.get("variant") == "geoind_em"
            words = ("--method", kind, *cap, *_set(update))
            changes = ("venue",) if metric else ("record",) if "user" in update.values() else ("record", "visit")
            every = (*changes, "columns", *(() if metric else ("unusable",)))
            epsilons = _epsilons(cls, *((0.001, 0.5) if metric else (0.5, 1000.0)))
            for public in ((VENUE_LIST, USER_LIST), (VENUE_LIST,)):
                named = name if USER_LIST in public else f"{name}, names of the file"
                yield PublishCommand(
                    kind="visits",
                    method=named,
                    words=words,
                    file=VISITS,
                    changes=every,
                    epsilons=epsilons,
                    public=public,
                )


def _positions() -> Iterator[PublishCommand]:
    box = ("--region", ",".join(f"{edge:g}" for edge in REGION))
    everyone = {
        "a cap": (("--cap", str(CAP)), ("person",)),
        "one row per person": (("--one-row-per-person",), ("row",)),
    }
    for kind, cls in plugins("mechanism").items():
        if "cells" not in cls.releases or cls().guarantee().unit is Unit.NOTHING:  # type: ignore[attr-defined]
            continue
        promise = cls().guarantee()  # type: ignore[attr-defined]
        if cls().window_releases() is not None or promise.by_group:  # type: ignore[attr-defined]
            continue  # refused: a file is one release, and names no groups
        for how, (words, changes) in everyone.items():
            if promise.unit is Unit.EVENT and "--cap" not in words:
                continue  # refused: a cap says how many events a person has
            expected = ("--mechanism", kind, *box, *words, "--expected-workers", "50")
            every = (*changes, "unusable", "order", "columns")
            epsilons = _epsilons(cls, 0.5, 1000.0)
            yield PublishCommand(
                kind="positions",
                method=f"{kind}, {how}",
                words=expected,
                file=POSITIONS,
                changes=every,
                epsilons=epsilons,
            )
    moved = ("place", "unusable", "columns")
    for kind, cls in _find_released_devices().items():
        for how, (words, _) in everyone.items():
            reported = ("--mechanism", kind, *box, *words)
            epsilons = _epsilons(cls, 0.002, 0.5)
            yield PublishCommand(
                kind="positions",
                method=f"{kind}, {how}",
                words=reported,
                file=POSITIONS,
                changes=moved,
                epsilons=epsilons,
            )


def _find_released_devices() -> dict[str, type[Any]]:
    """Return what reports places by the metre: of the house's own, the one whose reports may be released."""
    known: dict[str, type[Any]] = dict(plugins("device"))
    reports = {
        kind: cls for kind, cls in known.items() if "points" in cls.releases and cls().guarantee().unit is Unit.POINT
    }
    return {kind: cls for kind, cls in reports.items() if kind == "planar_geometric" or origin(cls) != "geodp"}


def _trajectories() -> Iterator[PublishCommand]:
    from geodp.curator.trips_publication import TripModelPublication

    box = ("--region", ",".join(f"{edge:g}" for edge in REGION))
    anyway = ("unusable", "order", "columns")
    for kind, cls in plugins("publication").items():
        if issubclass(cls, TripModelPublication):
            is_local = cls().guarantee().trust is Trust.LOCAL
            # Every trip is asked about by itself there, so that no person's total is bounded: that is refused.
            for unit in ("person",) if is_local else ("person", "trajectory"):
                changes = ("instead",) if is_local else ("person",) if unit == "person" else ("trip", "person")
                cap = () if is_local else ("--cap", str(CAP))  # who answers is no secret, but what
                words = (*box, *cap, "--unit", unit, "--method", kind, "--set", "most_points=50")
                name = f"{kind}, {unit}"
                yield PublishCommand(
                    kind="trajectories",
                    method=name,
                    words=words,
                    file=TRIPS,
                    changes=(*changes, *(("columns",) if is_local else anyway)),
                    epsilons=(8.0, 40.0) if is_local else (8.0, 1000.0),
                )
        elif "trajectories" in cls.reads and cls().guarantee().unit is not Unit.NOTHING:  # type: ignore[attr-defined]
            cap = ("--cap", str(CAP)) if {"cap", "trajectories_per_person"} & set(cls.model_fields) else ()
            for name, update in _updates(cls):
                words = (*box, *cap, "--method", kind, *_set(update))
                if cls(**update).guarantee().unit is Unit.PAIR:  # type: ignore[attr-defined]
                    continue  # bounds no person's total, and is refused
                single = cls(**update).guarantee().unit is Unit.TRAJECTORY  # type: ignore[attr-defined]
                changes = (*(("trip",) if single else ()), "person", *anyway)
                yield PublishCommand(
                    kind="trajectories",
                    method=name,
                    words=words,
                    file=TRIPS,
                    changes=changes,
                    epsilons=_epsilons(cls, 0.5, 1000.0),
                    has_places=cls.releases != {"count"},
                )


def _flows() -> Iterator[PublishCommand]:
    days = ("--districts", "district", "--from", str(FIRST_DAY), "--to", str(FIRST_DAY + timedelta(days=2)))
    few = ("--every", "6h", "--od-every", "12h", "--trips", str(CAP))
    variants = {
        "gaussian, person-day": ("--delta", "1e-6"),
        "gaussian, person-week": ("--delta", "1e-6", "--unit", "person-week"),
        "gaussian, person": ("--delta", "1e-6", "--unit", "person"),
        "laplace, person-day": (),
    }
    for name, words in variants.items():
        yield PublishCommand(
            kind="flows",
            method=name,
            words=(*days, *few, *words),
            file=PINGS,
            changes=("day", "person", "unusable_ping", "order", "columns"),
            epsilons=(0.5, 1000.0),
            public=(ZONES,),
        )


def write_public(command: PublishCommand, folder: Path, users: list[str]) -> None:
    """Write the public files that a command is given."""
    if VENUE_LIST in command.public:
        rows = [
            (f"v{number}", f"{lon}", f"{lat}", "west" if lon < np.mean(REGION[::2]) else "east", f"kind {number % 2}")
            for number, (lon, lat) in enumerate(venue_places())
        ]
        _write(folder / VENUE_LIST, [("venue", "lon", "lat", "side", "category"), *rows])
    if ZONES in command.public:
        (folder / ZONES).write_text(json.dumps(_list_zones()), encoding="utf-8")
    if USER_LIST in command.public:
        _write(folder / USER_LIST, [("user",), *((name,) for name in users)])


def _list_zones() -> dict[str, Any]:
    """Return six zones, which leave the east of the region outside."""
    west, south, east, north = REGION
    wide, high = 0.8 * (east - west) / 3, (north - south) / 2
    features = []
    for number in range(6):
        x, y = west + number % 3 * wide, south + number // 3 * high
        ring = [[x, y], [x + wide, y], [x + wide, y + high], [x, y + high], [x, y]]
        features.append({
            "type": "Feature",
            "properties": {"zone": f"z{number}", "district": f"d{number // 3}"},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        })  # fmt: skip
    return {"type": "FeatureCollection", "features": features}


def _write(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
