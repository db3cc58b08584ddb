"""Whole publish commands: sound ones pass, and every leak that is put back is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.audit.auditor import Audit
from geodp.audit.neighbouring_files import PrivateFile
from geodp.audit.publish_audit import audit_command, text_of
from geodp.audit.publish_commands import KINDS, PublishCommand, publish_commands
from geodp.cli.audit import run_line
from geodp.cli.console import say
from geodp.cli.main import main
from geodp.errors import DataError
from geodp.flows.design import FlowDesign
from geodp.privacy.ledger import Ledger
from geodp.publish.positions_plan import ReportedPoints
from geodp.publish.statement import Accuracy

counts_file: Any = import_module("geodp.publish.counts_plan")
positions_file: Any = import_module("geodp.publish.positions_plan")
trajectories_file: Any = import_module("geodp.publish.trajectories_plan")
used_file: Any = import_module("geodp.publish.private_positions")
visit_reading_file: Any = import_module("geodp.publish.private_visits")
flows_file: Any = import_module("geodp.publish.flows_pipeline")
release_file: Any = import_module("geodp.flows.release")
visits_file: Any = import_module("geodp.publish.visits_plan")
Plant = Callable[[pytest.MonkeyPatch], None]


def command(asked: str, method: str = "") -> PublishCommand:
    """Return one command: the first of a kind whose method is named so."""
    return next(each for each in publish_commands(asked) if method in each.method)


def audited(asked: str, method: str = "", files: int = 12) -> Audit:
    return audit_command(command(asked, method), run_line, files=files)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_command_is_not_refuted_and_asks_for_something(kind: str) -> None:
    audit = audited(kind, files=8)
    assert not audit.refuted, text_of(audit)
    assert not audit.not_followed
    assert max(pair.share_asked for pair in audit.pairs if pair.claimed > 0) > 0


def _refuses_rows_outside(patch: pytest.MonkeyPatch) -> None:
    read = positions_file.read_rows

    def refusing(*words: Any, **more: Any) -> Any:
        rows = read(*words, **more)
        if (rows.numbers["lon"] < -50).any():
            raise DataError("a row lies outside the region")
        return rows

    patch.setattr(positions_file, "read_rows", refusing)


def _tells_a_line(patch: pytest.MonkeyPatch) -> None:
    read = positions_file.read_rows

    def telling(*words: Any, **more: Any) -> Any:
        rows = read(*words, **more)
        odd = np.flatnonzero(rows.numbers["lon"] < -50)
        if odd.size:
            say(f"line {odd[0] + 2} was left out")
        return rows

    patch.setattr(positions_file, "read_rows", telling)


def _refuses_nobody(patch: pytest.MonkeyPatch) -> None:
    read = counts_file.read_visit_sets

    def refusing(*words: Any, **more: Any) -> Any:
        found = read(*words, **more)
        if not found.sets.users:
            raise DataError("there are no visits")
        return found

    patch.setattr(counts_file, "read_visit_sets", refusing)


def _first_rows(patch: pytest.MonkeyPatch) -> None:
    def first(users: Any, cap: int, key: bytes) -> Any:
        seen: dict[str, int] = {}
        kept = []
        for name in users.to_pylist():
            seen[name] = seen.get(name, 0) + 1
            kept.append(seen[name] <= cap)
        return np.array(kept, dtype=np.bool_)

    patch.setattr(used_file, "within_cap", first)


def _users_of_the_data(patch: pytest.MonkeyPatch) -> None:
    read = visits_file.read_visits

    def listed(*words: Any, users: Any, **more: Any) -> Any:
        histories, remarks = read(*words, users=users, **more)
        here = np.unique(histories.person)
        number = np.searchsorted(here, histories.person)
        return replace(histories, people=histories.people[here], person=number), remarks

    patch.setattr(visits_file, "read_visits", listed)


def _places_by_the_latest_time(patch: pytest.MonkeyPatch) -> None:
    build = trajectories_file.TripPlan.__init__

    def cleaned(self: Any, method: Any, trajectories: Any, *more: Any, **options: Any) -> None:
        shrunk = 1 - 0.005 * (trajectories.time_s.max(initial=0.0) % 100)  # everyone's points move, and stay inside
        build(self, method, replace(trajectories, x_m=trajectories.x_m * shrunk), *more, **options)

    patch.setattr(trajectories_file.TripPlan, "__init__", cleaned)


def _numbers_if_all_are(patch: pytest.MonkeyPatch) -> None:
    words = visit_reading_file.user_words

    def typed(names: Any) -> Any:
        return words([str(int(name)) for name in names] if all(name.isdecimal() for name in names) else names)

    patch.setattr(visit_reading_file, "user_words", typed)


def _accuracy_at_true_places(patch: pytest.MonkeyPatch) -> None:
    def simulated(self: Any) -> Accuracy:
        return Accuracy(f"about {self._positions.x_m.mean():.1f}", {})

    patch.setattr(ReportedPoints, "_accuracy", simulated)


def _number_in_the_map(patch: pytest.MonkeyPatch) -> None:
    draw = counts_file.CountedVenues._draw_map

    def noted(self: Any, page: Any, released: Any) -> None:
        draw(self, page, released)
        page.note(f"{self._visits.users} people")

    patch.setattr(counts_file.CountedVenues, "_draw_map", noted)


def _number_in_the_scope(patch: pytest.MonkeyPatch) -> None:
    read, charge = counts_file.read_visit_sets, Ledger.charge
    people: list[int] = [0]

    def counted(*words: Any, **more: Any) -> Any:
        found = read(*words, **more)
        people[0] = found.sets.users
        return found

    def told(self: Ledger, *words: Any, **more: Any) -> Any:
        return charge(self, *words, **{**more, "scope": f"{people[0]} people"})

    patch.setattr(counts_file, "read_visit_sets", counted)
    patch.setattr(Ledger, "charge", told)


def _pairs_that_somebody_makes(patch: pytest.MonkeyPatch) -> None:
    dense = release_file.release_pairs

    def thinned(tables: Any, zones: Any, *more: Any, **named: Any) -> Any:
        return tuple(
            replace(table, origin=table.origin[:0], destination=table.destination[:0], value=table.value[:0])
            if table.period >= 0 and not tables.od.count.size else table
            for table in dense(tables, zones, *more, **named)
        )  # fmt: skip

    patch.setattr(release_file, "release_pairs", thinned)


def _tells_how_many_pings(patch: pytest.MonkeyPatch) -> None:
    count = flows_file.count_pings

    def telling(*words: Any, **more: Any) -> Any:
        tables, notes = count(*words, **more)
        say(f"{notes.used} pings")
        return tables, notes

    patch.setattr(flows_file, "count_pings", telling)


def _a_quarter_of_the_noise(patch: pytest.MonkeyPatch) -> None:
    scale = FlowDesign.scale
    patch.setattr(FlowDesign, "scale", lambda self, *words, **more: scale(self, *words, **more) / 4)


LEAKS: dict[str, tuple[str, str, Plant]] = {
    "a row outside the region is refused": ("positions", "contour, a cap", _refuses_rows_outside),
    "a message names a line": ("positions", "contour, a cap", _tells_a_line),
    "an empty file is refused": ("counts", "laplace_counts", _refuses_nobody),
    "a cap keeps the first rows": ("positions", "contour, a cap", _first_rows),
    "the list of people is that of the data": ("visits", "unit: user", _users_of_the_data),
    "times are cleaned across tracks": ("trajectories", "synthetic_trips, person", _places_by_the_latest_time),
    "names are numbers if all of them are": ("counts", "laplace_counts", _numbers_if_all_are),
    "accuracy is simulated at true places": ("positions", "planar_geometric, a cap", _accuracy_at_true_places),
    "the true number stands in a note of the map": ("counts", "laplace_counts", _number_in_the_map),
    "the true number stands in the ledger": ("counts", "laplace_counts", _number_in_the_scope),
    "flows are shown where somebody travels": ("flows", "gaussian, person-day", _pairs_that_somebody_makes),
    "a release says how many pings it read": ("flows", "laplace, person-day", _tells_how_many_pings),
    "flows have a quarter of their noise": ("flows", "gaussian, person-day", _a_quarter_of_the_noise),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_every_leak_that_is_put_back_is_found(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files follow from the seed: what is found is found every time."""
    kind, method, plant = LEAKS[leak]
    plant(monkeypatch)
    audit = audited(kind, method, files=30)
    assert audit.refuted
    assert "REFUTED" in text_of(audit)


