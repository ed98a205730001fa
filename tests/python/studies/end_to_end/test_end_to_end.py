"""Tests of ``dpubench run end-to-end`` with scripted programs: the order of phases, failures and what continues, interruption, leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench, bench_in
from dpubench import schemas
from dpubench.__main__ import status
from dpubench.analysis.model import Failure
from dpubench.errors import PlanError
from dpubench.plans.load import parse_plan, plan_text, read_plan
from dpubench.storage.runs import RunDirectory
from dpubench.studies import plan_names, plan_path
from dpubench.studies.end_to_end import trials
from dpubench.studies.end_to_end.model import PointSummary, RunSummary
from dpubench.studies.end_to_end.summary import summaries

PLAN = """study: end-to-end
frame_sizes: [64B]
rates: [100kpps]
trial: {ramp: 1ms, duration: 20ms, drain: 1ms}
search: {goals: [], first_trial: 20ms, last_trial: 20ms, duration_sum: 20ms, width: 10%}
rounds: {min: 1, max: 2}
budget: 60s
calibration: {processes: 0}
silence: 2s
"""
FLOW = "flow-table/flows=100000/table=dpdk-hash/all-host/memif/64/c1"
RECOGNITION = "application-recognition/-/hash=openssl,scan=hyperscan/all-host/memif/64/c1"
FORWARD = "forward/-/-/all-host/memif/64/c1"


@pytest.fixture
def run(bench: Bench) -> Any:
    """Return a function that runs the plan above as run ``r``, with options."""
    (bench.folder / "plan.yaml").write_text(PLAN)

    def start(*options: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = bench("run", "plan.yaml", "--name", "r", *options)
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        assert bench.workers() == []
        assert bench.left_on_the_machine() == []
        if (bench.results / "r" / "run.json").exists():
            assert not schemas.fault("run", bench.record("r"))
        return done

    return start


@pytest.fixture(scope="module")
def record_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return ``run.json`` of a run of the plan above."""
    bench = bench_in(tmp_path_factory.mktemp("kept"))
    (bench.folder / "plan.yaml").write_text(PLAN)
    done = bench("run", "plan.yaml", "--name", "r", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    return bench.record("r")


def analysed(bench: Bench) -> RunSummary:
    return summaries(bench.results / "r")[0]


def point(bench: Bench, name: str) -> PointSummary:
    return next(p for p in analysed(bench).points if p.id == name)


def log_of(bench: Bench) -> list[str]:
    return (bench.folder / "log").read_text().splitlines()


# --------------------------------------------------------------------------- plans


def problems(text: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan("study: end-to-end\n" + text, "p.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rates: [2M]", "p.yaml:2: rates.0: '2M' is not a rate: write 2Mpps, 10Gb/s (of frames with FCS), flood or recorded"),
        ("rates: [-1pps]", "p.yaml:2: rates.0: a packet rate must be above 0, not '-1pps'"),
        ("rates: [recorded]", "p.yaml:1: rates: recorded needs a capture's own times: set traffic.source to capture"),
        ("frame_sizes: [63B]", "p.yaml:2: frame_sizes.0: a frame size must be from 64B to 9018B with FCS, or imix, not '63B'"),
        ("frame_sizes: [imx]", "p.yaml:2: frame_sizes.0: 'imx' is not a size"),
        ("placements: [all-hots]", "p.yaml:2: placements.0: must be 'all-host', 'all-device' or 'split', not 'all-hots'; did you mean 'all-host'?"),
        ("trafic: {}", "p.yaml:2: trafic: unknown key 'trafic'; did you mean 'traffic'?"),
        ("traffic:\n  flow: 3", "p.yaml:3: traffic.flow: unknown key 'flow'; did you mean 'flows'?"),
        ("traffic: {payload: {signature_share: 101%}}", "p.yaml:2: traffic.payload.signature_share: a share must lie between 0% and 100%"),
        (
            "traffic: {protocol: tcp, segments: 4, overlap_share: 60%}",
            "p.yaml:2: traffic.overlap_share: a share of the segments must lie between 0% and 50%, not 60%",
        ),
        (
            "traffic: {retransmit_share: 10%}",
            "p.yaml:2: traffic: traffic.retransmit_share needs TCP messages of several segments: set traffic.segments above 1",
        ),
        ("traffic: {popularity: even}", "p.yaml:2: traffic.popularity: must be 'zipf' or 'uniform', not 'even'"),
        ("search: {goals: []}", "p.yaml:1: the plan offers no load: set rates, intervals or search.goals"),
        ("search: {first_trial: 2s, last_trial: 1s}", "p.yaml:2: search: search.last_trial is shorter than search.first_trial"),
        ("search: {min_rate: 3Mpps, max_rate: 2Mpps}", "p.yaml:2: search: search.max_rate is not above search.min_rate"),
        ("search: {min_rate: 1Gb/s}", "p.yaml:2: search: search.min_rate must be in packets per second: write it as 2Mpps"),
        ("trial: {duration: 0s}", "p.yaml:2: trial.duration: a time must be above 0, not '0s'"),
        ("server_cpus: 0", "p.yaml:2: server_cpus: the number of CPUs must lie between 1 and 1024, not 0"),
        ("workloads: [{name: flow-table, engine: x}]", "p.yaml:2: workloads.0.engine: unknown key 'engine'; did you mean 'engines'?"),
        ("port_arguments: {pci: {address: [a, b]}}", "p.yaml:2: port_arguments.pci.address: expected a word or a number, not list"),
        ("port_arguments: {pci: {all-host: {x: [1]}}}", "p.yaml:2: port_arguments.pci.all-host: x: expected a word or a number, not list"),
        ("ports: []", "p.yaml:2: ports: an empty list measures nothing: name at least one"),
    ],
)
def test_mistakes_of_a_plan(text: str, expected: str) -> None:
    assert any(line.startswith(expected) for line in problems(text)), problems(text)


