import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from geodp.errors import DataError, ScenarioError, UsageError
from geodp.scenario.file import arms, build_scenario, parse_override, read_yaml, set_path, write_scenario
from geodp.scenario.report import report
from geodp.scenario.schema import Scenario, load_scenario, one_significant_figure
from geodp.world.sources.table import Table
from tests.small import small, small_file, small_raw

SHIPPED = sorted(Path("scenarios").glob("*.yaml"))


def problems(changes: dict[str, Any], drop: tuple[str, ...] = ()) -> dict[str, str]:
    raw = small_raw(changes)
    for key in drop:
        del raw[key]
    with pytest.raises(ScenarioError) as refused:
        build_scenario(raw, source="small", folder=Path.cwd(), trust_plugins=True)
    return dict(refused.value.problems)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid_and_explain_themselves(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    assert len(scenario.about) > 40


def test_all_problems_of_a_file_are_reported_at_once_with_path_and_nearest_name() -> None:
    found = problems(
        {
            "durations": 100,
            "workers.source.kind": "synthetic_cty",
            "tasks.patience_s": -1,
            "curator.mechanism.epsilonn": 0.3,
            "server.assignment.model": "poison",
            "map.layers": ["region", "tsks"],
            "tasks.reward": {"total": 10, "minimum": 1},
        }
    )
    assert found == {
        "durations": "unknown key. Did you mean 'duration_s'?",
        "workers.source.kind": "no source called 'synthetic_cty'. Did you mean 'synthetic_city'?",
        "tasks.patience_s": "must be greater than 0, got -1",
        "curator.mechanism.epsilonn": "unknown key. Did you mean 'epsilon'?",
        "server.assignment.model": "must be 'poisson' or 'printed', got 'poison'. Did you mean 'poisson'?",
        "map.layers.1.kind": "no layer called 'tsks'. Did you mean 'tasks'?",
        "tasks.reward.total": "10 cannot pay the minimum of 1 to each of the 60 expected tasks: raise total to at "
        "least 60, or lower minimum",
    }


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"curator.mechanism.epsilon": -1}, "curator.mechanism.epsilon", "greater than 0"),
        ({"curator.mechanism.epsilon": float("nan")}, "curator.mechanism.epsilon", "finite"),
        ({"curator.mechanism.epsilon": "much"}, "curator.mechanism.epsilon", "a number"),
        ({"curator.budget.epsilon": 0.1}, "curator.budget.epsilon", "less than one release costs (0.5)"),
        (
            {"curator.budget": {"epsilon": 1.0, "when_spent": "fail"}},
            "curator.budget.epsilon",
            "could not finish",
        ),
        ({"region.east": 9.0}, "region", "date line"),
        ({"region": {"west": 50.0, "south": 100.0, "east": 50.1, "north": 100.1}}, "region", "swapped"),
        ({"region.north": 50.0}, "region", "empty"),
        ({"region": {"west": 0.0}}, "region", "needs west, south, east and north"),
        ({"region": {"file": "absent.geojson"}}, "region.file", "no such file"),
        ({"workers.source": {"kind": "table", "path": "absent.csv"}}, "workers.source.path", "no such file"),
        ({"server.batch_s": 1e6}, "server.batch_s", "longer than the run"),
        ({"workers.mobility": {"kind": "replay"}}, "workers.mobility", "'synthetic_city' has none"),
        ({"workers.mobility": {"kind": "recorded"}}, "workers.mobility", "has one place each"),
        ({"tasks.patience_s": 10}, "tasks.patience_s", "answer window"),
        ({"start_time": "25:00"}, "start_time", "time of day"),
        ({"name": "a/b"}, "name", "letters, digits"),
        ({"geodp": 2}, "geodp", "must be 1"),
        ({"workers": []}, "workers", "a mapping"),
        ({"curator.neighbours": "metric"}, "curator.neighbours", "'add_remove' or 'replace'"),
        ({"plugins": ["absent.py"]}, "plugins.0", "no file"),
        (
            {
                "server.assignment": {"kind": "reward_radius", "model": "printed", "solver": "taylor"},
                "workers.acceptance": {"kind": "linear"},
            },
            "server.assignment.solver",
            "use solver: exact",
        ),
    ],
)
def test_impossible_values_are_explained(changes: dict[str, Any], path: str, words: str) -> None:
    assert words in problems(changes)[path]


