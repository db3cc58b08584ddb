"""Jobs that go wrong, for tests of executors."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

MOODY = '''
from typing import ClassVar

from geodp.world.mobility import Mobility


class Moody(Mobility):
    """Workers who refuse to move at all."""

    kind: ClassVar[str] = "moody_for_a_test"

    def move(self, population, region, *, start_s, duration_s, rng):
        raise RuntimeError("the moody one refuses")
'''


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Do as the job says: work, hang, or die."""
    if job["how"] == "hang":
        time.sleep(3600)
    dies_once = job["how"] == "die once" and not Path(job["marker"]).exists()
    if dies_once:
        Path(job["marker"]).touch()
    if dies_once or job["how"] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return {
        **{key: job[key] for key in ("run_id", "cell", "seed")},
        "status": "ok",
        "error": "",
        "metrics": {},
        "seconds": 0.0,
    }
