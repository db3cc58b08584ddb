"""A run folder is read as it was written, or not at all."""

import json
import shutil
import stat
from pathlib import Path

import pytest

import geodp
from geodp.cli.main import main
from geodp.display.map import write_map
from geodp.errors import DataError, OutputError
from geodp.run_folder.folder import RunFolder, check_is_run
from geodp.runs.result import RunResult
from geodp.storage.folders import hold_folder
from tests.small import small
from tests.sweeps.small_sweep import QUICK

READS = {
    "metrics.json": lambda run: run.metrics,
    "events.parquet": lambda run: run.events,
    "server_view.parquet": lambda run: run.offers,
    "ledger.parquet": lambda run: run.ledger,
    "releases/0000.json": lambda run: run.releases,
    "releases/0000.parquet": lambda run: run.releases,
    "scenario.yaml": lambda run: run.scenario,
    "manifest.json": lambda run: run.metrics,
    "truth/ledger.parquet": lambda run: run.interaction,
    "truth/paths.parquet": lambda run: run.paths,
    "truth/world.json": lambda run: run.workers,
    "truth/counts/0000.parquet": lambda run: run.true_counts(0),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return geodp.run(small(QUICK), tmp_path_factory.mktemp("runs") / "small", seed=5)


@pytest.fixture
def run(made: RunResult, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.path, tmp_path / "run"))


def exit_code(*words: object) -> int:
    with pytest.raises(SystemExit) as done:
        main([str(word) for word in words])
    return int(done.value.code or 0)


@pytest.mark.parametrize("name", READS)
def test_a_flipped_bit_is_an_error_that_names_the_file(run: Path, name: str) -> None:
    READS[name](RunFolder(run))
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(bytes(content))
    with pytest.raises(DataError, match=rf"{Path(name).name}: is damaged"):
        READS[name](RunFolder(run))
    (run / name).unlink()
    with pytest.raises(DataError, match=Path(name).name.replace(".", r"\.")):
        READS[name](RunFolder(run))


def test_every_file_that_is_read_back_has_a_checksum(made: RunResult) -> None:
    files = {path.relative_to(made.path).as_posix() for path in made.path.rglob("*") if path.is_file()}
    assert files - set(made.folder.manifest["files"]) == {
        "manifest.json",
        "map.html",
        "risk.html",
        "run.log",
        "summary.md",
    }


