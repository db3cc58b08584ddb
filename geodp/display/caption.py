"""The caption of a map: what it shows, what was promised, what was left out, and whether it may be published."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from geodp.display.released_only import ReleasedOnly
from geodp.errors import PluginNotLoaded
from geodp.public.guarantee import Unit

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

PUBLIC = "Released layers only; simulated noise: not for publication."
TRUTH = "Contains true positions: do not publish."
SIMULATED = (
    "Not releasable: noise that follows from a seed can be taken off again, so this shows a method and protects no "
    "real person."
)


def caption(run: RunFolder, notes: Sequence[str], *, public: bool) -> str:
    """Return the caption of a run's map as HTML; every word of the user is escaped."""
    scenario = run.scenario
    promises = _group_texts({name: _promise(each) for name, each in (run.arms or {"": run}).items()})
    body = [f"<p>{escape(scenario.about)}</p>"] if scenario.about else []
    body += [
        "<h2>Privacy</h2>",
        *(f"<p>{_write_heading(names)}{escape(promise)}</p>" for promise, names in promises.items()),
    ]
    return frame_caption(scenario.name, PUBLIC if public else TRUTH, body, notes, stamp=SIMULATED)


def frame_caption(
    name: str, badge: str, body: Sequence[str], notes: Sequence[str], *, stamp: str = "", released: bool = False
) -> str:
    """Return a caption: a name and a badge, a stamp, a body of HTML, and notes on what was drawn."""
    parts = [
        '<section id="geodp-caption" aria-label="About this map">',
        f"<header><h1>{escape(name)}</h1></header>",
        f'<p class="geodp-badge {"released" if released else "truth"}">{badge}</p>',
        *([f'<p class="geodp-stamp">{stamp}</p>'] if stamp else []),
        '<div class="geodp-body" id="geodp-about">',
        *body,
    ]
    if notes:
        parts += ["<h2>Drawn</h2>", "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    return "\n".join([*parts, "</div>", "</section>"])


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
        if run.charges(Unit.POINT).empty or not run.releases:
            return ""
        return run.releases[0].guarantee.together(len(run.releases), f"All {len(run.releases):,} reports of one phone")
    # Replacing one record is removing one and adding one: twice the epsilon of add/remove.
    total = float(central["total"].max())
    once = total / 2 if central["neighbours"].iloc[-1] == "replace" else total
    return f"Spent per person: ε = {once:.6g} (add/remove), {2 * once:.6g} (replace)."
