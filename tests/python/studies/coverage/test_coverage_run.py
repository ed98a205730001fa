"""Tests of runs of study ``coverage``: real simulations of small traces, interruption and resumption, failures, what is kept and printed."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from coverage_fixtures import PLAN, catalogs, example, run_of, text_of, write_run
from dpubench import schemas, studies
from dpubench.errors import Interrupted, NothingRan, UserError
from dpubench.plans.load import Where, parse_plan
from dpubench.run import session
from dpubench.simulation import applications as traced_programs
from dpubench.simulation import hardware, sweep
from dpubench.simulation.characteristics import Counts
from dpubench.simulation.kernels import ArmPrograms, Kernel, NotTraced, Trace
from dpubench.storage.runs import RunDirectory
from dpubench.studies.coverage import execute as coverage_execute
from dpubench.studies.coverage import measure, text
from dpubench.studies.coverage.plan import Plan
from dpubench.studies.coverage.summary import summaries
from dpubench.studies.modelled import execute
from dpubench.studies.query import query

ROOT = Path(__file__).resolve().parents[4]


class Arm:
    """Programs whose kernels and applications are all the same loop of tests/cores/loop.S."""

    def catalog(self) -> dict[str, Any]:
        return {"catalog": {"operators": catalogs().operators}}

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        return [("", {"patricia": "one address at a time"}) for _ in combinations]


@pytest.fixture
def traced(loop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Replace every trace by the loop; return a mapping in which a test sets failures by the name of an operator or program."""
    failing: dict[str, str] = {}

    def kernels(wanted: Sequence[Kernel], *_: Any, **__: Any) -> Iterator[tuple[Kernel, Trace | UserError]]:
        for kernel in wanted:
            failed = failing.get(kernel.operator)
            yield kernel, NotTraced(failed) if failed else Trace(loop, kernel, "d" * 64, 1000, 1, 64_000, 16_000)

    def wholes(wanted: Sequence[Any], *_: Any, **__: Any) -> Iterator[tuple[Any, traced_programs.ProgramTrace | UserError]]:
        for what in wanted:
            failed = failing.get(what.name)
            yield what, NotTraced(failed) if failed else traced_programs.ProgramTrace(loop, "d" * 64, what.label)

    monkeypatch.setattr(ArmPrograms, "found", Arm)
    monkeypatch.setattr(traced_programs, "applications", lambda _arm: catalogs().applications)
    monkeypatch.setattr(traced_programs, "workloads", lambda _arm: catalogs().workloads)
    monkeypatch.setattr(execute, "trace_all", kernels)
    monkeypatch.setattr(traced_programs, "trace_all", wholes)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return failing


def run(folder: Path, text: str = PLAN, **request: Any) -> int:
    plan, lines = parse_plan(text_of(folder, text), "p.yaml")
    assert isinstance(plan, Plan)
    return session.start(studies.find("coverage"), plan, Where("p.yaml", lines), studies.Request(name="r", results=folder, **request))


def test_a_run_simulates_operators_and_whole_programs_in_phases(traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record)
    assert (record["status"], record["study"], record["target"], record["rounds"]) == (
        "complete",
        "coverage",
        "model:neoverse-n1",
        [{"number": 0, "outcomes": 8}],
    )
    (analysed,) = summaries(tmp_path / "r")
    points = {p.id: p for p in analysed.points}
    assert list(points) == [
        "operator/lpm",
        "operator/md5",
        "operator/tcp_segment",
        "application/files",
        "application/packets",
        "workload/forward",
    ]
    # A message has four additions, a subtraction and a branch. The simulation covers the whole loop, from its first instruction.
    lookup = points["operator/lpm"].characteristics
    assert lookup["integer_share"] == pytest.approx(5 / 6, abs=0.01) and lookup["branch_share"] == pytest.approx(1 / 6, abs=0.01)
    assert lookup["load_store_share"] == 0 and 0 < (lookup["ipc"] or 0) < 3
    files = points["application/files"]
    assert [i.phases for i in files.inputs] == [6, 6] and files.instructions == pytest.approx(2 * 6000, rel=0.01)
    assert files.origin == "modelled, of neoverse-n1" and files.labels == ["modelled, general-purpose cores only, no accelerators"]
    # The first phases find cold caches. The other phases equal those of the operators, which are the same loop.
    space = analysed.space
    assert (
        space is not None
        and space.share is not None
        and {c.point for c in space.covered} == {"application/files", "application/packets", "workload/forward"}
    )
    assert space.constant
    out = capsys.readouterr().out
    assert "6 points, 6 with a result, from 8 simulations" in out and "3 operators cover" in out


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("phase: 1000", "phase: 10"), "p.yaml:11: phase: is 10, but a phase has at least 1000 instructions"),
        (
            ("exact: true", "exact: false\nphases: 70000"),
            "p.yaml:13: phases: make 70000 phases, but at most 65536 are kept apart: give fewer or larger phases",
        ),
        (
            ("capture: [PACKETS]", "capture: [ONE]"),
            "--input capture={folder}/one.bin: capture {folder}/one.bin, byte 0: the file is too short for a capture",
        ),
        (("capture: [PACKETS]", "capture: [PACKETS, TWO]"), "--input capture={folder}/two.bin: "),
        (("capture: [PACKETS]", "capture: [PACKETS], routes4: [ONE]"), "--input routes4={folder}/one.bin: prefix list {folder}/one.bin: 1 bad line"),
    ],
)
def test_what_the_simulator_or_the_traced_programs_would_refuse_is_refused_before_anything_is_traced(
    traced: dict[str, str], tmp_path: Path, change: tuple[str, str], told: str, *, dry_run: bool
) -> None:
    assert change[0] in PLAN
    with pytest.raises(UserError) as caught:
        run(tmp_path, PLAN.replace(*change), dry_run=dry_run)
    assert caught.value.exit_status == 2 and str(caught.value).startswith(told.format(folder=tmp_path)), str(caught.value)
    assert not (tmp_path / "r").exists()


