"""Every file of a simulation says itself that it may not leave the house."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from geodp.cli.main import main
from geodp.display.caption import PUBLIC, SIMULATED
from geodp.errors import UsageError
from geodp.runs.result import RunResult
from geodp.runs.run import run
from geodp.sweeps.sweep import sweep
from tests.small import small
from tests.sweeps.small_sweep import sweep_file

CHANGES = {
    "duration_s": 900,
    "workers.source.count": 200,
    "publish": [{"kind": "laplace_counts"}],
    "device.history_report": {"kind": "epicrec"},
    "attacks": [{"kind": "bayes_location"}],
    "compare": {"first": {}, "second": {"curator.mechanism.epsilon": 2.0}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(small(CHANGES), tmp_path_factory.mktemp("stamped") / "run")


def test_every_table_of_a_run_is_stamped(made: RunResult) -> None:
    tables = sorted(made.path.rglob("*.parquet"))
    names = {path.relative_to(made.path).as_posix().removeprefix("arms/first/") for path in tables}
    assert {"events.parquet", "ledger.parquet", "server_view.parquet", "attacks.parquet", "tasks.parquet"} <= names
    assert {"releases/0000.parquet", "releases/publications/0-laplace_counts.parquet"} <= names
    assert {"truth/paths.parquet", "truth/ledger.parquet", "releases/histories/0000-items.parquet"} <= names
    for path in tables:
        stamp = json.loads(pq.read_schema(path).metadata[b"geodp"])
        truth = {"truth": True} if path.name == "tasks.parquet" else {}
        assert stamp == {"mode": "simulate", "releasable": False} | truth, path
        pd.read_parquet(path)


def test_every_statement_of_a_run_is_stamped(made: RunResult) -> None:
    for path in made.path.rglob("*.json"):
        if path.name not in ("metrics.json", "notices.json"):  # plain numbers, plain sentences
            assert json.loads(path.read_text())["releasable"] is False, path
    assert made.comparison["releasable"].tolist() == [False] * len(made.comparison)


@pytest.mark.parametrize("public", [False, True])
def test_every_map_of_a_run_says_that_it_is_not_releasable(
    made: RunResult, tmp_path: Path, public: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map.html"
    with pytest.raises(SystemExit):
        main(["map", str(made.path), "--out", str(out), *(["--public"] if public else [])])
    page, told = out.read_text(encoding="utf-8"), capsys.readouterr().out
    assert SIMULATED in page
    assert '"releasable":false' in page
    assert (PUBLIC in page) == (PUBLIC in told) == public
    assert "not for publication" in PUBLIC
    assert "made for publication" not in page + told


def test_the_tables_of_a_sweep_are_stamped(tmp_path: Path) -> None:
    file = sweep_file(tmp_path / "files", {"seeds": [1, 2], "grids": [{"curator.mechanism.epsilon": [0.2, 2.0]}]})
    result = sweep(file, tmp_path / "out", workers=1, draw=False)
    for name in ("runs.parquet", "timings.parquet"):
        assert json.loads(pq.read_schema(result.path / name).metadata[b"geodp"])["releasable"] is False
    assert not pd.read_csv(result.path / "summary.csv")["releasable"].any()
    assert json.loads((result.path / "manifest.json").read_text())["releasable"] is False
    assert "not releasable" in (result.path / "report.html").read_text(encoding="utf-8")


def test_a_map_is_a_page_or_a_picture(made: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["map", str(made.path), "--out", str(tmp_path / "m.pdf")])
    assert ended.value.code == 2
    assert (
        "m.pdf: a map is a page to open in a browser, so its file must end in .html, or in .png for"
        in capsys.readouterr().err
    )
    with pytest.raises(UsageError, match="must end in .html"):
        made.map(public=True).save(tmp_path / "m.pdf")
    assert not (tmp_path / "m.pdf").exists()
