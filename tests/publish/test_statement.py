import hashlib
import json
from datetime import datetime

from geodp import __version__
from geodp.public.guarantee import Guarantee
from geodp.publish.positions_plan import publish_positions
from tests.publish.conftest import Make


def test_the_guarantee_file_says_all_that_may_be_said(make: Make) -> None:
    request = make(budget=1.0)
    outcome = publish_positions(request)
    told = json.loads(request.guarantee_path.read_text())
    promise = Guarantee.from_dict(told["guarantee"])
    assert promise == outcome.statement.guarantee
    assert told["sentence"] == promise.sentence()
    assert told["mechanism"] == "planar_geometric"
    assert told["public_inputs"] == {"region": [10.0, 50.0, 10.08, 50.05]}
    assert told["columns"] == ["lon", "lat"]
    assert told["geodp"] == __version__
    assert told["ledger"] == "geodp-ledger.json"
    assert told["accuracy"]["mean_error_m"] > 0
    assert told["file"] == "out.csv"
    assert told["sha256"] == hashlib.sha256(request.out.read_bytes()).hexdigest()
    assert datetime.fromisoformat(told["time"]).utcoffset() is not None


def test_the_ledger_is_said_in_words(make: Make) -> None:
    without = publish_positions(make(out="one.csv")).text
    assert "no budget was set (--budget)" in without
    with_budget = publish_positions(make(out="two.csv", budget=0.2)).text
    assert "ε = 0.05 per metre charged, 0.1 spent so far, 0.1 left." in with_budget
