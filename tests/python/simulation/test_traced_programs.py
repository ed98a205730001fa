"""Tests of whole programs and their traces, by a small program that speaks the contract under the real emulator (real ones: tests/arm_traces.py)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from dpubench import programs, schemas
from dpubench.errors import UserError
from dpubench.simulation import _capture
from dpubench.simulation import applications as traced_programs
from dpubench.simulation.applications import Application, NotTraced, ProgramTrace, Workload
from dpubench.workers.process import StopRequest
from kernels_fixtures import CRASHES, FINE, REFUSES, arm_bundle
from test_traces import inspect

_FINDINGS: Final = {"input_bytes": 4, "records": 1, "output_bytes": 9, "output_digest": "0" * 64, "verified": True}
TRACED: Final = {"event": "traced", "group": "ips", "application": "ips", **_FINDINGS}
SERVED: Final = {"event": "traced", "group": "forward", "workload": "forward", "bursts": 1, "dropped": {}, **_FINDINGS}
DONE: Final = {"event": "done", "results": 1, "failures": 0, "elapsed_s": 0.1}
FAILURE: Final = {"event": "failure", "group": "ips", "phase": "inputs", "message": "capture x: is no capture"}


def application(name: str, **others: Any) -> dict[str, Any]:
    level = {"name": "level", "summary": "", "values": ["1", "6"], "default": "6", "is_mode": False, "unit": "1"}
    inputs = [{"name": "capture", "summary": "packets"}, {"name": "rules", "summary": "rules", "optional": True}]
    entry = {"name": name, "summary": name, "definition": name, "inputs": inputs, "operators": ["regex"], "parameters": [level], "sources": []}
    return {**entry, "available": True, "reason": "", **others}


def workload(name: str) -> dict[str, Any]:
    engines = [
        {"name": "portable", "summary": "", "available": True, "reason": ""},
        {"name": "gpu", "summary": "", "available": False, "reason": "no"},
    ]
    stage = {"name": "swap", "summary": "", "operator": "", "default_engine": "portable", "engines": engines}
    return {"name": name, "summary": "", "definition": "", "parameters": [], "stages": [stage], "inputs": [], "sources": []}


CATALOG: Final = {
    "applications": [application("ips"), application("ipsec", available=False, reason="not built: libcrypto was not found")],
    "job": schemas.APPLICATION_JOB,
}
WORKLOADS: Final = {"workloads": [workload("forward")], "job": schemas.WORKLOAD_JOB}

pytestmark = pytest.mark.usefixtures("own_places")


def arm_of(folder: Path, case: int = FINE, *events: dict[str, Any]) -> _capture.ArmPrograms:
    said = events or (TRACED, DONE)
    return _capture.ArmPrograms.of(arm_bundle(folder, case, said, program_name=programs.APPLICATIONS, catalog=CATALOG))


def capture_file(folder: Path, content: str = "packets") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.pcap").write_text(content)
    return folder / "a.pcap"


def test_an_application_is_traced_once_and_said_what_it_did(tmp_path: Path) -> None:
    arm = arm_of(tmp_path / "arm")
    what = Application("ips", (("capture", capture_file(tmp_path)),))
    one = traced_programs.trace(what, arm, cache=tmp_path / "traces")
    assert one.label == "ips, a.pcap"
    assert {key: one.about[key] for key in _FINDINGS} == _FINDINGS
    assert len(one.about["program"]) == 64
    assert inspect(one.folder)["kernel"] == "ips, a.pcap"
    made = (one.folder / "stream").stat().st_ino
    # The same program, described differently, with its input in another place.
    again = replace(what, files=(("capture", capture_file(tmp_path / "elsewhere")),), params=(("level", "6"),))
    two = traced_programs.trace(again, arm, cache=tmp_path / "traces")
    assert (two.folder, two.digest, (two.folder / "stream").stat().st_ino) == (one.folder, one.digest, made)
    other = traced_programs.trace(replace(what, limit_bytes=3), arm, cache=tmp_path / "traces")
    assert other.folder != one.folder
    assert list((tmp_path / "machines").iterdir()) == []


def test_two_captures_are_equal(tmp_path: Path) -> None:
    arm = arm_of(tmp_path / "arm")
    what = Application("ips", (("capture", capture_file(tmp_path)),))
    one, two = (traced_programs.trace(what, arm, cache=tmp_path / name) for name in ("one", "two"))
    assert one.digest == two.digest


def test_a_workload_is_traced(tmp_path: Path) -> None:
    archive = arm_bundle(tmp_path / "arm", FINE, (SERVED, DONE), program_name=programs.WORKLOADS, catalog=WORKLOADS)
    arm = _capture.ArmPrograms.of(archive)
    assert [entry["name"] for entry in traced_programs.workloads(arm)] == ["forward"]
    found = traced_programs.trace(Workload("forward", frames=64), arm, cache=tmp_path / "traces")
    assert found.label == "forward, 64 B"
    assert found.about["bursts"] == 1
    with pytest.raises(UserError, match="unknown workload 'forwart'; did you mean 'forward'"):
        traced_programs.trace(Workload("forwart"), arm, cache=tmp_path / "traces")
    with pytest.raises(UserError, match="has no stage 'swop'; did you mean 'swap'"):
        traced_programs.trace(Workload("forward", (("swop", "portable"),)), arm, cache=tmp_path / "traces")
    with pytest.raises(UserError, match="has no engine 'portabel'; did you mean 'portable'"):
        traced_programs.trace(Workload("forward", (("swap", "portabel"),)), arm, cache=tmp_path / "traces")
    with pytest.raises(NotTraced, match="gpu cannot run as 64-bit Arm code here: no"):
        traced_programs.trace(Workload("forward", (("swap", "gpu"),)), arm, cache=tmp_path / "traces")


def test_jobs_are_of_the_contract(tmp_path: Path) -> None:
    arm = arm_of(tmp_path / "arm")
    task = traced_programs._application(Application("ips", (("capture", capture_file(tmp_path)),)), arm)
    job = json.loads(task.job({"capture": ["/inputs/capture/0/a.pcap"]}))
    assert not schemas.fault("application-job", job)
    assert job["params"] == {"level": "6"}
    archive = arm_bundle(tmp_path / "workloads", FINE, (SERVED, DONE), program_name=programs.WORKLOADS, catalog=WORKLOADS)
    served = traced_programs._workload(Workload("forward"), _capture.ArmPrograms.of(archive))
    assert not schemas.fault("workload-job", json.loads(served.job({})))


def test_what_there_is_not_is_refused_by_name(tmp_path: Path) -> None:
    arm = arm_of(tmp_path / "arm")
    capture = ("capture", capture_file(tmp_path))
    for what, message in (
        (Application("isp", (capture,)), "unknown application 'isp'; did you mean 'ips'"),
        (Application("ips", (capture,), (("levle", "1"),)), "ips has no parameter 'levle'; did you mean 'level'"),
        (Application("ips", ()), "needs the input capture"),
        (Application("ips", (capture, ("corpus", capture[1]))), "does not read the input corpus"),
        (Application("ips", (("capture", tmp_path / "none"),)), "there is no such file"),
        (Application("ipsec", (capture,)), "cannot run as 64-bit Arm code here: not built: libcrypto was not found"),
    ):
        with pytest.raises(UserError, match=message):
            traced_programs.trace(what, arm, cache=tmp_path / "traces")
    with pytest.raises(UserError, match="do not include dpubench-workloads: install everything that README names, then make the bundle again"):
        traced_programs.workloads(arm)
    assert not (tmp_path / "traces").exists()


def test_programs_say_what_no_input_would_mend(tmp_path: Path) -> None:
    def answer(*combinations: tuple[str, dict[str, str]]) -> dict[str, Any]:
        return {"event": "checked", "combinations": [{"invalid": invalid, "engines": stages} for invalid, stages in combinations]}

    def programs_for(folder: str, name: str, catalog: dict[str, Any], said: dict[str, Any]) -> _capture.ArmPrograms:
        return _capture.ArmPrograms.of(arm_bundle(tmp_path / folder, program_name=name, catalog=catalog, answers=(said,)))

    arm = programs_for("one", programs.APPLICATIONS, CATALOG, answer(("", {}), ("ips: level must be one of 1, 6, not '7'", {})))
    assert traced_programs.refusals([], arm) == []
    given = [Application("ips", (), (("level", value),)) for value in "67"]
    assert traced_programs.refusals(given, arm) == ["", "ips: level must be one of 1, 6, not '7'"]
    arm = programs_for("two", programs.WORKLOADS, WORKLOADS, answer(("", {"swap": "needs a port of kind xdp"}), ("", {"swap": ""})))
    assert traced_programs.refusals([Workload("forward"), Workload("forward", frame_bytes=9000)], arm) == ["stage swap: needs a port of kind xdp", ""]


@pytest.mark.parametrize(
    ("case", "events", "message"),
    [
        (REFUSES, (FAILURE,), "ips, a.pcap: has no trace: inputs: capture x: is no capture"),
        (CRASHES, (DONE,), "was ended by SIGSEGV under qemu-aarch64, before a region was opened"),
        (FINE, (DONE,), "the program ended without an error but reported no trace"),
        (FINE, ({**TRACED, "verified": False}, DONE), "breaks the contract"),
    ],
)
def test_an_application_that_goes_wrong_says_why_and_leaves_nothing(
    tmp_path: Path, case: int, events: tuple[dict[str, Any], ...], message: str
) -> None:
    arm = arm_of(tmp_path / "arm", case, *events)
    with pytest.raises(NotTraced) as caught:
        traced_programs.trace(Application("ips", (("capture", capture_file(tmp_path)),)), arm, cache=tmp_path / "traces")
    assert message in str(caught.value)
    assert list((tmp_path / "traces").iterdir()) == []
    assert list((tmp_path / "machines").iterdir()) == []


def test_many_are_traced_beside_each_other_and_failures_are_outcomes(tmp_path: Path) -> None:
    arm = arm_of(tmp_path / "arm")
    good = Application("ips", (("capture", capture_file(tmp_path)),))
    wanted = [good, replace(good, name="none"), replace(good, limit_bytes=5), good]
    told: list[tuple[str, int, int]] = []
    with StopRequest() as stop:
        found = dict(traced_programs.trace_all(wanted, arm, cache=tmp_path / "traces", processes=2, stop=stop, tell=lambda *what: told.append(what)))
    assert isinstance(found[good], ProgramTrace) and isinstance(found[wanted[2]], ProgramTrace)
    assert isinstance(found[wanted[1]], UserError)
    assert [done for _, done, _ in told] == [1, 2, 3]


def test_labels_are_for_people() -> None:
    rules, capture = ("rules", Path("/x/my.rules")), ("capture", Path("/x/a.pcap"))
    assert Application("ips", (rules, capture)).label == "ips, a.pcap, rules my.rules"
    assert Application("ipsec", (capture,), (("algorithm", "aes-gcm"), ("tunnels", "16"))).label == "ipsec, aes-gcm, tunnels 16, a.pcap"
    assert Workload("flow-table", (("table", "portable"),), frame_bytes=1500).label == "flow-table, table portable, 1500 B"
