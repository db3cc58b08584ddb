"""The base of everything a user writes in YAML: frozen, closed, and clear about mistakes."""

from __future__ import annotations

import ast
import contextlib
import difflib
import inspect
import math
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice, pairwise
from types import ModuleType
from typing import Any, ClassVar, Self, get_origin

from annotated_types import MaxLen
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from geodp.errors import ScenarioError

_HINTS = 50
"""Only so many problems of one section get a hint: looking for the nearest word takes time."""
_LONGEST_WORD, _MOST_WORDS = 80, 2000
_MOST_UNKNOWN = 100
_MOST_ITEMS = 5000
"""Entries of a list or mapping that states no bound of its own."""
_LEFT_OUT = "geodp_left_out"
_BECAUSE = "because"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known word, or nothing when none is near."""
    if len(word) > _LONGEST_WORD:
        return ""  # no name is so long, and comparing takes quadratic time
    close = difflib.get_close_matches(word, list(islice(known, _MOST_WORDS)), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


class Model(BaseModel):
    """A frozen model: unknown keys are errors that name the nearest known key; NaN is no number."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        allow_inf_nan=False,
        validate_default=True,
        arbitrary_types_allowed=True,
    )

    absent: ClassVar[Mapping[str, str]] = {}
    """Keys that its like have and it has not, with the reason."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        # Every subclass evaluates the annotations of all its bases again; for class variables nothing depends on them.
        cls.__annotations__.update((name, ClassVar) for name in cls.__class_vars__ & cls.__annotations__.keys())

    @classmethod
    def describe_fields(cls) -> None:
        """Make the text beneath each field its description.

        Done where somebody asks, for each class once: reading the source of all plug-ins is half of importing them.
        """
        for name, field in cls.model_fields.items():
            if field.description is None:
                owner = next(base for base in cls.__mro__ if name in inspect.get_annotations(base))
                field.description = _field_texts(owner).get(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        cls.describe_fields()  # the schema repeats the descriptions
        return handler(source)

    @classmethod
    def from_options(cls, fields: Mapping[str, Any], source: str) -> Self:
        """Build it from options of a command (`source` says which); all that is wrong is reported at once.

        Raises
        ------
        ScenarioError
            If a field is wrong.
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise ScenarioError(source, problems_of(error, whole="")) from None

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        excess = _excess_keys(data, cls.model_fields)
        overlong = _overlong(data, cls.model_fields)
        unseen = excess | overlong.keys()
        lines: list[InitErrorDetails] = []
        try:
            made = handler({key: data[key] for key in data if key not in unseen} if unseen else data)
        except ValidationError as error:
            found = [
                line for line in error.errors(include_url=False) if line["loc"][:1] not in {(key,) for key in overlong}
            ]
            lines += [_say_absent(line, cls.absent) or _reword_error(line, cls.model_fields, hint=number < _HINTS)
                      for number, line in enumerate(found)]  # fmt: skip
            lines += [_report_left_out(len(excess))] if excess else []
        else:
            if not overlong:
                return made
        lines += [_make_error(text, (key,), None) for key, text in overlong.items()]
        raise ValidationError.from_exception_data(cls.__name__, lines) from None


def _field_texts(cls: type) -> Mapping[str, str]:
    module = sys.modules.get(cls.__module__)
    return {} if module is None else _texts_of_classes(module).get(cls.__qualname__, {})