@pytest.mark.parametrize("name", plan_names("end-to-end"))
def test_built_in_plans_are_valid_and_survive_writing(name: str) -> None:
    plan, _ = read_plan(plan_path("end-to-end", name))
    assert plan.plan == name and plan.study == "end-to-end"
    assert parse_plan(plan_text(plan), "again")[0] == plan


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "workloads=flow-tabel"], "--set workloads: unknown workload 'flow-tabel'; did you mean 'flow-table'?"),
        (["--set", "ports=memfi"], "unknown kind of port 'memfi'; did you mean 'memif'?"),
        (["--set", "port_arguments.memif.rign=3"], "port memif has no argument 'rign'; did you mean 'ring'?"),
        (["--set", "port_arguments.memif.all-host.rign=3"], "port memif has no argument 'rign'; did you mean 'ring'?"),
        (["--set", "port_arguments.memif.all-host=3"], "all-host is a placement, not an argument: write port_arguments.memif.all-host.ARGUMENT"),
        (["--set", "port_arguments.memif.all-hots.ring=3"], "unknown placement or target 'all-hots'; did you mean 'all-host'?"),
        (["--set", "port_arguments.memif.split.ring=3"], "split takes no arguments: its client's link uses those under all-host"),
        (["--engine", "hypercsan"], "no stage of the chosen workloads has the engine 'hypercsan'; did you mean 'hyperscan'?"),
        (["--param", "flow=3"], "no chosen workload has the parameter 'flow'; did you mean 'flows'?"),
        (["--set", "server_cpus=500"], "need 501 CPUs, but there are"),
        (["--set", "placements=all-device"], "all-device needs a device that is not the host: --set device=TARGET"),
        (["--set", "placement=split"], "--set placement: plans of study 'end-to-end' have no such key; did you mean 'placements'?"),
        (["--threads", "2"], "--threads: study 'end-to-end' has no such option; it has --workload, --engine, --size, --param, and --set for any key"),
        (["--against", "x"], "--against: study 'end-to-end' has no such option"),
        (["--set", "rates"], "--set rates: write KEY=VALUE"),
        (["--set", "budget.x=1"], "--set budget.x: budget has no keys of its own"),
        (["--set", "workloads=flow-table", "--set", "placements=split"], "no chosen workload has two stages"),
        (["--set", "target=local,local:cpus=0"], "target local:cpus=0: a client and a server need a CPU each"),
    ],
)  # fmt: skip
def test_mistakes_of_options(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    """The command runs in this process, because the mistakes are found before anything starts."""
    (bench.folder / "plan.yaml").write_text(PLAN)
    monkeypatch.chdir(bench.folder)
    for name in ("DPUBENCH_PROGRAMS", "XDG_CACHE_HOME", "SCRIPT"):
        monkeypatch.setenv(name, bench.environment[name])
    assert status(["run", "plan.yaml", "--name", "r", *options]) == 2
    told = capsys.readouterr().err
    assert words in told.replace("\n", " "), told
    assert not bench.results.exists()


def test_set_lays_values_over_any_key_of_any_study(bench: Bench, run: Any) -> None:
    done = run("--set", "rates=100kpps,1Gb/s", "--set", "trial.duration=30ms", "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert [load["name"] for load in told["loads"]["64"]] == ["100kpps", "1Gb/s"]
    assert told["loads"]["64"][1]["rate_pps"] == pytest.approx(1e9 / 512)
    operators = bench("run", "--set", "operators=aes", "--set", "rounds.max=7", "--dry-run")
    assert operators.returncode == 0 and "aes/" in operators.stdout and "crc/" not in operators.stdout


# --------------------------------------------------------------------------- the steps of a run


def test_each_trial_goes_through_its_steps_in_order(bench: Bench, run: Any) -> None:
    bench.script(log=str(bench.folder / "log"))
    run("--rounds", "1")
    steps = [tuple(line.split()[:3]) for line in log_of(bench) if " job " not in line]
    assert steps == [
        (side, workload, step)
        for workload in dict.fromkeys(s[1] for s in steps)
        for side, step in (("server", "begin"), ("client", "trial"), ("server", "collect"), ("client", "check"))
    ]
    assert {s[1] for s in steps} == {"forward", "flow-table", "application-recognition"}
    record = bench.record("r")
    assert record["status"] == "complete" and record["study"] == "end-to-end"
    assert not list((bench.results / "r" / "rounds").glob("*.ndjson"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"operators": {}}, "'operators' was unexpected"),
        ({"study": "operators"}, "'operators' is a required property"),
        ({"points": [{"id": "x", "configuration": "y", "failure": ""}]}, "points.0: 'unavailable' is a required property"),
        ({"loads": {"64": []}}, "loads.64: "),
        ({"loads": {"64": [{"name": "x", "kind": "fast", "schedule": "flood", "rate_pps": 1, "loss_goal": None}]}}, "loads.64.0.kind: 'fast' is not"),
        ({"rounds": [{"number": 0, "started": "x", "elapsed_s": 1, "cycles": 1, "windows": 1, "whole": True}]}, "rounds.0: "),
        ({"status": "done"}, "status: 'done' is not one of"),
    ],
)
def test_the_schema_of_a_run_knows_what_is_wrong_with_it(record_of_a_run: dict[str, Any], wrong: dict[str, Any], words: str) -> None:
    assert words in schemas.fault("run", record_of_a_run | wrong)


