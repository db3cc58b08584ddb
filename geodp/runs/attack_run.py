"""Attacks on a finished run: the game that each kind of attack is, played and scored."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.attacks import Attack, AttackView, Guesses, SeenCounts
from geodp.attacks.findings import Findings
from geodp.attacks.home_work import HomeWork, is_night, is_work
from geodp.attacks.membership import Membership
from geodp.attacks.sybil import Sybil
from geodp.attacks.synthetic_membership import SyntheticMembership
from geodp.attacks.traces import OTHERS, PAST, STREETS, TRACES, Background, Traces
from geodp.audit.one_run import certify_one_run, guess_coins
from geodp.audit.run_audit import ledger_spend
from geodp.curator.mechanisms import Snapshot
from geodp.errors import UsageError
from geodp.frames.guesses import score_guesses
from geodp.geometry import Array
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours
from geodp.public.guessing_bounds import auc_bound, gaussian_auc_bound, planar_hit_bound
from geodp.public.levels import draw_groups
from geodp.public.release import Cells, Points
from geodp.runs.attack_scores import add_law
from geodp.runs.background import (
    Truth,
    owners_of_names,
    public_laws,
    require_readable,
    see_offers,
    see_trips,
    traces_of_trips,
)
from geodp.runs.findings import (
    FoundScore,
    area_under_curve,
    average_repeats,
    score_identities,
    score_tracks,
    share_of_people,
    spread_of_area,
)
from geodp.world.mobility.companions import Companions

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

REDRAWS, LEAST_REDRAWS = 8, 2
_DAY_S = 86_400.0
CANARY_SHARE = 0.5
"""Of the canaries of one run so many are guessed about, chosen before anything was tried."""
LEAST_PEOPLE = 2


def attack_run(
    run: RunFolder, attack: Attack, *, seed: int = 0, redraws: int = REDRAWS, crowd: int | None = None
) -> list[FoundScore]:
    """Play one attack on a run, and score it.

    Parameters
    ----------
    run
        The run.
    attack
        The attack, with its settings.
    seed
        Of coins, redraws and samples; the run's own seed plays no part.
    redraws
        How often releases are drawn anew, where membership is the question.
    crowd
        Play among so many people at most, drawn evenly (None: all of whom the run kept where they were).

    Raises
    ------
    UsageError
        If the run does not have what the attack reads, or cannot give its background.
    """
    return play_attack(run, attack, seed=seed, redraws=redraws, crowd=crowd)[0]


def play_attack(
    run: RunFolder, attack: Attack, *, seed: int = 0, redraws: int = REDRAWS, crowd: int | None = None
) -> tuple[list[FoundScore], pd.DataFrame | None]:
    """Do what `attack_run` does; return also where people were thought to be, and were (None: it is about no place)."""
    import pandas as pd

    require_readable(attack, run)
    game = _RunGame(run, attack, np.random.default_rng([20, seed]), redraws, crowd)
    if isinstance(attack, Membership):
        scores = game.play_membership()
    elif isinstance(attack, SyntheticMembership):
        scores = game.play_synthetic_membership()
    elif isinstance(attack, Sybil):
        scores = game.play_sybil()
    else:
        scores = game.play_once()
    return scores, pd.concat(game.places, ignore_index=True) if game.places else None


@dataclass(frozen=True, eq=False)
class _RunGame:
    run: RunFolder
    attack: Attack
    rng: np.random.Generator
    redraws: int
    crowd: int | None = None
    places: list[pd.DataFrame] = field(default_factory=list)
    """Where people were thought to be, and were (truth)."""

    @cached_property
    def truth(self) -> Truth:
        return Truth(self.run, self.crowd)

    def _make_score(self, score: str, release: str, value: float | None, **more: Any) -> FoundScore:
        return FoundScore(
            self.attack.kind, score, self.attack.about, release, value, knows=tuple(self.attack.knows), **more
        )

    def _count_redraws(self) -> Iterator[int]:
        """Count the redraws for as long as there is time, and two at least: an interval needs them."""
        begun = time.process_time()
        for number in range(self.redraws):
            if number >= LEAST_REDRAWS and time.process_time() - begun > self.attack.seconds:
                return
            yield number

    # --- membership -------------------------------------------------------------------------------------------------

    def play_membership(self) -> list[FoundScore]:
        """Draw a coin per person, release anew from those who are in, and let the attack tell them apart."""
        attack, run = self.attack, self.run
        items = [item for item in run.publications if "counts" in item.topics and "venue" in item.released]
        if items and not any(isinstance(release, Cells) for release in run.releases):
            return self._play_venues(items)
        if run.scenario.curator is None:
            raise UsageError(f"{run.path}: without a curator there are no counts in which somebody could be.")
        by_venue = self._play_venues(items) if items and attack.knows != (PAST,) else []
        truth = self.truth
        people = len(truth.names)
        if people < LEAST_PEOPLE:
            raise UsageError(f"{run.path}: of one person there is nobody to be told from.")
        releases = np.arange(len(run.releases))
        earlier = releases[: len(releases) // 2] if attack.knows == (PAST,) else releases[:0]
        now = releases[len(earlier) :]
        if attack.knows == (PAST,) and not len(earlier):
            raise UsageError(f"{run.path}: 'past' needs an earlier period, and there is one release only.")
        most = min(int(getattr(attack, "people", people)), people)
        samples, canaries = [], None
        for _ in self._count_redraws():
            inside = self.rng.random(people) < 0.5
            targets = np.sort(self.rng.choice(people, most, replace=False))
            drawn = self._release_anew(inside, now)
            view = AttackView(
                run.region,
                drawn,
                laws=public_laws(run),
                background=self._cut(targets, inside, earlier, now, drawn),
                start_s=run.scenario.start_s,
            )
            found = _findings_of(attack, view)
            if not found.size or found.score is None:
                continue
            member = inside[np.searchsorted(truth.names, found.target)]
            area = area_under_curve(found.score, member)
            if area is not None:
                samples.append(area)
                canaries = canaries or (found.score, member)  # the first redraw is the one run
        pure = self._auc_bound() is not None and all(release.guarantee.delta == 0 for release in run.releases)
        spent = ledger_spend(run, metric=False) if pure else None  # the theorem is about δ = 0
        return [
            *self._member_scores(samples, most, people, "releases", self._auc_bound()),
            *self._certify(canaries, "releases", spent),
            *by_venue,
        ]

    def _certify(self, canaries: tuple[Array, Any] | None, release: str, claimed: float | None) -> list[FoundScore]:
        """Certify ε from one run, where the adversary sees no coins: with `others` she sees all but one."""
        if canaries is None or OTHERS in self.attack.knows:
            return []
        right, guessed = guess_coins(*canaries, share=CANARY_SHARE)
        if not guessed:
            return []
        low = certify_one_run(right, guessed, alpha=0.05)
        note = f"at least, by {right} right guesses of {guessed}"
        return [
            self._make_score(
                "epsilon", release, low, bound=claimed, targets=guessed, people=guessed, hits=right, note=note
            )
        ]

    def _play_venues(self, items: Sequence[PublishedRun]) -> list[FoundScore]:
        """Draw a coin per person, publish anew the visits of those who are in, and let the attack tell them apart."""
        from geodp.curator.counts_publication import CountsPublication
        from geodp.tables.visits.space_order import space_order
        from geodp.tables.visits.visit_sets import sets_of

        run, found = self.run, []
        histories, venues = run.visits, run.venues
        people = len(histories.people)
        if people < LEAST_PEOPLE:
            raise UsageError(f"{run.path}: of one person there is nobody to be told from.")
        most = min(int(getattr(self.attack, "people", people)), people)
        order = space_order(*venues.places_m())
        for item in items:
            plugin, samples = item.plugin, []
            if not isinstance(plugin, CountsPublication):
                continue
            for _ in self._count_redraws():
                inside = self.rng.random(people) < 0.5
                targets = np.sort(self.rng.choice(people, most, replace=False))
                there = sets_of(histories.choose_people(np.flatnonzero(inside)), venues.size)
                released = plugin.release(there, SimulatedNoise(self.rng), order)
                theirs = sets_of(histories.choose_people(targets), venues.size)
                owner = np.repeat(targets, theirs.size)
                place = theirs.venue.astype(np.int64)
                nowhere = np.zeros(place.size)
                traces = Traces.of(histories.people[owner].astype(np.str_), nowhere, nowhere, nowhere, place=place)
                rest = (there.counts()[place] - inside[owner]).astype(np.float64)
                others = rest if self.attack.knows == (OTHERS,) else None
                seen = SeenCounts(item.kind, released.count, getattr(plugin, "rule", None))
                said = _findings_of(
                    self.attack,
                    AttackView(run.region, [], counts=[seen], background=Background(traces=traces, others=others)),
                )
                names = histories.people[inside].astype(np.str_)
                area = None if said.score is None else area_under_curve(said.score, np.isin(said.target, names))
                samples += [] if area is None else [area]
            found += self._member_scores(samples, most, people, item.name, _trip_bound(item))
        return found

    def _member_scores(
        self, samples: list[float], targets: int, people: int, release: str, bound: float | None
    ) -> list[FoundScore]:
        if not samples:
            note = "not scored: no redraw had people in and people out"
            return [self._make_score("auc", release, None, chance=0.5, note=note)]
        area = average_repeats(samples)
        notes = [f"{targets} of {people} people"] if targets < people else []
        notes += [f"{len(samples)} of {self.redraws} redraws"] if len(samples) < self.redraws else []
        note = ", ".join(notes)
        return [
            self._make_score(
                "auc",
                release,
                area.value,
                low=area.low,
                high=area.high,
                chance=0.5,
                bound=bound,
                targets=targets,
                people=people,
                note=note,
                samples=tuple(samples),
            )
        ]

    def _auc_bound(self) -> float | None:
        promises = [release.guarantee for release in self.run.releases]
        if not promises or not all(promise.holds for promise in promises):
            return None
        charged = self.run.central_charges
        delta = float(charged["delta"].sum()) if "delta" in charged and len(charged) else 0.0
        spent = ledger_spend(self.run, metric=False)
        bound = auc_bound(spent, delta) if spent > 0 else None
        rhos = [promise.rho for promise in promises]
        if bound is None or any(rho is None for rho in rhos):
            return bound
        mu = math.sqrt(
            2 * sum(rho for rho in rhos if rho is not None)
        )  # of Gaussian noise, whatever the adversary does
        return min(bound, gaussian_auc_bound(mu))

    def _release_anew(self, inside: Any, numbers: Any) -> list[Cells | Points]:
        """Let the run's mechanism release from those who are in, at the moments of some releases."""
        run, truth, section = self.run, self.truth, self.run.scenario.curator
        assert section is not None  # noqa: S101 - refused before
        mechanism, device = section.mechanism, run.scenario.device.mechanism
        series = mechanism.begin_series(len(numbers))
        noise = SimulatedNoise(self.rng)
        there = np.flatnonzero(inside)
        groups = getattr(mechanism, "group_shares", {})
        group = draw_groups(groups, self.rng.random(there.size)) if groups else None
        found: list[Cells | Points] = []
        for place, number in enumerate(numbers):
            x, y = device.report(truth.x_m[there, number], truth.y_m[there, number], rng=self.rng, region=run.region)
            snapshot = Snapshot(
                time_s=float(truth.times[number]),
                x_m=np.asarray(x),
                y_m=np.asarray(y),
                region=run.region,
                expected_workers=section.expected_workers or 1.0,
                neighbours=Neighbours(section.neighbours),
                counts=section.counts,
                who=there.astype(np.int64),
                group=group,
            )
            release = series.release(snapshot, noise, number=place)
            if release is not None:
                found.append(release)
        return found

    def _cut(self, targets: Any, inside: Any, earlier: Any, now: Any, drawn: Sequence[Any]) -> Background:
        truth, knows = self.truth, self.attack.knows
        traces = truth.traces(targets, now)
        if knows == (TRACES,):
            everybody = truth.traces(np.arange(len(truth.names)), now)
            return Background(traces=everybody)
        if knows == (PAST,):
            strangers = np.setdiff1d(np.arange(len(truth.names)), targets)
            if strangers.size < LEAST_PEOPLE:
                raise UsageError("'past' needs strangers to learn from: give fewer targets (people) than there are.")
            shared = min(len(earlier), len(now))
            return Background(traces=traces, past=truth.traces(strangers, earlier[:shared]))
        others = np.empty(traces.size)
        there, target_in = np.flatnonzero(inside), np.repeat(inside[targets], len(now))
        for place, release in enumerate(drawn):
            rows = np.flatnonzero(traces.release == place)
            cell = release.locate(truth.x_m[there, now[place]], truth.y_m[there, now[place]])
            counts = np.bincount(cell[cell >= 0], minlength=release.count.size)
            mine = release.locate(traces.x_m[rows], traces.y_m[rows])
            others[rows] = np.where(mine >= 0, counts[mine] - target_in[rows], 0)
        return Background(traces=traces, others=others)

    # --- synthetic trips --------------------------------------------------------------------------------------------

    def play_synthetic_membership(self) -> list[FoundScore]:
        """Make trips anew from a part of the people; another part is out, and a third is the reference."""
        from geodp.curator.publications import Records
        from geodp.tables.trajectories.table import Trajectories

        run, found = self.run, []
        items = [item for item in run.publications if "trajectories" in item.topics]
        trips, streets = run.trajectories, run.network
        people = np.unique(trips.person)
        if self.crowd is not None and people.size > self.crowd:
            people = np.sort(self.rng.choice(people, self.crowd, replace=False))
        if people.size < 5 * LEAST_PEOPLE:
            raise UsageError(
                f"{run.path}: {people.size} people with trips are too few: some are in, some are out, "
                "and some are the reference."
            )
        for item in items:
            samples: list[float] = []
            canaries = None
            most = min(int(getattr(self.attack, "people", people.size)), people.size)
            for _ in self._count_redraws():
                lot = self.rng.random(people.size)
                inside, aside = people[lot < 0.4], people[lot >= 0.8]
                judged = people[lot < 0.8][:most]
                records = Records(
                    run.region,
                    run.scenario.duration_s,
                    None,  # type: ignore[arg-type]
                    _no_visits,
                    lay_out_streets=None if streets is None else lambda: streets,
                )
                records.__dict__["_trajectories"] = trips.select(np.isin(trips.person, inside))
                published = item.plugin.publish(records, SimulatedNoise(self.rng))
                made = Trajectories.from_frame(published.released, run.region)
                names = np.asarray(trips.people, dtype=np.str_)
                whole = traces_of_trips(trips, by="person")
                view = AttackView(
                    run.region,
                    [],
                    publications=[type(see_trips(item))(item.kind, traces_of_trips(made))],
                    background=Background(
                        traces=whole.take(np.isin(whole.who, names[judged])),
                        past=whole.take(np.isin(whole.who, names[aside])),
                    ),
                )
                said = _findings_of(self.attack, view)
                if said.score is None or not said.size:
                    continue
                member = np.isin(said.target, names[inside])
                area = area_under_curve(said.score, member)
                if area is not None:
                    samples.append(area)
                    canaries = canaries or (said.score, member)
            bound = _trip_bound(item)
            found += self._member_scores(samples, most, people.size, item.name, bound)
            found += self._certify(canaries, item.name, None if bound is None else item.per_person.epsilon)
        return found

    # --- everything that is asked once ------------------------------------------------------------------------------

    def play_sybil(self) -> list[FoundScore]:
        """Play a malicious server against evenly spread people."""
        attack = self.attack
        assert isinstance(attack, Sybil)  # noqa: S101 - it was asked for
        outcomes = attack.play(self._view(Background()), int(self.rng.integers(2**31)))
        if not outcomes:
            return [
                self._make_score("found", "protocol", None, note="not scored: nobody says how many people there are")
            ]
        share, low, high, hits = share_of_people([one.named for one in outcomes])
        posts, paid = (float(np.mean([getattr(one, name) for one in outcomes])) for name in ("posts", "paid"))
        note = f"{posts:.0f} posts, {paid:.0f} paid on average"
        more: Any = {"targets": len(outcomes), "people": len(outcomes), "hits": hits}
        return [self._make_score("found", "protocol", share, low=low, high=high, chance=0.0, note=note, **more)]

    def _view(self, background: Background, renamed: dict[str, str] | None = None) -> AttackView:
        run = self.run
        releases = [add_law(run, release) for release in run.releases]
        if renamed is not None:
            releases = [_rename(release, renamed) for release in releases]
        trips = [see_trips(item) for item in run.publications if "trajectories" in item.topics]
        reads_offers = "offers" in self.attack.reads
        return AttackView(
            run.region,
            releases,
            () if renamed is not None else run.cell_reports,
            publications=trips,
            offers=see_offers(run) if reads_offers else None,
            laws=public_laws(run),
            background=background,
            start_s=run.scenario.start_s,
        )

    def play_once(self) -> list[FoundScore]:
        """Ask the attack once about the run as it stands."""
        about = self.attack.about
        if about == "identity":
            return self._play_identities()
        if about == "track":
            return self._play_tracks()
        if about == "pair":
            return self._play_pairs()
        return self._play_places()

    def _play_identities(self) -> list[FoundScore]:
        run, truth, attack = self.run, self.truth, self.attack
        points = [release for release in run.releases if isinstance(release, Points)]
        if not points:
            raise UsageError(f"{run.path}: {attack.kind} links traces, and nothing was released under pseudonyms.")
        people, releases = len(truth.names), np.arange(len(run.releases))
        if people < LEAST_PEOPLE:
            raise UsageError(f"{run.path}: of one person there is nobody to be told from.")
        fresh = np.array([f"trace {number:06d}" for number in self.rng.permutation(people)], dtype=np.str_)
        renamed = dict(zip(truth.names.tolist(), fresh.tolist(), strict=True))
        if PAST in attack.knows:
            if len(releases) < 2 * LEAST_PEOPLE:
                raise UsageError(f"{run.path}: 'past' needs an earlier period: {len(releases)} releases are too few.")
            earlier = releases[: len(releases) // 2]
            view = self._view(Background(past=truth.traces(np.arange(people), earlier)), renamed)
            view = _from(view, len(earlier))
            answer = {fresh_name: name for name, fresh_name in renamed.items()}
        else:
            background, answer = self._draw_points(people, releases), renamed
            view = self._view(background, renamed)
        found = _findings_of(attack, view)
        targets = sorted(answer)[: int(getattr(attack, "people", people))]
        known = view.background.points
        if known is not None:
            targets = known.people.tolist()
        rights, alone, fives = score_identities(found, answer, targets)
        of = {"targets": len(targets), "people": people}
        only, low, high, hits = share_of_people(alone)
        five, five_low, five_high, five_hits = share_of_people(fives)
        chance = 1 / people
        right = average_repeats(rights.tolist())
        note = f"{len(targets)} of {people} people" if len(targets) < people else ""
        rows = [
            self._make_score(
                "right", "reports", right.value, low=right.low, high=right.high, chance=chance, note=note, **of
            ),
            self._make_score("unique", "reports", only, low=low, high=high, chance=chance, hits=hits, **of),
        ]
        if PAST in attack.knows:
            rows.append(
                self._make_score(
                    "top5",
                    "reports",
                    five,
                    low=five_low,
                    high=five_high,
                    chance=min(1.0, 5 / people),
                    hits=five_hits,
                    **of,
                )
            )
        return rows

    def _draw_points(self, people: int, releases: Any) -> Background:
        truth, number = self.truth, int(getattr(self.attack, "points", 4))
        if number > len(releases):
            raise UsageError(
                f"{self.run.path}: {number} points of each target are to be known, and there are "
                f"{len(releases)} moments."
            )
        most = min(int(getattr(self.attack, "people", 500)), people)
        targets = np.sort(self.rng.choice(people, most, replace=False))
        rows = [
            truth.traces(np.array([who]), np.sort(self.rng.choice(len(releases), number, replace=False)))
            for who in targets
        ]
        return Background(points=_join(rows))

    def _play_tracks(self) -> list[FoundScore]:
        truth, run = self.truth, self.run
        cells = [release for release in run.releases if isinstance(release, Cells)]
        found = _findings_of(self.attack, self._view(Background()))
        if not found.size or found.x_m is None or len(cells) < LEAST_PEOPLE:
            return [
                self._make_score(
                    "hours_right", "releases", None, note="not scored: counts of the same cells over time are needed"
                )
            ]
        first = cells[0]
        half = float(np.median(first.east_m - first.west_m)) / 2
        snapped = _snap(truth, cells)
        right = score_tracks(found, snapped, half * 0.5)
        x, y = (np.stack([place[axis] for place in snapped.values()]) for axis in (0, 1))
        order = [self.rng.permutation(len(x)) for _ in range(x.shape[1])]
        shuffled = Findings.about_places(
            np.repeat(np.array([f"s{n}" for n in range(len(x))]), x.shape[1]),
            np.stack([x[rows, at] for at, rows in enumerate(order)], axis=1).ravel(),
            np.stack([y[rows, at] for at, rows in enumerate(order)], axis=1).ravel(),
        )
        chance = score_tracks(shuffled, snapped, half * 0.5)
        return [self._make_score("hours_right", "releases", right, chance=chance, targets=len(x), people=len(x))]

    def _play_pairs(self) -> list[FoundScore]:
        run = self.run
        found = _findings_of(self.attack, self._view(Background()))
        mobility = run.scenario.workers.mobility
        if not isinstance(mobility, Companions):
            note = f"not scored: nobody is said to move with anybody; {found.size:,} pairs were weighed"
            return [self._make_score("auc", "reports", None, chance=0.5, note=note)]
        first = run.positions.drop_duplicates("who")
        household = mobility.list_households(run.workers)[first["worker"].to_numpy(dtype=np.int64)]
        of = dict(zip(first["who"].astype(str), household.tolist(), strict=True))
        if found.score is None or found.who is None:
            return [self._make_score("auc", "reports", None, chance=0.5, note="not scored: there are no pairs")]
        together = np.array(
            [of.get(str(one), -1) == of.get(str(other), -2) for one, other in zip(found.target, found.who, strict=True)]
        )
        area, pairs = area_under_curve(found.score, together), int(together.sum())
        if area is None:
            note = "not scored: of these people none move together, or all do"
            return [self._make_score("auc", "reports", None, chance=0.5, note=note)]
        spread = spread_of_area(found.score, together)
        best = np.argsort(-found.score, kind="stable")[:pairs]
        share, low, high, hits = share_of_people(together[best])
        of_pairs: dict[str, Any] = {"targets": pairs, "people": found.size}
        return [
            self._make_score(
                "auc",
                "reports",
                area,
                low=max(0.0, area - 1.96 * spread),
                high=min(1.0, area + 1.96 * spread),
                chance=0.5,
                note="two who move together have twice the ε of one",
                **of_pairs,
            ),
            self._make_score(
                "right", "reports", share, low=low, high=high, chance=pairs / found.size, hits=hits, **of_pairs
            ),
        ]

    def _play_places(self) -> list[FoundScore]:
        run, attack = self.run, self.attack
        background = Background(streets=run.network if STREETS in attack.knows else None)
        answer = attack.guess(self._view(background))
        if isinstance(answer, Guesses):
            return self._score_guesses(answer)
        return [*self._score_places(answer), *self._score_by_days(background)]

    def _score_by_days(self, background: Background) -> list[FoundScore]:
        """Return how many homes are found after some days of reports, and what those cost."""
        run, found = self.run, []
        view = self._view(background)
        days = math.ceil(run.scenario.duration_s / _DAY_S)
        if not isinstance(self.attack, HomeWork) or days < LEAST_PEOPLE or view.exact:
            return []
        for few in sorted({1, 7, 30, 63} & set(range(1, days))):
            some = [release for release in view.releases if release.time_s < few * _DAY_S]
            answer = self.attack.guess(replace(view, releases=some))
            if isinstance(answer, Findings) and answer.size:
                spent = sum(float(release.guarantee.epsilon) for release in some)
                label = f"after {few} day{'s' if few > 1 else ''}: {len(some)} reports, ε = {spent:.3g} per metre"
                scores = [one for one in self._score_places(answer) if one.score == "hit_rate"]
                found += [replace(one, release=label, note="") for one in scores]
        return found

    def _score_places(self, answer: Findings) -> list[FoundScore]:
        """Hold guesses against where people mostly were."""
        run, truth = self.run, self.truth
        if not answer.size or answer.x_m is None or answer.y_m is None:
            return [self._make_score("error_m", "reports", None, note="not scored: nobody could be guessed at")]
        owner = owners_of_names(run, answer.target)
        known = np.isin(owner, truth.names)
        row = np.searchsorted(truth.names, owner[known])
        x, y = self._find_places(row, answer.release[known])
        guess_x, guess_y = answer.x_m[known], answer.y_m[known]
        self._keep_places(owner[known], guess_x, guess_y, x, y)
        error = np.hypot(guess_x - x, guess_y - y)
        west, south, east, north = run.region.box_m
        blind = np.hypot((west + east) / 2 - x, (south + north) / 2 - y)
        return self._place_scores(error, blind, len(truth.names))

    def _keep_places(self, who: Any, guess_x_m: Array, guess_y_m: Array, x_m: Array, y_m: Array) -> None:
        import pandas as pd

        if not self.places:  # the guess from all there is comes first
            columns = {"who": who, "x_m": guess_x_m, "y_m": guess_y_m, "true_x_m": x_m, "true_y_m": y_m}
            self.places.append(pd.DataFrame({"attack": self.attack.kind, **columns}))

    def _find_places(self, row: Any, release: Any) -> tuple[Array, Array]:
        """Return what guesses are held against: where she mostly was at the hours that are meant."""
        truth, attack = self.truth, self.attack
        moment = truth.times + self.run.scenario.start_s
        hour, day = moment % 86_400 / 3600, np.floor(moment / 86_400)
        meant = np.ones(moment.size, dtype=np.bool_)
        if isinstance(attack, HomeWork):
            chosen = is_night(hour) if attack.place == "home" else is_work(hour, day + attack.first_weekday)
            meant = chosen if chosen.any() else meant
        if (release >= 0).all() and release.size:
            return truth.x_m[row, release], truth.y_m[row, release]
        return np.median(truth.x_m[row][:, meant], axis=1), np.median(truth.y_m[row][:, meant], axis=1)

    def _score_guesses(self, answer: Guesses) -> list[FoundScore]:
        scored = score_guesses(answer, self.run.positions, self.attack.hit_radius_m)
        rows = []
        for _, part in scored.groupby("method", sort=False):
            person = part.groupby("who")[["error_m", "prior_error_m"]].mean()
            near = part["prior_error_m"] <= self.attack.hit_radius_m
            rows += self._place_scores(
                person["error_m"].to_numpy(),
                person["prior_error_m"].to_numpy(),
                len(person),
                hit=part.groupby("who")["hit"].mean().to_numpy(),
                blind_hit=np.asarray(near.groupby(part["who"]).mean(), dtype=np.float64),
            )
            break  # the first method is the attack's own
        return rows or [self._make_score("error_m", "releases", None, note="not scored: nobody could be guessed at")]

    def _place_scores(
        self, error: Array, blind: Array, people: int, hit: Array | None = None, blind_hit: Array | None = None
    ) -> list[FoundScore]:
        if not error.size:
            return [
                self._make_score("error_m", "releases", None, note="not scored: nobody who was guessed at is known")
            ]
        radius = self.attack.hit_radius_m
        near, far = (error <= radius, blind <= radius) if hit is None else (hit, blind_hit)
        measured = average_repeats(error.tolist())
        of: dict[str, Any] = {"targets": error.size, "people": people}
        share = average_repeats(np.asarray(near, dtype=float).tolist())
        low, high, hits = share.low, share.high, None
        if hit is None:
            _, low, high, hits = share_of_people(error <= radius)
        chance = float(np.mean(far)) if far is not None else None
        return [
            self._make_score(
                "error_m",
                "releases",
                measured.value,
                low=measured.low,
                high=measured.high,
                chance=float(blind.mean()),
                **of,
            ),
            self._make_score(
                "hit_rate",
                "releases",
                share.value,
                low=low,
                high=high,
                chance=chance,
                hits=hits,
                within_m=radius,
                note=self._flat_bound(),
                **of,
            ),
        ]

    def _flat_bound(self) -> str:
        """Say what one report alone would allow on a flat prior, where phones add planar Laplace noise."""
        first = next((release for release in self.run.releases if isinstance(release, Points)), None)
        rate = None if first is None else getattr(add_law(self.run, first), "channel", None)
        epsilon = getattr(rate, "epsilon_per_m", None)
        if epsilon is None:
            return ""
        return f"one report on a flat prior: at most {planar_hit_bound(float(epsilon), self.attack.hit_radius_m):.3f}"


def _findings_of(attack: Attack, view: AttackView) -> Findings:
    found = attack.guess(view)
    if isinstance(found, Findings):
        return found
    raise UsageError(f"{attack.kind} is about {attack.about}: its guess(view) must return Findings.")


def _no_visits() -> Any:
    raise UsageError("a publication of trips asked for visits.")


def _trip_bound(item: PublishedRun) -> float | None:
    """Return the bound on telling a person's membership, where what a person costs is bounded."""
    cost = item.per_person
    return auc_bound(cost.epsilon, cost.delta) if cost.holds and item.guarantee.holds else None


def _rename(release: Any, renamed: dict[str, str]) -> Any:
    """Return reports under fresh pseudonyms, in their order; whoever was not sampled is left out."""
    if not isinstance(release, Points):
        return release
    kept = np.flatnonzero([name in renamed for name in release.who])
    some = release.take(kept)
    fresh = np.array([renamed[name] for name in some.who], dtype=np.str_)
    order = np.argsort(fresh)
    return replace(some.take(order), who=fresh[order])


def _from(view: AttackView, first: int) -> AttackView:
    return replace(view, releases=list(view.releases)[first:])


def _join(parts: Sequence[Traces]) -> Traces:
    names = ("who", "time_s", "x_m", "y_m", "place", "release")
    return Traces(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _snap(truth: Truth, cells: Sequence[Cells]) -> dict[str, tuple[Array, Array]]:
    """Return the middles of the cells that people were in, release by release."""
    columns = []
    for number, release in enumerate(cells):
        cell = release.locate(truth.x_m[:, number], truth.y_m[:, number])
        x, y = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
        columns.append((np.where(cell >= 0, x[cell], np.nan), np.where(cell >= 0, y[cell], np.nan)))
    x, y = (np.stack([column[axis] for column in columns], axis=1) for axis in (0, 1))
    return {str(name): (x[row], y[row]) for row, name in enumerate(truth.names)}
