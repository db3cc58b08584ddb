"""The releases of a finished run: what they certainly spend, beside what the ledger says was spent.

Central releases are audited by an in/out game with many canaries at once. A canary is a person who does not exist: one
per cell of the released grid, in or out by a coin of its own. All releases of the run are drawn anew, with fresh and
independent noise, on the run's true counts plus the canaries that are in. The attacker knows everything but one
canary's coin, as differential privacy allows, so what matters is the noisy count of the canary's cell less everybody
else in it, release by release. Cells have independent noise, so one redraw gives as many trials as there are cells.
Where people move together, or noise hides several, canaries also come in households that are in or out as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.audit.auditor import Audit, PairAudit, PairSamples, audit_cases, require_sound
from geodp.audit.events import Finding
from geodp.audit.kinds import audit_plugin, pairs_of
from geodp.audit.repeated import certify_concentrated, certify_gaussian
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Snapshot
from geodp.curator.series import looks_at_people
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.people_filter import PeopleFilter
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.public.levels import IF_COUNTED, draw_groups
from geodp.public.release import AdaptiveCells, Cells, GridCells, LatticeCells, QuadtreeCells
from geodp.public.zcdp import epsilon_of_rho
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

_MOST_PAIRS = 3
"""Pairs of places that are tried when phones report by themselves: each trial is a whole series of reports."""


def audit_releases(run: RunFolder, *, samples: int = 100_000, confidence: float = 0.95, seed: int = 0) -> Audit:
    """Certify epsilon of everything a run released about one person, against the ledger.

    The releases are drawn anew with independent noise; the run's own seed plays no part.
    """
    require_sound(samples, confidence)
    streams = Streams(seed)
    made: list[Any] = [item.plugin for item in run.publications]  # published at the end, and told about histories
    made += [report.device for report in run.history_reports[:1]]
    others = [plugin for plugin in made if plugin.guarantee().unit is not Unit.NOTHING]
    each = 1 - (1 - confidence) / (1 + len(others))  # all parts of one audit share its error probability
    parts = [_positions(run, samples, each, seed)]
    for plugin in others:
        part = audit_plugin(plugin, _noise_of(streams, plugin.kind), samples=samples, confidence=each)
        pairs = tuple(replace(pair, name=f"{plugin.kind}: {pair.name}") for pair in part.pairs)
        parts.append(replace(part, pairs=pairs))
    return Audit(
        _name(run),
        min((part.samples for part in parts if part.pairs), default=0),
        confidence,
        tuple(pair for part in parts for pair in part.pairs),
        not_followed=tuple(f"{part.kind}: {name}" for part in parts for name in part.not_followed),
    )


def _positions(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    """Audit what was released about where people are."""
    if run.scenario.curator is not None and any(isinstance(release, Cells) for release in run.releases):
        return _central(run, samples, confidence, seed)
    if run.releases and run.scenario.device.mechanism.guarantee().unit is not Unit.NOTHING:
        return _local(run, samples, confidence, seed)
    return Audit(_name(run), 0, confidence, ())


def _noise_of(streams: Streams, kind: str) -> Callable[[str], Noise]:
    return lambda name: SimulatedNoise(streams.generator(f"audit.run.{kind}.{name}"))


def ledger_spend(run: RunFolder, *, metric: bool) -> float:
    """Return what the ledger charged one person for the releases: central epsilon, or (metric) that of phones' reports.

    Charges to everyone, plus the most that any one group was charged besides (disjoint groups do not add up). What is
    published at the end was paid for apart: it says nothing about the releases. Charges in ρ are added up as such, and
    stated at the δ of their promises.
    """
    rho, delta = (None, 0.0) if metric else ledger_rho(run)
    if rho is not None:
        return epsilon_of_rho(rho, delta)
    rows = _charges(run, metric=metric)
    counted = rows["scope"].astype(str).str.endswith(IF_COUNTED)
    filtered = float(rows.loc[counted, "total"].max()) if counted.any() else 0.0  # each may spend her own budget
    rows = rows[~counted]
    sums = {
        scope: sum((Decimal(repr(float(epsilon))) for epsilon in group), start=Decimal(0))
        for scope, group in rows.groupby(rows["scope"].astype(str))["epsilon"]
    }
    everyone = sums.pop("everyone", Decimal(0))
    return max(filtered, float(everyone + max(sums.values(), default=Decimal(0))))


def ledger_rho(run: RunFolder) -> tuple[float | None, float]:
    """Return the ρ that the ledger charged one person for the releases, and the δ at which it is stated (None: none).

    Parameters
    ----------
    run
        The run.
    """
    rows = _charges(run, metric=False)
    if rows.empty or "rho" not in rows or rows["rho"].isna().any():
        return None, 0.0
    sums = rows.groupby(rows["scope"].astype(str))["rho"].sum()
    everyone = float(sums.get("everyone", 0.0))
    return everyone + float(sums.drop("everyone", errors="ignore").max() if len(sums) > 1 else 0.0), float(
        rows["delta"].max()
    )


def _charges(run: RunFolder, *, metric: bool) -> pd.DataFrame:
    """Return what was charged for the releases."""
    rows = run.central_charges
    if metric:
        rows = run.charges(Unit.POINT) if run.local_charges.empty else run.local_charges
    return rows[~rows["mechanism"].isin([item.kind for item in run.publications])]


def _central(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    claimed = ledger_spend(run, metric=False)
    if claimed == 0:
        return Audit(_name(run), 0, confidence, ())
    rho, _ = ledger_rho(run)
    hidden = max((release.guarantee.people for release in run.releases), default=1)
    groups = sorted({1, hidden, getattr(run.scenario.workers.mobility, "largest", 1)})
    count = len(run.releases)
    series = "one release" if count == 1 else f"{count} releases"
    pairs, least = [], samples
    for people in groups:
        streams, at = Streams(seed), "" if people == 1 else f".{people}"
        noise = SimulatedNoise(streams.generator(f"audit.run.noise{at}"))
        trials = play(run, streams.generator(f"audit.run.canaries{at}"), noise, samples, people=people)
        with_, without = sides = [trials.take(np.flatnonzero(trials.inside == coin)) for coin in (True, False)]
        steps = -(-people // hidden)  # what hides so many at once hides more of them one after the other
        who = "one canary" if people == 1 else f"a household of {people} canaries"
        charged = "" if steps == 1 else f", times {steps if rho is None else steps**2}"
        name = f"{who}, in or out, over {series}; the claim is what the ledger charged{charged}"
        alpha = (1 - confidence) / len(groups)
        if rho is None:
            scores, due = (with_.log_ratio, without.log_ratio), claimed * steps
            pair_samples = PairSamples(with_.rest, without.rest, scores, threshold=due / 2)
            pairs.append(PairAudit(name, due, *pair_samples.findings(alpha=alpha)))
        else:
            certify = certify_gaussian if _is_gaussian(run) else certify_concentrated
            number = min(side.inside.size for side in sides)
            hits = [int(np.count_nonzero(side.log_ratio[:number] >= 0)) for side in sides]
            found = Finding("likelihood-ratio event", "with", certify(hits, number, 1, alpha))
            pairs.append(PairAudit(name, rho * steps**2, (found,), currency="ρ"))
        least = min(least, *(side.inside.size for side in sides))
    return Audit(_name(run), least, confidence, tuple(pairs))


def _is_gaussian(run: RunFolder) -> bool:
    """Tell whether all that releases cost is for Gaussian noise, and nothing for choices."""
    mechanism = None if run.scenario.curator is None else run.scenario.curator.mechanism
    return isinstance(mechanism, CountNoise) and mechanism.counts_part == 1


def _local(run: RunFolder, samples: int, confidence: float, seed: int) -> Audit:
    """Audit a series of reports of one phone, as many as the run let it send."""
    device = run.scenario.device.mechanism
    times = len(run.releases)
    spent = ledger_spend(run, metric=True)
    if spent == 0:
        return Audit(_name(run), 0, confidence, ())
    per_report = device.guarantee(run.region).epsilon
    streams = Streams(seed)
    cases = pairs_of(device, _noise_of(streams, device.kind), samples=samples)[1]
    chosen = [cases[int(index)] for index in np.linspace(0, len(cases) - 1, min(len(cases), _MOST_PAIRS))]
    return audit_cases(
        _name(run),
        [repeat_case(case, times, claimed=case.claimed * spent / per_report) for case in chosen],
        lambda name: SimulatedNoise(streams.generator(f"audit.{name}")),
        samples=samples,
        confidence=confidence,
    )


def repeat_case(case: AuditCase, times: int, *, claimed: float) -> AuditCase:
    """Return the case of `times` independent outputs on the same input; scores add up."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        outputs = np.asarray(case.draw(noise, present, samples * times), dtype=np.float64)
        return outputs.reshape(samples, -1)

    def score(outputs: Array) -> Array:
        each = outputs.reshape(len(outputs) * times, -1)
        single = case.score(each[:, 0] if each.shape[1] == 1 else each)
        return np.asarray(single.reshape(len(outputs), times).sum(axis=1))

    return AuditCase(
        name=f"{case.name}, {times} reports",
        claimed=claimed,
        draw=draw,
        score=score,
        threshold=case.threshold * times / 2,
        delta=case.delta * times,
    )


