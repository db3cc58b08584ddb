"""YAML is read whole or refused with its line, whatever stands in it."""

from pathlib import Path
from typing import Any

import pytest

from geodp.errors import DataError, ScenarioError
from geodp.scenario.file import parse_override, read_yaml
from geodp.scenario.yaml_text import MOST_DEPTH, MOST_VALUES, YamlProblem, parse_yaml

BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, f"line 1, column {MOST_DEPTH + 1}: nested more than {MOST_DEPTH} deep"),
        ("- " * 100_000 + "a", "nested more than"),
        ("a: &a [*a]", "the alias *a stands inside what it names"),
        ("a: *b", "names nothing that was marked before"),
        (BOMB, f"more than {MOST_VALUES:,} keys and values"),
        ("a: !!int x", "line 1, column 4: 'x' is not a whole number"),
        ("a: !!float x", "is not a number"),
        ("a: !!bool x", "is not true or false"),
        ("a: !!timestamp x", "is not supported"),
        ("a: !!python/object/apply:os.getcwd []", "is not supported"),
        ('a: "x\\0y"', "no text"),
        ("a: " + "9" * 5000, "a number of 5,000 characters"),
        ("a: " + "9" * 40, "more than 18 digits"),
        ("a: 1\nb:\n\tc: 1", "line 3, column 1: a tab stands at the start of the line: YAML takes spaces only"),
        ("a: 1\na: 2", "line 2, column 1: the key 'a' is written twice"),
        ("a: 1\n---\nb: 1", "a second document"),
        ("? [a]\n: b", "a key must be a word"),
        ("<<: 3", "'<<' takes a mapping"),
        ("\x00\x01", "control characters are not allowed"),
    ],
)
def test_text_that_is_no_file_of_settings_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(YamlProblem) as refused:
        parse_yaml(text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("x: {<<: [{a: 1}, {a: 2, b: 2}], c: 3}", {"x": {"a": 1, "b": 2, "c": 3}}),
        ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        ("no: yes\n1: 0x10", {"no": True, "1": 16}),
        ("a: 2024-02-30\nb: 8:30\nc: .inf\nd: ~\ne: 1_000\nf: '1'", {"a": "2024-02-30", "b": 510, "c": float("inf"),
                                                                      "d": None, "e": 1000, "f": "1"}),
        ("", None),
        ("- a\n- {b: c}", ["a", {"b": "c"}]),
    ],
)  # fmt: skip
def test_settings_are_read_as_they_are_written(text: str, value: Any) -> None:
    assert parse_yaml(text) == value


def test_places_that_share_an_alias_can_be_set_apart() -> None:
    read = parse_yaml("a: &x {b: 1}\nc: *x")
    read["c"]["b"] = 2
    assert read["a"]["b"] == 1


def test_files_of_every_sort_get_an_answer_that_names_them(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(1 << 34)
    utf16 = tmp_path / "utf16.yaml"
    utf16.write_text("geodp: 1", encoding="utf-16")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nname: caf\xe9\n")
    for path, words in {
        pipe: "is a pipe or a device",
        Path("/dev/zero"): "is a pipe or a device",
        huge: "has 16,384 MB",
        tmp_path: "is a folder",
        utf16: "UTF-16; save it as UTF-8",
        latin: "line 2 is not UTF-8",
        Path("a\0b"): "no such file",
        Path("x" * 5000): "no such file",
    }.items():
        with pytest.raises(DataError) as refused:
            read_yaml(path)
        assert words in str(refused.value)
        assert str(path) in str(refused.value)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_text("geodp: 1", encoding="utf-8-sig")
    assert read_yaml(path) == {"geodp": 1}


def test_a_list_of_problems_is_cut_and_counted() -> None:
    error = ScenarioError("x.yaml", [(f"key{number}", "unknown key") for number in range(200_000)])
    assert len(str(error).splitlines()) == 12
    assert str(error).splitlines()[0] == "x.yaml: 200,000 problems"
    assert str(error).endswith("… and 199,990 more")


def test_values_of_set_are_read_the_same_way() -> None:
    assert parse_override("a.b={<<: {c: 1}, d: 2024-01-01}") == ("a.b", {"c": 1, "d": "2024-01-01"})
