import errno
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import BudgetSpent, GeodpError, NotReleasable, OutputError, UsageError
from geodp.privacy.ledger_file import LedgerFile
from geodp.privacy.noise import SimulatedNoise
from geodp.publish import outputs, pipeline
from geodp.publish.positions_plan import ReportedPoints, publish_positions
from geodp.publish.request import Request
from tests.publish.conftest import TOWN, Make, files, places


def spent(path: Path) -> float:
    return LedgerFile(path).read().charges[-1].total


def test_simulation_is_the_default_and_is_stamped(make: Make) -> None:
    request = make()
    outcome = publish_positions(request)
    assert files(request.out.parent) == {"in.csv", "out.csv", "out.csv.guarantee.json", "geodp-ledger.json"}
    told = json.loads(request.guarantee_path.read_text())
    assert (told["mode"], told["releasable"]) == ("simulate", False)
    assert outcome.text.startswith("SIMULATED, not releasable")


def test_the_same_seed_gives_the_same_file_and_another_seed_another(make: Make) -> None:
    written = []
    for seed in (None, 0, 1):
        request = make(out=f"{seed}.csv", seed=seed)
        publish_positions(request)
        written.append(request.out.read_bytes())
    assert written[0] == written[1] != written[2]


def test_a_release_takes_no_seed(make: Make) -> None:
    request = make(mode="release", seed=1)
    with pytest.raises(UsageError, match="takes no seed"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_an_unknown_mode_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match="Did you mean 'release'"):
        publish_positions(make(mode="relase"))


