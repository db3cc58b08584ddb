"""No cut, flipped bit or moved row of a ledger file ever reads as less spent."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from geodp.errors import DataError, UsageError
from geodp.privacy import ledger_file
from geodp.privacy.ledger import Account
from geodp.privacy.ledger_file import FILE_COLUMNS, LedgerFile, decode, encode
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

SUFFIXES = [".csv", ".parquet", ".json"]
REFUSED = "What was spent is unknown, so nothing is released"


@pytest.fixture(params=SUFFIXES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerFile:
    """Return a ledger of three rows in two accounts."""
    file = LedgerFile(tmp_path / f"l{request.param}", 1.0)
    person = Guarantee(0.25, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    for number in range(2):
        with file.open_ledger() as book:
            book.charge(person, time_s=float(number), mechanism="counts", scope='venues, "v2"')
    with file.open_ledger() as book:
        book.charge(Guarantee.per_metre(0.01), time_s=3.5, mechanism="planar", period=(0.0, 9.5))
    return file


def spent(file: LedgerFile) -> list[tuple[float, float]]:
    book = file.read()
    return [(book.sum_spent(account), book.find_remaining(account)) for account in Account]


Damaged = Callable[[bytes], None]


@pytest.fixture
def refused(ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch) -> Damaged:
    """Return a check that some content is refused, or tells of exactly what was spent."""
    whole = spent(ledger)
    content: list[bytes] = []
    monkeypatch.setattr(ledger_file.LedgerFile, "_content", lambda _: content[0])

    def check(damaged: bytes) -> None:
        content[:] = [damaged]
        try:
            assert spent(ledger) == whole
        except DataError as error:
            assert REFUSED in str(error)

    return check


def test_every_cut_is_refused(ledger: LedgerFile, refused: Damaged) -> None:
    content = ledger.path.read_bytes()
    for length in range(len(content)):
        refused(content[:length])
        refused(content[length + 1 :])


def test_every_flipped_bit_is_refused(ledger: LedgerFile, refused: Damaged) -> None:
    content = ledger.path.read_bytes()
    for place, bit in itertools.product(range(len(content)), range(8)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        refused(bytes(flipped))


def test_every_line_that_is_missing_doubled_or_moved_is_refused(ledger: LedgerFile, refused: Damaged) -> None:
    lines = ledger.path.read_bytes().split(b"\n")
    for first, second in itertools.product(range(len(lines)), repeat=2):
        swapped = list(lines)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        refused(b"\n".join(swapped))
        refused(b"\n".join([*lines[: first + 1], *lines[second:]]))


@pytest.mark.parametrize("order", [(), (0,), (0, 1), (0, 2), (1, 2), (0, 0, 1, 2), (1, 0, 2), (0, 1, 2, 2), (2, 1, 0)])
def test_rows_are_chained_and_counted_also_under_a_new_seal(ledger: LedgerFile, order: tuple[int, ...]) -> None:
    """Rows left out, repeated or moved by a program that writes the format well are found by chain and count."""
    suffix = ledger.path.suffix
    settings, rows = decode(suffix, ledger.path.read_bytes())
    for count in (3, len(order)):
        moved = [rows[number] for number in order]
        ledger.path.write_bytes(encode(suffix, {**settings, "count": count}, moved, FILE_COLUMNS))
        with pytest.raises(DataError, match=REFUSED):
            ledger.read()


@pytest.mark.parametrize("lost", ["format", "budgets", "budget_delta", "count", "head", "seal"])
def test_every_setting_is_required(ledger: LedgerFile, lost: str) -> None:
    suffix = ledger.path.suffix
    content = ledger.path.read_bytes()
    settings, rows = decode(suffix, content)
    settings.pop(lost, None)
    without = content.replace(b'"seal"', b'"sea1"') if lost == "seal" else encode(suffix, settings, rows, FILE_COLUMNS)
    ledger.path.write_bytes(without)
    with pytest.raises(DataError, match=f"(it has no|it lacks the settings) {lost}.*{REFUSED}"):
        ledger.read()


def test_totals_must_come_out(ledger: LedgerFile) -> None:
    """A row that says another total than the rows add up to is refused, whatever its chain says."""
    from geodp.privacy.ledger_file import from_rows, to_rows

    book = ledger.read()
    book.charges[1] = type(book.charges[1])(**{**vars(book.charges[1]), "total": 0.25})
    with pytest.raises(ValueError, match="add up to 0.5 at row 2, which says 0.25"):
        from_rows(*to_rows(book, {}))


OLD = {"budget_epsilon": 1.0, "per": "run", "window_s": None, "budget_delta": None}
OLD_ROW = {"time_s": 5.0, "scope": "everyone", "unit": "user", "neighbours": "add_remove", "mechanism": "m"}
OLD_ROW |= {"epsilon": 0.25, "delta": 0.0, "total": 0.25, "account": "central"}


def write_old(path: Path, totals: list[float]) -> None:
    """Write a ledger as version 0.1 did."""
    rows = [{**OLD_ROW, "total": total} for total in totals]
    if path.suffix == ".json":
        path.write_text(json.dumps({**OLD, "charges": rows}, indent=1))
    elif path.suffix == ".csv":
        lines = [",".join(OLD_ROW), *(",".join(str(value) for value in row.values()) for row in rows)]
        path.write_text("# geodp ledger " + json.dumps(OLD) + "\n" + "\n".join(lines) + "\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(rows)
        pq.write_table(table.replace_schema_metadata({"geodp ledger": json.dumps(OLD)}), path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_ledger_of_version_0_1_is_adopted_when_asked_and_not_before(tmp_path: Path, suffix: str) -> None:
    file = LedgerFile(tmp_path / f"old{suffix}")
    write_old(file.path, [0.25, 0.5])
    with pytest.raises(
        DataError, match=r"in 2 charges: central 0\.5\. If that is all, run `geodp publish adopt-ledger"
    ):
        file.read()
    adopted = file.adopt()
    assert (adopted.sum_spent(), adopted.find_remaining(), len(adopted.charges)) == (0.5, 0.5, 2)
    assert spent(file) == [(adopted.sum_spent(account), adopted.find_remaining(account)) for account in Account]
    with pytest.raises(UsageError, match=r"not a ledger of version 0\.1"):
        file.adopt()


def test_an_old_ledger_whose_totals_do_not_come_out_is_not_adopted(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "old.json")
    write_old(file.path, [0.25, 0.75])
    with pytest.raises(UsageError, match="add up to 0.5 at row 2"):
        file.adopt()
    with pytest.raises(DataError, match="cannot be read as a ledger"):
        file.read()


def test_no_damage_makes_an_old_ledger_of_a_new_one(ledger: LedgerFile) -> None:
    """Adopting is for files of version 0.1: what was a sealed ledger is never taken for one."""
    content = ledger.path.read_bytes()
    begin = content.index(b'"seal": "')
    for place, bit in itertools.product(range(begin, begin + 12), range(8)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        ledger.path.write_bytes(flipped)
        with pytest.raises(UsageError, match="not a ledger of version"):
            ledger.adopt()


def test_the_command_adopts_and_says_what_was_spent(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from geodp.cli.main import app

    path = tmp_path / "old.csv"
    write_old(path, [0.25, 0.5])
    done = CliRunner().invoke(app, ["publish", "adopt-ledger", str(path)])
    assert done.exit_code == 0, done.output
    assert "2 charges; spent so far: central 0.5" in done.output.replace("\n", " ")
    assert LedgerFile(path).read().find_remaining() == 0.5