def audit_line(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["audit", *words])
    return int(stop.value.code or 0)


def test_the_command_writes_what_every_audit_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.json"
    assert audit_line("--publish", "counts:zeros", "--files", "2", "--json", str(file)) == 0
    assert "publish counts: zeros: 2 pairs of files, not refuted" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["kind"] == "publish counts: zeros"
    assert (written["refuted"], written["samples"], len(written["followed"])) == (False, 0, 2)


def test_a_leak_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    _number_in_the_scope(monkeypatch)
    assert audit_line("--publish", "counts:laplace_counts", "--files", "4") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--publish", "count"], "Did you mean 'counts'?"),
        (["--publish", "counts:dpsens"], "Did you mean 'dpsense'?"),
        (["--publish", "counts", "--all"], "stands alone"),
        (["--publish", "counts", "--files", "0"], "at least 1"),
        (["--files", "3"], "--files goes with --publish"),
    ],
)
def test_bad_input_is_said_clearly(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit_line(*words) == 2
    assert message in capsys.readouterr().err


def test_parquet_has_numbers_where_the_kind_has_them(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = PrivateFile(("user", "lon"), ({"user": "a", "lon": "1.5"}, {"user": "b", "lon": "abc"}))
    file.write(tmp_path / "in.parquet")
    assert pq.read_table(tmp_path / "in.parquet").to_pylist() == [{"user": "a", "lon": 1.5}, {"user": "b", "lon": None}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_commands_pass(kind: str) -> None:
    audits = [audit_command(each, run_line, files=3, seed=1) for each in publish_commands(kind)]
    wrong = [text_of(audit) for audit in audits if audit.refuted or audit.not_followed]
    assert not wrong, "\n".join(wrong)
