"""How much one user may contribute: a public cap, enforced by leaving out what is beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.privacy.keyed_choice import GOLDEN, keyed, mixed, user_words
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.reading import Rows
from geodp.publish.request import NOTHING_DONE, Request


def settle_cap(request: Request, inputs: PublicInputs, rows: Rows) -> int | None:
    """Return the public cap on the rows of one user; None when every row is a person of its own.

    A release of a file with a column of users needs one, whatever its rows are: whether some user has two of them is
    private.
    """
    if "user" not in rows.names:
        if request.cap is not None:
            raise DataError(
                f"{rows.path.name}: --cap bounds the rows of each user, and there is no column 'user'. {NOTHING_DONE}"
            )
        return None
    if request.cap is not None:
        return inputs.settle("cap", "--cap N", request.cap, lambda: 1)
    if request.releasing:
        raise UsageError(
            f"{rows.path.name}: has a column of users. Say with --cap N how many rows of a user are used at most; the "
            f"cap must be public, not read off the data. {NOTHING_DONE}"
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
    rank = _ranks(person)
    seed = keyed(user_words(codes.dictionary.to_pylist()), key)[person]
    chance = mixed(seed ^ mixed(rank.astype(np.uint64) * GOLDEN))
    kept: npt.NDArray[np.bool_] = np.empty(person.size, dtype=np.bool_)
    order = np.lexsort((chance, person))
    kept[order] = _ranks(person[order]) < cap
    return kept


def rows_beyond(users: npt.NDArray[np.int64], cap: int) -> int:
    """Return how many rows a cap leaves out (private)."""
    return int(np.maximum(np.bincount(users) - cap, 0).sum())


def _ranks(users: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the place of each row among those of its user, from 0 on."""
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    rank = np.empty(users.size, dtype=np.int64)
    rank[order] = np.arange(users.size) - np.repeat(starts, np.diff(np.append(starts, users.size)))
    return rank
