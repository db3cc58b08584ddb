"""The page that a sweep leaves: question and answer in words, figures, sortable tables, a link to each run's map."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp._version import __version__
from geodp.errors import GeodpError
from geodp.metrics.intervals import Measured, mean
from geodp.pages.html import Html, Part, build_element, build_link, join_html
from geodp.pages.labels import USUAL_METRICS, Label, capitalise, find_label, find_labels
from geodp.pages.parts import (
    Column,
    Entry,
    Row,
    Scale,
    build_answer,
    build_commands,
    build_figure,
    build_figures,
    build_fold,
    build_footer,
    build_header,
    build_list,
    build_measured,
    build_page,
    build_section,
    build_table,
    build_warning,
)
from geodp.runs.compare import is_clear
from geodp.sweeps.significance import TEST_NOTE, BestCell, find_best, say_p
from geodp.sweeps.tables import (
    GAP_COLUMNS,
    VALUE_COLUMNS,
    describe_values,
    list_metrics,
    list_varying,
    name_cells,
    pair_gaps,
    summarise_cells,
)
from geodp.sweeps.trend import ERROR, find_trend

if TYPE_CHECKING:
    import pandas as pd

    from geodp.sweeps.line_plots import DrawnPlot
    from geodp.sweeps.sweep_file import LoadedSweep

_MOST_SHOWN = 8
_ANSWERED = 4
"""Metrics that the answer speaks of, at most."""
MOST_RUNS = 2000
"""Rows of the table of runs, at most: all are in runs.parquet."""
_ENOUGH_SEEDS = 5
"""With fewer a page warns: the factor of an interval (Student) is 12.7 with 2, 4.3 with 3, 2.8 with 5, 2.3 with 10."""
_MOST_LINKS = 6
_MOST_NOTICES = 200


def build_report(
    sweep: LoadedSweep, runs: pd.DataFrame, *, folder: Path, plots: Sequence[DrawnPlot], notices: Sequence[str]
) -> str:
    """Build the page of a sweep; it needs no other file and no network.

    Parameters
    ----------
    sweep, runs
        The sweep, and its table of runs.
    folder
        Where the page will stand: links lead to files beside it.
    plots
        What was drawn.
    notices
        What runs dropped, guessed or clipped, in words.
    """
    varied, baseline = sweep.varied, sweep.baseline().name
    shown = choose_shown(runs, varied, [name for plot in sweep.sweep.plot for name in (plot.y, plot.x) if name])
    failed, seeds = int((runs["status"] != "ok").sum()), len(sweep.sweep.seed_list())
    expected = len(sweep.cells) * seeds
    facts = (
        f"{_count(len(sweep.cells), 'cell')} × {_count(seeds, 'seed')}: {len(runs) - failed:,} of {expected:,} runs "
        "finished well. Every cell has the same seeds, so the same worlds and the same luck. Intervals are 95 %, over "
        "the seeds; differences are taken seed by seed."
    )
    parts: list[Part] = [
        build_header(
            _as_title(sweep.sweep.name), kicker=f"Sweep {sweep.sweep.name}", question=sweep.sweep.about, facts=facts
        ),
        build_answer(say_answers(runs, varied, shown)),
        _warn_failures(folder, failed, expected - len(runs)),
        build_section("Figures", build_figures(_show_plot(plot) for plot in plots)) if plots else None,
        build_section(
            "Cells",
            build_cells_table(runs, varied, baseline, shown=shown, links=_link_maps(runs, folder)),
            build_gaps_table(runs, varied, baseline, shown=shown),
        ),
        _show_notices(notices),
        _show_runs(runs, varied, shown, folder),
        build_section("Again", _repeat(sweep), _list_files(plots)),
        build_footer(
            promise="Guarantees are those of each cell's mechanism, for its releases alone; what the server learns "
            "from offers carries none. Simulated noise follows from a seed and can be taken off: nothing here may "
            "leave the house as a private release.",
            made=f"Made with geodp {__version__}. All numbers: runs.parquet and summary.csv beside this page.",
        ),
    ]
    return build_page(sweep.sweep.name, *parts)


def choose_shown(runs: pd.DataFrame, varied: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the metrics that a page shows: those that plots ask for, and the usual ones that runs have."""
    known = [key for key in dict.fromkeys([*asked, *USUAL_METRICS]) if key in runs and key not in varied]
    found = [key for key in known if runs[key].notna().any()] or list_metrics(runs, varied)[:_MOST_SHOWN]
    return found[:_MOST_SHOWN]


