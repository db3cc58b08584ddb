"""A run folder whose truth is locked: what layers are given when a map holds released data only."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.errors import UsageError
from geodp.run_folder.folder import RunFolder

if TYPE_CHECKING:
    from geodp.public.release import Cells, Points
    from geodp.run_folder.published import HistoryReport, PublishedRun

_PUBLIC_FILES = frozenset({"scenario.yaml", "manifest.json", "ledger.parquet", "releases/venues.parquet"})


class ReleasedOnly(RunFolder):
    """The scenario, the releases and the public ledger; everything else raises.

    So a layer that calls itself public and reads the truth stops the map instead of leaking into it.
    """

    @cached_property
    def _whole(self) -> RunFolder:
        return RunFolder(self.path, trust_plugins=self.trust_plugins)

    @cached_property
    def releases(self) -> list[Cells | Points]:
        """The releases whose guarantee holds; exact counts are the truth under another name."""
        return [release for release in self._whole.releases if release.guarantee.holds]

    @cached_property
    def publications(self) -> list[PublishedRun]:
        """The publications whose guarantee holds and bounds what a person pays, without their truth."""
        return [item.without_truth() for item in self._whole.publications if item.per_person.holds]

    @cached_property
    def history_reports(self) -> list[HistoryReport]:
        """What phones reported under a promise that holds."""
        return [report for report in self._whole.history_reports if report.guarantee.holds]

    @property
    def withheld(self) -> int:
        """How many releases promise nothing, and are therefore not shown."""
        made, shown = (
            len(run.releases) + len(run.publications) + len(run.history_reports) for run in (self._whole, self)
        )
        return made - shown

    @property
    def arms(self) -> dict[str, RunFolder]:
        """The arms of a comparison, locked too."""
        return {name: ReleasedOnly(arm.path, trust_plugins=self.trust_plugins) for name, arm in super().arms.items()}

    def file(self, name: str) -> Path:
        """Return the path of a public file, and refuse any other."""
        if name not in _PUBLIC_FILES and not name.startswith("estimates/"):
            raise UsageError(
                f"a public map holds released data only, but a layer that calls itself public reads {name}. "
                "Set `public = False` in that layer, or draw it from run.releases."
            )
        return super().file(name)
