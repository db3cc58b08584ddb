"""The caption says what was promised, what was spent, and whether the map may be published."""

from __future__ import annotations

from geodp.display.caption import PUBLIC, SIMULATED, TRUTH, caption
from geodp.display.released_only import ReleasedOnly
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Made


def test_a_map_with_true_positions_says_so(plain: RunFolder) -> None:
    text = caption(plain, [], public=False)
    assert TRUTH in text
    assert PUBLIC not in text


def test_a_public_map_says_so_and_that_its_noise_is_simulated(plain: RunFolder) -> None:
    text = caption(ReleasedOnly(plain.path), [], public=True)
    assert PUBLIC in text
    assert SIMULATED in text
    assert TRUTH not in text


def test_guarantee_and_budget_are_stated_in_both_neighbour_relations(plain: RunFolder) -> None:
    text = caption(plain, [], public=False)
    assert "by a factor of at most e^ε, ε = 0.3." in text
    assert "3 releases. Spent per person: ε = 0.9 (add/remove), 1.8 (replace)." in text


def test_arms_with_the_same_promise_share_it(arms: RunFolder) -> None:
    assert "<b>contour, exact</b>: Hides one worker" in caption(arms, [], public=False)


def test_words_of_the_user_are_escaped(make_run: Made) -> None:
    run = make_run(about="<script>alert('a & b')</script>", tasks=1, movers=1, releases=1)
    text = caption(run, ["<b>5</b> of 9"], public=False)
    assert "&lt;script&gt;alert(&#x27;a &amp; b&#x27;)&lt;/script&gt;" in text
    assert "<script" not in text
    assert "<li>&lt;b&gt;5&lt;/b&gt; of 9</li>" in text


def test_a_run_without_releases_says_so(make_run: Made) -> None:
    assert "Nothing was released." in caption(make_run(releases=0, tasks=1, movers=1), [], public=False)