def _as_title(name: str) -> str:
    return capitalise(name.replace("_", " ").replace("-", " "))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def say_answers(runs: pd.DataFrame, varied: Sequence[str], shown: Sequence[str]) -> list[Html]:
    """Say what the sweep found: where the shown metrics go, which cell is best, and what is undecided."""
    good = runs[runs["status"] == "ok"]
    if good.empty:
        return [join_html(["No run finished well, so there is no answer."])]
    if good["seed"].nunique() == 1:
        only = "One seed only: no number here has an interval, so nothing can be said about chance. Give it more seeds."
        return [
            join_html([only]),
            *(_say_best(runs, varied, key, certain=False) for key in _choose_judged(shown)[:_ANSWERED]),
        ]
    found = []
    for key in _choose_judged(shown)[:_ANSWERED]:
        moves = _say_moves(good, varied, key)
        best = _say_best(runs, varied, key, certain=True)
        found.append(join_html([*moves, best], " "))
    caution = [*_say_few(int(good["seed"].nunique())), *_say_caution(good, varied, shown)]
    if len(name_cells(good, varied)) > 1:
        found.append(build_element("span", TEST_NOTE, class_="facts"))
    return [*caution, *found]


def _choose_judged(shown: Sequence[str]) -> list[str]:
    return [key for key in shown if find_label(key).better] or list(shown)[:1]


def _say_few(seeds: int) -> list[Html]:
    """Say that a handful of seeds makes intervals wide, beyond what can be: shares above 100 %, for one."""
    if seeds >= _ENOUGH_SEEDS:
        return []
    text = (
        f"{seeds} seeds only: intervals are as wide as so few make them, and may reach beyond what can be (a share "
        "above 100 %). Take ten."
    )
    return [join_html([text])]


def _say_caution(good: pd.DataFrame, varied: Sequence[str], shown: Sequence[str]) -> list[Html]:
    """Say that success at a fixed target rewards noise, where noise varies and the price is not made equal."""
    noise = any(path.rpartition(".")[2].startswith("epsilon") or path.endswith("mechanism") for path in varied)
    if not noise or "success_rate" not in shown or "cost_at_success" in good:
        return []
    text = (
        "Read success beside its price: at a fixed target a server that knows less asks more people, and so succeeds "
        "more often."
    )
    return [
        join_html([text, " ", build_element("code", "at_success: 0.9"), " in the sweep file makes successes equal."])
    ]


def _say_moves(good: pd.DataFrame, varied: Sequence[str], key: str) -> list[Html]:
    """Say where a metric goes as the first varied number grows, on the cells that have all of its values."""
    import pandas as pd

    paths = [path for path in list_varying(good, varied) if pd.api.types.is_numeric_dtype(good[path])]
    label, found = find_label(key), []
    for path in paths[:2]:
        by_place = _pair_places(good, varied, path, key)
        if by_place is None:
            continue
        places = list(by_place.columns)
        trend = find_trend([by_place[place].tolist() for place in places])
        first, last = trend.rises or trend.falls or (0, len(places) - 1)
        gap = mean(pair_gaps(by_place[places[last]], by_place[places[first]]))
        said = label.value(gap, signed=True) if gap.value is not None else ""
        across = f"As {find_label(path).words} grows from {places[first]:g} to {places[last]:g}, {label.words}"
        if not trend.monotone:
            whole = f"As {find_label(path).words} grows from {places[0]:g} to {places[-1]:g}, {label.words}"
            text = f"{whole} both rises and falls (clearly, at {ERROR:.0%})."
        elif trend.rises or trend.falls:
            text = f"{across} {trend.word}: {said}."
        else:
            near = "; not clear once all pairs of values are allowed for" if is_clear(gap) else ""
            text = f"{across} does not clearly change{f' ({said}{near})' if said else ''}."
        found.append(join_html([text]))
    return found


