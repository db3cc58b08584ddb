"""The one build step that pyproject.toml cannot state: `scenarios/` goes into the package as `geodp/shipped/`.

The repository keeps scenarios, sweeps and figure files in one place, where people look for them. An editable install
reads them from there; a wheel (also one that is made from the sdist, see MANIFEST.in) holds a copy.
"""

from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path("scenarios")
ENDINGS = (".yaml", ".py", ".csv", ".geojson", ".gpkg", ".parquet")
"""Scenarios, sweeps and figures, and what they name: plug-ins, streets and tables."""


class BuildWithScenarios(build_py):
    """Copies the scenarios beside the modules, unless these are read where they are."""

    def run(self) -> None:
        """Copy modules, package data, and scenarios."""
        super().run()
        for source, target in self._scenarios():
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(source), str(target), preserve_mode=False)

    def get_outputs(self, *args: Any, **more: Any) -> list[str]:
        """List what is installed."""
        return [*super().get_outputs(*args, **more), *(str(target) for _, target in self._scenarios())]

    def _scenarios(self) -> list[tuple[Path, Path]]:
        if getattr(self, "editable_mode", False):
            return []
        folder = Path(self.build_lib) / "geodp" / "shipped"
        found = sorted(path for path in SOURCE.rglob("*") if path.is_file() and path.suffix in ENDINGS)
        return [(path, folder / path.relative_to(SOURCE)) for path in found]


setup(cmdclass={"build_py": BuildWithScenarios})
