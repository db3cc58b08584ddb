"""The caption of a map: what it shows, what was promised, what was left out, and whether it may be published."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from geodp.display.released_only import ReleasedOnly
from geodp.errors import PluginNotLoaded
from geodp.public.guarantee import Unit, name_strength

if TYPE_CHECKING:
    from geodp.public.guarantee import Guarantee
    from geodp.public.release import Cells, Points
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

PUBLIC = "Released layers only; simulated noise: not for publication."
TRUTH = "Contains true positions: do not publish."
_LONGEST_TITLE, _SHORTEST_CLAUSE = 90, 25  # characters
_WALK_M = 200.0  # what one would like to hide at least: the house, the clinic next door
_LARGEST_EXPONENT, _WHOLE_FACTORS = math.log(1e6), 10
SIMULATED = (
    "Not releasable: noise that follows from a seed can be taken off again, so this shows a method and protects no "
    "real person."
)


def caption(run: RunFolder, notes: Sequence[str], *, public: bool) -> str:
    """Return the caption of a run's map as HTML; every word of the user is escaped."""
    scenario = run.scenario
    arms = run.arms or {"": run}
    promises = _group_texts({name: _promise(each) for name, each in arms.items()})
    lines = _group_texts({name: write_privacy_line(*privacy_line(each)) for name, each in arms.items()})
    title = title_of(scenario.about, scenario.name)
    body = [f"<p>{escape(scenario.about)}</p>"] if scenario.about not in ("", title) else []
    body += [
        "<h2>Privacy</h2>",
        *(f"<p>{_write_heading(names)}{escape(promise)}</p>" for promise, names in promises.items()),
    ]
    short = [_write_heading(names) + line for line, names in lines.items()]
    badge = PUBLIC if public else TRUTH
    return frame_caption(title, badge, body, notes, stamp=SIMULATED, privacy=short, name=scenario.name)


def title_of(about: str, name: str) -> str:
    """Return what a map is called: the first sentence of `about`, or its beginning where that is long; else the name.

    Parameters
    ----------
    about
        What the scenario says about itself.
    name
        Name of the run.

    Examples
    --------
    >>> from geodp.display.caption import title_of
    >>> title_of("Couriers in a city. Every ten minutes …", "quickstart")
    'Couriers in a city'
    """
    first = re.split(r"(?<=[.!?])\s+(?=[^\sa-z])", about.strip(), maxsplit=1)[0]  # "et al. in" goes on
    if len(first) > _LONGEST_TITLE:
        clause = re.split(r"[;:]\s", first, maxsplit=1)[0]
        first = clause if len(clause) >= _SHORTEST_CLAUSE else first
    if len(first) > _LONGEST_TITLE:
        first = first[:_LONGEST_TITLE].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return first.removesuffix(".") or name


