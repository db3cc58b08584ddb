"""A published file and the guarantee beside it, which states the checksum of what it speaks of."""

from __future__ import annotations

import json
from pathlib import Path

from geodp.errors import DataError
from geodp.storage.files import digest, is_regular


def guarantee_path(out: Path) -> Path:
    """Return where the guarantee of an output is."""
    return out.with_name(out.name + ".guarantee.json")


def belong_together(out: Path, guarantee: Path) -> bool:
    """Tell whether a guarantee speaks of exactly this output."""
    try:
        return bool(json.loads(guarantee.read_text(encoding="utf-8"))["sha256"] == digest(out))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def require_as_published(path: Path) -> None:
    """Refuse a file that has a guarantee beside it and is not what the guarantee speaks of.

    Never for the private data of a release: whether a release is refused must not depend on them.
    """
    guarantee = guarantee_path(path)
    if is_regular(path) and is_regular(guarantee) and not belong_together(path, guarantee):
        raise DataError(
            f"{path}: is not what {guarantee.name} beside it speaks of (the checksums differ): one was damaged, "
            "changed or replaced. Publish it anew; or, if it is another file on purpose, move the guarantee away."
        )