def test_the_same_plan_gives_the_same_figures(traced: dict[str, str], tmp_path: Path) -> None:
    found = []
    for name, processes in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        assert run(tmp_path / name, PLAN + f"processes: {processes}\n") == 0
        (analysed,) = summaries(tmp_path / name / "r")
        found.append((json.dumps([dataclasses.asdict(p) | {"cached": False} for p in analysed.points]), repr(analysed.space)))
    assert found[0] == found[1]


def test_a_large_run_holds_few_traces_at_a_time(
    traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whole").mkdir()
    assert run(tmp_path / "whole") == 0
    found: list[str] = []
    real = sweep.simulate

    def simulate(simulations: Sequence[sweep.Simulation], **words: Any) -> Iterator[sweep.Outcome]:
        found.append(f"simulate {len(simulations)}")
        return real(simulations, **words)

    monkeypatch.setattr(sweep, "simulate", simulate)
    monkeypatch.setattr(coverage_execute, "release", lambda folders: found.append(f"release {len(folders)}"))
    monkeypatch.setattr(coverage_execute, "_PORTION", 3)
    capsys.readouterr()
    assert run(tmp_path) == 0
    assert found == ["simulate 3", "release 1", "simulate 3", "release 1", "simulate 2", "release 1"]
    assert "1 to 3 of 8: 3 traces\n" in (said := capsys.readouterr().err) and "7 to 8 of 8: 2 traces of whole programs\n" in said
    points = [[(p.id, p.characteristics, len(p.inputs)) for p in summaries(folder / "r")[0].points] for folder in (tmp_path / "whole", tmp_path)]
    assert points[0] == points[1]


def test_an_interrupted_run_is_gone_on_with(traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sweep.simulate

    def simulate(*arguments: Any, **words: Any) -> Iterator[sweep.Outcome]:
        for done, outcome in enumerate(real(*arguments, **words), 1):
            yield outcome
            if done == 3:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sweep, "simulate", simulate)
    with pytest.raises(Interrupted, match=r"of 8 simulations are kept in .*continue with `dpubench resume"):
        run(tmp_path, PLAN + "processes: 1\n")
    monkeypatch.setattr(sweep, "simulate", real)
    found = RunDirectory(tmp_path / "r")
    assert found.record()["status"] == "interrupted"
    (half,) = summaries(found.path)
    assert half.space is None or half.points[-1].failure.startswith("not simulated")
    assert session.resume(studies.find("coverage"), found, studies.Request()) == 0
    assert found.record()["status"] == "complete" and len(found.record()["rounds"]) == 2
    with pytest.raises(UserError, match="is complete"):
        session.resume(studies.find("coverage"), found, studies.Request())


def test_what_cannot_be_traced_fails_and_leaves_the_rest(traced: dict[str, str], tmp_path: Path) -> None:
    traced |= {"md5": "md5: has no trace: the program crashed", "packets": "packets: it refused its input"}
    assert run(tmp_path) == 1
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record)
    assert [f["group"] for f in record["failures"]] == ["md5/64", "application/packets/packets.pcap"]
    (analysed,) = summaries(tmp_path / "r")
    failed = {p.id: p.failure for p in analysed.points if p.failure}
    assert failed == {
        "operator/md5": f"no trace of md5/64: {traced['md5']}",
        "application/packets": f"no trace of application/packets/packets.pcap: {traced['packets']}",
    }
    assert analysed.space is not None and [c.missing for c in analysed.space.compositions] == [["md5", "deflate"]]