def test_the_null_workload_takes_turns_with_the_others(bench: Bench, run: Any) -> None:
    bench.script(log=str(bench.folder / "log"))
    run("--rounds", "2")
    order = [line.split()[1] for line in log_of(bench) if line.startswith("client") and " job " in line]
    assert order[0] == "forward" and order[-1] == "forward" and len(order) == 6


def test_jobs_hold_what_the_plan_says(bench: Bench, run: Any) -> None:
    bench.script(log=str(bench.folder / "log"))
    run("--rounds", "1", "--set", "workloads=flow-table", "--engine", "portable", "--param", "flows=1000", "--set", "traffic.flows=77")
    jobs = {line.split()[0]: json.loads(line.split(" job ")[1]) for line in log_of(bench) if line.split()[1] == "flow-table" and " job " in line}
    server, client = jobs["server"], jobs["client"]
    assert server["workload"] == {"name": "flow-table", "params": {"flows": "1000"}, "engines": {"table": "portable"}}
    assert client["traffic"]["flows"] == 77 and client["traffic"]["frame_sizes"] == [[64, 1]]
    assert server["ports"][0]["arguments"]["socket"] == client["port"]["arguments"]["socket"]
    assert client["cpu"] not in server["cpus"]
    assert not Path(client["port"]["arguments"]["socket"]).parent.exists()


