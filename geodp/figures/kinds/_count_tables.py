"""The tables of visits that figures about counts are made from: a shape of a paper, or a file of real check-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from geodp.errors import UsageError
from geodp.figures.kinds import FigureKind

if TYPE_CHECKING:
    from geodp.tables.visits.generated_visits import ModelledVisits
    from geodp.tables.visits.histories import Integers
    from geodp.tables.visits.visit_sets import VisitSets


class CountFigure(FigureKind):
    """Figures about counts of one table of visits."""

    shape: str = "trajectory"
    """Data set of a paper whose shape (rows, columns, longest row, mean count) a table is drawn with: checkin,
    document, netflix, trajectory; as DPSense's table has it: dpsense_netflix, …"""
    path: str | None = None
    """A Parquet file of real check-ins instead."""
    user_column: str = "user"
    """Its column of users."""
    venue_column: str = "venue"
    """Its column of venues."""
    places_path: str | None = None
    """Where its venues are (csv: `venue_column`, lon, lat), for methods that group by neighbourhood."""
    repeats: int = Field(default=3, ge=1)
    """How often noise is drawn."""

    def table(self) -> VisitSets | ModelledVisits:
        """Return the table; a shape is drawn from a fixed seed, as the sums of its rows and columns."""
        from geodp.tables.visits.generated_visits import DPSENSE_SHAPES, GS_SHAPES, modelled_visits

        if self.path is not None:
            return self._real()
        known = GS_SHAPES | {f"dpsense_{name}": shape for name, shape in DPSENSE_SHAPES.items()}
        if self.shape not in known:
            raise UsageError(f"no shape called '{self.shape}'. There are: {', '.join(known)}.")
        return modelled_visits(known[self.shape], np.random.default_rng(0))

    def order(self) -> Integers | None:
        """Return the venues of a real file in an order in which neighbours are near each other, if places are known."""
        import pandas as pd

        from geodp.tables.visits.venue_list import VenueList

        if self.path is None or self.places_path is None:
            return None
        used = np.unique(pd.read_parquet(self.path, columns=[self.venue_column])[self.venue_column].to_numpy())
        places = pd.read_csv(self.places_path).drop_duplicates(self.venue_column).set_index(self.venue_column)
        placed = places.reindex(used)
        if placed[["lon", "lat"]].isna().any(axis=None):
            raise UsageError(f"{self.places_path}: some venues of {self.path} have no place")
        return VenueList(used, placed["lon"].to_numpy(float), placed["lat"].to_numpy(float)).order()

    def _real(self) -> VisitSets:
        import pandas as pd

        from geodp.privacy.keyed_choice import user_words
        from geodp.tables.visits.visit_sets import visit_sets

        frame = pd.read_parquet(str(self.path), columns=[self.user_column, self.venue_column])
        users, who = np.unique(frame[self.user_column].to_numpy(), return_inverse=True)
        venues, where = np.unique(frame[self.venue_column].to_numpy(), return_inverse=True)
        return visit_sets(user_words(users), who.astype(np.int64), where.astype(np.int64), venues.size)
