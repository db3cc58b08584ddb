"""Install geodp with the lowest and with the newest allowed dependencies, and run the quickstart in each.

    python -m tests.installs                # the lowest on Python 3.11, the newest on 3.12 and 3.13
    python -m tests.installs lowest-3.11    # one of them

An interpreter that is not on this machine is left out, and said so. Needs a package registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = {"lowest-3.11": "3.11", "newest-3.12": "3.12", "newest-3.13": "3.13"}


def main(names: list[str]) -> int:
    """Try the named installs, all by default; return 1 when one of them failed."""
    unknown = set(names) - set(CASES)
    if unknown:
        print(f"no install called {', '.join(sorted(unknown))}: choose from {', '.join(CASES)}", file=sys.stderr)
        return 2
    failed = False
    for name in names or CASES:
        interpreter = find_interpreter(CASES[name])
        if interpreter is None:
            print(f"{name}: left out, there is no Python {CASES[name]} here")
            continue
        problem = try_install(interpreter, lowest=name.startswith("lowest"))
        print(f"{name}: {problem or 'ok'}")
        failed |= problem is not None
    return int(failed)


def lowest_versions() -> list[str]:
    """Return every dependency of the core at its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [line.replace(">=", "==").split(",")[0] for line in project["dependencies"]]


def find_interpreter(version: str) -> str | None:
    """Return an interpreter of that version: on the path, or among those of pyenv."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(installed.glob(f"{version}.*/bin/python3"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def try_install(interpreter: str, *, lowest: bool) -> str | None:
    """Install into a new environment and run the quickstart; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        run_folder, python = Path(folder, "run"), str(Path(folder, "env", "bin", "python"))
        steps = [
            [interpreter, "-m", "venv", str(Path(folder, "env"))],
            [python, "-m", "pip", "install", "-q", str(ROOT), *(lowest_versions() if lowest else [])],
            [python, "-m", "geodp", "run", str(ROOT / "scenarios" / "quickstart.yaml"), "--out", str(run_folder)],
        ]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode:
                return f"`{' '.join(step[1:4])} …` failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        return None if (run_folder / "map.html").is_file() else "the run left no map"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
