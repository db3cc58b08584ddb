"""Builds the site: `python -m docs` writes `build/docs/index.html`, with no network."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.site import ROOT, SiteError, build_site


def main() -> int:
    """Build the site as the command line asks; exit codes: 0 built, 1 not built."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the documentation, with no network.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="folder to write [build/docs]")
    parser.add_argument("--quick", action="store_true", help="leave the tutorials as they are written: do not run them")
    asked = parser.parse_args()
    try:
        index = build_site(asked.out, run_tutorials=not asked.quick)
    except SiteError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"open {index}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
