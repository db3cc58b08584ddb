import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import geodp.cli.audit as audit_file
from geodp.audit.kinds import audit_kind, audit_unsound_forms, auditable_kinds
from geodp.audit.report import as_dict, text_of
from geodp.cli.main import main
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.contour import Contour
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import Contours
from geodp.registry import forget

KEYS = {"kind", "claimed", "certified", "refuted", "samples", "confidence", "pairs", "followed", "not_followed"}
KEYS |= {"unsound_forms"}
LITERAL = {
    "correlated_counts": ["variant: literal"],
    "dewri": ["variant: literal"],
    "epicrec": ["variant: literal"],
    "fourier_counts": ["variant: literal"],
    "grouping_smoothing": ["variant: literal"],
    "laplace_counts": ["variant: literal"],
    "prilocation": ["clustering: literal", "variant: literal"],
}
"""Forms of the papers that do not hold, and say so: `--all` refutes every one, and that is no finding."""


def audit(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["audit", *words])
    return int(stop.value.code or 0)


@pytest.fixture
def liar() -> Iterator[str]:
    """A contour plot whose noise is a third of what it claims; gone after the test."""

    class ShortNoise(Contour):
        """Contour plot with too little noise, for tests."""

        kind: ClassVar[str] = "short_noise"

        def find_scale(self, change: float, neighbours: Neighbours, parts: list[float], part: int) -> float:
            return super().find_scale(change, neighbours, parts, part) / 3

    yield ShortNoise.kind
    forget(ShortNoise.kind)


def test_a_sound_kind_is_not_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.json"
    assert audit("contour", "--set", "epsilon=1", "--samples", "20000", "--json", str(file)) == 0
    text = capsys.readouterr().out
    assert "claimed    ε = 1 " in text
    assert "certified  ε ≥ 0.9" in text
    assert "not refuted at N = 20000" in text
    assert "private" not in text
    written = json.loads(file.read_text())
    assert set(written) == KEYS
    assert written["kind"] == "contour"
    assert written["claimed"] == 1.0
    assert 0.9 < written["certified"] <= 1.0
    assert written["refuted"] is False
    assert (written["samples"], written["confidence"]) == (20000, 0.95)
    assert [pair["name"] for pair in written["pairs"]] == [
        "sampled: the only worker",  # where a count is 0, last bits tell most
        "sampled: a worker in the crowd",
    ]
    assert written["followed"][0]["asked"] == pytest.approx(1.0), "the release itself asks for all of ε"
    assert not any(pair["refuted"] for pair in written["followed"])


