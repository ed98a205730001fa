"""Tests, in dry runs with the real server, that settings that it cannot do are found before anything starts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from dpubench.errors import EnvironmentFault
from dpubench.studies.end_to_end import catalog
from dpubench.targets.local import LocalTarget
from kernel_programs import xdp_reason
from real_program import BUILD, RealBench

SERVER = BUILD / "dpubench-server"

pytestmark = [
    pytest.mark.skipif(not SERVER.is_file(), reason="the programs of the datapath are not built: DPDK is not here"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a client and a server need a CPU each"),
]
needs_xdp = pytest.mark.skipif(xdp_reason() != "", reason=xdp_reason())

PLAN = """study: end-to-end
frame_sizes: [64B]
rates: [20kpps]
search: {goals: []}
"""


def dry(real: RealBench, plan: str) -> subprocess.CompletedProcess[str]:
    (real.folder / "plan.yaml").write_text(PLAN + plan)
    return real("run", "plan.yaml", "--dry-run")


@pytest.mark.parametrize(
    ("plan", "place", "reason"),
    [
        (
            "workloads:\n- {name: flow-table, params: {flows: [1000, 20000000]}}\n",
            "plan.yaml:6: workloads.0.params.flows", "from 1000 to 10000000, not 20000000",
        ),
        ("workloads: [flow-table]\nparams: {key: [none]}\n", "plan.yaml:6: params.key", "must be one of paper, five_tuple, not 'none'"),
        ("workloads: [flow-table]\nparams: {idle_ms: [0, -1]}\n", "plan.yaml:6: params.idle_ms", "-1"),
    ],
)  # fmt: skip
def test_a_parameter_beyond_its_limits_is_a_problem_of_the_plan(real: RealBench, plan: str, place: str, reason: str) -> None:
    done = dry(real, plan)
    assert done.returncode == 2, done.stdout
    assert place in done.stderr and reason in done.stderr
    assert len(done.stderr.splitlines()) == 1, "what is wrong is said once, and nothing else is blamed"


@needs_xdp
@pytest.mark.parametrize(
    ("plan", "place", "reason"),
    [
        ("workloads: [flow-table]\nengines: [xdp]\n", "plan.yaml:6: engines.0", "engine xdp of stage table, port memif: needs a port of kind xdp"),
        ("workloads: [flow-table]\nengines: [portable]\nports: [xdp]\n", "plan.yaml:6: engines.0", "use engine xdp"),
        (
            "workloads: [{name: flow-table, engines: {table: xdp}}]\nparams: {full: evict_oldest}\nports: [xdp]\n",
            "workloads.0.engines.table", "cannot retire",
        ),
        ("workloads: [flow-table]\nports: [xdp]\nparams: {idle_ms: [0, 100]}\n", "plan.yaml:7: params.idle_ms", "cannot retire"),
        ("workloads: [flow-table]\nports: [xdp]\nframe_sizes: [4000B]\nengines: [xdp]\n", "engines.0", "frames of at most 3500 bytes"),
    ],
)  # fmt: skip
def test_what_is_named_and_never_possible_is_a_problem_of_the_plan(real: RealBench, plan: str, place: str, reason: str) -> None:
    (real.folder / "plan.yaml").write_text((PLAN if "frame_sizes" not in plan else PLAN.replace("frame_sizes: [64B]\n", "")) + plan)
    done = real("run", "plan.yaml", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert place in done.stderr and reason in done.stderr, done.stderr


@needs_xdp
@pytest.mark.parametrize("engines", ["all", "best", "[xdp, portable]"])
def test_of_engines_and_ports_what_is_impossible_is_left_out_with_the_reason(real: RealBench, engines: str) -> None:
    (real.folder / "plan.yaml").write_text(PLAN + f"workloads: [flow-table]\nports: [memif, xdp]\nengines: {engines}\n")
    found = json.loads(real("run", "plan.yaml", "--dry-run", "--json").stdout)
    pairs = {(c["engines"].get("table"), c["port"]) for c in found["configurations"] if c["workload"] == "flow-table"}
    assert ("xdp", "xdp") in pairs and ("portable", "memif") in pairs
    assert not pairs & {("xdp", "memif"), ("portable", "xdp")}
    assert {(c["port"], tuple(c["engines"].items())) for c in found["configurations"] if c["workload"] == "forward"} == {
        ("memif", ()), ("xdp", (("swap", "xdp"),))
    }  # fmt: skip
    assert not any(c["candidate"] for c in found["configurations"] if c["port"] == "xdp"), "one engine is no choice"
    assert any("table=xdp/all-host/memif" in line and "needs a port of kind xdp" in line for line in found["left_out"])


@needs_xdp
def test_a_workload_whose_packets_no_engine_answers_is_left_out_and_alone_runs_nothing(real: RealBench) -> None:
    done = dry(real, "ports: [xdp]\n")
    assert done.returncode == 0 and "left out: application-recognition" in done.stdout, done.stderr
    done = dry(real, "ports: [xdp]\nworkloads: [application-recognition]\n")
    assert done.returncode == 4 and "use another kind of port" in done.stderr


@needs_xdp
def test_frames_too_large_for_one_of_the_ports_cost_the_others_nothing(real: RealBench) -> None:
    (real.folder / "plan.yaml").write_text(PLAN.replace("[64B]", "[2816B, 2817B]") + "workloads: [forward]\nports: [af_xdp, af_packet]\n")
    found = json.loads(real("run", "plan.yaml", "--dry-run", "--json").stdout)["configurations"]
    reasons = {(c["port"], c["frame"]): c["unavailable"] for c in found}
    too_large = "port af_xdp: frames of 2817B are larger than XDP takes on veth (2816 B): choose smaller ones"
    assert reasons == {("af_xdp", "2816"): "", ("af_xdp", "2817"): too_large, ("af_packet", "2816"): "", ("af_packet", "2817"): ""}


def test_a_combination_that_is_none_is_refused() -> None:
    for line in ("{", "[]", '{"workload": "flow-table"}', '{"workload": 5}'):
        done = subprocess.run([SERVER, "--check"], input=line + "\n", capture_output=True, text=True, timeout=60, check=False)
        events = [json.loads(text) for text in done.stdout.splitlines()]
        assert done.returncode != 0 and events[-1]["event"] == "failure" and "a combination: " in events[-1]["message"], line


def test_a_program_that_does_not_answer_is_named(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    with pytest.raises(EnvironmentFault, match="silent --check"):
        catalog.check(LocalTarget(), [{"workload": "forward"}], silent)
