"""Rounds on disk that earlier code wrote are read as before: whole, unfinished, in both forms at once, with a last line that was cut short."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench.storage.runs import DamagedRunError
from dpubench.studies.end_to_end import trials
from dpubench.studies.measured import rounds
from dpubench.studies.modelled import outcomes

STORED = ROOT / "tests" / "fixtures" / "stored-rounds"
READERS: dict[str, Callable[[Path], Any]] = {
    "figures": rounds.read,
    "outcomes": outcomes.read,
    "trials": lambda run: {"rounds": trials.read(run), "calibration": trials.read_calibration(run)},
}


@pytest.mark.parametrize("kind", READERS)
def test_stored_rounds_have_the_same_rows_as_ever(kind: str) -> None:
    told = json.loads((STORED / kind / "rows.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(READERS[kind](STORED / kind))) == told


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("event", ["figure", "outcome", "trial"])
def test_a_round_that_does_not_hold_what_it_should_is_named(tmp_path: Path, kind: str, event: str) -> None:
    run = tmp_path / "r"
    shutil.copytree(STORED / kind, run)
    (run / "rounds" / "0009.ndjson").write_text(json.dumps({"event": event}) + "\n", encoding="utf-8")
    if event != kind.removesuffix("s"):
        assert READERS[kind](run) == READERS[kind](STORED / kind)
        return
    with pytest.raises(DamagedRunError, match=r"damaged .*; move its file away to go on without it"):
        READERS[kind](run)
