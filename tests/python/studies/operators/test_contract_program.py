"""Tests of other people's programs in ``--engine-dir``: listed, measured in alternation with ours, recorded; and of their misbehaviour."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import Bench
from dpubench import catalog, contract_programs, schemas
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.configuration import point_id
from dpubench.studies.operators.rounds import windows_of
from foreign_programs import contract_program, measure

if TYPE_CHECKING:
    from real_program import RealBench

CRC = "crc/size=1024/t1/b32/stream"
GCM, XTS = ("aes/mode=gcm,size=1024/t1/b32/stream", "aes/mode=xts,size=1024/t1/b32/stream")


def left_behind(bench: Bench) -> list[str]:
    """Return the processes of this folder's programs that still exist."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "environ").read_bytes()
                if f"SCRIPT={bench.folder}".encode() in words and (entry / "cmdline").read_bytes().find(b"scripted_worker") >= 0:
                    found.append(entry.name)
            except OSError:
                continue
    return found


def no_mix_up(bench: Bench) -> dict[str, int]:
    """Return the number of windows per point; check that no two windows claim one place."""
    table = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    places = [(w["point"], w["group"], w["round"], w["cycle"], w["half"]) for w in table if not w["point"].startswith("canary")]
    assert len(places) == len(set(places))
    names = [w["point"] for w in table]
    return {n: names.count(n) for n in names}


def test_list_and_describe_show_the_program(bench: Bench) -> None:
    program = contract_program(bench, engines={"crc": ["mine", "isal"], "aes": ["theirs"]}, versions={"aes": 7}, foreign=["frobnicate"])
    (bench.folder / "more" / "notes.txt").write_text("not executable: no program")
    listed = json.loads(bench("list", "engines", "--engine-dir", "more", "--json").stdout)
    rows = {(r["operator"], r["engine"]): r for r in listed}
    assert rows["crc", "mine"]["available"] and rows["crc", "mine"]["program"] == str(program)
    assert rows["crc", "isal"]["program"] == "" and rows["crc", "isal@theirs"]["program"] == str(program)
    assert not rows["aes", "theirs"]["available"] and "version 7 of aes, but dpubench implements version 1" in rows["aes", "theirs"]["reason"]
    assert "'frobnicate', which dpubench does not know" in rows["frobnicate", "portable"]["reason"]
    assert not any("notes.txt" in r["program"] for r in listed)
    described = bench("describe", "crc", "--engine-dir", "more")
    assert described.returncode == 0 and "(isal of" in described.stdout and "isal@theirs" in described.stdout


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("rubbish", "a line that is not JSON: 'no catalog today'"),
        ("silent", "it ended without an answer"),
        ("fork-hang", "it hung: no event for 1 s"),
    ],
)
def test_a_program_without_an_answer_has_a_reason(bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str, words: str) -> None:
    monkeypatch.setattr(contract_programs, "LIST_LIMIT_S", 1.0)
    told = contract_programs.ask(contract_program(bench, list=kind))
    assert words in told.reason and str(told.path) in told.reason
    assert left_behind(bench) == []


def test_what_is_no_program_of_this_machine_harms_nothing(bench: Bench) -> None:
    contract_program(bench)
    broken = bench.folder / "more" / "image"
    broken.write_bytes(b"\x7fELFnothing")
    broken.chmod(0o755)
    for name in ("libx.so", "libx.so.1", ".hidden"):
        shutil.copy(broken, broken.with_name(name))
    listed = bench("list", "engines", "--engine-dir", "more", "--json")
    assert listed.returncode == 0, listed.stderr
    assert [Path(r["program"]).name for r in json.loads(listed.stdout) if r["operator"] == "-"] == ["image"]
    done = measure(bench, "--operator", "crc", "--engine", "mine")
    assert done.returncode == 0, done.stderr
    assert "is not used: " in done.stderr and "image: cannot be started" in done.stderr
    [refused] = [p for p in bench.record("r")["engine_programs"] if p["reason"]]
    assert refused["path"] == str(broken)


