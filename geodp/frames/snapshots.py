"""What a mechanism must know beside places before it can count them: public facts, and cells that fit the region."""

from __future__ import annotations

from geodp.curator.mechanisms import Mechanism
from geodp.errors import DataError, UsageError
from geodp.frames.public_inputs import StatedInputs
from geodp.geometry import Grid, Region
from geodp.registry import PublicFacts

MAX_CELLS = 25_000_000


def settle_expected_workers(
    mechanism: Mechanism, region: Region, inputs: StatedInputs, given: float | None, *, rows: int
) -> float:
    """Return the public number of people, where the mechanism uses one (0 where it does not).

    Parameters
    ----------
    mechanism, region
        What is released, and where.
    inputs
        The public inputs, among which it is settled.
    given
        The number that was stated.
    rows
        How many people there truly are: what is guessed from when simulating.
    """
    used = mechanism.resolve(list_facts(region, 1.0)) != mechanism
    if not used and given is None:
        return 0.0
    if not used and getattr(mechanism, "cell_m", None) is not None:
        raise UsageError(f"--expected-workers has no effect: the cells of {mechanism.kind} are set.")
    option = "--expected-workers N, or set the size of the cells (--set cell_m=300)"
    one_figure = float(f"{rows:.0e}")  # as scenarios round it
    return inputs.settle("expected workers", option, given, lambda: one_figure)


def list_facts(region: Region, expected_workers: float) -> PublicFacts:
    """Return what everybody knows about a snapshot outside of a run."""
    return PublicFacts(
        expected_workers=expected_workers,
        expected_tasks=0.0,
        mean_reward=1.0,
        minimum_reward=0.0,
        width_m=region.width_m,
        height_m=region.height_m,
    )


def require_sound_grid(mechanism: Mechanism, region: Region) -> None:
    """Refuse cells that are larger than the region, or too many."""
    cell_m = getattr(mechanism, "cell_m", None)
    if cell_m is None:
        return
    if cell_m > min(region.width_m, region.height_m):
        raise DataError(
            f"the region ({region.width_m:,.0f} m × {region.height_m:,.0f} m) is smaller than a cell of {cell_m:g} m: "
            f"use a smaller cell_m or a larger region."
        )
    size = Grid.fit(region, cell_m).size
    if size > MAX_CELLS:
        raise DataError(f"cells of {cell_m:g} m make {size:,} cells, more than {MAX_CELLS:,}: use a larger cell_m.")
