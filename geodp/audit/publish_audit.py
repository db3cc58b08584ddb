"""Auditing `geodp publish`: neighbouring files through the whole command, with the answers of the first run replayed.

A release may tell what it paid for. So the command is run in this process on one file, and then on its neighbour with
the answers of the first run put into its mouth: exit code, messages and every byte of every file must be the same, and
the questions must cost no more than the guarantee file claims. Times, and digests over them, are left out.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import logging
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.audit.auditor import Audit, PairAudit
from geodp.audit.following import is_hidden_apart
from geodp.audit.neighbouring_files import REGION, NeighbouringFiles, PrivateFile, draw_neighbouring_files
from geodp.audit.publish_commands import USER_LIST, VENUE_LIST, ZONES, PublishCommand, publish_commands, write_public
from geodp.audit.transcript import Overheard, Retold
from geodp.errors import UsageError
from geodp.privacy.noise import Noise, SimulatedNoise, intercept_noise
from geodp.streams import Streams
from geodp.tables.progress import go_through

FILES = 12
"""Random pairs of files per command."""
_SAID = 3
_LEAST_SHARE = 0.1
_TABLES = (".csv", ".csv", ".parquet")
_SUFFIXES = (*_TABLES, ".geojson", ".geoparquet")


@dataclass(frozen=True)
class _Setting:
    """What two runs have in common: their words, and the names of their files."""

    run: CommandLine
    command: PublishCommand
    source: str
    out: str
    seed: int


def audit_publish(asked: str, run: CommandLine, *, files: int = FILES, seed: int = 0) -> Iterator[Audit]:
    """Audit a kind of publication (`counts`), one method (`counts:dpsense`, or `dpsense` alone), or `all`."""
    if files < 1:
        raise UsageError(f"--files must be at least 1, got {files}")
    for command in publish_commands(asked):
        yield audit_command(command, run, files=files, seed=seed)


def text_of(audit: Audit) -> str:
    """Say what was found, in a few lines."""
    wrong = [pair for pair in audit.pairs if pair.refuted]
    lines = [f"{audit.kind}: {len(audit.pairs)} pairs of files, {'REFUTED' if wrong else 'not refuted'}"]
    for pair in wrong[:_SAID]:
        spent = f": {pair.currency} = {pair.transcript:.6g} of {pair.claimed:.6g} was asked"
        asked = "" if pair.transcript == math.inf else spent
        lines.append(f"  {pair.name}{asked}")
    if len(wrong) > _SAID:
        lines.append(f"  and {len(wrong) - _SAID} more")
    if audit.not_followed:
        lines.append(f"  not followed: {audit.not_followed[0]}")
    asked_most = max(
        (pair for pair in audit.pairs if pair.claimed > 0), key=lambda pair: pair.share_asked, default=None
    )
    if asked_most is not None and not wrong:
        lines.append(f"  at most {asked_most.share_asked:.1%} of what is claimed was asked ({asked_most.name})")
    return "\n".join(lines)


def audit_command(command: PublishCommand, run: CommandLine, *, files: int = FILES, seed: int = 0) -> Audit:
    """Run random neighbouring files through a command."""
    rng = Streams(seed).generator(f"audit.{command.name}")
    pairs: list[PairAudit] = []
    apart: list[str] = []
    published, refused = 0, ""
    for number in go_through("following files", range(files)):
        pair = draw_neighbouring_files(command.file, command.changes, rng)
        setting = _Setting(
            run,
            command,
            "private" + str(rng.choice(_TABLES)),
            "out" + str(rng.choice(_SUFFIXES if command.has_places else _TABLES)),
            int(rng.integers(2**31)),
        )
        named = f"files {number + 1}: {pair.what}"
        leaks = any(other.transcript == math.inf for other in pairs)
        found, let_out, followed = _follow_pair(setting, pair, named, swap=bool(rng.random() < 0.5), leaks=leaks)
        pairs.append(found)
        published += let_out.exit_code == 0
        refused = let_out.messages.strip() if let_out.exit_code else refused
        if not followed:
            apart.append(named)
    failed = () if published else (f"nothing of it: no file could be published. {refused}".rstrip(),)
    if command.kind == "positions" and "--cap" in command.words:
        pairs.append(_any_rows_are_kept(command, run))
    return Audit(command.name, 0, 1.0, tuple(pairs), not_followed=(*failed, *apart), failed=failed)


def _follow_pair(
    setting: _Setting, pair: NeighbouringFiles, named: str, *, swap: bool, leaks: bool
) -> tuple[PairAudit, LetOut, bool]:
    """Run both files, the second one with the answers of the first; say what it cost and what differed.

    Whether noise that was drawn apart may hide what differs takes many runs, and is not asked where it `leaks` anyway.
    """
    one, other = (pair.other, pair.one) if swap else (pair.one, pair.other)
    source = SimulatedNoise(np.random.default_rng(setting.seed), releasable=True, mode="release")
    overheard = Overheard(source)
    first = _run(setting, pair, one, overheard)
    retold = Retold(overheard)
    second = _run(setting, pair, other, retold)
    different = first.differences(second)
    differs = bool(different) or not retold.finished

    def again(noise: Noise) -> list[npt.ArrayLike]:
        return _run(setting, pair, one, noise).parts()

    apart = overheard.drawn_apart or retold.drawn_apart
    may_hide = differs and not leaks
    if apart or (
        may_hide
        and is_hidden_apart(
            release=again,
            overheard=overheard,
            retold=retold,
            published=first.parts(),
            again=second.parts(),
            source=source,
        )
    ):
        return PairAudit(named, 0.0, transcript=0.0), first, False
    statement = first.json(setting.out + setting.command.statement)
    currency = "ρ" if statement and statement["guarantee"].get("rho") is not None else "ε"
    claimed = _read_flows_claim(statement, pair) if setting.command.kind == "flows" else _read_claim(statement, pair)
    if differs:
        differing = ", ".join(different) or "questions"
        named, spent = f"{named}, told apart by {differing}", math.inf
    else:
        spent = retold.spent_rho if currency == "ρ" else retold.spent
    return PairAudit(named, claimed, transcript=spent, currency=currency), first, True


def _read_flows_claim(said: dict[str, Any], pair: NeighbouringFiles) -> float:
    """Return what a report promises about a person's day, or about all of a person, as ρ or as a pure ε."""
    if not said or pair.covered_by == "nothing":
        return 0.0
    spend = said["spend"][pair.covered_by]
    return float(spend["rho" if said["rho"] is not None else "epsilon"])


