"""Plug-ins: one frozen class per file, registered by being defined, found by its `kind`.

A family is a room: the package named in `ROOMS` holds its base class (in `__init__.py`) and one file
per plug-in. Looking a kind up imports the room's files, so nothing has to be listed twice.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
import traceback
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import (
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from geodp.errors import BrokenPlugin, OldMethod, UsageError, answer_old_names, take_old_methods
from geodp.model import Model, did_you_mean
from geodp.storage.files import anchor_path, is_regular


class StandInMaker(Protocol):
    """What makes a stand-in for a plug-in whose file was not loaded."""

    def build(self, kind: str, family: str, fields: Mapping[str, Any]) -> Plugin:
        """Return a stand-in with the settings of a plug-in of that kind."""


ROOMS = {
    "loader": "geodp.tables.loaders",
    "source": "geodp.world.sources",
    "mobility": "geodp.world.mobility",
    "visit_source": "geodp.world.visit_sources",
    "demand": "geodp.world.demand",
    "acceptance": "geodp.public.acceptance",
    "device": "geodp.device",
    "history_report": "geodp.device.history_reports",
    "mechanism": "geodp.curator.mechanisms",
    "publication": "geodp.curator.publications",
    "assignment": "geodp.server.assignment",
    "attack": "geodp.attacks",
    "metric": "geodp.metrics",
    "layer": "geodp.display.layers",
    "figure": "geodp.figures.kinds",
}

PLACES = {
    "source": "workers.source",
    "mobility": "workers.mobility",
    "visit_source": "workers.visit_source",
    "acceptance": "workers.acceptance",
    "demand": "tasks.demand",
    "device": "device.mechanism",
    "history_report": "device.history_report",
    "mechanism": "curator.mechanism",
    "assignment": "server.assignment",
    "publication": "publish",
    "attack": "attacks",
    "layer": "map.layers",
}
"""Where a scenario names the plug-ins of a family."""

_OLD_FAMILIES = {"histories": "visit_source", "history": "history_report"}

ENTRY_POINTS = "geodp.plugins"
"""Group of entry points by which installed packages offer plug-ins; each names a module that defines some."""
USER_MODULE = "geodp_user_plugin_"
"""How the modules of users' own plug-in files are called."""
_registered: dict[str, type[Plugin]] = {}


@dataclass(frozen=True)
class PublicFacts:
    """What everyone knows before a run: the only things from which a default may be derived.

    `mean_reward` is W / E|T|, `expected_tasks` is E|T|, both from the scenario, never from the data.
    """

    expected_workers: float
    expected_tasks: float
    mean_reward: float
    minimum_reward: float
    width_m: float
    height_m: float
    sensitivity: float = 1.0
    """Change of a released count that must stay hidden: 1 for adding or removing one worker, 2 in all for replacing."""
    releases: int = 1
    """How many releases the run has."""

    @property
    def area_m2(self) -> float:
        """Area of the region's bounding box."""
        return self.width_m * self.height_m


