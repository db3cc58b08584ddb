"""The commented scenario that `geodp new` writes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.scenario.editor_schema import FILE_NAME, HEADER, schema_text
from geodp.storage.files import write_text_whole
from geodp.storage.names import require_name


def write_template(name: str) -> Path:
    """Write NAME.yaml into the working folder, unless it exists, and beside it the schema that its header names.

    The schema is a file of its own beside the scenario: an editor finds it with no network and no plug-in, wherever the
    folder is taken, and it is the one of the version that wrote it. A path into the installed package would be that of
    one machine. One that is there already is put up to date.
    """
    stem = Path(name).stem if name.endswith((".yaml", ".yml")) else Path(name).name
    try:
        require_name(stem, "a scenario's name")
    except ValueError as error:
        raise UsageError(str(error)) from None
    path = Path(name).with_name(f"{stem}.yaml")
    text = resources.files("geodp").joinpath("templates/scenario.yaml").read_text(encoding="utf-8")
    text = f"{HEADER}{FILE_NAME}\n{text.replace('name: my_scenario', f'name: {stem}')}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        _write_schema(path.with_name(FILE_NAME))
    except FileExistsError:
        raise OutputError(f"{path} exists already; it was left as it is. Choose another name.") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def _write_schema(path: Path) -> None:
    """Write the schema, unless something else is called so."""
    if path.exists() and not _is_ours(path):
        return
    write_text_whole(path, schema_text() + "\n")


def _is_ours(path: Path) -> bool:
    try:
        return '"title": "Scenario"' in path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
