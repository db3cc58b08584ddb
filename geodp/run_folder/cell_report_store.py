"""What phones answered about their cells, on disk: a row per report beside a JSON file with the public law."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from geodp.geometry import Grid
from geodp.public.cell_laws import Answers, CellLaw
from geodp.public.cell_reports import CellReports
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import read_json, write_json
from geodp.storage.geoparquet import read_without_shapes
from geodp.storage.stamp import SIMULATED, write_simulated

_COLUMNS = {"grr": ("cell",), "hr": ("column",), "olh": ("function", "value"), "oue": ("bits",)}


def write_cell_reports(folder: Path, index: int, reports: CellReports) -> None:
    """Write the answers behind release number `index` into a folder."""
    law, named = reports.law, reports.who.size > 0
    columns: dict[str, Any] = {"who": reports.who} if named else {}
    if law.protocol == "oue":
        columns["bits"] = [row.tobytes() for row in reports.answers]
    else:
        columns |= {name: reports.answers[:, place] for place, name in enumerate(_COLUMNS[law.protocol])}
    write_simulated(pd.DataFrame(columns), folder / f"{index:04d}.parquet")
    facts = {
        **SIMULATED,
        "time_s": reports.time_s,
        "mechanism": reports.mechanism,
        "guarantee": reports.guarantee.as_dict(),
        "law": asdict(law),
        "reports": reports.size,
        "further": reports.further,
        "tally": None if reports.tally is None else reports.tally.tolist(),
    }
    write_json(folder / f"{index:04d}.json", facts)


def read_cell_reports(path: Path) -> CellReports:
    """Read back the answers whose JSON file is given."""
    facts, frame = read_json(path), read_without_shapes(path.with_suffix(".parquet"))
    law = CellLaw(**{**facts["law"], "cells": Grid(**facts["law"]["cells"])})
    tally = facts["tally"]
    return CellReports(
        time_s=facts["time_s"],
        mechanism=facts["mechanism"],
        guarantee=Guarantee.from_dict(facts["guarantee"]),
        law=law,
        who=frame["who"].to_numpy().astype(np.str_) if "who" in frame else np.empty(0, dtype=np.str_),
        answers=_read_answers(frame, law),
        tally=None if tally is None else np.asarray(tally, dtype=np.int64),
        further=facts["further"],
    )


def _read_answers(frame: pd.DataFrame, law: CellLaw) -> Answers:
    if law.protocol == "oue":
        width = -(-law.cells.size // 8)
        return np.frombuffer(b"".join(frame["bits"]), dtype=np.uint8).reshape(-1, width)
    table: npt.NDArray[np.int64] = frame[list(_COLUMNS[law.protocol])].to_numpy(dtype=np.int64)
    return table
