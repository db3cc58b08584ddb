"""Pictures of maps, taken by a browser where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from geodp.errors import OutputError, UsageError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Browsers that can take a picture without a window, in the order in which they are looked for."""
VARIABLE = "GEODP_BROWSER"
SIZE = (1400, 900)
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--virtual-time-budget=15000",
)
_PATIENCE_S = 120


def find_browser() -> str | None:
    """Return a browser that can take pictures: the one that GEODP_BROWSER names, or an installed one (None: none)."""
    named = os.environ.get(VARIABLE)
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def require_browser() -> str:
    """Return a browser, or say that there is none and what to do.

    Raises
    ------
    UsageError
        If no browser is found.
    """
    found = find_browser()
    if found is None:
        named = os.environ.get(VARIABLE)
        why = f"{VARIABLE} names {named}, which is no program" if named else "none was found"
        raise UsageError(
            f"a picture of a map is taken by a browser, and {why}. Install Chromium (or Chrome, or Edge), name one in "
            f"{VARIABLE}, or write the page instead: --out map.html."
        )
    return found


def take_picture(page: str, *, size: tuple[int, int] = SIZE) -> bytes:
    """Return a picture (PNG) of a page, as a browser without a window shows it.

    Parameters
    ----------
    page
        HTML of the page.
    size
        Width and height of the window in pixels.

    Raises
    ------
    UsageError
        If no browser is found.
    OutputError
        If the browser takes no picture.
    """
    browser = require_browser()
    with tempfile.TemporaryDirectory(prefix="geodp-") as name:
        folder = Path(name)
        (folder / "page.html").write_text(page, encoding="utf-8")
        shot = folder / "shot.png"
        flags = [*_FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={folder / 'profile'}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # browsers refuse to run as root within their sandbox
        command = [browser, *flags, f"--screenshot={shot}", (folder / "page.html").as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OutputError(f"{browser} took no picture of the map ({error})") from error
        if not shot.is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise OutputError(f"{browser} took no picture of the map ({' '.join(last) or done.returncode})")
        return shot.read_bytes()