def _pair_places(good: pd.DataFrame, varied: Sequence[str], path: str, key: str) -> pd.DataFrame | None:
    """Return a metric by seed and value of a path, averaged over the other settings that have all of its values."""
    inside = [other for other in varied if other != path and not path.startswith(f"{other}.")]
    words = describe_values(good, inside) if inside else None
    others = (
        words.apply(" / ".join, axis=1) if words is not None and not words.empty else good["cell"].map(lambda _: "")
    )
    frame = good[["seed", path, key]].assign(others=others).dropna()
    places = sorted(frame[path].unique())
    if len(places) < 2:
        return None
    wide = frame.pivot_table(index=["others", "seed"], columns=path, values=key, aggfunc="mean")
    complete = wide.groupby("others").filter(lambda own: bool(own.notna().any().all())).dropna()
    if complete.empty:
        return None
    shared = complete.reset_index().groupby("seed")["others"].nunique()
    seeds = shared.index[shared == shared.max()]
    found: pd.DataFrame = complete.groupby("seed").mean().loc[seeds]
    return found if len(found) > 1 else None


def _say_best(runs: pd.DataFrame, varied: Sequence[str], key: str, *, certain: bool) -> Html:
    label = find_label(key)
    try:
        best = find_best(runs, varied, key, better=label.better or "higher")
    except GeodpError:
        return join_html([build_element("strong", capitalise(label.words)), " has no finite mean in any cell."])
    word = "highest" if best.better == "higher" else "lowest"
    head = [build_element("strong", capitalise(label.words)), f" is {word} with "]
    said: list[Part] = [*head, build_element("strong", best.best.words), f": {label.value(best.mean)}."]
    if len(best.others) == 0:
        said = [build_element("strong", capitalise(label.words)), f": {label.value(best.mean)} with {best.best.words}."]
    elif certain:
        said.append(f" {_say_certainty(best, label)}")
    return join_html(said)


def _say_certainty(best: BestCell, label: Label) -> str:
    second, others = best.runner_up, len(best.others)
    if second is None:
        return ""
    worse = "lower" if best.better == "higher" else "higher"
    gap = label.value(second.difference, signed=True)
    sure = "" if second.p_value is None else f", p {say_p(second.p_value)}"
    if best.decided:
        whole = "The other cell is" if others == 1 else f"All {others} other cells are"
        return f"{whole} clearly {worse}; the runner-up, {second.words}, by {gap}{sure}."
    if all(one.mean.value == best.mean.value for one in best.others):
        return "All cells have the same."
    first = best.tied[0]
    first_gap = label.value(first.difference, signed=True)
    more = len(best.tied) - 1
    rest = f", and {more} more of {others} other cells, are" if more else " is"
    return f"Undecided: {first.words} ({first_gap}){rest} not clearly {worse}."


def _warn_failures(folder: Path, failed: int, missing: int) -> Html | None:
    if not failed and not missing:
        return None
    path = folder / "failures.txt"
    text = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    lines: list[Part] = []
    if failed:
        what = f"{_count(failed, 'run')} failed and {'is' if failed == 1 else 'are'} missing from all means."
        lines.append(
            join_html([build_element("strong", what), " Reasons and commands that repeat them are below and in "])
        )
        lines[-1] = join_html([lines[-1], build_link("failures.txt", "failures.txt"), "."])
    if missing:
        lines.append(f"{_count(missing, 'run')} not made yet: the same command goes on.")
    shown = "\n".join(text.splitlines()[: 2 * 50])
    fold = build_fold("What failed, and how to repeat it", build_commands(shown)) if shown else None
    return join_html([build_warning(*lines), fold])


