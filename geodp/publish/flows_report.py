"""The report of flows for people: one page that opens with no network, and the same words as Markdown."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

import numpy as np

from geodp._version import __version__
from geodp.flows.design import LEVELS
from geodp.flows.release import Z95, FlowTable, is_reliable, list_nodes
from geodp.flows.zone_grids import OF_TOWERS
from geodp.geometry import Array
from geodp.pages.html import Html, Part, build_element, build_link, join_html
from geodp.pages.parts import (
    STAMP,
    Column,
    Entry,
    Row,
    build_answer,
    build_commands,
    build_figure,
    build_figures,
    build_fold,
    build_header,
    build_list,
    build_page,
    build_section,
    build_table,
    build_warning,
)
from geodp.publish.flows_files import FlowsProduct
from geodp.publish.flows_live import (
    SCRIPT,
    build_flow_map,
    build_zone_player,
    list_kinds_of_days,
    profile_nodes,
    profile_zones,
)
from geodp.publish.flows_pictures import draw_bars, draw_zones
from geodp.publish.flows_statement import FlowsStatement
from geodp.storage.markdown import as_words

_MOST_ROWS = 40
_MOST_DISTRICTS = 6
_WORDS = (
    "Noise: a random number that is added to every count, so that nobody can tell whether one person is in it. It has "
    "mean zero: sums over many hours or zones come closer to the truth.",
    "± (95 %): 95 of 100 numbers lie at most so far from what was counted. Beyond that only noise is known; who is not "
    "in the data at all is not in it.",
    "Reliable: half the 95 % interval is at most half the number. Nothing else decides it.",
    "ε (epsilon), δ (delta), ρ (rho): how much a report may tell about one person at most; smaller is safer. ρ adds up "
    "from report to report, and is turned into ε at a δ, the probability of the rare case.",
    "Ledger: the account that adds up what all reports about the same people have cost.",
    "Footfall: people by place and time; each counts in one zone per period, that of the longest stretch.",
    "Trip: from a stay in one zone (at least 10 minutes) to the next one, in another zone.",
)


@dataclass(frozen=True)
class Picture:
    """A drawing with what it shows in words."""

    svg: bytes
    alt: str
    caption: str


@dataclass(frozen=True)
class Chapter:
    """One part of the report: words, a table, pictures."""

    title: str
    words: list[str]
    headings: list[str] = field(default_factory=list)
    rows: list[list[str | float]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    live: list[Html] = field(default_factory=list)
    """What moves on a screen."""
    paper: list[Picture] = field(default_factory=list)
    """What stands in its place on paper."""
    commands: list[str] = field(default_factory=list)


def build_report(statement: FlowsStatement) -> str:
    """Build the page.

    Parameters
    ----------
    statement
        The report, and what is said about it.
    """
    days = statement.design.days
    title = f"Footfall and flows, {days.first} to {days.last}"
    parts: list[Part] = [
        build_header(title, kicker="Mobility report", question=_say_asked(statement), facts=_say_facts(statement))
    ]
    if not statement.releasable:
        parts.append(build_warning(statement.verdict))
    parts.append(build_answer([statement.risk_sentence, statement.design.promise().sentence()],
                              title="What is promised"))  # fmt: skip
    parts.append(build_fold("The words of this report", build_list(_WORDS)))
    parts.append(build_element("p", "The same on a map to zoom into: ",
                               build_link("map.html", "map.html"), "."))  # fmt: skip
    for chapter in list_chapters(statement):
        inside: list[Part] = [build_list(chapter.words)] if chapter.words else []
        inside += chapter.live
        if chapter.paper:
            inside.append(build_element("div", *(build_figure(one.svg, alt=one.alt, caption=one.caption)
                                                 for one in chapter.paper), class_="figures paper"))  # fmt: skip
        if chapter.pictures:
            inside.append(build_figures(build_figure(one.svg, alt=one.alt, caption=one.caption)
                                        for one in chapter.pictures))  # fmt: skip
        if chapter.rows:
            inside.append(_build_rows(chapter))
        if chapter.commands:
            inside.append(build_commands(*chapter.commands))
        parts.append(build_section(chapter.title, *inside))
    parts.append(_build_foot(statement))
    return build_page(title, *parts, scripts=(SCRIPT,))


def build_markdown(statement: FlowsStatement) -> str:
    """Build the same words as Markdown, for a file.

    Parameters
    ----------
    statement
        The report, and what is said about it.
    """
    days = statement.design.days
    lines = [f"# Footfall and flows, {days.first} to {days.last}", "", as_words(_say_asked(statement)), "",
             as_words(_say_facts(statement)), ""]  # fmt: skip
    if not statement.releasable:
        lines += [f"**{as_words(statement.verdict)}**", ""]
    promised = [statement.risk_sentence, statement.design.promise().sentence()]
    lines += ["## What is promised", "", *(f"- {as_words(each)}" for each in promised), ""]
    for chapter in list_chapters(statement):
        lines += [f"## {chapter.title}", "", *(f"- {as_words(each)}" for each in chapter.words), ""]
        if chapter.rows:
            lines += ["| " + " | ".join(chapter.headings) + " |", "|" + "---|" * len(chapter.headings)]
            lines += ["| " + " | ".join(as_words(_say(cell)) for cell in row) + " |" for row in chapter.rows] + [""]
        if chapter.commands:
            lines += ["```", *chapter.commands, "```", ""]
    lines += ["## The words of this report", "", *(f"- {as_words(each)}" for each in _WORDS), ""]
    return "\n".join([*lines, f"Made with geodp {__version__}.", ""])


def list_chapters(statement: FlowsStatement) -> list[Chapter]:
    """Return the parts of the report, from the top.

    Parameters
    ----------
    statement
        The report.
    """
    product = statement.product
    return [
        _write_footfall(product),
        _write_places(product),
        _write_flows(product),
        _write_trips(product),
        _write_histograms(product),
        _write_doubts(product),
        _write_spending(statement),
        _write_repeat(statement),
    ]


def _say_asked(statement: FlowsStatement) -> str:
    design, zones = statement.design, statement.product.zones
    return (
        f"How many people were in each of {len(zones.names):,} zones, how many went from where to where, and how "
        f"people travel, on {design.days.count:,} {'day' if design.days.count == 1 else 'days'}?"
    )


def _say_facts(statement: FlowsStatement) -> str:
    days = statement.design.days
    return (
        f"Days begin at {days.begins_h:02d}:00 ({days.timezone}). A person counts in one zone per period of "
        f"{days.every_s // 60:,} min and with at most {statement.design.trips} trips a day. All numbers hold noise."
    )


def _write_footfall(product: FlowsProduct) -> Chapter:
    days = product.design.days
    starts = [f"{moment:%H:%M}" for moment in days.slot_starts(int(days.slots.argmax()))]
    chapter = Chapter("When and where people are", [
        f"People by hour, mean of {days.count:,} {'day' if days.count == 1 else 'days'}; the lines on bars are 95 % "
        "intervals."
    ], live=[build_zone_player(product)])  # fmt: skip
    kinds = list_kinds_of_days(product)
    for name, chosen in kinds:
        mean, give = profile_nodes(product, chosen)
        bars = draw_bars(starts, mean[0], give[0] / Z95, measure="people, by hour of the day")
        chapter.pictures.append(Picture(bars, f"People by hour: {name}", f"All places. {name}."))
    mean, give = profile_nodes(product, kinds[0][1])
    many = len(product.zones.districts)
    if many > 1:
        order = 1 + np.argsort(-mean[1 : 1 + many].sum(axis=1), kind="stable")[:_MOST_DISTRICTS]
        for node in order.tolist():
            name = product.zones.all_districts[node - 1]
            bars = draw_bars(starts, mean[node], give[node] / Z95, measure="people, by hour of the day")
            chapter.pictures.append(Picture(bars, f"People by hour: {name}", f"{name}. All days."))
    zone, _ = profile_zones(product, kinds[0][1])
    peak = float(zone.max(initial=1e-9))
    for slot in dict.fromkeys(np.linspace(0, len(starts), 4, endpoint=False).astype(int).tolist()):
        caption = f"Mean day, from {starts[slot]}: darkest is {peak:,.0f} people."
        chapter.paper.append(Picture(draw_zones(product.zones, zone[:, slot], peak), caption, caption))
    return chapter


def _write_places(product: FlowsProduct) -> Chapter:
    footfall = product.noisy.footfall
    _, levels, names = list_nodes(product.zones)
    hours = float(product.design.days.slots.sum())
    value = np.nansum(footfall.value, axis=(1, 2)) / hours
    sd = np.sqrt(np.nansum(footfall.sd**2, axis=(1, 2))) / hours
    order = [number for level in ("city", "district", "zone") for number in
             sorted((n for n, of in enumerate(levels) if of == level), key=lambda n: -value[n])]  # fmt: skip
    rows: list[list[str | float]] = [
        [levels[n], names[n], float(value[n]), float(Z95 * sd[n]),
         "yes" if is_reliable(value[n : n + 1], sd[n : n + 1])[0] else "no"] for n in order[:_MOST_ROWS]
    ]  # fmt: skip
    more = len(order) - len(rows)
    words = ["People in the mean period of all days."] + ([f"{more:,} more: footfall.parquet."] if more > 0 else [])
    return Chapter("Places", words, ["level", "place", "people", "± (95 %)", "reliable"], rows)


def _write_flows(product: FlowsProduct) -> Chapter:
    names = {"zone": product.zones.all_names, "district": product.zones.all_districts}
    whole = [table for table in product.noisy.flows if table.period < 0]
    chapter = Chapter("From where to where", [], ["level", "from", "to", "people", "± (95 %)"])
    for table in whole:
        chapter.words.append(
            f"Between {table.level}s, all days together: {table.value.size:,} of {table.cells:,} pairs stand out of "
            f"the noise, from {table.least:,.0f} people on; about one of them is false."
        )
        order = np.argsort(-table.value, kind="stable")
        chapter.rows.extend(_name_flow(table, row, names[table.level]) for row in order[:_MOST_ROWS])
        if (drawn := build_flow_map(product, table, names[table.level])) is not None:
            chapter.live.append(drawn)
    if product.design.has_thresholds:
        least = next(table.least for table in product.noisy.flows if table.level == "zone")
        chapter.words.append(f"Flows between zones are shown from {least:,.0f} people a period on: od.parquet.")
    return chapter


def _name_flow(table: FlowTable, row: int, names: tuple[str, ...]) -> list[str | float]:
    origin, destination = names[table.origin[row]], names[table.destination[row]]
    return [table.level, origin, destination, float(table.value[row]), Z95 * table.sd]


def _write_trips(product: FlowsProduct) -> Chapter:
    trips, days = product.noisy.trips, product.design.days
    known = np.isfinite(trips).sum(axis=0)
    mean = np.nansum(trips, axis=0) / np.maximum(known, 1)
    sd = product.noisy.trips_sd / np.sqrt(np.maximum(known, 1))
    names = [f"{days.moment(float(days.edges_s[0] + 3600 * hour)):%H:%M}" for hour in range(mean.size)]
    per_day = np.nansum(trips, axis=1)
    daily = product.noisy.trips_sd * np.sqrt(np.isfinite(trips).sum(axis=1))
    pictures = [
        Picture(draw_bars(names, mean, sd, measure="trips by hour of departure, mean day"), "Trips by hour",
                "Trips by hour of departure, mean day."),
        Picture(draw_bars([f"{date:%d %b}" for date in days.dates], per_day, daily, measure="trips by day"),
                "Trips by day", "Trips by day."),
    ]  # fmt: skip
    total, spread = float(per_day.sum()), float(Z95 * np.sqrt((daily**2).sum()))
    return Chapter("Trips", [f"{total:,.0f} trips in all, ± {spread:,.0f}."], pictures=pictures)


def _write_histograms(product: FlowsProduct) -> Chapter:
    chapter = Chapter("How people travel", ["Over all days. Quantiles are read from noisy histograms in public bins."],
                      ["statistic", "measure", "lower quartile", "median", "upper quartile"])  # fmt: skip
    for one in product.rules.histograms:
        noisy = product.noisy.histograms[one.key]
        value, sd = noisy.sum(axis=0), product.noisy.histogram_sd[one.key] * np.sqrt(len(noisy))
        svg = draw_bars(one.name_bins(), value, np.full(value.size, sd), measure=one.measure)
        chapter.pictures.append(Picture(svg, one.title, f"{one.title} ({one.measure})."))
        bins = [one.name_bins()[place] for place in find_quantiles(value, (0.25, 0.5, 0.75))]
        chapter.rows.append([one.title, one.measure, *bins])
    return chapter


def find_quantiles(count: Array, shares: tuple[float, ...]) -> list[int]:
    """Return the bins in which quantiles lie, by noisy counts: negative ones count as none.

    Parameters
    ----------
    count
        Noisy counts of bins.
    shares
        Shares between 0 and 1.
    """
    running = np.cumsum(np.maximum(count, 0.0))
    return [int(np.searchsorted(running, share * running[-1])) if running[-1] > 0 else 0 for share in shares]


def _write_doubts(product: FlowsProduct) -> Chapter:
    footfall = product.noisy.footfall
    _, levels, _ = list_nodes(product.zones)
    of = np.array(levels) == "zone"
    sure = is_reliable(footfall.value[of], footfall.sd[of])
    known = np.isfinite(footfall.value[of])
    day = np.nansum(footfall.value[of], axis=2), np.sqrt(np.nansum(footfall.sd[of] ** 2, axis=2))
    return Chapter("What not to rely on", [
        f"{100 * (1 - sure[known].mean()):.0f} % of counts of a zone in one period: half their 95 % interval is more "
        "than half of them.",
        f"{100 * (1 - is_reliable(*day).mean()):.0f} % of counts of a zone on one day.",
        "Pale bars and rows marked 'no', for the same reason. Add up days or zones for numbers that hold.",
        "Places beyond all zones, or in gaps between them, count as 'outside'. Dates in the pings that state no time "
        "zone are taken as UTC.",
        "Intervals are about noise only: who carries no phone, or another operator's, is not in the data at all.",
        "A column value may be negative, because noise is: value_nonneg is not, and adds up.",
        "Trips across the hour at which days begin are not counted; of a person with more trips than are used, some "
        "are chosen by chance.",
    ])  # fmt: skip


def _write_spending(statement: FlowsStatement) -> Chapter:
    design = statement.design
    rows: list[list[str | float]] = []
    for what, spent in statement.list_spend().items():
        rho = "pure" if design.is_pure else f"{spent['rho']:.6g}"
        rows.append([f"one person's {what}" if what != "person" else "one person, all days", f"{spent['epsilon']:.4g}",
                     f"{spent['delta']:.3g}", rho, f"{100 * spent['risk']:.1f} %"])  # fmt: skip
    told = "No ledger was charged." if statement.ledger is None else str(statement.ledger["sentence"])
    words = [told]
    for title, shares in (("Shares", design.every_share), ("Of footfall", LEVELS)):
        words.append(f"{title}: " + ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares.items()) + ".")
    headings = ["what stays hidden", "ε", "δ", "ρ", "a guess is right in at most"]
    return Chapter("What was spent", words, headings, rows)


def _write_repeat(statement: FlowsStatement) -> Chapter:
    request = statement.request
    zones = f"{request.zones_file.name}:{request.zones.rpartition(':')[2]}"
    zones = OF_TOWERS if request.zones == OF_TOWERS else zones
    words = ["geodp publish flows PINGS", f"--zones {shlex.quote(zones)}"]
    if request.towers is not None:
        words.append(f"--towers {shlex.quote(request.towers.name)}")
    if request.districts:
        words.append(f"--districts {shlex.quote(request.districts)}")
    words += [f"--from {request.first}", f"--to {request.last}", f"--timezone {request.timezone}"]
    words += [f"--every {request.every}", f"--od-every {request.od_every}", f"--unit {request.unit}"]
    words += [f"--trips {request.trips}"]
    asked = {"epsilon": request.epsilon, "delta": request.delta, "rho": request.rho}
    words += [f"--{name} {value!r}" for name, value in asked.items() if value is not None]
    words += [f"--share {name}={value:g}" for name, value in request.shares.items()] + ["--out FOLDER"]
    return Chapter("How to repeat it", ["Another run draws other noise and is paid for again."],
                   commands=[" \\\n  ".join(words)])  # fmt: skip


def _build_rows(chapter: Chapter) -> Html:
    words = [isinstance(cell, str) for cell in chapter.rows[0]]
    columns = [Column(name, words=word) for name, word in zip(chapter.headings, words, strict=True)]
    rows = [Row([Entry(_say(cell), cell) for cell in row]) for row in chapter.rows]
    return build_table(columns, rows, name=chapter.title)


def _say(cell: str | float) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:,.1f}"


def _build_foot(statement: FlowsStatement) -> Html:
    stamp = None if statement.releasable else build_element("p", build_element("span", STAMP, class_="stamp"))
    return build_element(
        "footer",
        stamp,
        build_element("p", join_html(statement.sentences, " ")),
        build_element("p", f"Made with geodp {__version__}. What is promised, number by number: guarantee.json."),
    )
