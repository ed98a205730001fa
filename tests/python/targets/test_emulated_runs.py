"""Tests of what runs on emulated targets show: that points work, and no time, whatever times are in their files."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from dpubench import studies
from dpubench.storage.runs import KeptRun
from dpubench.studies.measured import rounds
from dpubench.targets import EMULATED
from scripted_trials import run_directory, trial

INFO = {"spec": "vm:aarch64", "label": EMULATED, "emulated": True}
TIME = re.compile(r"\d\s?([GMk]?b/s|[GMk]?pps|ops/s|ns|us)\b")


def emulated(folder: Path, **more: Any) -> Path:
    """Turn the run in ``folder`` into one on an emulated machine."""
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"target": "vm:aarch64", "target_info": INFO} | more))
    return folder


def kept(folder: Path) -> KeptRun:
    return KeptRun(folder.name, folder, json.loads((folder / "run.json").read_text()), EMULATED, True)


def test_end_to_end_tells_what_came_back_and_no_rate(tmp_path: Path) -> None:
    warning = {"code": "few-rounds", "message": "1 of at least 6 rounds", "point": "forward/-/-/all-host/memif/64/c1/NDR"}
    path = emulated(run_directory(tmp_path / "run", [[trial(1e3, 10, limit="client-limited")]]), warnings=[warning])
    study = studies.find("end-to-end")
    (run,) = study.summaries(path)
    point = next(p for p in run.points if p.load == "NDR")
    assert point.verified == "works: 990 of 1,000 packets came back, and all that did are right"
    assert point.throughput_pps is None and point.latency is None and not point.rounds and run.warnings == []
    other = next(p for p in run.points if p.load == "PDR")
    assert other.verified == "", "it had no trial"
    text = study.show([run])
    assert f"2 points, 1 verified; {EMULATED}, so that no time or rate is shown" in text and not TIME.search(text)
    figures = study.figures([run])
    assert {f.origin for f in figures} == {"emulated"} and all(f.interval is None for f in figures)
    assert study.view("trials", [kept(path)], contextlib.nullcontext).num_rows == 0
    (row,) = [part for part in study.compare([run], [run], 0.03, None)[0].rows if part.old == point.id]
    assert row.verdict == "not comparable" and "times of an emulated target mean nothing" in row.reason


def test_figures_of_an_emulated_target_are_not_analysed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "rounds").mkdir(parents=True)
    quantities = [{"name": "goodput_gbps", "title": "goodput", "unit": "Gb/s", "better": "more"}]
    points = [
        {"id": name, "parameters": {"test": "throughput", "from": name, "to": "b"}, "unavailable": "", "failure": failure}
        for name, failure in (("right", ""), ("wrong", "measure: it crashed"), ("owed", ""))
    ]
    record = {
        "schema": "dpubench.run/1", "name": "r", "study": "link", "plan": "custom", "status": "complete", "started": "2026-01-02", "finished": "",
        "command": "none", "version": "0", "precision_target": 0.05, "machine": {}, "build": {}, "inputs": {}, "points": points,
        "quantities": quantities, "failures": [], "warnings": [{"code": "few-samples", "message": "312 round trips", "point": "right"}],
        "left_out": [], "rounds": [{"number": 0}], "path": "network", "ends": [],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    rows = [rounds.kept(0, name, "goodput_gbps", 7.125) for name in ("right", "wrong")]
    (folder / "rounds" / "0000.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = studies.find("link")
    (run,) = study.summaries(emulated(folder))
    assert {p.id: p.verified for p in run.points} == {"right": "works (1 verified round)", "wrong": "", "owed": ""}
    assert not any(p.figures or p.rounds for p in run.points) and run.warnings == []
    for text in (study.show([run]), study.export([run], "csv"), study.export([run], "json"), study.export([run], "latex")):
        assert "7.125" not in text and EMULATED in text
    assert "3 points, 1 verified" in study.show([run]) and "wrong  measure: it crashed" in study.show([run])
    rows_of = {row.old: row for row in study.compare([run], [run], 0.03, None)[0].rows}
    assert rows_of["right"].reason == f"vm:aarch64 is {EMULATED}"
