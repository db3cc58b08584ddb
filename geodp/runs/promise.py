"""The privacy promise of a run in words: what one release promises, and what all of them cost together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from geodp.privacy.shuffling import amplify_by_shuffling, widest_epsilon
from geodp.public.guarantee import Guarantee, Trust, Unit, both_relations, plus, short_decimal, times
from geodp.public.release import Cells
from geodp.scenario.costs import publication_cost
from geodp.storage.markdown import as_code, as_words

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


def promise_lines(run: RunFolder) -> list[str]:
    """Return the promise as Markdown paragraphs; epsilon and epsilon per metre stand apart and are never added."""
    return [
        _device(run),
        _all_reports(run),
        _tasks(run),
        *_histories(run),
        _shuffler(run),
        *_releases(run),
        *_publications(run),
        _total(run),
        _companions(run),
    ]


def _device(run: RunFolder) -> str:
    guarantee = _report_guarantee(run)
    if guarantee.unit is Unit.NOTHING and not run.scenario.phones_report:
        return ""
    return f"**On the phone**, each report: {as_words(guarantee.sentence())}"


def _all_reports(run: RunFolder) -> str:
    """Say what the reports of one phone cost together, against the budget."""
    local = run.local_charges
    metric = run.charges(Unit.POINT) if local.empty else local
    metric = metric[~metric["mechanism"].isin([item.kind for item in run.publications])]
    if metric.empty:
        return ""
    reports = metric["time_s"].nunique()  # groups of phones pay for the same report in rows of their own
    text = _report_guarantee(run).together(reports, f"**All {reports:,} reports of one phone**")
    stated = run.scenario.device.budget
    budget, per = (stated.epsilon_per_m, " per metre") if local.empty else (stated.epsilon, "")
    return text + (f" The budget is {budget:.4g}{per}." if budget is not None else "")


def _shuffler(run: RunFolder) -> str:
    """State what a trusted shuffler makes of the reports of one round ('' without one)."""
    delta, answers = getattr(run.scenario.device.mechanism, "shuffler_delta", None), run.cell_reports
    first = next((each for each in answers if each is not None), None)
    if delta is None or first is None:
        return ""
    if first.law.epsilon > widest_epsilon(first.size, delta):  # fewer phones than were expected in public
        return (
            f"**No bound is stated for the shuffler**: {first.size:,} reports a round are too few for ε = "
            f"{first.law.epsilon:g} at δ = {delta:g}. The local promise stands."
        )
    bound = amplify_by_shuffling(first.law.epsilon, reports=first.size, delta=delta)
    return (
        f"**If the shuffler is trusted**, who took the names and the order off the {first.size:,} reports of each "
        f"round, a round has ε = {bound:.4g} at δ = {delta:g} (replace; clone pair, computed exactly) instead of "
        f"{first.law.epsilon:g}; ε and δ of rounds add up. It is stated beside the promise and charged to nobody."
    )


def _tasks(run: RunFolder) -> str:
    """Say what is promised to requesters, whose accounts are not those of workers."""
    rate = run.scenario.tasks.place_epsilon_per_m
    if rate is None:
        return ""
    promise = Guarantee.per_metre(rate * run.region.stretch)
    return f"**Requesters**, the place of each task, told once: {as_words(promise.sentence())}"


def _report_guarantee(run: RunFolder) -> Guarantee:
    """Return what one report of a phone promised, as it was released."""
    if run.scenario.phones_report and run.releases:
        return run.releases[0].guarantee
    return run.scenario.report_guarantee()


def _histories(run: RunFolder) -> list[str]:
    """Say what phones promise about single items of histories, and what their reports cost together."""
    reports, mechanism = run.history_reports, run.scenario.device.history_report
    if mechanism is None:
        return []
    if not reports:
        return ["Phones told nothing about histories: the budget did not allow it."]
    promise = reports[0].guarantee
    text = f"**Phones about histories** ({as_code(mechanism.kind)}), each report: {as_words(promise.sentence())}"
    if promise.holds:
        spent = promise.repeat(len(reports)).epsilon
        text += (
            f" {len(reports):,} report{'s' if len(reports) > 1 else ''} × {short_decimal(promise.epsilon)} cost ε = "
            f"{short_decimal(spent)} per item, an account of its own; a history of k items together is protected at k "
            "times that only. Nothing is promised about items whose categories their owner lets be told in full "
            "(`all`); items with a `no` category are never used."
        )
    choices = mechanism.choices_text()
    return [text + (f" Choices by lot: {as_words(choices)}." if choices else "")]


def _releases(run: RunFolder) -> list[str]:
    if run.scenario.curator is None:
        if run.scenario.phones_report:
            if run.cell_reports and not any(each is not None and each.who.size for each in run.cell_reports):
                return ["Phones report to the server through a shuffler, who is trusted to take their names off."]
            return ["There is no trusted party: phones report straight to the server, under names that stay the same."]
        return ["There is no curator: nothing is published about where people are."]
    found = {release.guarantee.sentence(): release.guarantee for release in run.releases}
    if not found:
        return ["The curator published nothing."]
    series = _is_about_series(run)
    lines = [_one_release(sentence, guarantee, series=series) for sentence, guarantee in found.items()]
    predicted = sum(isinstance(release, Cells) and not release.measured for release in run.releases)
    if predicted and run.scenario.curator.mechanism.window_releases() is not None:
        lines.append(
            f"{predicted:,} of the {len(run.releases):,} releases **repeat** the counts published last: a test, which "
            "is paid for, found little change, or their share of ε was used before."
        )
    elif predicted:
        lines.append(
            f"{predicted:,} of the {len(run.releases):,} releases were **predicted** from earlier ones, without a look "
            "at where anyone is: post-processing, which costs nothing."
        )
    return lines


def _is_about_series(run: RunFolder) -> bool:
    """Tell whether the promise is about all releases, or about windows of them."""
    curator, releases = run.scenario.curator, run.scenario.release_count()
    if curator is None or not releases:
        return False
    return curator.mechanism.window_releases() is not None or curator.mechanism.series_guarantee(releases) is not None


def _one_release(sentence: str, guarantee: Guarantee, *, series: bool = False) -> str:
    text = f"**{'All releases' if series else 'One release'}**: {as_words(sentence)}"
    if guarantee.unit is not Unit.NOTHING and guarantee.trust is Trust.CENTRAL and guarantee.holds:
        text += f" In both neighbour relations: ε = {both_relations(guarantee.epsilon, guarantee.neighbours)}."
    return text


def _publications(run: RunFolder) -> list[str]:
    """Say what each publication promises, and what it costs a person."""
    return [
        f"**Published at the end** ({as_code(item.kind)}): "
        + as_words(f"{item.guarantee.sentence()} {item.plugin.together()}")
        + _levels(item)
        for item in run.publications
    ]


def _levels(item: PublishedRun) -> str:
    """Say which levels people chose, where they chose unlike ones."""
    chosen = item.facts.get("people_by_level", {})
    numbers = ", ".join(f"{as_words(level)} {number:,}" for level, number in chosen.items())
    return f" People by the level they chose: {numbers}." if len(chosen) > 1 else ""


def _companions(run: RunFolder) -> str:
    """Say what people who move together are promised: what one of them does tells of the others."""
    largest = getattr(run.scenario.workers.mobility, "largest", 1)
    made = [release.guarantee for release in run.releases if release.guarantee.unit is Unit.SNAPSHOT]
    spent = plus(*run.charges(Unit.SNAPSHOT)["epsilon"].tolist()) if made else 0.0
    if largest == 1 or not made or not all(promise.holds for promise in made) or not spent:
        return ""
    people = made[0].people
    whole = both_relations(times(spent, -(-largest // people)), str(made[0].neighbours))
    text = f"**People who move together**, up to {largest}, and everybody may know who with whom: over the whole run "
    if people >= largest:
        return (
            text + f"the releases hide them together at the same ε = {whole}, because noise is {people} times as wide."
        )
    return text + f"the releases hide them together at ε = {whole} only, because noise hides {people} at a time."


def _describe_days(run: RunFolder) -> str:
    """Say what all charges together cost a person's day, week, and altogether, where some are ρ or about days."""
    text = f"charges are counted by days of the data, {run.spent_by_days}"
    without = [item for item in run.publications if not item.guarantee.holds]
    named = ", ".join(dict.fromkeys(as_code(item.kind) for item in without))
    text += f"; what is published without a promise ({named}) is not counted" if without else ""
    budget = None if run.scenario.curator is None else run.scenario.curator.budget.concentrated
    return text + ("" if budget is None else f"; the budget is {budget}")


