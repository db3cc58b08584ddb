"""What adversaries find: the errors and hits of every attack, whoever wrote it.

Guesses about the same person at different times err alike, so people, not guesses, are the independent ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.registry import plugins

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

_METHODS = {"bayes_location": ("bayes_location",), "tracking": ("smoothed", "viterbi")}
"""Attacks that have keys in every run (null where they did not attack), with their methods."""
_NAMES = {"bayes_location": "attack"}
"""Names in keys; others go by their kind."""


@dataclass(frozen=True)
class AttackScores:
    """How one method of one attack did."""

    kind: str
    method: str
    error_key: str
    """Key of its error: `<kind>_error_m`, or `<kind>_error_<method>_m` for all methods but the first."""
    hit_key: str | None
    """Key of its hits: `<kind>_hit_rate`, for the first method."""
    rows: pd.DataFrame

    def per_person(self, column: str) -> pd.Series:
        """Return each attacked person's mean of a column (empty where nothing was guessed)."""
        average: pd.Series = self.rows.groupby("who")[column].mean().astype("float64")
        return average


def attack_scores(run: RunFolder) -> list[AttackScores]:
    """Return the scores of every attack of a run, method by method, those with keys in every run first.

    Of several attacks of one kind the second has keys that end in `_2`, and so on.
    """
    scores = run.attacks
    kinds = dict(enumerate(attack.kind for attack in run.scenario.attacks))
    kinds |= dict(zip(scores["number"].tolist(), scores["attack"].tolist(), strict=True))
    made = [(-1, kind) for kind in _METHODS if kind not in kinds.values()]
    made += sorted(kinds.items(), key=lambda item: (item[1] not in _METHODS, item[0]))
    places: Counter[str] = Counter()
    found = []
    for number, kind in made:
        places[kind] += 1
        rows = scores[scores["number"] == number]
        methods = _METHODS.get(kind) or tuple(rows["method"].unique()) or (kind,)
        name, ending = _NAMES.get(kind, kind), "" if places[kind] == 1 else f"_{places[kind]}"
        for method in methods:
            first = method == methods[0]
            error = f"{name}_error_m{ending}" if first else f"{name}_error_{method}_m{ending}"
            hit = f"{name}_hit_rate{ending}" if first else None
            found.append(AttackScores(kind, method, error, hit, rows[rows["method"] == method]))
    return found


def _by_group(run: RunFolder, per_person: pd.Series) -> list[tuple[str, pd.Series]]:
    """Return the values of everyone ('') and, where phones have levels, of each group, by the ending of its keys."""
    groups = run.groups
    if groups.empty or run.scenario.curator is not None:
        return [("", per_person)]
    group_of = groups.set_index("who")["group"].reindex(per_person.index)
    return [("", per_person), *((f"_{name}", values) for name, values in per_person.groupby(group_of.to_numpy()))]


class AttackError(Metric):
    """Expected error of an attack's guesses at positions, in metres: `<kind>_error_m` for every attack of the run.

    `attack_error_m`: by `bayes_location`, from what the server got at that moment. `tracking_error_m`: by `tracking`,
    from all reports of the same person, least expected distance under the forward-backward belief;
    `tracking_error_viterbi_m`: its most likely path. Distance between guess and true place, mean over each person's
    moments and then over people. Epsilon per metre and a curator's epsilon cannot be compared; this can. It is an error
    of this adversary, with this prior: no bound on what others may find. Undefined (null) without these two attacks,
    and where nothing can be linked. Interval: t, over people. Where phones have levels of their own, also for the
    people of each group: `attack_error_m_careful`.

    Reference
    ---------
    Shokri, Theodorakopoulos, Le Boudec, Hubaux 2011, "Quantifying Location Privacy" (expected inference error).
    """

    kind: ClassVar[str] = "attack_error_m"
    label: ClassVar[str] = "error of an attacker's guesses"
    labels: ClassVar[Mapping[str, str]] = {
        "attack_error_m": "error of an attacker's guesses",
        "tracking_error_m": "error of a tracker's guesses",
        "tracking_error_viterbi_m": "error of a tracker's likeliest path",
    }
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "privacy"

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return the beginnings of keys of every attack there is."""
        return tuple(f"{_NAMES.get(kind, kind)}_error" for kind in plugins("attack"))

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors of every method."""
        return {
            one.error_key + ending: mean(values)
            for one in attack_scores(run)
            for ending, values in _by_group(run, one.per_person("error_m"))
        }