def test_without_opendp_a_release_names_the_extra(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    request = make(mode="release")
    with pytest.raises(UsageError, match=r"geodp\[release\]"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_simulated_noise_never_leaves_as_a_release(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedNoise(np.random.default_rng(0))
    monkeypatch.setattr(pipeline, "noise_source", lambda mode, seed: simulated)
    request = make(mode="release")
    with pytest.raises(NotReleasable, match="simulated noise"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_a_product_of_simulated_noise_cannot_be_written_as_a_release(make: Make, opendp: None) -> None:
    """The last gate: even a plan that swaps its noise in the middle is caught when it writes."""
    request = make(mode="release")
    draw = ReportedPoints.draw

    def cheat(self: ReportedPoints, noise: Any) -> pipeline.Product:
        return draw(self, SimulatedNoise(np.random.default_rng(0)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReportedPoints, "draw", cheat)
        with pytest.raises(NotReleasable, match="simulated noise"):
            publish_positions(request)
    assert "out.csv" not in files(request.out.parent)


@pytest.mark.parametrize("mechanism", ["no_privacy", "none"])
def test_what_promises_nothing_is_simulated_only_and_not_charged(make: Make, mechanism: str, opendp: None) -> None:
    fields: dict[str, Any] = {"settings": {"cell_m": 500}} if mechanism == "no_privacy" else {}
    request = make(epsilon=None, mode="release", **fields)
    with pytest.raises(NotReleasable, match="promises nothing that holds"):
        publish_positions(request, mechanism=mechanism)
    assert files(request.out.parent) == {"in.csv"}
    outcome = publish_positions(replace(request, mode="simulate"), mechanism=mechanism)
    assert "NOT PRIVATE" in outcome.text
    assert "Nothing was charged" in outcome.text
    assert "No privacy guarantee" in outcome.text
    assert not request.ledger_path.exists()


def test_derived_public_inputs_void_the_promise_of_a_simulation(make: Make) -> None:
    request = make(region=None)
    outcome = publish_positions(request)
    assert len(outcome.warnings) == 1
    assert "region: read off the private data" in outcome.warnings[0]
    told = json.loads(request.guarantee_path.read_text())
    assert told["guarantee"]["holds"] is False
    assert told["derived_from_private_data"] == ["region"]


def test_a_release_without_a_region_is_refused(make: Make, opendp: None) -> None:
    request = make(region=None, mode="release")
    with pytest.raises(UsageError, match="region: must be public and given in release mode"):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_a_second_call_respects_what_the_first_has_spent(make: Make, tmp_path: Path) -> None:
    ledger = tmp_path / "shared.json"
    publish_positions(make(out="one.csv", ledger=ledger, budget=0.08, epsilon=0.05))
    with pytest.raises(BudgetSpent) as refused:
        publish_positions(make(out="two.csv", ledger=ledger, epsilon=0.05))
    assert "requested ε per metre=0.05, remaining ε per metre=0.03, short by ε per metre=0.02" in str(refused.value)
    assert "Nothing was released, nothing was charged" in str(refused.value)
    assert refused.value.exit_code == 1
    assert "two.csv" not in files(tmp_path)
    assert spent(ledger) == 0.05
    publish_positions(make(out="two.csv", ledger=ledger, epsilon=0.03))
    assert spent(ledger) == 0.08


def test_unlike_accounts_are_kept_apart(make: Make, tmp_path: Path) -> None:
    ledger = tmp_path / "shared.json"
    publish_positions(make(out="one.csv", ledger=ledger, budget=1.0, epsilon=1.0))
    publish_positions(make(out="two.csv", ledger=ledger, epsilon=1.0, settings={"cell_m": 500}), mechanism="contour")
    assert [row.total for row in LedgerFile(ledger).read().charges] == [1.0, 1.0]


def test_a_budget_is_not_changed_by_a_later_call(make: Make, tmp_path: Path) -> None:
    ledger = tmp_path / "shared.json"
    publish_positions(make(out="one.csv", ledger=ledger, budget=0.08))
    with pytest.raises(UsageError, match="begun with a budget of epsilon 0.08, and 8.0 was asked for"):
        publish_positions(make(out="two.csv", ledger=ledger, budget=8.0))
    assert "two.csv" not in files(tmp_path)


def test_force_replaces_the_output_and_never_the_ledger(make: Make) -> None:
    publish_positions(make())
    again = make(force=True)
    publish_positions(again)
    assert spent(again.ledger_path) == 0.1


def test_a_broken_ledger_stops_everything(make: Make, tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text("{}")
    with pytest.raises(GeodpError, match="What was spent is unknown, so nothing is released"):
        publish_positions(make(ledger=tmp_path / "ledger.json"))
    assert files(tmp_path) == {"in.csv", "ledger.json"}


def test_the_charge_is_on_the_disk_before_any_noise_is_drawn(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    request = make()
    seen = []
    draw = ReportedPoints.draw

    def watched(self: ReportedPoints, noise: Any) -> pipeline.Product:
        seen.append(spent(request.ledger_path))
        return draw(self, noise)

    monkeypatch.setattr(ReportedPoints, "draw", watched)
    publish_positions(request)
    assert seen == [0.05]


def test_a_crash_after_the_charge_never_undercounts(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: ReportedPoints, noise: Any) -> pipeline.Product:
        raise MemoryError

    request = make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReportedPoints, "draw", crash)
        with pytest.raises(GeodpError, match=r"MemoryError\nThe charge of ε = 0.05 stays"):
            publish_positions(request)
    assert files(request.out.parent) == {"in.csv", "geodp-ledger.json"}
    assert spent(request.ledger_path) == 0.05
    publish_positions(request)
    assert spent(request.ledger_path) == 0.1


def test_an_interruption_after_the_charge_leaves_the_charge_and_no_file(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "write_table", interrupt)
    request = make()
    with pytest.raises(KeyboardInterrupt):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv", "geodp-ledger.json"}
    assert "The charge of ε = 0.05 stays" in caplog.text


def test_a_full_disk_leaves_the_charge_and_no_half_written_file(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: Any) -> None:
        path.write_text("half a fi")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs, "_write_csv", full)
    request = make()
    with pytest.raises(OutputError, match=r"No space left on device.*no part of it was left behind") as error:
        publish_positions(request)
    assert f"The charge of ε = 0.05 stays in {request.ledger_path}" in str(error.value)
    assert files(request.out.parent) == {"in.csv", "geodp-ledger.json"}


def test_an_output_that_cannot_be_written_costs_nothing(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    request = make(out="file/out.csv", ledger=tmp_path / "ledger.json")
    with pytest.raises(OutputError, match="cannot be written.*nothing was charged"):
        publish_positions(request)
    assert files(tmp_path) == {"in.csv", "file"}


def test_a_map_that_fails_does_not_take_the_publication_with_it(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    request = make(map=tmp_path / "file" / "map.html")
    with pytest.raises(OutputError, match="was published, but its map was not written"):
        publish_positions(request)
    assert request.out.exists()
    assert request.guarantee_path.exists()


@settings(max_examples=20, deadline=None)
@given(
    st.decimals("0.1", "2", places=1),
    st.lists(st.decimals("0.1", "1", places=1), min_size=1, max_size=6),
)
def test_no_sequence_of_calls_exceeds_the_budget(budget: Decimal, asked: list[Decimal]) -> None:
    with TemporaryDirectory() as folder:
        ask = make_in(Path(folder))
        ledger = Path(folder) / "ledger.json"
        left = budget
        for number, epsilon in enumerate(asked):
            request = ask(number, ledger=ledger, budget=float(budget), epsilon=float(epsilon))
            try:
                publish_positions(request, mechanism="contour")
            except BudgetSpent:
                assert epsilon > left
                assert not request.out.exists()
            else:
                left -= epsilon
                assert left >= 0
        charges = LedgerFile(ledger).read().charges if ledger.exists() else []
        assert sum(Decimal(repr(row.epsilon)) for row in charges) == budget - left


def make_in(folder: Path) -> Any:
    source = folder / "in.csv"
    places(20).to_csv(source, index=False)

    def ask(number: int, **options: Any) -> Request:
        return Request(
            source, folder / f"{number}.csv", region=TOWN, settings={"cell_m": 2000}, one_row_per_person=True, **options
        )

    return ask


def test_threads_that_publish_at_once_share_one_budget(tmp_path: Path) -> None:
    ask = make_in(tmp_path)
    ledger = tmp_path / "ledger.json"

    def attempt(number: int) -> bool:
        try:
            publish_positions(ask(number, ledger=ledger, budget=1.0, epsilon=0.25), mechanism="contour")
        except BudgetSpent:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        published = list(pool.map(attempt, range(12)))
    assert sum(published) == 4
    assert [row.total for row in LedgerFile(ledger).read().charges] == [0.25, 0.5, 0.75, 1.0]
    assert len(list(tmp_path.glob("*.guarantee.json"))) == 4


@pytest.mark.slow
def test_processes_that_publish_at_once_share_one_budget(make: Make, tmp_path: Path) -> None:
    make()
    ledger = tmp_path / "ledger.csv"
    command = [sys.executable, "-m", "geodp", "publish", "positions", str(tmp_path / "in.csv"), "--region", TOWN]
    command += ["--mechanism", "contour", "--set", "cell_m=2000", "--epsilon", "0.5", "--ledger", str(ledger)]
    command += ["--budget", "1", "--one-row-per-person"]
    running = [
        subprocess.Popen([*command, "--out", str(tmp_path / f"{number}.csv")], stderr=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    errors = [process.communicate()[1] for process in running]
    codes = sorted(process.returncode for process in running)
    assert codes == [0, 0, 1, 1], errors
    assert len(list(tmp_path.glob("?.csv"))) == 2
    assert [row.total for row in LedgerFile(ledger).read().charges] == [0.5, 1.0]


def test_a_second_call_to_one_output_fails_before_it_is_charged(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first draws; the third had found the place empty before the first was done."""
    request = make(force=True)
    draw = ReportedPoints.draw
    others = []

    def meanwhile(self: ReportedPoints, noise: Any) -> pipeline.Product:
        with pytest.raises(OutputError, match=r"another geodp is publishing.*nothing was charged") as refused:
            publish_positions(make(force=True))
        others.append(refused)
        return draw(self, noise)

    monkeypatch.setattr(ReportedPoints, "draw", meanwhile)
    publish_positions(request)
    assert len(others) == 1
    monkeypatch.setattr(Request, "check", lambda _: None)
    with pytest.raises(OutputError, match=r"appeared in the meantime.*nothing was charged"):
        publish_positions(make())
    assert spent(request.ledger_path) == 0.05


@pytest.mark.slow
def test_processes_that_publish_to_one_output_at_once_charge_once(make: Make, tmp_path: Path) -> None:
    request = make()
    command = [sys.executable, "-m", "geodp", "publish", "positions", str(request.source), "--region", TOWN]
    command += ["--epsilon", "0.05", "--out", str(request.out), "--one-row-per-person"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    errors = [process.communicate()[1] for process in running]
    assert sorted(process.returncode for process in running) == [0, 2, 2, 2], errors
    assert spent(request.ledger_path) == 0.05
    told = json.loads(request.guarantee_path.read_text())
    assert told["sha256"] == hashlib.sha256(request.out.read_bytes()).hexdigest()
    assert files(tmp_path) == {"in.csv", "out.csv", "out.csv.guarantee.json", "geodp-ledger.json"}


def test_a_folder_of_data_that_takes_no_ledger_is_told_with_what_to_do(make: Make, tmp_path: Path) -> None:
    (tmp_path / "geodp-ledger.json.lock").mkdir()
    with pytest.raises(OutputError, match=r"cannot be locked.*--ledger FILE\. Nothing was released, nothing was charg"):
        publish_positions(make())
    assert files(tmp_path) == {"in.csv"}


def test_what_killed_calls_left_of_outputs_maps_and_ledgers_is_cleared_by_the_next(make: Make, tmp_path: Path) -> None:
    names = [".out.csv.partial", ".out.csv.guarantee.json.partial", ".out.csv.123.partial", ".out.csv.lock"]
    names += [".map-0a1b2c3d.partial.html", ".geodp-ledger-0a1b2c3d.partial.json"]
    for name in names:
        (tmp_path / name).write_text("half")
    publish_positions(make(map=tmp_path / "map.html"))
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
