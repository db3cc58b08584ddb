"""A setting that has no effect is refused, and no statement lists one as if it were in force."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

import geodp
from geodp.errors import ScenarioError
from geodp.registry import plugin, plugins
from geodp.scenario.schema import load_scenario
from tests.small import small, small_file

IDLE: list[tuple[str, dict[str, Any], str]] = [
    ("dpt", {"variant": "geodp", "levels": 4}, "levels has no effect in synthetic_trips"),
    ("dpt", {"variant": "dpt", "baseline_cells": 8}, "baseline_cells has no effect in dpt"),
    ("dpt", {"variant": "ngram", "order": 3}, "order has no effect in ngram"),
    ("dpt", {"variant": "none", "epsilon": 2.0}, "epsilon has no effect in exact_trips"),
    ("dpt", {"kappa": 0, "window": 5}, "window has no effect with kappa: 0"),
    ("dpt", {"levels": 1, "choice_share": 0.2}, "choice_share has no effect with levels: 1"),
    ("prilocation", {"rounds": 9}, "rounds has no effect with public clusters"),
    ("prilocation", {"epsilon_per_m": 0.1}, "epsilon_per_m has no effect"),
    ("prilocation", {"variant": "geoind_em", "clusters": 3}, "clusters has no effect with geoind_em"),
    ("grouping_smoothing", {"grouping": "space", "sampling": "row"}, "sampling has no effect with grouping: space"),
    ("grouping_smoothing", {"grouping": "sampled", "scale": "literal"}, "scale has no effect where no width is tuned"),
    ("grouping_smoothing", {"variant": "literal", "cap": 9}, "cap has no effect with variant: literal"),
    ("laplace_counts", {"variant": "literal", "cap": 9}, "cap has no effect with variant: literal"),
    ("fourier_counts", {"variant": "literal", "cap": 9}, "cap has no effect with variant: literal"),
    ("synthetic_city", {"centres": 1, "corridor_share": 0.5}, "corridor_share has no effect with centres: 1"),
    ("generated_visits", {"categories": {"bar": 1}, "second_category_share": 0.5}, "no effect with one category"),
    ("uniform_grid", {"cell_m": 300, "count_share": 0.1}, "count_share has no effect with a stated cell_m"),
    ("quadtree", {"height": 3, "count_share": 0.1}, "count_share has no effect with a stated height"),
    ("kalman_counts", {"cells": {"kind": "uniform_grid", "epsilon": 9}}, "cells.epsilon has no effect"),
    ("geocast", {"utility_weight": 0.7}, "utility_weight has no effect with key: distance"),
    ("reward_radius", {"reward": "uniform", "iterations": 5}, "iterations has no effect with reward: uniform"),
    ("planar_laplace", {"prior_file": "p.csv"}, "prior_file has no effect without remap: true"),
    ("poisson", {"where": "uniform", "blur_m": 50}, "blur_m has no effect with where: uniform"),
    ("table", {"one_row_per_person": True, "keep": "last"}, "keep has no effect where every row is a worker"),
    ("replay", {"times": "run", "first_day": "2024-01-01"}, "first_day has no effect with times: run"),
    ("trajectories_table", {"stay_m": 5.0}, "stay_m has no effect without stay_s"),
]


@pytest.mark.parametrize(("kind", "fields", "words"), IDLE)
def test_a_field_without_effect_is_refused(kind: str, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        plugin(kind, **fields)


def test_every_default_may_be_written_out() -> None:
    """A resolved scenario states all fields, also those that have no effect."""
    for kind, cls in plugins().items():
        made = cls()
        assert set(made.idle_fields()) <= set(cls.model_fields), kind
        assert cls.model_validate({key: value for key, value in made.model_dump().items() if key != "kind"}) == made


def test_a_resolved_scenario_runs_again_and_a_stated_one_is_refused(tmp_path: Path) -> None:
    changes = {"workers.source": {"kind": "street_trips", "count": 60}, "workers.mobility": {"kind": "replay"}}
    publish = {"kind": "dpt", "epsilon": 20.0, "most_points": 100, "kappa": 0}
    run = geodp.run(small({**changes, "publish": [publish]}), tmp_path / "run", draw_map=False)
    again = load_scenario(run.path / "scenario.yaml")
    assert again.publish[0].model_dump()["window"] == 3
    statement = pd.read_json(next((run.path / "releases" / "publications").glob("*.json")), typ="series")
    assert "window" not in statement["fields"]
    assert statement["fields"]["most_points"] == 100
    with pytest.raises(ScenarioError, match="window has no effect with kappa: 0"):
        load_scenario(small_file(tmp_path, {**changes, "publish": [publish | {"window": 4}]}))


def test_an_audit_of_stated_fields_still_tries_the_variants_that_do_not_read_them() -> None:
    from geodp.audit.kinds import variants_of

    assert "variant: geoind_em" in variants_of(plugin("prilocation", epsilon=2.0, clusters=8))
