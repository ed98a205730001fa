"""Tests of workers that crash, hang, lie and print rubbish: a failure is a result, the rest continues, nothing is lost, the exit status tells."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Bench
from dpubench import schemas
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.rounds import windows_of

GCM = "aes/mode=gcm,size=1024/t1/b32/stream"
QUICK = ("run", "--name", "r", "--rounds", "2", "--operator", "aes")


def fault(kind: str, phase: str, point: str = "gcm,size=1024/t1/b32/stream/openssl", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "phase": phase, "point": point, **more}


def windows_per_point(bench: Bench) -> dict[str, int]:
    table = windows_of(RunDirectory(bench.results / "r"))
    names = table.column("point").to_pylist()
    return {n: names.count(n) for n in set(names)}


@pytest.mark.parametrize(
    ("kind", "phase", "words"),
    [
        ("segv", "prepare", "killed by SIGSEGV"),
        ("segv", "verify", "killed by SIGSEGV"),
        ("segv", "measure", "killed by SIGSEGV"),
        ("exit3", "prepare", "ended with status 3; it said: scripted: out of luck"),
        ("hang", "prepare", "it hung: no event for 1 s"),
        ("hang", "measure", "it hung: no event for 1 s"),
        ("fork-hang", "verify", "it hung: no event for 1 s"),
        ("rubbish", "prepare", "a line that is not JSON: 'Segmentation fault (not really)'"),
        ("binary", "verify", "a line that is not JSON"),
        ("gigabyte", "measure", "a line of more than 1 MiB"),
        ("flood", "prepare", "it printed more than"),
        ("schema", "measure", "a window event that breaks the contract: lacks bursts, cycle"),
        ("unknown-event", "prepare", "an event of unknown kind 'celebration'"),
        ("nan", "prepare", "because NaN is not JSON"),
        ("huge-count", "measure", "a line that cannot be stored, because 9223372036854775808 is out of range"),
        ("surrogate", "measure", "it holds a text that is not UTF-8"),
        ("foreign-point", "prepare", "a window of a point that nobody asked for: nobody"),
        ("closed", "prepare", "it closed its output and did not end"),
        ("quiet", "prepare", "it ended without the event `done`"),
        ("failure", "verify", "scripted: outputs differ"),
    ],
)
def test_a_point_at_fault_fails_and_the_rest_goes_on(bench: Bench, kind: str, phase: str, words: str) -> None:
    bench.script(faults=[fault(kind, phase)])
    (bench.folder / "p.yaml").write_text("study: operators\nsilence: 1s\nengines: all\ncycles: {min: 3, max: 3}\n")
    done = bench("run", "p.yaml", *QUICK[1:])
    assert done.returncode == 1, done.stderr
    record = bench.record("r")
    assert not schemas.fault("run", record)
    assert record["status"] == "complete"
    failed = {p["id"]: p["failure"] for p in record["points"] if p["failure"]}
    assert list(failed) == [f"{GCM}/openssl"]
    assert words in failed[f"{GCM}/openssl"]
    assert [f["point"] for f in record["failures"]] == [f"{GCM}/openssl"]
    counts = windows_per_point(bench)
    for point in record["points"]:
        if not point["failure"]:
            assert counts[point["id"]] >= 2 * 3 * 2, point["id"]
    if kind != "failure":
        assert {"code": "restarted", "point": f"{GCM}/openssl"}.items() <= record["warnings"][0].items()
    assert bench.workers() == []


def test_windows_before_a_crash_are_kept_and_never_mixed_up(bench: Bench) -> None:
    bench.script(faults=[fault("segv", "measure", round=1, after=5)])
    assert bench(*QUICK, "--engine", "portable,openssl").returncode == 1
    table = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    places = [(w["point"], w["group"], w["round"], w["cycle"], w["half"]) for w in table]
    assert len(places) == len(set(places))
    assert {w["round"] for w in table if w["point"].endswith("xts,size=1024/t1/b32/stream/portable")} == {0, 1}


def test_a_program_that_dies_before_anything_is_an_error_with_a_remedy(bench: Bench) -> None:
    bench.script(faults=[fault("exit3", "hello", "")])
    done = bench(*QUICK)
    assert done.returncode == 1
    assert "before it measured anything" in done.stderr and "scripted: out of luck" in done.stderr
    assert bench.record("r")["status"] == "failed"
    assert "Traceback" not in done.stderr


def test_a_program_without_a_catalog(bench: Bench) -> None:
    bench.script(list="rubbish")
    done = bench("list")
    assert done.returncode == 1
    assert "--list: its answer breaks the contract" in done.stderr and "a line that is not JSON: 'no catalog today'" in done.stderr


def test_every_point_failing_is_nothing_ran(bench: Bench) -> None:
    bench.script(faults=[fault("failure", "verify", "")])
    done = bench(*QUICK)
    assert done.returncode == 4, done.stderr
    assert "scripted: outputs differ" in done.stderr


def test_a_named_engine_that_cannot_run_is_a_failure_and_an_unnamed_one_is_none(bench: Bench) -> None:
    assert bench("run", "--name", "a", "--rounds", "1", "--operator", "crc").returncode == 0
    done = bench("run", "--name", "b", "--rounds", "1", "--operator", "crc", "--engine", "isal,gpu")
    assert done.returncode == 1
    assert "no device of this kind" in bench.record("b")["failures"][0]["message"]
    assert bench("run", "--name", "c", "--rounds", "1", "--operator", "crc", "--engine", "gpu").returncode == 4


@pytest.mark.parametrize("kind", ["segv", "hang", "rubbish"])
@pytest.mark.parametrize("phase", ["prepare", "measure"])
def test_two_builds_one_of_which_breaks(bench: Bench, kind: str, phase: str) -> None:
    bench.script(faults=[fault(kind, phase, "xts,size=1024/t1/b32/stream/openssl#against")])
    (bench.folder / "p.yaml").write_text("study: operators\nsilence: 1s\nengines: all\ncycles: {min: 3, max: 3}\n")
    done = bench("run", "p.yaml", *QUICK[1:], "--against", str(bench.programs))
    assert done.returncode == 1, done.stderr
    record = bench.record("r")
    assert [p["id"] for p in record["points"] if p["failure"]] == ["aes/mode=xts,size=1024/t1/b32/stream/openssl#against"]
    counts = windows_per_point(bench)
    for point in record["points"]:
        if not point["failure"]:
            assert counts[point["id"]] >= 2 * 3 * 2, point["id"]
    table = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    places = [(w["point"], w["group"], w["round"], w["cycle"], w["half"]) for w in table if not w["point"].startswith("canary")]
    assert len(places) == len(set(places))
    assert bench.workers() == []


def test_two_builds_alternate_in_abba_order(bench: Bench) -> None:
    assert bench(*QUICK[:4], "1", "--operator", "crc", "--against", str(bench.programs)).returncode == 0
    table = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    a = "crc/size=1024/t1/b32/stream/"
    up = [f"{a}portable", f"{a}portable#against", f"{a}isal", f"{a}isal#against", "canary-core", "canary-memory"]
    # Builds of an engine change places from cycle to cycle.
    swapped = [up[1], up[0], up[3], up[2], *up[4:]]
    seen = {cycle: [w["point"] for w in table if w["cycle"] == cycle] for cycle in (1, 2)}
    assert [seen[1], seen[2]] in ([up + up[::-1], swapped + swapped[::-1]], [swapped + swapped[::-1], up + up[::-1]])
    assert [w["half"] for w in table if w["cycle"] == 2] == [0] * 6 + [1] * 6


def test_jobs_follow_the_contract_and_differ_by_round(bench: Bench) -> None:
    bench.environment["JOBS"] = str(bench.folder / "jobs")
    assert bench(*QUICK[:4], "6").returncode == 0
    jobs = [json.loads(line) for line in (bench.folder / "jobs").read_text().splitlines()]
    assert [schemas.fault("job", j) for j in jobs] == [""] * 7  # the selection and six rounds
    assert [j["round"] for j in jobs] == [0, 0, 1, 2, 3, 4, 5]
    assert len({j["seed"] for j in jobs}) == 1, "the input of a run is one"
    assert len({tuple(g["id"] for g in j["groups"]) for j in jobs[1:]}) > 1, "the order of configurations never changed"


def test_the_best_engine_is_chosen_by_measuring(bench: Bench) -> None:
    bench.script(rates={"ipsec-mb": 9e6}, engines={"aes": ["portable", "openssl", "isal", "ipsec-mb"]})
    assert bench(*QUICK).returncode == 0
    record = bench.record("r")
    gcm = [p["engine"] for p in record["points"] if p["configuration"] == GCM]
    assert gcm == ["portable", "isal", "ipsec-mb"]
    assert "slower than ipsec-mb" in next(c for c in record["configurations"] if c["id"] == GCM)["not_measured"]["openssl"]
    assert (bench.results / "r" / "selection.parquet").exists()


def test_points_that_do_not_converge_say_so_and_the_budget_holds(bench: Bench) -> None:
    bench.script(spread=0.4, window_s=0.003)
    done = bench("run", "--name", "r", "--operator", "crc", "--budget", "12s")
    assert done.returncode == 0
    record = bench.record("r")
    assert record["spent_s"] <= 12
    assert {w["code"] for w in record["warnings"]} == {"not-converged"}
    assert "2 of 2 rates did not reach ±5 %" in done.stdout


def test_what_does_not_fit_the_budget_is_left_out_by_name(bench: Bench) -> None:
    bench.script(prepare_s=0.5, window_s=0.003)
    done = bench("run", "--name", "r", "--operator", "aes", "--budget", "9s")
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert record["spent_s"] < 14
    assert any("do not fit the budget" in line for line in record["left_out"])
    assert "few-rounds" in {w["code"] for w in record["warnings"]}
