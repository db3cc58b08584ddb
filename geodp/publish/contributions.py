"""How much one user may contribute: a public cap, enforced by leaving out what is beyond it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.reading import Rows
from geodp.publish.request import NOTHING_DONE, Request


def settle_cap(request: Request, inputs: PublicInputs, rows: Rows) -> int | None:
    """Return the public cap on the rows of one user; None when every row is a person of its own.

    Without a cap a file is declared to hold one row per user; one that does not is refused as bad input, before
    anything is charged.
    """
    if "user" not in rows.names:
        if request.cap is not None:
            raise DataError(
                f"{rows.path.name}: --cap bounds the rows of each user, and there is no column 'user'. {NOTHING_DONE}"
            )
        return None
    if request.cap is not None:
        return inputs.settle("cap", "--cap N", request.cap, lambda: 1)
    most = int(np.bincount(rows.codes("user")).max())
    if most == 1:
        return None
    if request.releasing:
        raise DataError(
            f"{rows.path.name}: users have more than one row. Say with --cap N how many rows of a user are used at "
            f"most; the cap must be public, not read off the data. {NOTHING_DONE}"
        )
    return inputs.settle("cap", "--cap N", None, lambda: most)


def within_cap(users: npt.NDArray[np.int64], cap: int) -> npt.NDArray[np.bool_]:
    """Keep the first `cap` rows of every user, in the file's order.

    Which rows of a user are kept depends on that user's rows alone, so the cap bounds what one user can change.
    """
    order = np.argsort(users, kind="stable")
    sorted_users = users[order]
    starts = np.flatnonzero(np.diff(sorted_users, prepend=-1))
    rank = np.arange(users.size) - np.repeat(starts, np.diff(np.append(starts, users.size)))
    kept = np.empty(users.size, dtype=np.bool_)
    kept[order] = rank < cap
    return kept
