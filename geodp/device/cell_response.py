"""Reports about the own cell, for counts without a trusted party."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device import Device
from geodp.device.planar import check_places
from geodp.errors import UsageError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise, SimulatedNoise, as_noise
from geodp.public.cell_laws import MOST_EPSILON, Answers, CellLaw, CellProtocol, Integers, has_odd_parity
from geodp.public.cell_reports import CellReports
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

MOST_BITS = 2**24
"""Bits that a simulation draws one by one (`oue`); further reports are drawn as the sum that a server would form."""
_BITS_AT_ONCE = 2**22


class CellResponse(Device):
    """Each phone answers by chance in which cell it is; the server works counts out of the answers.

    Guarantee
    ---------
    ε-differential privacy for one worker's position at one instant (snapshot), with no trusted party: whichever cell
    somebody is in, the odds of any report change by at most e^ε (replace). How far apart two cells are makes no
    difference. n reports cost n·ε. Draws are exact in release mode: fair words and exact coins, with gaps of logits
    rounded to multiples of 2^-52; a simulation may draw the sum of bits of many phones (`oue`) instead of the bits.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 15.6 (local differential privacy). [recalled] Wang,
    Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation (USENIX Security), sections
    3 and 4; Acharya, Sun, Zhang 2019, Hadamard response (AISTATS); Kairouz et al. 2016 (randomised response).
    """

    kind: ClassVar[str] = "cell_response"
    releases: ClassVar[frozenset[str]] = frozenset({"cells"})
    audited_by: ClassVar[str] = "channel"

    epsilon: float = Field(default=1.0, gt=0, le=MOST_EPSILON)
    """ε of one report."""
    protocol: CellProtocol = "oue"
    """`grr`: a cell, mostly the own one (least noise with fewer than 3e^ε + 2 cells); `oue`: a bit for every cell;
    `olh`: a hash of the cell, with as little noise in few bits; `hr`: a column of a Hadamard matrix, few bits, too."""
    cell_m: float = Field(default=700.0, gt=0)
    """Side of the cells, metres (public)."""
    functions: int = Field(default=1000, ge=2, le=1000)
    """Public hash functions of which each phone takes one by lot (`olh`), drawn anew for every release."""
    shuffler_delta: float | None = Field(default=None, gt=0, lt=1)
    """δ: a trusted shuffler takes names and order off the reports of each round, and a smaller ε is stated at this δ,
    beside the local one. Default: there is no shuffler, and reports come under names."""

    def idle_fields(self) -> dict[str, str]:
        """Return the pool of hash functions where nothing is hashed."""
        return {} if self.protocol == "olh" else {"functions": f"with protocol: {self.protocol}"}

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return the centres of the cells that are reported (`grr`); other reports are no places: see `respond`."""
        if self.protocol != "grr":
            raise UsageError(
                f"cell_response with protocol {self.protocol} reports no place: use respond(), which returns the "
                "answers, and let the server work counts out of them (curator: null). Nothing was reported."
            )
        x, y = np.broadcast_arrays(np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64))
        reported = self.respond(x.ravel(), y.ravel(), rng=rng, region=region)
        east, north = reported.law.cells.all_centres()
        return east[reported.answers[:, 0]].reshape(x.shape), north[reported.answers[:, 0]].reshape(x.shape)

    def respond(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None,
        who: npt.NDArray[np.str_] | None = None,
        time_s: float = 0.0,
    ) -> CellReports:
        """Return the answers of some phones, in the order in which they stand.

        Parameters
        ----------
        x_m, y_m
            Where they truly are, metres.
        rng
            Where chance comes from.
        region
            The public area, over which the cells lie.
        who
            Their pseudonyms, ascending. With a shuffler names are left out, and the order is drawn.
        time_s
            When.

        Returns
        -------
        CellReports
            The answers with their public law.

        Raises
        ------
        UsageError
            If the region has one cell, or ε is too large for the protocol.
        DataError
            If a place lies outside the region or is no number.
        """
        noise = as_noise(rng)
        x, y = check_places(x_m, y_m, region)
        law = self.law(region, pool=self._draw_pool(noise))
        cell = law.cells.locate(*(x, y) if region is None else region.clamp(x, y))
        names = np.empty(0, dtype=np.str_) if who is None or self.shuffler_delta is not None else who
        if self.shuffler_delta is not None:
            cell = cell[np.argsort(noise.uniform(cell.size), kind="stable")]
        one_by_one = _count_drawn(law, cell.size, noise)
        answers = draw_answers(law, cell[:one_by_one], noise)
        tally = None if one_by_one == cell.size else _draw_tally(law, cell[one_by_one:], noise)
        return CellReports(
            time_s=time_s,
            mechanism=self.kind,
            guarantee=self.guarantee(region),
            law=law,
            who=names[:one_by_one],
            answers=answers,
            tally=tally,
            further=cell.size - one_by_one,
        )

    def guarantee(self, region: Region | None = None) -> Guarantee:  # noqa: ARG002 - distances make no difference
        """Promise ε for one report, wherever the person is."""
        return Guarantee(self.epsilon, Unit.SNAPSHOT, Neighbours.REPLACE, Trust.LOCAL)

    def law(self, region: Region | None, *, pool: int = 0) -> CellLaw:
        """Return the public law of a report: also what refuses cells, ε and protocol that do not fit together."""
        if region is None:
            raise UsageError("cell_response needs a region: its cells lie over it. Nothing was reported.")
        return CellLaw(self.protocol, self.epsilon, Grid.fit(region, self.cell_m), self.functions, pool)

    def _draw_pool(self, noise: Noise) -> int:
        return int(noise.uniform(1)[0] * 2.0**53) if self.protocol == "olh" else 0


