"""The public laws of reports that answer "in which cell are you?" with no trusted party (frequency oracles).

Every protocol has one number in common with the others: a report *supports* some cells, the true one with probability p
and any other with probability q. n reports that support a cell s times estimate its count as (s - n·q)/(p - q), without
bias. What differs is p, q, and what a report is:

- `grr` (generalised randomised response): a cell, the true one with probability e^ε/(e^ε + d - 1);
- `oue` (optimised unary encoding): a bit per cell, on with probability 1/2 in the true cell, 1/(e^ε + 1) elsewhere;
- `olh` (optimised local hashing): the number of a public hash function and a value of it, that of the true cell with
  probability e^ε/(e^ε + g - 1), g = round(e^ε + 1) values;
- `hr` (Hadamard response): a column of a Hadamard matrix, in which the true cell's row is +1 with probability
  e^ε/(e^ε + 1).

Wang, Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation; Acharya, Sun, Zhang 2019,
Hadamard response [both recalled].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Grid

CellProtocol = Literal["grr", "oue", "olh", "hr"]
PROTOCOLS: tuple[str, ...] = get_args(CellProtocol)
Integers = npt.NDArray[np.int64]
Answers = npt.NDArray[np.int64] | npt.NDArray[np.uint8]
"""One row per report: a cell (`grr`), a column (`hr`), function and value (`olh`), or bits, eight to a byte (`oue`)."""

MOST_EPSILON = 50.0
"""A report with a larger ε hides nothing, and e^ε is no longer told from e^ε + 1."""
MOST_ENUMERATED = 16
"""Cells whose bits are enumerated: 2^16 outputs."""


def count_hash_values(epsilon: float) -> int:
    """Return g = round(e^ε + 1), the number of values of a hash function with which counts have the least noise."""
    return round(math.exp(epsilon) + 1)


def support_chances(protocol: str, epsilon: float, cells: int) -> tuple[float, float]:
    """Return p and q: with which probability a report supports the true cell, and any other.

    Parameters
    ----------
    protocol
        `grr`, `oue`, `olh` or `hr`.
    epsilon
        ε of one report.
    cells
        Number of cells.

    Returns
    -------
    tuple of float
        p and q.

    Raises
    ------
    UsageError
        If there is no such protocol, or cells and epsilon do not fit it.

    Examples
    --------
    >>> from geodp.public.cell_laws import support_chances
    >>> p, q = support_chances("oue", 1.0, 100)
    >>> p, round(q, 4)
    (0.5, 0.2689)
    """
    require_cells(protocol, epsilon, cells)
    kept = math.exp(epsilon)
    if protocol == "grr":
        return kept / (kept + cells - 1), 1 / (kept + cells - 1)
    if protocol == "oue":
        return 0.5, 1 / (kept + 1)
    if protocol == "olh":
        values = count_hash_values(epsilon)
        return kept / (kept + values - 1), 1 / values
    return kept / (kept + 1), 0.5


def require_cells(protocol: str, epsilon: float, cells: int) -> None:
    """Refuse what is no question, or no protocol for it, before anything is drawn."""
    if protocol not in PROTOCOLS:
        raise UsageError(f"no protocol called {protocol!r}: there are {', '.join(PROTOCOLS)}.")
    if not (math.isfinite(epsilon) and 0 < epsilon <= MOST_EPSILON):
        raise UsageError(f"epsilon must be greater than 0 and at most {MOST_EPSILON:g}, got {epsilon}")
    if cells < 2:
        raise UsageError(
            f"a grid of {cells} cell leaves nothing to answer: everybody is in it. Use smaller cells (cell_m), or a "
            "larger region. Nothing was reported."
        )
    if protocol == "olh" and count_hash_values(epsilon) > cells:
        raise UsageError(
            f"olh with epsilon {epsilon:g} hashes to g = round(e^ε + 1) = {count_hash_values(epsilon):,} values, more "
            f"than there are cells ({cells:,}): use protocol grr, which tells the cell itself and has less noise "
            "there, a smaller epsilon, or smaller cells. Nothing was reported."
        )


def count_variance(protocol: str, epsilon: float, cells: int, *, reports: float, count: npt.ArrayLike = 0.0) -> Array:
    """Return the variance of a cell's estimated count: n·q(1-q)/(p-q)² + c·(1-p-q)/(p-q).

    Parameters
    ----------
    protocol, epsilon, cells
        As in `support_chances`.
    reports
        How many people report (n).
    count
        How many of them are in the cell (c).

    Returns
    -------
    Array
        The variance, for every count.

    Examples
    --------
    >>> from geodp.public.cell_laws import count_variance
    >>> [round(float(count_variance(name, 1.0, 100, reports=10_000)) ** 0.5, 1) for name in ("grr", "oue", "olh", "hr")]
    [584.1, 191.9, 192.1, 216.4]
    """
    p, q = support_chances(protocol, epsilon, cells)
    own = np.asarray(count, dtype=np.float64) * (1 - p - q) / (p - q)
    return np.asarray(reports * q * (1 - q) / (p - q) ** 2 + own)


def is_direct_best(epsilon: float, cells: int) -> bool:
    """Tell whether `grr` has less noise than all others: exactly when d < 3e^ε + 2."""
    return cells < 3 * math.exp(epsilon) + 2


@dataclass(frozen=True)
class CellLaw:
    """The law of one report: what anyone may know who estimates counts, or attacks.

    Parameters
    ----------
    protocol, epsilon
        What a report is, and its ε.
    cells
        The public grid.
    functions
        How many public hash functions there are (`olh`).
    pool
        Public number that says which: drawn anew for every release, so that no two cells are mixed up for good.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Grid
    >>> from geodp.public.cell_laws import CellLaw
    >>> law = CellLaw("grr", 1.0, Grid(0.0, 0.0, 100.0, 100.0, columns=2, rows=1))
    >>> law.likelihood(np.array([[0]])).round(3).tolist()
    [[0.731, 0.269]]
    """

    protocol: str
    epsilon: float
    cells: Grid
    functions: int = 1000
    pool: int = 0

    def __post_init__(self) -> None:
        require_cells(self.protocol, self.epsilon, self.cells.size)

    @property
    def chances(self) -> tuple[float, float]:
        """With which probability a report supports the true cell, and any other."""
        return support_chances(self.protocol, self.epsilon, self.cells.size)

    @property
    def columns(self) -> int:
        """Columns of the Hadamard matrix (`hr`): the power of two above the number of cells; row 0 is left out."""
        return int(1 << self.cells.size.bit_length())

    @property
    def values(self) -> int:
        """Values of a hash function (`olh`)."""
        return count_hash_values(self.epsilon)

    @cached_property
    def hashes(self) -> npt.NDArray[np.int32]:
        """The value of every cell under every public function (`olh`)."""
        return _hash_cells(self.pool, self.functions, self.cells.size, self.values)

    def add_up(self, answers: Answers) -> Integers:
        """Return how many of these reports support each cell."""
        size = self.cells.size
        if self.protocol == "grr":
            return np.bincount(answers[:, 0], minlength=size).astype(np.int64)
        if self.protocol == "oue":
            found = np.zeros(size, dtype=np.int64)
            for start in range(0, len(answers), _ROWS_AT_ONCE):
                found += self._bits(answers[start : start + _ROWS_AT_ONCE]).sum(axis=0, dtype=np.int64)
            return found
        if self.protocol == "olh":
            heard = np.bincount(answers[:, 0] * self.values + answers[:, 1], minlength=self.functions * self.values)
            table = heard.reshape(self.functions, self.values)
            return np.asarray(np.take_along_axis(table, self.hashes, axis=1).sum(axis=0), dtype=np.int64)
        heard = np.bincount(answers[:, 0], minlength=self.columns).astype(np.int64)
        return np.asarray((len(answers) + transform_hadamard(heard)[1 : size + 1]) // 2)

    def likelihood(self, answers: Answers) -> Array:
        """Return P(report | cell) with a row per report and a column per cell, up to a factor of each report."""
        return np.where(self.supports(answers), self._weights[0], self._weights[1])

    def supports(self, answers: Answers) -> npt.NDArray[np.bool_]:
        """Tell which cells each report supports."""
        if self.protocol == "grr":
            return np.asarray(answers[:, :1] == np.arange(self.cells.size))
        if self.protocol == "oue":
            return self._bits(answers)
        if self.protocol == "olh":
            return np.asarray(self.hashes[answers[:, 0]] == answers[:, 1:])
        return ~has_odd_parity(answers[:, :1] & np.arange(1, self.cells.size + 1))

    def probabilities_from(self, cell: int) -> Array:
        """Return the exact probability of every possible report of somebody in a cell: they sum to 1.

        Raises
        ------
        UsageError
            If there are too many: every pattern of bits is one (`oue`).
        """
        if self.protocol == "oue":
            if self.cells.size > MOST_ENUMERATED:
                raise UsageError(f"{self.cells.size} bits have too many patterns to list; at most {MOST_ENUMERATED}")
            on = np.arange(1 << self.cells.size)[:, None] >> np.arange(self.cells.size) & 1 == 1
            chance = np.where(np.arange(self.cells.size) == cell, *self.chances)
            return np.asarray(np.where(on, chance, 1 - chance).prod(axis=1))
        every = self._list_answers()
        weight = self.likelihood(every)[:, cell]
        return np.asarray(weight / weight.sum())

    @property
    def _weights(self) -> tuple[float, float]:
        """How likely a report is from a cell that it supports, and from one that it does not, up to a factor.

        A pattern of bits has probability Π over cells; from cell x it is p/q times (on) or (1-p)/(1-q) times (off)
        what it would be from nowhere.
        """
        p, q = self.chances
        if self.protocol == "oue":
            return p / q, (1 - p) / (1 - q)
        return math.exp(self.epsilon), 1.0

    def _bits(self, answers: Answers) -> npt.NDArray[np.bool_]:
        packed = np.asarray(answers, dtype=np.uint8)
        return np.unpackbits(packed, axis=1, count=self.cells.size).astype(np.bool_)

    def _list_answers(self) -> Integers:
        if self.protocol == "olh":
            function, value = np.divmod(np.arange(self.functions * self.values), self.values)
            return np.column_stack([function, value])
        return np.arange(self.cells.size if self.protocol == "grr" else self.columns)[:, None]


_ROWS_AT_ONCE = 2048


def has_odd_parity(numbers: Integers) -> npt.NDArray[np.bool_]:
    """Tell which whole numbers below 2^32 have an odd number of bits."""
    folded = numbers.copy()
    for shift in (16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return np.asarray(folded & 1 == 1)


def transform_hadamard(values: Integers) -> Integers:
    """Return H·v for the Hadamard matrix H[i, j] = (-1)^(bits that i and j share), in n log n steps."""
    table, step = values.copy(), 1
    while step < table.size:
        pairs = table.reshape(-1, 2, step)
        table = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return table


_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


@lru_cache(maxsize=2)
def _hash_cells(pool: int, functions: int, cells: int, values: int) -> npt.NDArray[np.int32]:
    """Return the value of every cell under every function: counters, mixed as splitmix64 does."""
    number = np.arange(functions * cells, dtype=np.uint64)
    number += np.uint64(pool * (2**20 + 7) % 2**64)  # pools lie far apart
    number = (number + np.uint64(1)) * _ODD
    for shift, factor in _MIXERS:
        number = (number ^ (number >> shift)) * factor
    number ^= number >> np.uint64(31)
    low = (number >> np.uint64(32)) * np.uint64(values) >> np.uint64(32)
    table = low.astype(np.int32).reshape(functions, cells)
    table.setflags(write=False)
    return table
