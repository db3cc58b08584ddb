"""Writes the page of files: small runs are made, and what they leave is listed with its columns.

The words stand in `file_words.yaml`; a file or column without any is an error, and so are words about nothing.
"""

from __future__ import annotations

import fnmatch
import re
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from docs.fields import escape_cell

WORDS = Path(__file__).parent / "file_words.yaml"
_CITY = {"geodp": 1, "region": {"west": -122.52, "south": 37.70, "east": -122.35, "north": 37.84}, "duration_s": 1200}
_WORK = {"demand": {"kind": "poisson", "per_hour": 60}}
_TRUSTED: dict[str, Any] = {
    **_CITY,
    "name": "trusted",
    "workers": {
        "source": {"kind": "synthetic_city", "count": 200},
        "mobility": {"kind": "commuter"},
        "visit_source": {"kind": "generated_visits"},
    },
    "tasks": _WORK,
    "device": {"history_report": {"kind": "epicrec"}},
    "curator": {"mechanism": {"kind": "adaptive_grid", "epsilon": 1.0}},
    "server": {"assignment": {"kind": "geocast"}},
    "publish": [{"kind": "grouping_smoothing"}, {"kind": "prilocation"}, {"kind": "synthetic_trips"}],
    "attacks": [{"kind": "bayes_location"}],
}
_PHONES: dict[str, Any] = {
    **_CITY,
    "name": "phones",
    "workers": {"source": {"kind": "synthetic_city", "count": 200}},
    "tasks": _WORK,
    "device": {"mechanism": {"kind": "planar_laplace"}},
    "curator": None,
    "server": {"assignment": {"kind": "nearest_report"}},
    "attacks": [{"kind": "tracking"}, {"kind": "triangulation"}],
}
_ANSWERS: list[dict[str, Any]] = [
    {
        **_PHONES,
        "name": f"answers_{protocol}",
        "device": {"mechanism": {"kind": "cell_response", "protocol": protocol, "cell_m": 3000.0}},
        "server": {"assignment": {"kind": "geocast"}},
        "attacks": [{"kind": "bayes_location"}],
    }
    for protocol in ("grr", "oue", "olh", "hr")
]
"""Phones that answer in which cell they are: what stands in their reports depends on the protocol."""
_COMPARED = {**_TRUSTED, "name": "compared", "compare": {"one": {}, "two": {"curator.mechanism.epsilon": 0.5}}}
_SWEEP: dict[str, Any] = {
    "geodp": 1,
    "name": "sweep",
    "base": "phones.yaml",
    "seeds": [0],
    "grids": [{"device.mechanism.epsilon_per_m": [0.01, 0.02]}],
    "plot": [{"y": "success_rate", "x": "device.mechanism.epsilon_per_m"}],
}


class UndescribedFile(Exception):
    """Files or columns of which nothing is said, or words about files that nobody makes."""


@dataclass
class FileWords:
    """What is said about files and columns; remembers what was asked for."""

    words: dict[str, Any]
    used: set[tuple[str, ...]] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)

    def about_file(self, folder: str, name: str) -> tuple[str, str]:
        """Return the pattern that a file's name fits, and what is said about such files."""
        for pattern, about in self.words[folder].items():
            if fnmatch.fnmatchcase(name, pattern):
                self.used.add((folder, pattern))
                return pattern, about
        self.missing.append(f"{folder}: {name}")
        return name, ""

    def about_column(self, pattern: str, name: str) -> str:
        """Return what is said about a column: of these files, or of all."""
        for table in (pattern, "everywhere"):
            if name in self.words["columns"].get(table, {}):
                self.used.add(("columns", table, name))
                return str(self.words["columns"][table][name])
        self.missing.append(f"columns of {pattern}: {name}")
        return ""

    def require_all(self) -> None:
        """Raise where something is not described, or described and not there."""
        known: set[tuple[str, ...]] = {
            (folder, pattern) for folder in self.words if folder != "columns" for pattern in self.words[folder]
        }
        known |= {("columns", table, name) for table, names in self.words["columns"].items() for name in names}
        idle = sorted(" ".join(words) for words in known - self.used)
        if self.missing or idle:
            raise UndescribedFile(f"{WORDS.name}: say something about {self.missing}; nobody makes {idle}")