def test_damage_ends_commands_with_exit_code_2(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (run / "metrics.json").read_text()
    good = json.loads(text)
    (run / "metrics.json").write_text(text.replace(str(good["success_rate"]), "0.667", 1))
    with pytest.raises(DataError, match=r"metrics\.json: is damaged"):
        _ = RunFolder(run).metrics
    assert exit_code("--quiet", "metrics", run) == 0  # computed anew from files that are intact
    assert RunFolder(run).metrics == good
    events = bytearray((run / "events.parquet").read_bytes())
    events[len(events) // 3] ^= 4
    (run / "events.parquet").write_bytes(bytes(events))
    capsys.readouterr()
    for command in ("map", "metrics"):
        assert exit_code(command, run) == 2
        assert "events.parquet: is damaged" in capsys.readouterr().err


def test_new_metrics_of_an_old_run_keep_the_checksums_right(run: Path) -> None:
    RunFolder(run).replace_json("metrics.json", {"success_rate": 0.5})
    assert RunFolder(run).metrics == {"success_rate": 0.5}
    stale = RunFolder(run)
    _ = stale.manifest
    RunFolder(run).replace_json("metrics.json", {"success_rate": 0.6})
    with pytest.raises(OutputError, match="changed meanwhile"):
        stale.replace_json("metrics.json", {"success_rate": 0.7})
    with hold_folder(run), pytest.raises(OutputError, match="another geodp"):
        RunFolder(run).replace_json("metrics.json", {"success_rate": 0.7})


def test_a_run_of_version_0_1_still_opens(run: Path) -> None:
    facts = json.loads((run / "manifest.json").read_text())
    plain = {key: value for key, value in facts.items() if key not in {"files", "checksum", "kind"}}
    (run / "manifest.json").write_text(json.dumps(plain))
    before = RunFolder(run).metrics
    (run / "metrics.json").write_text("{}")
    assert RunFolder(run).metrics == {}
    assert exit_code("--quiet", "metrics", run) == 0
    assert RunFolder(run).metrics == before
    geodp.run(small(QUICK), run, force=True, draw_map=False)  # and may be replaced


def test_a_summary_may_be_written_into_and_an_edited_scenario_runs_elsewhere(run: Path, tmp_path: Path) -> None:
    (run / "summary.md").write_text("my notes")
    assert "my notes" in geodp.open_run(run).summary()
    text = (run / "scenario.yaml").read_text()
    (run / "scenario.yaml").write_text(text + "\n# mine\n")
    with pytest.raises(DataError, match="geodp run FILE --out DIR"):
        _ = RunFolder(run).scenario
    again = geodp.run(run / "scenario.yaml", tmp_path / "again", draw_map=False)
    assert again.metrics == RunFolder(run).metrics


def test_the_truth_is_its_owners_alone(made: RunResult) -> None:
    truth = [path for path in made.path.glob("truth/**/*") if path.is_file()]
    assert len(truth) >= 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in [*truth, made.path / "events.parquet"]} == {0o600}
    assert stat.S_IMODE((made.path / "truth").stat().st_mode) == 0o700
    assert stat.S_IMODE((made.path / "truth" / "counts").stat().st_mode) == 0o700


def test_neither_kind_of_folder_replaces_the_other(run: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    (sweep / "manifest.json").write_text(json.dumps({"geodp": "0.1.0", "name": "s", "checksums": {}, "finished": True}))
    with pytest.raises(OutputError, match="not a run folder"):
        geodp.run(small(QUICK), sweep, force=True)
    (run / "manifest.json").write_text("{")  # a damaged run may be replaced
    geodp.run(small(QUICK), run, force=True, draw_map=False)
    assert RunFolder(run).metrics


def test_a_run_that_was_moved_aside_comes_back_when_it_is_opened(run: Path) -> None:
    for command in (["metrics", run], ["map", run], ["check", run / "scenario.yaml"]):
        run.rename(run.with_name(f".run.{'a' * 16}.old"))
        assert exit_code("--quiet", *command) == 0
        assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_nothing_of_one_run_is_written_into_another_that_took_its_place(run: Path, tmp_path: Path) -> None:
    opened = RunFolder(run)
    _ = opened.metrics
    geodp.run(small(QUICK), run, seed=6, force=True)
    page = (run / "map.html").read_bytes()
    with pytest.raises(DataError, match="replaced while it was read"):
        _ = opened.events
    for write in (lambda: opened.replace_json("metrics.json", {}), lambda: write_map(RunFolder(run), run / "map.html")):
        with hold_folder(run), pytest.raises(OutputError, match="another geodp"):
            write()
    with pytest.raises(OutputError, match="replaced or changed meanwhile"):
        opened.replace_json("metrics.json", {})
    assert (run / "map.html").read_bytes() == page


def test_a_map_of_a_run_whose_ledger_is_damaged_is_refused_not_drawn_without_its_sum(run: Path, tmp_path: Path) -> None:
    content = bytearray((run / "ledger.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (run / "ledger.parquet").write_bytes(bytes(content))
    for options in ([], ["--public"]):
        assert exit_code("map", run, *options, "--out", tmp_path / "map.html") == 2
    assert not (tmp_path / "map.html").exists()


def test_a_manifest_that_is_none_is_named_without_blaming_the_scenario(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "manifest.json").write_text("[" * 100_000)
    assert exit_code("metrics", run) == 2
    told = capsys.readouterr().err
    assert "manifest.json: is damaged" in told
    assert "scenario" not in told
    check_is_run(run)  # a damaged one may be replaced


def test_a_broken_file_of_a_run_without_checksums_is_named(run: Path) -> None:
    facts = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(
        json.dumps({key: facts[key] for key in facts if key not in ("files", "checksum")})
    )
    (run / "releases" / "0000.json").write_text("{")
    with pytest.raises(DataError, match=r"0000\.json: is damaged"):
        _ = RunFolder(run).releases