class Plugin(Model):
    """Base of every plug-in. Fields are YAML keys; every field has a default.

    The first docstring line is what `geodp list` prints. A section *Guarantee* says what is hidden, from
    whom and at what budget; a section *Reference* names paper, section and equation.
    """

    family: ClassVar[str]
    kind: ClassVar[str]
    reads: ClassVar[frozenset[str]] = frozenset()
    """Kinds of release this plug-in can work from: points, cells, contours, visits, counts, trajectories."""
    releases: ClassVar[frozenset[str]] = frozenset()
    """Kinds of release this plug-in produces."""
    audited_by: ClassVar[str] = "following"
    """How `geodp audit` checks it beside samples: its releases are followed question by question, or it names pairs
    with exact laws instead: `channel` (the law of a report) or `enumeration` (all outputs of small inputs)."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        take_old_methods(cls)
        if "kind" not in cls.__dict__:
            return  # an abstract base: a family, or a shared half of several plug-ins
        other = _registered.get(cls.kind)
        if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise UsageError(
                f"two plug-ins are called '{cls.kind}': {other.__qualname__} ({origin(other)}) and "
                f"{cls.__qualname__} ({origin(cls)}). Rename one of them."
            )
        missing = [name for name, field in cls.model_fields.items() if field.is_required()]
        if missing:
            raise UsageError(f"plug-in '{cls.kind}': give every field a default; missing: {', '.join(missing)}")
        _registered[cls.kind] = cls

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}

    def idle_fields(self) -> dict[str, str]:
        """Return the fields that have no effect as the others are set, each with the reason.

        One that is stated all the same is refused, unless it says what it would be anyway: a resolved scenario writes
        every default out.
        """
        return {}

    @model_validator(mode="after")
    def _refuse_idle_fields(self) -> Self:
        idle = {name: why for name, why in self.idle_fields().items() if name in self.model_fields_set}
        fields = type(self).model_fields
        stated = [name for name in idle if getattr(self, name) != fields[name].get_default(call_default_factory=True)]
        if stated:
            raise ValueError("; ".join(f"{name} has no effect {idle[name]}: leave it out" for name in stated))
        return self

    def settings_in_force(self) -> dict[str, Any]:
        """Return kind and fields as plain values, without those that have no effect: what a statement may list."""
        idle = self.idle_fields()
        return {name: value for name, value in self.model_dump(mode="json").items() if name not in idle}

    def resolve(self, facts: PublicFacts) -> Self:  # noqa: ARG002 - subclasses read the facts
        """Return a copy in which defaults that depend on public facts are written out."""
        return self

    @classmethod
    def headline(cls) -> str:
        """Return the first line of the docstring: what the plug-in does."""
        return (inspect.getdoc(cls) or "").partition("\n")[0]

    @classmethod
    def section(cls, title: str) -> str:
        """Return one titled section of the docstring as a single line ('' when absent)."""
        doc = inspect.getdoc(cls) or ""
        found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n[A-Z][\w ]*\n-+\n|\Z)", doc, re.S | re.M)
        return " ".join(found.group(1).split()) if found else ""


class FilePlugin(Plugin):
    """Plug-ins of a scenario, which may read files; those that do name the fields in which the files stand."""

    file_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that hold the names of files."""

    def files(self) -> list[Path]:
        """Return the files that it reads, for checks and checksums."""
        return [Path(name) for field in self.file_fields if (name := getattr(self, field))]

    def anchor(self, folder: Path) -> Self:
        """Return a copy whose files are found from the given folder."""
        named = {field: name for field in self.file_fields if (name := getattr(self, field))}
        return self.model_copy(update={field: anchor_path(name, folder) for field, name in named.items()})

    anchored: ClassVar[Any] = OldMethod("anchor")


P = TypeVar("P", bound=Plugin)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Put off looking for garbage: classes stay, and looking through them again and again is a tenth of an import."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def room(family: str) -> None:
    """Import every file of a family's room, so that its plug-ins are registered."""
    if family in _OLD_FAMILIES:
        raise UsageError(f"the family '{family}' is called '{_OLD_FAMILIES[family]}' now.")
    if family not in ROOMS:
        raise UsageError(f"no family called '{family}'.{did_you_mean(family, ROOMS)} Families: {', '.join(ROOMS)}.")
    with _without_collecting():
        package = importlib.import_module(ROOMS[family])
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{package.__name__}.{module.name}")


def plugins(family: str | None = None) -> dict[str, type[Plugin]]:
    """Return the plug-ins of one family, or of all, by kind in alphabetical order.

    Parameters
    ----------
    family
        The family's name, such as `mechanism` (default: all families).

    Returns
    -------
    dict
        Kind → class: those of geodp, of installed packages and of the plug-in files that were loaded.

    Raises
    ------
    UsageError
        If there is no such family.

    Examples
    --------
    >>> import geodp
    >>> sorted(geodp.plugins("acceptance"))
    ['linear', 'tanh_reward', 'zipf']
    """
    for name in ROOMS if family is None else [family]:
        room(name)
    load_installed()
    return {kind: cls for kind, cls in sorted(_registered.items()) if family is None or cls.family == family}


def forget(kind: str) -> None:
    """Take a plug-in out of the registry again, so that another class may have its name (in a notebook, in a test)."""
    _registered.pop(kind, None)


