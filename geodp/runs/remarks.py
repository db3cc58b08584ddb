"""What to be careful about before believing a run's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from geodp.metrics import Measured
from geodp.pages.quantity import quantity, with_interval
from geodp.public.events import Kind, Note, Reason
from geodp.public.guarantee import Unit
from geodp.storage.markdown import as_code, as_words

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

FEW_TASKS = 30
"""Below this many decided tasks an interval is a rough guide."""
BLURRED = 2.0
"""Ratio of the error the server reads to the error released from which smoothing is called harmful."""
SURPRISED = 2.0
"""Ratio of the mean square error to the stated one from which a prediction is called wrong about itself."""
MATERIAL = 0.2
"""Share of the mean density from which an error of reading is worth a remark."""
WORTHLESS = 0.5
"""Share of regions made of noise from which planned success is called worthless."""
MANY_CENSORED = 0.1
"""Share of undecided tasks from which a run is called too short."""


def remarks(run: RunFolder, measured: dict[str, Measured]) -> list[str]:
    """Return everything a careful reader should know, as sentences."""
    return [
        *_without_promise(run),
        *map(as_words, run.notices),
        *_noise(run),
        *_blur(run, measured),
        *_predictions(run),
        *_budget(run),
        *_solver(run, measured),
        *_gap(run, measured),
        *_unreachable(run),
        *_disclosure(run, measured),
        *_remark_linking(run, measured),
        *_remark_reidentified(run, measured),
        *_remark_capped(run),
        *_remark_refusal(run),
        *_regions(run),
        *_size(run, measured),
    ]


def _without_promise(run: RunFolder) -> Iterator[str]:
    for why in sorted({release.guarantee.why_not for release in run.releases if not release.guarantee.holds}):
        yield f"**No privacy guarantee holds in this run** ({as_words(why)}): use it as a yardstick, never as a method."
    for item in run.publications:
        if not item.guarantee.holds:
            yield (
                f"**What {as_code(item.kind)} publishes is not private** ({as_words(item.guarantee.why_not)}): use it "
                "as a yardstick, never as a method."
            )


def _remark_refusal(run: RunFolder) -> Iterator[str]:
    """Say when phones that mute and consider few cannot give as many acceptances as tasks need."""
    refusal, scenario = run.scenario.protocol.refusal, run.scenario
    if refusal is None:
        return
    ceiling = getattr(scenario.workers.acceptance, "ceiling", 1.0)
    each = ceiling * refusal.offers * (1 - refusal.mute)
    windows = refusal.windows(scenario.duration_s)
    demand = len(run.tasks) * scenario.tasks.workers_per_task / windows / max(run.workers, 1)
    if demand > each:
        yield (
            f"A person gives at most {quantity(each)} acceptances in a window of randomised refusal, however willing, "
            f"and {quantity(demand)} are asked for: many tasks must fail. More offers (`protocol.refusal.offers`) help."
        )


def _noise(run: RunFolder) -> Iterator[str]:
    """Compare E|Lap(b)| = b with what a cell holds on average, both from the release itself."""
    noise = [float(release.noise_scale.mean()) for release in run.densities]
    signal = [float(release.count.mean()) for release in run.densities]
    if noise and sum(noise) > max(sum(signal), 0.0):
        each_noise, each_signal = quantity(sum(noise) / len(noise)), quantity(sum(signal) / len(signal))
        curator = run.scenario.curator
        sizes = curator is None or hasattr(curator.mechanism, "cell_m")
        where = "curator" if curator is not None or not run.cell_reports else "device"
        larger = f"Larger cells (`{where}.mechanism.cell_m`) or a larger ε help; smoothing hides it."
        yield (
            f"Noise per cell ({each_noise} workers on average) exceeds the mean count per cell "
            f"({each_signal}): single cells are mostly noise. {larger if sizes else 'A larger ε helps.'}"
        )


def _predictions(run: RunFolder) -> Iterator[str]:
    """Tell when predicted counts were further off than they said."""
    predicted = [(index, release) for index, release in enumerate(run.densities) if not release.measured]
    surprised = 0
    for index, release in predicted:
        error = release.count - run.true_counts(index).to_numpy()
        surprised += float((error**2 / (2 * release.noise_scale**2)).mean()) > SURPRISED
    if surprised:
        yield (
            f"{surprised:,} of {len(predicted):,} predicted releases were further off than they said (a mean square "
            f"error more than {SURPRISED:g} times the stated one): {_why_further_off(run)}"
        )


def _why_further_off(run: RunFolder) -> str:
    """Say why predictions miss, and which settings of this mechanism help."""
    curator = run.scenario.curator
    mechanism = None if curator is None else curator.mechanism
    if mechanism is not None and mechanism.window_releases() is not None:
        return (
            "a test looks at all cells together, and what changed in a few is repeated. Shorter windows "
            "(`curator.mechanism.window`) or larger cells have more of ε for a test."
        )
    key = "samples" if getattr(mechanism, "sampling", "fixed") == "pid" else "measure_every"
    return (
        f"predictions know no rush hours. Measure more often (`curator.mechanism.{key}`), or trust earlier counts less "
        "(`stay_s`)."
    )


def _blur(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    """Tell when post-processing does more harm than the noise it should tame."""
    released, read = measured["density_error"].value, measured["density_error_read"].value
    curator = run.scenario.curator
    if released is None or read is None or curator is None:
        return
    public_mean = 1e6 * (curator.expected_workers or 0.0) / run.region.area_m2  # workers per km²
    if read > BLURRED * released and read > MATERIAL * public_mean:
        yield (
            f"The server reads densities {quantity(read, 'workers/km²')} off the truth, where the released "
            f"counts are only {quantity(released, 'workers/km²')} off: smoothing and contour reading blur "
            "more than the noise does. Less smoothing (`curator.mechanism.sigma_cells`) or smaller cells "
            "help."
        )


def _budget(run: RunFolder) -> Iterator[str]:
    events = run.events
    refused = events.loc[events["kind"] == Kind.RELEASE, "reason"].astype(str)
    reused, stopped = int((refused == Reason.REUSED_LAST).sum()), int((refused == Reason.STOPPED).sum())
    if reused:
        yield f"The budget ran out: {reused} releases were not made, and the server planned from an old one."
    if stopped:
        yield f"The budget ran out: {stopped} releases were not made; the server had nothing to plan from."


def _solver(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    negative = measured["negative_radii"].value
    if negative:
        yield (
            f"The solver returned a radius that is not positive for {negative:,} tasks, which therefore got "
            "no offer. The Taylor solution does so where density times reward is high: use `solver: exact`."
        )
    under_one = measured["under_one_worker"].value
    if under_one:
        advice = "" if _assignment_field(run, "model") == "poisson" else " Use `model: poisson`."
        yield (
            f"{under_one:,} tasks were offered to circles in which the server itself expected less than one "
            f"worker: their planned success cannot be kept.{advice}"
        )


def _gap(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    gap = measured["success_gap"]
    if gap.value is None or gap.low is None or gap.high is None or gap.low <= 0 <= gap.high:
        return
    much = "less" if gap.value < 0 else "more"
    causes = "; ".join(_causes_of_gap(run))
    yield (
        f"First offers succeeded {much} often than planned, by more than chance: "
        f"{with_interval(gap, 'share difference')}. Plans are right on average only for exact counts and "
        f"workers who stand still, idle and evenly spread. Possible causes here: {causes}."
    )


def _causes_of_gap(run: RunFolder) -> Iterator[str]:
    scenario, assignment = run.scenario, run.scenario.server.assignment
    if _assignment_field(run, "model") == "printed":
        yield "the printed model puts all workers at two thirds of the radius and counts fractions of one"
    believed = "counts" if assignment.plans_regions else "densities"
    noise_aware = _assignment_field(run, "planning") == "noise_aware"
    if not (assignment.plans_regions or assignment.plans_circles):
        yield "workers who reported near each other are not independent, and some of those asked were elsewhere"
    elif (run.estimates and assignment.plans_circles) or any(
        float(release.noise_scale.max()) > 0 for release in run.densities
    ):
        if noise_aware:
            yield f"noise in the {believed}, for which `planning: noise_aware` accounts on average only"
        else:
            yield f"plans believe noisy {believed}, whose errors do not cancel (see `planning: noise_aware`)"
    if assignment.plans_regions:
        yield "workers are not spread evenly inside a cell, nor all at the mean distance of its corners"
    if scenario.workers.mobility.kind != "static" and run.releases:
        curator = scenario.curator
        age = quantity(scenario.device.report_every_s if curator is None else curator.release_every_s, "s")
        yield f"workers move, and a plan may be {age} old"
    busy = run.answers["reason"].isin([str(Reason.BUSY), str(Reason.TAKEN)]).mean()
    if busy >= 0.01:
        yield f"{quantity(busy, 'share')} of those asked were busy, which counts do not show"
    if not assignment.plans_regions and not noise_aware:
        yield "density varies inside a circle, and circles reach beyond the region's edge"
    assumed = scenario.server.assumed_acceptance
    if assumed is not None and assumed != scenario.workers.acceptance:
        yield "the server assumes another willingness than workers have"


def _unreachable(run: RunFolder) -> Iterator[str]:
    broke = int((run.offers["unreachable"].fillna("") == str(Reason.PURSE_EMPTY)).sum())
    if broke:
        yield (
            f"The reward ran out for {broke:,} tasks: more arrived than `tasks.reward.total` was shared out "
            "for, or too much of it was still promised elsewhere."
        )


def _disclosure(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    if _assignment_field(run, "recipients") == "nearest" and len(run.interaction):
        yield (
            "The nearest people are asked first (`recipients: nearest`): a winner proves that few others are nearer, "
            "and one more person can make what the server saw impossible. What outcomes disclose has no finite bound; "
            "`recipients: random` bounds it."
        )
    elif measured["interaction_leakage_max"].value is None and len(run.interaction):
        yield (
            "Nobody took an offer that the acceptance model accepts with certainty, which discloses "
            "without bound. A ceiling below 1 (`workers.acceptance`) bounds it."
        )


def _remark_linking(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    """Tell when linking reports finds people markedly better than one report does."""
    once, linked = measured["attack_error_m"], measured["tracking_error_m"]
    if once.low is not None and linked.value is not None and linked.high is not None and linked.high < once.low:
        promised = any(release.guarantee.holds for release in run.releases)
        advice = (
            "The ε of one report says nothing about that; the ε of all reports does. Report less often "
            "(`device.report_every_s`) or with less ε."
            if promised
            else "No ε is claimed for these reports, so nothing bounds that."
        )
        yield (
            f"Whoever links a person's reports comes nearer than one report allows: {quantity(linked.value, 'm')} "
            f"against {quantity(once.value, 'm')}. {advice}"
        )


def _remark_reidentified(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    """Say how many people are found in what was published, and what the promise says about that."""
    for ending, item in run.publications_of("visits"):
        first, five = (measured.get(f"{name}{ending}") for name in ("reidentified_share", "reidentified_top5"))
        if first is None or five is None or first.value is None or five.value is None:
            continue
        chance = measured[f"reidentified_by_chance{ending}"].value
        text = (
            f"Who knows everyone's true visits finds {quantity(first.value, 'share')} of people in what "
            f"{as_code(item.kind)} published at the first guess and {quantity(five.value, 'share')} in five, names "
            f"taken off; blind guessing finds {quantity(chance, 'share')}."
        )
        if item.guarantee.unit in (Unit.EVENT, Unit.POINT):
            text += " Noise that hides one visit hides no user."
        yield text


def _remark_capped(run: RunFolder) -> Iterator[str]:
    capped = run.offers["notes"].map(lambda notes: Note.CAPPED in notes)
    if capped.any():
        yield (
            f"{int(capped.sum()):,} offers went to fewer workers than the target asked for: "
            "`server.assignment.max_recipients` ended the list, or nobody else could accept."
        )


def _regions(run: RunFolder) -> Iterator[str]:
    """Tell when regions were planned from noise, or could not reach the target."""
    if not run.scenario.server.assignment.plans_regions:
        return
    notes = run.offers_made["notes"]
    noise = int(notes.map(lambda words: Note.MOSTLY_NOISE in words).sum())
    if noise > WORTHLESS * len(notes):
        yield (
            f"**The planned success of geocast is worthless here**: in {noise:,} of {len(notes):,} regions the noise "
            "of the counts is larger than the workers counted on, so a plan says what the server assumes about cells "
            "in general, not what is in these. A larger ε or larger cells help."
        )
    elif noise:
        yield (
            f"In {noise:,} of {len(notes):,} regions the noise of the counts is larger than the workers counted on: "
            "their planned success is a guess."
        )
    short = int(notes.map(lambda words: Note.SHORT_OF_TARGET in words).sum())
    if short:
        yield (
            f"{short:,} regions took in every useful cell within the maximum travel distance and were still planned "
            "short of the target; they were offered all the same."
        )


def _size(run: RunFolder, measured: dict[str, Measured]) -> Iterator[str]:
    tasks, censored = measured["tasks_arrived"].value or 0, measured["censored_tasks"].value or 0
    if tasks - censored < FEW_TASKS:
        yield f"Only {tasks - censored:,} tasks were decided: intervals are wide, and rough."
    if tasks and censored / tasks > MANY_CENSORED:
        yield (
            f"{quantity(censored / tasks, 'share')} of tasks were still undecided at the end: the run "
            f"({quantity(run.scenario.duration_s, 's')}) is short for a patience of "
            f"{quantity(run.scenario.tasks.patience_s, 's')}."
        )


def _assignment_field(run: RunFolder, name: str) -> object:
    """Return a field of the assignment, None when this assignment has no such field."""
    return getattr(run.scenario.server.assignment, name, None)


def odds_factor(nats: float) -> str:
    """Say by what factor a disclosure of so many nats can move the odds."""
    return f"{math.exp(nats):,.2f}" if nats < 3 else f"{math.exp(nats):,.0f}"
