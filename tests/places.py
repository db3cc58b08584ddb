"""Reports that name sets of places, made by hand."""

from collections.abc import Sequence

import numpy as np

from geodp.public.guarantee import Guarantee
from geodp.public.place_sets import Candidates, Cloaks

_NAMES = "abcdefghijklmnopqrstuvwxyz"


def cloaks_of(rectangles: Sequence[tuple[float, float, float, float]], *, k: int, time_s: float = 0.0) -> Cloaks:
    """Return cloaks of a, b, c, …"""
    west, south, east, north = np.array(rectangles, dtype=np.float64).reshape(-1, 4).T
    return Cloaks(
        time_s=time_s,
        mechanism="cloak",
        guarantee=Guarantee.none("a test"),
        who=np.array(list(_NAMES[: len(west)]), dtype=np.str_),
        x_m=(west + east) / 2,
        y_m=(south + north) / 2,
        channel=None,
        floor_per_m2=0.0,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        k=k,
    )


def candidates_of(x_m: Sequence[Sequence[float]], y_m: Sequence[Sequence[float]], *, time_s: float = 0.0) -> Candidates:
    """Return the candidates of a, b, c, …"""
    x, y = np.array(x_m, dtype=np.float64), np.array(y_m, dtype=np.float64)
    return Candidates(
        time_s=time_s,
        mechanism="dummies",
        guarantee=Guarantee.none("a test"),
        who=np.array(list(_NAMES[: len(x)]), dtype=np.str_),
        x_m=x.mean(axis=1),
        y_m=y.mean(axis=1),
        channel=None,
        floor_per_m2=0.0,
        candidate_x_m=x,
        candidate_y_m=y,
    )
