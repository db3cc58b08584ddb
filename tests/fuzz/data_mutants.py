"""Data files, damaged by rule: columns, values, rows, formats, encodings, bytes; and the commands that read them."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from tests.fuzz import good_files
from tests.fuzz.case import DATA, Case, Command, generator
from tests.fuzz.good_files import TOWN, as_csv, as_geojson, as_parquet

Frame = pd.DataFrame
_ODD: tuple[Any, ...] = (
    np.nan, None, "", "x", "nan", "inf", 1e308, -1e308, 1e-320, 181.0, -91.0, 0, -1, "1e5", "50,1", "2024-01-01",
    "2024-01-01T10:00:00Z", "12:30", " 1 ", "é", "a\x00b", "=1+1", '"', "\n", 10**30, True, "1" * 5000,
)  # fmt: skip


def data_case(seed: int, number: int, folder: Path, inputs: Path) -> Case:
    """Make the case of a number: a sound table with one to three damages, in some format, for some command."""
    rng = generator(seed, DATA, number)
    use = rng.choice(list(_USES))
    make, build = _USES[use]
    frame, told = make(rng), []
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        damage = rng.choice(_TABLE)
        frame = damage(rng, frame)
        told.append(damage.__name__.strip("_"))
    ending, content = _written(rng, frame)
    if rng.random() < 0.35:
        hurt = rng.choice(_BYTES)
        content = hurt(rng, content)
        told.append(hurt.__name__.strip("_"))
    name = f"case{ending}"
    commands, more = build(rng, folder / name, folder, inputs)
    what = f"{use} {ending}: {', '.join(told) or 'sound'}"
    return Case(folder, what, {name: content, **more}, commands)


# -- commands ---------------------------------------------------------------------------------------------------------

Built = tuple[list[Command], dict[str, bytes]]


def _published(kind: str, rng: random.Random, path: Path, folder: Path, words: list[str]) -> Built:
    out = "out" + rng.choice([".csv", ".csv", ".parquet", ".geojson", ".geoparquet"])
    mode = ["--seed", "1"]
    if rng.random() < 0.3:
        mode = ["--mode", "release", "--ledger", str(folder / "ledger.json"), "--budget", "100"]
    words = ["publish", kind, str(path), "--out", str(folder / out), *mode, *words]
    if rng.random() < 0.15:
        words += ["--map", str(folder / "map.html")]
    return [Command(words, names=path.name)], {}


def _counts(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    method = rng.choice(["laplace_counts", "grouping_smoothing", "dpsense", "fourier_counts", "zeros"])
    words = ["--epsilon", "1", "--cap", "5", "--method", method, "--venues", str(inputs / "venues.csv")]
    return _published("counts", rng, path, folder, words)


def _venue_list(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    """Damage the public list instead of the private file."""
    kind = rng.choice(["counts", "visits"])
    words = ["--epsilon", "1", "--cap", "5", "--venues", str(path)]
    commands, more = _published(kind, rng, inputs / "visits.csv", folder, words)
    return [Command(commands[0].words, names=path.name)], more


def _visits(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    words = ["--epsilon", "1", "--cap", "5", "--venues", str(inputs / "venues.csv"), "--set", "clusters=3"]
    return _published("visits", rng, path, folder, words)


def _positions(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    mechanism = rng.choice(["planar_geometric", "planar_geometric", "contour", "uniform_grid", "adaptive_grid"])
    epsilon = "0.01" if mechanism.startswith("planar") else "1"
    words = ["--epsilon", epsilon, "--mechanism", mechanism, "--cap", "3", "--region", TOWN]
    words += [] if mechanism.startswith("planar") else ["--expected-workers", "50"]
    return _published("positions", rng, path, folder, words)


def _trajectories(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    words = ["--epsilon", "2", "--cap", "2", "--region", TOWN]
    words += rng.choice([[], [], ["--variant", "grid_markov"], ["--variant", "ngram"]])
    return _published("trajectories", rng, path, folder, words)


def _datasets(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    kind = rng.choice([[], ["--format", "visits_table"], ["--format", "trajectories_table"], ["--format", "porto_taxi"],
                       ["--format", "snap_checkins"], ["--format", "point_lists"], ["--format", "geolife"],
                       ["--format", "tdrive"], ["--format", "foursquare_tsmc2014"],
                       ["--format", "cabspotting"]])  # fmt: skip
    convert = ["datasets", "convert", str(path), "--out", str(folder / "tables"), *kind]
    return [
        Command(["datasets", "describe", str(path), *kind], names=path.name),
        Command(convert + rng.choice([[], ["--as", "csv"]]), names=path.name),
    ], {}


def _scenario(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    """Name the file in a scenario: as workers, tasks, trips or the region."""
    raw: dict[str, Any] = {
        "geodp": 1,
        "name": "fuzz",
        "region": {"west": 10.0, "south": 50.0, "east": 10.08, "north": 50.05},
        "duration_s": 900,
        "workers": {"source": {"kind": "synthetic_city", "count": 60}},
        "tasks": {"demand": {"kind": "poisson", "per_hour": 40}},
        "curator": {"expected_workers": 60},
    }
    part = rng.choice(["source", "recorded", "trace", "replay", "region"])
    if part in ("source", "recorded"):
        raw["workers"]["source"] = {"kind": "table", "path": path.name}
    if part == "recorded":
        raw["workers"]["mobility"] = {"kind": "recorded"}
    if part == "trace":
        raw["tasks"]["demand"] = {"kind": "trace", "path": path.name}
    if part == "replay":
        raw["workers"]["mobility"] = {"kind": "replay", "path": path.name, "times": "each"}
    if part == "region":
        raw["region"] = {"file": path.name}
    text = yaml.safe_dump(raw).encode()
    scenario, run = str(folder / "scenario.yaml"), str(folder / "run")
    return [
        Command(["check", scenario], names=path.name),
        Command(["run", scenario, "--out", run, "--quiet"], names=path.name, makes=("run",)),
    ], {"scenario.yaml": text}


def _check_data(rng: random.Random, path: Path, folder: Path, inputs: Path) -> Built:
    from geodp.cli.main import app

    known = any(command.name == "check-data" for command in app.registered_commands)
    return ([Command(["check-data", str(path)], names=path.name)] if known else []), {}


_USES: dict[str, tuple[Callable[[random.Random], Frame], Callable[..., Built]]] = {
    "counts": (good_files.visits, _counts),
    "visits": (good_files.visits, _visits),
    "venue list": (lambda _: good_files.venues(), _venue_list),
    "positions": (good_files.positions, _positions),
    "trajectories": (good_files.trips, _trajectories),
    "datasets": (lambda rng: rng.choice([good_files.trips, good_files.visits, good_files.positions])(rng), _datasets),
    "scenario": (lambda rng: rng.choice([good_files.trips, good_files.positions])(rng), _scenario),
    "check-data": (lambda rng: rng.choice([good_files.trips, good_files.visits])(rng), _check_data),
}


# -- the table --------------------------------------------------------------------------------------------------------


def _column(rng: random.Random, frame: Frame) -> str | None:
    return rng.choice([str(name) for name in frame.columns]) if len(frame.columns) else None


def _drop_column(rng: random.Random, frame: Frame) -> Frame:
    name = _column(rng, frame)
    return frame if name is None else frame.drop(columns=[name])


def _rename_column(rng: random.Random, frame: Frame) -> Frame:
    names = ["x", "", " lon", "Lon", "id", "uid", "longitude", "venue", "user", "time", "a,b", "é", "1.5", "worker"]
    return frame.rename(columns={_column(rng, frame): rng.choice(names)})


def _swap_columns(rng: random.Random, frame: Frame) -> Frame:
    first, second = _column(rng, frame), _column(rng, frame)
    return frame.rename(columns={first: second, second: first})


def _repeat_column(rng: random.Random, frame: Frame) -> Frame:
    name = _column(rng, frame)
    return frame if name is None else pd.concat([frame, frame[[name]].iloc[:, :1]], axis=1)


def _odd_values(rng: random.Random, frame: Frame) -> Frame:
    if frame.empty:
        return frame
    changed = frame.astype(object)
    for _ in range(rng.choice([1, 3, 50])):
        at = rng.randrange(len(changed)), rng.randrange(changed.shape[1])
        changed.iloc[at] = rng.choice(_ODD)
    return changed


def _one_value_everywhere(rng: random.Random, frame: Frame) -> Frame:
    name = _column(rng, frame)
    return frame if name is None else frame.assign(**{name: rng.choice(_ODD)})


def _few_rows(rng: random.Random, frame: Frame) -> Frame:
    return frame.head(rng.choice([0, 1, 2]))


def _many_rows(rng: random.Random, frame: Frame) -> Frame:
    return pd.concat([frame] * rng.choice([2, 30]), ignore_index=True)


def _dates(rng: random.Random, frame: Frame) -> Frame:
    if "time_s" not in frame.columns or isinstance(frame["time_s"], Frame):
        return frame
    seconds = pd.to_numeric(frame["time_s"], errors="coerce").clip(-1e9, 1e9)
    when = pd.to_datetime(seconds, unit="s", utc=rng.random() < 0.5)
    return frame.assign(time_s=when if rng.random() < 0.5 else when.astype(str))


def _shuffled(rng: random.Random, frame: Frame) -> Frame:
    return frame.sample(frac=1, random_state=rng.randrange(1000))


def _scaled(rng: random.Random, frame: Frame) -> Frame:
    name = _column(rng, frame)
    if name is None or isinstance(frame[name], Frame) or not pd.api.types.is_float_dtype(frame[name]):
        return frame
    return frame.assign(**{name: frame[name] * rng.choice([1e7, -1.0, 1e-7, 1e300, 0.0])})


_TABLE: list[Callable[[random.Random, Frame], Frame]] = [
    _drop_column, _rename_column, _swap_columns, _repeat_column, *[_odd_values] * 3, _one_value_everywhere, _few_rows,
    _many_rows, _dates, _shuffled, _scaled,
]  # fmt: skip


# -- the file ---------------------------------------------------------------------------------------------------------


def _written(rng: random.Random, frame: Frame) -> tuple[str, bytes]:
    """Return an ending and the content: in the format of the ending, as far as the table can be written in it."""
    ending = rng.choice([".csv"] * 6 + [".csv.gz", ".parquet", ".parquet", ".geojson", ".geoparquet", ".txt", ""])
    try:
        if ending in (".parquet", ".geoparquet"):
            return ending, as_parquet(frame)
        if ending == ".geojson" and {"lon", "lat"} <= set(frame.columns):
            return ending, as_geojson(frame)
    except Exception:  # noqa: BLE001 - a damaged table that this format cannot hold is written as csv
        ending = ".csv"
    content = as_csv(frame)
    return ending, gzip.compress(content, mtime=0) if ending == ".csv.gz" else content


def _other_delimiter(rng: random.Random, content: bytes) -> bytes:
    return content.replace(b",", rng.choice([b";", b"\t", b"|", b" "]))


def _other_encoding(rng: random.Random, content: bytes) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(rng.choice(["utf-16", "utf-8-sig", "latin-1", "utf-32"]), errors="replace")


def _ragged(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = rng.choice([lines[at] + b",1", lines[at].rpartition(b",")[0], b"", b'"' + lines[at], b",,,,,,,"])
    return b"\n".join(lines)


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 5, 50]) if changed else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _noise(rng: random.Random, content: bytes) -> bytes:
    return rng.randbytes(rng.choice([0, 1, 1000]))


def _carriage_returns(rng: random.Random, content: bytes) -> bytes:
    return content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n"]))


def _headless(rng: random.Random, content: bytes) -> bytes:
    return content.partition(b"\n")[2]


def _commented(rng: random.Random, content: bytes) -> bytes:
    return rng.choice([b"# a comment\n", b"\n\n", b"sep=,\n", b"PAR1", b"\x1f\x8b"]) + content


_BYTES: list[Callable[[random.Random, bytes], bytes]] = [
    _other_delimiter, _other_encoding, _ragged, _ragged, _cut, _cut, _flipped, _noise, _carriage_returns, _headless,
    _commented,
]  # fmt: skip
