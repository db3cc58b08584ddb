"""Cells for phones that answer in which one they are: the exact laws of two people's answers, and samples of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.pairs.places import build_box
from geodp.device.cell_response import CellResponse, draw_answers
from geodp.geometry import Array, Region
from geodp.privacy.audit_case import AnyCase, AuditCase, CheckedCase, ExactCase
from geodp.privacy.noise import Noise
from geodp.public.cell_laws import CellLaw, Integers

_CELLS_A_SIDE = 9
"""Of the region in which answers are compared: 81 cells, or more where ε asks for more hash values."""
_MOST_A_SIDE = 100


@chosen_pairs.of(CellResponse)
def choose_cells(device: CellResponse) -> list[AnyCase]:
    """Return two neighbours, two corners and the last two cells: what is told of them is sampled, and known exactly."""
    region = _region_of(device)
    last = device.law(region).cells.size - 1
    pairs = {"neighbours": (0, 1), "corners": (0, last), "the last two": (last - 1, last)}
    return [_make_sampled_case(device, name, pair, region) for name, pair in pairs.items()]


@random_pairs.of(CellResponse)
def random_cells(device: CellResponse, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return random cells with the exact laws of their answers, each under a pool of hash functions of its own."""
    region, found = _region_of(device), list[CheckedCase]()
    for number in range(count):
        here, there = rng.choice(device.law(region).cells.size, 2, replace=False).tolist()
        law = device.law(region, pool=int(rng.integers(2**53)))
        name = f"random cells {number + 1} ({here} and {there})"
        found.append(ExactCase(name, device.guarantee().epsilon, partial(compare_laws, law, here, there)))
    return found


def compare_laws(law: CellLaw, here: int, there: int) -> tuple[Array, Array]:
    """Return the exact probability of every answer from either cell.

    Of a bit per cell (`oue`) only the two own ones have another law, and bits are independent: their four patterns have
    the same ratios as all patterns.
    """
    if law.protocol != "oue":
        return law.probabilities_from(here), law.probabilities_from(there)
    p, q = law.chances
    one, other = (np.outer([1 - a, a], [1 - b, b]).ravel() for a, b in ((p, q), (q, p)))
    return one, other


def _make_sampled_case(device: CellResponse, name: str, pair: tuple[int, int], region: Region) -> AuditCase:
    """Return two cells to sample answers from, under one public pool of hash functions."""
    law = device.law(region)

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        cell = pair[0] if present else pair[1]
        return np.concatenate([_write_down(law, np.full(part, cell), pair, noise) for part in _divide(samples, law)])

    def favours(outputs: Array) -> Array:
        return np.asarray(outputs[:, 1] - outputs[:, 2])

    laws = partial(compare_laws, law, *pair)
    return AuditCase(
        name, device.guarantee().epsilon, draw, favours, threshold=0.5, exact=laws, raw=lambda outputs: outputs[:, :1]
    )


def _divide(samples: int, law: CellLaw) -> list[int]:
    """Divide samples so that no more bits are held at once than fit."""
    most = max(1, 2**22 // law.cells.size) if law.protocol == "oue" else samples
    return [min(most, samples - start) for start in range(0, samples, most)]


def _write_down(law: CellLaw, cell: Integers, pair: tuple[int, int], noise: Noise) -> Array:
    """Return answers as numbers: what is told, and whether it supports the first and the second cell."""
    answers = draw_answers(law, cell, noise)
    answer: Integers = np.zeros(len(cell), dtype=np.int64)
    if law.protocol != "oue":  # bits elsewhere have the same law on either side
        answer = answers[:, -1].astype(np.int64)
    return np.column_stack([answer, law.supports(answers)[:, list(pair)]]).astype(np.float64)


def _region_of(device: CellResponse) -> Region:
    """Return a region with cells enough for the protocol."""
    side = _CELLS_A_SIDE
    while side < _MOST_A_SIDE and device.protocol == "olh" and round(np.exp(device.epsilon) + 1) > side**2:
        side += 1
    return build_box(side * device.cell_m / 2)
