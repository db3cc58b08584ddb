"""The caption says what was promised, what was spent, and whether the map may be published."""

from __future__ import annotations

import pytest

from geodp.display.caption import PUBLIC, SIMULATED, TRUTH, caption, privacy_line, title_of
from geodp.display.released_only import ReleasedOnly
from geodp.public.guarantee import Guarantee
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


@pytest.mark.parametrize(
    ("about", "title"),
    [
        ("Couriers in a city. Every ten minutes somebody counts.", "Couriers in a city"),
        ("Which ε? A test.", "Which ε?"),
        ("The geocast of To et al. in Phoenix. More.", "The geocast of To et al. in Phoenix"),
        ("", "name"),
        ("ε = 0.3 is asked for. More.", "ε = 0.3 is asked for"),
        (
            "The operator publishes counts of everybody; " + "and so on " * 10,
            "The operator publishes counts of everybody",
        ),
        ("word " * 40, " ".join(["word"] * 18) + " …"),
    ],
)
def test_a_map_is_called_by_the_first_sentence_about_it(about: str, title: str) -> None:
    assert title_of(about, "name") == title


def test_the_short_line_counts_everything_and_calls_weak_what_is_weak(make_run: Made) -> None:
    few = {"tasks": 1, "movers": 1}
    assert privacy_line(make_run(releases=3, **few)) == (
        "ε = 0.9 per person (3 releases): the odds about one person may change by a factor of 2.5",
        "strong",
    )
    line, strength = privacy_line(make_run(releases=35, **few))
    assert line.startswith("ε = 10.5 per person (35 releases)")
    assert strength == "weak"
    broken = make_run(releases=1, guarantee=Guarantee.none("exact counts"), **few)
    assert privacy_line(broken) == ("no privacy guarantee: whoever sees this sees people", "none")
    assert privacy_line(make_run(releases=0, **few))[0] == "nothing was released"


def test_reports_of_phones_are_judged_by_all_of_them_over_a_short_walk(make_run: Made) -> None:
    run = make_run(releases=4, tasks=1, movers=1, guarantee=Guarantee.per_metre(0.02))
    line, strength = privacy_line(run)
    assert "ε = 16 between places 200 m apart (4 reports of a phone)" in line
    assert strength == "weak"


def test_metres_along_a_tree_are_not_said_to_be_metres_on_the_ground(make_run: Made) -> None:
    along = Guarantee.per_metre(0.00065, metric="along the public tree")
    line, strength = privacy_line(make_run(releases=6, tasks=1, movers=1, guarantee=along))
    assert "ε = 0.78 between places 200 m apart along a public tree or graph (6 reports of a phone)" in line
    assert "nothing is promised per metre on the ground" in line
    assert "factor" not in line
    assert strength == "weak"


def test_the_rest_stands_behind_a_fold(plain: RunFolder) -> None:
    text = caption(plain, ["5 of 9"], public=False)
    before, fold = text.split("<details")
    assert 'class="geodp-strength strong">strong</span> ε = 0.9 per person' in before
    assert "Hides one worker" not in before
    assert "Hides one worker" in fold
    assert "5 of 9" in fold


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