def find(kind: str, family: str | None = None) -> type[Plugin]:
    """Return the class of a kind, or raise with the nearest known name."""
    known = plugins(family)
    if kind in known:
        return known[kind]
    elsewhere = next((other for other in PLACES if other != family and kind in plugins(other)), None)
    if family in PLACES and elsewhere is not None:
        raise UsageError(f"'{kind}' is a {elsewhere}: it belongs under {PLACES[elsewhere]}, not here.")
    what = family or "plug-in"
    hint = did_you_mean(kind, known)
    if not hint:
        hint = f" Known: {', '.join(known)}." if known else f" No {what} exists in this version."
    raise UsageError(f"no {what} called '{kind}'.{hint}")


def plugin(kind: str, family: str | None = None, /, **fields: Any) -> Any:
    """Build the plug-in `kind` from its fields.

    Parameters
    ----------
    kind
        The plug-in's name, as it stands in YAML.
    family
        Where to look for it (default: everywhere).
    **fields
        Its fields; those left out have their defaults.

    Returns
    -------
    Plugin
        The plug-in, frozen.

    Raises
    ------
    UsageError
        If there is no plug-in of that kind.
    pydantic.ValidationError
        If a field is unknown or its value is not allowed.

    Examples
    --------
    >>> import geodp
    >>> geodp.plugin("contour", epsilon=0.5).epsilon
    0.5
    """
    return find(kind, family).model_validate(fields)


class Slot:
    """Marks a scenario field that holds a plug-in of one family: validates it, and describes it in the schema."""

    def __init__(self, family: str, default: str | None = None, *, only: str | None = None) -> None:
        self.family = family
        self.default = default
        self.only = only
        """Class attribute that must be true of a plug-in here (None: any plug-in of the family will do)."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def build(value: Any, info: ValidationInfo) -> Any:
            return self.build(value, info.context)

        return core_schema.with_info_before_validator_function(build, handler(source))

    def __get_pydantic_json_schema__(
        self,
        schema: CoreSchema,
        handler: GetJsonSchemaHandler,
    ) -> dict[str, Any]:
        return {"anyOf": [_kind_schema(cls, handler) for cls in self._find_fitting().values()] or [{"type": "object"}]}

    def _find(self, kind: str) -> type[Plugin]:
        cls = find(kind, self.family)
        if self.only is not None and not getattr(cls, self.only, False):
            raise UsageError(f"'{kind}' cannot be used here. Use one of: {', '.join(self._find_fitting())}.")
        return cls

    def _find_fitting(self) -> dict[str, type[Plugin]]:
        """Return the plug-ins that may stand here."""
        known = plugins(self.family)
        return {kind: cls for kind, cls in known.items() if self.only is None or getattr(cls, self.only, False)}

    def build(self, value: Any, stand_ins: StandInMaker | None = None) -> Any:
        """Build the plug-in from what the YAML holds: a mapping with `kind`, or the kind alone.

        Parameters
        ----------
        value
            What stands in the YAML, or a plug-in that is built already.
        stand_ins
            What stands in for a kind that is not known (default: that is an error).
        """
        if value is None or (isinstance(value, Plugin) and value.family == self.family):
            return value
        if isinstance(value, str):
            value = {"kind": value}
        if not isinstance(value, dict):
            raise ValueError(f"must be a mapping with a key 'kind', got {value!r}")  # noqa: TRY004 - for pydantic
        fields = dict(value)
        kind = fields.pop("kind", self.default)
        if kind is None:
            raise ValueError(f"needs a key 'kind': one of {', '.join(plugins(self.family))}")
        if stand_ins is not None and str(kind) not in plugins(self.family):
            return stand_ins.build(str(kind), self.family, fields)
        try:
            cls = self._find(str(kind))
        except UsageError as error:
            line = PydanticCustomError("geodp", "{text}", {"text": str(error)})
            details = InitErrorDetails(type=line, loc=("kind",), input=kind)
            raise ValidationError.from_exception_data(self.family, [details]) from None
        return cls.model_validate(fields, context=stand_ins)


def _kind_schema(cls: type[Plugin], handler: GetJsonSchemaHandler) -> dict[str, Any]:
    schema = dict(handler.resolve_ref_schema(handler(cls.__pydantic_core_schema__)))
    schema |= {"title": cls.kind, "description": cls.headline(), "required": ["kind"]}
    schema["properties"] = {"kind": {"const": cls.kind}, **schema.get("properties", {})}
    return schema


def require_file(path: Path) -> None:
    """Raise unless a plug-in file is there."""
    if not is_regular(path):
        raise UsageError(f"plugins: no file {path.resolve()}")


def load_file(path: Path) -> None:
    """Run a user's own plug-in file once, which registers the classes it defines; one that defines none is refused."""
    path = path.resolve()
    name = f"{USER_MODULE}{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return
    require_file(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"plugins: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = set(_registered)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"plugins: {locate_fault(error, path) or path}") from error
    if before == set(_registered) and not _holds_plugins(module):
        del sys.modules[name]
        raise UsageError(
            f"plugins: {path} defines no plug-in. A plug-in is a class that derives from a base class of geodp and has "
            "a name: kind: ClassVar[str] = '…'."
        )


def _holds_plugins(module: ModuleType) -> bool:
    """Tell whether a module holds plug-ins that are not of geodp, its own or those of a package that it imports."""
    known = set(_registered.values())
    return any(isinstance(value, type) and value in known and not _is_ours(value) for value in vars(module).values())


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


_given: list[str] = []


def load_given(files: Iterable[Path]) -> None:
    """Load the plug-in files that the user names for this process; what it runs from now on names them, too."""
    files = [file.resolve() for file in files]
    for file in files:
        load_file(file)
    _given[:] = map(str, files)


def list_given_files() -> tuple[str, ...]:
    """Return the plug-in files that the user named for this process."""
    return tuple(_given)


@cache
def _find_installed() -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group=ENTRY_POINTS))