def test_nothing_to_trace_is_said_before_a_run_is_made(traced: dict[str, str], tmp_path: Path) -> None:
    text = "study: coverage\ntarget: model:neoverse-n1\noperators: [lpm/dpdk-lpm]\napplications: none\nworkloads: none\n"
    with pytest.raises(NothingRan, match="nothing that was asked for can be traced: librte_lpm"):
        run(tmp_path, text)
    assert not (tmp_path / "r").exists()


def test_what_an_engine_never_does_is_refused_where_it_was_named(traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace("[lpm, md5, tcp_segment]", "[md5, lpm/patricia]")
    assert run(tmp_path, text, dry_run=True) == 1
    assert "operator lpm/patricia: lpm, patricia, 64 messages: cannot run: one address at a time\n" in capsys.readouterr().out
    assert run(tmp_path, text, dry_run=True, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["unavailable"] == {"operator/lpm/patricia": "one address at a time"}
    assert run(tmp_path, text) == 1
    (failure,) = RunDirectory(tmp_path / "r").record()["failures"]
    assert failure["group"] == "lpm/patricia" and failure["message"].endswith("cannot be traced here: one address at a time")
    everything = PLAN.replace("[lpm, md5, tcp_segment]", "all\nengines: all")
    assert run(tmp_path, everything, dry_run=True) == 0
    assert "left out: lpm/patricia: cannot be traced: one address at a time\n" in capsys.readouterr().out


def test_a_dry_run_says_what_there_is_to_do(traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, dry_run=True) == 0
    out = capsys.readouterr().out
    assert "  application files: 2 inputs\n" in out and "8 traces and simulations (whole traces), on model:neoverse-n1" in out
    assert run(tmp_path, dry_run=True, as_json=True) == 0
    assert len(json.loads(capsys.readouterr().out)["configurations"]) == 8
    assert not (tmp_path / "r").exists()


# --------------------------------------------------------------------------- hardware counters


def test_without_hardware_counters_it_says_so_before_a_run_is_made(tmp_path: Path) -> None:
    try:
        hardware.check()
    except hardware.NoCounters as error:
        assert "target local: no hardware counters here: " in str(error) and "or give a model: --target model:NAME" in str(error)
        with pytest.raises(hardware.NoCounters, match="no hardware counters here"):
            run(tmp_path, "study: coverage\ntarget: local\noperators: [md5]\n")
        assert not (tmp_path / "r").exists()
    else:
        assert run(tmp_path, "study: coverage\ntarget: local\noperators: [md5]\n") == 0
        (analysed,) = summaries(tmp_path / "r")
        assert analysed.points[0].origin == "measured" and analysed.points[0].characteristics["load_store_share"] is None


@pytest.mark.parametrize(
    ("number", "said"), [(2, "virtual machine"), (38, "CONFIG_PERF_EVENTS"), (13, "perf_event_paranoid"), (22, "Invalid argument")]
)
def test_why_there_is_no_counter(number: int, said: str) -> None:
    assert said in hardware._why(number)


def test_counters_of_a_process_are_read_when_it_has_ended() -> None:
    """The kernel counts page faults itself, so this test runs nearly everywhere."""
    event = {"faults": hardware.Event(1, 2), "none": hardware.Event(1, 999)}
    try:
        os.close(hardware._open(os.getpid(), event["faults"]))
    except OSError as error:
        pytest.skip(f"perf_event_open counts not even page faults here: {error.strerror}")
    few, many = (
        hardware.counted(["/usr/bin/python3", "-c", f"import sys; sys.stdin.read(); b = bytearray({n})"], b"x\n", event) for n in (1, 32 << 20)
    )
    assert many["faults"] - few["faults"] >= 8000 and math.isnan(many["none"])  # 32 MiB are 8192 pages
    with pytest.raises(UserError, match="ended with 3: no"):
        hardware.counted(["/bin/sh", "-c", "echo no; exit 3"], b"", event)


def test_operators_are_measured_with_what_the_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole measurement runs on counters of the kernel itself: task time in place of instructions, page faults in place of cycles."""
    time, faults, none = hardware.Event(1, 1), hardware.Event(1, 2), hardware.Event(1, 999)
    monkeypatch.setattr(hardware, "INSTRUCTIONS", time)
    monkeypatch.setattr(hardware, "CYCLES", faults)
    try:
        hardware.check()
    except hardware.NoCounters as error:
        pytest.skip(str(error))
    names = [f"{what}_{which}" for what in ("itlb", "dtlb", "l1d") for which in ("accesses", "misses")]
    groups = ({"instructions": time, "cycles": faults, "branches": none}, dict.fromkeys(names, none))
    monkeypatch.setattr(hardware, "GROUPS", groups)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run(tmp_path, "study: coverage\ntarget: local\noperators: [md5]\nmessages: 2000000\ntraced_bytes: 128MiB\n") == 0
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record) and record["models"] == {} and record["target_info"] == {"spec": "local", "label": ""}
    assert any(line.startswith("whole programs: counters cannot separate") for line in record["left_out"])
    (analysed,) = summaries(tmp_path / "r")
    (point,) = analysed.points
    assert (point.origin, point.labels) == ("measured", [measure.LABEL]) and point.instructions > 10_000_000  # task time in ns of two million digests
    assert all(value is None for name, value in point.characteristics.items() if name != "ipc")
    shown = text.show([analysed])
    assert "not counted" in shown and "from 1 measurement" in shown and "modelled" not in shown
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Nothing here was measured" not in page and "How operators behave on this machine" in page


def test_what_was_not_counted_is_missing_and_never_filled_in(tmp_path: Path) -> None:
    counts = Counts(1000, 500, math.nan, math.nan, 300, 3, 300, 30, math.nan, 100, math.nan)
    kept = json.loads(json.dumps(measure.event_of("x", counts)))
    back = dict(zip(("ipc", "itlb", "dtlb", "l1d", "integer", "branch", "accesses"), measure.counts_of(kept).characteristics(), strict=True))
    assert (back["ipc"], back["dtlb"], back["l1d"], back["branch"]) == (2, 0.01, 0.1, 0.1)
    assert all(math.isnan(back[name]) for name in ("itlb", "integer", "accesses"))


# --------------------------------------------------------------------------- analysis


def test_a_scripted_space_follows_from_its_simulations(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    space = run.space
    assert space is not None and space.constant == ["itlb_miss_ratio", "dtlb_miss_ratio"] and space.dropped == []
    covered = {c.point: c for c in space.covered}
    # An application that does only operators' work is inside, although its ratios are no mixtures of the operators' ratios.
    assert (covered["application/files"].inside, covered["application/files"].phases) == (6, 6)
    packets = covered["application/packets"]
    assert (packets.inside, packets.phases) == (2, 4)
    assert [(o.cost, o.above, o.phases) for o in packets.outside] == [("cycles", True, 2)]
    assert (packets.near, covered["application/files"].near) == (2, 6) and space.near_share == 0.75
    assert packets.median_distance == packets.largest_distance > 1 and not packets.whole_inside
    assert space.share is not None and space.share.value == 0.75 and space.workload_share is not None and space.workload_share.value == 0.75
    assert space.few_inputs == {"application/files": 2, "application/packets": 1}
    assert sum(c.variance for c in space.components) == pytest.approx(1)
    (files, own) = space.compositions
    assert files.missing == ["deflate"] and files.weights == {"operator/md5": pytest.approx(1)}
    assert set(own.weights) == {"operator/lpm", "operator/md5"} and sum(own.weights.values()) == pytest.approx(1)
    assert {e.operator for e in space.left_out} == {"lpm", "md5", "tcp_segment"} and all(e.change <= 0 and not e.in_hull for e in space.left_out)
    inputs = {i.name: (i.phases, i.inside) for p in run.points if p.id == "application/files" for i in p.inputs}
    assert inputs["one.bin"][0] == 4 and inputs["two.bin"][0] == 2


def test_a_composition_finds_the_mixture_that_an_application_is(tmp_path: Path) -> None:
    from coverage_fixtures import OPERATORS, Mix
    from dpubench.studies.coverage.expand import Cell

    def script(cell: Cell) -> list[Mix] | str:
        # A quarter of the instructions are look-ups, three quarters digests.
        return [OPERATORS["lpm"], *[OPERATORS["md5"]] * 3] if cell.name == "packets" else example(cell)

    space = run_of(tmp_path, script=script).space
    assert space is not None
    own = next(c for c in space.compositions if c.application == "application/packets")
    assert own.weights == pytest.approx({"operator/lpm": 0.25, "operator/md5": 0.75}, abs=1e-6)
    assert own.distance == pytest.approx(0, abs=1e-6)


def test_one_operator_alone_is_a_point_and_nothing_is_left_out(tmp_path: Path) -> None:
    text = PLAN.replace("[lpm, md5, tcp_segment]", "[lpm]")
    space = run_of(tmp_path, text).space
    assert space is not None and space.left_out == []
    assert next(c for c in space.covered if c.point == "application/packets").inside == 1  # the phase that equals a look-up
    alone = run_of(tmp_path, text.replace("[files, packets]", "none").replace("[forward]", "none"), name="alone")
    assert alone.space is None and len(alone.points) == 1


def test_points_can_be_queried(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    rows = query([path], "SELECT name, share_inside FROM points WHERE kind = 'application' ORDER BY name")
    assert [row["name"] for row in rows] == ["files", "packets"] and all(0 <= row["share_inside"] <= 1 for row in rows)


def test_a_run_of_another_shape_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    record = json.loads((path / "run.json").read_text())
    del record["models"]
    (path / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"does not follow dpubench.run/1 of study coverage"):
        summaries(path)