def frame_caption(
    title: str,
    badge: str,
    body: Sequence[str],
    notes: Sequence[str],
    *,
    stamp: str = "",
    released: bool = False,
    privacy: Sequence[str] = (),
    name: str = "",
) -> str:
    """Return a caption: title, badge and a short line on privacy; the rest, in HTML, and notes behind a fold."""
    parts = [
        '<section id="geodp-caption" aria-label="About this map">',
        f"<header><h1>{escape(title)}</h1></header>",
        f'<p class="geodp-badge {"released" if released else "truth"}">{badge}</p>',
        *(f'<p class="geodp-privacy">{line}</p>' for line in privacy),
        '<details class="geodp-more" id="geodp-about"><summary>What is shown, and what is promised</summary>',
        *body,
        *([f'<p class="geodp-stamp">{stamp}</p>'] if stamp else []),
    ]
    if notes:
        parts += ["<h2>Drawn</h2>", "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    if name and name != title:
        parts += [f'<p class="geodp-stamp">Scenario {escape(name)}</p>']
    return "\n".join([*parts, "</details>", "</section>"])


def write_privacy_line(text: str, strength: str) -> str:
    """Return a short line on privacy as HTML, with a word for what it is worth."""
    word = {"none": "no promise"}.get(strength, strength)
    return f'<span class="geodp-strength {strength}">{word}</span> {escape(text)}'


def privacy_line(run: RunFolder) -> tuple[str, str]:
    """Say in one line what all of a run is worth to one person, and in a word how much that is.

    Parameters
    ----------
    run
        A run, or one arm of a comparison.

    Returns
    -------
    tuple[str, str]
        The line, and `strong`, `moderate`, `weak` or `none`.
    """
    made = [*run.releases, *run.publications, *run.history_reports]
    if not made:
        return "nothing was released", "strong"
    broken = [each for each in made if not each.guarantee.holds]
    if broken:
        return "no privacy guarantee: whoever sees this sees people", "none"
    if any(not item.per_person.holds for item in run.publications):
        return "single visits are hidden, people are not", "weak"
    parts = [*_central_parts(run), *_metric_parts(run), *_local_parts(run), *_item_parts(run)]
    if any(each.unit is Unit.POINT and not each.on_ground for each in (release.guarantee for release in run.releases)):
        return f"{'; '.join(text for text, _ in parts)}: nothing is promised per metre on the ground", "weak"
    if not parts:
        return "see below what is promised", "moderate"
    worst = max(epsilon for _, epsilon in parts)
    texts = "; ".join(text for text, _ in parts)
    return f"{texts}: the odds about one person may change by a factor of {_write_factor(worst)}", name_strength(worst)


def say_worth(single: Guarantee, whole: Guarantee) -> tuple[str, str]:
    """Say in one line what one release is worth to one person, and in a word how much that is.

    Parameters
    ----------
    single
        What is promised about one unit.
    whole
        What is promised about all that one person left behind.

    Returns
    -------
    tuple[str, str]
        The line, and `strong`, `moderate`, `weak` or `none`.
    """
    if not single.holds:
        return "no privacy guarantee: whoever sees this sees people", "none"
    if whole.holds and whole.unit is Unit.USER:
        return f"ε = {whole.epsilon:.3g} for everything of one person", name_strength(whole.epsilon)
    if single.unit is Unit.POINT:
        epsilon = single.at_distance(_WALK_M)
        return f"ε = {epsilon:.3g} between places {_WALK_M:g} m apart, per position", name_strength(epsilon)
    if single.unit is Unit.SNAPSHOT:
        return f"ε = {single.epsilon:.3g} for where one person is at this moment", name_strength(single.epsilon)
    return f"ε = {single.epsilon:.3g} per {single.unit}; people with many are not hidden", "weak"


def _central_parts(run: RunFolder) -> list[tuple[str, float]]:
    """Say what each person's central account was charged, over the whole run where a budget comes back."""
    central = run.central_charges if run.has("ledger.parquet") else None
    if central is None or central.empty:
        return []
    once = 0.5 if central["neighbours"].iloc[-1] == "replace" else 1.0
    most, whole = once * float(central["total"].max()), once * float(central["epsilon"].sum())
    if run.charged_apart:  # rows are about different people, and never add up
        times = central["time_s"].nunique()
        return [(f"ε = {most:.3g} per person of the least careful group, at most ({times:,} releases)", most)]
    count = f"{len(central):,} release{'s' if len(central) > 1 else ''}"
    if any(_is_of_series(release) for release in run.releases):  # charged at once, or tests and counts by themselves
        count = f"a series of {len(run.releases):,} releases"
    if whole > most * (1 + 1e-9):  # a budget that comes back promises less over a longer time
        return [(f"ε = {most:.3g} at a time, {whole:.3g} over the whole run, per person ({count})", whole)]
    together = min((release.guarantee.people for release in run.releases), default=1)
    whose = "per person" if together == 1 else f"for any {together} people together"
    return [(f"ε = {most:.3g} {whose} ({count})", most)]


def _is_of_series(release: Cells | Points) -> bool:
    promise = release.guarantee
    return promise.window > 1 or promise.unit in (Unit.USER, Unit.EVENT)


def _metric_parts(run: RunFolder) -> list[tuple[str, float]]:
    """Say what all reports of a phone are worth between two places a short walk apart."""
    reports = [release.guarantee for release in run.releases if release.guarantee.unit is Unit.POINT]
    if not reports:
        return []
    total = sum(each.at_distance(_WALK_M) for each in reports)
    count = f"{len(reports):,} report{'s' if len(reports) > 1 else ''}"
    apart = "apart" if all(each.on_ground for each in reports) else "apart along a public tree or graph"
    return [(f"ε = {total:.3g} between places {_WALK_M:g} m {apart} ({count} of a phone)", total)]


def _local_parts(run: RunFolder) -> list[tuple[str, float]]:
    """Say what all answers of a phone about its cell cost together."""
    local = run.local_charges if run.has("ledger.parquet") else None
    if local is None or local.empty:
        return []
    total, reports = float(local["total"].max()), len(local)
    return [(f"ε = {total:.3g} per person, nobody trusted ({reports:,} report{'s' if reports > 1 else ''})", total)]


def _item_parts(run: RunFolder) -> list[tuple[str, float]]:
    reports = run.history_reports
    total = sum(float(report.guarantee.epsilon) for report in reports)
    return [(f"ε = {total:.3g} for one item of a history ({len(reports):,} reports)", total)] if reports else []


def _write_factor(epsilon: float) -> str:
    """Return e^ε as people say it."""
    if epsilon > _LARGEST_EXPONENT:
        return "more than a million"
    factor = math.exp(epsilon)
    return f"{factor:,.0f}" if factor >= _WHOLE_FACTORS else f"{factor:.2g}"


def _group_texts(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return each text once, with the arms that share it."""
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return names


def _write_heading(names: list[str]) -> str:
    return "" if names == [""] else f"<b>{escape(', '.join(names))}</b>: "


def _promise(run: RunFolder) -> str:
    """Say the guarantee of what is shown, what was left out, and what all of it spent.

    Where something without a guarantee was left out, no sum is given: the ledger's total describes more than is shown.
    """
    withheld = run.withheld if isinstance(run, ReleasedOnly) else 0
    last = _describe_spending(run)
    if withheld:
        last = f"{withheld:,} release{'s' if withheld > 1 else ''} left out: no privacy guarantee holds for them."
    published = [
        f"Published at the end ({item.kind}): {item.guarantee.sentence()} {_together(item)}".strip()
        for item in run.publications
    ]
    published += [
        f"Phones told about histories ({report.device.kind}), {len(run.history_reports)} times: "
        f"{report.guarantee.sentence()} Nothing is promised about places that their owner lets be told in full."
        for report in run.history_reports[:1]
    ]
    if not run.releases:
        nothing = [] if withheld else ["Nothing was released."]
        return " ".join([*nothing, *published, last]).strip()
    sentences = dict.fromkeys(release.guarantee.sentence() for release in run.releases)
    count = len(run.releases)
    one, many = ("round of reports", "rounds of reports") if run.scenario.phones_report else ("release", "releases")
    predicted = sum(not getattr(release, "measured", True) for release in run.releases)
    more = f", {predicted:,} of them predicted from the others at no cost" if predicted else ""
    if predicted and run.releases[0].guarantee.window > 1:
        more = f", {predicted:,} of them the counts published last: a test, which is paid for, found little change"
    releases = f"{count:,} {one if count == 1 else many}{more}."
    return " ".join([*sentences, releases, *published, last]).strip()


def _together(item: PublishedRun) -> str:
    """Say what the promise is worth to a person with many visits ('' also where the plug-in was not loaded)."""
    try:
        return item.plugin.together()
    except PluginNotLoaded:
        return ""


def _describe_spending(run: RunFolder) -> str:
    """Say what each person's central account was charged, in both neighbour relations ('' if nothing bounds it)."""
    if any(item.guarantee.holds and not item.per_person.holds for item in run.publications):
        return ""
    if not run.has("ledger.parquet"):
        return ""
    # A ledger that is damaged is an error: a map without its sum would look like one of a free run.
    central = run.central_charges
    if central.empty:
        if (run.charges(Unit.POINT).empty and run.local_charges.empty) or not run.releases:
            return ""
        return run.releases[0].guarantee.together(len(run.releases), f"All {len(run.releases):,} reports of one phone")
    # Replacing one record is removing one and adding one: twice the epsilon of add/remove.
    total = float(central["total"].max())
    once = total / 2 if central["neighbours"].iloc[-1] == "replace" else total
    return f"Spent per person: ε = {once:.6g} (add/remove), {2 * once:.6g} (replace)."