def _read_claim(said: dict[str, Any], pair: NeighbouringFiles) -> float:
    """Return what the guarantee file promises about such a pair (0 where nothing was published)."""
    if not said or pair.covered_by == "nothing":
        return 0.0
    promise = said["per_person"] if pair.covered_by == "person" else said["guarantee"]
    if pair.covered_by == "metres":
        return float(promise["epsilon"]) * (pair.metres + float(promise.get("extra_m", 0.0)))
    charged = said["charged"]["epsilon"] if said["charged"] else 0.0  # a promise that nobody is charged for is none
    return min(float(promise["epsilon"]), float(charged)) if pair.covered_by == "person" else float(promise["epsilon"])


def _any_rows_are_kept(command: PublishCommand, run: CommandLine) -> PairAudit:
    """Publish people who are in the east first and in the west later: a cap must keep rows of either side.

    Of 30 people with six rows on either side some rows are kept by chance: nine tenths of them are of one side with a
    probability below 1e-9.
    """
    west, south, east, north = REGION
    middle, lat = (west + east) / 2, f"{(south + north) / 2:.6f}"
    sides = [f"{middle + 0.3 * side * (east - west):.6f}" for side in (1, -1) for _ in range(6)]
    rows = [{"user": f"p{who}", "lon": lon, "lat": lat, "note": ""} for who in range(30) for lon in sides]
    file = PrivateFile(command.file.columns, tuple(rows))
    setting = _Setting(run, replace(command, epsilons=command.epsilons[-1:]), "private.csv", "out.csv", 1)
    noise = SimulatedNoise(np.random.default_rng(1), releasable=True, mode="release")
    let_out = _run(setting, NeighbouringFiles("east, then west", file, file, "nothing"), file, Overheard(noise))
    lines = list(csv.DictReader(io.StringIO(let_out.files["out.csv"].decode())))
    weight = np.array([float(row.get("count", 1.0)) for row in lines])
    at = np.array(
        [float(row["lon"]) if "lon" in row else (float(row["west"]) + float(row["east"])) / 2 for row in lines]
    )
    share = float(weight[at > middle].sum() / weight.sum())
    one_sided = not _LEAST_SHARE < share < 1 - _LEAST_SHARE
    named = f"a cap among rows in the east, then in the west ({share:.0%} of what is published is in the east)"
    return PairAudit(named, 0.0, transcript=math.inf if one_sided else 0.0)


