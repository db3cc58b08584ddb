"""Making a figure: points of every panel whose data are there, a drawing, and verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from geodp._version import __version__
from geodp.errors import GeodpError, OutputError
from geodp.figures.checks import Verdict, check_claims
from geodp.figures.figure_file import DATA_VARIABLE, FigureFile
from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making
from geodp.run_folder.folder import json_text
from geodp.storage.csv_cells import make_guarded_csv
from geodp.storage.files import digest, write_text_whole, write_whole
from geodp.storage.stamp import COLUMN

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MadeFigure:
    """A figure as far as its data allowed."""

    file: FigureFile
    verdicts: dict[str, list[Verdict]]
    """Panel → verdicts, for every panel that was made."""
    absent: dict[str, str] = field(default_factory=dict)
    """Panel → what it needs, for every panel that was left out."""
    images: tuple[Path, ...] = ()
    """The drawing, as PNG, SVG and PDF."""
    drawn: Path | None = None
    """Every value that is drawn, as csv."""
    data: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    """Panel → the files its points come from: what was computed, and the data it was computed from."""

    def text(self) -> str:
        """Say claim, our numbers and verdict, claim by claim."""
        lines = [f"{self.file.id}  {self.file.section.title}", f"  {self.file.section.source}"]
        for panel, verdicts in self.verdicts.items():
            lines.append(f"\n  {self.file.section.panels[panel].title or panel}")
            claim = ""
            for verdict in verdicts:
                if verdict.says != claim:
                    claim = verdict.says
                    lines.append(f"    claim:   {claim}")
                where = f"{verdict.line}: " if verdict.line else ""
                lines += [f"    ours:    {where}{verdict.ours}", f"    verdict: {verdict.word}"]
            lines += [f"    data:    {path}" for path in self.data.get(panel, ())]
        lines += [f"\n  {panel}: left out, {needs}" for panel, needs in self.absent.items()]
        if self.images:
            lines.append("\n  drawn:   " + ", ".join(str(path) for path in self.images))
        if self.drawn is not None:
            lines.append(f"  data:    {self.drawn} (every value that is drawn)")
        return "\n".join(lines)


def make_figure(
    file: FigureFile,
    out: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    on_progress: Callable[[str, float], None] | None = None,
) -> MadeFigure:
    """Make one figure into `out/<id>`: panels are computed or taken from what an earlier call kept there.

    `on_progress` is called with the figure and panel that is made, and the share of the figure that is done.
    """
    folder = out / file.id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    points: dict[str, pd.DataFrame] = {}
    behind: dict[str, tuple[Path, ...]] = {}
    absent = {}
    for number, (name, panel) in enumerate(file.section.panels.items()):
        data = panel.files()
        on_share = None
        if on_progress is not None:
            on_share = partial(_tell_panel, on_progress, f"{file.id}, {name}", number, len(file.section.panels))
            on_share(0.0)
        if data is None:
            absent[name] = needs_text(panel.needs)
            continue
        making = Making(
            file=file,
            panel=name,
            settings=panel,
            folder=folder / name,
            workers=workers,
            fresh=fresh,
            data=data,
            on_share=on_share,
        )
        points[name] = _whole(_points(making), making)
        behind[name] = (*find_kept(file, making.folder), *data.values())
    if not points:
        return MadeFigure(file, {}, absent)
    verdicts = {name: check_claims(file, name, own) for name, own in points.items()}
    from geodp.sweeps.line_plots import FORMATS, save

    images = save(file.section.make.draw(file, points), folder / file.id, FORMATS)
    values = _write_drawn(folder / f"{file.id}.csv", points)
    return MadeFigure(file=file, verdicts=verdicts, absent=absent, images=tuple(images), drawn=values, data=behind)


def find_kept(file: FigureFile, folder: Path) -> list[Path]:
    """Return the files in a panel's folder that hold what was computed for it, as far as there are any."""
    names = ("runs.parquet", "summary.csv") if file.section.make.kind == "sweep" else ("points.parquet",)
    return [folder / name for name in names if (folder / name).is_file()]


def _write_drawn(path: Path, points: Mapping[str, pd.DataFrame]) -> Path:
    """Write every value that is drawn: panel, quantity, line, place, repetition and value."""
    import pandas as pd

    whole = pd.concat([own[list(POINT_COLUMNS)].assign(panel=name) for name, own in points.items()], ignore_index=True)
    write_text_whole(path, make_guarded_csv(whole[["panel", *POINT_COLUMNS]].assign(**{COLUMN: False})))
    return path


def _tell_panel(tell: Callable[[str, float], None], name: str, number: int, panels: int, share: float) -> None:
    tell(name, (number + share) / panels)


def needs_text(needs: tuple[str, ...]) -> str:
    """Say which data a panel needs and where they have to be."""
    return f"needs {' and '.join(needs)} in the folder {DATA_VARIABLE}"


def _points(making: Making) -> pd.DataFrame:
    """Return a panel's points; of what is no sweep (sweeps resume by themselves) an earlier result is used again."""
    import pandas as pd

    kind = making.file.section.make
    if kind.kind == "sweep":
        return kind.points(making)
    kind = kind.with_settings(making.settings.fill_paths(making.data))
    identity = _identity(kind, making.data)
    table, note = making.folder / "points.parquet", making.folder / "points.json"
    if not making.fresh and _is_kept(table, note, identity):
        return pd.read_parquet(table)
    found = kind.points(making)
    making.folder.mkdir(parents=True, exist_ok=True)
    write_whole(table, partial(found.to_parquet, index=False))
    write_text_whole(note, json_text(identity | {"table": digest(table)}))
    return found


def _is_kept(table: Path, note: Path, identity: dict[str, object]) -> bool:
    """Tell whether a table is there as it was written, for the same settings and data."""
    try:
        kept = json.loads(note.read_text(encoding="utf-8"))
        return bool(kept == identity | {"table": digest(table)})
    except (OSError, ValueError):
        return False


def _identity(kind: FigureKind, data: Mapping[str, Path]) -> dict[str, object]:
    digests = {}
    for name, path in data.items():
        if path.is_file():
            with path.open("rb") as file:
                digests[name] = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    return {"geodp": __version__, "fields": kind.model_dump(mode="json"), "data": digests}


def _whole(points: pd.DataFrame, making: Making) -> pd.DataFrame:
    missing = [column for column in POINT_COLUMNS if column not in points]
    if missing or points.empty:
        what = f"no column {', '.join(missing)}" if missing else "no rows"
        raise GeodpError(f"{making.file.id}: the points of panel '{making.panel}' have {what}")
    return points
