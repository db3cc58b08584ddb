"""Attacks on histories: toys by hand, and figures on world W (means over 4 worlds, tolerance stated on the page)."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm, rankdata

from geodp.attacks.companion_pairs import score_pairs
from geodp.attacks.home_work import geometric_median
from geodp.attacks.markov_linkage import log_likelihoods, match_one_to_one
from geodp.attacks.membership import score_knowing_others, score_knowing_past, solve_memberships
from geodp.attacks.recovery import recover, to_people
from geodp.attacks.slots import SlotTable
from geodp.attacks.synthetic_membership import Chain, choose_order, score_by_density
from geodp.attacks.top_n import match_sets
from geodp.attacks.unicity import TraceIndex
from geodp.figures.made_week import CELLS, COLUMNS, HOURS, Integers, MadeWeek, coarsen, count_people, middles
from geodp.public.count_laws import CountLaw

NAMES = np.array([f"{number:06d}" for number in range(2000)])


def auc(score: np.ndarray, member: np.ndarray) -> float:
    rank = rankdata(score)
    inside, outside = int(member.sum()), int((~member).sum())
    return float((rank[member].sum() - inside * (inside + 1) / 2) / (inside * outside))


def matrix_of(table: Integers) -> csr_matrix:
    column = np.tile(np.arange(HOURS) * CELLS, len(table)) + table.ravel()
    return csr_matrix(
        (np.ones(table.size), (np.repeat(np.arange(len(table)), HOURS), column)), (len(table), HOURS * CELLS)
    )


def test_unicity_of_four_short_traces_by_hand() -> None:
    traces = np.array([[1, 1, 2], [1, 2, 2], [1, 1, 3], [2, 2, 2]])
    index = TraceIndex.of(SlotTable.of_table(traces))
    for points, unique, total in ((1, 2, 12), (2, 6, 12), (3, 4, 4)):
        found = [
            index.matches(np.array(slots), traces[person, list(slots)]).size
            for person in range(4)
            for slots in itertools.combinations(range(3), points)
        ]
        assert (sum(size == 1 for size in found), len(found)) == (unique, total)


def test_the_index_finds_what_comparing_everybody_finds() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(0, 3, (30, 8))
    index = TraceIndex.of(SlotTable.of_table(table, 3))
    for person in range(30):
        slots = rng.choice(8, 3, replace=False)
        brute = np.flatnonzero((table[:, slots] == table[person, slots]).all(axis=1))
        assert index.matches(slots, table[person, slots]).tolist() == brute.tolist()
    assert index.matches(np.array([99]), np.array([0])).size == 0


def test_unicity_of_the_week() -> None:
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = MadeWeek.people(1000, rng).walk(rng)
        row = []
        for hours, cells in ((1, 1), (6, 1), (24, 2)):
            index = TraceIndex.of(SlotTable.of(NAMES[:1000], *coarsen(table, hours, cells), CELLS))
            coarse = table // COLUMNS // cells * -(-COLUMNS // cells) + table % COLUMNS // cells
            picks = [rng.choice(HOURS, 4, replace=False) for _ in range(1000)]
            sizes = [index.matches(pick // hours, coarse[who, pick]).size for who, pick in enumerate(picks)]
            row.append(np.mean(np.array(sizes) == 1))
        found.append(row)
    # worlds differ by .02 (standard deviation): .05 are 3.5 standard errors of a difference of two means of four
    assert np.mean(found, axis=0) == pytest.approx([0.70, 0.46, 0.01], abs=0.05)


def test_markov_linkage_by_hand() -> None:
    known, now = np.array([[0, 1, 0, 1], [0, 0, 1, 1]]), np.array([[0, 1, 0, 0]])
    scores = log_likelihoods(SlotTable.of_table(known), SlotTable.of_table(now, 2), np.full(2, 0.5))
    assert scores[0] == pytest.approx([-2.0794, -2.4849], abs=1e-4)


def test_linkage_of_the_week() -> None:
    chain, sets = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        people = MadeWeek.people(1000, rng)
        first, second = people.walk(rng), people.walk(rng)
        row = []
        for hours in (24, HOURS):
            before, now = SlotTable.of_table(first[:, :hours], CELLS), SlotTable.of_table(second[:, :hours], CELLS)
            popularity = before.histograms().sum(axis=0) + 1
            scores = log_likelihoods(before, now, popularity / popularity.sum())
            row.append(np.mean(scores.argmax(axis=1) == np.arange(1000)))
        chain.append(row)
        before, now = SlotTable.of_table(first, CELLS), SlotTable.of_table(second, CELLS)
        tops = [match_sets(before, now, number) for number in (2, 5)]
        sets.append([top.weight[top.target == top.who].sum() / 1000 for top in tops if top.weight is not None])
    assert np.mean(chain, axis=0) == pytest.approx([0.75, 0.99], abs=0.03)
    assert np.mean(sets, axis=0) == pytest.approx([0.47, 0.59], abs=0.02)


def test_one_to_one_gives_everyone_another() -> None:
    assert match_one_to_one(np.array([[3.0, 2.0], [2.5, 0.0]])).tolist() == [1, 0]


def test_evidence_of_others_by_hand() -> None:
    law = CountLaw("laplace", scale=2.0)
    found = score_knowing_others(np.array([0.2, 1.4]), np.zeros(2), law, np.zeros(2, dtype=np.int64), 1)
    assert found == pytest.approx([0.2])


def test_the_optimal_attacker_meets_theory_and_refutes_half_the_noise() -> None:
    """One count, ε = 1: AUC .724 of the right noise, .865 of half of it; 400,000 draws have an error of .0008."""
    rng = np.random.default_rng(5)
    member = rng.random(400_000) < 0.5
    for scale, expected in ((1.0, 0.724), (0.5, 0.865)):
        law = CountLaw("laplace", scale=1.0)
        score = law.log_ratio(member + rng.laplace(0, scale, member.size), np.zeros(member.size))
        assert auc(score, member) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("rule", "true", "released"),
    [
        ({"least": 10}, [9, 10, 11], [0, 10, 11]),
        ({"base": 5}, [2, 3, 7, 8], [0, 5, 5, 10]),
        ({"least": 10, "base": 5}, [9, 12, 13], [0, 10, 15]),
    ],
)
def test_rules_by_hand(rule: dict[str, int], true: list[int], released: list[int]) -> None:
    law = CountLaw("both", **rule)
    assert law.apply_rule(true).tolist() == released
    assert law.log_ratio(law.apply_rule(np.array(true)), np.array(true)).max() <= 0  # she is out: nothing says in


def test_rounding_tells_for_certain_where_one_more_crosses() -> None:
    law = CountLaw("round", base=5)
    assert law.log_ratio([5.0, 0.0, 0.0], [2.0, 2.0, 1.0]).tolist() == [50.0, -50.0, 0.0]


@pytest.mark.slow
def test_membership_of_the_week() -> None:
    rng = np.random.default_rng(1)
    people = MadeWeek.people(2000, rng)
    table = people.walk(rng)
    root = np.sqrt(people.popularity) / np.sqrt(people.popularity).sum()
    others = MadeWeek(
        rng.choice(CELLS, 1000, p=root),
        rng.choice(CELLS, 1000, p=people.popularity),
        rng.choice(CELLS, (1000, 3), p=people.popularity),
        people.popularity,
    )
    member = np.arange(2000) < 1000
    counts = count_people(table[member]).ravel().astype(float)
    candidates, strangers = matrix_of(table), matrix_of(others.walk(rng))
    used = np.flatnonzero(np.asarray(candidates.sum(axis=0)).ravel() > 0)
    person, column = np.repeat(np.arange(2000), HOURS), np.tile(np.arange(HOURS) * CELLS, 2000) + table.ravel()
    rest = counts[column] - member[person]
    expected = {
        ("exact", 0.0, 0, 1): (1.0, 1.0, 0.74),
        ("suppress", 0.0, 10, 1): (1.0, 1.0, 0.72),
        ("suppress", 0.0, 20, 1): (1.0, 1.0, 0.68),
        ("round", 0.0, 0, 5): (1.0, 0.997, 0.77),
        ("round", 0.0, 0, 10): (1.0, 0.93, 0.74),
        ("round", 0.0, 0, 20): (1.0, 0.80, 0.71),
        ("both", 0.0, 10, 5): (1.0, 0.994, 0.75),
        ("laplace", 1.0, 0, 1): (1.0, 0.996, 0.75),
        ("laplace", 10.0, 0, 1): (0.822, 0.68, 0.62),
        ("laplace", 16.8, 0, 1): (0.704, 0.61, 0.59),
        ("laplace", 168.0, 0, 1): (0.513, 0.51, 0.52),
    }
    for (kind, scale, least, base), figures in expected.items():
        law = CountLaw(kind, scale, least, base)  # type: ignore[arg-type]
        y = law.apply_rule(counts) + (rng.laplace(0, scale, counts.size) if scale else 0.0)
        knowing = score_knowing_others(y[column], rest, law, person, 2000)
        together = solve_memberships(candidates[:, used], y[used], law.variance(y)[used])
        past = score_knowing_past(candidates, y, law.variance(y), strangers, 1000.0)
        found = tuple(auc(score, member) for score in (knowing, together, past))
        assert found == pytest.approx(figures, abs=0.035), (kind, scale, least, base)
        if kind == "laplace" and scale > 2:
            assert found[0] == pytest.approx(norm.cdf(math.sqrt(84) / scale), abs=0.03)


def test_whole_people_by_largest_remainders() -> None:
    assert to_people(np.array([-1.0, 2.5, 2.5, 5.0]), 4).tolist() == [0, 1, 1, 2]
    assert to_people(np.zeros(3), 4).sum() == 4


def test_recovery_by_hand() -> None:
    """Counts 210, 120, 201 on cells 0, 1, 2 km: one goes on (2 + .01), then one goes to 2 km: the least moves."""
    counts = np.array([[2.0, 1, 0], [1, 2, 0], [2, 0, 1]])
    tracks = recover(counts, np.array([0.0, 1000, 2000]), np.zeros(3), 3)
    for hour, row in enumerate(counts):
        assert np.bincount(tracks[:, hour], minlength=3).tolist() == row.tolist()
    moved = [int(np.count_nonzero(np.diff(tracks, axis=1)[:, hour])) for hour in range(2)]
    assert moved == [1, 2]


@pytest.mark.slow
def test_recovery_of_the_week() -> None:
    found = []
    x, y = middles()
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        table = MadeWeek.people(300, rng).walk(rng)
        counts = count_people(table).astype(float)
        shuffled = np.stack([rng.permutation(table[:, hour]) for hour in range(HOURS)], axis=1)
        tried = [recover(counts, x, y, 300, literal=True), recover(counts, x, y, 300), shuffled]
        noisy = [recover(counts + rng.laplace(0, scale, counts.shape), x, y, 300) for scale in (1, 10, 168)]
        found.append([hours_right(tracks, table) for tracks in tried + noisy])
        found[-1].append(float(np.mean(table == counts.argmax(axis=1))))
    assert np.mean(found, axis=0) == pytest.approx([0.38, 0.50, 0.09, 0.45, 0.24, 0.13, 0.13], abs=0.03)


def hours_right(tracks: Integers, truth: Integers) -> float:
    same = np.stack([(tracks == row).sum(axis=1) for row in truth], axis=1).astype(float)
    return float(same[np.arange(len(tracks)), match_one_to_one(same)].sum() / truth.size)


def made_by_chain(train: list[Integers], order: int, number: int, rng: np.random.Generator) -> list[Integers]:
    """Draw days from an unsmoothed chain of some order."""
    after: dict[tuple[int, ...], list[int]] = {}
    for day in train:
        for hour in range(len(day)):
            for length in range(min(order, hour) + 1):
                after.setdefault(tuple(day[hour - length : hour]), []).append(int(day[hour]))
    made = []
    for _ in range(number):
        drawn = [int(train[rng.integers(len(train))][0])]
        while len(drawn) < 24:
            length = min(order, len(drawn))
            while tuple(drawn[len(drawn) - length :]) not in after:
                length -= 1
            choices = after[tuple(drawn[len(drawn) - length :])]
            drawn.append(choices[rng.integers(len(choices))])
        made.append(np.array(drawn))
    return made


@pytest.mark.slow
def test_the_density_ratio_finds_what_was_learnt_by_heart() -> None:
    """500 person-days learnt, 2,000 made, 1,000 strangers as reference; chance is .50 ± .02."""
    rng = np.random.default_rng(1)
    days = list(MadeWeek.people(2000, rng).walk(rng, 24))
    member = np.arange(1000) < 500
    for order, expected in ((3, 0.99), (2, 0.97), (1, 0.84)):
        made = made_by_chain(days[:500], order, 2000, rng)
        score = score_by_density(days[:1000], made, days[1000:], CELLS, order)
        assert auc(score, member) == pytest.approx(expected, abs=0.04)
    assert choose_order(made_by_chain(days[:500], 1, 2000, rng), CELLS) == 1


def test_a_chain_is_a_law() -> None:
    """The chances of what may follow sum to 1, whatever was seen."""
    chain = Chain([np.array([0, 1, 2, 0, 1])], 3, 2)
    for before in itertools.product(range(3), repeat=2):
        total = sum(
            math.exp(3 * chain.log_likelihood(np.array([*before, last])) - 2 * chain.log_likelihood(np.array(before)))
            for last in range(3)
        )
        assert total == pytest.approx(1.0)


def test_the_geometric_median_is_the_place_of_most_weight() -> None:
    assert geometric_median(np.array([0.0, 0, 9]), np.array([0.0, 0, 9]), np.ones(3)) == pytest.approx((0, 0), abs=0.01)
    assert geometric_median(np.array([0.0, 9]), np.zeros(2), np.array([1.0, 3]))[0] == pytest.approx(9, abs=0.01)


def test_those_who_move_together_are_found() -> None:
    """40 pairs among 400, half their hours together, ln 4 per 200 m: AUC .99 of 24 reports; chance .50."""
    rng = np.random.default_rng(1)
    x, y = middles()
    table = MadeWeek.people(400, rng).walk(rng, 24)
    east, north = (middle[table] + rng.uniform(-500, 500, table.shape) for middle in (x, y))
    for pair in range(40):
        together = rng.random(24) < 0.5
        for place in (east, north):
            place[2 * pair + 1, together] = place[2 * pair, together]
    radius, angle = rng.gamma(2, 200 / math.log(4), table.shape), rng.uniform(0, 2 * np.pi, table.shape)
    reports = east + radius * np.cos(angle), north + radius * np.sin(angle)
    pairs = np.triu_indices(400, 1)
    true = (pairs[1] == pairs[0] + 1) & (pairs[0] % 2 == 0) & (pairs[0] < 80)
    assert auc(score_pairs(*reports, math.log(4) / 200, pairs), true) > 0.98