@pytest.mark.slow
def test_a_liar_is_refuted_with_exit_code_1(liar: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.json"
    assert audit(liar, "--samples", "20000", "--json", str(file)) == 1
    assert "verdict    refuted" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["refuted"] is True
    for pair in written["pairs"]:
        assert 2.5 * pair["claimed"] < pair["certified"] <= 3 * pair["claimed"]
    assert written["certified"] <= 9.001 * written["claimed"]  # ρ grows with the square, where noise is Gaussian


@pytest.fixture
def apart() -> Iterator[type[Contour]]:
    """A contour plot that draws its noise apart from the counts, so that nobody can follow it; gone after the test."""

    class DrawnApart(Contour):
        """Contour plot whose questions cannot be seen, for tests."""

        kind: ClassVar[str] = "drawn_apart"
        scale: ClassVar[float] = 1 / 0.3

        def release(self, snapshot: Snapshot, noise: Noise) -> Contours:
            grid = self.fit_grid(snapshot)
            wide = 2 * self.scale if snapshot.neighbours is Neighbours.REPLACE else self.scale
            counts = grid.count(snapshot.x_m, snapshot.y_m) + noise.laplace(wide, grid.size)
            return self._plot(snapshot, grid, counts, wide)

    yield DrawnApart
    forget(DrawnApart.kind)


@pytest.mark.slow
def test_what_nobody_can_follow_is_a_finding(apart: type[Contour], capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(apart.kind, "--samples", "1000") == 1
    text = capsys.readouterr().out
    assert "not followed" in text
    assert "not refuted" in text
    assert audit(apart.kind, "--samples", "1000", "--sampled-only") == 0


def test_whole_releases_that_nobody_can_follow_are_sampled(
    apart: type[Contour], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody sees what its noise hides: the release itself is sampled."""
    monkeypatch.setattr(apart, "scale", 0.001)
    file = tmp_path / "audit.json"
    assert audit(apart.kind, "--samples", "1000", "--sampled-only", "--json", str(file)) == 1
    written = json.loads(file.read_text())
    assert written["refuted"]
    assert written["not_followed"]
    assert any(pair["refuted"] and pair["name"].startswith("sampled: ") for pair in written["pairs"])


@pytest.mark.slow
def test_all_audits_every_kind_and_fails_when_one_lies(liar: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    assert audit("--all", "--samples", "2000", "--json", str(file)) == 1
    written = json.loads(file.read_text())
    assert {"contour", "no_privacy", "none", liar} <= {row["kind"] for row in written}
    assert [row["kind"] for row in written if row["refuted"]] == [liar]
    assert all(set(row) == KEYS for row in written)
    assert all(form["refuted"] for row in written for form in row["unsound_forms"])


def test_every_form_that_does_not_hold_is_refuted() -> None:
    """What `--all` adds to each kind, kind by kind: nothing is left out, and each is refuted by more than its claim."""
    shipped = [kind for kind, cls in auditable_kinds().items() if cls.__module__.startswith("geodp.")]
    found = {kind: audit_unsound_forms(kind, samples=2000) for kind in shipped}
    assert {kind: sorted(form.name for form in forms) for kind, forms in found.items() if forms} == LITERAL
    for kind, forms in found.items():
        for form in forms:
            assert form.audit.refuted, (kind, form.name)
            assert form.why_not, (kind, form.name)
    sound = audit_kind("correlated_counts", samples=2000)
    assert "variant: literal says of itself that it does not hold; refuted: ε ≥ 0.5161 where it claims 0.4" in text_of(
        sound, found["correlated_counts"]
    )
    assert as_dict(sound, found["dewri"])["unsound_forms"][0]["refuted"]


@pytest.mark.slow
def test_all_in_release_mode_leaves_out_what_is_for_simulation_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind is audited in release mode by `test_every_mechanism`: here a few of them stand for all."""
    few = {kind: auditable_kinds()[kind] for kind in ("uniform_grid", "planar_laplace", "laplace_counts", "no_privacy")}
    monkeypatch.setattr(audit_file, "auditable_kinds", lambda: few)
    if importlib.util.find_spec("opendp") is None:
        pytest.skip("OpenDP is not installed: pip install geodp[release]")
    assert audit("--all", "--mode", "release", "--samples", "1000", "--confidence", "0.999999") == 0
    text = capsys.readouterr().out
    assert "planar_laplace: for simulation only" in text
    assert "counted in the verdict" in text
    assert audit("planar_laplace", "--mode", "release", "--samples", "1000") == 2


@pytest.mark.parametrize("kind", ["no_privacy", "none"])
def test_what_claims_nothing_cannot_be_refuted(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.json"
    assert audit(kind, "--json", str(file)) == 0
    assert "claims nothing" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert (written["claimed"], written["certified"], written["pairs"]) == (None, None, [])


@pytest.mark.slow
def test_the_seed_decides_and_another_seed_draws_other_noise(tmp_path: Path) -> None:
    results: list[dict[str, Any]] = []
    for seed in ("1", "1", "2"):
        file = tmp_path / "audit.json"
        assert audit("contour", "--samples", "2000", "--seed", seed, "--json", str(file)) == 0
        results.append(json.loads(file.read_text()))
    assert results[0] == results[1]
    assert results[0]["certified"] != results[2]["certified"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["conturr"], "Did you mean 'contour'?"),
        (["poisson"], "nothing to audit"),
        (["contour", "--samples", "999"], "--samples must be at least 1000, got 999"),
        (["contour", "--confidence", "1"], "--confidence must lie between 0 and 1"),
        (["contour", "--confidence", "nan"], "--confidence must lie between 0 and 1"),
        (["contour", "--set", "epsilon=-1"], "must be greater than 0, got -1"),
        (["contour", "--set", "epsilom=1"], "Did you mean 'epsilon'?"),
        (["contour", "--set", "epsilon"], "write it as dotted.path=value"),
        (["contour", "--view", "server"], "--view goes with --run"),
        (["contour", "--all"], "give one of"),
        ([], "give one of"),
        (["--all", "--set", "epsilon=1"], "--set goes with one KIND"),
        (["--run", "nowhere"], "no such run folder"),
        (["--run", "."], "not a finished run folder"),
        (["--run", ".", "--view", "sever"], "Did you mean 'server'?"),
        (["--run", ".", "--mode", "release"], "a run is simulated"),
        (["contour", "--mode", "relese"], "Did you mean 'release'?"),
        (["contour", "--mode", "release", "--seed", "1"], "has no seed"),
    ],
)
def test_bad_input_is_said_clearly(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert audit(*words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("no_privacy", "--json", str(tmp_path / "nowhere" / "audit.json")) == 2
    assert "cannot be written" in capsys.readouterr().err
