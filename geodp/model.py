"""The base of everything a user writes in YAML: frozen, closed, and clear about mistakes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

_HINTS = 50
"""Only so many problems of one section get a hint: looking for the nearest word takes time."""
_LONGEST_WORD, _MOST_WORDS = 80, 2000
_MOST_UNKNOWN = 100
_LONGEST_LIST = 5000
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
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        validate_default=True,
        arbitrary_types_allowed=True,
    )

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        excess, too_long = _excess_keys(data, cls.model_fields), _too_long_lists(data)
        lines = [_long_list(key, len(data[key])) for key in too_long]
        aside = excess.union(too_long)
        try:
            made = handler({key: data[key] for key in data if key not in aside} if aside else data)
            if not too_long:
                return made
        except ValidationError as error:
            found = error.errors(include_url=False)
            lines += [_reworded(line, cls.model_fields, hint=number < _HINTS) for number, line in enumerate(found)]
            lines += [_left_out(len(excess))] if excess else []
        raise ValidationError.from_exception_data(cls.__name__, lines)


def problems_of(error: ValidationError, *above: str) -> list[tuple[str, str]]:
    """Return the dotted path and the message of every problem; `above` is the path to what was validated."""
    found = []
    for line in error.errors(include_url=False):
        times = line.get("ctx", {}).get("count", 1) if line["type"] == _LEFT_OUT else 1
        found += [(".".join([*above, *map(str, line["loc"])]) or "(file)", line["msg"])] * times
    return found


def _excess_keys(data: Any, known: Iterable[str]) -> set[Any]:
    """Return the unknown keys beyond the first hundred: they are counted, not looked at."""
    if not isinstance(data, dict) or len(data) <= _MOST_UNKNOWN:
        return set()
    names = set(known)
    unknown = [key for key in data if key not in names]
    return set(unknown[_MOST_UNKNOWN:])


def _too_long_lists(data: Any) -> list[Any]:
    """Return the keys of lists that are longer than anyone writes; looking through them would take too long."""
    items = data.items() if isinstance(data, dict) else ()
    return [key for key, item in items if isinstance(item, list) and len(item) > _LONGEST_LIST]


def _long_list(key: Any, length: int) -> InitErrorDetails:
    text = PydanticCustomError("geodp", "{text}", {"text": f"has {length:,} entries; at most {_LONGEST_LIST:,}"})
    return InitErrorDetails(type=text, loc=(str(key),), input=None)


def _left_out(count: int) -> InitErrorDetails:
    text = PydanticCustomError(_LEFT_OUT, "unknown key", {"count": count})
    return InitErrorDetails(type=text, loc=("(more)",), input=None)


def bounded(because: str, /, default: Any = ..., **bounds: Any) -> Any:
    """Return a field whose bounds have a reason that is told to whoever exceeds them."""
    return Field(default, json_schema_extra={_BECAUSE: because}, **bounds)


def _reworded(line: ErrorDetails, fields: Mapping[str, FieldInfo], *, hint: bool) -> InitErrorDetails:
    """Say one of pydantic's line errors in words for the person who wrote the file."""
    code, message = line["type"], line["msg"]
    loc, value, context = line["loc"], line["input"], line.get("ctx", {})
    if code == _LEFT_OUT:
        return _left_out(context["count"])
    if code == "extra_forbidden" and len(loc) == 1:
        near = did_you_mean(str(loc[0]), fields) if hint else ""
        message = f"unknown key.{near or ' Known here: ' + ', '.join(fields) + '.'}"
    elif code == "missing":
        message = "is required"
    elif code in _COMPARISONS:
        word, key = _COMPARISONS[code]
        if key == "ge" and 0 < context[key] < 1 and isinstance(value, int | float) and value <= 0:
            return _reworded({**line, "type": "greater_than", "ctx": {"gt": 0}}, {}, hint=hint)
        message = (
            f"must be {word} {_figure(context[key])}, got {_shown(value)}{'' if key == 'gt' else _reason(fields, loc)}"
        )
    elif code == "literal_error":
        message = f"must be {context['expected']}, got {_shown(value)}" + _near_literal(value, context)
    elif code in _SHAPES:
        message = f"must be {_SHAPES[code]}, got {_shown(value)}"
    elif code == "value_error":
        message = message.removeprefix("Value error, ")
    return InitErrorDetails(type=PydanticCustomError("geodp", "{text}", {"text": message}), loc=loc, input=value)


_COMPARISONS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_SHAPES = {
    "float_parsing": "a number",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else f"{value:g}"


def _reason(fields: Mapping[str, FieldInfo], loc: tuple[int | str, ...]) -> str:
    """Return why a field is bounded, where that is stated and the field is one of this model itself."""
    field = fields.get(str(loc[0])) if len(loc) == 1 else None
    extra = None if field is None else field.json_schema_extra
    return f": {extra[_BECAUSE]}" if isinstance(extra, dict) and _BECAUSE in extra else ""


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _near_literal(value: Any, context: dict[str, Any]) -> str:
    words = [word.strip(" '") for word in str(context["expected"]).replace(" or ", ",").split(",")]
    if str(value) in words:
        return " (in quotes it is text)" if isinstance(value, str) else ""
    return "." + hint if (hint := did_you_mean(str(value), words)) else ""
