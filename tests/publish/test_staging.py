from pathlib import Path

import pytest

from geodp.errors import OutputError
from geodp.publish.staging import Staging


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(files: Staging, words: str) -> None:
    for target in files.targets:
        files.partial(target).write_text(words)


def test_files_appear_together_and_only_when_committed(tmp_path: Path) -> None:
    beside, last = tmp_path / "deep" / "beside", tmp_path / "deep" / "last"
    with Staging([beside, last], force=False) as files:
        write(files, "new")
        assert not beside.exists()
        files.commit()
    assert names(tmp_path / "deep") == ["beside", "last"]
    assert last.read_text() == "new"


def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    beside, last = tmp_path / "beside", tmp_path / "last"
    last.write_text("old")

    def crash() -> None:
        with Staging([beside, last], force=True) as files:
            write(files, "new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert names(tmp_path) == ["last"]
    assert last.read_text() == "old"


def test_a_replaced_output_never_stands_beside_a_foreign_guarantee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, last = tmp_path / "beside", tmp_path / "last"
    beside.write_text("old")
    last.write_text("old")
    seen = []
    rename = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.append((target.name, last.exists()))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    with Staging([beside, last], force=True) as files:
        write(files, "new")
        files.commit()
    assert seen == [("beside", False), ("last", False)]


def test_a_file_that_has_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    last = tmp_path / "last"
    with Staging([last], force=False) as files:
        last.write_text("theirs")
        with pytest.raises(OutputError, match="appeared in the meantime"):
            files.commit()
    assert last.read_text() == "theirs"


def test_a_place_that_cannot_be_written_to_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), Staging([tmp_path / "file" / "out"], force=False):
        pass
