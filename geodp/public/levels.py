"""Public groups of people with wishes of their own: who is in which is drawn by lot, never from places.

That a person belongs to a group is public, so it must say nothing about her: everyone draws one lot, once, and shares
of the lots are groups. Groups of phones and of a curator's counts with the same shares are the same people.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array

OTHERS = "others"
"""The group of all those whom no level is for: they have what the mechanism itself promises."""
GROUP, IF_COUNTED = "group", ", if counted"
"""Scopes of charges to public groups (`group careful`), and to those alone whom a filter counts."""
_ROUNDING = 1e-9


def complete_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the shares with those that nobody claims as `others`.

    Parameters
    ----------
    shares
        Share of the people in each group, by name.

    Returns
    -------
    dict
        The same, and `others` where they add up to less than 1.

    Raises
    ------
    UsageError
        If they add up to more than 1, or a group has nobody in it.

    Examples
    --------
    >>> from geodp.public.levels import complete_shares
    >>> complete_shares({"careful": 0.25})
    {'careful': 0.25, 'others': 0.75}
    """
    for name, share in shares.items():
        if not share > 0:
            raise UsageError(f"nobody has the level '{name}' (its share is {share:g}): leave it out, or give it people")
    together = sum(shares.values())
    if together > 1 + _ROUNDING:
        stated = " + ".join(f"{share:g}" for share in shares.values())
        raise UsageError(
            f"the shares of the levels add up to {together:g} ({stated}), and there is only 1 to share out"
        )
    if together >= 1 - _ROUNDING:
        return dict(shares)
    if OTHERS in shares:
        raise UsageError(f"the shares add up to {together:g}, and '{OTHERS}' is the name of the rest: use another name")
    return {**shares, OTHERS: 1 - together}


def draw_groups(shares: Mapping[str, float], lot: Array) -> npt.NDArray[np.str_]:
    """Return each person's group: `lot` has a number in [0, 1) for each, drawn once and never from places.

    Parameters
    ----------
    shares
        Share of the people in each group, by name; together 1.
    lot
        Everyone's lot.

    Returns
    -------
    NDArray[str]
        Names of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.levels import draw_groups
    >>> draw_groups({"careful": 0.25, "others": 0.75}, np.array([0.2, 0.3, 0.99])).tolist()
    ['careful', 'others', 'others']
    """
    ends = np.cumsum(list(shares.values()))
    place = np.minimum(np.searchsorted(ends, lot, side="right"), len(shares) - 1)
    return np.asarray(np.array(list(shares), dtype=np.str_)[place])
