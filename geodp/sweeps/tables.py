"""The tables of a sweep: runs with types, cells with means and intervals, and words for a cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics.intervals import mean
from geodp.model import did_you_mean
from geodp.pages.labels import NOT_SET, find_field, find_label, find_labels, say_value

if TYPE_CHECKING:
    import pandas as pd

OWN_COLUMNS = ["cell", "run_id", "seed", "status", "error"]
VALUE_COLUMNS = ["mean", "low", "high"]
GAP_COLUMNS = ["difference", "difference_low", "difference_high"]


def list_varied(runs: pd.DataFrame, manifest: dict[str, Any]) -> list[str]:
    """Return the varied paths of a table of runs; manifests of version 0.1 do not name them."""
    stated = manifest.get("varied")
    if isinstance(stated, list):
        return [path for path in stated if path in runs]
    return [name for name in runs.columns if name not in OWN_COLUMNS and find_field(str(name)) is not None]


def list_metrics(runs: pd.DataFrame, varied: Iterable[str]) -> list[str]:
    """Return the metrics of a table of runs; the ends of intervals that single runs carry are left out."""
    others = {*OWN_COLUMNS, *varied}
    return [key for key in runs.columns if key not in others and not key.endswith(("_low", "_high"))]


def type_runs(runs: pd.DataFrame, varied: Sequence[str]) -> pd.DataFrame:
    """Return a table of runs with types: words as categories, yes and no as booleans, whole numbers as such."""
    typed = runs.astype({"cell": "category", "status": "category", "seed": "int64"})
    for path in varied:
        typed[path] = _type_column(runs[path], path)
    return typed


def _type_column(values: pd.Series[Any], path: str) -> pd.Series[Any]:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values):
        field = find_field(path)
        whole = field is not None and field.annotation in (int, int | None)
        return values.astype("Int64") if whole and values.dropna().mod(1).eq(0).all() else values
    known = values.where(values != "null", None)
    if set(known.dropna()) <= {"True", "False"}:
        return known.map({"True": True, "False": False}).astype("boolean")
    kinds = pd.CategoricalDtype(list(dict.fromkeys(known.dropna())))
    return known.astype(kinds)


def summarise_cells(runs: pd.DataFrame, varied: Sequence[str], baseline: str) -> pd.DataFrame:
    """Return mean, 95 % interval and n of every metric in every cell, and paired differences against the baseline.

    Cells share their seeds, so a difference is taken seed by seed: its interval is that of the mean difference.
    """
    import pandas as pd

    good = runs[runs["status"] == "ok"]
    base = good[good["cell"] == baseline].set_index("seed")
    rows = []
    for cell, own in good.groupby("cell", sort=True, observed=True):
        by_seed = own.set_index("seed")
        for key in list_metrics(runs, varied):
            values, gaps = by_seed[key].dropna(), pair_gaps(by_seed[key], base[key])
            average, gap = mean(values), mean(gaps)
            row: dict[str, Any] = {"cell": cell, "metric": key} | {path: own[path].iloc[0] for path in varied}
            row |= dict(zip(VALUE_COLUMNS, (average.value, average.low, average.high), strict=True))
            row |= dict(zip(GAP_COLUMNS, (gap.value, gap.low, gap.high), strict=True))
            rows.append(row | {"n": len(values), "pairs": len(gaps)})
    columns = ["cell", *varied, "metric", *VALUE_COLUMNS, "n", *GAP_COLUMNS, "pairs"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys([*VALUE_COLUMNS, *GAP_COLUMNS], "float64"))


def pair_gaps(own: pd.Series[Any], base: pd.Series[Any]) -> pd.Series[Any]:
    """Return the differences seed by seed; two infinite ones differ by nobody knows what, and not by nothing."""
    import pandas as pd

    both = pd.concat([own, base], axis=1, keys=["own", "base"]).dropna()
    gaps: pd.Series[Any] = both["own"] - both["base"]
    return gaps.fillna(math.inf)


def describe_values(runs: pd.DataFrame, varied: Sequence[str]) -> pd.DataFrame:
    """Return the varied values of every row in words; what is varied by itself is left out of the mapping it is in."""
    import pandas as pd

    said = {}
    for path in varied:
        inside = [other.removeprefix(f"{path}.").split(".")[0] for other in varied if other.startswith(f"{path}.")]
        said[path] = [say_value(path, value, hidden=inside) for value in runs[path].astype("object")]
    return pd.DataFrame(said, index=runs.index)


def list_varying(runs: pd.DataFrame, varied: Sequence[str]) -> list[str]:
    """Return the varied paths that have more than one value."""
    words = describe_values(runs, varied)
    return [path for path in varied if words[path].nunique() > 1]


def name_cells(runs: pd.DataFrame, varied: Sequence[str]) -> dict[str, str]:
    """Return a few words for every cell: what varies, and what is set; no two cells have the same."""
    cells = runs.drop_duplicates("cell").set_index("cell")
    if cells.empty:
        return {}
    words, shown = describe_values(cells, varied), list_varying(cells, varied)
    labels = find_labels(shown)
    short = [_name_cell(row, shown, labels, unset=False) for row in words.to_dict("records")]
    full = [_name_cell(row, shown, labels, unset=True) for row in words.to_dict("records")]
    names = short if len(set(short)) == len(short) else full
    found = dict(zip(map(str, cells.index), names, strict=True))
    return found if len(set(names)) == len(names) else {cell: f"{name} [{cell}]" for cell, name in found.items()}


def _name_cell(row: dict[Any, Any], shown: Sequence[str], labels: dict[str, Any], *, unset: bool) -> str:
    parts = []
    for path in shown:
        value = row[path]
        if value == NOT_SET and not unset:
            continue
        plugin = path.rpartition(".")[2] in ("mechanism", "assignment", "source", "mobility", "acceptance", "demand")
        parts.append(value if plugin and value != NOT_SET else f"{labels[path].words} {value}")
    return ", ".join(parts) or "as the base"


def require_column(runs: pd.DataFrame, varied: Sequence[str], name: str, *, what: str = "metric or varied path") -> str:
    """Return the name of a metric or varied path of a sweep, or say which there are."""
    known = [*varied, *list_metrics(runs, varied)]
    ends = [key for key in runs.columns if key not in known and key not in OWN_COLUMNS]
    if name in known or name in ends:
        return name
    hint = did_you_mean(name, [*known, *ends]) or f" There are: {', '.join(known)}."
    raise UsageError(f"no {what} called '{name}' in this sweep.{hint}")


def find_better(metric: str, better: str | None) -> str:
    """Return whether higher or lower values of a metric are better, or ask."""
    found = better or find_label(metric).better
    if found not in ("higher", "lower"):
        known = "neither is better by itself" if better is None else f"got {better!r}"
        raise UsageError(f"{metric}: say which values are better, better='higher' or better='lower' ({known})")
    return found
