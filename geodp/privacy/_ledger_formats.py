"""The content of a ledger file as csv, JSON or Parquet, sealed: a cut or a changed bit is found before it is parsed.

The seal is the SHA-256 of the whole file with the seal's own digits as zeros. It stands among the settings, which every
format keeps as JSON. It guards against accidents, not against someone who computes it anew.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from typing import Any

Settings = dict[str, Any]
Row = dict[str, Any]
"""Texts, numbers, and None for what is not known."""

NUMBERS = ("time_s", "epsilon", "delta", "total", "begin_s", "end_s")
_MARK = "# geodp ledger "
_PARQUET_KEY = b"geodp ledger"
_NO_SEAL = "0" * 64
_SEAL = re.compile(rb'"seal": "([0-9a-f]{64})"')


class NotSealed(ValueError):
    """There is no seal, or more than one."""


def encoded(suffix: str, settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    """Return the content of a ledger file, with its seal."""
    content = _ENCODERS[suffix]({**settings, "seal": _NO_SEAL}, rows, columns)
    begin, end = _place_of_seal(content)
    return content[:begin] + hashlib.sha256(content).hexdigest().encode() + content[end:]


def decoded(suffix: str, content: bytes) -> tuple[Settings, list[Row]]:
    """Return settings and rows of a ledger file whose seal is whole.

    Raises
    ------
    ValueError
        If anything about it has changed since it was written (`NotSealed` where there is no seal to go by).
    """
    begin, end = _place_of_seal(content)
    unsealed = content[:begin] + _NO_SEAL.encode() + content[end:]
    if hashlib.sha256(unsealed).hexdigest().encode() != content[begin:end]:
        raise ValueError("its content does not match its seal: it was cut, damaged or edited")
    settings, rows = parsed(suffix, content)
    del settings["seal"]
    return settings, rows


def parsed(suffix: str, content: bytes) -> tuple[Settings, list[Row]]:
    """Return settings and rows as they stand there, whatever they are."""
    settings, rows = _PARSERS[suffix](content)
    return settings, [{name: _typed(name, value) for name, value in row.items()} for row in rows]


def _place_of_seal(content: bytes) -> tuple[int, int]:
    found = list(_SEAL.finditer(content))
    if len(found) != 1:
        raise NotSealed("it has no seal" if not found else "it has more than one seal")
    return found[0].span(1)


def _typed(name: str, value: Any) -> Any:
    if name not in NUMBERS:
        return str(value)
    return None if value in ("", None) else float(value)


def _encode_csv(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    text = io.StringIO()
    text.write(_MARK + json.dumps(settings) + "\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows([["" if row[name] is None else row[name] for name in columns] for row in rows])
    return text.getvalue().encode()


def _parse_csv(content: bytes) -> tuple[Settings, list[Row]]:
    first, _, rest = content.decode().partition("\n")
    if not first.startswith(_MARK):
        raise ValueError("its first line is not that of a ledger")
    header, *lines = csv.reader(io.StringIO(rest, newline=""), strict=True)
    return dict(json.loads(first.removeprefix(_MARK))), [dict(zip(header, line, strict=True)) for line in lines]


def _encode_json(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    charges = [{name: row[name] for name in columns} for row in rows]
    return (json.dumps({**settings, "charges": charges}, indent=1, allow_nan=False) + "\n").encode()


def _parse_json(content: bytes) -> tuple[Settings, list[Row]]:
    held = dict(json.loads(content.decode()))
    return held, [dict(row) for row in held.pop("charges")]


def _encode_parquet(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [(name, pa.float64() if name in NUMBERS else pa.string()) for name in columns]
    schema = pa.schema(kinds, metadata={_PARQUET_KEY: json.dumps(settings).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _parse_parquet(content: bytes) -> tuple[Settings, list[Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    return dict(json.loads((table.schema.metadata or {})[_PARQUET_KEY])), table.to_pylist()


_ENCODERS = {".csv": _encode_csv, ".json": _encode_json, ".parquet": _encode_parquet}
_PARSERS = {".csv": _parse_csv, ".json": _parse_json, ".parquet": _parse_parquet}
SUFFIXES = (".csv", ".parquet", ".json")
