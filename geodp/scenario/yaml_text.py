"""YAML that people write, read with care: bounded in size and depth, no key twice, merge keys, messages with lines.

A file is read event by event, never by recursion, so that no nesting and no chain of aliases can exhaust the machine.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

MOST_BYTES = 16 << 20
MOST_DEPTH = 40
MOST_VALUES = 500_000
"""Keys and values of one file, with every alias written out."""
MOST_DIGITS = 18
"""Whole numbers stay below 10^18: what arrays and files can hold."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same language, ten times as fast
_TAG = "tag:yaml.org,2002:"
_SCALARS = ("int", "float", "bool", "null")
_PLAIN_WHOLE = re.compile("0|[1-9][0-9]{,17}")
_CONTROL = re.compile("[\x00\ud800-\udfff]")


class YamlProblem(Exception):
    """Text that cannot be read as YAML; `str` says where and why."""

    def __init__(self, what: str, mark: Any = None) -> None:
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        super().__init__(f"{where}{what}")


def parse_yaml(text: str) -> Any:
    """Read one YAML document: mappings with text as keys, lists, text, numbers, true, false and null.

    Raises
    ------
    YamlProblem
        If it is not valid, a key is written twice, or it is larger or deeper than any file needs to be.
    """
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=_PARSER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        raise YamlProblem(_explained(text, error), error.problem_mark) from None
    except yaml.YAMLError as error:
        raise YamlProblem(str(error).splitlines()[0]) from None
    return reader.document


def _explained(text: str, error: yaml.MarkedYAMLError) -> str:
    """Say what the parser found; a tab before it is what is wrong most often, and parsers do not say so."""
    what, mark = error.problem or "not valid", error.problem_mark
    if mark is not None:
        line = next(iter(text.splitlines()[mark.line : mark.line + 1]), "")
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return "a tab stands at the start of the line: YAML takes spaces only"
    return what


@dataclass
class _Open:
    """A mapping or list that is being read."""

    value: Any
    anchor: str | None
    first: int
    """How many values were read before it."""
    key: str | None = None
    merging: bool = False
    """Whether the value of a merge key `<<` comes next."""
    merged: list[dict[str, Any]] = field(default_factory=list)
    height: int = 1


