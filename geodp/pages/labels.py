"""Words for what a page shows: one function labels a metric or a varied path, with its unit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from geodp.metrics import Measured, metric_of
from geodp.pages.quantity import UNDEFINED, quantity, with_interval

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from geodp.model import Model


@dataclass(frozen=True)
class Label:
    """How a metric or a varied path is called.

    Parameters
    ----------
    name
        The metric's key, or the dotted path.
    words
        A few words.
    unit
        The unit ('': none).
    better
        `higher`, `lower`, or '' where neither is better.
    about
        What it is, in a sentence or more ('': nothing is known).

    Examples
    --------
    >>> from geodp.pages.labels import find_label
    >>> str(find_label("travel_distance_m"))
    'distance travelled (m)'
    """

    name: str
    words: str
    unit: str = ""
    better: str = ""
    about: str = ""

    def __str__(self) -> str:
        return f"{self.words} ({self.unit})" if self.unit and self.unit not in self.words.split() else self.words

    def value(self, measured: Measured, *, signed: bool = False) -> str:
        """Say a number of it, with its interval: `signed` for differences."""
        return with_interval(measured, self.unit, signed=signed)


AT_SUCCESS: Mapping[str, tuple[str, str, str]] = {
    "cost_at_success": ("workers asked per task at equal success", "workers", "lower"),
    "target_at_success": ("target for equal success", "share", ""),
    "expected_at_success": ("expected success, made equal", "share", ""),
    "taken_at_success": ("tasks taken at equal success", "share", ""),
    "travel_at_success_m": ("distance travelled at equal success", "m", "lower"),
    "reward_at_success": ("reward per task at equal success", "reward", "lower"),
}
"""What a price at equal success adds to the numbers of a run: words, unit, and what is better."""
USUAL_METRICS = (
    "success_rate",
    "notified_workers",
    "cost_at_success",
    "travel_distance_m",
    "distance_error_m",
    "attack_error_m",
    "tracking_error_m",
    "epsilon_spent",
)
"""What pages show first, as far as runs have it: the price beside the success."""
_UNITS = {"_per_m": "1/m", "_mps": "m/s", "_m": "m", "_s": "s", "_km": "km", "_share": "share"}
"""Units by the endings of field names."""
_NAMES = {
    "curator.mechanism": "mechanism",
    "device.mechanism": "mechanism on the phone",
    "server.assignment": "assignment",
    "workers.source": "workers from",
    "workers.acceptance": "willingness",
    "tasks.demand": "demand",
    "curator.release_every_s": "time between releases",
    "device.report_every_s": "time between reports",
    "curator.budget.epsilon": "ε budget per person",
    "device.budget.epsilon_per_m": "ε per metre budget per person",
    "server.assignment.reward": "rewards",
    "server.assignment.target_success": "target success",
    "tasks.reward.total": "total reward",
    "tasks.reward.minimum": "minimum reward",
    "tasks.patience_s": "patience",
    "duration_s": "length of the run",
}
"""Paths whose field says what happens and not what it is called."""
_NOUNS = re.compile(
    r"(ε( of| per)|Number of|Side of|Share of|Part of|Width of|Length of|Mean |Maximum |Largest |Least |Radius|"
    r"Distance |Speed |Probability |Standard deviation|Exponent|Weight of|Level of|Tasks per|Cells |Levels |Rounds )"
)
"""Beginnings of field texts whose first words are a name."""
_LONGEST = 46
NOT_SET = "not set"
"""What is said of null."""


def find_label(name: str) -> Label:
    """Return the label of a metric's key or of a dotted path of a scenario.

    Parameters
    ----------
    name
        `success_rate`, `curator.mechanism.epsilon`, …; what is neither is called by its own words.

    Returns
    -------
    Label
        Words and unit.

    Examples
    --------
    >>> from geodp.pages.labels import find_label
    >>> find_label("curator.mechanism.epsilon").words
    'ε of one release'
    >>> find_label("success_rate").words, find_label("success_rate").better
    ('tasks taken', 'higher')
    """
    if name in AT_SUCCESS:
        words, unit, better = AT_SUCCESS[name]
        return Label(name, words, unit, better)
    for ending, words in (("_low", "lower end"), ("_high", "upper end")):
        if "." not in name and name.endswith(ending) and metric_of(name) is not None:
            whole = find_label(name.removesuffix(ending))
            return Label(name, f"{whole.words}, {words} of its interval", whole.unit)
    metric = None if "." in name else metric_of(name)
    if metric is not None:
        about = (metric.__doc__ or "").partition("\n")[0]
        return Label(name, metric.label_of(name), metric.unit_of(name), metric.better, about)
    return _label_path(name)


def find_labels(names: Iterable[str]) -> dict[str, Label]:
    """Return labels that tell names apart: those with the same words say where they stand."""
    labels = {name: find_label(name) for name in names}
    distinct: dict[str, Label] = {}
    for name, label in labels.items():
        same = [other for other in labels if other != name and labels[other].words == label.words]
        place = name.rpartition(".")[0].replace("_", " ").replace(".", ", ")
        words = f"{label.words} ({place or name})" if same else label.words
        distinct[name] = Label(name, words, label.unit, label.better, label.about)
    return distinct


@cache
def _label_path(path: str) -> Label:
    last = path.rpartition(".")[2]
    ending = next((end for end in _UNITS if last.endswith(end)), "")
    field = find_field(path)
    about = " ".join(((field.description if field is not None else None) or "").split())
    clause = re.split(r"[,;:(`]|\.(?:\s|$)", about, maxsplit=1)[0].strip()
    if path in _NAMES:
        words = _NAMES[path]
    elif last == "kind" and "." in path:
        words = _label_kind(path)
    elif _NOUNS.match(clause) and len(clause) <= _LONGEST and not re.search(r"\d", clause):
        words = clause if clause.startswith("ε") else clause[0].lower() + clause[1:]
    else:
        words = last.removesuffix(ending).replace("_", " ")
        words = re.sub(r"\bepsilon\b", "ε", words) or last
    return Label(path, words, "" if ending == "_per_m" and "per metre" in words else _UNITS.get(ending, ""), "", about)


def _label_kind(path: str) -> str:
    """Say what a `kind` chooses: the words of what it stands in, `curator.mechanism.kind` for one."""
    parts = [part for part in path.split(".")[:-1] if not part.isdigit()]
    return _NAMES.get(".".join(parts)) or parts[-1].replace("_", " ")


def find_field(path: str) -> FieldInfo | None:
    """Return the field of a scenario that a dotted path leads to (None: there is none such)."""
    from geodp.registry import PLACES, plugins
    from geodp.scenario.schema import Scenario

    families = {place: family for family, place in PLACES.items()}
    candidates: list[type[Model]] = [Scenario]
    found: FieldInfo | None = None
    walked: list[str] = []
    for key in path.split("."):
        if key.isdigit():
            continue
        fields = []
        for cls in candidates:
            if key in cls.model_fields:
                cls.describe_fields()
                fields.append(cls.model_fields[key])
        if not fields:
            return None
        found = _commonest(fields)
        walked.append(key)
        family = families.get(".".join(walked))
        candidates = list(plugins(family).values()) if family is not None else _models_in(found.annotation)
    return found


def _commonest(fields: list[FieldInfo]) -> FieldInfo:
    texts = [field.description for field in fields]
    return max(fields, key=lambda field: texts.count(field.description))


def _models_in(annotation: Any) -> list[type[Model]]:
    from typing import get_args

    from geodp.model import Model

    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def say_value(path: str, value: Any, *, hidden: Iterable[str] = ()) -> str:
    """Say a value of a varied path in a few words, with its unit.

    Parameters
    ----------
    path
        The varied path.
    value
        What stands there; text of a mapping (as tables hold it) counts as the mapping.
    hidden
        Keys of a mapping that are said elsewhere.
    """
    value = _parse_mapping(value)
    if value is None or (isinstance(value, float) and math.isnan(value)) or value == "null":
        return NOT_SET
    if isinstance(value, bool) or value in ("True", "False"):
        return "yes" if value in (True, "True") else "no"
    if isinstance(value, Mapping):
        rest = [f"{_say_key(key)} {say_value(key, own)}" for key, own in value.items() if key not in {"kind", *hidden}]
        kind = str(value.get("kind", "")).replace("_", " ")
        return ", ".join(part for part in (kind, *rest) if part) or NOT_SET
    if isinstance(value, list | tuple):
        return ", ".join(say_value(path, own) for own in value)
    if isinstance(value, int | float):
        unit = find_label(path).unit
        return quantity(float(value), unit) if unit in ("m", "s", "km", "m/s") else say_number(float(value))
    return str(value)


def capitalise(words: str) -> str:
    """Begin a sentence: a letter of Latin is written large, and ε (whose capital reads as E) stays as it is."""
    return words[:1].upper() + words[1:] if words[:1].isascii() else words


def say_number(value: float) -> str:
    """Say a number that somebody chose, with all its digits and no idle ones."""
    if not math.isfinite(value):
        return UNDEFINED if math.isnan(value) else "∞"
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"


def _say_key(key: str) -> str:
    ending = next((end for end in _UNITS if key.endswith(end)), "")
    return re.sub(r"\bepsilon\b", "ε", key.removesuffix(ending).replace("_", " "))


def _parse_mapping(value: Any) -> Any:
    """Return the mapping or list that a text stands for, as tables of sweeps hold them."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return value
