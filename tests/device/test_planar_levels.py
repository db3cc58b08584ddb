"""Groups of phones with levels of their own: on the phone, on the server, and for those who attack."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from geodp import plugin
from geodp.attacks.bayes_location import locate
from geodp.attacks.inference import Prior
from geodp.device.memory import Memory
from geodp.device.planar import PlanarDevice
from geodp.errors import BudgetSpent, UsageError
from geodp.geometry import Region
from geodp.privacy.ledger import Account, Ledger
from geodp.public.messages import Task
from geodp.public.release import Points
from geodp.server.assignment import ServerView
from geodp.server.density_from_points import density_from_points
from geodp.simulation.phones import Phones

TOWN = Region(-0.05, -0.05, 0.05, 0.05)
LN4 = math.log(4)
LEVELS = {"careful": {"l": LN4, "r_m": 1000, "share": 0.2}, "middling": {"l": LN4, "r_m": 500, "share": 0.3}}
NAMES = ("careful", "middling", "others")


def device(kind: str = "planar_laplace", **settings: Any) -> PlanarDevice:
    return plugin(kind, **{"level": LN4, "radius_m": 200, "levels": LEVELS, **settings})  # type: ignore[no-any-return]


def phones(size: int, ledger: Ledger | None = None, **more: Any) -> Phones:
    groups = np.array(NAMES)[np.arange(size) % 3]
    return Phones(
        device=more.pop("device", device()),
        ledger=ledger or Ledger(),
        when_spent=more.pop("when_spent", "reuse_last"),
        region=TOWN,
        size=size,
        pseudonyms=lambda ids: np.array([f"w{one:07d}" for one in ids.tolist()], dtype=np.str_),
        groups=groups,
        **more,
    )


def report(size: int, seed: int = 0, x_m: float = 0.0) -> Points:
    made = phones(size).report(0.0, np.full(size, x_m), np.zeros(size), np.random.default_rng(seed))
    assert made is not None
    return made


def test_each_group_has_its_mean_noise() -> None:
    """The page's goldens: ln 4 in 200 m is 288.5 m off on average, in 1 km 1442.7 m.

    Radii are Gamma(2, 1/ε): of 20,000 reports the mean is within 5.2 standard deviations with probability 2e-7.
    """
    made = report(60_000)
    assert made.group is not None
    for name, mean_m in (("others", 288.5), ("middling", 721.3), ("careful", 1442.7)):
        rows = made.group == name
        plain = device(clamp=False).for_group(name)
        assert 2 / plain.epsilon_per_m == pytest.approx(mean_m, abs=0.05)
        far = np.hypot(made.x_m[rows], made.y_m[rows])  # the town is 11 km wide: clamping changes nothing to speak of
        assert abs(far.mean() - mean_m) < 5.2 * mean_m / math.sqrt(2 * rows.sum()) + 0.01 * mean_m


def test_reports_carry_their_own_epsilon() -> None:
    made = report(9)
    assert made.epsilon_per_m is not None
    rates = [rate * TOWN.stretch for rate in (LN4 / 1000, LN4 / 500, LN4 / 200)]
    assert made.epsilon_per_m.tolist() == pytest.approx(rates * 3)
    laws = {law.epsilon_per_m: rows.tolist() for law, rows in made.by_law() if law is not None}
    assert laws == {LN4 / 1000: [0, 3, 6], LN4 / 500: [1, 4, 7], LN4 / 200: [2, 5, 8]}


def test_groups_pay_their_own_and_all_stop_together() -> None:
    ledger = Ledger(budgets={Account.METRIC: 3 * device().guarantee(TOWN).epsilon})
    town = phones(6, ledger)
    zeros, rng = np.zeros(6), np.random.default_rng(1)
    assert [town.report(float(number), zeros, zeros, rng) is not None for number in range(5)] == [True] * 3 + [
        False
    ] * 2
    rates = np.array([LN4 / 1000, LN4 / 500, LN4 / 200] * 2) * TOWN.stretch
    assert ledger.per_person(Account.METRIC)[:6] == pytest.approx(3 * rates)
    assert town.charged == pytest.approx(3 * rates)
    rows = ledger.to_frame().groupby("scope")["epsilon"].agg(["count", "max"])
    assert rows.index.tolist() == [f"group {name}" for name in NAMES]
    assert rows["count"].tolist() == [3, 3, 3]
    with pytest.raises(BudgetSpent):
        phones(6, Ledger(1e-6), when_spent="fail").report(0.0, zeros, zeros, rng)


def test_repeated_answers_cost_each_group_its_own_once() -> None:
    town = phones(6, memory=Memory(500.0))
    zeros, rng = np.zeros(6), np.random.default_rng(1)
    first, second = (town.report(float(number), zeros, zeros, rng) for number in range(2))
    assert first is not None
    assert second is not None
    assert first.x_m.tolist() == second.x_m.tolist()
    assert town.charged == pytest.approx(np.array([LN4 / 1000, LN4 / 500, LN4 / 200] * 2) * TOWN.stretch)


def test_phones_whose_group_nobody_tells_are_as_careful_as_any() -> None:
    x, y = device(clamp=False).report(np.zeros(20_000), np.zeros(20_000), rng=np.random.default_rng(2))
    assert np.hypot(x, y).mean() == pytest.approx(1442.7, rel=0.03)
    grid = device("planar_geometric", cell_m=50.0)
    assert np.hypot(
        *grid.report(np.zeros(20_000), np.zeros(20_000), rng=np.random.default_rng(2))
    ).mean() == pytest.approx(1442.7, rel=0.03)


def test_the_promise_says_what_each_group_gets() -> None:
    promise = device().guarantee()
    assert promise.epsilon == LN4 / 200
    assert dict(promise.by_group) == pytest.approx({"careful": LN4 / 1000, "middling": LN4 / 500, "others": LN4 / 200})
    assert "careful ε = 0.00138629 per metre" in promise.sentence()


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({"a": {"share": 0.7}, "b": {"share": 0.4}}, r"add up to 1\.1"),
        ({"a": {"share": 0.0}}, "nobody has the level 'a'"),
        ({"others": {"share": 0.2}}, "use another name"),
        ({"a": {"l": 0, "share": 0.2}}, "greater than 0"),
        ({"a b": {"share": 0.2}}, "name of a level"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        device(levels=levels)


def test_a_group_that_is_none_has_no_device() -> None:
    with pytest.raises(UsageError, match="no group of phones called 'nobody'"):
        device().for_group("nobody")


# -- whoever reads reports uses each one's own epsilon ----------------------------------------------------------------


def two_at(x_m: float) -> Points:
    """Return two reports at one place, of a careful and of another phone."""
    made = report(3)
    at = made.take(np.array([0, 2]))
    return replace(at, x_m=np.full(2, x_m), y_m=np.zeros(2))


def view(points: Points, **more: Any) -> ServerView:
    willing = plugin("linear", max_travel_m=1500)
    return ServerView(0.0, TOWN, points, willing, 100.0, 10.0, 1.0, **more)


@pytest.mark.parametrize("kind", ["nearest_report", "reachability"])
def test_servers_judge_each_phone_by_its_own_law(kind: str) -> None:
    """A careful phone that reports nearer is less likely near than another one: the other is asked first."""
    made = two_at(0.0)
    points = replace(made, x_m=np.array([300.0, 400.0]))
    settings = {"threshold": 0.01, "max_recipients": 1} if kind == "reachability" else {"target_success": 0.05}
    assignment = plugin(kind, **settings)
    task = [Task(0, 0.0, 0.0, 0.0, 900.0)]
    (offer,) = assignment.offers(task, view(points))
    assert offer.target.pseudonyms == (points.who[1],)
    assert points.group is not None
    swapped = replace(points, group=points.group[::-1])
    (offer,) = assignment.offers(task, view(swapped))
    assert offer.target.pseudonyms == (points.who[0],)


def test_attackers_read_each_report_by_its_own_law() -> None:
    """At the same place in a corner of the town a wide noise draws the guess further to where people can be."""
    points = two_at(TOWN.box_m[2] - 1.0)
    x, _ = locate(points, slice(None), Prior.uniform(TOWN), TOWN)
    assert x[0] < x[1] - 200
    for row, name in enumerate(("careful", "others")):
        alone = replace(points.take(np.array([row])), group=None, channels={}, channel=points.channels[name])
        assert locate(alone, slice(None), Prior.uniform(TOWN), TOWN)[0][0] == x[row]


def test_a_density_is_worked_out_group_by_group() -> None:
    """3,000 people about one place: with groups swapped they say something else; together more than the careful."""
    size = 3000
    rng = np.random.default_rng(4)
    x, y = rng.normal(0.0, 300.0, (2, size))
    made = phones(size).report(0.0, x, y, rng)
    assert made is not None
    assert made.group is not None
    found = density_from_points(made, TOWN)
    assert found.count.sum() == pytest.approx(size)

    def error(points: Points) -> float:
        estimate = density_from_points(points, TOWN)
        grid = estimate.grid
        scaled = estimate.count * size / estimate.count.sum()
        return float(np.abs(scaled - grid.count(x, y)).sum())

    swapped = replace(made, group=np.array(NAMES)[::-1][np.searchsorted(np.array(NAMES), made.group)])
    assert error(made) < error(swapped)
    careful = made.take(np.flatnonzero(made.group == "careful"))
    assert error(made) < error(careful)
