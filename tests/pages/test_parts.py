"""Pages: others' words stay words, numbers are readable, tables sort."""

import math

import pytest

from geodp.metrics import Measured
from geodp.pages.html import build_element, build_link, render_line
from geodp.pages.labels import capitalise, find_label, find_labels, say_value
from geodp.pages.parts import Column, Entry, Row, Scale, build_measured, build_page, build_table
from geodp.pages.quantity import with_interval

HOSTILE = "<script>alert(1)</script>{{7*7}}{% x %}\"'&"


def test_words_of_others_never_become_html() -> None:
    page = build_page(HOSTILE, build_element("p", HOSTILE, title=HOSTILE), build_link(HOSTILE, f"a b/{HOSTILE}"))
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 4
    assert "{{7*7}}" in page  # as written: no template ever sees it


def test_shapes_of_drawings_are_closed_so_that_all_of_them_are_drawn() -> None:
    bar = build_measured(find_label("success_rate"), Measured(0.5, 0.4, 0.6), Scale(0.0, 1.0)).text
    assert str(bar).count("<line ") == 3
    assert str(bar).count("/>") == 3


def test_a_line_of_our_own_markdown_becomes_html_and_tags_in_it_stay_text() -> None:
    assert render_line("**a** `b<i>` *c* <b>") == "<strong>a</strong> <code>b&lt;i&gt;</code> <em>c</em> &lt;b&gt;"


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (Measured(-6.28e-15), "0 m"),
        (Measured(math.nan), "–"),
        (Measured(None), "–"),
        (Measured(math.inf), "∞"),
        (Measured(3.0, math.nan, math.nan), "3 m"),
        (Measured(-1e-12, -2e-12, 1e-12), "0 m (0 to 0)"),
    ],
)
def test_no_page_shows_nan_or_what_arithmetic_leaves_of_zero(measured: Measured, text: str) -> None:
    assert with_interval(measured, "m") == text


def test_a_dotted_path_is_called_by_its_field_and_two_alike_are_told_apart() -> None:
    assert find_label("curator.mechanism.cell_m").unit == "m"
    assert find_label("server.assignment.target_success").words == "target success"
    assert "." not in find_label("tasks.demand.per_hour").words
    alike = find_labels(["curator.mechanism.cell_m", "device.mechanism.cell_m"])
    assert len({label.words for label in alike.values()}) == 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("curator.mechanism.kind", "mechanism"),
        ("device.mechanism.kind", "mechanism on the phone"),
        ("workers.mobility.kind", "mobility"),
        ("attacks.0.kind", "attacks"),
    ],
)
def test_a_kind_is_called_by_what_it_chooses(path: str, words: str) -> None:
    assert find_label(path).words == words


def test_every_key_that_a_region_can_fail_with_has_words() -> None:
    assert find_label("failed_no_acceptance").words == "tasks that failed: no acceptance"
    assert find_label("density_error_read").words == "error of the density as the server reads it"


@pytest.mark.parametrize(("words", "begun"), [("tasks taken", "Tasks taken"), ("ε spent", "ε spent"), ("", "")])
def test_a_sentence_begins_with_a_capital_and_never_with_one_of_epsilon(words: str, begun: str) -> None:
    assert capitalise(words) == begun


def test_values_are_said_in_words() -> None:
    assert say_value("curator.mechanism", {"kind": "adaptive_grid", "epsilon": 0.3}) == "adaptive grid, ε 0.3"
    assert say_value("curator.mechanism.cell_m", 1500) == "1.5 km"
    assert say_value("server.assignment.max_recipients", None) == "not set"
    assert say_value("yardstick", True) == "yes"


def test_cells_of_a_table_carry_what_they_are_sorted_by() -> None:
    number = build_measured(find_label("travel_distance_m"), Measured(1234.5))
    unknown = build_measured(find_label("travel_distance_m"), Measured(None))
    table = build_table([Column("far")], [Row([number]), Row([unknown]), Row([Entry("a")])])
    assert 'data-sort="1234.5"' in table
    assert 'data-sort=""' in table  # the unknown is last in either order
    assert "<button" in table
