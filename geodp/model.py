"""The base of everything a user writes in YAML: frozen, closed, and clear about mistakes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known word, or nothing when none is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
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
        try:
            return handler(data)
        except ValidationError as error:
            known = list(cls.model_fields)
            lines = [_reworded(line, known) for line in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


def _reworded(line: ErrorDetails, known: list[str]) -> InitErrorDetails:
    """Say one of pydantic's line errors in words for the person who wrote the file."""
    code, message = line["type"], line["msg"]
    loc, value, context = line["loc"], line["input"], line.get("ctx", {})
    if code == "extra_forbidden" and len(loc) == 1:
        hint = did_you_mean(str(loc[0]), known)
        message = f"unknown key.{hint or ' Known here: ' + ', '.join(known) + '.'}"
    elif code == "missing":
        message = "is required"
    elif code in _COMPARISONS:
        word, key = _COMPARISONS[code]
        message = f"must be {word} {context[key]:g}, got {_shown(value)}"
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


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _near_literal(value: Any, context: dict[str, Any]) -> str:
    words = [word.strip(" '") for word in str(context["expected"]).replace(" or ", ",").split(",")]
    return "." + hint if (hint := did_you_mean(str(value), words)) else ""
