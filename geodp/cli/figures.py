"""What `geodp figures` shows and does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from geodp.errors import GeodpError, ScenarioError
from geodp.figures.figure_file import FigureFile, figure_paths, figures_folder, find_figure, load_figure
from geodp.figures.make import MadeFigure, make_figure, needs_text

FIGURES = Path("runs") / "figures"
PAGE = "REPRODUCTION.md"


def list_text() -> str:
    """List every figure: id, title, and whether its data are there."""
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
    return "\n".join(
        [*lines, "", "Make one:  geodp figures ID      Make all, and REPRODUCTION.md:  geodp figures --all"]
    )


def make_some(
    names: Sequence[str],
    out: Path | None,
    *,
    workers: int | None,
    fresh: bool,
    say: Callable[[str], None],
    record: bool = False,
) -> None:
    """Make the figures named and print their verdicts; with `record`, put them into REPRODUCTION.md, too."""
    made = []
    for file in [find_figure(name) for name in names]:
        made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh))
        say(made[-1].text() + "\n")
    if record:
        from geodp.figures.reproduction import record_figures

        page = (out or figures_folder().parent.parent) / PAGE
        record_figures(page, made, [path.stem for path in figure_paths()])
        say(f"wrote {page}")


def make_all(
    out: Path | None, *, workers: int | None, fresh: bool, say: Callable[[str], None], complain: Callable[[str], None]
) -> bool:
    """Make every figure and write REPRODUCTION.md; a figure that fails does not stop the others."""
    from geodp.figures.reproduction import write_reproduction

    made: list[MadeFigure] = []
    failed: list[tuple[FigureFile, str]] = []
    broken: list[str] = []
    order = []
    for path in figure_paths():
        try:
            file = load_figure(path)
        except ScenarioError as error:
            broken.append(str(error))
            complain(str(error))
            continue
        order.append(file.id)
        try:
            made.append(make_figure(file, out or FIGURES, workers=workers, fresh=fresh))
        except GeodpError as error:
            failed.append((file, str(error)))
            complain(f"FAILED {file.id}: {error}")
        except Exception as error:  # noqa: BLE001 - one broken figure must not stop the others
            failed.append((file, f"{type(error).__name__}: {error}"))
            complain(f"FAILED {file.id}: {type(error).__name__}: {error}")
        else:
            say(made[-1].text() + "\n")
    page = (out or figures_folder().parent.parent) / PAGE
    write_reproduction(page, made, failed, order)
    say(f"wrote {page}")
    return not failed and not broken