def test_a_missing_key_is_required_and_hides_nothing_else() -> None:
    assert problems({"duration_s": 0}, drop=("region",)) == {
        "region": "is required",
        "duration_s": "must be greater than 0, got 0",
    }


READS_CELLS_ONLY = """
from typing import ClassVar

from geodp.server.assignment import Assignment


class CellReader(Assignment):
    \"\"\"Reads cells only.\"\"\"

    kind: ClassVar[str] = "cell_reader_of_a_test"
    reads: ClassVar[frozenset[str]] = frozenset({"cells"})

    def offers(self, tasks, view):
        return []
"""


def test_an_assignment_that_cannot_read_the_release_is_refused_by_name(tmp_path: Path) -> None:
    message = problems({"server.assignment": {"kind": "nearest_report"}})["server.assignment"]
    assert "'nearest_report' reads points, but 'contour' releases" in message
    assert "reward_radius" in message
    (tmp_path / "reader.py").write_text(READS_CELLS_ONLY)
    changes = {
        "plugins": [str(tmp_path / "reader.py")],
        "server.assignment": {"kind": "cell_reader_of_a_test"},
        "curator": None,
    }
    message = problems(changes)["server.assignment"]
    assert "'cell_reader_of_a_test' reads cells, but 'none' releases points." in message
    assert "nearest_report" in message


def test_phones_may_report_in_the_clear_but_only_as_a_baseline_that_says_so() -> None:
    scenario = small({"curator": None})
    assert scenario.phones_report
    assert scenario.device.mechanism.guarantee().holds is False
    assert "No privacy guarantee: phones report their true position" in report(scenario, "small.yaml")


def test_phones_report_to_the_server_only_when_it_needs_to_know_and_nobody_else_tells_it() -> None:
    assert not small().phones_report
    posted = small({"curator": None, "server.mode": "worker_selected"})
    assert not posted.phones_report
    assert posted.release_times() == []
    assert small({"curator": None, "device.report_every_s": 900}).release_times() == [0.0, 900.0]


