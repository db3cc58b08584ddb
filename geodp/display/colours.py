"""One colour per role, told apart by people who see colours differently, each point role with its own shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Released data are blue, the truth behind them is grey, tasks are green to red, people are dark or purple.
RELEASED = ("#e4eff9", "#b3d3ec", "#74aedb", "#3a83bd", "#1b5791")
TRUE = ("#f0efec", "#c9c6bf", "#98948b", "#635f57", "#2b2924")
NOTHING = "#f3efe6"
"""A cell whose noisy count is zero or below."""

SUCCESS = "#009e73"
FAILURE = "#d55e00"
UNREACHABLE = "#3b3b3b"
CENSORED = "#8c8c8c"
WAITING = "#f0e442"
OFFER = "#b8860b"
GROWTH = ("#8a5a00", "#c98a10", "#f3d38a")
"""Cells of a region, from the first to the last."""
TRAVELLING = "#a3277f"
IDLE = "#10243d"
REPORT = "#1565c0"
"""What phones report by themselves."""
GUESS = "#c2185b"
"""Where an adversary thinks somebody is."""


def along(ramp: tuple[str, ...], share: npt.ArrayLike) -> list[str]:
    """Return the colours at shares (0 to 1) of the way along a ramp, evenly spaced between its colours."""
    anchors = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in ramp], dtype=np.float64)
    places = np.clip(np.atleast_1d(np.asarray(share, dtype=np.float64)), 0, 1) * (len(ramp) - 1)
    channels = [np.interp(places, np.arange(len(ramp)), anchors[:, channel]) for channel in range(3)]
    return ["#" + "".join(f"{round(part):02x}" for part in colour) for colour in zip(*channels, strict=True)]


def density_share(value: npt.ArrayLike, top: float) -> npt.NDArray[np.float64]:
    """Return where densities lie on a ramp that ends at `top`; a square root keeps the outskirts visible."""
    return np.sqrt(np.clip(np.asarray(value, dtype=np.float64) / max(top, 1e-12), 0, 1))
