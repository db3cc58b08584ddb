"""What the server's whole view gives away about one person: an estimate, with no claim to hold it against.

Releases are differentially private, the protocol is not: who takes a task depends on where people truly are. The in/out
game of the releases is played on, with the offers of the run: each canary stays in her place for the whole run and
answers like anybody else; releases, answers and picks are drawn anew for every trial. The attacker knows everybody
else's place and willingness. Offers are worked out from releases and outcomes, so they add nothing of their own.

The server sees of every offer that nobody took it, that somebody did, or that the canary did. Given everybody else, a
worker who accepts with probability θ makes "nobody" less likely by a factor of 1 - θ. If M others accept, she is
picked with probability θ·E[1/(M+1)]. Where a secret draw decides who is asked of those inside, she is asked with chance
π and then displaces somebody who accepts with probability θ' on average: "nobody" changes by 1 - π + π(1 - θ)/(1 - θ').
Where phones thin out, nobody is displaced: 1 - πθ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.audit.auditor import PairSamples, require_sound
from geodp.audit.events import scan_events
from geodp.audit.run_audit import Trials, ledger_spend, play
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.acceptance import Acceptance
from geodp.public.events import Kind, Reason
from geodp.public.release import Cells, Points
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


@dataclass(frozen=True)
class ServerViewEstimate:
    """How well the server could tell whether a person takes part. No epsilon is claimed for this view."""

    name: str
    samples: int
    """Trials with the canary in, and as many with her out."""
    confidence: float
    releases: int
    """Releases in the view (0: none of a curator; then outcomes alone are judged)."""
    ledger_epsilon: float
    """What the ledger charged for the releases: it bounds their part, and nothing else."""
    offers: int
    certified: float
    """Lower bound on the epsilon of the whole view, those included who took a task and so gave their name."""
    certified_unnamed: float
    """The same for those who took no task: of events that name nobody, against her absence."""
    upper_unnamed: float | None
    """Upper bound on the same: the ledger's account of the releases, and of each offer that reaches the worst place
    -ln(1 - ceiling), or what the ledger charged for refusal (None: one who accepts for certain has no bound)."""
    upper_promised: bool
    """Whether the upper bound is promised: then it is in the ledger, whatever people do."""
    worst_offers: int
    """Offers that reach the place that most of them reach."""
    certified_releases: float
    """The same from the releases alone."""
    named_share: float
    """Canaries who were picked for a task: they disclose by consent."""
    outcome_nats_mean: float
    """Mean evidence of the outcomes about a canary who took no task, in nats."""
    outcome_nats_max: float
    """The strongest such evidence in any trial."""
    guess_right: float
    """Share of right guesses of in or out by somebody who knows everything else (0.5 is a coin)."""
    assumes: str
    """What was simplified."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; there is no claim, hence nothing to refute."""
        values = asdict(self)
        taken = {name: values.pop(name) for name in ("name", "samples", "confidence", "certified")}
        return {
            "kind": taken["name"],
            "view": "server",
            "claimed": None,
            "certified": taken["certified"],
            "refuted": False,
            "samples": taken["samples"],
            "confidence": taken["confidence"],
            "pairs": [],
            "leakage": values,
        }

    def text(self) -> str:
        """Say the estimate in a few lines."""
        seen = f"the outcomes of {self.offers} offers"
        if self.releases:
            seen = f"{self.releases} releases (ledger: ε = {self.ledger_epsilon:g}) and {seen}"
        lines = [
            f"{self.name}: the server's whole view, in/out game with N = {self.samples} canaries on either side",
            f"  seen       {seen}",
            "  claimed    nothing: releases have a guarantee, the protocol has none. This is an estimate",
            f"  certified  ε ≥ {self.certified:.4g} for the whole view ({self.confidence:.6g} confidence)",
            f"             {self.say_both_ends()} for those who took no task",
            f"             ε ≥ {self.certified_releases:.4g} from the releases alone",
            f"  outcomes   {self.outcome_nats_mean:.3g} nats on average, {self.outcome_nats_max:.3g} at most, about "
            "somebody who took no task",
            f"  named      {self.named_share:.1%} took a task and gave their name",
            f"  upper end  {self._upper_text()}",
            f"  guessing   right in {self.guess_right:.1%} of the cases, knowing everything else (a coin: 50 %)",
            f"  assumed    {self.assumes}",
        ]
        return "\n".join(lines)

    def say_both_ends(self) -> str:
        """Say both ends for those who took no task."""
        upper = "∞" if self.upper_unnamed is None else f"{self.upper_unnamed:.4g}"
        return f"{self.certified_unnamed:.4g} ≤ ε ≤ {upper}"

    def _upper_text(self) -> str:
        if self.upper_promised:
            return "promised: what the ledger charged for releases and refusal, whatever people do"
        if self.upper_unnamed is None:
            return "none: somebody near a task accepts for certain"
        return (
            f"measured, not promised: {self.worst_offers} offers reach the worst place, and nobody accepts more often "
            "than the model's ceiling"
        )


