"""Two reports of flows side by side: what differs by more than their noise. It reads released numbers alone: free."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.flows.release import Z95
from geodp.geometry import Array
from geodp.storage.files import digest

if TYPE_CHECKING:
    import pandas as pd

FALSE_SHARE = 0.05
"""Of the differences that are called clear, about this share is not there (Benjamini and Hochberg)."""
_BASE_SD = 10.0
"""A percentage is stated where what it is of is at least so many standard deviations."""
_PUBLIC = ("zones_sha256", "districts", "timezone", "every_s", "od_every_s", "day_begins", "trips")


@dataclass(frozen=True, eq=False)
class FlowsComparison:
    """What differs between two reports.

    Parameters
    ----------
    footfall, od
        Mean people a day in each place, and on each pair that both reports show: both values, their difference, its
        standard deviation and interval, the percentage where it can be said, and whether it is clear.
    releasable
        Whether both may leave the house.
    """

    footfall: pd.DataFrame
    od: pd.DataFrame
    releasable: bool

    def text(self, most: int = 10) -> str:
        """Say the clearest differences."""
        stamp = "Both reports are releasable, so this is, too." if self.releasable else "SIMULATED, not releasable."
        lines = [stamp]
        counted = {
            "places": "people period by period, added up over the mean day",
            "pairs": "people who go, on the mean day",
        }
        for what, table in (("places", self.footfall), ("pairs", self.od)):
            clear = table[table["clear"]]
            lines.append(
                f"{len(clear):,} of {len(table):,} {what} differ clearly (5 % of them by chance), {counted[what]}:"
            )
            order = np.argsort(-np.abs(clear["difference"].to_numpy() / clear["sd"].to_numpy()), kind="stable")
            lines += [f"  {_say_row(row)}" for row in clear.iloc[order[:most]].to_dict("records")]
        return "\n".join(lines)


def compare_flows(first: Path, second: Path) -> FlowsComparison:
    """Compare two released folders, per mean day of each.

    Parameters
    ----------
    first, second
        The folders: the difference is second minus first.

    Returns
    -------
    FlowsComparison
        The tables.

    Raises
    ------
    DataError
        If one is no report, is not as it was published, or their zones or rules differ.
    """
    stated = [read_statement(folder) for folder in (first, second)]
    public = [one["public_inputs"] for one in stated]
    for name in _PUBLIC:
        if public[0][name] != public[1][name]:
            raise DataError(
                f"{first} and {second} cannot be compared: {name} is {public[0][name]!r} in one, {public[1][name]!r} "
                "in the other."
            )
    days = [_count_days(one) for one in public]
    places = [_read_totals(folder, "footfall.parquet") for folder in (first, second)]
    footfall = _join(places, ["level", "zone"], days)
    keys = ["level", "origin", "destination"]
    od = _join([_read_totals(folder, "od.parquet") for folder in (first, second)], keys, days)
    return FlowsComparison(footfall, od, all(bool(one["releasable"]) for one in stated))


def find_clear(value: Array, sd: Array, share: float = FALSE_SHARE) -> npt.NDArray[np.bool_]:
    """Tell which differences are clear, of all that are looked at together (Benjamini and Hochberg 1995).

    Parameters
    ----------
    value, sd
        Differences and their standard deviations.
    share
        Share of the clear ones that may be none.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.publish.flows_compare import find_clear
    >>> find_clear(np.array([9.0, 2.0, 0.1]), np.ones(3)).tolist()
    [True, False, False]
    """
    p = np.array([math.erfc(abs(one) / math.sqrt(2)) for one in (value / sd).tolist()])
    order = np.argsort(p, kind="stable")
    below = np.flatnonzero(p[order] <= share * np.arange(1, p.size + 1) / max(p.size, 1))
    clear = np.zeros(p.size, dtype=np.bool_)
    clear[order[: below[-1] + 1 if below.size else 0]] = True
    return clear


def _join(tables: list[pd.DataFrame], keys: list[str], days: list[int]) -> pd.DataFrame:
    one, other = (table[[*keys, "value", "sd"]].assign(value=table["value"] / many, sd=table["sd"] / many)
                  for table, many in zip(tables, days, strict=True))  # fmt: skip
    both = one.merge(other, on=keys, suffixes=("_first", "_second"))
    both["difference"] = both["value_second"] - both["value_first"]
    both["sd"] = np.hypot(both["sd_first"], both["sd_second"])
    both["low"], both["high"] = both["difference"] - Z95 * both["sd"], both["difference"] + Z95 * both["sd"]
    sound = both["value_first"] >= _BASE_SD * both["sd_first"]
    both["percent"] = (100 * both["difference"] / both["value_first"]).where(sound)
    both["clear"] = find_clear(both["difference"].to_numpy(), both["sd"].to_numpy())
    return both


def read_statement(folder: Path, used: Sequence[str] = ("footfall.parquet", "od.parquet")) -> dict[str, Any]:
    """Return what a report states, if its files are still those it was published with.

    Parameters
    ----------
    folder
        The report.
    used
        The files that are read.
    """
    try:
        found: dict[str, Any] = json.loads((folder / "guarantee.json").read_text(encoding="utf-8"))
        files, _ = found["files"], found["public_inputs"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder}: holds no report of `geodp publish flows` ({error}).") from None
    for name in used:
        if not (folder / name).is_file() or digest(folder / name) != files.get(name):
            raise DataError(f"{folder / name}: is not the file that was published.")
    return found


def _read_totals(folder: Path, name: str) -> pd.DataFrame:
    import pandas as pd

    table = pd.read_parquet(folder / name)
    return table[table["period"] == "all"].reset_index(drop=True)


def _count_days(public: dict[str, Any]) -> int:
    from datetime import date

    return (date.fromisoformat(public["last_day"]) - date.fromisoformat(public["first_day"])).days + 1


def _say_row(row: Mapping[Any, Any]) -> str:
    place = row["zone"] if "zone" in row else f"{row['origin']} → {row['destination']}"
    percent = "" if math.isnan(row["percent"]) else f" ({row['percent']:+.1f} %)"
    return f"{place}: {row['difference']:+,.1f} ± {Z95 * row['sd']:,.1f} a day{percent}"
