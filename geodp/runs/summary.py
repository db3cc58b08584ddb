"""`summary.md`: what a person reads first about a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.metrics import TOPICS, Measured, Metric
from geodp.pages.quantity import UNDEFINED, quantity, with_interval
from geodp.public.events import Reason
from geodp.run_folder.folder import write_text
from geodp.runs.adversaries import findings_of, findings_table
from geodp.runs.attack_scores import adversary_lines
from geodp.runs.compare import compare_runs, comparison_text, differences_table, read_measured, values_table
from geodp.runs.group_accounts import group_lines
from geodp.runs.measure import measurements
from geodp.runs.promise import promise_lines
from geodp.runs.remarks import odds_factor, remarks
from geodp.runs.risk import LAST_LINE, risk_sentences
from geodp.storage.markdown import as_code, as_words

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from geodp.run_folder.folder import RunFolder

STAMP = "*Simulated noise: not releasable.* Nothing in this folder may leave the house as a private release."
_TOPIC_TITLES = {
    "tasks": "Tasks",
    "plan": "Plans against the truth",
    "effort": "Effort and money",
    "privacy": "Privacy",
    "published": "What was published",
    "other": "Further",
}
FATES: dict[str, str] = {
    Reason.NONE: "taken by a worker",
    Reason.NO_ACCEPTANCE: "nobody accepted: all who were asked declined, or were gone when picked",
    Reason.NOBODY_NOTIFIED: "nobody was inside the circle",
    Reason.NOBODY_IN_REGION: "nobody was inside the region",
    Reason.SHORT_OF_TARGET: "nobody accepted, in a region that was planned short of the target",
    Reason.ACCEPTORS_GONE: "those who accepted took other tasks before they were picked",
    Reason.TOO_FEW: "fewer workers accepted than the task needs",
    Reason.CALLED_OFF: "called off by who had asked for it, after somebody had accepted",
    Reason.OUT_OF_PATIENCE: "patience ran out before anybody took it",
    Reason.BEYOND_REACH: "no offer: the target needs a circle wider than anyone travels",
    Reason.NO_RADIUS: "no offer: no circle, however wide, reaches the target",
    Reason.PURSE_EMPTY: "no offer: the reward had run out",
    Reason.NO_RELEASE: "no offer: there was no release to plan from",
    Reason.BAD_RADIUS: "no offer: the solver gave no usable radius",
    Reason.CROWDED: "no offer: too many tasks in its square kilometre and hour",
    Reason.FEW_PEOPLE: "no offer: too few people within reach for a circle that hides each of them",
    Reason.RUN_ENDED: "undecided when the run ended (not counted in rates)",
}
_FILES = (
    ("map.html", "the map; opens with no network"),
    ("metrics.json", "every number of this page, unrounded"),
    ("scenario.yaml", "the scenario with every default written out; reruns to the same result"),
    ("manifest.json", "versions, seed, checksums, timings"),
    ("events.parquet", "everything that happened, with reasons"),
    (
        "tasks.parquet",
        "what became of each task, with its place: truth, as the events are",
    ),
    ("server_view.parquet", "what the server decided and was told"),
    ("releases/", "what the server saw: the curator's releases, or the reports of phones"),
    ("releases/publications/", "what was published at the end: a table and a statement each"),
    ("estimates/", "densities that the server works out from reports"),
    ("risk.html", "what adversaries find, in plain sentences and pictures of 100 people"),
    ("findings.json", "what adversaries find, beside chance, with intervals and bounds"),
    ("attacks.parquet", "what an adversary guesses from the server's view, and how far off it is"),
    ("ledger.parquet", "what was spent, charge by charge"),
    ("truth/", "true counts, paths and disclosures: for scoring only, never to be shared"),
    ("run.log", "the log"),
)


def write_summary(run: RunFolder) -> None:
    """Write `summary.md` of a run, or of a comparison."""
    text = comparison_summary(run) if run.arms else run_summary(run)
    write_text(run.path / "summary.md", text)


def run_summary(run: RunFolder) -> str:
    """Return the summary of one run as Markdown."""
    found = list(measurements(run))
    measured = {key: value for _, key, value in found}
    careful = remarks(run, measured)
    parts = [
        f"# {as_words(run.scenario.name)}",
        as_words(run.scenario.about),
        STAMP,
        "## What happened",
        _story(run, measured),
        fates_table(run),
        "## What is promised",
        *promise_lines(run),
        *group_lines({"": run}),
        "## What the protocol gives away",
        _describe_disclosure(measured, bounded=run.scenario.protocol.refusal is not None),
        _bound_protocol(run),
        *_adversaries({"": run}),
        *(["## Take care", "\n".join(f"- {line}" for line in careful)] if careful else []),
        "## Numbers",
        metrics_table(found),
        "Values with their 95 % intervals. `geodp list metric` has the definitions.",
        "## Again",
        repeat_lines(run),
        "## Files",
        files_list(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _story(run: RunFolder, measured: dict[str, Measured]) -> str:
    """Tell in a few sentences how the tasks fared."""
    scenario, rate = run.scenario, measured["success_rate"]
    arrived, censored = int(measured["tasks_arrived"].value or 0), int(measured["censored_tasks"].value or 0)
    lines = [f"{arrived:,} tasks arrived within {quantity(scenario.duration_s, 's')}, from {scenario.start_time} on."]
    if rate.value is not None:
        taken = round(rate.value * (arrived - censored))
        lines.append(
            f"Workers took {taken:,} of the {arrived - censored:,} decided ones: **{with_interval(rate, 'share')}**."
        )
    lines += _plan_sentences(measured)
    lines += _effort_sentences(run, measured)
    return " ".join(lines)


def _plan_sentences(measured: dict[str, Measured]) -> list[str]:
    planned, gap = measured["planned_success"], measured["success_gap"]
    if planned.value is None:
        return []
    text = f"The server had planned {quantity(planned.value, 'share')} for the tasks it offered"
    if gap.value is None or gap.low is None or gap.high is None:
        return [text + "."]
    verdict = "as chance may have it" if gap.low <= 0 <= gap.high else "more than chance explains"
    realised = f"its first offers differed from that by {with_interval(gap, 'share difference')}"
    return [f"{text}; {realised}, {verdict}."]


def _effort_sentences(run: RunFolder, measured: dict[str, Measured]) -> list[str]:
    asked, travel = measured["notified_workers"].value, measured["travel_distance_m"].value
    waited, spent = measured["waiting_time_s"].value, measured["reward_spent"].value
    lines = []
    if asked is not None:
        who = "looked at" if run.scenario.server.mode == "worker_selected" else "were asked about"
        rounds = measured["rounds"].value if "rounds" in measured else None
        along = "" if rounds is None or rounds < 1.005 else f", in {quantity(rounds)} rounds"
        lines.append(f"{quantity(asked)} workers {who} each task on average{along}.")
    if travel is not None:
        done = "" if waited is None else f", and tasks were done {quantity(waited, 's')} after they arrived"
        lines.append(f"Those who went travelled {quantity(travel, 'm')} on average{done}.")
    total = run.scenario.tasks.reward.total
    if spent is not None and total:
        lines.append(f"Of the reward of {quantity(total)}, {quantity(spent)} was spent.")
    return lines


def fates_table(run: RunFolder) -> str:
    """Return how many tasks met which fate, the commonest first."""
    fates = run.tasks["reason"].fillna("undecided_at_end").value_counts()
    rows = [
        f"| {FATES.get(str(reason), as_words(reason))} | {count:,} | {quantity(count / len(run.tasks), 'share')} |"
        for reason, count in fates.items()
    ]
    return "\n".join(["| what became of a task | tasks | share |", "|---|---:|---:|", *rows]) if rows else ""


def _describe_disclosure(measured: dict[str, Measured], *, bounded: bool) -> str:
    """Say what taking part tells the server, which no release promises to hide."""
    mean, largest = measured["interaction_leakage_mean"], measured["interaction_leakage_max"].value
    text = (
        "Releases carry the promise above; the protocol carries none. Who takes a task depends on where "
        "people truly are, so **no ε is claimed for all that the server sees**. "
    )
    if bounded:
        text = "Who takes a task discloses where she is by consent; of the others this is what outcomes tell. "
    if mean.value is None or largest is None:
        return text + "What outcomes of offers disclosed has no bound in this run."
    return text + (
        f"Outcomes of offers disclosed {with_interval(mean, 'nats')} about a worker on average, and "
        f"about the worst-off {quantity(largest, 'nats')}: what the server saw is up to "
        f"{odds_factor(largest)} times as likely without that person as with. "
        "Workers who take a task disclose where they are by consent."
    )


def _bound_protocol(run: RunFolder) -> str:
    """Say what the whole view of the server can tell of those who took no task: what is promised, and both ends."""
    return "\n\n".join(line for line in (_describe_refusal(run), both_ends(run)) if line)


def _describe_refusal(run: RunFolder) -> str:
    """Say what randomised refusal bounds ('' where phones do not refuse by lot)."""
    refusal = run.scenario.protocol.refusal
    if refusal is None:
        return ""
    rows = run.ledger[run.ledger["unit"].astype(str) == "interaction"]
    protocol, central = float(rows["epsilon"].sum()), run.central_charges
    released = float(central["total"].max()) if len(central) else 0.0
    released = released or sum(release.guarantee.epsilon for release in run.releases)  # paid in ρ: the plain sum
    return (
        f"**Randomised refusal**: phones mute {refusal.mute:.3g} of tasks by lot and consider {refusal.offers:,} in "
        f"{quantity(refusal.window_s, 's')}, so what outcomes tell of those who took none is bounded whatever people "
        f"do: releases {released:.4g}; protocol {protocol:.4g}; whole view of those who took no task "
        f"**ε = {released + protocol:.4g}** (somebody more or less, or her whole track another)."
    )


def both_ends(run: RunFolder) -> str:
    """Say both ends of ε of the server's whole view ('' where they were not worked out)."""
    ends = run.protocol_ends
    if ends is None:
        return ""
    upper = "∞" if ends["upper"] is None else f"{ends['upper']:.4g}"
    how = "promised" if ends["promised"] else "measured, and not promised"
    return (
        f"Those who took no task, in everything that the server saw: **{ends['lower']:.4g} ≤ ε ≤ {upper}**. The lower "
        f"end is certified by {ends['samples']:,} redrawn worlds on either side (95 %), the upper one is {how}. "
        "`geodp audit --run DIR --view server` looks closer."
    )