def test_rates_are_found_and_shown(bench: Bench, run: Any) -> None:
    run("--set", "search.goals=NDR,PDR", "--set", "workloads=flow-table")
    found = point(bench, f"{FLOW}/NDR")
    assert found.throughput_pps is not None and 1.75e6 <= found.throughput_pps.value <= 2e6
    assert found.limit == "" and found.loss_ratio is not None and found.loss_ratio.value == 0
    assert found.floor is not None and found.floor.point == f"{FORWARD}/NDR"
    assert found.labels == ["virtual link", "short trials, not RFC 2544"]
    stages = {s.name: s for s in found.stages}
    assert stages["table"].engine == "dpdk-hash" and stages["table"].ns_per_packet.value == 100
    shown = bench("show", "r")
    assert shown.returncode == 0 and "NDR" in shown.stdout and "virtual link" in shown.stdout
    assert (bench.results / "r" / "report.html").is_file()


def test_a_client_that_is_late_says_nothing_of_the_server(bench: Bench, run: Any) -> None:
    bench.script(client_pps=50_000)
    run(expect=4)
    late = point(bench, f"{FLOW}/100kpps")
    assert late.throughput_pps is None and late.limit == "client-limited" and late.limits == {"client-limited": 2}
    kept = trials.read(bench.results / "r")
    assert {row["attempt"] for row in kept} == {0, 1, 2}


def test_a_stall_is_tried_again(bench: Bench, run: Any) -> None:
    bench.script(stalls=1, gap_ns=20_000_000)
    run("--rounds", "1", "--set", "search.pdr_loss=0.1%")  # 10 of 2,000 packets are lost in the stall
    rows = [r for r in trials.read(bench.results / "r") if r["configuration"] == FLOW]
    assert [(r["limit"], r["attempt"]) for r in rows] == [("stall-limited", 0), ("", 1)]
    assert point(bench, f"{FLOW}/100kpps").throughput_pps is not None


def test_what_a_stall_lost_spoils_no_goal_of_a_search(bench: Bench, run: Any) -> None:
    """The goal that allows the least loss judges the trials of a search, in whatever order the goals stand."""
    bench.script(stalls=3, gap_ns=20_000_000)
    run("--rounds", "2", "--set", "search.goals=NDR,PDR", "--set", "workloads=flow-table", "--set", "search.min_rate=100kpps")
    searched = [r for r in trials.read(bench.results / "r") if r["event"] == "trial" and r["load"] != "100kpps"]
    stalled = [r for r in searched if r["lost_server_receive"] == 10]
    assert {r["configuration"] for r in stalled} == {FLOW, FORWARD} and {r["limit"] for r in stalled} == {"stall-limited"}
    assert {r["load"] for r in searched} == {"NDR"}


def test_engines_that_cannot_run_are_left_out_and_named_ones_fail(bench: Bench, run: Any) -> None:
    run("--engine", "all", "--rounds", "1", "--set", "workloads=flow-table")
    assert {p.engines.get("table") for p in analysed(bench).points} == {None, "dpdk-hash", "portable"}
    (bench.folder / "plan.yaml").write_text(PLAN)
    done = bench("run", "plan.yaml", "--name", "named", "--engine", "xdp", "--set", "workloads=flow-table", "--rounds", "1")
    assert done.returncode == 4 and "was asked for and cannot run here" in done.stderr
    assert "xdp of stage table: no eBPF here" in json.dumps(bench.record("named")["failures"])


