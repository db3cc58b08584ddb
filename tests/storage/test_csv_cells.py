import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from geodp.datasets.table_folders import TableFile
from geodp.publish.outputs import PublishedTable, write_table
from geodp.storage.csv_cells import guard_table, guard_text, make_guarded_csv, read_guarded_csv, unguard_table
from geodp.tables import reader

RISKY = ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x", "=", "-", "--5", "+1+1"]
RISKY += ["\nx", "\uff1d1+1", "\uff0bx", "\uff0dx", "\uff20x"]
PLAIN = ["plain", "", "a=b", "'quoted'", "-5", "+4.5e-3", "-.5", "3", "Café -x"]


@pytest.mark.parametrize("text", RISKY)
def test_what_a_spreadsheet_would_run_gets_a_quote(text: str) -> None:
    assert guard_text(text) == "'" + text


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_and_numbers_stay_as_they_are(text: str) -> None:
    assert guard_text(text) == text


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_guarding_a_table_can_be_undone(kind: pa.DataType) -> None:
    texts = [*RISKY, *PLAIN, None]
    table = pa.table({"text": pa.array(texts, kind), "number": pa.array(np.arange(len(texts)) - 5.5)})
    safe = guard_table(table)
    assert safe.column("text").to_pylist() == [None if text is None else guard_text(text) for text in texts]
    assert safe.column("number").equals(table.column("number"))
    assert unguard_table(safe).equals(table)
    batch = table.to_batches()[0]
    assert unguard_table(guard_table(batch)).equals(batch)


def unheard(what: str, rows: int) -> None:
    raise AssertionError(f"{what}: {rows}")


def test_no_cell_of_a_published_csv_is_a_formula_and_its_names_are_read_back(tmp_path: Path) -> None:
    names = [text for text in RISKY if text[0] not in "\t\r\n"]
    table = PublishedTable({"venue": pa.array(names), "count": np.linspace(-3, 3, len(names))})
    write_table(tmp_path / "out.csv", table, suffix_of=Path("out.csv"), stamp={"releasable": True})
    rows = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text(), newline="")))
    assert [row[0] for row in rows[1:]] == ["'" + name for name in names]
    assert float(rows[1][1]) == -3.0
    for total in (False, True):
        parts = list(reader.read_batches(tmp_path / "out.csv", ["count"], ["venue"], total=total))
        assert [name for part in parts for name in part["venue"].to_pylist()] == names
        whole = list(reader.open_table(tmp_path / "out.csv", ["venue"]).tables(["venue"], unheard, total=total))
        assert [name for part in whole for name in part.column("venue").to_pylist()] == names


def test_converted_tables_are_guarded(tmp_path: Path) -> None:
    with TableFile(tmp_path, "venues", "csv") as file:
        file.write(pa.record_batch({"venue": pa.array(["=1+1", "x"]), "lon": pa.array([-1.0, 2.0])}))
    assert pd.read_csv(tmp_path / "venues.csv").to_dict("list") == {"venue": ["'=1+1", "x"], "lon": [-1.0, 2.0]}


def test_tables_of_comparisons_and_sweeps_are_guarded() -> None:
    text = make_guarded_csv(pd.DataFrame({"=x": ["@y", "z"], "value": [-1.5, None]}))
    assert text == "'=x,value\n'@y,-1.5\nz,\n"


def test_the_table_of_a_sweep_is_read_back_as_it_was(tmp_path: Path) -> None:
    table = pd.DataFrame({"=x": ["@y", "'=z", "plain"], "value": [-1.5, None, 2.0]})
    (tmp_path / "summary.csv").write_text(make_guarded_csv(table))
    pd.testing.assert_frame_equal(read_guarded_csv(tmp_path / "summary.csv"), table)