def _adversaries(runs: dict[str, RunFolder]) -> list[str]:
    """Return what adversaries find: beside utility and promise, in figures, and in plain sentences."""
    lines = adversary_lines(runs) or ["## What an adversary finds"]
    utility = {name: utility_words(run) for name, run in runs.items()}
    lines.append(findings_table(runs, utility))
    said = []
    for name, run in runs.items():
        sentences = risk_sentences(findings_of(run))
        said += [f"- {as_code(name) + ': ' if name else ''}{text}" for text in sentences[:-1]]
    return [*lines, *(["\n".join([*said, f"- **{LAST_LINE}**"])] if said else [])]


def utility_words(run: RunFolder) -> str:
    """Say in a few words what a run's releases were worth to whoever worked with them."""
    measured = {key: value for _, key, value in measurements(run)}
    parts = []
    for key, words, unit in _UTILITY:
        value = measured[key].value if key in measured else None
        if value is not None:
            parts.append(f"{words} {quantity(value, unit)}")
    return ", ".join(parts[:2]) or "–"


_UTILITY = (
    ("success_rate", "success", "share"),
    ("notified_workers", "asked", ""),
    ("mae", "error of counts", ""),
    ("query_are", "error of queries", "share"),
)


def metrics_table(found: list[tuple[Metric, str, Measured]]) -> str:
    """Return all numbers with intervals and units, by topic."""
    lines = ["| | value | better |", "|---|---|---|"]
    for topic in TOPICS:
        rows = [
            f"| {as_code(key)} | {with_interval(measured, metric.unit_of(key))} | {metric.better or UNDEFINED} |"
            for metric, key, measured in found
            if metric.topic == topic or (topic == "other" and metric.topic not in TOPICS)
        ]
        lines += [f"| **{_TOPIC_TITLES[topic]}** | | |", *rows] if rows else []
    return "\n".join(lines)