def test_the_best_engine_is_chosen_by_a_short_flood(bench: Bench, run: Any) -> None:
    bench.script(log=str(bench.folder / "log"))
    run("--engine", "best", "--rounds", "1", "--set", "workloads=flow-table")
    assert len({p.configuration for p in analysed(bench).points if not p.is_null}) == 1
    assert sum('"flood"' in line for line in log_of(bench)) == 2
    assert len(next(iter(bench.record("r")["selection"]["chosen"].values()))) == 2


def test_a_port_that_cannot_run_says_why(bench: Bench, run: Any) -> None:
    done = run("--set", "ports=vhost", expect=4)
    assert "port vhost: no such driver (install it)" in done.stderr
    done = run("--set", "ports=null", expect=4)
    assert "does not join two programs" in done.stderr


def test_a_split_has_two_servers_and_says_what_it_proves(bench: Bench, run: Any) -> None:
    bench.script(log=str(bench.folder / "log"))
    run("--rounds", "1", "--set", "placements=split", "--set", "workloads=application-recognition")
    jobs = [json.loads(line.split(" job ")[1]) for line in log_of(bench) if line.startswith("server application") and " job " in line]
    assert [job["stages"] for job in jobs] == [["hash"], ["scan"]]
    assert [len(job["ports"]) for job in jobs] == [1, 2]
    assert jobs[0]["ports"][0]["arguments"] == jobs[1]["ports"][1]["arguments"]
    split = next(p for p in analysed(bench).points if p.placement == "split")
    if len(os.sched_getaffinity(0)) < 3:
        assert "split on too few CPUs: proves correctness only" in split.labels


# --------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("side", "kind", "words"),
    [
        ("server", "kill", "server: it was killed by SIGKILL"),
        ("client", "kill", "client: it was killed by SIGKILL"),
        ("client", "exit3", "client: it ended with status 3; it said: scripted: out of luck"),
        ("client", "hang", "client: it hung"),
        ("server", "rubbish", "server: it printed a line that is not JSON"),
        ("client", "schema", "client: it printed a trial event that breaks the contract"),
        ("client", "unknown-event", "client: it printed an event of unknown kind"),
        ("client", "failure", "client: scripted: trial went wrong"),
        ("client", "fork-hang", "client: it hung"),
    ],
)
def test_what_breaks_in_a_trial_fails_its_point_alone(bench: Bench, run: Any, side: str, kind: str, words: str) -> None:
    phase = "trial" if side == "client" else "collect"
    bench.script(faults=[{"side": side, "phase": phase, "kind": kind, "workload": "flow-table", "once": str(bench.folder / "struck")}])
    run("--rounds", "1", "--set", "rates=100kpps,200kpps", "--set", "silence=1s", expect=1)
    failures = analysed(bench).failures
    assert len(failures) == 1 and words in failures[0].message, failures
    points = {p.id: p for p in analysed(bench).points}
    broken = [p for p in points.values() if p.failure]
    assert [p.id for p in broken] == [failures[0].point] and broken[0].workload == "flow-table"
    assert all(p.throughput_pps is not None for p in points.values() if not p.failure)


@pytest.mark.parametrize("phase", ["prepare", "ready", "begin", "check"])
def test_what_breaks_elsewhere_is_told_with_its_side(bench: Bench, run: Any, phase: str) -> None:
    side = "client" if phase == "check" else "server"
    bench.script(faults=[{"side": side, "phase": phase, "kind": "kill", "workload": "flow-table"}])
    run("--rounds", "1", expect=1)
    assert {f.point for f in analysed(bench).failures} == {f"{FLOW}/100kpps"}
    assert point(bench, f"{RECOGNITION}/100kpps").throughput_pps is not None


