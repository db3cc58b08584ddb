"""Where plug-ins stand in a scenario."""

from __future__ import annotations

from typing import Any

SLOTS = {
    "source": ("workers", "source"),
    "mobility": ("workers", "mobility"),
    "visit_source": ("workers", "visit_source"),
    "acceptance": ("workers", "acceptance"),
    "demand": ("tasks", "demand"),
    "device": ("device", "mechanism"),
    "history_report": ("device", "history_report"),
    "mechanism": ("curator", "mechanism"),
    "assignment": ("server", "assignment"),
}
LISTS = {"publication": "publish", "attack": "attacks"}


def place_plugin(raw: dict[str, Any], family: str, value: dict[str, Any]) -> None:
    """Put a plug-in where its family stands, whatever stands there."""
    if family == "layer":
        raw["map"] = {"layers": ["region", value]}
    elif family in LISTS:
        raw[LISTS[family]] = [value]
    else:
        section, key = SLOTS[family]
        holder = raw.get(section)
        if isinstance(holder, dict):
            holder[key] = value
        else:
            raw[section] = {key: value}
