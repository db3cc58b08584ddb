"""Pings larger than one machine, on a Dask cluster: files are read where the workers are, people's days end up whole.

The cluster is on the trusted side: it sees the raw pings. What comes back are whole numbers that add up, so they are
those of one process; noise is drawn here, once.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geodp.flows.contributions import FlowRules, FlowTables
from geodp.flows.pings import PingNotes, TowerSites, count_buckets, count_records, split_table
from geodp.flows.zones import ZoneMap
from geodp.publish.cluster_visits import Cluster
from geodp.tables.formats import count_groups
from geodp.tables.reader import TableReader

_FEWER = 8
"""Buckets are larger here than on one machine's disk: every part of the files holds a piece of each, and a task is a
millisecond of the scheduler's."""


def count_pings_on(
    cluster: Cluster,
    tables: Sequence[TableReader],
    zones: ZoneMap,
    rules: FlowRules,
    *,
    releasing: bool = False,
    sites: TowerSites | None = None,
) -> tuple[FlowTables, PingNotes]:
    """Count on a cluster what the pings of files add to the tables.

    Parameters
    ----------
    cluster
        The cluster, whose workers find the files under the same names.
    tables
        The open files.
    zones, rules
        Public settings.
    releasing
        Whether a row that cannot be read is left out without a word.
    sites
        The towers, where pings name those.
    """
    buckets = max(count_buckets(tables) // _FEWER, cluster.threads)
    zones.locate(np.zeros(1), np.zeros(1))  # the raster is made once, and sent along
    shared = cluster.share((zones, rules, sites))
    parts = [cluster.submit(read_part, part, shared, buckets, releasing=releasing) for part in divide_tables(tables)]
    notes = PingNotes()
    for each in cluster.gather([cluster.submit(operator.itemgetter(0), part) for part in parts]):
        notes.add(each)
    counted = []
    for bucket in range(buckets):  # pieces of a bucket are taken where they were read: only these travel
        pieces = [cluster.submit(operator.itemgetter(1 + bucket), part) for part in parts]
        counted.append(cluster.submit(count_pieces, pieces, shared))
    total: FlowTables = cluster.add_up(counted, FlowTables.add)
    return total, notes


def divide_tables(tables: Sequence[TableReader]) -> list[TableReader]:
    """Return parts that are read by themselves: row groups of Parquet files, and other files whole."""
    found = []
    for table in tables:
        whole = replace(table, path=table.path.resolve())
        groups = count_groups(whole.path)
        found += [whole] if groups == 1 else [replace(whole, groups=(number,)) for number in range(groups)]
    return found


def read_part(
    table: TableReader, shared: tuple[ZoneMap, FlowRules, TowerSites | None], buckets: int, *, releasing: bool = False
) -> list[Any]:
    """Return what became of the rows of a part, then its pings, bucket by bucket."""
    zones, rules, sites = shared
    notes, pieces = split_table(table, zones, rules, buckets, releasing=releasing, sites=sites)
    return [notes, *pieces]


def count_pieces(pieces: list[Any], shared: tuple[ZoneMap, FlowRules, TowerSites | None]) -> FlowTables:
    """Count a bucket whose pieces come from all parts."""
    return count_records(np.concatenate(pieces), shared[1])