def test_what_breaks_at_the_end_takes_nothing_from_the_trials(bench: Bench, run: Any) -> None:
    bench.script(faults=[{"side": "server", "phase": "end", "kind": "kill", "workload": "flow-table"}])
    run("--rounds", "1", expect=1)
    assert [(f.phase, f.point, f.group) for f in analysed(bench).failures] == [("end", None, FLOW)]
    assert point(bench, f"{FLOW}/100kpps").throughput_pps is not None


def test_what_a_program_says_cannot_run_is_left_out(bench: Bench, run: Any) -> None:
    bench.script(faults=[{"side": "server", "phase": "prepare", "kind": "failure", "workload": "flow-table"}])
    run("--rounds", "1")
    assert point(bench, f"{FLOW}/100kpps").unavailable == "server: scripted: cannot be prepared"
    assert any("cannot be prepared" in line for line in analysed(bench).left_out)


@pytest.mark.parametrize(
    ("key", "words"), [("disagree", "do not agree: flow 7: 3 packets"), ("wrong", "3 of 2000 answers are wrong: the digest differs")]
)
def test_accounts_or_answers_that_are_wrong_fail_the_point(bench: Bench, run: Any, key: str, words: str) -> None:
    bench.script(**{key: "flow-table"})
    done = run(expect=1)
    assert analysed(bench).failures == [Failure("check", analysed(bench).failures[0].message, f"{FLOW}/100kpps", FLOW)]
    assert words in analysed(bench).failures[0].message and "failed:" in done.stderr + done.stdout
    assert point(bench, f"{FLOW}/100kpps").throughput_pps is None


def test_a_wrong_answer_in_a_search_fails_its_goals_alone(bench: Bench, run: Any) -> None:
    bench.script(wrong="flow-table")
    run("--set", "search.goals=NDR,PDR", "--rounds", "1", expect=1)
    assert {f.point for f in analysed(bench).failures} == {f"{FLOW}/{load}" for load in ("100kpps", "NDR", "PDR")}
    assert point(bench, f"{FORWARD}/NDR").throughput_pps is not None


def test_nothing_is_measured_without_the_programs(bench: Bench, run: Any) -> None:
    (bench.programs / "dpubench-server").unlink()
    assert "dpubench-server: there is no such program: run `make build`" in run(expect=2).stderr


# --------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_trials_and_is_resumed(bench: Bench, number: signal.Signals) -> None:
    (bench.folder / "plan.yaml").write_text(PLAN)
    bench.script(trial_s=0.4)
    process = bench.start("run", "plan.yaml", "--name", "r", "--set", "rates=100kpps,200kpps,300kpps")
    rounds = bench.results / "r" / "rounds"
    until = time.monotonic() + 30
    while time.monotonic() < until and not (list(rounds.glob("*.ndjson")) and len(trials.read(bench.results / "r")) >= 2):
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, (out, err)
    assert "dpubench resume r" in err and "Traceback" not in err
    assert bench.workers() == []
    kept = trials.read(bench.results / "r")
    assert len(kept) >= 2 and bench.record("r")["status"] == "interrupted"
    bench.script()
    resumed = bench("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    assert bench.record("r")["status"] == "complete"
    after = [(r["configuration"], r["load"], r["round"]) for r in trials.read(bench.results / "r")]
    assert len(after) == len(set(after)) and {(r["configuration"], r["load"], r["round"]) for r in kept} <= set(after)
    assert all(p.throughput_pps is not None for p in analysed(bench).points)
    again = bench("resume", "r")
    assert again.returncode == 2 and "is complete" in again.stderr


def test_a_killed_run_is_resumed_and_what_it_left_is_removed(bench: Bench) -> None:
    (bench.folder / "plan.yaml").write_text(PLAN)
    bench.script(trial_s=0.5)
    process = bench.start("run", "plan.yaml", "--name", "r")
    until = time.monotonic() + 30
    while time.monotonic() < until and not list((bench.results / "r" / "rounds").glob("*.ndjson")):
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=20)
    bench.script()
    assert bench("resume", "r").returncode == 0
    until = time.monotonic() + 10  # the programs notice that nobody talks to them any more
    while bench.workers() and time.monotonic() < until:
        time.sleep(0.1)
    assert bench.workers() == []
    own = f"dpubench-{process.pid}-"
    assert not [p for p in Path("/tmp").iterdir() if p.name.startswith(own)]


