"""Figures about publications of counts, made from one table of visits: a shape of a paper, or real check-ins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import UsageError
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.privacy.keyed_choice import user_words
from geodp.privacy.noise import SimulatedNoise
from geodp.registry import plugin
from geodp.run_folder.visit_scores import absolute_errors, relative_errors, top_venues
from geodp.tables.visits.generated_visits import DPSENSE_SHAPES, GS_SHAPES, ModelledVisits, model_visits
from geodp.tables.visits.histories import Integers, Venues
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

if TYPE_CHECKING:
    import pandas as pd


Visits = VisitSets | ModelledVisits


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

    def table(self) -> Visits:
        """Return the table; a shape is drawn from a fixed seed, as the sums of its rows and columns."""
        if self.path is not None:
            return read_visit_sets(self.path, self.user_column, self.venue_column)
        known = GS_SHAPES | {f"dpsense_{name}": shape for name, shape in DPSENSE_SHAPES.items()}
        if self.shape not in known:
            raise UsageError(f"no shape called '{self.shape}'. There are: {', '.join(known)}.")
        return model_visits(known[self.shape], np.random.default_rng(0))

    def order(self) -> Integers | None:
        """Return the venues of a real file in an order in which neighbours are near each other, if places are known."""
        import pandas as pd

        if self.path is None or self.places_path is None:
            return None
        used = np.unique(pd.read_parquet(self.path, columns=[self.venue_column])[self.venue_column].to_numpy())
        places = pd.read_csv(self.places_path).drop_duplicates(self.venue_column).set_index(self.venue_column)
        placed = places.reindex(used)
        if placed[["lon", "lat"]].isna().any(axis=None):
            raise UsageError(f"{self.places_path}: some venues of {self.path} have no place")
        return Venues(used, placed["lon"].to_numpy(float), placed["lat"].to_numpy(float)).order()


def read_visit_sets(path: str, user_column: str, venue_column: str) -> VisitSets:
    """Return who visited which venues according to a Parquet file; its venues are taken as public."""
    import pandas as pd

    frame = pd.read_parquet(path, columns=[user_column, venue_column])
    users, who = np.unique(frame[user_column].to_numpy(), return_inverse=True)
    venues, where = np.unique(frame[venue_column].to_numpy(), return_inverse=True)
    return visit_sets(user_words(users), who.astype(np.int64), where.astype(np.int64), venues.size)


class CountErrors(CountFigure):
    """Errors of publications of counts against ε; every line is a publication, all with the same noise seeds.

    `cap: longest` in a line stands for the longest row of the table, the Δ of the paper: the same number for all
    lines, taken as public.
    """

    kind: ClassVar[str] = "count_errors"

    epsilons: tuple[float, ...] = (0.1, 0.693, 1.099)
    """Values of ε (ln 2 is 0.693, ln 3 is 1.099)."""
    y: tuple[str, ...] = ("mae", "mre_percent")
    """Quantities: `mae` (users), `mre_percent` (of the count, or of 0.1 % of the users), `topk_mae` (users, at the 50
    venues with the most)."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"LPA": {"kind": "laplace_counts", "cap": 20}})
    """Name of a line → the publication, with its fields."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Publish with every line at every ε."""
        table, order = self.table(), self.order()
        rows = [
            row
            for name, fields in self.lines.items()
            for epsilon in self.epsilons
            for row in self._rows(table, order, name, fields, epsilon)
        ]
        frame = points_table(rows)
        return frame[frame["y_name"].isin(self.y)]

    def _rows(
        self,
        table: Visits,
        order: Integers | None,
        name: str,
        fields: dict[str, Any],
        epsilon: float,
    ) -> list[tuple[Any, ...]]:

        settings = {key: value for key, value in fields.items() if key != "kind"}
        if settings.get("cap") == "longest":
            settings["cap"] = int(table.size.max())
        if fields["kind"] != "zeros":
            # The papers state no accuracy and pay for none: all of ε is for the counts.
            settings = {"accuracy_share": 0.0, **settings, "epsilon": epsilon}
        method = plugin(fields["kind"], "publication", **settings)
        true, rows = table.counts(), []
        top = top_venues(true)
        for repeat in range(self.repeats):
            noise = SimulatedNoise(np.random.default_rng([1, repeat]))
            published = method.release(table, noise, order).count
            errors = absolute_errors(published, true)
            mre = 100 * float(relative_errors(published, true, table.users).mean())
            rows += [
                ("mae", name, epsilon, repeat, float(errors.mean())),
                ("mre_percent", name, epsilon, repeat, mre),
                ("topk_mae", name, epsilon, repeat, float(errors[top].mean())),
            ]
        return rows


SCALES = ("literal", "corrected")


