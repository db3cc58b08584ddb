"""A publication of a finished run, read back: what is public, and the truth where it is not locked."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import DataError, UsageError
from geodp.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.publications import Publication


@dataclass(frozen=True, eq=False)
class PublishedRun:
    """One publication of a run."""

    index: int
    """Place in the scenario's `publish`."""
    kind: str
    plugin: Publication
    """The publication with its settings."""
    guarantee: Guarantee
    """What it promises."""
    per_person: Guarantee
    """What it costs each person."""
    topics: frozenset[str]
    """What was released: visits, counts, trajectories."""
    facts: dict[str, Any]
    """What a reader of the table must know (public)."""
    path: Path
    """The released table."""
    truth_path: Path | None
    """Folder of the private tables; None when the truth is locked."""

    @cached_property
    def released(self) -> pd.DataFrame:
        """The table that anybody may have."""
        return _table(self.path)

    def truth(self, name: str) -> pd.DataFrame:
        """Return a private table by name (truth)."""
        if self.truth_path is None:
            raise UsageError(
                f"a public map holds released data only, but something reads the private table '{name}' of "
                f"publication {self.index} ({self.kind})"
            )
        return _table(self.truth_path / f"{name}.parquet")

    @property
    def truth_tables(self) -> list[str]:
        """Names of the private tables there are (truth)."""
        return [] if self.truth_path is None else sorted(path.stem for path in self.truth_path.glob("*.parquet"))

    def locked(self) -> PublishedRun:
        """Return the publication without its truth."""
        return replace(self, truth_path=None)


def read_publications(folder: Path, items: tuple[Publication, ...]) -> list[PublishedRun]:
    """Return the publications of a run folder, in the order of its scenario."""
    found = []
    for index, item in enumerate(items):
        name = f"{index}-{item.kind}"
        path = folder / "releases" / "publications" / f"{name}.json"
        if not path.is_file():
            continue  # a run made before publications were part of one
        facts = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            PublishedRun(
                index=index,
                kind=item.kind,
                plugin=item,
                guarantee=Guarantee.from_dict(facts["guarantee"]),
                per_person=Guarantee.from_dict(facts["per_person"]),
                topics=frozenset(facts.get("releases", item.releases)),
                facts=facts["facts"],
                path=path.with_suffix(".parquet"),
                truth_path=folder / "truth" / "publications" / name,
            )
        )
    return found


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise DataError(f"{path}: the run folder has no such table")
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
