"""Tests of sweeps of real simulations: the same results in every mode, kept, interrupted and continued, and failures as outcomes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench import programs, traces
from dpubench.errors import Interrupted, UserError
from dpubench.simulation import _cache, simulator, sweep
from dpubench.simulation.sweep import Context, Outcome, Progress, Simulation
from dpubench.workers import checks
from dpubench.workers.process import StopRequest
from sweep_fixtures import Files, described, directly, long, make_traces, sims, simulators


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    return make_traces(tmp_path_factory.mktemp("traces"))


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    request = StopRequest()
    yield request
    request.close()


def run(simulations: list[Simulation], stop: StopRequest, cache: Path | None = None, processes: int = 2, **more: Any) -> dict[str, Outcome]:
    """Run a sweep; return its outcomes by name, and check that each came once."""
    found = list(sweep.simulate(simulations, processes=processes, cache=cache, stop=stop, **more))
    assert len({o.id for o in found}) == len(found)
    return {o.id: o for o in found}


def test_results_are_those_of_the_program_however_they_come(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = sims(two)
    alone, beside = run(wanted, stop, tmp_path, processes=1), run(wanted, stop, processes=5)
    kept = run(wanted, stop, tmp_path)
    assert all(o.cached for o in kept.values()) and not any(o.cached for o in [*alone.values(), *beside.values()])
    for simulation in wanted:
        expected = directly(simulation)
        for outcomes in (alone, beside, kept):
            assert outcomes[simulation.id].result == expected
        assert simulator.simulate_one(simulator.job([simulation.configuration()]), str(simulator.program())) == expected


def test_what_is_done_is_kept_when_a_sweep_is_given_up(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = sims(two, 20)
    going = sweep.simulate(wanted, processes=2, cache=tmp_path, stop=stop)
    first = [next(going) for _ in range(7)]
    going.close()
    assert simulators() == []
    kept = run(wanted, stop, tmp_path)
    assert {o.id for o in kept.values() if o.cached} >= {o.id for o in first}
    assert set(kept) == {s.id for s in wanted}
    for outcome in first:
        assert kept[outcome.id].result == outcome.result


def test_a_stop_ends_all_simulators_at_once(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = [*sims(two, 4), *(long(two[0], f"long{i}", 2000) for i in range(3))]
    threading.Timer(2.0, stop.set, (signal.SIGINT,)).start()
    found: list[Outcome] = []
    with pytest.raises(Interrupted):
        found.extend(sweep.simulate(wanted, processes=2, cache=tmp_path, stop=stop))
    assert simulators() == []
    names = {s.digest: s.id for s in wanted}
    assert {names[file.stem] for file in tmp_path.iterdir()} >= {"s0", "s2"}  # both use one trace and are short


SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:5]
from dpubench.simulation import sweep
from dpubench.workers.process import StopRequest
from sweep_fixtures import Files, long, sims
two = Files(Path(sys.argv[1]) / "trace-loop", "a" * 64), Files(Path(sys.argv[1]) / "trace-accesses", "b" * 64)
with StopRequest() as stop:
    for outcome in sweep.simulate([*sims(two, 6), *(long(two[0], f"l{i}", 8) for i in range(4))], processes=2, cache=Path(sys.argv[2]), stop=stop):
        print(outcome.id, outcome.cached, outcome.failure, flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_process_leaves_no_simulator_and_the_next_goes_on(two: tuple[Files, Files], tmp_path: Path, sent: signal.Signals) -> None:
    folders = [two[0].folder.parent, tmp_path / "kept", ROOT / "python", ROOT / "tests/python"]
    words = [sys.executable, "-c", SCRIPT, *map(str, folders)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(5)]
    below = simulators(process.pid)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and (sent == signal.SIGKILL or "Interrupted" in errors)
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in below) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    again = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout.splitlines()
    assert len(again) == 10
    assert {line.split()[0] for line in told} <= {line.split()[0] for line in again if "True" in line}
    assert not [line for line in again if len(line.split()) > 2]


def test_a_simulator_that_is_killed_costs_one_simulation(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = [*sims(two, 8), long(two[0], "victim", 2000)]
    going = sweep.simulate(wanted, processes=1, cache=tmp_path, stop=stop, tell=lambda p: killed.set() if strike(p) else None)
    killed = threading.Event()

    def strike(progress: Progress) -> bool:
        if progress.at_work != "victim" or not progress.instructions or killed.is_set():
            return False
        (pid,) = simulators()
        os.kill(pid, signal.SIGKILL)
        return True

    found = {o.id: o for o in going}
    assert killed.is_set()
    assert found["victim"].failure == "the simulator: it was killed by SIGKILL"
    assert all(found[s.id].result == directly(s) for s in wanted[:8])


def test_failures_are_outcomes_and_are_not_kept(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = sims(two, 6)
    broken = described()
    broken["window"] |= {"instructions": 0}
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "blocks").write_bytes((two[0].folder / "blocks").read_bytes())
    (cut / "stream").write_bytes((two[0].folder / "stream").read_bytes()[:-9])
    bad = [
        Simulation("described", broken, (Context(two[0]),)),
        Simulation("threads", described(), (Context(two[0]), Context(two[1]))),
        Simulation("cut", described(), (Context(Files(cut, "c" * 64)),)),
        Simulation("absent", described(), (Context(Files(tmp_path / "absent", "d" * 64)),)),
        Simulation("short", described(), (Context(two[0]),), {"warm_up_messages": 5000}),
    ]
    told: list[Progress] = []
    found = run([*wanted[:3], *bad, *wanted[3:]], stop, tmp_path / "kept", processes=1, tell=told.append)
    assert all(found[s.id].result == directly(s) for s in wanted)
    failures = {name: found[name].failure for name in ("described", "threads", "cut", "absent", "short")}
    assert all(found[name].result is None for name in failures)
    assert "processor/window/instructions: must be" in failures["described"] and "/configurations/" not in failures["described"]
    assert "has 1 contexts (1 cores of 1), but there are 2 traces" in failures["threads"]
    assert str(cut) in failures["cut"]
    assert str(tmp_path / "absent") in failures["absent"]
    assert "no instruction was counted" in failures["short"]
    assert (told[-1].done, told[-1].of, told[-1].failed, told[-1].cached) == (11, 11, 5, 0)
    again = run([*bad, *wanted], stop, tmp_path / "kept")
    assert {o.id for o in again.values() if o.cached} == {s.id for s in wanted}


def test_an_unknown_instruction_is_an_outcome(tmp_path: Path, stop: StopRequest) -> None:
    """More of the kernel is unknown than is allowed: every fourth instruction is of SVE."""
    source = tmp_path / "unknown.S"
    source.write_text(
        ".globl _start\n_start: hint #0x50\nmov x1, #100\n1: hint #0x52\ncntb x2\nadd x3, x3, x2\nsubs x1, x1, #1\nb.ne 1b\nhint #0x51\n"
        "mov x0, #0\nmov x8, #93\nsvc #0\n"
    )
    thing, program = tmp_path / "unknown.o", tmp_path / "unknown"
    subprocess.run(["aarch64-linux-gnu-as", "-march=armv8.2-a+sve", "-o", thing, source], check=True, timeout=60)
    subprocess.run(["aarch64-linux-gnu-ld", "-static", "-o", program, thing], check=True, timeout=60)
    trace = Files(traces.capture(program, [], tmp_path / "trace", cpu="max").folder, "e" * 64)
    (outcome,) = run([Simulation("one", described(), (Context(trace),))], stop).values()
    assert "are unknown to the decoder, and at most 0.1 % are accepted" in outcome.failure


def test_simulations_that_differ_in_name_alone_are_simulated_once(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    first, other = sims(two, 2)
    elsewhere = replace(first, id="elsewhere", contexts=(Context(Files(two[0].folder / ".." / "trace-loop", two[0].digest)),))
    found = run([first, replace(first, id="again"), elsewhere, other], stop, tmp_path)
    results = [found[name].result for name in ("s0", "again", "elsewhere")]
    assert [result and result["group"] for result in results] == ["s0", "again", "elsewhere"]
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(UserError, match="two simulations of a sweep have the same name"):
        run([first, first], stop)


def test_the_digest_is_of_what_decides_the_result(two: tuple[Files, Files], monkeypatch: pytest.MonkeyPatch) -> None:
    one = Simulation("one", described(), (Context(two[0]),), {"every": 7})
    moved = replace(one, id="x", contexts=(Context(Files(Path("/elsewhere"), two[0].digest)),))
    reordered = replace(one, processor=dict(reversed(list(one.processor.items()))))
    assert one.digest == moved.digest == reordered.digest
    buffers = ({"address": 4096, "stride_bytes": 2048, "count": 4},)
    others = [
        replace(one, processor=described(3)), replace(one, contexts=(Context(two[1]),)), replace(one, extent={"every": 11}),
        replace(one, contexts=(Context(two[0], skip_messages=1),)), replace(one, contexts=(Context(two[0], code_space=1),)),
        replace(one, contexts=(Context(two[0], data_space=1),)), replace(one, frame_buffers=buffers),
    ]  # fmt: skip
    monkeypatch.setattr(simulator, "digest_of_program", lambda _path: "0" * 64)
    with_other_program = one.digest
    monkeypatch.undo()
    assert len({one.digest, with_other_program, *(o.digest for o in others)}) == 2 + len(others)


def test_contexts_of_traces_of_the_same_content_share_their_spaces(two: tuple[Files, Files], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.symlink_to(two[0].folder)
    contexts = (Context(two[0]), Context(Files(copy, two[0].digest)), Context(two[1], skip_messages=3, code_space=5, data_space=6))
    configuration = Simulation("one", described(), contexts).configuration()
    assert [c["trace"] for c in configuration["contexts"]] == [str(t.folder) for t in (two[0], two[0], two[1])]
    assert configuration["contexts"][2] == {"trace": str(two[1].folder), "skip_messages": 3, "code_space": 5, "data_space": 6}


def test_what_is_kept_and_damaged_is_simulated_anew(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = sims(two, 3)
    before = run(wanted, stop, tmp_path)
    files = [tmp_path / f"{s.digest}.json" for s in wanted]
    files[0].write_text(files[0].read_text()[:-7])
    files[1].write_text(json.dumps(json.loads(files[0].with_name(files[2].name).read_text())))  # the outcome of another simulation
    files[2].chmod(0)
    after = run(wanted, stop, tmp_path)
    assert [after[s.id].cached for s in wanted[:2]] == [False, False]
    assert all(after[s.id].result == before[s.id].result for s in wanted)


def test_a_cache_that_cannot_be_written_costs_no_result(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = run(sims(two, 2), stop, tmp_path / "file" / "cache")
    assert all(o.result for o in found.values())


def test_progress_is_told(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = [*sims(two, 4), long(two[0], "long", 20)]
    run(wanted[:2], stop, tmp_path)
    told: list[Progress] = []
    found = run(wanted, stop, tmp_path, tell=told.append)
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert (told[-1].done, told[-1].of, told[-1].cached, told[-1].failed) == (5, 5, 2, 0)
    assert any(p.at_work == "long" and 0 < p.instructions < 20_000_000 for p in told)
    simulated = sum(o.result["instructions"] for o in found.values() if o.result and not o.cached)
    assert told[-1].instructions == pytest.approx(simulated, rel=0.01)


def test_what_a_simulator_says_is_held_to_the_contract(two: tuple[Files, Files]) -> None:
    """The quick check of the times at which messages began agrees with the schema."""
    result = directly(sims(two, 1)[0])
    assert checks.parse_cores_event(json.dumps(result).encode()) == result
    assert len(result["contexts"][0]["message_cycles"]["cycles"]) == 1001
    cases: list[Any] = [result | {"more": 1}, result | {"contexts": 3}, result | {"contexts": [3]}, result | {"event": "window"}, 7]
    for wrong in ([-1], [0.5], ["x"], [True], "x", None):
        context = result["contexts"][0]
        cases.append(result | {"contexts": [context | {"message_cycles": {"every": 1, "cycles": wrong}}]})
    cases.append(result | {"contexts": [result["contexts"][0] | {"message_cycles": []}]})
    for case in cases:
        with pytest.raises(checks.Rubbish):
            checks.parse_cores_event(json.dumps(case).encode())


def test_portions_hold_the_same_traces_and_become_small_at_the_end() -> None:
    configurations = [{"id": str(i), "contexts": [{"trace": "ab"[i % 2]}] * 2} for i in range(100)]
    batches = sweep._Batches(configurations, 2)
    portions = []
    while portion := batches.next():
        portions.append(portion)
    assert sorted(int(c["id"]) for p in portions for c in p) == list(range(100))
    assert all(len({c["contexts"][0]["trace"] for c in p}) == 1 for p in portions)
    assert len(portions[0]) == 16 and [len(p) for p in portions[-4:]] == [1, 1, 1, 1]


def test_old_results_make_room(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path) -> None:
    wanted = sims(two, 3)
    run(wanted, stop, tmp_path)
    files = [tmp_path / f"{s.digest}.json" for s in wanted]
    for file, age_days in zip(files, (9, 5, 0), strict=True):
        os.utime(file, (time.time() - age_days * 86_400,) * 2)
    _cache.prune(tmp_path, sum(f.stat().st_size for f in files[1:]))
    assert [f.exists() for f in files] == [False, True, True]
    _cache.prune(tmp_path, 0)
    assert [f.exists() for f in files] == [False, False, False]


def test_a_program_that_is_not_there_is_said(two: tuple[Files, Files], stop: StopRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPUBENCH_PROGRAMS", str(tmp_path))
    with pytest.raises(UserError, match=f"{programs.CORES}: there is no such program: run `make build`"):
        run(sims(two, 1), stop)
    (tmp_path / programs.CORES).touch()
    with pytest.raises(UserError, match="is not executable"):
        run(sims(two, 1), stop)
