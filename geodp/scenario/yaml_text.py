"""YAML that people write, read with care: bounded in size and depth, no key twice, merge keys, messages with lines.

A file is read event by event, and what is too deep or too much is refused where it begins: no nesting and no chain of
aliases can exhaust the machine.
"""

from __future__ import annotations

import re
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
    try:
        return _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        raise YamlProblem(_explain_error(text, error), error.problem_mark) from None
    except yaml.YAMLError as error:
        raise YamlProblem(str(error).splitlines()[0]) from None


def _explain_error(text: str, error: yaml.MarkedYAMLError) -> str:
    """Say what the parser found; a tab before it is what is wrong most often, and parsers do not say so."""
    what, mark = error.problem or "not valid", error.problem_mark
    if mark is not None:
        line = next(iter(text.splitlines()[mark.line : mark.line + 1]), "")
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return "a tab stands at the start of the line: YAML takes spaces only"
    return what


class _Reader:
    """Builds the document from events; no deeper than `MOST_DEPTH`, so that recursion is safe."""

    def __init__(self, text: str) -> None:
        self.events = yaml.parse(text, Loader=_PARSER)
        self.anchors: dict[str | None, tuple[Any, int] | None] = {}
        """Name → value, and how many values it stands for (None: it is being read)."""
        self.values = 0

    def document(self) -> Any:
        """Read all events."""
        value, documents = None, 0
        for event in self.events:
            if isinstance(event, yaml.NodeEvent):
                value = self._value(event, 0)
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise YamlProblem("a second document starts here ('---'): one file holds one", event.start_mark)
        return value

    def _count(self, more: int, event: Any) -> None:
        self.values += more
        if self.values > MOST_VALUES:
            raise YamlProblem(f"more than {MOST_VALUES:,} keys and values (aliases written out)", event.start_mark)

    def _value(self, event: Any, depth: int) -> Any:
        """Read the value that begins with an event, inside so many mappings and lists."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        before = self.values
        self._count(1, event)
        if isinstance(event, yaml.ScalarEvent):
            value = _construct_scalar(event)
        else:
            mapping = isinstance(event, yaml.MappingStartEvent)
            if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
                raise YamlProblem(f"the tag '{_short(event.tag)}' is not supported", event.start_mark)
            _require_shallow(depth, event)
            self.anchors[event.anchor] = None
            value = self._parse_mapping(depth + 1) if mapping else self._list(depth + 1)
        self.anchors[event.anchor] = value, self.values - before
        return value

    def _list(self, depth: int) -> list[Any]:
        value = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            value.append(self._value(event, depth))
        return value

    def _parse_mapping(self, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, value)
            following = next(self.events)
            inner = self._value(following, depth)
            if key is not None:
                value[key] = inner
                continue
            parts = inner if isinstance(inner, list) else [inner]
            if not all(isinstance(part, dict) for part in parts):
                raise YamlProblem("'<<' takes a mapping, or a list of mappings", following.start_mark)
            merged += parts
        for other in merged:  # what is written here wins, then what was merged first
            value = other | value
        return value

    def _key(self, event: Any, among: dict[str, Any]) -> str | None:
        """Read a key; None: it is the merge key."""
        if isinstance(event, yaml.AliasEvent):
            raise YamlProblem("an alias cannot be a key", event.start_mark)
        if not isinstance(event, yaml.ScalarEvent):
            raise YamlProblem("a key must be a word, not a list or a mapping", event.start_mark)
        self._count(1, event)
        key: str = event.value
        self.anchors[event.anchor] = key, 1
        if key == "<<" and event.implicit[0]:
            return None
        if not key and event.implicit[0]:
            raise YamlProblem("a key is missing before ':'", event.start_mark)
        if _CONTROL.search(key):
            raise YamlProblem("a key holds a character that is no text", event.start_mark)
        if key in among:
            raise YamlProblem(f"the key '{_short(key)}' is written twice", event.start_mark)
        return key

    def _alias(self, event: Any, depth: int) -> Any:
        known = self.anchors.get(event.anchor)
        if known is None:
            inside = event.anchor in self.anchors
            why = "stands inside what it names" if inside else "names nothing that was marked before"
            raise YamlProblem(f"the alias *{_short(event.anchor)} {why}", event.start_mark)
        self._count(known[1], event)
        return _copy_value(known[0], depth, event)


def _copy_value(value: Any, depth: int, event: Any) -> Any:
    """Return a copy for another place: places that share an alias may be set apart later."""
    if not isinstance(value, dict | list):
        return value
    _require_shallow(depth, event)
    if isinstance(value, list):
        return [_copy_value(part, depth + 1, event) for part in value]
    return {key: _copy_value(part, depth + 1, event) for key, part in value.items()}


def _require_shallow(depth: int, event: Any) -> None:
    if depth >= MOST_DEPTH:
        raise YamlProblem(f"nested more than {MOST_DEPTH} deep", event.start_mark)


@cache
def _resolver() -> Any:
    return yaml.resolver.Resolver()


@cache
def _constructor() -> yaml.constructor.SafeConstructor:
    return yaml.constructor.SafeConstructor()


def _construct_scalar(event: Any) -> Any:
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