def estimate_server_view(
    run: RunFolder, *, samples: int = 100_000, confidence: float = 0.95, seed: int = 0
) -> ServerViewEstimate:
    """Play the in/out game on everything the server sees of a run."""
    require_sound(samples, confidence)
    streams = Streams(seed)
    rng = streams.generator("audit.server.canaries")
    central = run.scenario.curator is not None and any(isinstance(release, Cells) for release in run.releases)
    noise = SimulatedNoise(streams.generator("audit.server.noise"))
    trials = play(run, rng, noise, samples) if central else _nowhere_released(run, rng, samples)
    offers = DecidedOffers.of(run)
    outcomes, named = offers.meet(trials.x_m, trials.y_m, trials.inside, streams.generator("audit.server.outcomes"))
    inside, said = trials.inside, trials.log_ratio + outcomes
    view = np.column_stack([trials.log_ratio, outcomes])
    quiet = ~named
    alpha = (1 - confidence) / 3  # three bounds are printed side by side
    whole = _certify(view[inside], view[~inside], said[inside], said[~inside], alpha)
    worst = find_worst_places(offers, run.region, streams.generator("audit.server.places"))
    share = alpha / (1 + len(worst))  # places share the error probability
    unnamed_view = certify_joint(said[inside], named[inside], said[~inside], alpha=share)
    for place in worst:
        played = _play_at(offers, place, samples, streams.generator("audit.server.worst"))
        unnamed_view = max(unnamed_view, certify_joint(*played, alpha=share))
    released = trials.log_ratio
    alone = _certify(released[inside], released[~inside], released[inside], released[~inside], alpha)
    evidence = np.abs(outcomes[quiet])
    spent = ledger_spend(run, metric=False)
    most, protocol = offers.bound_at(worst)
    promised = refusal_spend(run)
    upper = protocol if promised is None else promised
    return ServerViewEstimate(
        name=str(run.manifest.get("name", run.path.name)),
        samples=int(min(inside.sum(), (~inside).sum())),
        confidence=confidence,
        releases=sum(isinstance(release, Cells) for release in run.releases),
        ledger_epsilon=spent,
        offers=int(offers.x_m.size),
        certified=max(whole, unnamed_view),
        certified_unnamed=unnamed_view,
        upper_unnamed=spent + upper if np.isfinite(upper) else None,
        upper_promised=promised is not None,
        worst_offers=most,
        certified_releases=alone,
        named_share=float(named[inside].mean()),
        outcome_nats_mean=float(evidence.mean()),
        outcome_nats_max=float(evidence.max(initial=0.0)),
        guess_right=_guess_right(said, inside),
        assumes=_assumptions(run, central=central),
    )


WORST_PLACES = 3
_PLACES_TRIED = 20_000
_APART_M = 200.0


