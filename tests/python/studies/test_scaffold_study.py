"""Tests that a new study is only a new folder: it is added to a copy of the package, and every command knows it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from own_folder import Run, command_in, environment, interrupted, record_of

STUDY = '''"""Study ``tally``: scripted figures."""

from dpubench.studies.packaged import PackagedStudy
from dpubench.studies.tally.plan import Plan


class Tally(PackagedStudy):
    name = "tally"
    question = "how many are there"
    plan_model = Plan
    inherits = "measured"


STUDY = Tally()
'''

PLAN = '''"""The plan of study ``tally``."""

from typing import ClassVar

from dpubench.plans.model import MeasuredPlan


class Plan(MeasuredPlan):
    OPTIONS: ClassVar[dict[str, str]] = {"--workload": "things"}

    things: list[str] = ["apples", "pears"]
    pause_s: float = 0.0
    factor: float = 1.0
'''

DRAFT = '''"""What a plan of study ``tally`` comes to, and its figures."""

import random
import time

from dpubench.run.record import TargetInfo
from dpubench.studies.measured.draft import WRITER, MeasuredDraft  # noqa: F401
from dpubench.studies.measured.execute import MeasuredRun, PointFailed
from dpubench.studies.measured.model import Point, Quantity

HELLO = {
    "machine": {"cpu": "scripted", "cpus_online": 1}, "build": {"compiler": "none", "flags": "", "revision": "0", "type": "scripted"},
}
QUANTITIES = [Quantity("things_per_s", "things", "things/s", "more"), Quantity("ns_per_thing", "time", "ns", "less")]


class Run(MeasuredRun):
    def measure(self, point, parameters, number):
        time.sleep(self.plan.pause_s)
        if parameters["thing"] == "plums":
            raise PointFailed("measure", "plums are out of season")
        rate = self.plan.factor * 1000 * (1 + 0.01 * random.Random(f"{self.name}{point}{number}").random())
        return {"things_per_s": rate, "ns_per_thing": 1e9 / rate}


class Draft(MeasuredDraft):
    def work(self, writer, record, files, stop, display, budget):
        return Run(writer, self.plan, self.quantities, record, stop, display, budget)


def drafts(plan, where, request, opened):
    points = [Point(thing, {"thing": thing}, "grows elsewhere" if thing == "dates" else "") for thing in plan.things]
    return [Draft(plan, TargetInfo(name, name, ""), HELLO, points, QUANTITIES) for name in plan.target]


def draft_again(plan, where, record, request, opened):
    return Draft(plan, TargetInfo(record["target"], record["target"], ""), HELLO, [], QUANTITIES)
'''

SCHEMA = {
    "title": "the part of dpubench.run/1 that study tally adds",
    "properties": {"points": {"type": "array"}, "quantities": {"type": "array"}, "rounds": {"type": "array"}},
    "required": ["points", "quantities", "rounds"],
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a copy of the package with one more study."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "python" / "dpubench", folder / "dpubench", ignore=shutil.ignore_patterns("__pycache__"))
    own = folder / "dpubench" / "studies" / "tally"
    own.mkdir()
    files = {"__init__.py": "", "study.py": STUDY, "plan.py": PLAN, "draft.py": DRAFT, "run.schema.json": json.dumps(SCHEMA)}
    files["quick.yaml"] = "study: tally\nplan: quick\nsummary: two things\nrounds: {min: 6, max: 8}\n"
    for name, text in files.items():
        (own / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def dpubench(package: Path, tmp_path: Path) -> Run:
    """Return a function that runs a command of the copy in a folder of its own, and checks its exit status (``status``; default 0)."""
    return command_in(tmp_path, package)


def test_a_study_is_one_folder(dpubench: Run, package: Path, tmp_path: Path) -> None:
    assert "how many are there" in dpubench("list", "studies").stdout
    dry = dpubench("run", "tally", "--workload", "apples,dates", "--dry-run").stdout
    assert "apples" in dry and "dates: cannot run here: grows elsewhere" in dry and not (tmp_path / "results").exists()
    done = dpubench("run", "tally", "--name", "r", "--workload", "apples,pears,dates")
    assert "3 points, 2 measured in 6 rounds" in done.stdout
    code = f"import json; from dpubench import schemas; print(schemas.fault('run', json.load(open({str(tmp_path / 'results/r/run.json')!r}))))"
    checked = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path, package), capture_output=True, text=True, timeout=60, check=True)
    assert checked.stdout.strip() == ""
    shown = dpubench("show", "r").stdout
    assert "things (things/s)" in shown and "grows elsewhere" in shown
    rows = list(csv.DictReader(io.StringIO(dpubench("export", "r", "--csv").stdout)))
    assert [row["param_thing"] for row in rows] == ["apples", "pears", "dates"] and 1000 <= float(rows[0]["things_per_s"]) <= 1010
    assert float(rows[0]["things_per_s_low"]) < float(rows[0]["things_per_s"]) and rows[2]["things_per_s"] == ""
    assert json.loads(dpubench("export", "r", "--json", "--anonymous").stdout)["runs"][0]["quantities"][1]["better"] == "less"
    assert r"\begin{tabular}" in dpubench("export", "r", "--latex").stdout
    asked = dpubench("query", "SELECT id, rounds FROM points WHERE things_per_s IS NOT NULL ORDER BY id", "--json").stdout
    assert json.loads(asked) == [{"id": "apples", "rounds": 6}, {"id": "pears", "rounds": 6}]
    page = (tmp_path / "results/r/report.html").read_text(encoding="utf-8")
    assert "things/s" in page and "grows elsewhere" in page


def test_its_runs_are_compared(dpubench: Run) -> None:
    dpubench("run", "tally", "--name", "a")
    dpubench("run", "tally", "--name", "b", "--set", "factor=0.8")
    rows = json.loads(dpubench("compare", "a", "b", "--json").stdout)["rows"]
    assert {(row["configuration"], row["verdict"]) for row in rows} == {
        (f"{thing}, {what}", "slower") for thing in ("apples", "pears") for what in ("things", "time")
    }
    assert all(abs(row["ratio"] - 0.8) < 0.02 for row in rows)
    dpubench("compare", "a", "b", "--fail-on", "regression", status=3)
    figures = list(csv.DictReader(io.StringIO(dpubench("export", "a", "b", "--figures", "--csv").stdout)))
    assert [(f["run"], f["point"], f["quantity"], f["unit"], f["better"], f["origin"]) for f in figures] == [
        (run, thing, *quantity, "measured") for run in "ab" for thing in ("apples", "pears")
        for quantity in (("things_per_s", "things/s", "more"), ("ns_per_thing", "ns", "less"))
    ]  # fmt: skip


def test_a_point_that_fails_leaves_the_others(dpubench: Run, tmp_path: Path) -> None:
    done = dpubench("run", "tally", "--name", "r", "--workload", "apples,plums", status=1)
    assert "plums are out of season" in done.stdout
    assert [f["message"] for f in record_of(tmp_path / "results/r")["failures"]] == ["plums are out of season"]
    dpubench("run", "tally", "--workload", "dates", status=4)


def test_it_keeps_its_budget_where_a_round_is_longer(dpubench: Run, tmp_path: Path) -> None:
    dpubench("run", "tally", "--name", "r", "--set", "pause_s=1.5", "--budget", "1s")
    record = record_of(tmp_path / "results/r")
    assert record["status"] == "complete" and [r["whole"] for r in record["rounds"]] == [False]
    (text,) = record["left_out"]
    assert text in [f"{thing}: the budget was spent before its turn (--budget)" for thing in ("apples", "pears")]
    assert "1 measured in" in dpubench("show", "r").stdout


def test_it_goes_on_after_ctrl_c(dpubench: Run, package: Path, tmp_path: Path) -> None:
    words = ("run", "tally", "--name", "r", "--set", "pause_s=0.1")
    _, errors = interrupted(tmp_path, *words, begun="results/r/rounds/0002.*", package=package)
    assert "are kept in" in errors and "dpubench resume r" in errors
    assert record_of(tmp_path / "results/r")["status"] == "interrupted"
    dpubench("resume", "r")
    record = record_of(tmp_path / "results/r")
    assert record["status"] == "complete" and sum(r["whole"] for r in record["rounds"]) >= 5
    assert "2 measured in" in dpubench("show", "r").stdout


def test_its_targets_take_turns(dpubench: Run, tmp_path: Path) -> None:
    dpubench("run", "tally", "--name", "two", "--target", "here", "--target", "there")
    record = record_of(tmp_path / "results/two")
    assert [(t["name"], t["status"]) for t in record["targets"]] == [("here", "complete"), ("there", "complete")]
    shown = dpubench("show", "two").stdout
    assert shown.count("2 measured in 6 rounds") == 2
    assert "there against here" in dpubench("compare", "two").stdout
