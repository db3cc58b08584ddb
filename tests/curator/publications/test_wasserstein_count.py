"""One count with noise for a stated model of households: what it promises, once, in both modes."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from geodp.audit.auditor import check_cases
from geodp.audit.kinds import noise_by_name
from geodp.audit.pairs.answers import choose_answers
from geodp.audit.pairs.trips import world_of
from geodp.cli.main import main
from geodp.curator.publications.wasserstein_count import WassersteinCount
from geodp.geometry import Region
from geodp.privacy.audit_case import ExactCase
from geodp.privacy.dependence import bin_laws, count_laws
from geodp.privacy.ledger import chargeable
from geodp.privacy.noise import noise_source
from geodp.public.guarantee import Unit

TOWN = Region(-0.02, -0.02, 0.02, 0.02)
BOX = "--region=-0.02,-0.02,0.02,0.02"


def publish(folder: Path, *words: str) -> tuple[int, Path]:
    rows = [(f"p{who}", "t", 60.0 * step, 0.001 * who - 0.01, 0.001 * step) for who in range(20) for step in range(3)]
    file, out = folder / "trips.csv", folder / "out.csv"
    pd.DataFrame(rows, columns=["user", "trajectory", "time_s", "lon", "lat"]).to_csv(file, index=False)
    command = ["publish", "trajectories", str(file), "--method", "wasserstein_count", BOX, "--out", str(out), "--force"]
    with pytest.raises(SystemExit) as stop:
        main([*command, "--epsilon", "1", *words])
    return int(stop.value.code or 0), out


def test_people_are_counted_once_where_and_when_asked() -> None:
    places = np.array([[-500.0, 0.0], [0.0, 0.0], [500.0, 0.0]])
    trips = world_of(
        [("a", places, 0.0), ("a", places, 900.0), ("b", places + np.array([0.0, 900.0]), 0.0), ("c", places, 4000.0)]
    )
    assert WassersteinCount().count_people(trips, TOWN) == 3
    assert WassersteinCount(to_s=2000.0).count_people(trips, TOWN) == 2
    assert WassersteinCount(from_s=2000.0).count_people(trips, TOWN) == 1
    assert WassersteinCount(area=(-0.02, -0.004, 0.02, 0.004)).count_people(trips, TOWN) == 2
    assert WassersteinCount(area=(0.003, -0.004, 0.02, 0.004), to_s=60.0).count_people(trips, TOWN) == 0


@pytest.mark.parametrize(
    ("settings", "distance"),
    [
        ({"household": 10, "degree": 0.1}, 4),
        ({"household": 10, "degree": 0.6, "model": "independent"}, 7),
        ({"household": 1}, 1),
        ({"household": 4, "degree": 1.0}, 4),
    ],
)
def test_noise_is_as_wide_as_the_laws_are_apart(settings: dict[str, object], distance: int) -> None:
    publication = WassersteinCount(epsilon=0.5, **settings)
    assert publication.distance == distance
    assert publication.expected_error()[1]["mean_absolute_noise"] == distance / 0.5


def test_the_model_alone_is_promised_and_its_epsilon_enters_no_sum() -> None:
    publication = WassersteinCount(epsilon=1.0, household=10, degree=0.1)
    promise, cost = publication.guarantee(), publication.cost()
    assert (promise.unit, str(promise.neighbours), promise.holds) == (Unit.ANSWER, "model", True)
    assert "adds up with nothing else" in promise.sentence()
    charged = chargeable(promise, cost)
    assert charged is not None
    assert (charged[0].epsilon, charged[0].unit) == (0.25, Unit.USER)
    # under the other model the same noise tells more than it says
    other = count_laws(10, 0.6, "independent")
    first, second = bin_laws(*other, publication.distance)
    assert np.abs(np.log(first / second)).max() > 1.0


def test_exact_laws_keep_the_promise_and_narrower_noise_does_not() -> None:
    cases = choose_answers(WassersteinCount(household=10, degree=0.1))
    checked = check_cases(cases, noise_by_name("simulate", 0))
    assert not any(pair.refuted for pair in checked.pairs)
    assert sum(isinstance(case, ExactCase) for case in cases) >= 4
    laws = count_laws(10, 0.9, "copies")
    narrow = ExactCase("noise for one", 1.0, lambda: bin_laws(*laws, 1.0))
    assert all(pair.refuted for pair in check_cases([narrow], noise_by_name("simulate", 0)).pairs)


def test_a_command_publishes_it_and_the_ledger_is_charged_its_ordinary_price(tmp_path: Path) -> None:
    code, out = publish(tmp_path, "--set", "household=10", "--set", "degree=0.1")
    assert code == 0
    assert pd.read_csv(out)["people"].size == 1
    statement = json.loads(Path(f"{out}.guarantee.json").read_text())
    assert statement["guarantee"]["epsilon"] == 1.0
    assert statement["per_person"]["epsilon"] == 0.25


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed")
def test_a_second_release_about_the_same_people_is_refused_and_charged_to_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--mode", "release", "--ledger", str(tmp_path / "ledger.json"))
    code, out = publish(tmp_path, *words)
    assert code == 0
    assert json.loads(Path(f"{out}.guarantee.json").read_text())["releasable"]
    before = (tmp_path / "ledger.json").read_text()
    assert publish(tmp_path, *words)[0] == 2
    assert "published about these people before" in capsys.readouterr().err
    assert (tmp_path / "ledger.json").read_text() == before


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed")
def test_released_noise_has_the_same_law() -> None:
    """4,000 draws of either mode: mean |noise| of scale 4 is off by six standard errors with chance 1e-8."""
    from geodp.privacy.primitives import laplace_counts

    widths = [
        np.abs(laplace_counts(np.zeros(4000), epsilon=1.0, sensitivity=4, noise=noise_source(mode, seed=seed))).mean()
        for mode, seed in (("simulate", 0), ("release", None))
    ]
    assert all(abs(width - 4.0) < 6 * 4 / np.sqrt(4000) for width in widths)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"area": (1, 0, 0, 1)}, "west must be less than east"),
        ({"from_s": 10, "to_s": 5}, "must not be earlier"),
        ({"degree": 1.2}, "must be at most 1"),
        ({"household": 500}, "must be at most 200"),
        ({"household": 1, "degree": 0.1}, "everyone lives alone"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        WassersteinCount(**settings)


def test_an_area_elsewhere_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    code, out = publish(tmp_path, "--set", "area=[1,1,2,2]")
    assert code == 2
    assert not out.exists()
    assert not (tmp_path / "geodp-ledger.json").exists()