def test_the_budget_of_reports_is_its_schedule_unless_said_otherwise() -> None:
    device = {"mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}}
    resolved = small({"curator": None, "device": device}).resolve()
    each = resolved.device.mechanism.guarantee(resolved.area).epsilon
    assert each == pytest.approx(0.01, rel=1e-3)  # times what the projection stretches
    assert resolved.device.budget.epsilon_per_m == pytest.approx(3 * each, rel=1e-12)
    assert resolved.curator is None
    text = report(resolved, "small.yaml")
    assert "3 reports × ε 0.01" in text
    assert "per metre and person" in text
    assert "reports lie 245 m from the truth (root mean square)" in text  # sqrt(6)/ε
    assert "3 rounds of reports" in text


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"epsilon_per_m": 0.005}, "less than one report costs"),
        ({"epsilon_per_m": 0.02, "when_spent": "fail"}, "could not finish"),
        ({"epsilon_per_m": -1}, "greater than 0"),
    ],
)
def test_budgets_of_reports_that_cannot_work_are_explained(budget: dict[str, Any], words: str) -> None:
    device = {"mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}, "budget": budget}
    assert words in problems({"curator": None, "device": device})["device.budget.epsilon_per_m"]


def test_a_prior_file_that_does_not_exist_is_a_problem_of_the_scenario() -> None:
    attacks = [{"kind": "tracking"}, {"kind": "bayes_location", "prior_file": "absent.csv"}]
    assert "no such file" in problems({"attacks": attacks})["attacks.1.prior_file"]


def test_a_table_needs_a_public_estimate_of_the_number_of_workers(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("worker,lon,lat\n1,10.01,50.01\n")
    source = {"kind": "table", "path": str(table)}
    assert "private" in problems({"workers.source": source})["curator.expected_workers"]
    scenario = small({"workers.source": source, "curator.expected_workers": 1000})
    assert scenario.resolve().curator is not None


def test_overrides_are_yaml_and_a_new_kind_starts_from_its_own_defaults(tmp_path: Path) -> None:
    path = small_file(tmp_path)
    settings = [
        "curator.mechanism.kind=no_privacy",
        "duration_s=60.5",
        "map.layers=[region, tasks]",
        "seed=9",
    ]
    scenario = load_scenario(path, dict(parse_override(text) for text in settings))
    assert scenario.curator is not None
    assert scenario.curator.mechanism.kind == "no_privacy"
    assert (scenario.duration_s, scenario.seed, len(scenario.map.layers)) == (60.5, 9, 2)
    with pytest.raises(ScenarioError, match="unknown key"):
        load_scenario(path, {"tasks.patients_s": 3})
    with pytest.raises(UsageError, match=r"dotted\.path=value"):
        parse_override("seed 9")
    with pytest.raises(UsageError, match="not valid YAML"):
        parse_override("seed=[")


def test_set_path_reaches_into_lists_and_says_when_it_cannot() -> None:
    raw = {"publish": [{"kind": "a"}], "curator": None}
    set_path(raw, "publish.0.epsilon", 1)
    set_path(raw, "curator.release_every_s", 5)
    assert raw == {"publish": [{"kind": "a", "epsilon": 1}], "curator": {"release_every_s": 5}}
    with pytest.raises(UsageError, match="not a place in a list of 1"):
        set_path(raw, "publish.1.epsilon", 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("geodp: 1\nname: [x\n", "not valid YAML"),
        ("name: x\nname: y\n", "written twice"),
        ("- a\n", "must be a mapping"),
        ("", "must be a mapping"),
    ],
)
def test_files_that_are_no_scenario_are_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=words):
        read_yaml(path)


def test_a_missing_or_binary_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_scenario(tmp_path / "absent.yaml")
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read"):
        load_scenario(path)


def test_the_resolved_file_loads_back_to_itself(tmp_path: Path) -> None:
    resolved = small().resolve()
    write_scenario(resolved, tmp_path / "scenario.yaml")
    again = load_scenario(tmp_path / "scenario.yaml")
    assert again == resolved
    assert again.resolve() == resolved
    text = (tmp_path / "scenario.yaml").read_text().replace("basemap: null", "").split("map:")[0]
    left = ("file", "profile", "window_s", "epsilon_per_m", "memoise_m", "visit_source", "history_report", "towers")
    # null says something there, or is all that can be said
    for key in (*left, "epsilon_per_item", "epsilon", "delta", "rho", "refusal", "least_people", "per_km2_hour"):
        text = text.replace(f"{key}: null", "")
    assert "null" not in text


def test_derived_defaults_come_from_public_facts() -> None:
    resolved = small().resolve()
    assert resolved.curator is not None
    assert resolved.curator.expected_workers == 2000  # 1,500 to one significant figure
    assert resolved.curator.budget.epsilon == 1.5  # three releases of 0.5
    assert resolved.tasks.reward.minimum == pytest.approx(1.0)  # a tenth of the mean reward 600 / 60
    acceptance = resolved.workers.acceptance
    assert acceptance.probability(10.0, 1000.0) == pytest.approx(0.4 * 0.25)
    assert resolved.server.assumed_acceptance == acceptance