def find_worst_places(offers: DecidedOffers, region: Region, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return the places, 200 m apart, at which "nobody" of all offers together says most against a person.

    Looked for among the places of the tasks, and many drawn evenly.
    """
    if not offers.x_m.size:
        return []
    x, y = region.sample(_PLACES_TRIED, rng)
    x, y = np.concatenate([offers.x_m, x]), np.concatenate([offers.y_m, y])
    nats = offers.sum_refusals(x, y)
    found: list[tuple[float, float]] = []
    for place in np.argsort(-nats, kind="stable"):
        if nats[place] <= 0 or len(found) == WORST_PLACES:
            break
        if all(np.hypot(x[place] - east, y[place] - north) >= _APART_M for east, north in found):
            found.append((float(x[place]), float(y[place])))
    return found


def _play_at(
    offers: DecidedOffers, place: tuple[float, float], samples: int, rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.bool_], Array]:
    """Play the game of outcomes alone at one place: evidence with her in, whether she was named, evidence without."""
    x, y = (np.full(2 * samples, coordinate) for coordinate in place)
    inside = np.arange(2 * samples) < samples
    said, named = offers.meet(x, y, inside, rng)
    return said[inside], named[inside], said[~inside]


def certify_joint(with_: Array, named: npt.NDArray[np.bool_], without: Array, *, alpha: float) -> float:
    """Certify epsilon by joint events: "in, not named, and E" against "out, and E".

    Not being named is evidence itself, so it belongs to the event: trials in which she was named count, and are in no
    event.
    """
    above = scan_events(np.where(named, -np.inf, with_), without, alpha=alpha / 2, delta=0.0)
    below = scan_events(np.where(named, np.inf, with_), without, alpha=alpha / 2, delta=0.0)
    found = [one.certified for one in above if one.favours == "with"]
    found += [one.certified for one in below if one.favours == "without"]
    return max(found, default=0.0)


def refusal_spend(run: RunFolder) -> float | None:
    """Return what the ledger charged for randomised refusal over the run (None: the phones do not refuse by lot)."""
    rows = run.ledger
    rows = rows[rows["unit"].astype(str) == "interaction"]
    return None if rows.empty else float(rows["epsilon"].sum())


def _certify(with_: Array, without: Array, scores: Array, other_scores: Array, alpha: float) -> float:
    samples = PairSamples(with_, without, (scores, other_scores), threshold=1.0)
    findings, _ = samples.findings(alpha=alpha)
    return max(finding.certified for finding in findings)


def _guess_right(said: Array, inside: npt.NDArray[np.bool_]) -> float:
    """Return how often the likelihood-ratio rule is right, in and out weighing the same; a tie is half right."""
    right = np.where(said == 0, 0.5, (said > 0) == inside)
    return float((right[inside].mean() + right[~inside].mean()) / 2)


def _nowhere_released(run: RunFolder, rng: np.random.Generator, samples: int) -> Trials:
    """Return trials in which no release says anything: canaries anywhere in the region."""
    x, y = run.region.sample(2 * samples, rng)
    nothing = np.zeros(2 * samples)
    return Trials(np.arange(2 * samples) < samples, nothing[:, None], nothing, x, y)


def _assumptions(run: RunFolder, *, central: bool) -> str:
    parts = ["canaries stay in one place, spread evenly over the region", "offers and everybody else as in the run"]
    if run.scenario.server.mode == "worker_selected":
        parts.append("every posted task within reach counts as looked at, which overstates the outcomes")
    if "most_recipients" in run.offers and run.offers["most_recipients"].notna().any():
        parts.append("those asked under a maximum number of recipients are taken to be alike, all rounds together")
    if find_addressed(run).any():
        parts.append("offers to phones by name are left out")
    if any(isinstance(release, Points) for release in run.releases) and central:
        parts.append("cloaks are left out: they name whoever is there, and no ε is claimed for them")
    if not central:
        parts.append("phones' own reports are left out: they hide the place, not the person; see their own account")
    return "; ".join(parts)


AVAILABLE = (Reason.UNWILLING, Reason.MUTED, Reason.PICKED, Reason.NOT_PICKED)
"""Reasons in the event log of those who could have come; the busy, far and underpaid could not."""


@dataclass(frozen=True)
class DecidedOffers:
    """The last offer of every task that was decided, with the chances of everybody who was asked."""

    x_m: Array
    y_m: Array
    radius_m: Array
    reward: Array
    nobody: Array
    """Probability that no one accepts, Π(1 - θ)."""
    share: Array
    """E[1/(M+1)]: the probability that one more acceptor is the one who is picked."""
    acceptance: Acceptance
    regions: tuple[Array, ...] | None = None
    """Rectangles of each offer, where offers go to regions instead of circles."""
    asked_share: Array | None = None
    """π: chance that one more person inside is asked (None: 1 everywhere)."""
    displaced: Array | None = None
    """1/(1 - θ') where she displaces somebody, else 1 (None: 1 everywhere)."""
    one_place: Array | None = None
    """Chance that she takes the place of one certain person among those asked: 1/(n + 1) of n, 0 without a cap."""

    @classmethod
    def of(cls, run: RunFolder) -> DecidedOffers:
        """Read the offers and the chances of those who were asked from a run folder."""
        import pandas as pd

        offers = run.offers
        made = offers[(offers["unreachable"].fillna("") == "") & ~find_addressed(run)]
        made = made.sort_values(["task", "round"], kind="stable")
        last = made.drop_duplicates("task", keep="last").set_index("task")
        decided = run.tasks.index[run.tasks["outcome"].isin(["success", "failure"])]
        last = last[last.index.isin(decided)]
        events = run.events
        asked = events[events["kind"].isin([Kind.REFUSAL, Kind.ACCEPTANCE]) & events["reason"].isin(AVAILABLE)]
        asked = asked[asked["time_s"] >= asked["task"].map(last["time_s"])]
        row = np.asarray(last.index.get_indexer(pd.Index(asked["task"])), dtype=np.intp)
        acceptance, refusal = run.scenario.workers.acceptance, run.scenario.protocol.refusal
        if refusal is not None:
            acceptance = acceptance.mute(refusal.mute)
        reward = last["reward"].to_numpy(dtype=np.float64) / run.scenario.tasks.workers_per_task
        eagerness = acceptance.eagerness(run.workers, Streams(run.scenario.seed).generator("world.eagerness"))
        chance = acceptance.probability(
            reward[row], asked["value"].to_numpy(), 1.0 if eagerness is None else eagerness[asked["worker"].to_numpy()]
        )
        x, y, radius = (last[name].to_numpy(dtype=np.float64) for name in ("x_m", "y_m", "radius_m"))
        regions = _regions(last) if "region" in last else None
        others = chances_of_others(row, chance, len(last))
        cap = _cap_effects(run, last, *others)
        return cls(
            x_m=x,
            y_m=y,
            radius_m=radius,
            reward=reward,
            nobody=cap.nobody,
            share=cap.share,
            acceptance=acceptance,
            regions=regions,
            asked_share=cap.asked_share,
            displaced=cap.displaced,
            one_place=cap.one_place,
        )

    def find_reached(self, x_m: Array, y_m: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
        """Return which offer reaches which canary, and at what distance."""
        if self.regions is None:
            return range_join(x_m, y_m, self.x_m, self.y_m, self.radius_m)
        owner = np.repeat(np.arange(len(self.regions)), [len(region) for region in self.regions])
        number, canary = rectangle_join(x_m, y_m, np.concatenate([np.empty((0, 4)), *self.regions]))
        pair = np.unique(owner[number] * x_m.size + canary)  # once, also where rectangles share an edge
        offer, canary = pair // x_m.size, pair % x_m.size
        return offer, canary, np.hypot(x_m[canary] - self.x_m[offer], y_m[canary] - self.y_m[offer])

    def sum_refusals(self, x_m: Array, y_m: Array) -> Array:
        """Return what "nobody took it", said of every offer, says against somebody at each place, in nats."""
        offer, place, distance = self.find_reached(x_m, y_m)
        asked = 1.0 if self.asked_share is None else self.asked_share[offer]
        chance = self.acceptance.probability(self.reward[offer], distance)
        with np.errstate(divide="ignore"):
            nats = np.bincount(place, weights=-np.log1p(-asked * chance), minlength=x_m.size)
        return np.asarray(nats, dtype=np.float64)

    def bound_at(self, places: Sequence[tuple[float, float]]) -> tuple[int, float]:
        """Return how many offers reach the worst place, and -ln(1 - ceiling) of them all, in nats.

        Under a cap she may also take the place of who wins: such a transcript gets less likely by 1 - πθ - 1/(n + 1).
        """
        if not self.x_m.size:
            return 0, 0.0
        x = np.concatenate([[place[0] for place in places], self.x_m])
        y = np.concatenate([[place[1] for place in places], self.y_m])
        offer, place, _ = self.find_reached(x, y)
        ceiling = self.acceptance.probability(self.reward[offer], np.zeros(offer.size))
        if self.asked_share is not None and self.one_place is not None:
            ceiling = np.maximum(ceiling, self.asked_share[offer] * ceiling + self.one_place[offer])
        with np.errstate(divide="ignore"):
            nats = np.bincount(place, weights=-np.log1p(-np.minimum(ceiling, 1.0)), minlength=x.size)
        reached = np.bincount(place, minlength=x.size)
        worst = int(np.argmax(nats))
        return int(reached[worst]), float(nats[worst])

    def meet(
        self, x_m: Array, y_m: Array, inside: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Draw the outcome of every offer again for canaries at these places, each in a world of her own.

        Returns what the outcomes say for "in", in nats (infinite for a canary who was picked: the server has her name),
        and who was picked.
        """
        offer, canary, distance = self.find_reached(x_m, y_m)
        chance = self.acceptance.probability(self.reward[offer], distance)
        nobody, share = self.nobody[offer], self.share[offer]
        asked = 1.0 if self.asked_share is None else self.asked_share[offer]
        displaced = 1.0 if self.displaced is None else self.displaced[offer]
        factor = np.minimum(1 - asked + asked * (1 - chance) * displaced, 1 / np.maximum(nobody, 1e-300))
        with np.errstate(divide="ignore"):
            refusal = np.log(factor)
        somebody = np.maximum(1 - nobody * factor - asked * chance * share, 0.0)
        present = inside[canary]
        picks, empties = np.where(present, asked * chance * share, 0.0), nobody * np.where(present, factor, 1.0)
        draw = rng.random(offer.size)
        picked, empty = draw < picks, (draw >= picks) & (draw < picks + empties)
        with np.errstate(divide="ignore", invalid="ignore"):
            taken = np.where(nobody < 1, np.log(somebody / (1 - nobody)), 0.0)
        said = np.where(empty, refusal, np.where(picked, 0.0, taken))
        log_ratio = np.bincount(canary, weights=said, minlength=x_m.size)
        chosen = np.bincount(canary[picked], minlength=x_m.size) > 0
        return np.where(chosen, np.inf, log_ratio), chosen


@dataclass(frozen=True)
class _CapEffects:
    """What a cap, or phones that thin out, make of offers; rows of others are as without."""

    nobody: Array
    share: Array
    asked_share: Array
    displaced: Array
    one_place: Array


def _cap_effects(run: RunFolder, offers: pd.DataFrame, nobody: Array, share: Array) -> _CapEffects:
    """Return the chances of capped and thinned offers, all their rounds together.

    The event log knows those who were asked until somebody accepted; the chance that nobody of all rounds does is kept
    with the truth of first offers. Of the K people of all rounds nobody is told apart, so each accepts with the mean
    θ' = 1 - nobody^(1/K), and one more acceptor is picked with chance E[1/(M+1)] = (1 - (1 - θ')^(K+1))/((K+1)θ').
    """
    asked_share, displaced = np.ones(len(offers)), np.ones(len(offers))
    truth = run.offer_truth.reindex(offers.index)
    if truth.empty or "most_recipients" not in offers:
        return _CapEffects(nobody, share, asked_share, displaced, np.zeros(len(offers)))
    thinned = offers["phones_share"].to_numpy(dtype=np.float64)
    capped = offers["most_recipients"].notna().to_numpy()
    known = (
        (capped | np.isfinite(thinned)) & (offers["round"].to_numpy() == 0) & truth["asked_workers"].notna().to_numpy()
    )
    people = np.where(known, truth["asked_workers"].to_numpy(dtype=np.float64), 0.0)
    nobody = np.where(known, 1 - truth["expected_success"].to_numpy(dtype=np.float64), nobody)
    mean = np.where(people > 0, -np.expm1(np.log(np.maximum(nobody, 1e-300)) / np.maximum(people, 1.0)), 0.0)
    picked = -np.expm1((people + 1) * np.log1p(-np.minimum(mean, 1 - 1e-12))) / np.maximum((people + 1) * mean, 1e-300)
    share = np.where(known, np.where(mean > 0, picked, 1.0), share)
    idle = truth["idle_workers"].to_numpy(dtype=np.float64)
    full = known & capped & (idle > people)  # else everyone inside is asked, and one more would be, too
    asked_share = np.where(np.isfinite(thinned), thinned, np.where(full, people / (idle + 1), 1.0))
    displaced = np.where(full, 1 / np.maximum(1 - mean, 1e-12), displaced)
    return _CapEffects(nobody, share, asked_share, displaced, np.where(full, 1 / (idle + 1), 0.0))


def _regions(offers: pd.DataFrame) -> tuple[Array, ...]:
    return tuple(np.asarray(region, dtype=np.float64).reshape(-1, 4) for region in offers["region"])


def find_addressed(run: RunFolder) -> npt.NDArray[np.bool_]:
    """Tell which offers went to phones by name: one more phone in the circle would not have been asked."""
    offers = run.offers
    if "recipients" not in offers:
        return np.zeros(len(offers), dtype=np.bool_)
    return np.asarray(offers["recipients"].notna(), dtype=np.bool_)


def chances_of_others(row: npt.NDArray[np.intp], chance: Array, offers: int) -> tuple[Array, Array]:
    """Return Π(1 - θ) and E[1/(M+1)] = ∫₀¹ Π(1 - θ + θs) ds of each offer, the integral by Gauss-Legendre."""
    with np.errstate(divide="ignore"):
        nobody = np.exp(np.bincount(row, weights=np.log1p(-chance), minlength=offers))
    share = np.zeros(offers)
    for node, weight in zip(*np.polynomial.legendre.leggauss(32), strict=True):
        s = (node + 1) / 2
        share += weight / 2 * np.exp(np.bincount(row, weights=np.log1p(-chance * (1 - s)), minlength=offers))
    return nobody, share