def _show_plot(plot: DrawnPlot) -> Html:
    links = [build_link(path.suffix.removeprefix("."), f"figures/{path.name}") for path in plot.files]
    caption = join_html([f"{plot.caption} ", build_element("span", join_html(links, " · "), class_="screen")])
    return build_figure(plot.svg, alt=plot.caption, caption=caption, is_wide=plot.is_wide)


def build_cells_table(
    runs: pd.DataFrame,
    varied: Sequence[str],
    baseline: str,
    *,
    shown: Sequence[str] | None = None,
    links: dict[str, Html] | None = None,
) -> Html:
    """Build the table of cells: varied values, then mean and interval of each metric, and links to maps."""
    keys = list(shown) if shown is not None else choose_shown(runs, varied, [])
    return _build_cells(runs, varied, baseline, keys=keys, columns=VALUE_COLUMNS, links=links or {})


def build_gaps_table(runs: pd.DataFrame, varied: Sequence[str], baseline: str, *, shown: Sequence[str]) -> Html | None:
    """Build the table of paired differences to the baseline (None where there is nothing to compare)."""
    if runs["cell"].nunique() < 2 or baseline not in set(runs.loc[runs["status"] == "ok", "cell"]):
        return None
    return _build_cells(runs, varied, baseline, keys=list(shown), columns=GAP_COLUMNS, links={})


def _build_cells(
    runs: pd.DataFrame,
    varied: Sequence[str],
    baseline: str,
    *,
    keys: list[str],
    columns: list[str],
    links: dict[str, Html],
) -> Html:
    gaps = columns is GAP_COLUMNS
    cells = runs.drop_duplicates("cell").set_index("cell").sort_index()
    paths = list_varying(cells, varied) or list(varied)[:1]
    words, labels = describe_values(cells, varied), find_labels([*paths, *keys])
    summary = summarise_cells(runs, varied, baseline).set_index(["cell", "metric"])
    scales = {key: Scale(zero=gaps) for key in keys}
    found: dict[tuple[str, str], Measured] = {}
    for cell in cells.index:
        for key in keys:
            has = (cell, key) in summary.index
            values = [_number(summary.loc[(cell, key), column]) for column in columns] if has else [None] * 3
            found[cell, key] = Measured(*values)
            if not (gaps and cell == baseline):
                scales[key].include(found[cell, key])
    rows = []
    for cell in cells.index:
        if gaps and cell == baseline:
            continue
        entries = [_value_entry(cells.loc[cell, path], words.loc[cell, path]) for path in paths]
        if not gaps and cell == baseline and len(cells) > 1:
            first = entries[0]
            said = join_html([first.text, " ", build_element("em", "(baseline)")])
            entries[0] = Entry(said, first.sort or str(first.text))
        entries += [build_measured(labels[key], found[cell, key], scales[key], signed=gaps) for key in keys]
        if links:
            entries.append(Entry(links.get(str(cell), join_html([""])), None))
        rows.append(Row(entries, marked=not gaps and cell == baseline and len(cells) > 1))
    heads = [Column(labels[path].words, labels[path].about or path, words=True) for path in paths]
    heads += [Column(_head(labels[key], gaps=gaps), labels[key].about) for key in keys]
    heads += [Column("maps", "of single runs", words=True, sorts=False)] if links else []
    names = name_cells(runs, varied)
    caption = (
        f"Paired differences to the baseline ({names.get(baseline, baseline)}), with 95 % intervals; a bar that leaves "
        "the line at zero is clear by itself, but of many such differences one in twenty is so by chance."
        if gaps
        else "Means with 95 % intervals over the seeds; bars share a scale within their column. Headings sort."
    )
    return build_table(heads, rows, caption=caption, name="Differences" if gaps else "Cells")


def _head(label: Label, *, gaps: bool) -> Part:
    better = "" if not label.better else f"{label.better} is better"
    return join_html(
        [
            f"{label.words}{', difference' if gaps else ''}",
            build_element("span", better, class_="range") if better else None,
        ]
    )