def test_names_do_not_clash_and_modes_are_matched(bench: Bench) -> None:
    contract_program(bench, "a b.sh")
    contract_program(bench, "a,b.sh")
    own = catalog.read_here(bench.programs / "dpubench-operators", use_cache=False)
    others = [contract_programs.ask(p) for p in contract_programs.find([bench.folder / "more"])]
    others[1].operators = [o for o in others[1].operators if o["name"] == "aes"]
    others[1].operators[0]["configurations"] = others[1].operators[0]["configurations"][:1]
    joined = contract_programs.join(own.hello, others)
    crc, aes = (next(o for o in joined["catalog"]["operators"] if o["name"] == n) for n in ("crc", "aes"))
    assert [e["name"] for e in crc["engines"]] == ["portable", "isal", "gpu", "mine", "isal@a-b"]
    by_file = {f: [e["name"] for e in aes["engines"] if e.get("program", "").endswith(f)] for f in ("a b.sh", "a,b.sh")}
    assert by_file["a b.sh"] == ["portable@a-b", "openssl@a-b", "ipsec-mb@a-b"]
    assert by_file["a,b.sh"] == ["portable@a-b-2", "openssl@a-b-2", "ipsec-mb@a-b-2"]
    xts = aes["configurations"][1]["engines"]
    assert (xts["openssl@a-b"], xts["ipsec-mb@a-b"]) == ("", "has no XTS")
    assert xts["openssl@a-b-2"] == "a,b.sh does not list this configuration"
    assert "mine" not in json.dumps(own.hello)


def test_its_points_alternate_with_ours_and_the_record_tells_whose_they_are(bench: Bench) -> None:
    program = contract_program(bench)
    bench.environment["JOBS"] = str(bench.folder / "jobs")
    done = measure(bench, "--operator", "crc")
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert not schemas.fault("run", record)
    [entry] = record["engine_programs"]
    assert (entry["path"], entry["version"], entry["build"]["type"]) == (str(program), "0", "scripted")
    assert entry["engines"]["crc"] == ["mine", "isal@theirs"]
    assert {p["engine"]: p.get("program", "") for p in record["points"]} == {
        "portable": "", "isal": "", "mine": str(program), "isal@theirs": str(program)
    }  # fmt: skip
    up = [point_id(CRC, e, "local", "") for e in ("portable", "isal", "mine", "isal@theirs")] + ["canary-core", "canary-memory"]
    table = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    assert [w["point"] for w in table if w["cycle"] == 2 and w["round"] == 1] == up + up[::-1]
    jobs = [json.loads(line) for line in (bench.folder / "jobs").read_text().splitlines()]
    assert {j["control"] for j in jobs} == {"stepped"} and not any(schemas.fault("job", j) for j in jobs)
    engines = {tuple((p["id"], p["engine"]) for p in j["groups"][0]["points"]) for j in jobs}
    assert ((f"{CRC}/mine", "mine"), (f"{CRC}/isal@theirs", "isal")) in engines
    assert bench("report", "r", "-o", "r.html").returncode == 0
    page = (bench.folder / "r.html").read_text()
    assert f", program {program.name}" in page and f"--engine-dir {program.parent}" in page


def test_its_engines_alone_and_against_another_build(bench: Bench) -> None:
    contract_program(bench)
    assert measure(bench, "--operator", "crc", "--engine", "portable,mine", "--against", str(bench.programs)).returncode == 0
    assert [p["id"] for p in bench.record("r")["points"]] == [f"{CRC}/{e}" for e in ("portable", "portable#against", "mine")]
    assert len(no_mix_up(bench)) == 5


@pytest.mark.parametrize(
    ("kind", "phase", "words"),
    [
        ("segv", "prepare", "killed by SIGSEGV"),
        ("hang", "measure", "it hung: no event for 1 s"),
        ("failure", "verify", "scripted: outputs differ"),
        ("foreign-point", "measure", "a window that it was not asked for: nobody"),
    ],
)
def test_a_fault_of_its_point_fails_that_point_only(bench: Bench, kind: str, phase: str, words: str) -> None:
    contract_program(bench, faults=[{"kind": kind, "phase": phase, "point": "/mine"}])
    done = measure(bench, "--operator", "crc")
    assert done.returncode == 1, done.stderr
    record = bench.record("r")
    assert not schemas.fault("run", record)
    failed = {p["id"]: p["failure"] for p in record["points"] if p["failure"]}
    assert list(failed) == [f"{CRC}/mine"] and words in failed[f"{CRC}/mine"]
    counts = no_mix_up(bench)
    assert all(counts[f"{CRC}/{e}"] >= 2 * 3 * 2 for e in ("portable", "isal", "isal@theirs"))
    assert left_behind(bench) == []


