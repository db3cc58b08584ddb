"""Words of others in summaries: shown as written, never markup."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodp.runs.run import run
from geodp.storage.markdown import as_code, as_words
from tests.small import small


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain words, 5 % of them; a_name.csv, x < 3 & y > 2", "plain words, 5 % of them; a_name.csv, x < 3 & y > 2"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<!-- end", "&lt;!-- end"),
        ("&lt;b>", "&amp;lt;b>"),
        ("![x](http://a.b)", r"!\[x\](http://a.b)"),
        ("*a* _b_ ~c~ `d` $e$", r"\*a\* \_b\_ \~c\~ \`d\` \$e\$"),
        ("a | b", r"a \| b"),
        ("# not a heading\n\n- nor a list", r"\# not a heading - nor a list"),
        ("- x", r"\- x"),
        ("12. x", "1&#50;. x"),
        ("0.5 is half", "0.5 is half"),
        ("> x", r"\> x"),
        ("a\x1b[31mb\u202ec", "a\ufffd\\[31mb\ufffdc"),
        ("back\\slash", "back\\\\slash"),
    ],
)
def test_words_are_shown_as_they_were_written(text: str, written: str) -> None:
    assert as_words(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("plain", "`plain`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("a|b", r"`a\|b`"), ("a\nb", "`a b`")],
)
def test_code_stays_code_whatever_it_holds(text: str, written: str) -> None:
    assert as_code(text) == written


def test_a_summary_quotes_what_a_scenario_says(tmp_path: Path) -> None:
    about = "<img src=x onerror=alert(1)>\n\n# A heading\n\n[a link](javascript:alert(1)) `code` {{ 7*7 }}"
    changes = {
        "about": about,
        "duration_s": 600,
        "workers.source.count": 200,
        "compare": {"one": {}, "two": {"about": "a `b` <i>c</i> | d"}},
    }
    folder = run(small(changes), tmp_path / "run", draw_map=False).path
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("summary.md", "arms/one/summary.md")]
    for page in pages:
        assert "&lt;img src=x onerror=alert(1)> # A heading \\[a link\\](javascript:alert(1)) \\`code\\`" in page
        assert "\n# A heading" not in page
    assert "`` about: a `b` <i>c</i> \\| d ``" in pages[0]