class GroupWidths(CountFigure):
    """L1 error of groups against their width: expected by tuning (with either scale of the sample), and real.

    Quantities: `l1` over widths at one ε; or, with `loss: true`, `loss_percent` over `epsilons`: how much larger the
    real error at the chosen width is than at the best one.
    """

    kind: ClassVar[str] = "group_widths"

    epsilons: tuple[float, ...] = Field(default=(0.693,), min_length=1)
    """Values of ε; `l1` uses the first."""
    loss: bool = False
    """Return the loss of the chosen width instead of the curves."""
    most_widths: int = Field(default=28, ge=2)
    """Widths at which the real error is measured."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Order the venues by the noisy sample, then measure every width."""
        table, rows = self.table(), []
        for epsilon in self.epsilons if self.loss else self.epsilons[:1]:
            for repeat in range(self.repeats):
                rows += self._repeat(table, epsilon, repeat)
        return points_table(rows)

    def _repeat(self, table: Visits, epsilon: float, repeat: int) -> list[tuple[Any, ...]]:
        from geodp.curator.grouping import best_width, estimate_errors
        from geodp.curator.publications.grouping_smoothing import GroupingSmoothing

        cap = int(table.size.max())
        tried = np.unique(np.rint(np.geomspace(1, table.venues, self.most_widths)).astype(np.int64))
        method = {scale: GroupingSmoothing(epsilon=epsilon, cap=cap, scale=scale, accuracy_share=0) for scale in SCALES}
        groups = method["literal"].budgets().groups
        noise = SimulatedNoise(np.random.default_rng([1, repeat]))
        sample = method["literal"].sample(table, cap, b"all", noise)
        order = np.argsort(-sample, kind="stable")
        factors = {scale: method[scale].factor(table, cap, noise) for scale in SCALES}
        counts = table.counts()

        def real(width: int) -> float:
            published = method["literal"].smooth(
                counts, order, width, cap, SimulatedNoise(np.random.default_rng([2, repeat]))
            )
            return float(np.abs(published - counts).mean())

        curve = {int(width): real(int(width)) for width in tried}
        if not self.loss:
            rows = [("l1", "real", width, repeat, value) for width, value in curve.items()]
            for scale, factor in factors.items():
                expected = estimate_errors(factor * sample[order], tried, cap / groups) / counts.size
                rows += [
                    ("l1", f"expected, {scale} scale", int(w), repeat, float(v))
                    for w, v in zip(tried, expected, strict=True)
                ]
            return rows
        best = min(curve.values())
        chosen = {scale: best_width(factor * sample[order], cap / groups) for scale, factor in factors.items()}
        return [
            ("loss_percent", f"{scale} scale", epsilon, repeat, max(100 * (real(width) / best - 1), 0.0))
            for scale, width in chosen.items()
        ] + [("chosen_width", f"{scale} scale", epsilon, repeat, float(width)) for scale, width in chosen.items()]

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        if self.loss:
            return tuple(f"{scale} scale" for scale in SCALES)
        return ("real", *(f"expected, {scale} scale" for scale in SCALES))


_QUANTITIES = ("error", "quality", "their mean")


class ThresholdQuality(CountFigure):
    """Error and quality of every threshold θ, both relative to the mean count of the table; and their mean.

    Lines carry the name of their ε. Counts are not raised to 0, which would break the symmetry at large thresholds.
    """

    kind: ClassVar[str] = "threshold_quality"

    epsilons: dict[str, float] = Field(default_factory=lambda: {"ln 1.5": 0.405, "ln 3": 1.099})
    """Values of ε, by the name that lines carry."""
    most_thresholds: int = Field(default=14, ge=2)
    """Thresholds measured, in geometric steps from 1 to the longest row."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Measure every threshold at every ε."""
        table = self.table()
        tried = np.unique(np.rint(np.geomspace(1, int(table.size.max()), self.most_thresholds)).astype(np.int64))
        rows = [row for name, epsilon in self.epsilons.items() for row in self._rows(table, tried, name, 0.9 * epsilon)]
        return points_table(rows)

    def _rows(self, table: Visits, tried: Any, name: str, epsilon: float) -> list[tuple[Any, ...]]:

        from geodp.curator.grouping import normalise_rows, quality

        counts = table.counts()
        average = float(counts.mean())
        worths = quality(table.sizes_up_to(int(tried.max())), tried, table.venues, 1 / epsilon)
        rows = []
        for theta, worth in zip(tried, worths, strict=True):
            scaled = table.sum_pieces(partial(normalise_rows, theta=int(theta), step=2.0**-20))
            for repeat in range(self.repeats):
                noisy = scaled + np.random.default_rng([1, repeat]).laplace(0, theta / epsilon, counts.size)
                error = float(np.abs(noisy - counts).mean())
                values = (error, worth, (error + worth) / 2)
                rows += [
                    ("relative", f"{what} ({name})", float(theta), repeat, float(value) / average)
                    for what, value in zip(_QUANTITIES, values, strict=True)
                ]
        return rows

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(f"{what} ({name})" for name in self.epsilons for what in _QUANTITIES)