@pytest.mark.parametrize(("value", "rounded"), [(1, 1), (14, 10), (15, 20), (10_000, 10_000), (6160, 6000), (95, 100)])
def test_one_significant_figure(value: float, rounded: float) -> None:
    assert one_significant_figure(value) == rounded


def test_arms_share_the_world_and_are_checked_like_scenarios() -> None:
    scenario = small({"compare": {"plain": {}, "exact": {"curator.mechanism": {"kind": "no_privacy"}}}})
    made = arms(scenario)
    assert list(made) == ["plain", "exact"]
    assert made["exact"].curator is not None
    assert made["exact"].curator.mechanism.kind == "no_privacy"
    assert made["plain"].compare == {}
    found = problems({"compare": {"bad": {"curator.mechanism.epsilon": -1}, "worse": {"workers.source.count": 7}}})
    assert found["compare.bad: curator.mechanism.epsilon"] == "must be greater than 0, got -1"
    assert "belongs to the world" in found["compare.worse"]


def test_releases_happen_at_0_p_2p_before_the_end() -> None:
    assert small().release_times() == [0.0, 600.0, 1200.0]
    assert small({"duration_s": 1801}).release_times()[-1] == 1800.0


def test_an_unquoted_time_of_day_is_understood() -> None:
    raw = small_raw()
    raw["start_time"] = yaml.safe_load("8:30")  # YAML 1.1 reads this as 8 · 60 + 30
    assert build_scenario(raw, source="small", folder=Path.cwd()).start_s == 8.5 * 3600


def test_scenarios_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        small().seed = 3  # type: ignore[misc]


def test_the_report_states_promise_budget_noise_and_size() -> None:
    text = report(small(), "small.yaml")
    for words in (
        "small.yaml: ok",
        "one worker's position at one instant",
        "3 releases × ε 0.5 = ε 1.5 (add/remove), 3 (replace) per person",
        "±2 workers per cell on average",
        "about 2,000 workers, 60 tasks, 3 releases",
    ):
        assert words in text
    assert "THE NOISE EXCEEDS THE COUNT" in report(small({"curator.mechanism.cell_m": 50}), "small.yaml")
    spent = report(small({"curator.budget": {"epsilon": 1.0, "when_spent": "stop"}}), "small.yaml")
    assert "2 releases" in spent
    assert "afterwards: stop" in spent


def test_noise_that_a_mechanism_does_not_state_is_not_called_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    from geodp.curator.mechanisms import Mechanism
    from geodp.curator.mechanisms.contour import Contour

    monkeypatch.setattr(Contour, "expected_noise", Mechanism.expected_noise)
    text = report(small(), "small.yaml")
    assert "not stated by contour" in text
    assert "±" not in text


def test_the_schema_offers_every_kind_and_accepts_the_shipped_scenarios() -> None:
    schema = Scenario.model_json_schema()
    text = json.dumps(schema)
    for kind in ("synthetic_city", "contour", "reward_radius", "tanh_reward", "trips"):
        assert f'"const": "{kind}"' in text


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"duration_s": 1e12}, "duration_s", "a run spans at most a year"),
        ({"curator.release_every_s": 1e-308}, "curator.release_every_s", "at least 0.001"),
        ({"curator.release_every_s": 0.1}, "curator.release_every_s", "18,000 releases; at most 10,000"),
        ({"curator": None, "device.report_every_s": 0.1}, "device.report_every_s", "at most 10,000"),
        ({"server.batch_s": 0.0011}, "server.batch_s", "batches of offers; at most 1,000,000"),
        ({"tasks.demand.per_hour": 1e300}, "tasks.demand", "tasks; at most 5,000,000 are simulated"),
        ({"workers.source.count": 10**15}, "workers.source.count", "people are kept in memory"),
        ({"curator.mechanism.cell_m": 0.3}, "curator.mechanism.cell_m", "use cells of 1.1 m or more"),
        ({"curator.mechanism.cell_m": 1e-300}, "curator.mechanism.cell_m", "at most 25,000,000 fit into memory"),
        ({"region.east": 10.0 + 1e-13}, "region", "wide"),
        ({"region": {"west": 0, "south": 0, "east": 1e-300, "north": 1e-300}}, "region", "wide"),
        ({"workers.mobility.max_speed_mps": 1e300}, "workers.mobility.max_speed_mps", "on foot, on wheels"),
        ({"workers.source": {"kind": "street_trips", "block_m": 0.1}}, "workers.source.block_m", "corners; at most"),
        ({"curator.mechanism.levels": 10**9}, "curator.mechanism.levels", "must be 1 to 100 levels"),
    ],
)
def test_what_could_never_be_computed_is_refused_before_anything_is_counted_out(
    changes: dict[str, Any], path: str, words: str
) -> None:
    assert words in problems(changes)[path]