def _count_drawn(law: CellLaw, people: int, noise: Noise) -> int:
    """Return how many answers are drawn one by one: all, but for the bits of many simulated phones."""
    if law.protocol != "oue" or noise.releasable or not isinstance(noise, SimulatedNoise):
        return people
    return min(people, max(1, MOST_BITS // law.cells.size))


def _draw_tally(law: CellLaw, cell: Integers, noise: Noise) -> Integers:
    """Return how many further phones support each cell: bits are independent, so their sums are binomials."""
    if not isinstance(noise, SimulatedNoise):
        raise UsageError("sums of bits are drawn in simulations only")
    p, q = law.chances
    inside = np.bincount(cell, minlength=law.cells.size)
    return np.asarray(noise.rng.binomial(inside, p) + noise.rng.binomial(cell.size - inside, q), dtype=np.int64)


def draw_answers(law: CellLaw, cell: Integers, noise: Noise) -> Answers:
    """Return the answer of somebody in each cell; every draw is a choice with probability ∝ exp(logit)."""
    if law.protocol == "grr":
        return _keep_or_replace(cell, law.cells.size, law.epsilon, noise)[:, None]
    if law.protocol == "oue":
        return _draw_bits(law, cell, noise)
    if law.protocol == "olh":
        function = noise.choose(np.zeros(law.functions), cell.size)
        value = law.hashes[function, cell].astype(np.int64)
        return np.column_stack([function, _keep_or_replace(value, law.values, law.epsilon, noise)])
    row = cell + 1
    column = noise.choose(np.zeros(law.columns), cell.size)
    wanted = noise.choose(np.array([law.epsilon, 0.0]), cell.size) == 1  # to be on the row's negative side
    wrong = has_odd_parity(column & row) != wanted
    # A bit that the row has is flipped: that pairs the columns on one side of the row with those on the other.
    return np.where(wrong, column ^ (row & -row), column)[:, None]


def _keep_or_replace(value: Integers, values: int, epsilon: float, noise: Noise) -> Integers:
    """Keep each value with probability e^ε/(e^ε + values - 1), or replace it by any other."""
    step = 1 + noise.choose(np.zeros(values - 1), value.size)
    kept = noise.choose(np.array([epsilon, math.log(values - 1)]), value.size) == 0
    return np.where(kept, value, (value + step) % values)


def _draw_bits(law: CellLaw, cell: Integers, noise: Noise) -> Answers:
    """Return a bit per cell, packed: on with probability 1/2 in the own cell, and 1/(e^ε + 1) in any other."""
    size, parts = law.cells.size, list[npt.NDArray[np.uint8]]()
    rows = max(1, _BITS_AT_ONCE // size)
    for start in range(0, cell.size, rows):
        own = cell[start : start + rows]
        bits = noise.choose(np.array([law.epsilon, 0.0]), own.size * size).reshape(own.size, size) == 1
        bits[np.arange(own.size), own] = noise.choose(np.zeros(2), own.size) == 1
        parts.append(np.packbits(bits, axis=1))
    return np.concatenate(parts) if parts else np.empty((0, -(-size // 8)), dtype=np.uint8)
