"""Releases followed question by question: what they ask of their data must cost no more than they claim.

A release asks its data for numbers and gets noisy answers; all else must follow from the answers. So it is run on one
input, and then on its neighbour with the answers of the first run put into its mouth. Three things can go wrong, and
none of them needs samples to be seen: the questions cost more together than is claimed (composition, with the noise
that was really asked for), a question or its noise changes with the data (then so does what it may answer), or the
output differs although all answers were the same (or there is none): something was read that nobody paid for.

Unless noise hides the difference that nobody was told about: of a generator of its own, made of uniforms, or drawn on
zeros and added later. Then all that differs changes from run to run on the same input, too, when such noise is drawn
anew, and nobody can follow what it tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.certify import lower_bound
from geodp.audit.sampled import Change
from geodp.audit.transcript import CannotFollow, Overheard, Redrawn, Retold
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise

_COINS, _FALSE_ALARM = 100, 1e-9
"""Releases by which a secret coin is tried, and the probability that a true one is taken for a false one."""
_REDRAWN, _UNTOUCHED = 32, 3
"""Releases with noise drawn anew, until all that differs has changed (a fair bit stays as it is in all of them once in
4e9 times); fewer, where nothing is there to draw anew."""
_APART, _DRAWN, _CHOSEN, _PAID = (frozenset({sort}) for sort in ("numbers", "uniforms", "choices", "paid"))
Released = Sequence[npt.ArrayLike]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Followed:
    """What a release asked of a pair of inputs."""

    spent: float
    """The most that all its answers together may tell (infinite: something else tells the inputs apart)."""
    changes: tuple[Change, ...] = ()
    coins: tuple[tuple[float, bool], ...] = ()


def follow(case: TranscriptCase, noise: Noise) -> Followed:
    """Follow a few releases on a pair of inputs, either of them first, and return the one that asked most.

    Secret coins are tried more often: one that takes the person more often than it says is no such coin. One release
    that certainly tells the inputs apart is enough, whether others can be followed or not.
    """
    found: list[Followed] = []
    apart: CannotFollow | None = None
    for first in [True, False] * case.runs:
        try:
            found.append(_follow_once(case, noise, first))
        except CannotFollow as error:
            apart = error
            continue
        if found[-1].spent == math.inf:
            return found[-1]
    if apart is not None:
        raise apart
    most = max(found, key=lambda followed: followed.spent)
    if not most.coins:
        return most
    tried = [once for once in (_follow_once(case, noise, True) for _ in range(_COINS)) if once.coins]
    for said, *taken in zip([chance for chance, _ in most.coins], *(once.coins for once in tried), strict=False):
        hits = sum(took for _, took in taken)
        if lower_bound(hits, len(taken), _FALSE_ALARM) > said:
            return Followed(math.inf)
    return most


def _follow_once(case: TranscriptCase, noise: Noise, first: bool) -> Followed:
    overheard = Overheard(noise)
    try:
        published = case.release(overheard, first)
    except CannotFollow:
        raise
    except Exception:  # noqa: BLE001 - as below
        case.release(Overheard(noise), not first)  # raises where it fails on both: then nothing is told apart
        return Followed(math.inf)
    retold = Retold(overheard)
    again: Released | None = None
    try:
        again = case.release(retold, not first)
    except CannotFollow:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it happens on one input only, which tells the two apart
        if not retold.told_apart:
            return Followed(math.inf)

    def release(source: Noise) -> Released:
        return case.release(source, first)

    if overheard.drawn_apart or retold.drawn_apart:
        raise CannotFollow("noise was drawn apart from what it hides")
    if again is not None and retold.finished and not any(mask.any() for mask in _differences(published, again)):
        spent = retold.spent if case.rho is None else retold.spent_rho
        if spent > case.claim and _asks_at_random(release, overheard):
            raise CannotFollow("what is asked changes from run to run: it holds noise that was drawn apart")
        return Followed(spent, retold.differences, tuple(retold.coins))
    if is_hidden_apart(
        release=release, overheard=overheard, retold=retold, published=published, again=again, source=noise
    ):
        raise CannotFollow("what differs is made with noise that was drawn apart from it")
    return Followed(math.inf)


def _asks_at_random(release: Callable[[Noise], Released], overheard: Overheard) -> bool:
    """Tell whether the same input with the same answers asks about other numbers."""
    same = Retold(overheard)
    try:
        release(same)
    except Exception:  # noqa: BLE001 - it did not fail before
        return True
    return bool(same.differences) or not same.finished


def is_hidden_apart(
    release: Callable[[Noise], Released],
    overheard: Overheard,
    retold: Retold,
    published: Released,
    again: Released | None,
    source: Noise,
) -> bool:
    """Tell whether all that differs between two inputs may be hidden by noise that was drawn apart from it.

    Parameters
    ----------
    release
        Runs the release on the first input once more.
    overheard, retold
        What was asked on the first input, and on the second one with the same answers.
    published, again
        What was released on either (None: nothing, because it asked for something else).
    source
        Noise to draw anew whatever hides nothing.
    """
    redraw = partial(_redraw, release, overheard, retold, source)
    if again is None or not retold.finished:  # what differs is what is asked
        return any(redraw(_APART | _DRAWN) is None for _ in range(_REDRAWN))
    differ = _differences(published, again)
    if _moves_all(published, differ, lambda: redraw(_APART), touches=not all(retold.hid)):
        return True
    if not _moves_all(published, differ, lambda: _first(redraw, _APART | _DRAWN | _CHOSEN, _APART | _DRAWN)):
        return False
    # Uniforms and choices have a part in it: as noise, or because something is drawn from what was paid for, by a law
    # that depends on data beside. In the second case what was paid for has a part in it, too.
    return not retold.changes or not _moves_some(published, differ, lambda: redraw(_PAID))


def _moves_all(
    published: Released, differ: list[Mask], redraw: Callable[[], Released | None], touches: bool = True
) -> bool:
    """Tell whether all that differs changes, sooner or later, when it is drawn anew (or something else is asked)."""
    unmoved = differ
    for number in range(_REDRAWN):
        anew = redraw()
        if anew is None:
            return True
        moved = _differences(published, anew)
        touches = touches or any(mask.any() for mask in moved)
        unmoved = [_still(mask, now) for mask, now in zip(unmoved, moved, strict=False)]
        if not any(mask.any() for mask in unmoved):
            return True
        if not touches and number + 1 == _UNTOUCHED:
            return False
    return False


def _moves_some(published: Released, differ: list[Mask], redraw: Callable[[], Released | None]) -> bool:
    """Tell whether something of what differs changes when it is drawn anew (or something else is asked)."""
    for _ in range(_UNTOUCHED):
        anew = redraw()
        if anew is None:
            return True
        left = [_still(mask, now) for mask, now in zip(differ, _differences(published, anew), strict=False)]
        if sum(int(mask.sum()) for mask in left) < sum(int(mask.sum()) for mask in differ):
            return True
    return False


def _first(redraw: Callable[[frozenset[str]], Released | None], *sorts: frozenset[str]) -> Released | None:
    """Draw the first sorts anew that leave the questions as they were: a choice may decide what is asked next."""
    found = (redraw(sort) for sort in sorts)
    return next((released for released in found if released is not None), None)


def _redraw(
    release: Callable[[Noise], Released], overheard: Overheard, retold: Retold, source: Noise, anew: frozenset[str]
) -> Released | None:
    """Release once more with some answers anew (None: something else was asked, or it failed)."""
    noise = Redrawn(overheard, source, retold.hid, anew=anew)
    try:
        published = release(noise)
    except Exception:  # noqa: BLE001 - it did not fail before
        return None
    return published if noise.finished else None


def _differences(one: Released, other: Released) -> list[Mask]:
    """Return where two releases differ, part by part; a part of another shape differs by a single flag."""
    found = [_where(a, b) for a, b in zip(one, other, strict=False)]
    return [*found, np.array(len(one) != len(other))]


def _where(one: npt.ArrayLike, other: npt.ArrayLike) -> Mask:
    a, b = np.atleast_1d(np.asarray(one)), np.atleast_1d(np.asarray(other))
    if a.shape != b.shape:
        return np.array(True)
    return np.asarray(a != b, dtype=np.bool_)


def _still(unmoved: Mask, moved: Mask) -> Mask:
    """Return what has not moved yet: where shapes differ, another shape is a move, and other numbers are none."""
    if unmoved.shape == moved.shape:
        return np.asarray(unmoved & ~moved)
    return np.zeros_like(unmoved) if moved.ndim == 0 else unmoved