def _name(run: RunFolder) -> str:
    return str(run.manifest.get("name", run.path.name))


Ids = npt.NDArray[np.int64]
MOST_REDRAWN_RELEASES = 30_000
"""No more releases than this are drawn, however many trials are asked for; the report says how many there were."""
MOST_ONE_BY_ONE = 6_000
"""The same where a redraw serves one canary only."""
MOST_PLACED = 300_000_000
"""People whose cells are looked up, all releases together: half a minute. Of larger crowds fewer releases are drawn."""


@dataclass(frozen=True)
class Trials:
    """Outcomes of the game: one row per canary and redraw."""

    inside: npt.NDArray[np.bool_]
    """Whether the canary was in (under replacement: in its own cell instead of the next one)."""
    rest: Array
    """Noisy count of the canary's cell less everyone else in it: one column per release, and as many again for the
    next cell under replacement."""
    log_ratio: Array
    """What all the releases together say for "in", in nats."""
    x_m: Array
    y_m: Array

    def take(self, rows: npt.NDArray[np.intp]) -> Trials:
        """Return some of the trials."""
        return Trials(self.inside[rows], self.rest[rows], self.log_ratio[rows], self.x_m[rows], self.y_m[rows])


def play(run: RunFolder, rng: np.random.Generator, noise: Noise, samples: int, *, people: int = 1) -> Trials:
    """Redraw the releases of a run until both coins have come up `samples` times, or until the cap is reached.

    Parameters
    ----------
    run
        The run.
    rng, noise
        Where coins, places and noise come from.
    samples
        How many trials of either coin are enough.
    people
        How many canaries stand in one place, and are in or out together.
    """
    game = _Game(run, people)
    parts: list[Trials] = []
    times = np.zeros(2, dtype=np.int64)
    most = MOST_REDRAWN_RELEASES if game.regular else MOST_ONE_BY_ONE
    placed = sum(crowd.x_m.size for crowd in game.crowds)  # in one redraw of all releases
    for _ in range(max(1, min(most // len(game.releases), MOST_PLACED // max(placed, 1)))):
        parts.append(game.redraw(rng, noise))
        times += np.bincount(parts[-1].inside, minlength=2)
        if times.min() >= samples:
            break
    names = ("inside", "rest", "log_ratio", "x_m", "y_m")
    played = Trials(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    kept = [np.flatnonzero(played.inside == coin)[:samples] for coin in (True, False)]
    return played.take(np.concatenate(kept))


class _Game:
    """The run's releases, ready to be drawn again."""

    def __init__(self, run: RunFolder, people: int = 1) -> None:
        scenario, self.people = run.scenario, people
        self.releases = [release for release in run.releases if isinstance(release, Cells)]
        if scenario.curator is None or not self.releases:
            raise UsageError(f"{run.path}: the run has no release of a curator to audit")
        self.section, self.region = scenario.curator, run.region
        self.device = scenario.device.mechanism
        mechanism = scenario.curator.mechanism
        self._planned = scenario.release_count()
        self.regular = isinstance(self.releases[0], GridCells) or self._same_coarse_cells()
        self.regular = self.regular and not mechanism.decides_together  # otherwise trials are not independent
        self.replace = self.releases[0].guarantee.neighbours is Neighbours.REPLACE
        self.crowds = [_Crowd.of(run, index, release) for index, release in enumerate(self.releases)]

    def _same_coarse_cells(self) -> bool:
        """Tell whether all releases divide the same coarse cells: noise is shared inside a coarse cell only."""
        coarse = {release.coarse if isinstance(release, AdaptiveCells) else None for release in self.releases}
        return len(coarse) == 1 and None not in coarse

    def redraw(self, rng: np.random.Generator, noise: Noise) -> Trials:
        """Draw every release once more, with canaries, and read off what each says about each canary."""
        first = self.releases[0]
        own, following = self._cells(first, rng)
        inside = rng.random(own.size) < 0.5
        x, y = _place(first, own, rng)
        other_x, other_y = _place(first, following, rng)
        in_x, in_y = (
            np.repeat(np.where(inside, here, elsewhere), self.people)  # all of a household, one after the other
            for here, elsewhere in ((x, other_x), (y, other_y))
        )
        there = np.ones(in_x.size, dtype=np.bool_) if self.replace else np.repeat(inside, self.people)
        columns, log_ratio = [], np.zeros(own.size)
        series, newcomers = self.section.mechanism.begin_series(self._planned), in_x.size
        spending = self._begin_filter(in_x.size)
        for number, crowd in enumerate(self.crowds):
            report_x, report_y = self._report_places(in_x, in_y, rng)
            if spending is not None and looks_at_people(self.section.mechanism, number, series.releases):
                present = np.flatnonzero(np.repeat(inside, self.people))
                there = np.zeros(in_x.size, dtype=np.bool_)  # who has spent her budget is no longer counted
                there[present] = spending.admit(present, self._promise.epsilon)
            people_x, people_y = self._everyone(crowd, report_x[there], report_y[there], rng)
            others = people_x.size - int(np.count_nonzero(there))
            who = np.concatenate([newcomers + np.arange(others), np.flatnonzero(there)])
            newcomers += others  # the run does not tell who was where: nobody but the canaries is there twice
            snapshot = self._take_snapshot(crowd.time_s, people_x, people_y, who)
            if groups := getattr(self.section.mechanism, "group_shares", {}):
                group = draw_groups(groups, rng.random(people_x.size))
                group[others:] = self._canary_group
                snapshot = replace(snapshot, group=group)
            release = series.release(snapshot, noise, number=number)
            if release is None:
                continue
            places = [(x, y, 1.0), (other_x, other_y, -1.0)] if self.replace else [(x, y, 1.0)]
            for place_x, place_y, sign in places:
                cell = _locate(release, place_x, place_y)
                here = there & (_locate(release, report_x, report_y) == np.repeat(cell, self.people))
                own_reports = here.reshape(-1, self.people).sum(axis=1)
                rest = release.count[cell] - (_count_people(release, cell, people_x, people_y) - own_reports)
                score = _gaussian_log_ratio if release.guarantee.rho is not None else _laplace_log_ratio
                log_ratio += sign * score(rest, release.noise_scale[cell], self.people)
                columns.append(rest)
        return Trials(inside, np.column_stack(columns), log_ratio, x, y)

    @property
    def _promise(self) -> Guarantee:
        return self.section.mechanism.guarantee(Neighbours(self.section.neighbours), self.section.counts)

    def _begin_filter(self, canaries: int) -> PeopleFilter | None:
        """Return the budgets of the canaries, where a filter decides who is counted."""
        budget = self.section.budget
        if budget.people != "filter" or budget.epsilon is None:
            return None
        return PeopleFilter(canaries, budget.by_group.get(self._canary_group, budget.epsilon))

    @property
    def _canary_group(self) -> str:
        """The least careful group, which canaries are of ('' where all are alike)."""
        return max(self._promise.by_group, key=lambda group: group[1], default=("", 0.0))[0]

    def _cells(self, release: Cells, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Return each canary's cell and the one after it.

        Where cells are no regular grid their noise may be shared, so there is one canary at a time; in a grid of two
        levels it is shared inside a coarse cell, so there is one in each of those. Under replacement no cell belongs
        to two canaries.
        """
        count = release.count.size
        if isinstance(release, AdaptiveCells) and self.regular:
            parts = release.per_side**2
            anywhere = release.first[:-1] + (rng.random(parts.size) * parts).astype(np.int64)
            own = anywhere[: parts.size - 1 : 2] if self.replace and parts.size > 1 else anywhere
            return own, anywhere[1::2] if self.replace and parts.size > 1 else own
        if self.regular:
            own = np.arange(0, count - 1 if self.replace and count > 1 else count, 2 if self.replace else 1)
        else:
            own = rng.integers(0, count, 1)
        return own, (own + 1) % count

    def _everyone(
        self, crowd: _Crowd, canary_x: Array, canary_y: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return the places that a release is made from: those of the crowd, and of the canaries that are there."""
        crowd_x, crowd_y = self._report_places(crowd.x_m, crowd.y_m, rng)
        return np.concatenate([crowd_x, canary_x]), np.concatenate([crowd_y, canary_y])

    def _take_snapshot(self, time_s: float, x_m: Array, y_m: Array, who: Ids) -> Snapshot:
        """Return what one release is made from."""
        return Snapshot(
            time_s=time_s,
            x_m=x_m,
            y_m=y_m,
            region=self.region,
            expected_workers=self.section.expected_workers or 1.0,
            neighbours=Neighbours(self.section.neighbours),
            counts=self.section.counts,
            who=who,
        )

    def _report_places(self, x_m: Array, y_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.device.report(x_m, y_m, rng=rng, region=self.region)


@dataclass(frozen=True)
class _Crowd:
    """Everyone who was there at one release: at the centres of the cells in which the run counted them."""

    time_s: float
    x_m: Array
    y_m: Array

    @classmethod
    def of(cls, run: RunFolder, index: int, release: Cells) -> _Crowd:
        count = run.true_counts(index).to_numpy(dtype=np.int64)
        x, y = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
        return cls(release.time_s, np.repeat(x, count), np.repeat(y, count))


def _place(release: Cells, cell: Ids, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a place in each cell, clear of the edges, which belong to two cells."""
    across, along = rng.uniform(0.05, 0.95, (2, cell.size))
    west, south = release.west_m[cell], release.south_m[cell]
    return west + across * (release.east_m[cell] - west), south + along * (release.north_m[cell] - south)


def _locate(release: Cells, x_m: Array, y_m: Array) -> Ids:
    """Return the cell of each place; directly where cells have no table: then there is one place to look for."""
    if isinstance(release, GridCells | AdaptiveCells | LatticeCells | QuadtreeCells):
        return release.locate(x_m, y_m)
    inside = (release.west_m <= x_m[:, None]) & (x_m[:, None] <= release.east_m)
    inside &= (release.south_m <= y_m[:, None]) & (y_m[:, None] <= release.north_m)
    return np.where(inside.any(axis=1), np.argmax(inside, axis=1), -1)


def _count_people(release: Cells, cell: Ids, x_m: Array, y_m: Array) -> Ids:
    """Return how many people truly are in each of the given cells."""
    if isinstance(release, GridCells | AdaptiveCells | LatticeCells | QuadtreeCells):
        everyone = release.locate(x_m, y_m)
        return np.bincount(everyone[everyone >= 0], minlength=release.count.size)[cell]
    counts = []
    for index in cell:
        across = (x_m >= release.west_m[index]) & (x_m <= release.east_m[index])
        counts.append(np.count_nonzero(across & (y_m >= release.south_m[index]) & (y_m <= release.north_m[index])))
    return np.array(counts, dtype=np.int64)


def _gaussian_log_ratio(rest: Array, scale: Array, people: int = 1) -> Array:
    """Return the same under Gaussian noise, of which `scale` is that of Laplace noise of its variance."""
    with np.errstate(divide="ignore"):
        return np.asarray((2 * people * rest - people**2) / (4 * scale**2))


def _laplace_log_ratio(rest: Array, scale: Array, people: int = 1) -> Array:
    """Return ln f(rest | in) / f(rest | out) under Laplace noise; without noise, what is certain is infinite."""
    with np.errstate(divide="ignore"):
        return np.asarray((np.abs(rest) - np.abs(rest - people)) / scale)
