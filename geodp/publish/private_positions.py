"""Private positions, read and bounded: inside the region, and of every user as many as the public cap allows.

What happens to a row that cannot be used depends on the mode.

When simulating, it is an error that counts and quotes. When releasing, it is left out without a word: a refusal, too,
would tell something about the person whose row it is, and nobody pays for that. What is public may still be refused:
the file is not there, its line of column names (or its schema, in Parquet) lacks a column. `geodp check-data` tells the
holder of the data what a release leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.keyed_choice import draw_key, hash_users, user_words
from geodp.privacy.noise import Noise
from geodp.publish.request import PublicInputs, Request
from geodp.streams import GOLDEN, mix_bits
from geodp.tables.caps import keep_first, rank_in_groups
from geodp.tables.reader import open_table, say_column
from geodp.tables.row_checks import Mask, RegionCheck, check_batches


@dataclass(frozen=True)
class Rows:
    """Columns of a private file, every one of them complete."""

    path: Path
    releasing: bool
    numbers: dict[str, Array]
    names: dict[str, Any] = field(default_factory=dict)
    """Columns of words or numbers that name something (pyarrow arrays)."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(next(iter(self.numbers.values())).size)

    def codes(self, name: str) -> npt.NDArray[np.int64]:
        """Return the values of a naming column as numbers from 0 on."""
        return np.asarray(self.names[name].dictionary_encode().indices.to_numpy(), dtype=np.int64)

    def select(self, keep: Mask) -> Rows:
        """Return some of the rows."""
        numbers = {name: values[keep] for name, values in self.numbers.items()}
        names = {name: values.filter(keep) for name, values in self.names.items()}
        return Rows(self.path, self.releasing, numbers, names)


def read_rows(
    path: Path,
    *,
    numbers: Sequence[str],
    names: Sequence[str] = (),
    releasing: bool,
    called: Mapping[str, str] | None = None,
) -> Rows:
    """Read the columns wanted.

    A row that lacks a value, or lies nowhere on earth, is an error when simulating, and left out when releasing.
    `called` says what columns are called in the file where that differs.
    """
    import pyarrow as pa

    table = open_table(path, (*numbers, *names), called=called, name_it=_name_it, releasing=releasing)
    parts = list(check_batches(table, total=releasing))
    return Rows(
        path,
        releasing,
        {name: np.concatenate([part[name] for part in parts]) for name in numbers},
        {name: pa.concat_arrays([part[name] for part in parts]) for name in names},
    )


def inside(rows: Rows, region: Region) -> tuple[Mask, Array, Array]:
    """Return which rows lie in the region, and all rows in metres; refuse swapped columns and a wrong region.

    A release refuses nothing: whatever lies outside is left out.
    """
    check = RegionCheck(rows.path, region)
    found = check.look(rows.numbers["lon"], rows.numbers["lat"])
    if not rows.releasing:
        check.refuse_swapped(", in the columns' names or in --region (its order is west,south,east,north).")
        check.refuse_elsewhere("--region")
    return found


def find_bounding_box(rows: Rows) -> Region:
    """Return the box of all points: derived from private data, hence for simulation only."""
    lon, lat = rows.numbers["lon"], rows.numbers["lat"]
    return Region(float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max()))


def _name_it(part: str) -> str:
    hint = ". Every row a person of its own? Say so: --one-row-per-person" if part == "user" else ""
    return say_column(part) + hint


def settle_cap(request: Request, inputs: PublicInputs, rows: Rows) -> int | None:
    """Return the public cap on the rows of one user; None when every row is a person of its own.

    A release of a file with a column of users needs one, whatever its rows are: whether some user has two of them is
    private.
    """
    if "user" not in rows.names:
        if request.cap is not None:
            raise DataError(f"{rows.path.name}: --cap bounds the rows of each user, and there is no column 'user'.")
        return None
    if request.cap is not None:
        return inputs.settle("cap", "--cap N", request.cap, lambda: 1)
    if request.releasing:
        raise UsageError(
            f"{rows.path.name}: has a column of users. Say with --cap N how many rows of a user are used at most; the "
            f"cap must be public, not read off the data."
        )
    most = int(np.bincount(rows.codes("user")).max())
    return None if most == 1 else inputs.settle("cap", "--cap N", None, lambda: most)


def within_cap(users: Any, cap: int, key: bytes) -> npt.NDArray[np.bool_]:
    """Keep `cap` rows of every user, by chance: the first ones are no better than the last.

    The key, the user and the places of the rows among the user's own decide: never what a row holds, and nobody else.
    So the cap bounds what one user can change, and a place that moves changes no choice.

    Parameters
    ----------
    users
        The user of each row (a pyarrow array).
    cap
        The public cap.
    key
        A secret key of 256 bits, from the noise source.
    """
    codes = users.dictionary_encode()
    person = np.asarray(codes.indices, dtype=np.int64)
    rank = rank_in_groups(person)
    seed = hash_users(user_words(codes.dictionary.to_pylist()), key)[person]
    chance = mix_bits(seed ^ mix_bits(rank.astype(np.uint64) * GOLDEN))
    return keep_first(person, chance, cap)


def rows_beyond(users: npt.NDArray[np.int64], cap: int) -> int:
    """Return how many rows a cap leaves out (private)."""
    return int(np.maximum(np.bincount(users) - cap, 0).sum())


@dataclass(frozen=True, eq=False)
class UsedPositions:
    """True places, with the public facts about them."""

    region: Region
    x_m: Array
    y_m: Array
    users: Any
    """The `user` column (a pyarrow array), or None."""
    cap: int | None
    """Public cap on the rows of one user; None: every row is a person of its own."""
    remarks: tuple[str, ...]
    """How many rows were left out: private."""

    def choose(self, noise: Noise) -> UsedPositions:
        """Return the rows that count: of every user `cap` at most, drawn by a key from the noise."""
        if self.cap is None or self.users is None:
            return self
        kept = within_cap(self.users, self.cap, draw_key(noise))
        return replace(self, x_m=self.x_m[kept], y_m=self.y_m[kept], users=self.users.filter(kept))


def keep_used_positions(request: Request, inputs: PublicInputs, rows: Rows, region: Region) -> UsedPositions:
    """Drop the rows outside the region, and settle the cap."""
    kept, x_m, y_m = inside(rows, region)
    remarks = []
    if not kept.all():
        outside = int(np.count_nonzero(~kept))
        remarks.append(f"{outside:,} of {rows.size:,} rows lie outside the region and are dropped.")
    rows, x_m, y_m = rows.select(kept), x_m[kept], y_m[kept]
    cap = settle_cap(request, inputs, rows)
    beyond = 0 if cap is None else rows_beyond(rows.codes("user"), cap)
    if beyond:
        remarks.append(
            f"{beyond:,} of {rows.size:,} rows are beyond the cap of {cap:,} per user and are not used (random ones)."
        )
    return UsedPositions(region=region, x_m=x_m, y_m=y_m, users=rows.names.get("user"), cap=cap, remarks=tuple(remarks))
