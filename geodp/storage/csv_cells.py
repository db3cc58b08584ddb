"""Cells of csv files that no spreadsheet takes for a formula.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@` (their wide East Asian forms, too), a tab or an end of
line, whoever wrote it there. Text that begins so, and is no plain number, gets a single quote in front; a quote that
stands there already gets another, so that taking one off again gives the text as it was. All csv files that geodp
writes are guarded, and the tables that it reads are read so: a venue called `=1+1` keeps its name on the way out and
back.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_BEGINS = "[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_FORMULA = f"^'*{_BEGINS}"
_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_QUOTED = f"^'('*{_BEGINS})"


def guard_text(text: str) -> str:
    """Return the text of one cell, guarded where a spreadsheet would take it for a formula."""
    return f"'{text}" if re.match(_FORMULA, text) and not re.match(_NUMBER, text) else text


def guard_table(table: Any) -> Any:
    """Return an arrow table or batch whose text and names of columns are guarded."""
    return _map_text(table, _guard_column).rename_columns([guard_text(name) for name in table.schema.names])


def unguard_table(table: Any) -> Any:
    """Return an arrow table or batch with its text as it was before it was guarded."""
    return _map_text(table, unguard_column)


def unguard_column(column: Any) -> Any:
    """Return a column of text as it was before it was guarded."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(column, _QUOTED, r"\1")


def make_guarded_csv(frame: pd.DataFrame) -> str:
    """Return a table as csv whose text and names of columns are guarded."""
    named = frame.rename(columns={name: guard_text(str(name)) for name in frame.columns})
    return named.map(lambda cell: guard_text(cell) if isinstance(cell, str) else cell).to_csv(index=False)


def read_guarded_csv(path: Path) -> pd.DataFrame:
    """Read a csv that `make_guarded_csv` made, with its text as it was before."""
    import pandas as pd

    def plain(cell: Any) -> Any:
        return re.sub(_QUOTED, r"\1", cell) if isinstance(cell, str) else cell

    return pd.read_csv(path).map(plain).rename(columns=plain)


def _guard_column(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    quote, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
    risky = pc.and_not(pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(risky, pc.binary_join_element_wise(quote, column, nothing), column)


def _map_text(table: Any, change: Any) -> Any:
    """Return a table or batch whose columns of text are changed."""
    columns = [change(column) if _is_text(column.type) else column for column in map(_plain, table.columns)]
    return type(table).from_arrays(columns, names=table.schema.names)


def _plain(column: Any) -> Any:
    """Return a column without a dictionary of its values."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