def _total(run: RunFolder) -> str:
    """Say what releases and publications cost together, per person, against the budget."""
    central = run.central_charges
    if run.spent_by_days is not None:
        return f"**Over the whole run** {_describe_days(run)}."
    promises = [release.guarantee for release in run.releases] + [item.per_person for item in run.publications]
    unbounded = [item.kind for item in run.publications if item.guarantee.holds and not item.per_person.holds]
    if unbounded:
        named = ", ".join(as_code(kind) for kind in dict.fromkeys(unbounded))
        return f"**Over the whole run** nothing bounds what one person is charged: {named} has no cap per person."
    if central.empty or not all(promise.holds for promise in promises):
        return ""
    if run.charged_apart:
        return (
            "**Over the whole run** costs add up for each group, or for whoever is counted, by themselves: see below."
        )
    published = central["mechanism"].isin([item.kind for item in run.publications])
    costs = [(item.kind, publication_cost(item.plugin, run.scenario)) for item in run.publications]
    released = central[~published]
    if _is_about_series(run) and not released.empty:
        cost = plus(*released["epsilon"].tolist())
        what = "the series" if len(released) == 1 else f"{len(released):,} tests and counts"
        own = [f"{short_decimal(cost)} for {what}"]
    else:
        own = [
            f"{len(group):,} release{'s' if len(group) > 1 else ''} × {short_decimal(float(str(epsilon)))}"
            for epsilon, group in released.groupby("epsilon", sort=False)
        ]
    terms = " + ".join(
        [
            *own,
            *(
                f"{short_decimal(cost.epsilon)} for what {as_code(kind)} publishes"
                for kind, cost in costs
                if cost.unit is Unit.USER
            ),
        ]
    )
    spent = float(central["total"].max())
    together = both_relations(spent, str(central["neighbours"].iloc[0]))
    text = f"**Over the whole run**, costs add up, for each person: {terms}, so ε = {together}"
    budget = run.scenario.curator.budget if run.scenario.curator is not None else None
    if budget is None or budget.epsilon is None or not math.isfinite(budget.epsilon):
        return f"{text}."
    lasts = "" if budget.lasts() == "over the run" else f" {budget.lasts()}"
    return f"{text}, of a budget of {short_decimal(budget.epsilon)}{lasts}."