@cache
def load_installed() -> None:
    """Import the plug-ins that installed packages offer; one that is broken is left out with a warning."""
    for name in ROOMS if _find_installed() else ():  # first come those of geodp: their names are taken
        room(name)
    for point in _find_installed():
        try:
            point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it must not stop other commands
            why = locate_fault(error) or f"{type(error).__name__}: {error}"
            text = f"the installed package {_distribution(point)} offers plug-ins ({point.value}) that cannot be loaded"
            warnings.warn(f"{text}: {why}. Update or remove it; all else works.", BrokenPlugin, stacklevel=2)
            continue
        package = point.module.partition(".")[0]
        if not any(cls.__module__.partition(".")[0] == package for cls in _registered.values()):
            text = f"the installed package {_distribution(point)} offers plug-ins ({point.value}), and defines none"
            warnings.warn(f"{text}. Update or remove it; all else works.", BrokenPlugin, stacklevel=2)


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.name if point.dist is None else f"{point.dist.name} {point.dist.version}"


def origin(cls: type[Plugin]) -> str:
    """Say where a plug-in comes from: geodp, a file, or an installed package."""
    package = cls.__module__.partition(".")[0]
    if _is_ours(cls):
        return package
    if package.startswith(USER_MODULE):
        return inspect.getfile(cls)
    offers = [point for point in _find_installed() if point.module.partition(".")[0] == package]
    return _distribution(offers[0]) if offers else cls.__module__


def locate_fault(error: BaseException, loading: Path | None = None) -> str | None:
    """Say where in a plug-in that is not of geodp an error arose: file, line, function and the error itself.

    None where no line of such a file (or of the one that is being loaded) had a part in it.
    """
    foreign = (USER_MODULE, *(point.module.partition(".")[0] for point in _find_installed()))
    found: tuple[str, int | None, str, BaseException] | None = None
    link: BaseException | None = error
    while link is not None:
        for frame, line in traceback.walk_tb(link.__traceback__):
            if str(frame.f_globals.get("__name__", "")).startswith(foreign):
                found = (frame.f_code.co_filename, line, frame.f_code.co_name, link)
        if isinstance(link, SyntaxError) and link.filename == str(loading):
            found = (str(loading), link.lineno, "<module>", link)
        link = link.__cause__ or link.__context__  # SimPy rebuilds errors, and keeps the first one as the cause
    if found is None:
        return None
    file, number, function, raised = found
    where = "" if function == "<module>" else f", in {function}"
    text = raised.msg if isinstance(raised, SyntaxError) else str(raised)
    return f"the plug-in {file} failed in line {number}{where}: {type(raised).__name__}: {text}".rstrip(": ")


if not TYPE_CHECKING:
    __getattr__ = answer_old_names(__name__, {"blamed": "locate_fault", "given_files": "list_given_files"})
