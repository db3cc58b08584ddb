"""What is said about a report of flows: guarantee.json, and the sentences that pages and screens share."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geodp._version import __version__
from geodp.errors import UsageError
from geodp.flows.design import LEVELS, USUAL_DELTA, FlowDesign
from geodp.flows.release import Z95
from geodp.publish.flows_files import FlowsProduct
from geodp.publish.flows_request import FlowsRequest
from geodp.publish.statement import SIMULATED
from geodp.storage.files import digest

NAME = "guarantee.json"
_UNIT_WORDS = {
    "person-day": "whether someone was there that day",
    "person-week": "whether someone was there that week",
    "person": "whether someone was there at all",
}


@dataclass(frozen=True, eq=False)
class FlowsStatement:
    """Everything that may be told about one report."""

    request: FlowsRequest
    product: FlowsProduct
    ledger: dict[str, Any] | None = None
    """What the ledger recorded."""

    @property
    def design(self) -> FlowDesign:
        """How the budget is divided."""
        return self.product.design

    @property
    def releasable(self) -> bool:
        """Whether the report may leave the house."""
        return self.request.releasing and self.product.releasable

    @property
    def verdict(self) -> str:
        """Say in one line whether the report may leave the house."""
        return "RELEASABLE under the guarantee below." if self.releasable else SIMULATED

    @property
    def risk(self) -> float:
        """How often a guess about one unit is right at most."""
        return self.design.spend(self.design.repeats)["risk"]

    @property
    def risk_sentence(self) -> str:
        """Say the promise as a guess that anybody understands."""
        what = _UNIT_WORDS[self.design.unit]
        return f"A 50:50 guess {what} is right in at most {100 * self.risk:.1f} % of cases, whatever else is known."

    @property
    def sentences(self) -> list[str]:
        """The promise, and the risk in words."""
        return [self.design.promise().sentence(), self.risk_sentence]

    def stamp(self) -> dict[str, Any]:
        """Return what is written into every table."""
        return {
            "mode": self.request.mode,
            "releasable": self.releasable,
            "mechanism": "flows",
            "guarantee": self.design.promise().as_dict(),
            "sentence": " ".join(self.sentences),
            "geodp": __version__,
        }

    def list_spend(self) -> dict[str, dict[str, float]]:
        """Return what one person's day, week and whole presence cost."""
        return {"day": self.design.spend(1), "week": self.design.spend(7), "person": self.design.spend(10**9)}

    def write(self, path: Path, files: Iterable[Path]) -> None:
        """Write guarantee.json about files that are written."""
        design, days = self.design, self.design.days
        spend = design.spend(design.repeats)
        values = self.stamp() | {
            "unit": design.unit,
            "epsilon": spend["epsilon"],
            "delta": spend["delta"],
            "rho": None if design.is_pure else design.whole_rho,
            "delta_t": design.delta_t,
            "risk": spend["risk"],
            "risk_in_words": self.risk_sentence,
            "spend": self.list_spend(),
            "noise": "discrete Laplace" if design.is_pure else "discrete Gaussian",
            "scale": design.list_scales(),
            "sigma": {name: design.spread(scale) for name, scale in design.list_scales().items()},
            "share": design.every_share | {f"footfall, {level}": share for level, share in LEVELS.items()},
            "threshold": min((table.least for table in self.product.noisy.flows if design.has_thresholds
                              and table.level == "zone"), default=None),
            "public_inputs": {
                "zones": self.request.zones_file.name,
                "zones_sha256": digest(self.request.zones_file),
                "districts": self.request.districts,
                "first_day": days.first.isoformat(),
                "last_day": days.last.isoformat(),
                "timezone": days.timezone,
                "day_begins": f"{days.begins_h:02d}:00",
                "every_s": days.every_s,
                "od_every_s": days.od_every_s,
                "trips": design.trips,
            },
            "ledger": self.ledger,
            "files": {path.name: digest(path) for path in files},
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
        path.write_text(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")

    @property
    def accuracy(self) -> str:
        """Say how far off the main numbers are, by noise alone."""
        design = self.design
        zone = design.spread(design.footfall_scale("zone", 0))
        other = self._other_noise()
        flow = next(table for table in self.product.noisy.flows if table.period >= 0)
        return (
            f"95 % of counts of zones lie within ±{Z95 * zone:.0f} of the people counted, before "
            f"the fit to districts and city "
            f"makes them a little better; flows below {math.ceil(flow.least)} are not shown.{other}"
        )

    def _other_noise(self) -> str:
        """Say how large the other noise would be: that of a promise without δ, or with one."""
        design = self.design
        if design.epsilon is None:
            return ""
        try:
            other = replace(design, delta=USUAL_DELTA if design.is_pure else None)
        except UsageError:  # a threshold needs δ
            return ""
        wide = Z95 * other.spread(other.footfall_scale("zone", 0))
        if design.is_pure:
            return f" With --delta {USUAL_DELTA:g} (Gaussian noise) it would be ±{wide:.0f}."
        return f" Without δ (Laplace noise) it would be ±{wide:.0f}."

    def text(self, written: Iterable[Path], remarks: Iterable[str]) -> str:
        """Say it on the screen; `remarks` are facts about the private data."""
        lines = [self.verdict, *self.sentences, f"Accuracy: {self.accuracy}"]
        if self.ledger is not None:
            lines.append(f"Ledger {self.ledger['file']}: {self.ledger['sentence']}")
        return "\n".join([*lines, *remarks, *(f"wrote {path}" for path in written)])
