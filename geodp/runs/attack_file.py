"""Attacks on a published file, whoever made it: traces, counts per cell and time, or synthetic trips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.attacks import Attack, AttackView, Guesses, SeenTrips
from geodp.attacks.findings import Findings
from geodp.attacks.membership import Membership
from geodp.attacks.slots import SlotTable
from geodp.attacks.synthetic_membership import SyntheticMembership
from geodp.attacks.traces import OTHERS, PAST, POINTS, TRACES, Background, Traces
from geodp.attacks.unicity import draw_points
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.public.guarantee import Guarantee
from geodp.public.release import GridCells
from geodp.runs.findings import (
    FoundScore,
    area_under_curve,
    average_repeats,
    score_identities,
    share_of_people,
    spread_of_area,
)
from geodp.tables.reader import open_table
from geodp.tables.usual_columns import candidates

if TYPE_CHECKING:
    import pandas as pd

_COUNT = ("count", "people", "number", "n")
_MEMBER = ("member", "in", "is_in", "inside")
_MARGIN = 0.001  # degrees around all places


def attack_file(path: Path, attack: Attack, *, truth: Path | None = None, seed: int = 0) -> list[FoundScore]:
    """Let an attack try a published file; without the truth it finds, and is not scored.

    Parameters
    ----------
    path
        Table with places (lon, lat): with a column of counts, a release of counts per cell and time; else traces or
        trips, by user or trajectory.
    attack
        The attack.
    truth
        Table of where people truly were (user, time, lon, lat); with a column `member` where some were not in.
    seed
        Of samples.

    Raises
    ------
    DataError, UsageError
        If a file cannot be read, or cannot give what the attack needs.
    """
    rng = np.random.default_rng([21, seed])
    frame = _read(path)
    known = None if truth is None else _read(truth)
    region = _region_of([frame] if known is None else [frame, known])
    counts = _column(frame, _COUNT)
    traces = None if known is None else _traces_of(known, region)
    game = _FileGame(path, attack, region, rng, truth=traces, members=_members(known))
    if counts is not None:
        return game.on_counts(frame, counts)
    return game.on_traces(_traces_of(frame, region))


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise DataError(f"{path}: there is no such run folder or file.")
    table = open_table(path, ("lon", "lat", "time_s"), optional=("time_s",))
    parts = [
        pd.DataFrame(
            {part: batch[part] for part in table.called if part != "name"}
            | {part: batch[part] for part in ("lon", "lat") if part in batch}
        )
        for batch in table.batches()
    ]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"lon": [], "lat": []})
    names = list(table.found)
    for wanted in ("trajectory", "user"):
        found = candidates(wanted, names)
        if found:
            frame[wanted] = _column_of(path, found[0], len(frame)).astype(str)
    for group in (_COUNT, _MEMBER):
        match = next((name for name in names if name.lower() in group), None)
        if match is not None:
            frame[group[0]] = pd.to_numeric(_column_of(path, match, len(frame)), errors="coerce").to_numpy()
    frame = frame.dropna(subset=["lon", "lat"])
    if frame.empty:
        raise DataError(f"{path}: no row has a place, so there is nothing to attack.")
    return frame.reset_index(drop=True)


def _column_of(path: Path, name: str, rows: int) -> pd.Series:
    import pandas as pd

    table = open_table(path, (name,), called={name: name})
    cells = [cell for batch in table.batches() for cell in batch[name].to_pylist()]
    if len(cells) != rows:
        raise DataError(f"{path}: column '{name}' cannot be read row by row.")
    return pd.Series(cells)


def _column(frame: pd.DataFrame, names: tuple[str, ...]) -> str | None:
    return names[0] if names[0] in frame else None


def _region_of(frames: list[pd.DataFrame]) -> Region:
    west, south = (min(float(frame[name].min()) for frame in frames) for name in ("lon", "lat"))
    east, north = (max(float(frame[name].max()) for frame in frames) for name in ("lon", "lat"))
    return Region(west - _MARGIN, south - _MARGIN, east + _MARGIN, north + _MARGIN)


def _traces_of(frame: pd.DataFrame, region: Region) -> Traces:
    x_m, y_m = region.projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    name = "user" if "user" in frame else "trajectory" if "trajectory" in frame else None
    who = np.full(len(frame), "0") if name is None else frame[name].to_numpy(dtype=np.str_)
    if "user" in frame and "trajectory" in frame:
        who = np.char.add(np.char.add(who, " "), frame["trajectory"].to_numpy(dtype=np.str_))
    if "time_s" in frame:
        time_s = frame["time_s"].to_numpy(dtype=np.float64)
    else:  # rows of a trip are in order
        order = np.argsort(who, kind="stable")
        time_s = np.empty(len(frame))
        first = np.searchsorted(who[order], who[order])
        time_s[order] = np.arange(len(frame)) - first
    found = Traces.of(who, time_s, x_m, y_m)
    if "user" in frame and "trajectory" in frame:
        return found.rename(frame["user"].to_numpy(dtype=np.str_)) if _plain_people(frame) else found
    return found


def _plain_people(frame: pd.DataFrame) -> bool:
    """Tell whether users are people with several trips, and not one name for each trip or for all."""
    return 1 < frame["user"].nunique() < frame["trajectory"].nunique()


def _members(frame: pd.DataFrame | None) -> dict[str, bool] | None:
    if frame is None or _MEMBER[0] not in frame:
        return None
    name = "user" if "user" in frame else "trajectory"
    return {str(who): bool(flag) for who, flag in frame.groupby(name)[_MEMBER[0]].max().items()}


class _FileGame:
    """One attack on one file, with or without its truth."""

    def __init__(
        self,
        path: Path,
        attack: Attack,
        region: Region,
        rng: np.random.Generator,
        *,
        truth: Traces | None,
        members: dict[str, bool] | None,
    ) -> None:
        self.path, self.attack, self.region, self.rng, self.truth, self.members = (
            path, attack, region, rng, truth, members,
        )  # fmt: skip

    def _make_score(self, score: str, value: float | None, **more: Any) -> FoundScore:
        return FoundScore(
            self.attack.kind, score, self.attack.about, self.path.name, value, knows=tuple(self.attack.knows), **more
        )

    def _leave_unscored(self, score: str, why: str) -> list[FoundScore]:
        return [self._make_score(score, None, note=f"not scored: {why}")]

    def on_traces(self, traces: Traces) -> list[FoundScore]:
        """Attack traces or trips."""
        attack = self.attack
        if not attack.reads & {"points", "visits", "trajectories"}:
            raise UsageError(f"{attack.kind} reads {', '.join(sorted(attack.reads))}, and {self.path} holds traces.")
        if isinstance(attack, SyntheticMembership):
            return self._synthetic(traces)
        if traces.people.size < 2:
            raise UsageError(f"{self.path}: of one person there is nobody to be told from.")
        if attack.about == "identity":
            return self._identities(traces)
        return self._places(traces)

    def _identities(self, traces: Traces) -> list[FoundScore]:
        attack, people = self.attack, traces.people
        if PAST in attack.knows:
            middle = float(np.median(traces.time_s))
            past = traces.take(traces.time_s < middle) if self.truth is None else self.truth
            now = traces.take(traces.time_s >= middle) if self.truth is None else traces
            if not past.size or not now.size or now.time_s.min() == now.time_s.max():
                raise UsageError(f"{self.path}: 'past' needs an earlier period, and the file has one only.")
            both = np.intersect1d(past.people, now.people)
            if both.size < 2:
                raise UsageError(f"{self.path}: fewer than two people are there in both periods.")
            past, now = (part.take(np.isin(part.who, both)) for part in (past, now))
            fresh = np.array([f"trace {n:07d}" for n in self.rng.permutation(both.size)], dtype=np.str_)
            renamed = now.rename(fresh[np.searchsorted(both, now.who)])
            answer = dict(zip(fresh.tolist(), both.tolist(), strict=True))
            view = self._view(renamed, Background(past=past))
            targets = sorted(answer)[: int(getattr(attack, "people", both.size))]
            total = both.size
        else:
            source = traces if self.truth is None else self.truth
            number = int(getattr(attack, "points", 4))
            chosen = self._draw_known(source, number)
            answer = {name: name for name in people.tolist()}
            view = self._view(traces, Background(points=chosen))
            targets, total = chosen.people.tolist(), people.size
        found = attack.guess(view)
        assert isinstance(found, Findings)  # noqa: S101 - attacks about identities return them
        rights, alone, fives = score_identities(found, answer, targets)
        if not targets:
            return self._leave_unscored("unique", "nobody has so many points")
        only, low, high, hits = share_of_people(alone)
        right = average_repeats(rights.tolist())
        of: dict[str, Any] = {"targets": len(targets), "people": int(total), "chance": 1 / total}
        note = f"{len(targets)} of {total} people" if len(targets) < total else ""
        rows = [
            self._make_score("right", right.value, low=right.low, high=right.high, note=note, **of),
            self._make_score("unique", only, low=low, high=high, hits=hits, **of),
        ]
        if PAST in attack.knows:
            five, five_low, five_high, five_hits = share_of_people(fives)
            rows.append(
                self._make_score(
                    "top5", five, low=five_low, high=five_high, hits=five_hits, **of | {"chance": min(1.0, 5 / total)}
                )
            )
        return rows

    def _draw_known(self, source: Traces, number: int) -> Traces:
        order = np.lexsort((source.time_s, source.who))
        some = source.take(order)
        names = np.unique(some.who)
        slots = SlotTable(names, some.rows(), np.arange(some.size), np.zeros(some.size, dtype=np.int64), 1)
        most = int(getattr(self.attack, "people", 500))
        people = np.arange(names.size)
        if names.size > most:
            people = np.sort(self.rng.choice(names.size, most, replace=False))
        _, rows = draw_points(slots, people, number, self.rng)
        return some.take(rows.ravel())

    def _places(self, traces: Traces) -> list[FoundScore]:
        attack = self.attack
        background = Background()
        if POINTS in attack.knows:
            if self.truth is None:
                raise UsageError("'points' are true points of the targets: name the truth, --truth FILE.")
            background = Background(points=self._draw_known(self.truth, int(getattr(attack, "points", 4))))
        answer = attack.guess(self._view(traces, background))
        if isinstance(answer, Guesses):
            raise UsageError(f"{attack.kind} guesses from phones' reports and their law, which a file does not state.")
        if self.truth is None or answer.x_m is None or answer.y_m is None:
            return self._leave_unscored(
                "error_m", f"{answer.size:,} people were guessed at; --truth FILE says where they were"
            )
        known = np.isin(answer.target, self.truth.people)
        if not known.any():
            raise UsageError(f"{self.path}: nobody of the truth goes by a name that was guessed at.")
        from geodp.attacks.home_work import HomeWork

        plain = HomeWork(
            place=getattr(attack, "place", "home"), first_weekday=getattr(attack, "first_weekday", 0), people=10**9
        )
        meant = plain.guess(self._view(self.truth, Background()))
        assert meant.x_m is not None  # noqa: S101 - guesses of places
        assert meant.y_m is not None  # noqa: S101
        place = {str(name): (x, y) for name, x, y in zip(meant.target, meant.x_m, meant.y_m, strict=True)}
        pairs = [
            (x - place[str(name)][0], y - place[str(name)][1])
            for name, x, y in zip(answer.target[known], answer.x_m[known], answer.y_m[known], strict=True)
            if str(name) in place
        ]
        error = np.hypot(*np.array(pairs).reshape(-1, 2).T)
        if not error.size:
            return self._leave_unscored("error_m", "nobody was anywhere at the hours that are meant")
        measured = average_repeats(error.tolist())
        share, low, high, hits = share_of_people(error <= attack.hit_radius_m)
        middle_x, middle_y = (float(np.median([one[axis] for one in place.values()])) for axis in (0, 1))
        blind = np.array([np.hypot(x - middle_x, y - middle_y) for x, y in place.values()])
        of: dict[str, Any] = {"targets": error.size, "people": traces.people.size}
        return [
            self._make_score(
                "error_m", measured.value, low=measured.low, high=measured.high, chance=float(blind.mean()), **of
            ),
            self._make_score("hit_rate", share, low=low, high=high, hits=hits,
                        chance=float(np.mean(blind <= attack.hit_radius_m)), **of),
        ]  # fmt: skip

    def _view(self, traces: Traces, background: Background) -> AttackView:
        return AttackView(self.region, [], publications=[SeenTrips(self.path.stem, traces)], background=background)

    def _synthetic(self, made: Traces) -> list[FoundScore]:
        if self.truth is None:
            return self._leave_unscored(
                "auc", "--truth FILE names those who were in and those who were not (column member)"
            )
        truth, members = self.truth, self.members
        if members is None:
            raise UsageError("the truth needs a column member (1: in what the file was made from, 0: not).")
        outside = np.array([name for name in truth.people if not members.get(str(name), False)], dtype=np.str_)
        inside = np.array([name for name in truth.people if members.get(str(name), False)], dtype=np.str_)
        if outside.size < 4 or inside.size < 2:
            raise UsageError(
                "the truth needs at least two people who are in and four who are not: half of these are the reference."
            )
        aside = self.rng.permutation(outside)[: outside.size // 2]
        judged = np.concatenate([inside, np.setdiff1d(outside, aside)])
        background = Background(
            traces=truth.take(np.isin(truth.who, judged)), past=truth.take(np.isin(truth.who, aside))
        )
        found = self.attack.guess(self._view(made, background))
        assert isinstance(found, Findings)  # noqa: S101 - attacks about members return them
        return self._auc(found, np.isin(found.target, inside))

    def _auc(self, found: Findings, member: Any) -> list[FoundScore]:
        if found.score is None or not found.size:
            return self._leave_unscored("auc", "there was nothing to tell anybody by")
        area = area_under_curve(found.score, member)
        if area is None:
            return self._leave_unscored("auc", "all candidates are in, or all are out")
        spread = spread_of_area(found.score, member)
        low, high = max(0.0, area - 1.96 * spread), min(1.0, area + 1.96 * spread)
        return [self._make_score("auc", area, low=low, high=high, chance=0.5, targets=found.size, people=found.size)]

    def on_counts(self, frame: pd.DataFrame, counts: str) -> list[FoundScore]:
        """Attack counts per cell and time."""
        attack, region = self.attack, self.region
        if not attack.reads & {"cells", "counts"}:
            raise UsageError(f"{attack.kind} reads {', '.join(sorted(attack.reads))}, and {self.path} holds counts.")
        releases = _releases_of(frame, counts, region)
        if not isinstance(attack, Membership):
            found = attack.guess(AttackView(region, releases))
            size = found.x_m.size if isinstance(found, Guesses) else found.size
            return self._leave_unscored(
                "hours_right" if attack.about == "track" else "error_m",
                f"{size:,} statements were made; only a run can score them",
            )
        if self.truth is None:
            return self._leave_unscored(
                "auc", "--truth FILE gives the candidates' traces, and who of them is in (member)"
            )
        if self.members is None:
            raise UsageError("the truth needs a column member (1: counted, 0: not).")
        if attack.knows == (PAST,):
            raise UsageError(
                "'past' needs an earlier period, which a file of counts does not have: know others or traces."
            )
        times = np.array([release.time_s for release in releases])
        place = np.searchsorted(times, self.truth.time_s)
        here = (place < times.size) & (times[np.minimum(place, times.size - 1)] == self.truth.time_s)
        if not here.any():
            raise UsageError("no time of the truth is a time of the counts.")
        some = self.truth.take(here)
        traces = Traces.of(some.who, some.time_s, some.x_m, some.y_m, release=place[here].astype(np.int64))
        inside = np.array([self.members.get(str(name), False) for name in traces.who])
        others = np.zeros(traces.size)
        for number, release in enumerate(releases):
            rows = np.flatnonzero(traces.release == number)
            cell = release.locate(traces.x_m[rows], traces.y_m[rows])
            there = np.bincount(cell[(cell >= 0) & inside[rows]], minlength=release.count.size)
            others[rows] = np.where(cell >= 0, there[cell] - inside[rows], 0)
        background = Background(traces=traces, others=others if attack.knows == (OTHERS,) else None)
        if attack.knows not in {(OTHERS,), (TRACES,)}:
            raise UsageError(f"{attack.kind} on a file of counts knows others or traces.")
        found = attack.guess(AttackView(region, releases, background=background))
        member = np.array([self.members.get(str(name), False) for name in found.target])
        return self._auc(found, member)


def _releases_of(frame: pd.DataFrame, counts: str, region: Region) -> list[GridCells]:
    """Return counts at middles of cells of a regular grid, time by time."""
    x_m, y_m = region.projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    step_x, step_y = _step(x_m), _step(y_m)
    west, south = float(x_m.min()) - step_x / 2, float(y_m.min()) - step_y / 2
    columns = round((float(x_m.max()) - float(x_m.min())) / step_x) + 1
    rows = round((float(y_m.max()) - float(y_m.min())) / step_y) + 1
    if columns * rows > 4_000_000:
        raise DataError("the places of the counts are no middles of a regular grid of cells.")
    grid = Grid(west_m=west, south_m=south, cell_x_m=step_x, cell_y_m=step_y, columns=columns, rows=rows)
    time_s = frame["time_s"].to_numpy(dtype=np.float64) if "time_s" in frame else np.zeros(len(frame))
    value = frame[counts].to_numpy(dtype=np.float64)
    cell = grid.locate(x_m, y_m)
    whole = bool(np.all(value == np.round(value)) and (value >= 0).all())
    nothing = Guarantee.none("a file says nothing about what it promises")
    found = []
    for moment in np.unique(time_s):
        here = (time_s == moment) & (cell >= 0)
        table = np.bincount(cell[here], weights=value[here], minlength=grid.size)
        scale = np.zeros(grid.size) if whole else np.full(grid.size, 1.0)
        found.append(_as_cells(float(moment), nothing, grid, np.asarray(table, dtype=np.float64), scale))
    return found


def _step(place_m: Any) -> float:
    """Return the width of a cell: the least distance of two columns that differ by more than rounding."""
    gaps = np.diff(np.unique(np.round(place_m, 1)))
    gaps = gaps[gaps > 1.0]
    return float(gaps.min()) if gaps.size else 1000.0


def _as_cells(time_s: float, promise: Guarantee, grid: Grid, count: Array, scale: Array) -> GridCells:
    west, south, east, north = grid.edges()
    return GridCells(
        time_s=time_s,
        mechanism="file",
        guarantee=promise,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=count,
        noise_scale=scale,
        floor_per_m2=0.0,
        grid=grid,
    )
