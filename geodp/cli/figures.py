"""The command `geodp figures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodp.cli.console import Plugins, Processes, say
from geodp.errors import GeodpError, ScenarioError, UsageError

if TYPE_CHECKING:
    from geodp.figures.figure_file import FigureFile
    from geodp.figures.make import MadeFigure

FIGURES = Path("runs") / "figures"
PAGE = "REPRODUCTION.md"
Say = Callable[[str], None]


def figures(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]", help="Figures to make, e.g. 13.7a, or figure files.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Make all, and write REPRODUCTION.md.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where figures and REPRODUCTION.md go [default: runs/figures, top of the repository]."
        ),
    ] = None,
    workers: Processes = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the named figures into REPRODUCTION.md.")] = False,
    _plugins: Plugins = None,
) -> None:
    """List the papers' figures, or make them: claim, our numbers, verdict, PNG and SVG; run again to resume."""
    if everything and names:
        raise UsageError("name figures, or use --all, not both")
    if everything:
        if not make_all(out, workers=workers, fresh=fresh, say=say, complain=lambda text: typer.echo(text, err=True)):
            raise typer.Exit(1)
    elif names:
        make_some(names, out, workers=workers, fresh=fresh, say=say, record=record)
    else:
        typer.echo(list_text())


def list_text() -> str:
    """List every figure: id, title, and whether its data are there."""
    from geodp.figures.figure_file import figure_paths, load_figure
    from geodp.figures.make import needs_text

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
            state = "ready" if panel.files() is not None else needs_text(panel.needs)
            lines.append(f"{'':<{width}}    {name}: {state}")
    lines += ["", "Make one:  geodp figures ID      Make all, and REPRODUCTION.md:  geodp figures --all"]
    return "\n".join(lines)


def make_some(
    names: Sequence[str], out: Path | None, *, workers: int | None, fresh: bool, say: Say, record: bool = False
) -> None:
    """Make the figures named and print their verdicts; with `record`, put them into REPRODUCTION.md, too."""
    from geodp.figures.figure_file import figure_paths, find_figure
    from geodp.figures.make import make_figure
    from geodp.figures.reproduction import record_figures

    made = []
    for file in [find_figure(name) for name in names]:
        made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh))
        say(made[-1].text() + "\n")
    if record:
        record_figures(_page(out), made, [path.stem for path in figure_paths()])
        say(f"wrote {_page(out)}")


def make_all(out: Path | None, *, workers: int | None, fresh: bool, say: Say, complain: Say) -> bool:
    """Make every figure and write REPRODUCTION.md; a figure that fails does not stop the others."""
    from geodp.figures.figure_file import figure_paths, load_figure
    from geodp.figures.make import make_figure
    from geodp.figures.reproduction import write_reproduction

    made: list[MadeFigure] = []
    failed: list[tuple[FigureFile, str]] = []
    order, broken = [], False
    for path in figure_paths():
        try:
            file = load_figure(path)
        except ScenarioError as error:
            broken = True
            complain(str(error))
            continue
        order.append(file.id)
        try:
            made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh))
            say(made[-1].text() + "\n")
        except Exception as error:  # noqa: BLE001 - one broken figure must not stop the others
            why = str(error) if isinstance(error, GeodpError) else f"{type(error).__name__}: {error}"
            failed.append((file, why))
            complain(f"FAILED {file.id}: {why}")
    write_reproduction(_page(out), made, failed, order)
    say(f"wrote {_page(out)}")
    return not failed and not broken


def _page(out: Path | None) -> Path:
    from geodp.figures.figure_file import figures_folder

    return (out or figures_folder().parent.parent) / PAGE
