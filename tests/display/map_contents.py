"""What a map carries, read back: the other half of `geodp.display.packing`, as `assets/unpack.js` has it."""

import base64
import json
import re
import zlib
from typing import Any

import numpy as np

from geodp.display.packing import RAW_DEFLATE

_BLOCK = re.compile(r'<script type="application/geodp" id="geodp-data-[\w-]+">([A-Za-z0-9+/=]*)</script>')


def unpack(text: str) -> Any:
    """Return what `pack` was given, with arrays as lists."""
    return _revived(json.loads(zlib.decompress(base64.b64decode(text), RAW_DEFLATE)))


def contents(html: str) -> list[Any]:
    """Return the data that a map carries, one entry per layer: all that it could ever disclose by drawing."""
    return [unpack(block) for block in _BLOCK.findall(html)]


def specs(html: str) -> list[dict[str, Any]]:
    """Return what a map says of its layers before anything is unpacked."""
    found = re.findall(r'<script type="application/json" id="geodp-layer-[\w-]+">(.*?)</script>', html, re.S)
    return [spec for text in found for spec in json.loads(text)["layers"]]


def _revived(value: Any) -> Any:
    if isinstance(value, list):
        return [_revived(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"once"}:
        return np.cumsum(value["once"], dtype=np.int64).tolist()
    if set(value) == {"twice"}:
        return np.cumsum(np.cumsum(value["twice"], dtype=np.int64)).tolist()
    return {key: _revived(item) for key, item in value.items()}