def write_page(path: Path) -> None:
    """Make the runs, and write the page.

    Raises
    ------
    UndescribedFile
        If a file or column is not described, or something is described that no run leaves.
    """
    words = FileWords(yaml.safe_load(WORDS.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        made = _make(Path(folder))
        parts = [_INTRODUCTION]
        for title, folders in made.items():
            parts += [f"## {title}", _SAID[title], *_describe_folders(title, folders, words)]
    words.require_all()
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


_INTRODUCTION = """# Files

What commands leave on disk, as small runs left it when this page was built. Times are seconds from the start of the
run, places `x_m, y_m` are metres in the run's local plane; tables with a column `geometry` are GeoParquet in EPSG:4326,
which geopandas and QGIS open as they are. `-1` is no task or worker. Files are added in later versions, never given
another meaning ([policy](../contributing.md#versions)).
"""
_SAID = {
    "A run": (
        "`geodp run FILE --out DIR`. It appears whole or not at all. What is under `truth/` never reaches the server, "
        "and must not be shared."
    ),
    "A comparison": "A scenario with `compare` leaves a run folder per arm, and beside them:",
    "A sweep": "`geodp sweep FILE --out DIR`.",
    "A publication": "`geodp publish counts IN --out counts.csv`.",
}


def _make(folder: Path) -> dict[str, list[Path]]:
    """Make small runs, a sweep and a publication, and return their folders."""
    import geodp
    from geodp.cli.main import main

    for settings in (_TRUSTED, _PHONES, *_ANSWERS, _COMPARED, _SWEEP):
        text = yaml.safe_dump(settings)
        (folder / f"{settings['name']}.yaml").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answered = [settings["name"] for settings in _ANSWERS]
        for name in ("trusted", "phones", *answered, "compared"):
            geodp.run(folder / f"{name}.yaml", folder / name)
        geodp.sweep(folder / "sweep.yaml", folder / "sweep", workers=1)
    published = folder / "published"
    published.mkdir()
    made = f"datasets make --out {folder}/made --people 50 --visits 5 --venues 20 --as csv"
    counted = f"publish counts {folder}/made/visits.csv --venues {folder}/made/venues.csv --epsilon 1 --cap 5"
    kept = f"--out {published}/counts.csv --ledger {published}/geodp-ledger.json --map {published}/counts.html"
    for command in (made, f"{counted} {kept}"):
        try:
            main([*command.split(), "--quiet"])
        except SystemExit as end:
            if end.code:
                raise UndescribedFile(f"geodp {command} ended with exit code {end.code}") from end
    return {
        "A run": [folder / name for name in ("trusted", "phones", *answered)],
        "A comparison": [folder / "compared"],
        "A sweep": [folder / "sweep"],
        "A publication": [published],
    }


def _describe_folders(title: str, folders: list[Path], words: FileWords) -> list[str]:
    """Return a list of files, and a table of columns for each kind of table."""
    about: dict[str, str] = {}
    columns: dict[str, dict[str, str]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if not path.is_file() or name.startswith((".", "arms/")):
                continue
            pattern, said = words.about_file(title, name)
            about[pattern] = said
            columns.setdefault(pattern, {}).update(_columns(path))
    order = [pattern for pattern in words.words[title] if pattern in about]
    parts = ["| file | what it holds |\n|---|---|\n" + "\n".join(f"| `{one}` | {about[one]} |" for one in order)]
    for pattern in order:
        kept = {name: kind for name, kind in columns[pattern].items() if not _is_metric(name, title)}
        if kept:
            rows = [
                f"| `{name}` | {kind} | {escape_cell(words.about_column(pattern, name))} |"
                for name, kind in kept.items()
            ]
            parts += [f"### `{pattern}`", "| column | type | meaning |\n|---|---|---|\n" + "\n".join(rows)]
    return parts


def _is_metric(name: str, title: str) -> bool:
    """Tell whether a column of a sweep is one of the metrics, or a varied path: they are described elsewhere."""
    from geodp.metrics import metric_of

    known = title == "A sweep" and (metric_of(name) is not None or "." in name or name.startswith("failed_"))
    return known or (title == "A comparison" and bool(re.match(r"(one|two)\b", name)))


def _columns(path: Path) -> dict[str, str]:
    """Return the columns of a table with their types ({} for what is no table)."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return {field.name: _plain(str(field.type), field.name) for field in pyarrow.parquet.read_schema(path)}
    if path.suffix == ".csv":
        import pandas as pd

        frame = pd.read_csv(path, nrows=100)
        return {str(name): _plain(str(kind), str(name)) for name, kind in frame.dtypes.items()}
    return {}


def _plain(kind: str, name: str) -> str:
    if name in {"geometry", "bbox"}:
        return {"geometry": "geometry", "bbox": "box"}[name]
    words = {"int": "whole number", "double": "number", "float": "number", "bool": "true or false", "str": "text"}
    words |= {"large_str": "text", "object": "text", "list": "list", "large_list": "list", "dictionary": "text"}
    return next((word for start, word in words.items() if kind.startswith(start)), kind)
