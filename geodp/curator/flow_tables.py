"""What a run publishes about flows, as one table, and the truth beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.curator.seen_people import FIRST_MONDAY, SeenPeople
from geodp.flows.calendar import DAY_BEGINS_H
from geodp.flows.contributions import HOUR_S
from geodp.flows.release import NoisyFlows, is_reliable, list_nodes

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("table", "level", "day", "slot", "time_s", "name", "destination", "value", "value_nonneg", "sd", "reliable")
"""Columns of the public table: `table` says what a row is about, `day` and `slot` when (-1: over all)."""
_DAY_S = 86_400


def tabulate_flows(noisy: NoisyFlows, seen: SeenPeople, start_s: float) -> pd.DataFrame:
    """Return one table of all that is published; `table` says what each row is about.

    Parameters
    ----------
    noisy
        What is published.
    seen
        Public zones and rules.
    start_s
        Time of day at which the run begins.
    """
    import pandas as pd

    parts = [_footfall(noisy, seen), *_flows(noisy, seen), _trips(noisy), *_histograms(noisy, seen)]
    rows = [pd.DataFrame(_whole_row(part)) for part in parts]
    table = pd.concat(rows, ignore_index=True)
    first = (seen.rules.days.first - FIRST_MONDAY).days
    length_s = table["table"].map({"footfall": seen.rules.days.every_s, "flows": seen.rules.days.od_every_s})
    within_s = np.maximum(table["slot"], 0) * length_s.fillna(HOUR_S)
    begins_s = (table["day"] + first) * _DAY_S + DAY_BEGINS_H * HOUR_S + within_s - start_s
    table["time_s"] = np.where(table["day"] >= 0, begins_s, np.nan)
    table["reliable"] = is_reliable(table["value"].to_numpy(), table["sd"].to_numpy())
    return table[list(COLUMNS)]


def keep_truth(seen: SeenPeople) -> dict[str, pd.DataFrame]:
    """Return the private tables: true footfall, flows and trips without caps, and where a few people were.

    Parameters
    ----------
    seen
        Everyone's counts.
    """
    import pandas as pd

    rules, names = seen.rules, np.array(seen.zones.all_names, dtype=np.object_)
    shape = seen.tables.footfall.shape
    day, slot, zone = (index.ravel() for index in np.indices(shape))
    begun = slot < rules.days.slots[day]
    footfall = {"day": day, "slot": slot, "name": names[zone], "people": seen.tables.footfall.ravel()}
    pairs, many = seen.tables.every_od, rules.zones
    period, cell = np.divmod(pairs.cell, many * many)
    origin, destination = np.divmod(cell, many)
    of_day, of_slot = np.divmod(period, rules.days.most_od_slots)
    flows = {"day": of_day, "slot": of_slot, "name": names[origin], "destination": names[destination],
             "people": pairs.count}  # fmt: skip
    hourly = seen.tables.every_trip
    on, at = (index.ravel() for index in np.indices(hourly.shape))
    sample = dict(seen.sample)
    sample_names = names[sample.pop("zone")]
    return {
        "footfall": pd.DataFrame(footfall)[begun],
        "flows": pd.DataFrame(flows),
        "trips": pd.DataFrame({"day": on, "slot": at, "people": hourly.ravel()}),
        "sample": pd.DataFrame({**sample, "name": sample_names}),
    }


def _whole_row(part: dict[str, Any]) -> dict[str, Any]:
    value = np.asarray(part["value"], dtype=np.float64)
    rest = {"level": "", "destination": "", "value_nonneg": np.maximum(value, 0.0)}
    return {**rest, **part}


def _footfall(noisy: NoisyFlows, seen: SeenPeople) -> dict[str, Any]:
    _, levels, names = list_nodes(seen.zones)
    node, day, slot = np.nonzero(~np.isnan(noisy.footfall.value))
    at = (node, day, slot)
    return {
        "table": "footfall",
        "level": np.array(levels, dtype=np.object_)[node],
        "day": day,
        "slot": slot,
        "name": np.array(names, dtype=np.object_)[node],
        "value": noisy.footfall.value[at],
        "value_nonneg": noisy.footfall.nonneg[at],
        "sd": noisy.footfall.sd[at],
    }


def _flows(noisy: NoisyFlows, seen: SeenPeople) -> list[dict[str, Any]]:
    names = np.array(seen.zones.all_names, dtype=np.object_)
    found = []
    for table in noisy.flows:
        day, slot = divmod(table.period, seen.rules.days.most_od_slots) if table.period >= 0 else (-1, -1)
        if table.value.size:
            found.append({"table": "flows", "level": table.level, "day": day, "slot": slot,
                          "name": names[table.origin], "destination": names[table.destination],
                          "value": table.value, "sd": table.sd})  # fmt: skip
    return found


def _trips(noisy: NoisyFlows) -> dict[str, Any]:
    day, hour = np.nonzero(~np.isnan(noisy.trips))
    value, words = noisy.trips[day, hour], np.full(day.size, "trips", dtype=np.object_)
    return {"table": "trips", "day": day, "slot": hour, "name": words, "value": value, "sd": noisy.trips_sd}


def _histograms(noisy: NoisyFlows, seen: SeenPeople) -> list[dict[str, Any]]:
    found = []
    for one in seen.rules.histograms:
        counts = noisy.histograms[one.key]
        day, number = np.nonzero(~np.isnan(counts))
        names = np.array(one.name_bins(), dtype=np.object_)[number]
        found.append({"table": one.key, "day": day, "slot": -1, "name": names, "value": counts[day, number],
                      "sd": noisy.histogram_sd[one.key]})  # fmt: skip
    return found
