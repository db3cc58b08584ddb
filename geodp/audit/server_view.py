"""What the server's whole view gives away about one person: an estimate, with no claim to hold it against.

Releases are differentially private, the protocol is not: who takes a task depends on where people truly are. The in/out
game of the releases is played on, with the offers of the run: each canary stays in her place for the whole run and
answers like anybody else; releases, answers and picks are drawn anew for every trial. The attacker knows everybody
else's place and willingness. Offers are worked out from releases and outcomes, so they add nothing of their own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.audit.auditor import PairSamples, require_sound
from geodp.audit.canaries import Trials, play
from geodp.audit.certify import Array
from geodp.audit.interaction import DecidedOffers, addressed
from geodp.audit.run_audit import ledger_spend
from geodp.privacy.noise import SimulatedNoise
from geodp.public.release import Cells
from geodp.streams import Streams

if TYPE_CHECKING:
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
    """The same for canaries who took no task."""
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
            f"             ε ≥ {self.certified_unnamed:.4g} for those who took no task",
            f"             ε ≥ {self.certified_releases:.4g} from the releases alone",
            f"  outcomes   {self.outcome_nats_mean:.3g} nats on average, {self.outcome_nats_max:.3g} at most, about "
            "somebody who took no task",
            f"  named      {self.named_share:.1%} took a task and gave their name",
            f"  guessing   right in {self.guess_right:.1%} of the cases, knowing everything else (a coin: 50 %)",
            f"  assumed    {self.assumes}",
        ]
        return "\n".join(lines)


def estimate_server_view(
    run: RunFolder, *, samples: int = 100_000, confidence: float = 0.95, seed: int = 0
) -> ServerViewEstimate:
    """Play the in/out game on everything the server sees of a run."""
    require_sound(samples, confidence)
    streams = Streams(seed)
    rng = streams.generator("audit.server.canaries")
    central = any(isinstance(release, Cells) for release in run.releases)
    noise = SimulatedNoise(streams.generator("audit.server.noise"))
    trials = play(run, rng, noise, samples) if central else _nowhere_released(run, rng, samples)
    offers = DecidedOffers.of(run)
    outcomes, named = offers.meet(trials.x_m, trials.y_m, trials.inside, streams.generator("audit.server.outcomes"))
    inside, said = trials.inside, trials.log_ratio + outcomes
    view = np.column_stack([trials.log_ratio, outcomes])
    quiet = ~named
    alpha = (1 - confidence) / 3  # three bounds are printed side by side
    whole = _certified(view[inside], view[~inside], said[inside], said[~inside], alpha)
    unnamed = inside & quiet
    unnamed_view = _certified(view[unnamed], view[~inside], said[unnamed], said[~inside], alpha)
    released = trials.log_ratio
    alone = _certified(released[inside], released[~inside], released[inside], released[~inside], alpha)
    evidence = np.abs(outcomes[quiet])
    return ServerViewEstimate(
        name=str(run.manifest.get("name", run.path.name)),
        samples=int(min(inside.sum(), (~inside).sum())),
        confidence=confidence,
        releases=sum(isinstance(release, Cells) for release in run.releases),
        ledger_epsilon=ledger_spend(run, metric=False),
        offers=int(offers.x_m.size),
        certified=whole,
        certified_unnamed=unnamed_view,
        certified_releases=alone,
        named_share=float(named[inside].mean()),
        outcome_nats_mean=float(evidence.mean()),
        outcome_nats_max=float(evidence.max(initial=0.0)),
        guess_right=_guess_right(said, inside),
        assumes=_assumptions(run, central=central),
    )


def _certified(with_: Array, without: Array, scores: Array, other_scores: Array, alpha: float) -> float:
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
    if addressed(run).any():
        parts.append("offers to phones by name are left out")
    if not central:
        parts.append("phones' own reports are left out: they hide the place, not the person; see the metric account")
    return "; ".join(parts)
