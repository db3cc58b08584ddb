"""Scores of published venue counts, by hand and in a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.run_folder.visit_scores import absolute_errors, relative_errors, top_accuracy, top_venues
from tests.small import small


def test_errors_by_hand() -> None:
    released, true = [3.0, -1.0, 20.0, 4.0], [1, 0, 10, 4]
    assert absolute_errors(released, true).tolist() == [2, 1, 10, 0]
    # 0.1 % of 2,000 users is 2: the first two are divided by 2, the third by its own 10
    assert relative_errors(released, true, 2000).tolist() == [1.0, 0.5, 1.0, 0.0]
    assert top_venues(true, 2).tolist() == [2, 3]


def test_publishing_zeros_can_look_good_in_relative_errors() -> None:
    """Mean count 1.08 among 196,591 users: relative to the bound of 196.6, zeros are off by 0.55 %."""
    true = np.full(1000, 1.08)
    assert relative_errors(np.zeros(1000), true, 196_591).mean() == pytest.approx(0.0055, abs=1e-4)


def test_ties_at_the_border_count_by_luck() -> None:
    true = np.arange(10)
    assert top_accuracy(true, true, 3) == 1.0
    assert top_accuracy(-true, true, 3) == 0.0
    assert top_accuracy(np.zeros(10), true, 3) == pytest.approx(0.3), "three of ten at random"
    grouped = np.repeat([1.0, 2.0], 5)  # the top five share a number: three of them are drawn
    assert top_accuracy(grouped, true, 3) == pytest.approx(3 * 3 / 5 / 3)
    assert top_accuracy(true, true, 50) == 1.0, "more than there are"


PUBLISHED: list[dict[str, Any]] = [
    {"kind": "laplace_counts", "epsilon": 1e9, "cap": 1000},
    {"kind": "zeros"},
    {"kind": "grouping_smoothing", "epsilon": 1.0, "cap": 5, "grouping": "space"},
    {"kind": "dpsense", "epsilon": 1.0, "max_theta": 20},
]


def test_a_run_scores_every_publication_of_counts_and_charges_each(tmp_path: Path) -> None:
    scenario = small({"publish": PUBLISHED, "curator.budget": {"epsilon": 2e9}})
    metrics = geodp.run(scenario, tmp_path / "run").metrics
    assert metrics["mae"] == pytest.approx(0.0, abs=1e-3)
    assert metrics["topk_accuracy"] == 1.0
    assert metrics["mre_1"] is not None
    zeros, near = metrics["mae_1"], metrics["mae_2"]
    assert zeros is not None
    assert near is not None
    assert near > 0
    assert metrics["topk_mre_1"] == pytest.approx(1.0), "zeros miss all of a large count"
    import pandas as pd

    told = pd.read_parquet(tmp_path / "run" / "releases" / "publications" / "2-grouping_smoothing.parquet")
    assert list(told.columns) == ["venue", "count", "lon", "lat", "geometry"]
    exact = pd.read_parquet(tmp_path / "run" / "truth" / "publications" / "1-zeros" / "counts.parquet")
    assert exact["count"].mean() == pytest.approx(zeros)
    ledger = pd.read_parquet(tmp_path / "run" / "ledger.parquet")
    charged = ledger[ledger["mechanism"].isin([item["kind"] for item in PUBLISHED])]
    assert sorted(charged["mechanism"]) == ["dpsense", "grouping_smoothing", "laplace_counts", "zeros"]
    assert charged.set_index("mechanism").loc["zeros", "epsilon"] == 0


def test_runs_without_counts_have_no_such_numbers(tmp_path: Path) -> None:
    metrics = geodp.run(small(), tmp_path / "run").metrics
    assert not {"mae", "mre", "topk_mae", "topk_mre", "topk_accuracy"} & set(metrics)
