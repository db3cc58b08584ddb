"""What is asked of a publication, checked before any file of data is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geodp.errors import OutputError, UsageError
from geodp.publish.outputs import require_suffix

NOTHING_DONE = "Nothing was released, nothing was charged."


@dataclass(frozen=True)
class Request:
    """What every kind of publication is asked; kinds add options of their own."""

    source: Path
    """The private data, csv or Parquet."""
    out: Path
    """The file to publish; its suffix tells the format."""
    epsilon: float | None = None
    mode: str = "simulate"
    """`simulate` (stamped not releasable) or `release`."""
    seed: int | None = None
    """Seed of simulated noise; a release takes none."""
    region: str | None = None
    """`W,S,E,N` in degrees, or a file of polygons."""
    cap: int | None = None
    """Public cap on the rows of one user; what is beyond it is not used."""
    ledger: Path | None = None
    """Ledger shared with other publications; default one beside the output."""
    budget: float | None = None
    """Budget per person of a new ledger."""
    map: Path | None = None
    force: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the mechanism."""

    @property
    def releasing(self) -> bool:
        """Whether the output is meant to leave the house."""
        return self.mode == "release"

    @property
    def guarantee_path(self) -> Path:
        """Where the guarantee is written."""
        return self.out.with_name(self.out.name + ".guarantee.json")

    @property
    def ledger_path(self) -> Path:
        """Where charges are written."""
        return self.ledger if self.ledger is not None else self.out.with_name(self.out.name + ".ledger.json")

    def check(self) -> None:
        """Refuse what makes no sense or would overwrite something."""
        require_suffix(self.out)
        require_positive("--epsilon", self.epsilon)
        require_positive("--budget", self.budget)
        if self.cap is not None and self.cap < 1:
            raise UsageError(f"--cap must be a whole number of at least 1, got {self.cap}. {NOTHING_DONE}")
        self._require_distinct_files()
        written = [self.out, self.guarantee_path, *([self.map] if self.map is not None else [])]
        for path in written:
            if path.is_dir():
                raise OutputError(f"{path} is a folder: name a file. {NOTHING_DONE}")
            if path.exists() and not self.force:
                raise OutputError(f"{path} exists already. Use --force to replace it, or another --out. {NOTHING_DONE}")

    def _require_distinct_files(self) -> None:
        named = {
            "the input": self.source,
            "the output": self.out,
            "the guarantee": self.guarantee_path,
            "the ledger": self.ledger_path,
            **({"the map": self.map} if self.map is not None else {}),
        }
        seen: dict[Path, str] = {}
        for what, path in named.items():
            other = seen.setdefault(path.resolve(), what)
            if other != what:
                raise UsageError(f"{path} cannot be both {other} and {what}. {NOTHING_DONE}")


def require_positive(option: str, value: float | None) -> None:
    """Refuse anything but a finite number greater than 0 (or nothing)."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} must be a finite number greater than 0, got {value:g}. {NOTHING_DONE}")
