"""The command `geodp figures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.completion import complete_figure
from geodp.cli.console import Json, Plugins, Processes, flags, print_json, say, suggest
from geodp.cli.progress import show_progress
from geodp.errors import GeodpError, ScenarioError, UsageError

if TYPE_CHECKING:
    from geodp.figures.figure_file import FigureFile
    from geodp.figures.make import MadeFigure

FIGURES = Path("runs") / "figures"
PAGE = "REPRODUCTION.md"
Say = Callable[[str], None]


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]", help="Figures to make, e.g. 13.7a, or figure files.", autocompletion=complete_figure
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Make all, and write REPRODUCTION.md.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where figures and REPRODUCTION.md go [default: runs/figures; the page: top of the repository].",
        ),
    ] = None,
    workers: Processes = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the named figures into REPRODUCTION.md.")] = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """List the papers' figures, or make them: claim, our numbers, verdict, drawing, data files; run again to resume."""
    if everything and names:
        raise UsageError("name figures, or use --all, not both")
    if everything:
        done = make_all(out, workers=workers, fresh=fresh, say=say, complain=lambda text: typer.echo(text, err=True))
        page = _page(out)
        failed = done.failed
        print_json({"figures": [figure_values(figure) for figure in done.made], "failed": failed, "page": page})
        suggest(
            f"read {page}" if not failed else f"read {page}; mend what failed, and give the same command: it resumes"
        )
        if failed:
            raise typer.Exit(1)
    elif names:
        made = make_some(names, out, workers=workers, fresh=fresh, say=say, record=record)
        print_json({"figures": [figure_values(figure) for figure in made]})
        images = [str(image) for figure in made for image in figure.images[:1]]
        suggest(
            f"look at {images[0]}" if images else "set GEODP_DATA to the folder of the data it needs, and try again"
        )
    else:
        print_json({"figures": list_values(out)})
        say(list_text(out), "")
        suggest("geodp figures ID   makes one; geodp figures --all   makes all, and REPRODUCTION.md")


def list_text(out: Path | None = None) -> str:
    """List every figure: id, title, whether its data are there, and the data files behind it.

    Parameters
    ----------
    out
        The folder in which figures were made.
    """
    from geodp.figures.figure_file import figure_paths, load_figure
    from geodp.figures.make import find_kept, needs_text

    paths = figure_paths()
    width = max((len(path.stem) for path in paths), default=0)
    lines = []
    for path in paths:
        try:
            file = load_figure(path)
        except ScenarioError as error:
            lines.append(f"{path.stem:<{width}}  {error}")
            continue
        lines.append(f"{file.id:<{width}}  {file.section.title}")
        for name, panel in file.section.panels.items():
            given = panel.files()
            lines.append(f"{'':<{width}}    {name}: {needs_text(panel.needs) if given is None else 'ready'}")
            folder = (out or FIGURES) / file.id
            kept = [*find_kept(file, folder / name), *(given or {}).values()]
            lines += [f"{'':<{width}}      data: {own}" for own in kept]
        values = (out or FIGURES) / file.id / f"{file.id}.csv"
        lines += [f"{'':<{width}}    drawn from: {values}"] if values.is_file() else []
    return "\n".join(lines)


def list_values(out: Path | None = None) -> list[dict[str, Any]]:
    """Return every figure as plain values: id, title, source, whether its data are there, and the files behind it."""
    from geodp.figures.figure_file import figure_paths, load_figure
    from geodp.figures.make import find_kept

    found: list[dict[str, Any]] = []
    for path in figure_paths():
        try:
            file = load_figure(path)
        except ScenarioError as error:
            found.append({"id": path.stem, "error": str(error)})
            continue
        panels = {
            name: {"title": panel.title or name, "ready": panel.files() is not None, "needs": panel.needs}
            | {"data": [*find_kept(file, (out or FIGURES) / file.id / name), *(panel.files() or {}).values()]}
            for name, panel in file.section.panels.items()
        }
        found.append({"id": file.id, "title": file.section.title, "source": file.section.source, "panels": panels})
    return found


def figure_values(figure: MadeFigure) -> dict[str, Any]:
    """Return a made figure as plain values: claims, our numbers and verdicts, panel by panel."""
    verdicts = {
        panel: [
            {"claim": one.says, "line": one.line or None, "ours": one.ours, "reproduced": one.reproduced}
            | {"verdict": one.word}
            for one in found
        ]
        for panel, found in figure.verdicts.items()
    }
    head = {"id": figure.file.id, "title": figure.file.section.title, "source": figure.file.section.source}
    return (
        head
        | {"panels": verdicts, "left_out": figure.absent, "images": figure.images}
        | {
            "data": figure.data,
            "drawn_from": figure.drawn,
        }
    )


def make_some(
    names: Sequence[str], out: Path | None, *, workers: int | None, fresh: bool, say: Say, record: bool = False
) -> list[MadeFigure]:
    """Make the figures named and print their verdicts; with `record`, put them into REPRODUCTION.md, too."""
    from geodp.figures.figure_file import figure_paths, find_figure
    from geodp.figures.make import make_figure
    from geodp.figures.reproduction import record_figures

    made = []
    files = [find_figure(name) for name in names]
    with show_progress(quiet="--quiet" in flags) as tell:
        for number, file in enumerate(files):
            on_progress = partial(_tell_figure, tell, number, len(files))
            made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh, on_progress=on_progress))
            say(made[-1].text() + "\n")
    if record:
        record_figures(_page(out), made, [path.stem for path in figure_paths()])
        say(f"wrote {_page(out)}")
    return made


def _tell_figure(tell: Callable[[str, float], None], number: int, figures: int, what: str, share: float) -> None:
    tell(what, (number + share) / figures)


@dataclass(frozen=True)
class AllFigures:
    """All figures, as far as they could be made."""

    made: list[MadeFigure]
    failed: dict[str, str]
    """Why others could not be made, by id."""


def make_all(out: Path | None, *, workers: int | None, fresh: bool, say: Say, complain: Say) -> AllFigures:
    """Make every figure and write REPRODUCTION.md; a figure that fails does not stop the others."""
    from geodp.figures.figure_file import figure_paths, load_figure
    from geodp.figures.make import make_figure
    from geodp.figures.reproduction import write_reproduction

    made: list[MadeFigure] = []
    failed: list[tuple[FigureFile, str]] = []
    order, broken = [], {}
    paths = figure_paths()
    with show_progress(quiet="--quiet" in flags) as tell:
        for number, path in enumerate(paths):
            try:
                file = load_figure(path)
            except ScenarioError as error:
                broken[path.stem] = str(error)
                complain(str(error))
                continue
            order.append(file.id)
            try:
                on_progress = partial(_tell_figure, tell, number, len(paths))
                made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh, on_progress=on_progress))
                say(made[-1].text() + "\n")
            except Exception as error:  # noqa: BLE001 - one broken figure must not stop the others
                why = str(error) if isinstance(error, GeodpError) else f"{type(error).__name__}: {error}"
                failed.append((file, why))
                complain(f"FAILED {file.id}: {why}")
    write_reproduction(_page(out), made, failed, order)
    say(f"wrote {_page(out)}")
    return AllFigures(made, broken | {file.id: why for file, why in failed})


def _page(out: Path | None) -> Path:
    """Return where the page goes: beside the figures, or to the top of the repository whose figures they are."""
    from geodp.figures.figure_file import find_repository

    return (out or find_repository() or FIGURES) / PAGE
