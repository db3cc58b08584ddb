"""A publication of a finished run, read back: what is public, and the truth where it is not locked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import read_json

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.publications import Publication
    from geodp.run_folder.folder import RunFolder


@dataclass(frozen=True, eq=False)
class PublishedRun:
    """One publication of a run."""

    index: int
    """Place in the scenario's `publish`."""
    kind: str
    name: str
    """What its files are called: its place and its kind (as it was called when the run was made)."""
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
    run: RunFolder
    """The run that it belongs to."""
    truth_locked: bool = False
    """Whether the private tables are out of reach."""

    @cached_property
    def released(self) -> pd.DataFrame:
        """The table that anybody may have."""
        return self.run.table(f"releases/publications/{self.name}.parquet")

    def truth(self, name: str) -> pd.DataFrame:
        """Return a private table by name (truth)."""
        if self.truth_locked:
            raise UsageError(
                f"a public map holds released data only, but something reads the private table '{name}' of "
                f"publication {self.index} ({self.kind})"
            )
        return self.run.table(f"truth/publications/{self.name}/{name}.parquet")

    @property
    def truth_tables(self) -> list[str]:
        """Names of the private tables there are (truth)."""
        if self.truth_locked:
            return []
        return [
            Path(name).stem for name in self.run.names(f"truth/publications/{self.name}") if name.endswith(".parquet")
        ]

    def locked(self) -> PublishedRun:
        """Return the publication without its truth."""
        return replace(self, truth_locked=True)


def read_publications(run: RunFolder, files: list[Path]) -> list[PublishedRun]:
    """Return the publications of a run, in the order of its scenario, from the JSON files of their statements."""
    found, stated = [], {path.stem.partition("-")[0]: path for path in files}
    for index, item in enumerate(run.scenario.publish):
        path = stated.get(str(index))
        if path is None:
            continue  # a run made before publications were part of one
        facts = read_json(path)
        found.append(
            PublishedRun(
                index=index,
                kind=item.kind,
                name=path.stem,
                plugin=item,
                guarantee=Guarantee.from_dict(facts["guarantee"]),
                per_person=Guarantee.from_dict(facts["per_person"]),
                topics=frozenset(facts.get("releases", item.releases)),
                facts=facts["facts"],
                run=run,
            )
        )
    return found
