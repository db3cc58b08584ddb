"""How many people really send the same cloak."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from geodp.metrics.cloaks import CloakSetBelowK
from tests.places import candidates_of, cloaks_of


def test_it_is_the_share_of_people_whose_rectangle_fewer_than_k_send() -> None:
    first = cloaks_of([(0, 0, 1000, 1000), (0, 0, 1000, 1000), (0, 0, 2000, 2000)], k=2)
    second = cloaks_of([(0, 0, 1000, 1000)] * 3, k=2)
    run: Any = SimpleNamespace(releases=[first, second])
    found = CloakSetBelowK().measure(run)
    assert found["cloak_set_below_k"].value == pytest.approx(np.mean([1 / 3, 0]))
    assert found["cloak_area_km2"].value == pytest.approx(np.mean([2, 1]))
    other: Any = SimpleNamespace(releases=[candidates_of([[0.0]], [[0.0]])])
    assert CloakSetBelowK().measure(other)["cloak_set_below_k"].value is None