class AttackHitRate(Metric):
    """Share of an attack's guesses within its `hit_radius_m` of the truth: `<kind>_hit_rate` for every attack.

    `attack_hit_rate` is that of `bayes_location`, `tracking_hit_rate` that of `tracking` (forward-backward). Mean over
    each person's moments and then over people. Undefined (null) without these two, and where nothing can be linked.
    Interval: t, over people.
    """

    kind: ClassVar[str] = "attack_hit_rate"
    label: ClassVar[str] = "attacker's hits"
    labels: ClassVar[Mapping[str, str]] = {"attack_hit_rate": "attacker's hits", "tracking_hit_rate": "tracker's hits"}
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return the beginnings of keys of every attack there is."""
        return tuple(f"{_NAMES.get(kind, kind)}_hit_rate" for kind in plugins("attack"))

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the hits of every attack's first method."""
        return {
            one.hit_key + ending: mean(values)
            for one in attack_scores(run)
            if one.hit_key is not None
            for ending, values in _by_group(run, one.per_person("hit"))
        }


class PriorError(Metric):
    """Error of the best guess from the public prior alone, before anything is released, in metres.

    The same guess for everyone: what errors of attacks have to be held against. Mean over the people and moments that
    `bayes_location` guessed at, or else `tracking`, or else the first other attack. Undefined (null) without any.
    Interval: t, over people.
    """

    kind: ClassVar[str] = "prior_error_m"
    label: ClassVar[str] = "error of a guess without any release"
    unit: ClassVar[str] = "m"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors."""
        some = [one for one in attack_scores(run) if len(one.rows)]
        return {self.kind: mean(some[0].per_person("prior_error_m") if some else [])}


_FOUND = ("auc", "error_m", "hit_rate", "right", "unique", "top5", "hours_right", "found", "epsilon")
_METERS = ("error_m",)


class AttackFindings(Metric):
    """What the attacks of a scenario find: `<kind>_<score>`, with `_chance` and `_bound` beside it.

    `membership_auc`: how often one who is in has the higher score than one who is out; `recovery_hours_right`: share
    of hours of a track that are right; `unicity_unique`: share of people singled out; `<kind>_right`: share of those
    known again; `_top5`: among the first five; `_found`: found by a malicious server. Chance is the same adversary
    without the release; a bound is what the promise allows anybody. Of several attacks of one kind the second has keys
    with its background (`membership_auc_past`). Intervals: t over redraws, or Clopper-Pearson over people.
    """

    kind: ClassVar[str] = "attack_findings"
    label: ClassVar[str] = "what an adversary finds"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return the beginnings of keys of every attack there is."""
        return tuple(
            f"{kind}_{score}" for kind in plugins("attack") for score in _FOUND if score not in ("error_m", "hit_rate")
        )

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read what was found."""
        found: dict[str, Measured] = {}
        taken: dict[str, str] = {}
        for one in run.findings:
            if (
                not one.get("asked")
                or one["release"].startswith("after ")
                or (one["score"] in ("error_m", "hit_rate") and f"{one['key']}" in _keys_of_guesses(run))
            ):
                continue
            background = "_".join(one["knows"])
            first = taken.setdefault(one["key"], background)
            key = one["key"] if first == background else f"{one['key']}_{background or 'nothing'}"
            if key in found:  # of several publications the first
                continue
            found[key] = Measured(one["value"], one["low"], one["high"], has_interval=True)
            found[f"{key}_chance"] = Measured(one["chance"])
            if one["bound"] is not None:
                found[f"{key}_bound"] = Measured(one["bound"])
        return found


def _keys_of_guesses(run: RunFolder) -> set[str]:
    """Return the keys that other metrics measure already."""
    scored = attack_scores(run)
    return {f"{one.kind}_{score}" for one in scored for score in ("error_m", "hit_rate")}
