"""Noise for a call, and a ledger where one is given: bare mechanisms charge nobody by themselves."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from geodp.errors import GeodpError, NotReleasable, UsageError
from geodp.frames.python_words import python_words, warn_in_python
from geodp.privacy.ledger import ANY_TIME, chargeable
from geodp.privacy.ledger_file import LedgerFile
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source
from geodp.public.guarantee import Guarantee
from geodp.tables.notices import gather_notices, silence_notices

NoiseLike = int | str | np.random.Generator | Noise
"""`simulate` (unlike each time), a seed, a numpy generator, a `Noise`, or `release` (OpenDP's exact samplers)."""

_SETTINGS = (("--set cell_m=300", "cell_m=300"),)
"""Options of commands that set fields of a mechanism, which here are arguments where it is made."""


def choose_noise(stated: NoiseLike) -> Noise:
    """Return the noise that was asked for.

    Parameters
    ----------
    stated
        `simulate`, a seed, a generator or a `Noise`; `release` for noise that may leave the house.
    """
    if isinstance(stated, np.random.Generator):
        return SimulatedNoise(stated)
    if isinstance(stated, str):
        return SimulatedNoise(np.random.default_rng()) if stated == "simulate" else noise_source(stated)
    if isinstance(stated, int | np.integer) and not isinstance(stated, bool):
        if stated < 0:
            raise UsageError(f"noise={stated}: a seed is a whole number of at least 0.")
        return noise_source("simulate", seed=int(stated))
    if isinstance(stated, Noise):
        return stated
    raise UsageError(
        f"noise must be 'simulate', 'release', a seed, a numpy Generator or a Noise, got {type(stated).__name__}."
    )


@contextmanager
def bare_call(noise: Noise, warned: list[str]) -> Iterator[None]:
    """Run a call on private data: a release says and guesses nothing, a simulation warns of what `warned` gathers."""
    with python_words(*_SETTINGS):
        if noise.releasable:
            with silence_notices(), warnings.catch_warnings(action="ignore"):
                yield
            return
        with gather_notices() as noticed:
            yield
    warn_in_python([*warned, *noticed], *_SETTINGS)


@contextmanager
def hide_reasons(noise: Noise) -> Iterator[None]:
    """Keep what goes wrong on private data from whoever sees a release: the reason may follow from them."""
    try:
        yield
    except NotReleasable:
        raise
    except Exception:
        if not noise.releasable:
            raise
        raise GeodpError(
            "something went wrong, and nothing is returned. What it was may follow from private data: "
            "noise='simulate' tells it. If a ledger was charged, the charge stays."
        ) from None


def require_promise(noise: Noise, promise: Guarantee, kind: str) -> None:
    """Refuse to release what promises nothing that holds."""
    if noise.releasable and not promise.holds:
        raise NotReleasable(
            f"{kind} as asked for promises nothing that holds ({promise.why_not}): simulate it instead."
        )


def charge_ledger(
    ledger: str | os.PathLike[str] | None,
    promise: Guarantee,
    per_person: Guarantee,
    *,
    mechanism: str,
    noise: Noise,
    budget: float | None = None,
    parts: Mapping[str, float] | None = None,
) -> None:
    """Charge a ledger where one is given, before anything is drawn.

    Parameters
    ----------
    ledger
        Its file (None: nothing is charged).
    promise, per_person
        What is promised about one unit, and what it costs each person.
    mechanism
        Kind of what is drawn.
    noise
        Where its noise comes from: simulated charges are told apart.
    budget
        Budget of the account, in a ledger that has none for it.
    parts
        Parts of ε that the ledger shows one by one.

    Raises
    ------
    BudgetSpent
        If the ledger refuses.
    """
    asked = chargeable(promise, per_person)
    if ledger is None:
        if budget is not None:
            raise UsageError("budget= is that of a ledger: name it, ledger='ledger.json'.")
        return
    if asked is None:
        return
    guarantee, account = asked
    with LedgerFile(Path(ledger), budget_epsilon=budget, account=account).open_ledger() as held:
        held.charge(
            guarantee,
            time_s=time.time(),
            mechanism=mechanism,
            scope="everyone" if noise.releasable else "everyone, simulated",
            account=account,
            parts=parts or {},
            period=ANY_TIME,
        )