@cache
def _texts_of_classes(module: ModuleType) -> Mapping[str, Mapping[str, str]]:
    """Return the texts beneath the fields of every class of a module (none where it has no source)."""
    found: dict[str, Mapping[str, str]] = {}

    def visit(body: list[ast.stmt], above: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found[above + node.name] = _texts_beneath(node)
                visit(node.body, f"{above}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                visit(node.body, f"{above}{node.name}.<locals>.")

    with contextlib.suppress(OSError, TypeError, SyntaxError):
        visit(ast.parse(inspect.getsource(module)).body, "")
    return found


def _texts_beneath(node: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(node.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
        if isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def problems_of(error: ValidationError, *above: str, whole: str = "(file)") -> list[tuple[str, str]]:
    """Return the dotted path and the message of every problem; `above` is the path to what was validated.

    A problem of no single field stands at `whole`.
    """
    found = []
    for line in error.errors(include_url=False):
        times = line.get("ctx", {}).get("count", 1) if line["type"] == _LEFT_OUT else 1
        found += [(".".join([*above, *map(str, line["loc"])]) or whole, line["msg"])] * times
    return _join_choices(found)


def _join_choices(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Say once what pydantic says for each type of "a number, or a word": it names the types at the end of the path."""
    joined: list[tuple[str, str]] = []
    for path, message in found:
        field, _, word = path.partition(".literal[")
        if word and joined and joined[-1][0].rpartition(".")[0] == field:
            earlier = joined.pop()[1].partition(", got ")[0]
            joined.append((field, f"{earlier}, or {message.removeprefix('must be ')}"))
        else:
            joined.append((path, message))
    return joined


def _excess_keys(data: Any, known: Iterable[str]) -> set[Any]:
    """Return the unknown keys beyond the first hundred: they are counted, not looked at."""
    if not isinstance(data, dict) or len(data) <= _MOST_UNKNOWN:
        return set()
    names = set(known)
    unknown = [key for key in data if key not in names]
    return set(unknown[_MOST_UNKNOWN:])


def _overlong(data: Any, fields: Mapping[str, FieldInfo]) -> dict[str, str]:
    """Say of lists and mappings that hold too much how much that is: they are counted, not looked at one by one."""
    found: dict[str, str] = {}
    for name, field in fields.items() if isinstance(data, dict) else ():
        value = data.get(name)
        most = next((part.max_length for part in field.metadata if isinstance(part, MaxLen)), _MOST_ITEMS)
        if isinstance(value, list | dict) and len(value) > most and not _is_section(field, value):
            found[name] = f"has {len(value):,} entries; at most {most:,}"
    return found


def _is_section(field: FieldInfo, value: Any) -> bool:
    """Tell whether a mapping is a section of its own, which counts its unknown keys itself."""
    return isinstance(value, dict) and get_origin(field.annotation) is not dict


def _report_left_out(count: int) -> InitErrorDetails:
    text = PydanticCustomError(_LEFT_OUT, "unknown key", {"count": count})
    return InitErrorDetails(type=text, loc=("(more)",), input=None)


def bound_field(because: str, /, default: Any = ..., **bounds: Any) -> Any:
    """Return a field whose bounds have a reason that is told to whoever exceeds them."""
    return Field(default, json_schema_extra={_BECAUSE: because}, **bounds)


def _say_absent(line: ErrorDetails, absent: Mapping[str, str]) -> InitErrorDetails | None:
    """Say why there is no such key here, where its like have one."""
    key = str(line["loc"][0]) if line["type"] == "extra_forbidden" and len(line["loc"]) == 1 else ""
    return _make_error(f"there is none here: {absent[key]}", line["loc"], line["input"]) if key in absent else None


def _reword_error(line: ErrorDetails, fields: Mapping[str, FieldInfo], *, hint: bool) -> InitErrorDetails:
    """Say one of pydantic's line errors in words for the person who wrote the file."""
    code, message = line["type"], line["msg"]
    loc, value, context = line["loc"], line["input"], line.get("ctx", {})
    if code == _LEFT_OUT:
        return _report_left_out(context["count"])
    if code == "extra_forbidden" and len(loc) == 1:
        near = did_you_mean(str(loc[0]), fields) if hint else ""
        message = f"unknown key.{near or ' Known here: ' + ', '.join(fields) + '.'}"
    elif code == "missing":
        message = "is required"
    elif code in _COMPARISONS:
        word, key = _COMPARISONS[code]
        if key == "ge" and 0 < context[key] < 1 and isinstance(value, int | float) and value <= 0:
            return _reword_error({**line, "type": "greater_than", "ctx": {"gt": 0}}, {}, hint=hint)
        reason = "" if key == "gt" else _reason(fields, loc)
        message = f"must be {word} {_figure(context[key])}, got {_format_value(value)}{reason}"
    elif code == "literal_error":
        message = f"must be {context['expected']}, got {_format_value(value)}" + _near_literal(value, context)
    elif code.endswith(("_type", "_parsing", "_from_float", "_number")) and (shape := _SHAPES.get(code.split("_")[0])):
        message = f"must be {shape}, got {_format_value(value)}"
    elif code == "value_error":
        message = message.removeprefix("Value error, ")
    return _make_error(message, loc, value)


def _make_error(text: str, loc: tuple[int | str, ...], value: Any) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError("geodp", "{text}", {"text": text}), loc=loc, input=value)


_COMPARISONS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_SHAPES = {
    "float": "a number",
    "int": "a whole number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text",
    **dict.fromkeys(("list", "tuple"), "a list"),
    **dict.fromkeys(("dict", "model"), "a mapping of keys to values"),
}
"""What a value must be, by the first word of pydantic's code for one that is of another type."""


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else f"{value:g}"


def _reason(fields: Mapping[str, FieldInfo], loc: tuple[int | str, ...]) -> str:
    """Return why a field is bounded, where that is stated and the field is one of this model itself."""
    field = fields.get(str(loc[0])) if len(loc) == 1 else None
    extra = None if field is None else field.json_schema_extra
    return f": {extra[_BECAUSE]}" if isinstance(extra, dict) and _BECAUSE in extra else ""


def _format_value(value: Any) -> str:
    text = repr(value) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _near_literal(value: Any, context: dict[str, Any]) -> str:
    words = [word.strip(" '") for word in str(context["expected"]).replace(" or ", ",").split(",")]
    return "." + hint if (hint := did_you_mean(str(value), words)) else ""
