"""Tests of the native program by hand and through ``dpubench run``: every event keeps the contract, every engine fault is a recorded failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dpubench import schemas
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.rounds import windows_of
from real_program import FIXTURES, PROGRAM, RealBench, by_hand, job, kinds, session

pytestmark = pytest.mark.usefixtures("real")

HONEST = ("portable", "openssl")


def check_events(events: list[dict[str, Any]]) -> None:
    for event in events:
        fault = schemas.fault("event", event, event["event"])
        assert not fault, f"{event['event']}: {fault}"


# --- by hand


def test_every_event_of_a_job_keeps_the_contract() -> None:
    more: dict[str, Any] = {"window": {"min_ms": 1, "max_ms": 5, "min_bursts": 10**6, "threaded_min_ms": 5}}  # too many for 5 ms: a warning is due
    given = job(*HONEST, "no-such-engine", **more)
    assert not schemas.fault("job", given)
    status, events, _ = by_hand(given)
    assert status == 1, "a point failed"
    check_events(events)
    assert [e["event"] for e in events[:1] + events[-1:]] == ["hello", "done"]
    assert Counter(e["event"] for e in events) >= Counter(
        {"hello": 1, "progress": 4, "prepared": 2, "verified": 2, "window": 16, "warning": 2, "failure": 1, "done": 1}
    )
    assert {w["code"] for w in kinds(events, "warning")} == {"few-bursts"}
    [failure] = kinds(events, "failure")
    assert failure["point"] == "no-such-engine" and "no engine 'no-such-engine'" in failure["message"]
    assert events[-1]["windows"] == len([w for w in kinds(events, "window") if not w["point"].startswith("canary-")]) == 8
    for window in kinds(events, "window"):
        if window["point"] in HONEST:
            assert window["operations"] * 256 == window["in_bytes"] == window["rate_bytes"]
            assert window["operations"] * 32 == window["out_bytes"]


def test_windows_of_a_cycle_are_a_palindrome() -> None:
    _, events, _ = by_hand(job(*HONEST, cycles=3))
    up = [*HONEST, "canary-core", "canary-memory"]
    order = [(w["cycle"], w["half"], w["point"]) for w in kinds(events, "window")]
    assert order == [(c, h, p) for c in (1, 2, 3) for h, points in ((0, up), (1, up[::-1])) for p in points]


def test_the_memory_canary_has_windows_of_a_point_s_length() -> None:
    _, events, _ = by_hand(job(HONEST[0], window={"min_ms": 4, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}))
    shortest = {p: min(w["elapsed_ns"] for w in kinds(events, "window") if w["point"] == p) for p in (HONEST[0], "canary-core", "canary-memory")}
    assert shortest[HONEST[0]] >= 4e6 and shortest["canary-memory"] >= 4e6 and shortest["canary-core"] >= 0.5e6


def test_the_catalog_keeps_the_contract() -> None:
    status, [hello], _ = by_hand("", "--list")
    assert status == 0
    check_events([hello])
    operators = {o["name"]: o for o in hello["catalog"]["operators"]}
    assert {"sha256", "md5", "crc"} <= operators.keys()
    for name, operator in operators.items():
        engines = {e["name"]: e for e in operator["engines"]}
        assert operator["reference_engine"] in engines, name
        assert all(e["available"] == (not e["reason"]) for e in engines.values()), name
        assert operator["configurations"], name
        for configuration in operator["configurations"]:
            params = configuration["params"]
            belonging = {p["name"] for p in operator["parameters"] if all(params[k] == v for k, v in p.get("only_with", {}).items())}
            assert params.keys() == belonging
            assert configuration["engines"].keys() == engines.keys()
            own = [e["name"] for e in operator["engines"] if not e["library"] or e["name"] == "plain-mbuf"]
            done = any(not configuration["engines"][engine] for engine in (operator["reference_engine"], *own))
            assert done, f"{name}: the reference, or another engine of ours, must do {configuration['params']}"


def test_the_program_says_which_combinations_exist() -> None:
    asked = [
        {"operator": "aes", "params": {"mode": "cbc", "size": "100"}},
        {"operator": "aes", "params": {"mode": "cbc", "size": "96"}},
        {"operator": "rsa", "params": {"size": "64"}},
        {"operator": "nonesuch", "params": {}},
    ]
    status, events, _ = by_hand(json.dumps(asked), "--check")
    assert status == 0
    check_events(events)
    first, second, third, fourth = events[-1]["combinations"]
    assert "size=112" in first["invalid"] and not first["engines"]
    assert not second["invalid"] and second["engines"]["portable"] == ""
    assert "size applies only with input=message" in third["invalid"]
    assert "no operator 'nonesuch'" in fourth["invalid"]
    status, events, _ = by_hand("[{", "--check")
    assert status == 1 and kinds(events, "failure")


def test_stepped_windows_on_command() -> None:
    commands = ["portable", "openssl", "openssl", "portable", "canary-core", "canary-memory", "nobody"]
    lines = [json.dumps(job(*HONEST, control="stepped")), *(json.dumps({"window": c}) for c in commands), "rubbish", '{"end": true}']
    status, events, _ = by_hand("\n".join(lines))
    check_events(events)
    assert [w["point"] for w in kinds(events, "window")] == commands[:-1]
    ready = [e["event"] for e in events].index("ready")
    assert not kinds(events[:ready], "window") and len(kinds(events[:ready], "verified")) == 2
    assert [f["phase"] for f in kinds(events, "failure")] == ["job", "job"]
    assert "nobody" in kinds(events, "failure")[0]["message"]
    assert status == 1


def test_operations_are_run_once_for_a_trace_and_checked() -> None:
    given = job("portable", control="traced") | {"operations": 100}
    assert not schemas.fault("job", given)
    status, events, _ = by_hand(json.dumps(given))
    assert status == 0
    check_events(events)
    assert len(kinds(events, "verified")) == 1 and not kinds(events, "window")
    (traced,) = kinds(events, "traced")
    assert traced["operations"] == traced["bursts"] * given["groups"][0]["burst"] >= 100
    assert traced["input_ring"]["stride_bytes"] >= traced["in_bytes"] / traced["operations"]
    assert traced["input_ring"]["address"] % 64 == 0


def test_a_stepped_session_ends_with_its_input() -> None:
    with session(job("portable", control="stepped")) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in process.stdout:
            if b'"ready"' in line:
                break
        process.stdin.close()
        assert process.wait(10) == 0
        assert json.loads(process.stdout.read().splitlines()[-1])["event"] == "done"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("\xff\xfe\x00", "no JSON"),
        ("[" * 100_000, "job"),
        ('{"schema": "dpubench.job/2"}', "dpubench.job/1"),
        (json.dumps(job("portable") | {"cycles": "six"}), "cycles"),
        (json.dumps(job("portable") | {"control": "sideways"}), "control"),
        (json.dumps({k: v for k, v in job("portable").items() if k != "groups"}), "groups"),
        (json.dumps(job("portable") | {"time_limit_s": -1}), "time_limit_s"),
    ],
    ids=["empty", "cut", "binary", "deep", "schema", "type", "control", "no-groups", "negative"],
)
def test_a_broken_job_names_what_is_wrong(given: str, words: str) -> None:
    status, events, stderr = by_hand(given)
    assert status == 2
    check_events(events)
    assert [e["event"] for e in events] == ["hello", "failure"]
    assert events[1]["phase"] == "job" and words in events[1]["message"]
    assert words in stderr, "a person at a terminal reads it there"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"operator": "sha257"}, "sha257"),
        ({"params": {"size": "many"}}, "size"),
        ({"params": {"size": "0"}}, "size"),
        ({"params": {"size": "10000000000"}}, "size"),
        ({"params": {"colour": "red"}}, "colour"),
    ],
)
def test_a_group_that_makes_no_sense_fails_alone(more: dict[str, Any], words: str) -> None:
    given = job("portable", **more)
    given["groups"].append(job("portable")["groups"][0] | {"id": "good"})
    given["groups"][1]["points"] = [{"id": "good.portable", "engine": "portable"}]
    status, events, _ = by_hand(given)
    check_events(events)
    assert status == 1
    assert words in kinds(events, "failure")[0]["message"]
    assert {w["point"] for w in kinds(events, "window")} >= {"good.portable"}


def test_nothing_could_run_is_its_own_status() -> None:
    status, events, _ = by_hand(job("no-such-engine"))
    assert status == 4
    check_events(events)


def test_wrong_options_are_usage() -> None:
    for arguments in (["--frobnicate"], ["--engine-dir", "/nonexistent"]):
        done = subprocess.run([PROGRAM, *arguments], input="", capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 2
        assert arguments[-1] in done.stdout + done.stderr


def test_the_time_limit_ends_an_engine_that_hangs() -> None:
    status, events, _ = by_hand(job("hangs", time_limit_s=2, cycles=1000), "--engine-dir", str(FIXTURES))
    assert status == 1
    check_events(events)
    assert "time limit of 2 s" in events[-1]["message"] and events[-1]["event"] == "failure"


@pytest.mark.parametrize("engine", ["portable", "hangs"])
def test_a_program_whose_reader_went_away_ends(engine: str) -> None:
    """A program whose starter was killed must end even if it would never write again."""
    with session(job(engine, cycles=10_000), "--engine-dir", str(FIXTURES)) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        for line in process.stdout:
            if b'"phase":"measure"' in line:
                break
        time.sleep(0.3)
        assert process.poll() is None
        process.stdout.close()
        assert process.wait(10) == 1


def test_a_program_that_writes_to_a_file_needs_no_reader(tmp_path: Path) -> None:
    given = tmp_path / "job.json"
    given.write_text(json.dumps(job("portable")))
    with given.open() as stdin, (tmp_path / "events").open("w") as stdout:
        assert subprocess.run([PROGRAM], stdin=stdin, stdout=stdout, timeout=30, check=False).returncode == 0
    check_events([json.loads(line) for line in (tmp_path / "events").read_text().splitlines()])


# --- engines that lie, through the command line

#: Engines of the fixture, named after their fault (tests/fixtures/sha256/faulty.cpp) -> words that the recorded failure must contain.
LIARS = {
    "wrong": "verify", "wrong-later": "after a window", "idle": "verify", "idle-later": "after a window", "overruns": "", "boasts": "",
    "mute": "", "rejects": "", "scribbles-later": "wrote to its input", "throws": "no key of that name",
    "crashes": "killed by SIGSEGV",
}  # fmt: skip


def run_liars(real: RealBench, engines: list[str], **plan: Any) -> dict[str, str]:
    """Measure sha256 with ``engines`` of the fixture; return their failures by engine."""
    done = real("run", real.plan(**plan), "--name", "r", "--operator", "sha256", "--size", "64B", "--engine-dir", str(FIXTURES),
                *(w for e in engines for w in ("--engine", e)))  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 1, done.stderr
    record = real.record("r")
    assert not schemas.fault("run", record)
    assert record["status"] == "complete"
    assert f"{len(record['failures'])} failures" in done.stdout
    return {p["engine"]: p["failure"] for p in record["points"]}


def test_a_run_says_where_its_cycles_and_its_energy_come_from(real: RealBench) -> None:
    done = real("run", real.plan(), "--name", "r", "--operator", "sha256", "--size", "64B", "--engine", "portable")
    assert done.returncode == 0, done.stderr
    machine = real.record("r")["machine"]
    [point] = json.loads(real("show", "r", "--json").stdout)["run"]["points"]
    if "source" in machine["cycle_counter"]:
        assert point["cycles_source"] == machine["cycle_counter"]["source"] and point["cycles_per_op"]["value"] > 0
    elif "multiply_cycles" in machine["clock_estimate"]:
        assert point["cycles_source"] == "estimated"
        assert 0.5 < point["cycles_per_op"]["value"] / point["ns_per_op"]["value"] < 8, "no core runs below 0.5 or above 8 GHz"
    else:  # the cost of a multiplication is not known for this core
        assert machine["clock_estimate"]["unavailable"]
        assert point["cycles_source"] == "" and point["cycles_per_op"] is None
    assert (point["energy_nj_per_op"] is not None) == ("domains" in machine["energy"])
    findings = {f["what"]: f["found"] for f in json.loads(real("doctor", "--json").stdout)}
    assert findings["cycles"] == machine["cycle_counter"].get("source") or findings["cycles"] == machine["cycle_counter"]["unavailable"]
    assert findings["energy"] in (", ".join(machine["energy"].get("domains", [])), machine["energy"].get("unavailable"))


def test_engines_that_lie_fail_with_the_reason_and_the_rest_is_measured(real: RealBench) -> None:
    failures = run_liars(real, ["portable", "honest", *LIARS])
    assert {e for e, reason in failures.items() if not reason} == {"portable", "honest"}
    for engine, words in LIARS.items():
        assert words in failures[engine], failures
    table = windows_of(RunDirectory(real.results / "r")).to_pylist()
    counts = Counter(w["point"].rsplit("/", 1)[-1] for w in table)
    # Rounds times cycles times halves; more where a crash cut a round short and the round began anew.
    assert min(counts["portable"], counts["honest"]) >= 2 * 3 * 2
    assert not counts.keys() & {e for e, words in LIARS.items() if words in ("verify", "no key of that name")}
    shown = real("show", "r")
    assert shown.returncode == 0 and "wrong-later" in shown.stdout
    assert real.workers() == []


def test_an_engine_that_writes_to_its_input_is_caught(real: RealBench) -> None:
    failures = run_liars(real, ["portable", "scribbles"])
    assert "wrote to its input" in failures["scribbles"]
    assert not failures["portable"]


def test_an_engine_that_hangs_is_ended_and_the_rest_is_measured(real: RealBench) -> None:
    failures = run_liars(real, ["portable", "hangs", "honest"], silence="3s")
    assert "it hung: no event for 3 s" in failures["hangs"]
    assert not failures["portable"] and not failures["honest"]
    assert real.workers() == []


def test_a_killed_worker_is_a_failure_and_the_rest_goes_on(real: RealBench) -> None:
    real.plan(cycles={"min": 60, "max": 60})
    process = real.start("run", "p.yaml", "--name", "r", "--operator", "sha256", "--engine", "portable,openssl", "--size", "256B,64B")
    until = time.monotonic() + 30
    while not (found := real.workers()) or not any(f.stat().st_size > 2_500 for f in (real.results / "r/rounds").glob("*.ndjson")):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    os.kill(found[0], signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1, stderr
    record = real.record("r")
    assert record["status"] == "complete"
    assert "killed by SIGKILL" in " ".join(f["message"] for f in record["failures"])
    assert sum(not p["failure"] for p in record["points"]) == 3
    assert real.workers() == []


def test_a_program_that_speaks_the_contract_is_measured(real: RealBench) -> None:
    """Anybody's program can take the place of ours: here a few lines of Python that hash."""
    theirs = real.folder / "theirs"
    theirs.mkdir()
    program = theirs / "dpubench-operators"
    program.write_text(THEIRS.replace("PYTHON", sys.executable).replace("OURS", str(PROGRAM)))
    program.chmod(0o755)
    real.environment["DPUBENCH_PROGRAMS"] = str(theirs)
    done = real("run", real.plan(), "--name", "r", "--operator", "sha256", "--size", "256B")
    assert done.returncode == 0, done.stderr
    record = real.record("r")
    assert [p["engine"] for p in record["points"]] == ["hashlib"]
    assert record["builds"][""]["program"] == "theirs"
    assert windows_of(RunDirectory(real.results / "r")).num_rows >= 8


