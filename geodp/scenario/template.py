"""The commented scenario that `geodp new` writes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.storage.names import require_name


def write_template(name: str) -> Path:
    """Write NAME.yaml into the working folder, unless it exists."""
    stem = Path(name).stem if name.endswith((".yaml", ".yml")) else Path(name).name
    try:
        require_name(stem, "a scenario's name")
    except ValueError as error:
        raise UsageError(str(error)) from None
    path = Path(name).with_name(f"{stem}.yaml")
    text = resources.files("geodp").joinpath("templates/scenario.yaml").read_text(encoding="utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text.replace("name: my_scenario", f"name: {stem}"))
    except FileExistsError:
        raise OutputError(f"{path} exists already; it was left as it is. Choose another name.") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return path