@dataclass
class _Reader:
    """Builds the document from events."""

    document: Any = None
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int, int]] = field(default_factory=dict)
    """Name → value, how many values it stands for, and its height."""
    values: int = 0
    documents: int = 0

    def take(self, event: Any) -> None:
        """Take the next event of the parser."""
        if isinstance(event, yaml.ScalarEvent):
            self._count(1, event)
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._count(1, event)
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise YamlProblem("a second document starts here ('---'): one file holds one", event.start_mark)

    def _count(self, more: int, event: Any) -> None:
        self.values += more
        if self.values > MOST_VALUES:
            raise YamlProblem(f"more than {MOST_VALUES:,} keys and values (aliases written out)", event.start_mark)

    def _scalar(self, event: Any) -> None:
        here = self.stack[-1] if self.stack else None
        if here is not None and isinstance(here.value, dict) and here.key is None and not here.merging:
            self._key(here, event)
            return
        value = _constructed(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1, 0)
        self._place(value, 0, event)

    def _key(self, here: _Open, event: Any) -> None:
        key = event.value
        if event.anchor is not None:
            self.anchors[event.anchor] = (key, 1, 0)
        if key == "<<" and event.implicit[0]:
            here.merging = True
            return
        if not key and event.implicit[0]:
            raise YamlProblem("a key is missing before ':'", event.start_mark)
        if _CONTROL.search(key):
            raise YamlProblem("a key holds a character that is no text", event.start_mark)
        if key in here.value:
            raise YamlProblem(f"the key '{_short(key)}' is written twice", event.start_mark)
        here.key = key

    def _open(self, event: Any) -> None:
        here = self.stack[-1] if self.stack else None
        mapping = isinstance(event, yaml.MappingStartEvent)
        if here is not None and isinstance(here.value, dict) and here.key is None and not here.merging:
            raise YamlProblem("a key must be a word, not a list or a mapping", event.start_mark)
        if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            raise YamlProblem(f"the tag '{_short(event.tag)}' is not supported", event.start_mark)
        if len(self.stack) >= MOST_DEPTH:
            raise YamlProblem(f"nested more than {MOST_DEPTH} deep", event.start_mark)
        self.stack.append(_Open({} if mapping else [], event.anchor, self.values - 1))

    def _close(self, event: Any) -> None:
        done = self.stack.pop()
        value = done.value
        if done.merged:  # what is written here wins, then what was merged first
            value = {}
            for other in reversed(done.merged):
                value |= other
            value |= done.value
        if done.anchor is not None:
            self.anchors[done.anchor] = (value, self.values - done.first, done.height)
        self._place(value, done.height, event)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            inside = any(part.anchor == event.anchor for part in self.stack)
            why = "stands inside what it names" if inside else "names nothing that was marked before"
            raise YamlProblem(f"the alias *{_short(event.anchor)} {why}", event.start_mark)
        value, size, height = self.anchors[event.anchor]
        self._count(size, event)
        if len(self.stack) + height > MOST_DEPTH:
            raise YamlProblem(f"nested more than {MOST_DEPTH} deep", event.start_mark)
        here = self.stack[-1] if self.stack else None
        if here is not None and isinstance(here.value, dict) and here.key is None and not here.merging:
            raise YamlProblem("an alias cannot be a key", event.start_mark)
        self._place(copy.deepcopy(value), height, event)  # places that share an alias may be set apart later

    def _place(self, value: Any, height: int, event: Any) -> None:
        """Put a finished value where it belongs."""
        if not self.stack:
            self.document = value
            return
        here = self.stack[-1]
        here.height = max(here.height, height + 1)
        if isinstance(here.value, list):
            here.value.append(value)
        elif here.merging:
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, dict) for part in parts):
                raise YamlProblem("'<<' takes a mapping, or a list of mappings", event.start_mark)
            here.merged += parts
            here.merging = False
        else:
            here.value[here.key] = value
            here.key = None


@cache
def _resolver() -> Any:
    return yaml.resolver.Resolver()


@cache
def _constructor() -> yaml.constructor.SafeConstructor:
    return yaml.constructor.SafeConstructor()


def _constructed(event: Any) -> Any:
    """Return what a word stands for: text, unless it is plainly a number, true, false or null."""
    tag = event.tag
    if tag is None and event.implicit[0] and _PLAIN_WHOLE.fullmatch(event.value):
        return int(event.value)
    if tag is None or tag == "!":
        tag = _resolver().resolve(yaml.ScalarNode, event.value, event.implicit)
        tag = tag if tag.removeprefix(_TAG) in _SCALARS else _TAG + "str"  # dates are read where they are used
    kind = tag.removeprefix(_TAG)
    if kind == "str":
        if _CONTROL.search(event.value):
            raise YamlProblem("text holds a character that is no text (such as NUL)", event.start_mark)
        return event.value
    if kind not in _SCALARS:
        raise YamlProblem(f"the tag '{_short(tag)}' is not supported", event.start_mark)
    if kind == "int" and len(event.value) > MOST_DIGITS and abs(_whole(tag, event)) >= 10**MOST_DIGITS:
        raise YamlProblem(f"the number {_short(event.value)} has more than {MOST_DIGITS} digits", event.start_mark)
    return _whole(tag, event)


def _whole(tag: str, event: Any) -> Any:
    kind, node = tag.removeprefix(_TAG), yaml.ScalarNode(tag, event.value)
    words = {"int": "a whole number", "float": "a number", "bool": "true or false", "null": "null"}
    if len(event.value) > 200:  # no number that anyone writes; reading one takes quadratic time
        raise YamlProblem(f"a number of {len(event.value):,} characters", event.start_mark)
    try:
        return getattr(_constructor(), f"construct_yaml_{kind}")(node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise YamlProblem(f"'{_short(event.value)}' is not {words[kind]}", event.start_mark) from None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