def test_200_000_unknown_keys_are_counted_and_ten_are_named() -> None:
    raw = small_raw() | {f"key{number}": number for number in range(200_000)}
    with pytest.raises(ScenarioError) as refused:
        build_scenario(raw, source="small", folder=Path.cwd())
    assert str(refused.value).startswith("small: 200,000 problems\n  key0  unknown key.")
    assert str(refused.value).endswith("… and 199,990 more")


@pytest.mark.parametrize(
    ("path", "entries", "most"),
    [
        ("attacks", [{"kind": f"x{number}"} for number in range(50_000)], "100"),
        ("plugins", [f"p{number}.py" for number in range(50_000)], "100"),
        ("compare", {f"a{number}": {"curator.mechanism.epsilon": -1} for number in range(5_000)}, "64"),
        ("tasks.demand.profile", ["x"] * 100_000, "5,000"),
    ],
)
def test_a_list_that_is_too_long_is_one_problem_whose_entries_are_not_looked_at(
    path: str, entries: Any, most: str
) -> None:
    raw = small_raw({path: entries})
    with pytest.raises(ScenarioError) as refused:
        build_scenario(raw, source="small", folder=Path.cwd())
    assert refused.value.problems == [(path, f"has {len(entries):,} entries; at most {most}")]


def test_arms_are_not_looked_at_where_the_scenario_alone_has_hundreds_of_problems() -> None:
    raw = small_raw({"compare": {"one": {"curator.mechanism.epsilon": -1}}})
    raw |= {f"key{number}": number for number in range(1000)}
    with pytest.raises(ScenarioError) as refused:
        build_scenario(raw, source="small", folder=Path.cwd())
    assert len(refused.value.problems) == 1000


def test_arms_are_looked_at_until_there_are_hundreds_of_problems() -> None:
    wrong = {f"server.x{number}": 1 for number in range(1000)}
    raw = small_raw({"compare": {f"arm{number}": wrong for number in range(50)}})
    with pytest.raises(ScenarioError) as refused:
        build_scenario(raw, source="small", folder=Path.cwd())
    assert {path.partition(":")[0] for path, _ in refused.value.problems} == {"compare.arm0"}


def test_the_data_are_looked_at_once_for_all_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("worker,lon,lat\n1,10.01,50.01\n")
    looks = []
    look = Table.look

    def counted(self: Table, region: Any) -> Any:
        looks.append(region)
        return look(self, region)

    monkeypatch.setattr(Table, "look", counted)
    build_scenario(
        small_raw(
            {
                "workers.source": {"kind": "table", "path": str(tmp_path / "people.csv")},
                "curator.expected_workers": 10,
                "compare": {f"arm{number}": {"curator.mechanism.epsilon": 1 + number} for number in range(20)},
            }
        ),
        source="small",
        folder=tmp_path,
    )
    assert len(looks) == 1


def test_a_pipe_is_called_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    found = problems({"workers.source": {"kind": "table", "path": str(tmp_path / "pipe.csv")}})
    assert found["workers.source.path"] == f"is a pipe or a device: {tmp_path / 'pipe.csv'}"
    assert "no such file" not in " ".join(found.values())