# --------------------------------------------------------------------------- commands that read runs


def test_runs_are_exported_compared_and_queried(bench: Bench, run: Any) -> None:
    run("--rounds", "2")
    assert bench("run", "plan.yaml", "--name", "again", "--rounds", "2").returncode == 0
    rows = bench("export", "r", "--csv").stdout.splitlines()
    assert len(rows) == 1 + len(analysed(bench).points) and rows[0].startswith("run,id,workload")
    assert bench("export", "r", "--parquet", "-o", "x.parquet").returncode == 0
    told = json.loads(bench("export", "r", "--json", "--anonymous").stdout)
    assert told["runs"][0]["machine"].get("host") is None
    refused = bench("export", "r", "--latex")
    assert refused.returncode == 2 and "take --csv" in refused.stderr
    compared = bench("compare", "r", "again", "--json")
    assert compared.returncode == 0
    assert {row["verdict"] for row in json.loads(compared.stdout)["rows"]} == {"same"}
    asked = bench("query", "SELECT workload, count(*) AS n FROM trials GROUP BY 1 ORDER BY 1", "--run", "r", "--csv")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.splitlines() == ["workload,n", "application-recognition,2", "flow-table,2", "forward,2"]
    points = bench("query", "SELECT count(*) AS n FROM points", "--csv")
    assert points.returncode == 0 and points.stdout.splitlines()[1] == "6"


def test_runs_of_two_studies_make_one_report_and_no_comparison(bench: Bench, run: Any) -> None:
    run("--rounds", "1")
    assert (
        bench("run", "--name", "o", "--operator", "crc", "--set", "rounds.min=1", "--set", "rounds.max=1", "--set", "precision=50%").returncode == 0
    )
    refused = bench("compare", "r", "o")
    assert refused.returncode == 2 and "only runs of one study can be compared" in refused.stderr
    assert bench("report", "r", "o", "-o", "both.html").returncode == 0
    page = (bench.folder / "both.html").read_text(encoding="utf-8")
    assert [page.count(f'<section class="study" id="study-{name}"') for name in ("end-to-end", "operators", "cores")] == [1, 1, 0]


def test_an_interrupted_round_is_read_line_by_line(bench: Bench, run: Any) -> None:
    run("--rounds", "1")
    directory = RunDirectory(bench.results / "r")
    whole = trials.read(directory.path)
    assert {r["event"] for r in whole} == {"trial"} and whole[0]["servers"][0]["busy_ns"] == 4e7
    assert whole[0]["latency_ns"]["buckets"] == [{"ns": 8000.0, "packets": 900}, {"ns": 24000.0, "packets": 100}]
    directory.whole_rounds()[0].write_bytes(b"rubbish")
    shown = bench("show", "r")
    assert shown.returncode == 2 and "this round is damaged" in shown.stderr


def test_workloads_and_ports_are_listed_and_described(bench: Bench) -> None:
    listed = bench("list", "workloads")
    assert listed.returncode == 0 and "flow-table" in listed.stdout and "hyperscan" in listed.stdout
    ports = bench("list", "ports")
    assert ports.returncode == 0 and "cannot run here: no such driver" in ports.stdout
    described = bench("describe", "flow-table")
    assert described.returncode == 0 and "xdp" in described.stdout and "no eBPF here" in described.stdout
    unknown = bench("describe", "flow-tabel")
    assert unknown.returncode == 2 and "did you mean 'flow-table'" in unknown.stderr
