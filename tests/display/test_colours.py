"""Colours keep their roles apart."""

from __future__ import annotations

from geodp.display import colours


def test_no_two_roles_share_a_colour() -> None:
    names = [
        "SUCCESS",
        "FAILURE",
        "UNREACHABLE",
        "CENSORED",
        "WAITING",
        "OFFER",
        "TRAVELLING",
        "IDLE",
        "REPORT",
        "GUESS",
    ]
    used = [getattr(colours, name) for name in names]
    assert len({*used, *colours.RELEASED, *colours.TRUE}) == len(used) + 10


def test_a_ramp_meets_its_ends_and_its_middle() -> None:
    ramp = ("#000000", "#ff0000", "#ffffff")
    assert colours.along(ramp, [0, 0.5, 1, 2]) == ["#000000", "#ff0000", "#ffffff", "#ffffff"]


def test_ramps_darken_steadily() -> None:
    for ramp in (colours.RELEASED, colours.TRUE):
        brightness = [sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in ramp]
        assert brightness == sorted(brightness, reverse=True)


def test_a_quarter_of_the_top_density_lies_halfway() -> None:
    assert colours.density_share([0, 25, 100, -5], 100).tolist() == [0, 0.5, 1, 0]