def test_a_plug_in_of_another_family_is_sent_to_its_own_place() -> None:
    found = problems({"curator.mechanism": {"kind": "planar_laplace"}})["curator.mechanism.kind"]
    assert found == "'planar_laplace' is a device: it belongs under device.mechanism, not here."
    found = problems({"device.mechanism": {"kind": "contour"}})["device.mechanism.kind"]
    assert found == "'contour' is a mechanism: it belongs under curator.mechanism, not here."


def test_a_curator_that_nobody_wrote_is_named_where_it_matters() -> None:
    found = problems({"server.assignment": {"kind": "nearest_report"}}, drop=("curator",))
    assert "The file has no section 'curator'" in found["server.assignment"]
    assert "write 'curator: null'" in found["server.assignment"]
    raw = small_raw()
    del raw["curator"]
    assert "no section 'curator'" in report(build_scenario(raw, source="small", folder=Path.cwd()), "small.yaml")
    assert "no section 'curator'" not in report(small(), "small.yaml")


def test_files_of_another_kind_are_sent_to_their_own_command() -> None:
    with pytest.raises(ScenarioError, match=r"this is a sweep \(it has 'base' and 'grids'\).*geodp sweep"):
        load_scenario("scenarios/sweeps/epsilon.yaml")
    with pytest.raises(ScenarioError, match=r"this is a figure file.*geodp figures"):
        load_scenario("scenarios/figures/13.7a.yaml")


@pytest.mark.parametrize("how", ["itself", "link", "copy"])
def test_a_public_input_of_a_scenario_is_not_the_data_of_the_people(tmp_path: Path, how: str) -> None:
    people, prior = tmp_path / "people.csv", tmp_path / "prior.csv"
    people.write_text("worker,venue,lon,lat\nann,a,-122.41,37.77\n")
    prior = people if how == "itself" else prior
    if how == "link":
        prior.hardlink_to(people)
    elif how == "copy":
        prior.write_bytes(people.read_bytes())
    changes = {
        "workers.source": {"kind": "table", "path": str(people)},
        "workers.visit_source": {"kind": "visits_file", "path": str(people), "venues": str(prior)},
        "device.mechanism": {"kind": "planar_laplace", "remap": True, "prior_file": str(prior)},
        "curator.expected_workers": 10,
    }
    found = problems(changes)
    for path in ("device.mechanism.prior_file", "workers.visit_source.venues"):
        assert "must be public, and" in found[path]


def test_another_file_may_be_public(tmp_path: Path) -> None:
    people, prior = tmp_path / "people.csv", tmp_path / "prior.csv"
    people.write_text("worker,lon,lat\nann,10.01,50.01\n")
    prior.write_text("worker,lon,lat\nbob,10.01,50.01\n")  # as many bytes
    device = {"kind": "planar_laplace", "remap": True, "prior_file": str(prior)}
    source = {"kind": "table", "path": str(people)}
    small({"workers.source": source, "device.mechanism": device, "curator.expected_workers": 10})


def table_source(folder: Path, text: str, **fields: Any) -> dict[str, Any]:
    (folder / "people.csv").write_text(text)
    source = {"kind": "table", "path": str(folder / "people.csv"), **fields}
    return {"workers.source": source, "curator.expected_workers": 1000}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who,lon,lat\n1,10.01,50.01\n", "no column says whose a row is"),
        ("worker,lon\n1,10.01\n", "no column 'lat'"),
        ("worker,lon,lat\n1,50.01,10.01\n2,50.02,10.02\n", "100 % would lie inside with lat and lon swapped"),
        ("worker,lon,lat\n1,0,0\n", "none of its 1 points lies inside the region"),
        ("worker,lon,lat\n", "no rows"),
        ("", "the file is empty"),
    ],
)
def test_a_check_opens_the_data_and_says_what_a_run_would_stumble_over(tmp_path: Path, text: str, words: str) -> None:
    assert words in problems(table_source(tmp_path, text))["workers.source"]