def _run(setting: _Setting, pair: NeighbouringFiles, file: PrivateFile, noise: Noise) -> LetOut:
    with tempfile.TemporaryDirectory(prefix="geodp-audit-") as name:
        folder = Path(name)
        source = folder / setting.source
        file.write(source)
        write_public(setting.command, folder, list(pair.users))
        words = setting.command.line(folder, source, folder / setting.out, np.random.default_rng(setting.seed))
        inputs = (setting.source, VENUE_LIST, USER_LIST, ZONES)
        return run_command(setting.run, words, noise=noise, folder=folder, inputs=inputs)


_WHEN = {"time", "time_s", "chain", "head", "seal"}
"""Keys of JSON files that say when something was done, or are digests over that."""
_HERE = "<folder>"
_WORDS = re.compile(rb"[\s,]+")


@dataclass(frozen=True)
class LetOut:
    """All that a command let out: exit code, what it printed and logged, and every file it left."""

    exit_code: int
    messages: str
    files: dict[str, bytes]

    def differences(self, other: LetOut) -> list[str]:
        """Name what differs."""
        found = [] if self.exit_code == other.exit_code else ["exit code"]
        found += [] if self.messages == other.messages else ["messages"]
        names = sorted(set(self.files) | set(other.files))
        return found + [name for name in names if self.files.get(name) != other.files.get(name)]

    def parts(self) -> list[npt.ArrayLike]:
        """Return all of it in parts that can be compared word by word."""
        words = [np.array(_WORDS.split(self.files[name]), dtype=np.object_) for name in sorted(self.files)]
        return [self.exit_code, np.array(self.messages.split(), dtype=np.object_), sorted(self.files), *words]

    def json(self, name: str) -> dict[str, Any]:
        """Return a JSON file that was left ({}: there is none)."""
        return dict(json.loads(self.files[name])) if name in self.files else {}


CommandLine = Callable[[Sequence[str]], int]
"""Runs `geodp WORDS` in this process, and returns its exit code; whoever has the commands hands it in."""


def run_command(run: CommandLine, words: Sequence[str], *, noise: Noise, folder: Path, inputs: Sequence[str]) -> LetOut:
    """Run `geodp WORDS` with an auditor's noise in the place of that of a release.

    Parameters
    ----------
    run
        Runs a command.
    words
        The command line; files are named inside the folder.
    noise
        Answers the questions of the release.
    folder
        Where the command works; its path is replaced by a word wherever it is printed.
    inputs
        Names of files that were there before.
    """
    heard = io.StringIO()
    logged = logging.StreamHandler(heard)
    logger = logging.getLogger("geodp")
    logger.addHandler(logged)
    try:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard), intercept_noise(noise):
            code = run(words)
    finally:
        logger.removeHandler(logged)
    files = {
        str(path.relative_to(folder)): _timeless(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in inputs and not path.name.endswith(".lock")
    }
    return LetOut(code, _anywhere(heard.getvalue(), folder), files)


def _anywhere(text: str, folder: Path) -> str:
    return text.replace(str(folder.resolve()), _HERE).replace(str(folder), _HERE)


def _timeless(path: Path) -> bytes:
    """Return a file without the time at which it was written."""
    content = path.read_bytes()
    if path.suffix != ".json":
        return content
    return json.dumps(_without_times(json.loads(content)), indent=1, sort_keys=True).encode()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: None if key in _WHEN else _without_times(held) for key, held in value.items()}
    return [_without_times(held) for held in value] if isinstance(value, list) else value
