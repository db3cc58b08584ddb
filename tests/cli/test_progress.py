import io
import sys
import time

import pytest

from geodp.cli import progress
from geodp.cli.progress import WholeShare, show_audits, show_progress, time_left
from geodp.tables.progress import count_rows, go_through, watch_progress


class Screen(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def test_the_share_of_the_whole_never_falls() -> None:
    whole = WholeShare({"running": 3.0, "map": 1.0}, ("a", "b"))
    told = [("a: running", 0.5), ("a: map", 1.0), ("a: running", 0.2), ("b: running", 0.0), ("odd", 0.4), ("b: map", 9)]
    assert [whole.move_to(*one) for one in told] == [0.1875, 0.5, 0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("share", "elapsed_s", "words"),
    [(0.5, 10, "about 10 s left"), (0.1, 600, "about 1.5 h left"), (0.001, 10, ""), (0.5, 0.5, "")],
)
def test_the_time_left_is_said_once_it_can_be_known(share: float, elapsed_s: float, words: str) -> None:
    assert time_left(share, elapsed_s) == words


def test_one_line_with_phase_and_time_left_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_LEAST_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with show_progress({"reading": 1.0, "writing": 1.0}, quiet=False) as tell:
        tell("reading", 0.5)
        deadline = time.monotonic() + 20
        while "left" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "reading" in screen.getvalue()
    assert "left" in screen.getvalue()


@pytest.mark.parametrize("terminal", ["dumb", "", "unknown"])
def test_where_no_line_can_be_written_over_none_is_shown(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    monkeypatch.setenv("TERM", terminal)
    with show_progress(quiet=False) as tell:
        tell("reading", 0.5)
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_what_ends_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 3600.0)
    with show_progress(quiet=False) as tell:
        tell("reading", 0.5)
    assert "reading" not in screen.getvalue()


@pytest.mark.parametrize(("quiet", "stream"), [(True, Screen()), (False, io.StringIO())])
def test_nobody_who_does_not_watch_is_told(quiet: bool, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    with show_progress(quiet=quiet) as tell:
        tell("reading", 0.5)
    assert stream.getvalue() == ""


def test_audits_share_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    monkeypatch.setattr(sys, "stderr", Screen())

    class Heard:
        def __enter__(self) -> object:
            return lambda _phase, share: seen.append(round(share, 3))

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr(progress, "show_progress", lambda **_: Heard())
    with show_audits(2, quiet=False) as (tell, advance):
        tell("following pairs", 1.0)
        tell("sampling pairs", 1.0)
        advance()
        tell("following pairs", 0.5)
    assert seen == [0.2, 0.5, 0.6]


def test_rows_are_told_by_their_share_and_only_to_who_watches() -> None:
    asked: list[float] = []

    def total() -> float:
        asked.append(4.0)
        return 4.0

    assert list(count_rows("reading", ["ab", "cd"], len, total)) == ["ab", "cd"]
    assert asked == []
    seen: list[float] = []
    with watch_progress(lambda _phase, share: seen.append(share)):
        assert list(count_rows("reading", ["ab", "cd"], len, total)) == ["ab", "cd"]
        assert list(go_through("adding", [1])) == [1]
    assert seen == [0.0, 0.5, 1.0, 0.0, 1.0]