def _value_entry(value: Any, words: str) -> Entry:
    import pandas as pd

    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and pd.isna(value):
        return Entry(words, None)
    return Entry(words, float(value) if number else "")


def _number(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)


def _link_maps(runs: pd.DataFrame, folder: Path) -> dict[str, Html]:
    """Return links to the maps that were kept, by cell."""
    found: dict[str, Html] = {}
    for cell, own in runs.groupby("cell", sort=True):
        kept = [
            (seed, f"runs/{run_id}/map.html")
            for seed, run_id in zip(own["seed"], own["run_id"], strict=True)
            if (folder / "runs" / str(run_id) / "map.html").is_file()
        ]
        links = [build_link(f"seed {seed}", path) for seed, path in kept[:_MOST_LINKS]]
        if links:
            more = f", … ({len(kept)} in all, see the runs)" if len(kept) > _MOST_LINKS else ""
            found[str(cell)] = join_html([join_html(links, ", "), more])
    return found


def _show_notices(notices: Sequence[str]) -> Html | None:
    if not notices:
        return None
    more = len(notices) - _MOST_NOTICES
    shown = [*notices[:_MOST_NOTICES], *([f"… and {more:,} more"] if more > 0 else [])]
    listed = build_list(shown)
    return build_section("Take care", listed if len(shown) <= 5 else build_fold(f"{len(notices):,} remarks", listed))


def _show_runs(runs: pd.DataFrame, varied: Sequence[str], shown: Sequence[str], folder: Path) -> Html:
    """Build the table of single runs, folded, with what was kept of each."""
    names, labels = name_cells(runs, varied), {key: find_label(key) for key in shown}
    rows = []
    for record in runs.head(MOST_RUNS).to_dict("records"):
        good = record["status"] == "ok"
        entries = [
            Entry(names[str(record["cell"])]),
            Entry(str(record["seed"]), float(record["seed"])),
            Entry("finished" if good else f"failed: {record['error']}"),
        ]
        entries += [build_measured(labels[key], Measured(_number(record[key]))) for key in shown]
        kept = folder / "runs" / str(record["run_id"])
        files = [name for name in ("map.html", "summary.md") if (kept / name).is_file()]
        links = [build_link(name.partition(".")[0], f"runs/{record['run_id']}/{name}") for name in files]
        entries.append(Entry(join_html(links, ", ") if links else "–", None))
        rows.append(Row(entries))
    heads = [Column("cell", words=True), Column("seed"), Column("ended", words=True)]
    heads += [Column(labels[key].words, labels[key].about) for key in shown]
    heads.append(Column("kept", "what was kept of the run: `keep` in the sweep file", words=True, sorts=False))
    left = f" (the first {MOST_RUNS:,} of {len(runs):,}; all are in runs.parquet)" if len(runs) > MOST_RUNS else ""
    table = build_table(heads, rows, name="Runs")
    return build_section("Runs", build_fold(f"{_count(min(len(runs), MOST_RUNS), 'run')}{left}", table))


def _repeat(sweep: LoadedSweep) -> Html:
    return build_commands(
        f"geodp sweep {shlex.quote(sweep.path.as_posix())} --out DIR",
        "python -c 'import geodp; print(geodp.open_sweep(\"DIR\").to_latex())'",
    )


def _list_files(plots: Sequence[DrawnPlot]) -> Html:
    files = [
        ("runs.parquet", "one row per run: varied values and all metrics"),
        ("summary.csv", "one row per cell and metric: mean, interval, paired difference"),
        ("failures.txt", "what failed, with commands that repeat it"),
        ("timings.parquet", "how long each run took"),
    ]
    items = [join_html([build_link(name, name), f": {what}"]) for name, what in files]
    if plots:
        named = [build_link(path.name, f"figures/{path.name}") for plot in plots for path in plot.files]
        items.append(join_html(["figures: ", join_html(named, ", ")]))
    return build_list(items)
