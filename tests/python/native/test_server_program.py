"""Tests of dpubench-server by hand: its jobs, catalog and events keep the schemas. native/datapath/server/*_test.cpp send packets through it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from dpubench import schemas
from real_program import BUILD, kinds

PROGRAM = BUILD / "dpubench-server"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="dpubench-server is not built: libdpdk was not found when this build was configured")


def job(**more: Any) -> dict[str, Any]:
    """Return a job for a server on a port without a link."""
    return {
        "schema": "dpubench.server-job/1", "seed": 1, "time_limit_s": 60, "memory": {"huge_pages": False, "mb": 128},
        "ports": [{"kind": "null", "role": "server", "arguments": {}}], "burst": 32, "sample_every": 16, "max_frame": 1518,
        "workload": {"name": "forward", "params": {}, "engines": {"swap": "portable"}},
    } | more  # fmt: skip


def run(*lines: dict[str, Any], arguments: tuple[str, ...] = ()) -> tuple[int, list[dict[str, Any]]]:
    """Run the program; return its exit status and its events, and check each event against the schema."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([PROGRAM, *arguments], input=text.encode(), capture_output=True, timeout=60, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        assert not schemas.fault("event", event), event["event"]
    return done.returncode, events


def test_the_catalog_holds_workloads_and_ports() -> None:
    status, events = run(arguments=("--list",))
    assert status == 0
    catalog = events[0]["catalog"]
    forward = next(w for w in catalog["workloads"] if w["name"] == "forward")
    assert [s["name"] for s in forward["stages"]] == ["swap"]
    assert {"memif", "ring", "null"} <= {p["name"] for p in catalog["ports"]}


def test_a_trial_without_packets_is_all_idle() -> None:
    status, events = run(job(), {"begin": 3}, {"collect": 3}, {"end": True})
    assert status == 0
    assert [e["event"] for e in events] == ["hello", "progress", "progress", "ready", "begun", "served", "done"]
    served = events[-2]
    assert served["trial"] == 3 and served["received"] == served["busy_ns"] == 0
    assert served["idle_ns"] > 0 and served["elapsed_ns"] > 0


def test_empty_frames_are_foreign_and_every_one_is_accounted_for(tmp_path: Any) -> None:
    port = {"kind": "null", "arguments": {"receives": "yes"}}
    status, events = run(job(ports=[port]), {"begin": 1}, {"collect": 1, "dump": str(tmp_path / "dump")}, {"end": True})
    assert status == 0
    served = kinds(events, "served")[0]
    assert served["received"] == 0
    others = served["others"]
    assert others["received"] == served["foreign"] + served["stale"] == others["transmitted"] + others["tx_full"] + sum(others["dropped"].values())
    assert {f.name for f in (tmp_path / "dump").iterdir()} == {"received.bitmap", "dropped.u64", "dropped.reason", "tx_full.u64"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"ports": []}, {"burst": 0}, {"burst": 257}, {"max_frame": 63}, {"cpus": [-1]}, {"workload": {}}, {"port": {"kind": "null"}},
        {"memory": {"mb": 1}}, {"time_limit_s": 0}, {"sample_every": 0}, {"schema": "dpubench.job/1"},
    ],
)  # fmt: skip
def test_program_and_schema_refuse_the_same_jobs(wrong: dict[str, Any]) -> None:
    given = job(**wrong)
    assert schemas.fault("server-job", given)
    status, events = run(given)
    assert status == 2
    assert kinds(events, "failure")[0]["phase"] == "job"


def test_the_jobs_of_the_documentation_are_those_of_the_schemas() -> None:
    assert not schemas.fault("server-job", job(stages=["swap"], cpus=[1], inputs={"rules": ["/p"]}, cache_dir="/p"))
    traffic = {
        "schema": "dpubench.traffic-job/1", "seed": 1, "time_limit_s": 600, "memory": {"huge_pages": False, "mb": 512},
        "port": {"kind": "memif", "role": "client", "arguments": {"socket": "/p"}}, "cpu": 0, "burst": 32, "verify": "all",
        "traffic": {"source": "model", "flows": 10000, "popularity": "zipf", "zipf_exponent": 1.0, "churn_per_s": 0, "protocol": "udp", "version": 4,
                    "frame_sizes": [[64, 1]], "payload": {"source": "random", "signature_share": 0.1}, "segments": 1},
        "workload": {"name": "flow-table", "params": {"flows": "100000"}}, "inputs": {"capture": ["/p"]}, "cache_dir": "/p",
    }  # fmt: skip
    assert not schemas.fault("traffic-job", traffic)
    assert schemas.fault("traffic-job", traffic | {"verify": "some"})
