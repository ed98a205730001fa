"""Tests of `dpubench import --study stress`: files of others become ordinary run directories, and every command reads them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from dpubench import schemas, studies
from dpubench.__main__ import status
from dpubench.run.importing import LABEL
from dpubench.studies.stress.model import RATE

RECORDED = Path(os.environ.get("DPUBENCH_SHARED_DATA", "/nowhere")) / "wu"
RESULTS = "platform,run_seconds,repetition,stressor,bogo_ops,real_time,usr_time,sys_time,bogo_ops_per_s_real"
ABOUT = "platform,run_seconds,repetition,stress_ng_version,date,kernel,machine,cpus,totalram,pagesize"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")


def yaml_of(rates: dict[str, float], version: str = "0.12.01", seconds: int = 60, host: str = "there") -> str:
    entries = "".join(
        f"    - stressor: {name}\n      bogo-ops: {rate * seconds:.0f}\n      wall-clock-time: {seconds}.01\n"
        "      user-time: 1.5\n      system-time: 0.5\n\n"
        for name, rate in rates.items()
    )
    return f"---\nsystem-info:\n      stress-ng-version: {version}\n      hostname: {host}\n      cpus-online: 8\n\nmetrics:\n{entries}...\n"


def tables(more: str = "") -> list[str]:
    """Write tables of two platforms with two repetitions of 10 s and of 60 s; return their names."""
    rows, about = [RESULTS], [ABOUT]
    for platform, factor in (("bf2", 1), ("host", 2)):
        for seconds in (10, 60):
            for repetition in (1, 2):
                about.append(f"{platform},{seconds},{repetition},0.12.01,2021:02:04,5.4.0,aarch64,8,16737873920,4096")
                rows.append(f"{platform},{seconds},{repetition},cpu,{1000 * factor * seconds + repetition},{seconds}.0,1.0,1.0,0")
                rows.append(f"{platform},{seconds},{repetition},cpu,0,0.000175,0.0,0.0,0.0")
                rows.append(f"{platform},{seconds},{repetition},af-alg,{5000 // factor * seconds},{seconds}.0,1.0,1.0,0")
                rows.append(f"{platform},{seconds},{repetition},key,5269827723229253976,0.000427,184467440734028480.0,0.0,0")
    Path("results.csv").write_text("\n".join(rows) + f"\n{more}", encoding="utf-8")
    Path("runs.csv").write_text("\n".join(about) + "\n", encoding="utf-8")
    return ["results.csv", "runs.csv"]


def imported(*words: str, exit_status: int = 0) -> None:
    assert status(["import", *words, "--study", "stress", "--name", "r"]) == exit_status


def record(run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("results", run, "run.json").read_text(encoding="utf-8"))
    return found


def test_tables_become_a_run_of_several_targets(capsys: pytest.CaptureFixture[str]) -> None:
    imported(*tables(), "--set", "reference=host")
    assert "2 targets" in capsys.readouterr().out
    assert [(t["name"], t["label"], t["status"]) for t in record("r")["targets"]] == [("bf2", LABEL, "complete"), ("host", LABEL, "complete")]
    assert schemas.fault("run-set", record("r")) == "" and schemas.fault("run", record("r/targets/bf2")) == ""
    runs = studies.find("stress").summaries(Path("results/r"))
    points = {(run.target, p.id): p for run in runs for p in run.points}
    assert points["bf2", "cpu,60s"].rounds[RATE] == pytest.approx([60001 / 60, 60002 / 60])
    assert (points["bf2", "af-alg,60s"].rank.value, points["bf2", "cpu,60s"].rank.value) == (1, 2)
    assert points["bf2", "af-alg,60s"].relative.value == pytest.approx(2)
    assert points["bf2", "key,60s"].unavailable == "it ended after 0.000427 s of 60 s" and not points["bf2", "key,60s"].rounds
    assert points["bf2", "af-alg,60s"].classes == ["cpu", "os"]
    assert {run.stress_version for run in runs} == {"0.12.01"} and runs[0].machine["cpus_online"] == 8
    assert any(w.code == "other-classes" for w in runs[0].warnings)


def test_every_command_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    imported(*tables(), "--set", "reference=host")
    capsys.readouterr()
    assert status(["show", "r"]) == 0
    shown = capsys.readouterr().out
    assert shown.count(f"[{LABEL}]") == 2 and "relative to host" in shown and "Best stressors of bf2" in shown and "af-alg (1; 2.00x)" in shown
    assert status(["show", "r@bf2"]) == 0
    assert "1 of 2" in capsys.readouterr().out
    assert status(["export", "r", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["target"]: row["rank"] for row in rows if row["id"] == "cpu,60s"} == {"bf2": "2", "host": "1"}
    assert all(row["origin"] == "imported" and row["label"] == LABEL for row in rows)
    assert status(["export", "r", "--json", "--anonymous"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["target"] for run in runs] == ["target-1", "target-2"] and "bf2" not in json.dumps(runs)
    assert status(["export", "r", "--latex"]) == 0
    assert "bf2 / host" in capsys.readouterr().out
    assert status(["query", "SELECT target, rank FROM points WHERE id = 'af-alg,60s' ORDER BY target", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"target": "bf2", "rank": 1}, {"target": "host", "rank": 2}]
    assert status(["compare", "r", "--json"]) == 0
    assert {row["target"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"host against bf2"}
    assert status(["report", "r", "--baseline", "bf2"]) == 0
    page = Path("results/r/report.html").read_text(encoding="utf-8")
    assert LABEL in page and "Nothing here was measured by dpubench" in page and "Change of rank with duration" in page
    assert status(["resume", "r"]) == 2 and "nothing is left to resume" in capsys.readouterr().err


def test_yaml_and_logs_of_several_platforms() -> None:
    for n in (1, 2):
        Path(f"a{n}.yaml").write_text(yaml_of({"cpu": 100 + n, "vm": 5}), encoding="utf-8")
        Path(f"b{n}.yaml").write_text(yaml_of({"cpu": 300 + n, "vm": 1}, host="there"), encoding="utf-8")
    rows = "\n".join(f"stress-ng: info:  [1] {n}   6000   60.00   1.00   1.00   100.00   3000.00" for n in ("cpu", "vm"))
    Path("c.log").write_text(f"stress-ng: debug: [1] stress-ng 0.12.01\n{rows}\n", encoding="utf-8")
    imported("a1.yaml", "a2.yaml", "bf2=b1.yaml", "bf2=b2.yaml", "old=c.log")
    runs = studies.find("stress").summaries(Path("results/r"))
    assert [(run.target, run.rounds) for run in runs] == [("there", 2), ("bf2", 2), ("old", 1)]
    ranks = {(run.target, p.stressor): p.rank.value for run in runs for p in run.points}
    assert ranks == {("bf2", "cpu"): 1, ("there", "cpu"): 2, ("old", "cpu"): 3, ("old", "vm"): 1, ("there", "vm"): 2, ("bf2", "vm"): 3}


def test_one_platform_is_an_ordinary_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(yaml_of({"cpu": 100}), encoding="utf-8")
    imported("a.yaml", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["targets"] == ["there"] and told["points"] == 1 and Path(told["report"]).is_file()
    assert schemas.fault("run", record("r")) == "" and record("r")["status"] == "complete"


def test_a_file_without_its_end_is_taken_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    whole = yaml_of({"cpu": 100, "vm": 5})
    Path("a.yaml").write_text(whole[: whole.index("    - stressor: vm")], encoding="utf-8")
    imported("a.yaml")
    assert "a.yaml: has no end, so that it may lack stressors" in capsys.readouterr().err


def test_versions_are_kept_apart(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(yaml_of({"cpu": 100}, "0.12.01", host="a"), encoding="utf-8")
    Path("b.yaml").write_text(yaml_of({"cpu": 200}, "0.15.06", host="b"), encoding="utf-8")
    imported("a.yaml", "b.yaml")
    assert status(["show", "r"]) == 0
    assert "not compared: a: stress-ng 0.12.01; b: stress-ng 0.15.06" in capsys.readouterr().out
    page = Path("results/r/report.html").read_text(encoding="utf-8")
    assert "The targets are not compared" in page and "Best and worst stressors" not in page
    assert status(["import", "a.yaml", "b.yaml", "--study", "stress", "--name", "m", "--set", "mixed_versions=true"]) == 0
    page = Path("results/m/report.html").read_text(encoding="utf-8")
    assert "mixed-versions" in page and "Best and worst stressors" in page
    assert status(["import", "x=a.yaml", "x=b.yaml", "--study", "stress", "--name", "n"]) == 2
    assert "one figure cannot be of both" in capsys.readouterr().err and not Path("results/n").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "has no 'metrics'"),
        ("{", "is no YAML"),
        ("metrics: []\n", "holds no stressor with operations"),
        (yaml_of({"cpu": 0}), "holds no stressor with operations"),
        (yaml_of({"cpu": 100})[:-40], "was cut short"),
        ("platform,run_seconds,repetition,stressor\n", "has no column"),
        (f"{RESULTS}\na,10,1,cpu,5,10,1,1,1\na,10,1,cpu,many,10,1,1,1\n", ":3: bogo_ops of stressor cpu is 'many'"),
        (f"{RESULTS}\na,ten,1,cpu,5,10,1,1,1\n", ":2: needs a platform"),
        (f"{RESULTS}\na,10,1,cpu,5\n", ":2: real_time of stressor cpu is 'None'"),
        ("\0", "is no YAML"),
    ],
)
def test_a_file_that_is_no_result_is_refused_with_its_name(content: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.file").write_text(content, encoding="utf-8")
    imported("bad.file", exit_status=2)
    told = capsys.readouterr().err
    assert "bad.file" in told and why in told and not Path("results").exists()


def test_faults_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin").write_bytes(b"\xff\xfe")
    for words, why in [
        (["import", "nowhere.yaml", "--study", "stress"], "is no file"),
        (["import", "latin", "--study", "stress"], "no UTF-8 text"),
        (["import", "latin", "--study", "cores"], "reads no results of others: these do:"),
        (["import", "latin", "--study", "strss"], "unknown study 'strss'"),
        (["import", "latin", "--study", "stress", "--name", "a/b"], "invalid name"),
    ]:
        assert status(words) == 2
        assert why in capsys.readouterr().err
    names = tables()
    assert status(["import", *names, "--study", "stress", "--set", "referense=host"]) == 2
    assert "no such key" in capsys.readouterr().err
    imported(*names)
    imported(*names, exit_status=2)
    assert "exists already" in capsys.readouterr().err


@pytest.mark.skipif(not (RECORDED / "stress_ng.csv").is_file(), reason="DPUBENCH_SHARED_DATA names no folder with recorded runs")
def test_the_published_ranks_of_the_bluefield_2() -> None:
    """Liu et al. 2021: encryption, memory operations under contention, and IPC on the card are faster on it than on general-purpose servers."""
    imported(str(RECORDED / "stress_ng.csv"), str(RECORDED / "stress_ng_runs.csv"), "--set", "reference=pi4_4gb")
    runs = studies.find("stress").summaries(Path("results/r"))
    assert len(runs) == 6
    bluefield = next(run for run in runs if run.target.startswith("MBF2"))
    first = {p.stressor for p in bluefield.points if p.is_final and p.rank is not None and p.rank.value == 1 and not p.too_noisy}
    assert {"af-alg", "lockbus", "mcontend", "splice", "stack", "klog"} <= first
    key = next(p for run in runs if run.target == "pi4_4gb" for p in run.points if p.id == "key,10s")
    assert not key.rounds  # recorded as 5e18 operations in 0.4 ms
