"""Tests, with scripted programs, that ``dpubench run end-to-end`` first measures the client's ceiling and leaves out loads above it."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest
import yaml
from conftest import Bench
from dpubench import schemas
from dpubench.__main__ import status
from dpubench.studies.end_to_end import trials
from dpubench.studies.end_to_end.model import RunSummary
from dpubench.studies.end_to_end.summary import summaries

PLAN = """study: end-to-end
workloads: [flow-table]
frame_sizes: [64B]
rates: [100kpps, 5Mpps]
trial: {ramp: 1ms, duration: 20ms, drain: 1ms}
search: {goals: [], first_trial: 20ms, last_trial: 20ms, duration_sum: 20ms, width: 10%}
calibration: {processes: 2, trial: 10ms}
rounds: {min: 1, max: 1}
budget: 60s
silence: 2s
"""
FLOW = "flow-table/flows=100000/table=dpdk-hash/all-host/memif/64/c1"
FORWARD = "forward/-/-/all-host/memif/64/c1"


@pytest.fixture
def run(bench: Bench) -> Any:
    """Return a function that runs the plan above as run ``r``, with options."""
    (bench.folder / "plan.yaml").write_text(PLAN)

    def start(*options: str, expect: int = 0) -> str:
        done = bench("run", "plan.yaml", "--name", "r", *options)
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        assert bench.workers() == [] and bench.left_on_the_machine() == []
        if (bench.results / "r" / "run.json").exists():
            assert not schemas.fault("run", bench.record("r"))
        return done.stdout + done.stderr

    return start


def analysed(bench: Bench) -> RunSummary:
    return summaries(bench.results / "r")[0]


def test_what_the_client_cannot_offer_is_left_out_before_it_is_run(bench: Bench, run: Any) -> None:
    bench.script(client_pps=1e6, log=str(bench.folder / "log"))
    said = run("--set", "search.goals=NDR")
    found = {p.id: p for p in analysed(bench).points}
    above = found[f"{FLOW}/5Mpps"]
    assert above.left_out.startswith("above the client's ceiling: on the null workload the client kept up with 0.9") and above.trials == 0
    assert found[f"{FORWARD}/5Mpps"].left_out and found[f"{FLOW}/100kpps"].throughput_pps is not None
    (ceiling,) = analysed(bench).ceilings
    assert ceiling.held_pps is not None and ceiling.missed_pps is not None and ceiling.held_pps <= 1e6 < ceiling.missed_pps
    assert (ceiling.processes, ceiling.left_out, ceiling.schedule) == (2, 2, "constant") and ceiling.limit_pps == 1.33 * ceiling.missed_pps
    # A search does not go beyond the ceiling, and says that the server's limit lies above it.
    searched = found[f"{FLOW}/NDR"]
    assert searched.throughput_pps is not None and 0.9e6 <= searched.throughput_pps.value <= 1e6
    assert searched.limit == "client-limited" and searched.bounded_by.startswith("the client missed its schedule at 1.")
    tried = trials.read(bench.results / "r")
    assert max(row["rate_pps"] or 0 for row in tried) <= ceiling.limit_pps * 1.0001
    kept = trials.read_calibration(bench.results / "r")
    assert len(kept) == ceiling.trials and {row["round"] for row in kept} == {0, 1} and {row["load"] for row in kept} == {"calibration constant"}
    assert "2 points lie above the client's ceiling and were left out" in said
    shown = " ".join(bench("show", "r").stdout.split())  # the terminal breaks lines
    assert "the client's ceiling: memif, frames 64, 1 server CPU, constant: kept up with 0.9" in shown
    assert "2 left out above the client's ceiling" in shown and "5Mpps (2 points): above the client's ceiling" in shown
    page = (bench.results / "r" / "report.html").read_text()
    assert "Client&#39;s ceiling" in page or "Client's ceiling</dt>" in page
    rows = bench("query", "SELECT event, count(*) AS n FROM trials GROUP BY 1 ORDER BY 1", "--run", "r", "--csv").stdout.splitlines()
    assert rows == ["event,n", f"calibration,{len(kept)}", "found,2", f"trial,{len(tried) - 2}"]
    left = bench("query", "SELECT count(*) AS n FROM points WHERE left_out <> ''", "--run", "r", "--csv").stdout.splitlines()
    assert left == ["n", "2"]


def test_a_client_that_keeps_up_loses_nothing_and_a_search_ends_at_the_servers_limit(bench: Bench, run: Any) -> None:
    run("--set", "rates=100kpps", "--set", "search.goals=NDR", "--set", "search.max_rate=3Mpps")
    assert not any(p.left_out for p in analysed(bench).points)
    (ceiling,) = analysed(bench).ceilings
    assert ceiling.missed_pps is None and ceiling.processes == 1 and ceiling.trials == 1
    point = next(p for p in analysed(bench).points if p.id == f"{FLOW}/NDR")
    assert point.throughput_pps is not None and 1.75e6 <= point.throughput_pps.value <= 2e6 and point.limit == "" and not point.bounded_by


def test_where_every_load_lies_above_nothing_is_measured(bench: Bench, run: Any) -> None:
    bench.script(client_pps=10e3)
    said = run(expect=4)
    assert "nothing could be measured: above the client's ceiling" in " ".join(said.split())


def test_a_dry_run_says_that_it_will_happen(bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (bench.folder / "plan.yaml").write_text(PLAN)
    monkeypatch.chdir(bench.folder)
    for name in ("DPUBENCH_PROGRAMS", "XDG_CACHE_HOME", "SCRIPT"):
        monkeypatch.setenv(name, bench.environment[name])

    def said(*options: str) -> str:
        assert status(["run", "plan.yaml", "--dry-run", *options]) == 0
        return capsys.readouterr().out

    assert "first the null workload measures the highest rate that the client can offer on 1 link (2 fresh processes each" in said()
    told = json.loads(said("--json"))
    assert told["calibration"]["links"] == 1 and told["calibration"]["processes"] == 2 and told["calibration"]["seconds"] > 0
    assert "highest rate that the client can offer" not in said("--set", "calibration.processes=0")


def test_the_time_of_a_calibration_is_bounded_by_its_share(bench: Bench, run: Any) -> None:
    bench.script(client_pps=1e6, trial_s=0.03)
    run("--set", "rates=100kpps,200kpps,5Mpps", "--set", "budget=8s", "--set", "calibration.share=1%", "--set", "calibration.processes=5")
    (ceiling,) = analysed(bench).ceilings
    assert ceiling.processes == 1 and ceiling.limit_pps == pytest.approx(1.5 * (ceiling.missed_pps or 0))


def test_a_null_workload_that_fails_leaves_all_loads_in(bench: Bench, run: Any) -> None:
    bench.script(client_pps=1e6, faults=[{"side": "server", "phase": "begin", "kind": "kill", "workload": "forward"}])
    run(expect=1)
    assert not any(p.left_out for p in analysed(bench).points) and not analysed(bench).ceilings
    assert any("the client's ceiling on 1 of 1 links" in line for line in analysed(bench).left_out)


def test_an_interrupted_calibration_is_gone_on_with(bench: Bench) -> None:
    (bench.folder / "plan.yaml").write_text(PLAN)
    bench.script(client_pps=1e6, trial_s=0.2)
    process = bench.start("run", "plan.yaml", "--name", "r")
    until = time.monotonic() + 30
    while time.monotonic() < until and not (bench.results / "r" / "calibration" / "0000.ndjson").exists():
        time.sleep(0.02)
    while time.monotonic() < until and len(trials.read_calibration(bench.results / "r")) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, (out, err)
    kept = len(trials.read_calibration(bench.results / "r"))
    bench.script(client_pps=1e6)
    resumed = bench("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    assert len(trials.read_calibration(bench.results / "r")) > kept
    (ceiling,) = analysed(bench).ceilings
    assert ceiling.processes == 2 and {p.load for p in analysed(bench).points if p.left_out} == {"5Mpps"}
    assert sum("above the client's ceiling" in line for line in bench.record("r")["left_out"]) == 1


def test_loads_come_back_when_the_client_can_offer_them_after_all(bench: Bench) -> None:
    """Other work on the machine lowers the ceiling while it is measured."""
    (bench.folder / "plan.yaml").write_text(PLAN.replace("rounds: {min: 1, max: 1}", "rounds: {min: 2, max: 2}"))
    bench.script(client_pps=200e3, trial_s=0.05)
    process = bench.start("run", "plan.yaml", "--name", "r")
    until = time.monotonic() + 30
    while time.monotonic() < until and not (bench.results / "r" / "rounds" / "0000.ndjson").exists():
        time.sleep(0.01)
    bench.script()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, (out, err)
    (ceiling,) = analysed(bench).ceilings
    assert ceiling.missed_pps is None and ceiling.processes == 3 and ceiling.left_out == 0
    assert "the client can offer more than before: 2 points are no longer left out" in err
    found = {p.id: p for p in analysed(bench).points}
    assert found[f"{FLOW}/5Mpps"].rounds == 1 and not found[f"{FLOW}/5Mpps"].left_out and found[f"{FLOW}/100kpps"].rounds == 2
    assert not any("above the client's ceiling" in line for line in bench.record("r")["left_out"])
    assert {row["round"] for row in trials.read_calibration(bench.results / "r")} == {0, 1}


def test_a_run_that_has_rounds_already_goes_on_as_it_began(bench: Bench, run: Any) -> None:
    """Runs from before calibration existed are resumed without one."""
    run("--set", "calibration.processes=0")
    record = bench.record("r")
    record["status"], record["rounds"][-1]["whole"] = "interrupted", False
    (bench.results / "r" / "run.json").write_text(json.dumps(record))
    plan = bench.results / "r" / "plan.yaml"
    former = yaml.safe_load(plan.read_text())
    del former["calibration"], former["search"]["ndr_exceed"], former["search"]["pdr_exceed"]
    plan.write_text(yaml.safe_dump(former))
    bench.script(client_pps=50e3)
    bench("resume", "r")
    assert not analysed(bench).ceilings and not any(p.left_out for p in analysed(bench).points)
