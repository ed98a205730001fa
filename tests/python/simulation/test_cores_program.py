"""Tests of ``dpubench-cores`` on traces of micro kernels from the real emulator: cycles counted by hand, events, exit status."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

from arm_kernels import processor
from dpubench import programs, schemas
from dpubench.simulation import simulator

ROOT = Path(__file__).resolve().parents[3]


def test_configurations_are_checked_without_traces() -> None:
    wrong = processor()
    wrong["caches"]["ideal"]["latency_cycles"] = 0
    asked = [{"processor": processor(), "extent": {"every": 3, "measured": 2}}, {"processor": wrong, "extent": {"phase_instructions": 10}}]
    answer = subprocess.run(
        [programs.directory() / programs.CORES, "--check"], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    hello, checked = map(json.loads, answer.stdout.splitlines())
    assert hello["event"] == "hello" and not schemas.fault("event", checked, "checked")
    fine, refused = (configuration["faults"] for configuration in checked["configurations"])
    assert fine == [] and [fault["at"] for fault in refused] == ["/processor/caches/ideal/latency_cycles", "/extent/phase_instructions"]
    assert simulator.check(asked) == [[], [simulator.Fault(fault["at"][1:], fault["what"]) for fault in refused]]


def test_a_description_with_a_key_twice_is_refused() -> None:
    twice = json.dumps(job_of(Path("/nowhere"))).replace('"mhz": 1000', '"mhz": 1000, "mhz": 2000')
    done = subprocess.run([programs.directory() / programs.CORES], input=twice, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "has the key /configurations/0/processor/clock/mhz twice" in done.stderr


def job_of(*traces_: Path, description: dict[str, Any] | None = None) -> dict[str, Any]:
    configuration = {"id": "one", "processor": description or processor(), "contexts": [{"trace": str(t)} for t in traces_]}
    return {"schema": schemas.CORES_JOB, "configurations": [configuration]}


def run(job: dict[str, Any] | str, status: int = 0) -> list[dict[str, Any]]:
    """Run a job; return its events, and check that each keeps the contract."""
    if isinstance(job, dict) and status != 2:
        assert not schemas.fault("cores-job", job)
    text = job if isinstance(job, str) else json.dumps(job)
    done = subprocess.run([programs.directory() / programs.CORES], input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        assert not schemas.fault("event", event, event["event"])
    return events


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [e for e in events if e["event"] == kind]


def test_a_trace_takes_the_cycles_that_were_counted_by_hand(loop: Path) -> None:
    events = run(job_of(loop))
    (result,) = of(events, "result")
    context = result["contexts"][0]
    assert context["messages"] == 1000
    assert context["instructions"] == 1 + 1000 * 6 + 1
    assert context["kinds"]["integer"] == 1 + 1000 * 5
    assert context["trace"]["kernel"] == "loop"
    # A move and 4000 additions form a chain, one per cycle. Three cycles pass from the first fetch to the first issue and from the last to its end.
    assert result["cycles"] == 4001 + 3
    assert result["modelled"] is True
    (done,) = of(events, "done")
    assert (done["results"], done["failures"]) == (1, 0)


def test_the_same_job_gives_the_same_result(loop: Path) -> None:
    description = processor()
    description["organisation"] = {"cores": 2, "contexts": 2, "issue": "out-of-order", "policy": "icount.2.8"}
    job = job_of(loop, loop, loop, loop, description=description)
    first, second = run(job), run(job)
    assert of(first, "result") == of(second, "result")
    assert of(first, "result")[0]["contexts"][0]["messages"] == 1000


def test_a_configuration_that_fails_leaves_the_others(loop: Path, tmp_path: Path) -> None:
    job = job_of(loop)
    broken = copy.deepcopy(job["configurations"][0]) | {"id": "absent", "contexts": [{"trace": str(tmp_path / "none")}]}
    job["configurations"].append(broken)
    events = run(job, status=1)
    assert [e["group"] for e in of(events, "result")] == ["one"]
    (failure,) = of(events, "failure")
    assert failure["group"] == "absent"
    assert str(tmp_path / "none") in failure["message"]
    job["configurations"].pop(0)
    assert of(run(job, status=4), "done")[0]["results"] == 0


def test_what_no_processor_has_is_refused_by_name(loop: Path) -> None:
    description = processor()
    description["window"]["instructions"] = 0
    description["caches"]["l2"] = {"size_bytes": 1024}
    (failure,) = of(run(job_of(loop, loop, description=description), status=2), "failure")
    assert "/configurations/0/processor/window/instructions" in failure["message"]
    assert "/configurations/0/processor/caches/l2/ways: is missing" in failure["message"]
    (failure,) = of(run(job_of(loop, loop), status=2), "failure")
    assert "has 1 contexts (1 cores of 1), but there are 2 traces" in failure["message"]
    assert "is no JSON" in of(run("{", status=2), "failure")[0]["message"]


def test_a_trace_that_was_cut_off_is_a_failure(loop: Path, tmp_path: Path) -> None:
    (tmp_path / "blocks").write_bytes((loop / "blocks").read_bytes())
    whole = (loop / "stream").read_bytes()
    (tmp_path / "stream").write_bytes(whole[: len(whole) // 2])
    (failure,) = of(run(job_of(tmp_path), status=4), "failure")
    assert str(tmp_path) in failure["message"]