def comparison_summary(run: RunFolder) -> str:
    """Return the summary of a comparison as Markdown."""
    arms = run.arms
    table, careful = compare_runs(arms), list_remarks(arms)
    parts = [
        f"# {as_words(run.scenario.name)}",
        as_words(run.scenario.about),
        STAMP,
        "## What is compared",
        _arms_list(run),
        "## What differs",
        comparison_text(table, arms),
        *_at_equal_success(run),
        "## What is promised",
        *list_promises(arms),
        *group_lines(arms),
        "## What the protocol gives away",
        "**No ε is claimed for all that the server sees**, but where phones refuse by lot. Declining offers disclosed:"
        if any(arm.scenario.protocol.refusal is not None for arm in arms.values())
        else "**No ε is claimed for all that the server sees.** Declining offers disclosed:",
        "\n".join(f"- {line}" for line in list_disclosures(table, list(arms))),
        "\n".join(
            f"- {as_code(name)}: {text}"
            for name, arm in arms.items()
            if (text := _bound_protocol(arm).replace("\n\n", " "))
        ),
        *_adversaries(arms),
        *(["## Take care", "\n".join(f"- {line}" for line in careful)] if careful else []),
        "## Numbers",
        values_table(table, list(arms)),
        "## Differences",
        differences_table(table, list(arms)),
        "## Again",
        repeat_lines(run),
        "## Files",
        _files(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _at_equal_success(run: RunFolder) -> list[str]:
    """Say what each arm asks once all succeed alike: success at a fixed target rewards noise."""
    success = run.scenario.compare_at_success
    if success is None or not run.has("equal_success.csv"):
        return []
    import pandas as pd

    table = pd.read_csv(run.file("equal_success.csv"))
    lines = [
        "| arm | workers asked per task | against the first | travelled | reward | target |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    notes = []
    for row in table.to_dict("records"):
        name = as_code(str(row["arm"]))
        if pd.isna(row["asked"]):
            lines.append(_row_as_it_stands(name, row))
            notes.append(f"- {name}: {as_words(str(row['note']))}.")
            continue
        asked, against, travel_m, reward, target = (
            float(row[key]) for key in ("asked", "against_first", "travel_m", "reward", "target")
        )
        numbers = f"{quantity(asked)} | {against:.2f}× | {quantity(travel_m, 'm')} | {quantity(reward)} | {target:.3f}"
        lines.append(f"| {name} | {numbers} |")
    return [
        f"## At equal success ({quantity(success, 'share')})",
        "A server that knows less asks more people, and so succeeds more often at the same target. Here the target of "
        "each arm was moved until the people it asks would accept with the same mean chance, from the truth; what that "
        "costs can be compared. One world: `geodp advise --within`, or a sweep of `cost_at_success`, has intervals.",
        "\n".join(lines),
        *(["\n".join(notes)] if notes else []),
    ]


def _row_as_it_stands(name: str, row: dict[Hashable, Any]) -> str:
    """Return the row of an arm that is not at the success of the others: what it has, and asks for that."""
    import pandas as pd

    if pd.isna(row["asked_as_it_stands"]):
        return f"| {name} | – | – | – | – | – |"
    asked, first, travel_m, reward = (
        float(row[key]) for key in ("asked_as_it_stands", "first_asks_for_as_much", "travel_m", "reward")
    )
    against = UNDEFINED if pd.isna(first) else f"{asked / first:.2f}×, both at {quantity(row['taken'], 'share')}"
    numbers = f"{quantity(asked)} | {against} | {quantity(travel_m, 'm')} | {quantity(reward)} | –"
    return f"| {name}, at {quantity(row['taken'], 'share')} | {numbers} |"


def list_promises(arms: dict[str, RunFolder]) -> list[str]:
    """Return each promise once, with the arms that make it."""
    makers: dict[str, list[str]] = {}
    for name, arm in arms.items():
        makers.setdefault(" ".join(line for line in promise_lines(arm) if line), []).append(as_code(name))
    return [f"{', '.join(names)}: {promise}" for promise, names in makers.items()]


def list_disclosures(table: pd.DataFrame, names: list[str]) -> list[str]:
    """Return for each run what declining offers gave away."""
    rows = table.set_index("metric")
    lines = []
    for name in names:
        mean, largest = (
            with_interval(read_measured(rows.loc[f"interaction_leakage_{which}"], name), "nats")
            for which in ("mean", "max")
        )
        lines.append(f"{as_code(name)}: {mean} on average, {largest} for the worst-off worker")
    return lines


def list_remarks(arms: dict[str, RunFolder]) -> list[str]:
    """Return each remark once, with the arms it concerns."""
    concerned: dict[str, list[str]] = {}
    for name, arm in arms.items():
        for remark in remarks(arm, {key: value for _, key, value in measurements(arm)}):
            concerned.setdefault(remark, []).append(as_code(name))
    return [f"{', '.join(names)}: {text}" for text, names in concerned.items()]


def _arms_list(run: RunFolder) -> str:
    lines = []
    for number, (name, changes) in enumerate(run.scenario.compare.items()):
        changed = ", ".join(as_code(f"{path}: {_as_written(value)}") for path, value in (changes or {}).items())
        role = " (baseline)" if number == 0 else ""
        lines.append(f"- {as_code(name)}{role}: {changed or 'the scenario as it stands'}")
    return "\n".join(lines)


def _as_written(value: Any) -> str:
    """Return a value as a scenario has it."""
    import yaml

    text = str(yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000))
    return text.removesuffix("...\n").strip()


def _files(run: RunFolder) -> str:
    own = [
        "- `report.html`: this comparison as a page, with tables that sort and a link to each arm's map",
        "- `map.html`: the map, with a group of layers per arm",
        "- `comparison.csv`: the tables of this page, unrounded",
    ]
    if run.has("equal_success.csv"):
        own.append("- `equal_success.csv`: what each arm costs at equal success")
    return "\n".join(own + [f"- `arms/{name}/summary.md`: the arm `{name}` by itself" for name in run.arms])


def repeat_lines(run: RunFolder) -> str:
    """Say how to get the same result, and another one."""
    seed = run.scenario.seed
    return (
        "```sh\n"
        "geodp run scenario.yaml --out ../again      # in this folder: the same result, event by event\n"
        f"geodp run scenario.yaml --seed {seed + 1} --out ../other-luck\n"
        "```\n\n"
        f"Made with geodp {as_words(run.manifest['geodp'])}, seed {seed}."
    )


def files_list(run: RunFolder) -> str:
    """List the files of the folder, each with what it is for."""
    shown = [(name, what) for name, what in _FILES if name == "map.html" or (run.path / name).exists()]
    return "\n".join(f"- `{name}`: {what}" for name, what in shown)
