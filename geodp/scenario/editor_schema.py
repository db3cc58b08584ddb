"""The JSON Schema of scenario files, for editors: they complete keys, say what each means, and mark mistakes."""

from __future__ import annotations

import json
from typing import Any

from geodp.scenario.extends import KEYS

FILE_NAME = "geodp.schema.json"
"""What the schema is called where it stands beside scenarios."""
HEADER = "# yaml-language-server: $schema="
"""How a YAML file tells editors where its schema is."""
_NEEDED = ["geodp", "name", "region"]


def make_schema() -> dict[str, Any]:
    """Return the schema: the keys of a scenario, and those of a file that starts from another.

    Examples
    --------
    >>> from geodp.scenario.editor_schema import make_schema
    >>> sorted(make_schema()["properties"])[:4]
    ['about', 'attacks', 'compare', 'compare_at_success']
    """
    from geodp.scenario.schema import Scenario

    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= Scenario.model_json_schema()
    extends, changes = KEYS
    schema["properties"] |= {
        extends: {
            "type": "string",
            "description": "The scenario file that this one starts from, or the name of a shipped scenario; one level.",
        },
        changes: {
            "type": "object",
            "description": "With `extends`: dotted path → value, e.g. curator.mechanism.epsilon: 0.5.",
        },
    }
    schema.pop("required", None)
    schema["anyOf"] = [{"required": _NEEDED}, {"required": [extends, "name"]}]
    return schema


def schema_text() -> str:
    """Return the schema as text."""
    return json.dumps(make_schema(), indent=2)
