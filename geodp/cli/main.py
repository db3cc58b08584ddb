"""The command line: the app with its commands, what errors look like, and exit codes."""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from geodp.cli import (
    attack,
    audit_command,
    datasets,
    figures,
    fit,
    plugin_list,
    publish,
    runs,
    scenarios,
    shipped,
    sweeps,
)
from geodp.cli.console import ANYWHERE, JSON, add_json_file, flags, print_json, warn
from geodp.errors import BrokenPlugin, GeodpError, OldName, ScenarioError

app = typer.Typer(
    name="geodp",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "new": scenarios.new,
    "check": scenarios.check,
    "check-data": publish.check_data,
    "list": plugin_list.list_,
    "run": runs.run,
    "map": runs.map_,
    "metrics": runs.metrics,
    "compare": runs.compare,
    "sweep": sweeps.sweep,
    "advise": sweeps.advise,
    "figures": figures.figures,
    "audit": audit_command.audit,
    "attack": attack.attack,
    "fit": fit.fit,
    "schema": scenarios.schema,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(shipped.app, name="scenarios", help="Scenarios that come with geodp: list them, copy one.")
app.add_typer(publish.app, name="publish", help="Publish a file of real data with a guarantee and a ledger.")
app.add_typer(datasets.app, name="datasets", help="Known data sets: list, make up, convert, describe.")

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    flags.clear()
    flags.update(ANYWHERE.intersection(words))
    with warnings.catch_warnings():
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            warn(str(message)) if issubclass(category, (OldName, BrokenPlugin)) else otherwise(
                message, category, *where, **more
            )

        warnings.showwarning = show
        warnings.simplefilter("default", OldName)
        warnings.simplefilter("default", BrokenPlugin)
        code = _exit_code(add_json_file([word for word in words if word not in ANYWHERE]))
    sys.exit(code)


def _exit_code(words: list[str]) -> int:  # noqa: PLR0911 - a code for every way to end
    wrong_usage = typer.BadParameter.__mro__[2]  # ClickException: newer typers carry their own copy of click

    try:
        code = app(words, prog_name="geodp", standalone_mode=False) or 0
        if code == INTERRUPTED:  # some typers turn Ctrl-C into this code by themselves
            raise KeyboardInterrupt  # noqa: TRY301
        return code  # noqa: TRY300
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; nothing was left half-written", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return 1
    except GeodpError as error:
        _print_problem(str(error), error)
        if "--debug" in flags:
            traceback.print_exc()
        else:
            typer.echo(str(error), err=True)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort before the user
        if isinstance(error, wrong_usage):
            _print_problem(error.format_message(), error)  # type: ignore[attr-defined]
            error.show()  # type: ignore[attr-defined]
            return int(error.exit_code)  # type: ignore[attr-defined]
        if "--debug" in flags:
            traceback.print_exc()
        elif isinstance(error, MemoryError):
            typer.echo(f"not enough memory ({str(error) or 'none is left'}): take fewer people or tasks", err=True)
        elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            typer.echo(f"{str(error.filename)[:80]}…: the name is too long for a file", err=True)
            return 2
        else:
            from geodp.registry import locate_fault

            message = locate_fault(error) or f"unexpected {type(error).__name__}: {error}"
            typer.echo(f"{message}\nRun again with --debug for details.", err=True)
        return 1


def _print_problem(text: str, error: Exception) -> None:
    """Print what is wrong as JSON, where JSON was asked for and nothing else was printed."""
    if JSON in flags:
        problems = error.problems if isinstance(error, ScenarioError) else []
        listed = [{"path": path, "message": message} for path, message in problems]
        print_json({"ok": False, "error": text, "problems": listed})


EXAMPLES = """geodp simulates location privacy and spatial crowdsourcing. Five things to try:

  geodp run quickstart          run a scenario: 10,000 workers, noisy counts, tasks, numbers and a map
  geodp scenarios list          see what else comes with geodp; copy one with: geodp scenarios copy NAME
  geodp new downtown            write a commented scenario of your own, then: geodp run downtown.yaml
  geodp list mechanism          read what each mechanism promises, and its options
  geodp audit contour           try to refute what one of them promises

geodp --help lists all commands, geodp COMMAND --help explains one."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from geodp._version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Simulate location privacy and spatial crowdsourcing."""
    if context.invoked_subcommand is None:
        typer.echo(EXAMPLES)


if __name__ == "__main__":
    main()