def test_a_program_that_cannot_begin_fails_its_points_and_the_rest_goes_on(bench: Bench) -> None:
    contract_program(bench, engines={"aes": ["theirs"], "crc": ["mine"]}, faults=[{"kind": "exit3", "phase": "hello"}])
    done = measure(bench, "--operator", "aes,crc")
    assert done.returncode == 1, done.stderr
    record = bench.record("r")
    assert {p["id"] for p in record["points"] if p["failure"]} == {f"{GCM}/theirs", f"{XTS}/theirs", f"{CRC}/mine"}
    assert all("out of luck, before it measured anything" in p["failure"] for p in record["points"] if p["failure"])
    counts = no_mix_up(bench)
    assert all(counts[p["id"]] >= 2 * 3 * 2 for p in record["points"] if not p["failure"])


def test_a_run_is_resumed_with_the_program_and_without_it(bench: Bench) -> None:
    program = contract_program(bench)
    assert measure(bench, "--operator", "crc", "--engine", "portable,mine").returncode == 0
    before = no_mix_up(bench)
    record = bench.record("r")
    record["status"] = "interrupted"
    plan = bench.results / "r" / "plan.yaml"
    plan.write_text(plan.read_text().replace("max: 2", "max: 4").replace("min: 2", "min: 4"))
    (bench.results / "r" / "run.json").write_text(json.dumps(record))
    assert bench("resume", "r", "--engine-dir", "more").returncode == 0
    more = no_mix_up(bench)
    assert more[f"{CRC}/mine"] > before[f"{CRC}/mine"]
    record = bench.record("r")
    record["status"] = "interrupted"
    plan.write_text(plan.read_text().replace("max: 4", "max: 6").replace("min: 4", "min: 6"))
    (bench.results / "r" / "run.json").write_text(json.dumps(record))
    program.unlink()
    gone = bench("resume", "r", "--engine-dir", "more")
    assert gone.returncode == 1, gone.stderr
    [failure] = bench.record("r")["failures"]
    assert failure["point"] == f"{CRC}/mine" and "cannot be started" in failure["message"]
    assert no_mix_up(bench)[f"{CRC}/portable"] > more[f"{CRC}/portable"]


def test_the_real_program_behind_a_shell_script(real: RealBench) -> None:
    from real_program import PROGRAM

    folder = real.folder / "more"
    folder.mkdir()
    wrapper = folder / "again.sh"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(str(PROGRAM.resolve()))} "$@"\n')
    wrapper.chmod(0o755)
    names = ("--operator", "sha256", "--size", "256B", "--engine", "portable,portable@again")
    done = real("run", real.plan(), "--name", "r", *names, "--engine-dir", "more")
    assert done.returncode == 0, done.stderr
    record = real.record("r")
    points = {p["engine"]: p for p in record["points"]}
    assert points["portable@again"]["program"] == str(wrapper) and points["portable@again"]["verified"]["known_answers"] > 0
    assert points["portable"]["input"] == points["portable@again"]["input"]
    assert record["engine_programs"][0]["build"] == record["build"]
    table = windows_of(RunDirectory(real.results / "r")).to_pylist()
    in_order = [w["point"].rsplit("/", 1)[-1] for w in table if w["cycle"] == 2 and w["round"] == 1]
    assert in_order == [*(up := ["portable", "portable@again", "canary-core", "canary-memory"]), *reversed(up)]
    for _ in range(50):
        if not real.workers():
            break
        time.sleep(0.1)
    assert real.workers() == []


def test_an_input_that_nothing_reads_is_refused(bench: Bench) -> None:
    bench.script(routes=True)
    routes = bench.folder / "routes"
    routes.write_text("10.0.0.0/8,1\n")
    unread = bench("run", "--dry-run", "--operator", "crc", "--input", f"routes4={routes}")
    assert unread.returncode == 2
    assert "--input routes4: nothing in this run reads it" in unread.stderr and "the run reads no input" in unread.stderr
    read = bench("run", "--dry-run", "--operator", "lookup", "--input", f"routes4={routes}")
    assert read.returncode == 0 and "--input" not in read.stderr
