"""`geodp publish flows`: check, read, rehearse without data, ask the ledger, draw noise, write a whole folder.

Up to the ledger's answer nothing is charged; from then on the charge stays, whatever happens.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geodp.errors import BudgetSpent, DataError, GeodpError, NotReleasable, OutputError
from geodp.flows.calendar import Days
from geodp.flows.contributions import FlowRules, FlowTables, make_empty
from geodp.flows.design import USUAL_DELTA, FlowDesign
from geodp.flows.pings import PingNotes, count_pings, open_pings
from geodp.flows.release import release_flows
from geodp.flows.zones import ZoneMap
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.ledger import ANY_TIME
from geodp.privacy.ledger_file import LedgerFile
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source, require_releasable
from geodp.publish.flows_files import FlowsProduct, write_tables
from geodp.publish.flows_request import FlowsRequest
from geodp.publish.flows_statement import NAME, FlowsStatement
from geodp.publish.request import NOTHING_DONE, explain_nothing_done
from geodp.publish.statement import say_spent
from geodp.storage.folders import scratch_folder, whole_folder
from geodp.tables.notices import gather_notices, silence_notices
from geodp.tables.progress import tell_progress

T = TypeVar("T")
_NOT_SAID = "something went wrong. What it was may follow from private data: --mode simulate tells it."
_DAYS_NAMED = 5
_FAR_S = 2e11
"""Beyond it no calendar goes, seconds."""
_FILES = frozenset({
    "footfall.parquet", "od.parquet", "trips.parquet", "histograms.csv", "zones.geoparquet", NAME, "map.html",
    "report.html", "report.md",
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class FlowsResult:
    """What was published.

    Parameters
    ----------
    text
        What the command prints.
    files
        The files, in the folder.
    statement
        All that may be told.
    warnings
        What was guessed or left out.
    """

    text: str
    files: tuple[Path, ...]
    statement: FlowsStatement
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _FlowsPlan:
    """Everything that is settled before noise is drawn."""

    zones: ZoneMap
    rules: FlowRules
    design: FlowDesign
    tables: FlowTables
    notes: PingNotes


def publish_flows(request: FlowsRequest) -> FlowsResult:
    """Publish a report of flows, or change nothing but (from the ledger's yes on) the ledger.

    Parameters
    ----------
    request
        What is asked.
    """
    if request.releasing:
        # Nothing is said and nothing is guessed, by libraries neither: it would follow from private data.
        with silence_notices(), warnings.catch_warnings(action="ignore"):
            outcome = _publish(request)
        noticed: list[str] = []
    else:
        with gather_notices() as noticed:
            outcome = _publish(request)
    gaps, area = outcome.statement.product.zones.gaps  # public
    if gaps:
        noticed = [*noticed, f"{request.zones_file.name}: the zones leave {gaps:,} gap{'s' * (gaps > 1)} between them "
                   f"({area:,.3g} km²): who is there counts as 'outside'."]  # fmt: skip
    return replace(outcome, warnings=tuple(noticed))


def _publish(request: FlowsRequest) -> FlowsResult:
    request.check()
    noise = noise_source(request.mode, seed=request.seed)
    if request.releasing:
        require_releasable(noise, str(request.out))
    plan = _prepare(request, noise)
    _rehearse(request, plan)
    with whole_folder(request.out, force=request.force, check_replaceable=_require_report) as folder:
        charged = _ask_ledger(request, plan.design)
        tell_progress("working out", 0.0)
        statement = _after_the_charge(lambda: _draw(request, plan, noise, charged), request, charged)
        tell_progress("writing", 0.0)
        files = _after_the_charge(lambda: write_report(folder, statement), request, charged)
    written = tuple(request.out / path.name for path in files)
    remarks = () if request.releasing else _remark(plan.notes, plan.rules.days)
    return FlowsResult(statement.text(written, remarks), written, statement)


def _prepare(request: FlowsRequest, noise: Noise) -> _FlowsPlan:
    """Read the public inputs, then the private data; what goes wrong unforeseen is not said in a release."""
    with explain_nothing_done():
        days, zones = request.make_days(), request.read_zones()
        _ = zones.gaps  # what can fail fails before the charge
        design = request.make_design(days, zones)
        key = int.from_bytes(draw_key(noise)[:8], "little")
        wide = zones.district_of if design.has_thresholds else None
        rules = FlowRules(
            days, zones.size, zones.centres_m, trips=request.trips, stays=request.stays, key=key, districts=wide
        )
        sites = request.sites
        try:
            tables = open_pings(request.source, request.columns, releasing=request.releasing, parts=request.parts)
            if request.cluster is None:
                counted, notes = count_pings(tables, zones, rules, releasing=request.releasing, sites=sites)
            else:
                from geodp.publish.cluster_flows import count_pings_on
                from geodp.publish.cluster_visits import Cluster

                with Cluster(request.cluster) as cluster:
                    counted, notes = count_pings_on(
                        cluster, tables, zones, rules, releasing=request.releasing, sites=sites
                    )
            if not request.releasing:
                _require_pings(request, days, notes)
        except GeodpError:
            raise
        except Exception:
            if not request.releasing:
                raise
            raise GeodpError(f"{request.source.name}: {_NOT_SAID} {NOTHING_DONE}") from None
    return _FlowsPlan(zones, rules, design, counted, notes)


def _rehearse(request: FlowsRequest, plan: _FlowsPlan) -> None:
    """Make the whole report of nobody: whatever is wrong with the settings fails here, free of charge."""
    if not request.releasing:
        return
    noise = SimulatedNoise(np.random.default_rng(0))
    empty = replace(plan, tables=make_empty(plan.rules))
    with scratch_folder() as folder:
        write_report(folder, _draw(replace(request, mode="simulate"), empty, noise, None))


def _draw(request: FlowsRequest, plan: _FlowsPlan, noise: Noise, charged: dict[str, Any] | None) -> FlowsStatement:
    noisy = release_flows(plan.tables, plan.zones, plan.rules, plan.design, noise=noise)
    product = FlowsProduct(noisy, plan.zones, plan.rules, plan.design, noise.releasable)
    return FlowsStatement(request, product, charged)


def _ask_ledger(request: FlowsRequest, design: FlowDesign) -> dict[str, Any] | None:
    try:
        with explain_nothing_done():
            return charge_flows(request, design)
    except BudgetSpent as short:
        raise BudgetSpent(
            short.requested, short.remaining, what=short.what, advice=f"{short.advice} {NOTHING_DONE}"
        ) from None


def charge_flows(request: FlowsRequest, design: FlowDesign) -> dict[str, Any] | None:
    """Ask the ledger; when this returns, the charge is on the disk.

    Parameters
    ----------
    request, design
        What is asked, and what it costs.
    """
    if request.ledger is None:
        return None
    days, promise = (design.days.first, design.days.last), design.promise()
    delta = max(design.stated_delta, USUAL_DELTA)
    with LedgerFile(request.ledger, concentrated=request.budget).open_ledger() as ledger:
        row = ledger.charge(
            promise,
            time_s=time.time(),
            mechanism="flows",
            scope="everyone" if request.releasing else "everyone, simulated",
            days=days,
            period=ANY_TIME,  # of which time the data are, the days say
        )
        spent, left = ledger.state_spent(delta), ledger.find_rho(days)
    return {
        "file": request.ledger.name,
        "epsilon": row.epsilon,
        "delta": row.delta,
        "rho": row.rho,
        "spent": spent,
        "stated_at_delta": delta,
        "remaining_rho": left if math.isfinite(left) else None,
        "sentence": say_spent(spent, left, delta),
    }


def write_report(folder: Path, statement: FlowsStatement) -> list[Path]:
    """Write every file of a report into a folder.

    Parameters
    ----------
    folder
        Where.
    statement
        The report, and what is said about it.
    """
    if statement.request.releasing and not statement.product.releasable:
        raise NotReleasable(f"{statement.request.out} was made with simulated noise: it must not be published.")
    from geodp.publish.flows_map import draw_flows_map
    from geodp.publish.flows_report import build_markdown, build_report

    files = write_tables(folder, statement.product, statement.stamp())
    pages = {
        "map.html": draw_flows_map(statement),
        "report.html": build_report(statement),
        "report.md": build_markdown(statement),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
        files.append(folder / name)
    statement.write(folder / NAME, files)
    return [*files, folder / NAME]


def _require_report(out: Path) -> None:
    """Refuse to delete a folder that holds anything but a report."""
    if not out.is_dir():
        raise OutputError(f"{out} is a file: it is not replaced. Name another --out. {NOTHING_DONE}")
    others = sorted(path.name for path in out.iterdir() if path.name not in _FILES)
    if others:
        raise OutputError(f"{out} holds more than a report ('{others[0]}'): it is not replaced. {NOTHING_DONE}")


def _after_the_charge(step: Callable[[], T], request: FlowsRequest, charged: dict[str, Any] | None) -> T:
    """Run a step whose failure leaves the charge standing, and say so."""
    stays = "" if charged is None else f"\nThe charge stays in {request.ledger}, since noise may have been drawn."
    try:
        return step()
    except OSError as error:
        raise OutputError(f"{request.out}: could not be written ({error.strerror or error}).{stays}") from error
    except NotReleasable:
        raise
    except Exception as error:
        if request.releasing:
            raise GeodpError(f"{request.out}: nothing was written: {_NOT_SAID}{stays}") from None
        raise GeodpError(f"{request.out}: nothing was written: {str(error) or type(error).__name__}{stays}") from error


def _require_pings(request: FlowsRequest, days: Days, notes: PingNotes) -> None:
    """Refuse a simulated report of nobody: the days asked for are most likely not those of the file."""
    if notes.used:
        return
    seen = ""
    if math.isfinite(notes.first_s) and abs(notes.first_s) < _FAR_S and abs(notes.last_s) < _FAR_S:
        seen = f" Its times run from {days.moment(notes.first_s):%Y-%m-%d} to {days.moment(notes.last_s):%Y-%m-%d}."
    why = "".join(f" Left out, {reason}: {rows:,}." for reason, rows in notes.left_out.items())
    raise DataError(
        f"{request.source}: none of its {notes.rows:,} pings lies on the days {days.first} to {days.last} "
        f"({days.timezone}).{seen}{why}"
    )


def _remark(notes: PingNotes, days: Days) -> list[str]:
    """Say what became of the rows: for the holder of the data alone."""
    lines = [f"{notes.used:,} of {notes.rows:,} pings were used."]
    empty = [date.isoformat() for number, date in enumerate(days.dates) if not notes.by_day[number]]
    if empty:
        more = ", …" if len(empty) > _DAYS_NAMED else ""
        lines.append(f"No ping on {len(empty):,} of {days.count:,} days: {', '.join(empty[:_DAYS_NAMED])}{more}.")
    return lines + [f"Left out, {why}: {rows:,}." for why, rows in notes.left_out.items()]
