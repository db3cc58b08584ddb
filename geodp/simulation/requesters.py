"""Requesters: what they tell the server about where their tasks are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geodp.geometry import Region
from geodp.public.messages import Task
from geodp.streams import Streams


def places_told(tasks: list[Task], epsilon_per_m: float | None, region: Region, streams: Streams) -> list[Task]:
    """Return tasks with the places that the server is told: with planar Laplace noise, and inside the region's box.

    The noise is drawn by the number of the task, so a task that is offered again has the same.
    """
    if epsilon_per_m is None or not tasks:
        return tasks
    from scipy.special import gammaincinv

    number = np.array([task.task for task in tasks])
    radius = gammaincinv(2.0, streams.uniform("requester.place", number, 0)) / epsilon_per_m
    turn = 2 * np.pi * streams.uniform("requester.place", number, 1)
    x = np.array([task.x_m for task in tasks]) + radius * np.cos(turn)
    y = np.array([task.y_m for task in tasks]) + radius * np.sin(turn)
    published = zip(tasks, *(place.tolist() for place in region.clamp(x, y)), strict=True)
    return [replace(task, x_m=east, y_m=north) for task, east, north in published]