#: Measures hashlib; takes machine and catalog entry from our program's hello.
THEIRS = """#!PYTHON
import hashlib, json, subprocess, sys, time
hello = json.loads(subprocess.run(["OURS", "--list"], capture_output=True).stdout) | {"program": "theirs"}
sha256 = next(o for o in hello["catalog"]["operators"] if o["name"] == "sha256")
sha256["engines"] = [{"name": "hashlib", "summary": "Python's", "library": "", "available": True, "reason": ""}]
sha256["reference_engine"] = "hashlib"
for c in sha256["configurations"]:
    c["engines"] = {"hashlib": ""}
hello["catalog"]["operators"] = [sha256]
if "--list" not in sys.argv:
    del hello["catalog"]
say = lambda event, **fields: print(json.dumps({"event": event, **fields}), flush=True)
print(json.dumps(hello), flush=True)
if "--list" in sys.argv:
    sys.exit()
job = json.load(sys.stdin)
windows = 0
for group in job["groups"]:
    [point] = group["points"]
    at = {"point": point["id"], "group": group["id"]}
    message = bytes(int(group["params"]["size"]))
    say("prepared", **at, build_ns=0, memory_bytes=0, items=1, buffers=1, footprint_bytes=len(message),
        input={"name": "zeros", "sha256": hashlib.sha256(message).hexdigest()},
        path={"isa": "chosen by library", "detail": "hashlib.sha256", "library": "", "is_hardware": False})
    say("verified", **at, known_answers=1, compared=1, how="identical")
    for cycle in range(1, job["cycles"] + 1):
        for half in (0, 1):
            begin = time.perf_counter_ns()
            for _ in range(1000):
                hashlib.sha256(message).digest()
            elapsed = time.perf_counter_ns() - begin
            windows += 1
            say("window", **at, round=job["round"], cycle=cycle, half=half, operations=1000, elapsed_ns=elapsed, in_bytes=1000 * len(message),
                out_bytes=32000, rate_bytes=1000 * len(message), bursts=1000)
say("done", windows=windows, failures=0, elapsed_s=0.1,
    clock={"source": "perf_counter", "hz": 1e9, "overhead_ns": 50, "resolution_ns": 1, "cross_check_ppm": 0})
"""


# --- determinism


def inputs_of(events: list[dict[str, Any]]) -> dict[str, str]:
    return {e["point"]: e["input"]["sha256"] for e in kinds(events, "prepared")}


def test_the_same_seed_gives_the_same_input_in_two_processes() -> None:
    given = [by_hand(job("portable", seed=seed))[1] for seed in (7, 7, 8)]
    first, second, other = map(inputs_of, given)
    assert first and first == second
    assert first != other, "another seed, the same input: the seed does nothing"


def test_the_same_seed_gives_the_same_input_in_another_build() -> None:
    others = [PROGRAM.parents[2] / f"build-{kind}" / "native/dpubench-operators" for kind in ("asan", "tsan", "clang")]
    others = [p for p in others if p.is_file()]
    if not others:
        pytest.skip("there is no second build (build-asan and build-tsan are made by `make test`, build-clang by hand)")
    for operator, params in (("sha256", {"size": "256"}), ("crc", {})):
        here = inputs_of(by_hand(job("portable", operator=operator, params=params))[1])
        for program in others:
            text = json.dumps(job("portable", operator=operator, params=params))
            done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=60, check=False)
            assert inputs_of([json.loads(line) for line in done.stdout.splitlines()]) == here, program
