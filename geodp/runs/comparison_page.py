"""The page that a comparison leaves: question and answer in words, arms with their prices, sortable tables, maps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.metrics import Measured
from geodp.pages.html import Html, Part, build_element, build_link, join_html, render_line
from geodp.pages.labels import USUAL_METRICS, Label, capitalise, find_label, find_labels, say_value
from geodp.pages.parts import (
    Column,
    Entry,
    Row,
    Scale,
    build_answer,
    build_commands,
    build_footer,
    build_header,
    build_list,
    build_measured,
    build_page,
    build_section,
    build_table,
)
from geodp.pages.quantity import quantity
from geodp.runs.compare import SAID, compare_runs, is_clear, read_measured, same_world
from geodp.runs.summary import list_disclosures, list_promises, list_remarks
from geodp.storage.files import write_text_whole

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

REPORT = "report.html"
"""The page of a comparison, in its folder."""
_PRICE = "cost_at_success"
_READ_OUT = 5
"""Clear differences that the answer reads out for each arm, at most."""
_LINKED = {"map.html": "map", "summary.md": "summary"}


def write_comparison_page(run: RunFolder, path: Path | None = None) -> Path:
    """Write the page of a comparison's folder: `report.html` in it, or `path`.

    Parameters
    ----------
    run
        The run folder of a scenario with arms.
    path
        Where the page goes; its links lead to the folder from there.

    Returns
    -------
    pathlib.Path
        The page.
    """
    path = path if path is not None else run.path / REPORT
    priced = None
    if run.scenario.compare_at_success is not None and run.has("equal_success.csv"):
        import pandas as pd

        priced = pd.read_csv(run.file("equal_success.csv")).set_index("arm")
    scenario = run.scenario
    page = build_comparison_page(
        run.arms,
        path.parent,
        name=scenario.name,
        about=scenario.about,
        changes=scenario.compare,
        priced=priced,
        at_success=scenario.compare_at_success,
        whole=run.path,
    )
    write_text_whole(path, page)
    return path


def build_comparison_page(
    runs: Mapping[str, RunFolder],
    folder: Path,
    *,
    name: str = "",
    about: str = "",
    changes: Mapping[str, Mapping[str, Any] | None] | None = None,
    priced: pd.DataFrame | None = None,
    at_success: float | None = None,
    whole: Path | None = None,
) -> str:
    """Build the page that compares runs; it needs no other file and no network.

    Parameters
    ----------
    runs
        Name → run; the first is the baseline.
    folder
        Where the page will stand: links lead to the runs from there.
    name, about
        What is compared, and the question.
    changes
        Name → what it changes (dotted path → value).
    priced
        What each run costs at equal success, by name: columns `asked, against_first, note`.
    at_success
        The success that is made equal.
    whole
        The folder that holds all runs, where they are arms.

    Returns
    -------
    str
        The page.

    Raises
    ------
    UsageError
        If there are fewer than two runs.
    """
    arms = dict(runs)
    table = compare_runs(arms).set_index("metric")
    said = [key for key in SAID if key in table.index]
    table = table.loc[[*said, *(key for key in table.index if key not in said)]]
    names, shared = list(arms), _share_world(arms)
    title = _as_title(name) or (" against ".join(names[1::-1]) if len(names) == 2 else f"{len(names)} runs")
    facts = [
        f"{len(names)} {'arms' if whole is not None else 'runs'}, "
        + ("the same tasks with the same luck in each. " if shared else "which met different tasks. ")
        + "Intervals are 95 %; the first is the baseline.",
        _link_whole(whole, folder),
    ]
    parts: list[Part] = [
        build_header(
            title,
            kicker=f"Comparison {name}".rstrip(),
            question=about,
            facts=join_html(facts),
        ),
        build_answer(_say_answers(table, names, priced, at_success)),
        build_section(
            "The arms" if whole is not None else "The runs", _show_arms(arms, table, folder, changes, priced)
        ),
        _show_differences(table, names, shared=shared),
        build_section("All numbers", _show_values(table, names)),
        build_section("What is promised", build_list(render_line(line) for line in list_promises(arms))),
        build_section(
            "What the protocol gives away",
            build_element("p", "No ε is claimed for all that the server sees. Declining offers disclosed:"),
            build_list(render_line(line) for line in list_disclosures(table.reset_index(), names)),
        ),
        _show_remarks(arms),
        _show_again(arms, whole),
        build_footer(
            promise="Simulated noise follows from a seed and can be taken off: nothing here may leave the house as a "
            "private release."
        ),
    ]
    return build_page(title, *parts)


def _as_title(name: str) -> str:
    return capitalise(name.replace("_", " "))


def _share_world(runs: Mapping[str, RunFolder]) -> bool:
    first, *others = runs.values()
    return all(same_world(first, other) for other in others)


def _link_whole(whole: Path | None, folder: Path) -> Html | None:
    if whole is None or not (whole / "map.html").is_file():
        return None
    return join_html([" ", build_link("Map of all arms", _lead(whole / "map.html", folder)), "."])


def _lead(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _say_answers(
    table: pd.DataFrame, names: Sequence[str], priced: pd.DataFrame | None, at_success: float | None
) -> list[Html]:
    """Say what each arm costs at equal success, and what differs clearly from the baseline."""
    baseline, *others = names
    said = []
    if priced is not None and at_success is not None:
        said.append(_say_price(priced, at_success))
    said += [_say_differences(table, name, baseline) for name in others]
    clear_success = "success_rate" in table.index and any(
        is_clear(read_measured(table.loc["success_rate"], f"{name} - {baseline}")) for name in others
    )
    if priced is None and clear_success:
        text = (
            "Read success beside its price: at a fixed target a server that knows less asks more people, and so "
            "succeeds more often."
        )
        more = [build_element("code", "compare_at_success: 0.9"), " in a scenario with arms makes successes equal."]
        said.append(join_html([text, " ", *more]))
    return said


def _say_price(priced: pd.DataFrame, at_success: float) -> Html:
    known = priced[priced["asked"].notna()].sort_values("asked", kind="stable")
    head = f"For the same expected success ({quantity(at_success, 'share')}) "
    if known.empty:
        return join_html([f"{head}no arm has a price: none reaches it."])
    costs = known["asked"].to_dict()
    (cheapest, least), *rest = costs.items()
    parts: list[Part] = [
        head,
        build_element("strong", str(cheapest)),
        f" asks fewest: {quantity(least)} workers per task",
    ]
    if rest:
        listed = [f"{name} {quantity(cost)} ({cost / least:.2f}×)" if least else str(name) for name, cost in rest]
        parts.append(f"; then {', '.join(listed)}")
    beside = priced["first_asks_for_as_much"].dropna()
    missing = [str(name) for name in priced.index if name not in costs and name not in beside.index]
    if missing:
        parts.append(f"; {', '.join(missing)} cannot be priced (see the table)")
    first = priced.index[priced["expected_success"].notna()][0]
    for row in priced.loc[beside.index].reset_index().to_dict("records"):
        taken, asked, much = row["taken"], row["asked_as_it_stands"], row["first_asks_for_as_much"]
        parts.append(
            f". {row['arm']} plans on no target: as it stands {quantity(taken, 'share')} of tasks are taken and "
            f"{quantity(asked)} people asked per task, and {first} asks {quantity(much)} for as much"
        )
    parts.append(". One world, so without an interval: a sweep with at_success has them.")
    return join_html(parts)


def _say_differences(table: pd.DataFrame, name: str, baseline: str) -> Html:
    gaps = {str(key): read_measured(table.loc[key], f"{name} - {baseline}") for key in table.index}
    judged = [key for key, gap in gaps.items() if gap.low is not None and gap.high is not None]
    clear = [key for key in judged if is_clear(gaps[key])]
    first = [key for key in SAID if key in clear] or clear
    head: list[Part] = [build_element("strong", name), " against ", build_element("strong", baseline), ": "]
    if not judged:
        return join_html([*head, "no difference has an interval, so nothing can be said about chance."])
    if not clear:
        return join_html([*head, f"nothing differs by more than chance in any of {len(judged)} metrics."])
    shown = [f"{find_label(key).words} {find_label(key).value(gaps[key], signed=True)}" for key in first[:_READ_OUT]]
    more = len(clear) - len(shown)
    parts = [*head, "; ".join(shown), f"; {more} more clear differences below." if more else "."]
    unclear = [find_label(key).words for key in SAID[:_READ_OUT] if key in judged and key not in clear]
    if unclear:
        parts.append(f" No clear difference: {', '.join(unclear)}.")
    return join_html(parts)


def _show_arms(
    arms: Mapping[str, RunFolder],
    table: pd.DataFrame,
    folder: Path,
    changes: Mapping[str, Mapping[str, Any] | None] | None,
    priced: pd.DataFrame | None,
) -> Html:
    """Build the table of arms: what each changes, success beside its price, and links to its map."""
    names, first = list(arms), next(iter(arms))
    keys = [key for key in USUAL_METRICS if key in table.index and table.loc[key, names].notna().any()]
    if priced is not None:
        keys.insert(min(2, len(keys)), _PRICE)
    labels, scales = find_labels(keys), {key: Scale() for key in keys}
    found = {(name, key): _read_arm(table, priced, name, key) for name in names for key in keys}
    for (_, key), measured in found.items():
        scales[key].include(measured)
    rows = []
    for name in names:
        mark = build_element("em", " (baseline)") if name == first else None
        entries = [Entry(join_html([build_element("strong", name), mark, _link_run(arms[name].path, folder)]), name)]
        if changes is not None:
            entries.append(Entry(_say_changes(changes.get(name) or {})))
        entries += [build_measured(labels[key], found[name, key], scales[key]) for key in keys]
        rows.append(Row(entries, marked=name == first))
    heads = [Column("arm" if changes is not None else "run", words=True)]
    heads += [Column("what it changes", words=True)] if changes is not None else []
    heads += [Column(_head(labels[key]), labels[key].about) for key in keys]
    caption = "Values with 95 % intervals where there are any; bars share a scale within their column. Headings sort."
    return build_table(heads, rows, caption=caption, name="Arms")


def _read_arm(table: pd.DataFrame, priced: pd.DataFrame | None, name: str, key: str) -> Measured:
    if key != _PRICE or priced is None:
        return read_measured(table.loc[key], name)
    import pandas as pd

    cost = priced["asked"].get(name)
    return Measured(None if cost is None or pd.isna(cost) else float(cost))


def _say_changes(changes: Mapping[str, Any]) -> Html:
    if not changes:
        return join_html(["the scenario as it stands"])
    labels = find_labels(changes)
    said = [
        build_element("span", f"{labels[path].words}: {say_value(path, value)}", title=path)
        for path, value in changes.items()
    ]
    return join_html(said, "; ")


def _head(label: Label) -> Part:
    better = build_element("span", f"{label.better} is better", class_="range") if label.better else None
    return join_html([label.words, better])


def _link_run(path: Path, folder: Path) -> Html | None:
    """Build the links to what a run left for people to look at."""
    kept = [(words, path / name) for name, words in _LINKED.items() if (path / name).is_file()]
    links = [build_link(words, _lead(file, folder)) for words, file in kept]
    return build_element("span", join_html(links, " · "), class_="range") if links else None


def _show_differences(table: pd.DataFrame, names: Sequence[str], *, shared: bool) -> Html:
    baseline, *others = names
    heads = {name: f"{name} - {baseline}" for name in others}
    labels = {str(key): find_label(str(key)) for key in table.index}
    rows = []
    for key in table.index:
        gaps = {name: read_measured(table.loc[key], head) for name, head in heads.items()}
        if all(not gap.value for gap in gaps.values()):
            continue
        label = labels[str(key)]
        entries = [Entry(build_element("span", label.words, title=str(key)), label.words)]
        entries += [_difference_entry(label, gaps[name]) for name in others]
        rows.append(Row(entries))
    caption = (
        f"Differences to {baseline}, per task on the same tasks (per person or venue for what is published), with 95 % "
        "intervals where there are pairs. Better and worse are said where the interval leaves out zero; of many such "
        "differences one in twenty is so by chance."
        if shared
        else f"Differences to {baseline} of runs that met different tasks: nothing can be paired, so the intervals are "
        "those of independent runs, and wider. Arms of one scenario meet the same tasks."
    )
    columns = [Column("number", words=True), *(Column(name) for name in others)]
    if not rows:
        return build_section("Differences", build_element("p", "No number differs."))
    return build_section("Differences", build_table(columns, rows, caption=caption, name="Differences"))


def _difference_entry(label: Label, gap: Measured) -> Entry:
    entry = build_measured(label, gap, signed=True)
    if not is_clear(gap) or not label.better:
        return entry
    up = (gap.value or 0.0) > 0
    word = "better" if up == (label.better == "higher") else "worse"
    return Entry(join_html([entry.text, build_element("span", word, class_=f"range {word}")]), entry.sort)


def _show_values(table: pd.DataFrame, names: Sequence[str]) -> Html:
    rows = []
    for key in table.index:
        values = [read_measured(table.loc[key], name) for name in names]
        if all(value.value is None for value in values):
            continue
        label = find_label(str(key))
        first = join_html(
            [
                build_element("span", label.words, title=str(key)),
                build_element("span", f"{label.better} is better", class_="range") if label.better else None,
            ]
        )
        rows.append(Row([Entry(first, label.words), *(build_measured(label, value) for value in values)]))
    columns = [Column("number", words=True), *(Column(name) for name in names)]
    return build_table(
        columns, rows, caption="Each number with its 95 % interval where it has one.", name="All numbers"
    )


def _show_remarks(arms: Mapping[str, RunFolder]) -> Html | None:
    found: Iterable[str] = list_remarks(dict(arms))
    shown = [render_line(line) for line in found]
    return build_section("Take care", build_list(shown)) if shown else None


def _show_again(arms: Mapping[str, RunFolder], whole: Path | None) -> Html:
    import shlex

    if whole is not None:
        lines = ["geodp run scenario.yaml --out ../again      # in this folder: the same result, event by event"]
    else:
        paths = " ".join(shlex.quote(arm.path.as_posix()) for arm in arms.values())
        lines = [f"geodp compare {paths} --out comparison.html"]
    return build_section("Again", build_commands(*lines))
