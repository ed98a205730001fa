"""Tests of the kernels like those of Crowley et al. 1999: their catalog, and traces of both instruction sets near the paper's Table 2."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dpubench import programs, traces
from dpubench.errors import UserError
from dpubench.simulation import crowley, models


def task(operator: str, code: str, engine: str = "", keys: str = "array", routes: Path | None = None, messages: int = 64) -> crowley.Task:
    params = {"keys": keys, "prefixes": "100"} if operator == crowley.LOOKUP else {}
    burst = 32 if operator == crowley.LOOKUP else 1
    words = crowley.arguments(operator, engine or "reference", params, 1500, messages, burst, 1)
    return crowley.Task("a kernel", crowley.CODES[code], tuple(words), routes, burst)


@pytest.fixture
def routes(tmp_path: Path) -> Path:
    file = tmp_path / "routes"
    file.write_text("".join(f"{10 + i % 90}.{i}.0.0/{12 + i % 13 if i % 13 > 3 else 16},{i}\n" for i in range(0, 200)), encoding="ascii")
    return file


def captured(what: crowley.Task, folder: Path) -> dict[str, Any]:
    """Capture a trace and simulate it; return the record of the trace and the result."""
    what.capture(folder, "trace.json", "test/1", 120, None)
    processor = models.load("alpha21264-1999").with_organisation(policy="superscalar", unit_sets=2)
    configuration = {"id": "c", "processor": processor, "contexts": [{"trace": str(folder)}], "extent": {}}
    job = {"schema": "dpubench.cores-job/1", "time_limit_s": 100, "configurations": [configuration]}
    done = subprocess.run([programs.find(programs.CORES)], input=json.dumps(job), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = next(event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "result")
    return {"record": json.loads((folder / "trace.json").read_text(encoding="utf-8")), "result": result}


@pytest.mark.parametrize("code", list(crowley.CODES))
def test_md5_has_about_the_instructions_of_table_2(tmp_path: Path, code: str) -> None:
    found = captured(task(crowley.MD5, code, messages=3), tmp_path / "trace")
    context = found["result"]["contexts"][0]
    instructions = context["instructions"] / 3
    assert found["record"]["about"]["verified"]["compared"] == 3 and found["record"]["messages"] == 3
    assert found["result"]["unknown_share"] == 0
    # Table 2: 23,000 instructions, 10.3 % loads and stores, 0.6 % control flow.
    assert {"alpha": 0.9, "a64": 0.7}[code] * 23_000 < instructions < 1.1 * 23_000
    assert 0.08 < (context["loads"] + context["stores"]) / context["instructions"] < 0.13
    assert context["branches"] / context["instructions"] < 0.01
    assert context["kinds"]["load"] >= 3 * 24 * 64  # each byte by itself


@pytest.mark.parametrize("code", list(crowley.CODES))
@pytest.mark.parametrize("engine", ["patricia", "level-compressed"])
def test_look_ups_are_verified_and_counted(tmp_path: Path, code: str, engine: str, routes: Path) -> None:
    found = captured(task(crowley.LOOKUP, code, engine, "packets", routes), tmp_path / "trace")
    context = found["result"]["contexts"][0]
    assert (found["record"]["messages"], found["record"]["burst"], context["messages"]) == (64, 32, 2)
    assert found["record"]["in_bytes"] == 64 * 64
    assert found["result"]["unknown_share"] == 0
    assert 30 < context["instructions"] / 64 < 300


def test_a_trace_of_alpha_code_is_the_same_every_time(tmp_path: Path, routes: Path) -> None:
    for name in ("one", "two"):
        task(crowley.LOOKUP, "alpha", "level-compressed", "array", routes).capture(tmp_path / name, "trace.json", "test/1", 120, None)
    for file in (traces.BLOCKS, traces.STREAM):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool.startswith("alpha") else f"/usr/bin/{tool}")
    assert crowley.lacking(crowley.CODES["alpha"]) == "alpha-linux-gnu-g++ is not installed here: install the package g++-alpha-linux-gnu"
    assert crowley.lacking(crowley.CODES["a64"]) == ""
    (answer,) = crowley.check([(crowley.MD5, {"code": "alpha"})])
    assert answer[0] == "" and list(answer[1]) == ["reference"]


def test_parameters_are_checked() -> None:
    faults = crowley.check(
        [(crowley.LOOKUP, {"keys": "stack"}), (crowley.LOOKUP, {"prefixes": "0"}), (crowley.MD5, {"code": "vax"}), (crowley.LOOKUP, {})]
    )
    assert [fault for fault, _ in faults] == [
        "ip4lookup: keys is 'stack': give one of packets, array", "ip4lookup: prefixes is '0': give a number of at least 1",
        "md5_bytewise: code is 'vax': give one of a64, alpha", "",
    ]  # fmt: skip
    assert crowley.code_of(crowley.MD5, {"code": "alpha"}) == "Alpha" and crowley.code_of("lpm", {}) == "A64"


def test_a_program_of_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a program for Alpha: cross-compile it for alpha"):
        traces.capture(Path("/bin/true"), [], tmp_path / "trace", "ev67", emulator="qemu-alpha")
