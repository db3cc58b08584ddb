"""The figure of Gaussian and Laplace noise: its printed numbers."""

from __future__ import annotations

import pytest

from geodp.figures.kinds.flow_noise import FlowNoise

STATED = {
    0.5: (232.818, 2036.47),
    1.0: (121.576, 1018.23),
    2.0: (63.9048, 509.117),
    4.0: (34.0193, 254.558),
    8.0: (18.4956, 127.279),
}


@pytest.mark.parametrize("epsilon", STATED)
def test_deviations_are_those_of_the_page(epsilon: float) -> None:
    found = FlowNoise().find_deviations(epsilon)
    for line, stated in zip(("Gaussian", "Laplace"), STATED[epsilon], strict=True):
        assert float(f"{found[line]:.6g}") == pytest.approx(stated, abs=10 ** (len(str(int(stated))) - 6) * 0.51)