def test_a_check_says_what_share_of_the_first_rows_lies_inside_and_what_a_run_takes(tmp_path: Path) -> None:
    rows = "".join(f"{number},{10.01 if number % 4 else 11},50.01\n" for number in range(1000))
    told = report(small(table_source(tmp_path, "worker,lon,lat\n" + rows)), "small.yaml")
    assert "people.csv: 75 % of its 1,000 rows lie inside the region" in told
    assert "MB of memory (an estimate, within a factor of three)" in told
    rows = "".join(f"{number},10.01,50.01\n" for number in range(1_200_000))
    told = report(small(table_source(tmp_path, "worker,lon,lat\n" + rows)), "small.yaml")
    (looked_at, about), *_ = re.findall(r"100 % of the first ([\d,]+) rows .* about ([\d,]+)", told)
    assert 100_000 <= int(looked_at.replace(",", "")) < 1_200_000
    assert 0.8 < int(about.replace(",", "")) / 1_200_000 < 1.25


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodp.scenario.checks.machine_bytes", lambda: 200e6)
    assert "and this machine has 0.2 GB" in problems({})["(size)"]
    monkeypatch.setattr("geodp.scenario.checks.machine_bytes", lambda: 16e9)
    assert "fewer workers" in problems({"workers.source.count": 50_000_000, "duration_s": 86_400})["(size)"]


def test_a_list_of_more_tasks_than_can_be_simulated_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text("time_s,lon,lat\n" + "1,10.01,50.01\n" * 100)
    monkeypatch.setattr("geodp.world.demand.trace.MOST_TASKS", 99)
    demand = {"kind": "trace", "path": str(trace)}
    assert "has about 100 tasks; at most 99 are simulated" in problems({"tasks.demand": demand})["tasks.demand"]


@pytest.mark.parametrize("path", ["x" * 5000, "~nobody-at-all/x.csv", "/dev/zero", "."])
def test_a_name_that_is_no_file_is_one_problem(path: str) -> None:
    found = problems({"workers.source": {"kind": "table", "path": path}, "curator.expected_workers": 10})
    assert found["workers.source.path"].startswith(("no such file: ", "is a folder: ", "is a pipe or a device: "))


def test_a_venue_list_of_another_town_is_refused_by_the_check(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("user,venue\nann,a\n")
    (tmp_path / "venues.csv").write_text("venue,lon,lat\na,0,0\n")
    histories = {"kind": "visits_file"} | {name: str(tmp_path / f"{file}.csv") for name, file in
                                           {"path": "visits", "venues": "venues"}.items()}  # fmt: skip
    found = problems({"workers.visit_source": histories})["workers.visit_source"]
    assert found == "venues.csv: no venue of the public list lies inside the region"


@pytest.mark.parametrize("key", ["looks_per_hour", "tasks_per_look"])
def test_settings_of_the_board_are_refused_where_there_is_none(key: str) -> None:
    with pytest.raises(ScenarioError, match=f"{key} has no effect without mode: worker_selected"):
        small({f"server.{key}": 7})
    posted = small({"server.mode": "worker_selected", f"server.{key}": 7, "curator": None})
    assert getattr(posted.server, key) == 7
    written = small({"server.looks_per_hour": 0.25, "server.tasks_per_look": 5})  # a resolved scenario says so
    assert written.server == small().server


@pytest.mark.parametrize(
    ("value", "message"), [("x", "must be a number, or 'auto', got 'x'"), (-1, "at least 0, or 'auto'")]
)
def test_a_number_or_a_word_is_one_problem(value: object, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        small({"curator.mechanism.sigma_cells": value})
    assert [path for path, _ in caught.value.problems] == ["curator.mechanism.sigma_cells"]
    assert message in caught.value.problems[0][1]
