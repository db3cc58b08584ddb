"""Errors written for people: what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

MOST_SHOWN = 10
"""A list of problems is cut after so many: nobody reads more of them at once."""


class GeodpError(Exception):
    """Base of every error that geodp raises on purpose.

    `args` are always the arguments of the constructor: SimPy and process pools rebuild exceptions from them.

    Parameters
    ----------
    *args
        What the message is made of.

    Examples
    --------
    >>> import geodp
    >>> try:
    ...     geodp.plugin("contur")
    ... except geodp.GeodpError as error:
    ...     print(error)
    no plug-in called 'contur'. Did you mean 'contour'?
    """

    exit_code = 1


class ScenarioError(GeodpError):
    """A scenario file that cannot be run; lists all its problems at once.

    Parameters
    ----------
    source
        The file (or other origin) in which the problems stand.
    problems
        Pairs of dotted path and message, in the order of the file.
    """

    exit_code = 2

    def __init__(self, source: str, problems: list[tuple[str, str]]) -> None:
        self.source = source
        self.problems = problems
        super().__init__(source, problems)

    def __str__(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems):,} problems"
        shown = [(_cut(path, 100), _cut(message, 1000)) for path, message in self.problems[:MOST_SHOWN]]
        width = min(max((len(path) for path, _ in shown), default=0), 40)
        lines = [f"  {path:<{width}}  {message}".rstrip() for path, message in shown]
        more = len(self.problems) - len(shown)
        return "\n".join([f"{self.source}: {count}", *lines, *([f"  … and {more:,} more"] if more else [])])


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


class DataError(GeodpError):
    """Input data that cannot be used as they are."""

    exit_code = 2


class OutputError(GeodpError):
    """A place that cannot be written to, or that holds something already."""

    exit_code = 2


class UsageError(GeodpError):
    """A call that asks for something that does not exist or makes no sense."""

    exit_code = 2


class PluginNotLoaded(UsageError):
    """Something needs a plug-in whose file was not loaded, because nobody said that it is trusted."""


class OldName(FutureWarning):
    """A name that was changed and still works; the text says what to write instead.

    Examples
    --------
    >>> import warnings
    >>> from geodp.errors import OldName, warn_old_name
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", OldName)
    ...     warn_old_name("unfolding", "em_deconvolution")
    >>> print(told[0].message)
    'unfolding' is called 'em_deconvolution' now: write that instead. The old name goes with version 0.4.
    """


def warn_old_name(old: str, new: str) -> None:
    """Say what to write instead of a name that goes with version 0.4."""
    text = f"'{old}' is called '{new}' now: write that instead. The old name goes with version 0.4."
    warnings.warn(text, OldName, stacklevel=3)


_old_methods: set[str] = set()
"""Old names of methods: most classes define none of them, and need not be looked through."""


class OldMethod:
    """The old name of a method: it answers with the new one, and says so.

    Parameters
    ----------
    new
        The name that the method has now.

    Examples
    --------
    >>> import warnings
    >>> from geodp.errors import OldMethod
    >>> class Bell:
    ...     def ring(self):
    ...         return "ding"
    ...
    ...     rung = OldMethod("ring")
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Bell().rung()
    'ding'
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.old = owner, name
        _old_methods.add(name)

    def __get__(self, instance: Any, owner: type) -> Any:
        warn_old_name(f"{self.owner.__name__}.{self.old}", self.new)
        above = owner.__mro__[: owner.__mro__.index(self.owner)]
        if any(self.old in cls.__dict__ for cls in above):  # called by `super()` of a class that has the old name
            return getattr(super(above[-1], owner if instance is None else instance), self.new)
        return getattr(owner if instance is None else instance, self.new)


def take_old_methods(cls: type) -> None:
    """Let methods that a class defines under old names stand for the new ones, and say so."""
    for old in [name for name in cls.__dict__ if name in _old_methods]:
        value = cls.__dict__[old]
        known = next((one for base in cls.__mro__[1:] if isinstance(one := base.__dict__.get(old), OldMethod)), None)
        if known is not None and known.new not in cls.__dict__:
            warn_old_name(f"{cls.__name__}.{old}", known.new)
            setattr(cls, known.new, value)


def answer_old_names(module: str, new_names: dict[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that answers old names with the new ones.

    Parameters
    ----------
    module
        Name of the module, `__name__`.
    new_names
        What each old name is called now.

    Returns
    -------
    Callable[[str], Any]
        The function: it warns with `OldName`.

    Raises
    ------
    AttributeError
        By the function, if the module never had such a name.

    Examples
    --------
    >>> import warnings
    >>> from geodp.errors import answer_old_names
    >>> __getattr__ = answer_old_names("math", {"root": "sqrt"})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     __getattr__("root")(9)
    3.0
    """

    def answer(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        warn_old_name(f"{module}.{name}", new_names[name])
        return getattr(sys.modules[module], new_names[name])

    return answer


class BrokenPlugin(UserWarning):
    """Plug-ins of an installed package that could not be loaded; everything else works without them."""


class DataWarning(UserWarning):
    """Something about data that a caller should know: what was guessed, left out, or read off private data."""


class BudgetSpent(GeodpError):
    """A release that the ledger refuses; nothing was published.

    Parameters
    ----------
    requested, remaining
        Epsilon asked for and epsilon left in the account.
    time_s
        Simulated time of the request, when there is one.
    what
        The symbol of what is short: ε, or δ.
    advice
        What to do about it; default: what a scenario can change.
    """

    def __init__(
        self,
        requested: float,
        remaining: float,
        time_s: float | None = None,
        what: str = "ε",
        advice: str = (
            "Raise curator.budget.epsilon, release less often, or set curator.budget.when_spent: reuse_last."
        ),
    ) -> None:
        self.requested = requested
        self.remaining = remaining
        self.short_by = requested - remaining
        self.time_s = time_s
        self.what = what
        self.advice = advice
        super().__init__(requested, remaining, time_s, what, advice)

    def __str__(self) -> str:
        when = "" if self.time_s is None else f" at t={self.time_s:g} s"
        figures = {"requested": self.requested, "remaining": self.remaining, "short by": self.short_by}
        stated = ", ".join(f"{name} {self.what}={value:.6g}" for name, value in figures.items())
        return f"BudgetSpent{when}: {stated}.\n{self.advice}"


class NotReleasable(GeodpError):
    """Simulated noise, or a method that is not private, was about to leave as a release."""
