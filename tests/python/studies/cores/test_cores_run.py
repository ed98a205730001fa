"""Tests of runs of study ``cores``: real simulations of small traces, interruption and resumption, failures, what is kept and printed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cores_fixtures import LINES, PAPER, operators, run_of, write_run
from dpubench import schemas, studies
from dpubench.errors import Interrupted, NothingRan, PlanError, UserError
from dpubench.plans.load import Where, parse_plan
from dpubench.run import session
from dpubench.simulation import reads, simulator, sweep
from dpubench.simulation.kernels import ArmPrograms, Kernel, NotTraced, Trace
from dpubench.storage.runs import RunDirectory
from dpubench.studies.cores import refused as refused_processors
from dpubench.studies.cores.plan import Plan
from dpubench.studies.cores.summary import summaries
from dpubench.studies.modelled import execute, outcomes
from dpubench.studies.query import query

ROOT = Path(__file__).resolve().parents[4]

#: Ten simulations of a trace of a thousand messages; one organisation is not the model's own.
SMALL = """
study: cores
plan: small
target: [model:alpha21264-1999]
kernels: [{name: lookup, operator: lpm, messages: 1000}, {name: md5, operator: md5, messages: 1000, frames: [64B]}]
frame_sizes: [64B]
lines: [100Mb/s, 1Gb/s]
exact: true
warm_up: 0%
comparisons: false
sweeps:
  - {name: smt, organisation: smt, steps: [1, 2, 3], clocks: [100MHz]}
  - {name: superscalar, organisation: superscalar, steps: [1, 4], clocks: [100MHz]}
"""


class Arm:
    """Programs whose kernels are all the same loop of tests/cores/loop.S."""

    def catalog(self) -> dict[str, Any]:
        return {"catalog": {"operators": operators()}}

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        return [("", {"patricia": "one address at a time"}) for _ in combinations]


@pytest.fixture
def traced(loop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Replace the trace of every kernel by the loop; return a mapping in which a test sets failures by operator."""
    failing: dict[str, str] = {}

    def trace_all(kernels: Sequence[Kernel], *_: Any, **__: Any) -> Iterator[tuple[Kernel, Trace | UserError]]:
        for kernel in kernels:
            if kernel.operator in failing:
                yield kernel, NotTraced(failing[kernel.operator])
            else:
                yield kernel, Trace(loop, kernel, "d" * 64, 1000, 1, 64_000, 16_000)

    monkeypatch.setattr(ArmPrograms, "found", Arm)
    monkeypatch.setattr(execute, "trace_all", trace_all)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return failing


def run(folder: Path, text: str = SMALL, **request: Any) -> int:
    plan, lines = parse_plan(text, "p.yaml")
    assert isinstance(plan, Plan)
    return session.start(studies.find("cores"), plan, Where("p.yaml", lines), studies.Request(name="r", results=folder, **request))


def after(number: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Send SIGINT to this process when ``number`` simulations are done; return a function that undoes this."""
    real = sweep.simulate

    def simulate(*arguments: Any, **words: Any) -> Iterator[sweep.Outcome]:
        for done, outcome in enumerate(real(*arguments, **words), 1):
            yield outcome
            if done == number:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sweep, "simulate", simulate)
    return lambda: monkeypatch.setattr(sweep, "simulate", real)


# --------------------------------------------------------------------------- whole runs


def test_a_run_simulates_every_configuration_and_says_what_it_sustains(
    traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 0
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record)
    assert (record["status"], record["study"], record["target"]) == ("complete", "cores", "model:alpha21264-1999")
    assert record["rounds"] == [{"number": 0, "outcomes": 10}]
    (analysed,) = summaries(tmp_path / "r")
    points = {p.id: p for p in analysed.points}
    one = points["lookup/64/alpha21264-1999/smt-1/100MHz/base"]
    assert one.cycles_per_message is not None and one.messages_per_s is not None and one.line_gbps is not None
    # A message has six integer instructions, four of them in a chain: six cycles on one unit, four on four units. Each context has its own unit.
    assert one.cycles_per_message.value == pytest.approx(6, rel=0.05)
    wide = points["lookup/64/alpha21264-1999/superscalar-4/100MHz/base"].cycles_per_message
    assert wide is not None and wide.value == pytest.approx(4, rel=0.05)
    assert one.messages_per_s.value == pytest.approx(100e6 / one.cycles_per_message.value, rel=0.01)
    assert one.line_gbps.value == pytest.approx(one.messages_per_s.value * 8e-9 * 84)
    three = points["lookup/64/alpha21264-1999/smt-3/100MHz/base"]
    assert three.messages_per_s is not None and three.messages_per_s.value == pytest.approx(3 * one.messages_per_s.value, rel=0.1)
    assert [line.sustains for line in one.lines] == ["yes", "yes"]
    told = capsys.readouterr().out
    assert "modelled, general-purpose cores only, no accelerators; A64 trace" in told
    assert (tmp_path / "r" / "report.html").is_file()
    assert pq.read_table(tmp_path / "r" / "rounds" / "0000.parquet").num_rows == 10


def test_the_same_run_gives_the_same_cycles_in_parallel_and_from_the_cache(traced: dict[str, str], tmp_path: Path) -> None:
    assert run(tmp_path / "one", SMALL + "processes: 1\n") == 0
    assert run(tmp_path / "cached") == 0
    cached = outcomes.read(tmp_path / "cached" / "r")
    assert all(outcome["cached"] for outcome in cached.values())
    os.environ["XDG_CACHE_HOME"] = str(tmp_path / "other")  # undone together with the fixture's change
    assert run(tmp_path / "two", SMALL + "processes: 2\n") == 0
    one, two = (outcomes.read(tmp_path / name / "r") for name in ("one", "two"))
    assert not any(outcome["cached"] for outcome in two.values())
    for other in (two, cached):
        assert {name: o["result"] for name, o in one.items()} == {name: o["result"] for name, o in other.items()}


def test_a_trace_that_is_sampled_in_pieces_holds_what_the_whole_trace_says(traced: dict[str, str], tmp_path: Path) -> None:
    assert run(tmp_path / "exact") == 0
    assert run(tmp_path / "sampled", SMALL.replace("exact: true", "exact: false\nsample: {share: 50%, every: 31, measured: 15}")) == 0
    exact, sampled = ({p.id: p for p in summaries(tmp_path / name / "r")[0].points} for name in ("exact", "sampled"))
    for name, point in sampled.items():
        whole = exact[name].messages_per_s
        assert point.sampled and point.messages_per_s is not None and whole is not None
        assert point.messages_per_s.low <= whole.value <= point.messages_per_s.high
        assert point.messages_per_s.value == pytest.approx(whole.value, rel=0.1)
        assert point.instructions < exact[name].instructions


#: The number of kernels with random costs of messages, each with its own trace, and how many of their intervals at 95 % may miss the figure of
#: the whole trace. If intervals hold it as often as they claim, more than 8 of 60 miss it with a probability of 0.3 %. If they are half as wide
#: (70 % hold it), at most 8 miss it with a probability of 0.2 %. The limits were fixed before any simulation. Seeds are fixed, so the outcome never
#: changes.
SAMPLED_KERNELS = 60
MOST_MISSES = 8


def test_sampling_gives_intervals_that_hold_what_the_whole_trace_says(
    traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernels read at random in 1.5 times the size of the first cache. A message of 32 reads costs what its misses cost; all traces differ."""

    def trace_all(kernels: Sequence[Kernel], *_: Any, **__: Any) -> Iterator[tuple[Kernel, Trace]]:
        for kernel in kernels:
            number = int(dict(kernel.params)["prefixes"])
            place = tmp_path / f"reads-{number}"
            made = reads.write(48 << 10, place, seed=number) if not place.exists() else None
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            assert made is None or made.warm_up_messages + made.messages == 2096
            yield kernel, Trace(place, kernel, digest, 2096, 1, 64_000, 16_000)

    monkeypatch.setattr(execute, "trace_all", trace_all)
    kernels = ", ".join(f"{{name: k{i}, operator: lpm, messages: 2096, params: {{prefixes: {i}}}}}" for i in range(1, SAMPLED_KERNELS + 1))
    text = f"""
study: cores
target: model:alpha21264-1999
kernels: [{kernels}]
frame_sizes: [64B]
comparisons: false
sweeps: [{{name: one}}]
"""
    # Both runs count from message 62 on, when the caches have seen each line: one to the end of the trace, the other to the end of its first tenth.
    assert run(tmp_path / "exact", text + "exact: true\nwarm_up: 3%\n") == 0
    assert run(tmp_path / "sampled", text + "exact: false\nsample: {share: 10%}\nwarm_up: 30%\n") == 0
    exact, sampled = ({p.id: p for p in summaries(tmp_path / name / "r")[0].points} for name in ("exact", "sampled"))
    assert len(sampled) == SAMPLED_KERNELS
    misses, errors = 0, []
    for name, point in sampled.items():
        found, whole = point.messages_per_s, exact[name].messages_per_s
        assert point.sampled and found is not None and whole is not None and point.instructions < exact[name].instructions / 10
        misses += not found.low <= whole.value <= found.high
        errors.append((found.value - whole.value) / ((found.high - found.low) / 2))
    assert misses <= MOST_MISSES
    # The intervals must not be needlessly wide either. A standard error is 1 / 2.045 of half an interval (Student's t, 29 degrees of freedom).
    # Over 60 kernels the mean square of error over standard error is below 0.5 with a probability of less than 0.1 %.
    assert sum((2.045 * error) ** 2 for error in errors) / len(errors) > 0.5


def test_a_dry_run_says_what_would_be_simulated_and_makes_nothing(traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, dry_run=True) == 0
    told = capsys.readouterr().out
    assert "2 traces, 10 simulations (whole traces), 10 points" in told and not list(tmp_path.glob("r"))
    assert run(tmp_path, dry_run=True, as_json=True) == 0
    assert len(json.loads(capsys.readouterr().out)["configurations"]) == 10


# --------------------------------------------------------------------------- impossible processors


def refused(folder: Path, text: str, *, dry_run: bool) -> list[str]:
    """Return the lines with which a plan is refused; check that its run does not exist yet."""
    with pytest.raises(PlanError) as caught:
        run(folder, text, dry_run=dry_run)
    assert caught.value.exit_status == 2 and not (folder / "r").exists()
    return str(caught.value).splitlines()


def with_variant(settings: str) -> str:
    """Return :data:`SMALL` with a variant of these settings on line 11, which its second sweep uses."""
    text = SMALL.replace("sweeps:", f"variants: {{wrong: {{{settings}}}}}\nsweeps:")
    return text.replace("steps: [1, 4], clocks: [100MHz]}", "steps: [1, 4], clocks: [100MHz], variants: [base, wrong]}")


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("caches/l1d/wayz: 2", ".caches/l1d/wayz: caches/l1d/wayz: is not a field of a processor description; did you mean 'ways'?"),
        ("data_cache/ways: 0", ".data_cache/ways: caches/l1d/ways: must be a whole number from 1"),
        ("data_cache/ways: 3", ".data_cache/ways: caches/l1d/size_bytes: 32768 bytes cannot be divided into 3 ways"),
        ("caches/l2/next: l1d", ".caches/l2/next: caches/l1d/next: goes in a circle: 'l1d', 'l2', 'l1d': misses never reach memory"),
        ("dma: {line_rate_gbps: 1, deliver: l7}", ".dma: dma/deliver: is 'l7', and must be memory or the name of a cache"),
        ("units/integer/count: -1", ".units/integer/count: units/integer/count: must be a whole number"),
        ('window/loads: "5"', ".window/loads: window/loads: must be a whole number"),
        ("window/loads: .nan", ".window/loads: nan is out of range: numbers go up to"),
        ("queues: {}", ".queues: queues: must be an array"),
        ("organisation/policy: {a: 1}", ".organisation/policy: must be one value, not a section"),
        ("organisation/contexts: 4", ": alpha21264-1999: organisation/contexts: is set to 4, but the sweep sets it to 1"),
        ("clock: {mhz: 5}", ": alpha21264-1999: clock/mhz: is set to 5, but the sweep sets it to 100"),
    ],
)
def test_an_impossible_processor_is_refused_before_anything_is_traced(
    traced: dict[str, str], tmp_path: Path, settings: str, told: str, *, dry_run: bool
) -> None:
    (line,) = refused(tmp_path, with_variant(settings), dry_run=dry_run)
    assert line.startswith(f"p.yaml:11: variants.wrong{told}")


def test_a_sweep_that_makes_an_impossible_processor_is_at_fault_itself(traced: dict[str, str], tmp_path: Path) -> None:
    wide = with_variant("organisation/policy: strict").replace("steps: [1, 2, 3]", "steps: [1, 20]")
    assert refused(tmp_path, wide, dry_run=True) == [
        "p.yaml:13: sweeps.0.steps: organisation/contexts: must be a whole number from 1 to 16 (alpha21264-1999, smt 20 at 100 MHz)"
    ]
    (slow,) = refused(tmp_path, SMALL.replace("steps: [1, 4], clocks: [100MHz]", "steps: [1, 4], clocks: [30GHz]"), dry_run=True)
    assert slow.startswith("p.yaml:13: sweeps.1.clocks: clock/mhz: ") and slow.endswith("(alpha21264-1999, superscalar 1 at 30000 MHz, and 1 more)")
    varied = SMALL.replace("steps: [1, 2, 3],", "steps: [1], vary: {data_cache/ways: [1, 0]},")
    (zero,) = refused(tmp_path, varied, dry_run=True)
    assert zero.startswith("p.yaml:12: sweeps.0.vary.data_cache/ways: caches/l1d/ways: ")


def test_all_processors_are_checked_by_one_question(traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = simulator.check

    def check(configurations: Sequence[Any]) -> list[list[simulator.Fault]]:
        asked.append(len(configurations))
        return real(configurations)

    monkeypatch.setattr(simulator, "check", check)
    assert run(tmp_path, dry_run=True) == 0
    # The first question has five processors; each simulates a whole trace, which begins anew where there are several contexts. None is at fault, so
    # the second question has none.
    assert asked == [5, 0]


# --------------------------------------------------------------------------- interruption


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undo = after(3, monkeypatch)
    with pytest.raises(Interrupted, match=r"of 10 simulations are kept in .*; continue with `dpubench resume"):
        run(tmp_path, SMALL + "processes: 1\n")
    found = RunDirectory(tmp_path / "r")
    assert found.record()["status"] == "interrupted"
    assert not schemas.fault("run", found.record())
    before = outcomes.read(found.path)
    assert 3 <= len(before) < 10
    (halfway,) = summaries(found.path)
    assert sum(p.failure == "not simulated: the run ended before its turn" for p in halfway.points) == 10 - len(before)
    undo()
    assert session.resume(studies.find("cores"), found, studies.Request()) == 0
    record = found.record()
    assert record["status"] == "complete"
    assert sum(entry["outcomes"] for entry in record["rounds"]) == 10
    after_all = outcomes.read(found.path)
    assert {name: after_all[name] for name in before} == before  # no outcome is repeated, none is lost
    with pytest.raises(UserError, match="is complete: nothing is left to resume"):
        session.resume(studies.find("cores"), found, studies.Request())


def test_lines_of_a_round_that_was_cut_off_count(traced: dict[str, str], tmp_path: Path) -> None:
    path = write_run(tmp_path, SMALL, lambda _cell: 4.0, status="running")
    whole = pq.read_table(path / "rounds" / "0000.parquet").to_pylist()
    kept = [outcomes.kept(row["configuration"], json.loads(row["result"]), row["failure"], cached=row["cached"]) for row in whole[:4]]
    (path / "rounds" / "0000.parquet").unlink()
    (path / "rounds" / "0000.ndjson").write_text("".join(json.dumps(row) + "\n" for row in kept) + '{"event":"outcome","config')
    assert len(outcomes.read(path)) == 4
    assert session.resume(studies.find("cores"), RunDirectory(path), studies.Request()) == 0
    after_all = outcomes.read(path)
    assert len(after_all) == 10
    # The outcomes of the killed process are unchanged; the rest was simulated.
    assert [after_all[row["configuration"]]["result"]["cycles"] for row in kept] == [280] * 4


def test_a_run_that_another_version_would_make_otherwise_is_not_gone_on_with(traced: dict[str, str], tmp_path: Path) -> None:
    path = write_run(tmp_path, SMALL, lambda _cell: 4.0, status="interrupted")
    record = json.loads((path / "run.json").read_text())
    record["configurations"][0]["processor_digest"] = "0" * 64
    (path / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="makes other processors of the plan's models than the run began with: carry its plan out anew"):
        session.resume(studies.find("cores"), RunDirectory(path), studies.Request())


# --------------------------------------------------------------------------- failures


def test_a_kernel_that_cannot_be_traced_fails_and_leaves_the_other(traced: dict[str, str], tmp_path: Path) -> None:
    traced["md5"] = "md5, portable: has no trace: the program crashed"
    assert run(tmp_path) == 1
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record)
    assert record["failures"] == [{"phase": "trace", "message": traced["md5"], "group": "md5/64"}]
    (analysed,) = summaries(tmp_path / "r")
    failed = [p for p in analysed.points if p.failure]
    assert {p.kernel for p in failed} == {"md5"} and len(failed) == 5
    assert failed[0].failure == f"no trace of md5/64: {traced['md5']}"


def test_a_failed_run_can_be_gone_on_with(traced: dict[str, str], tmp_path: Path) -> None:
    traced |= {"md5": "crashed", "lpm": "crashed"}
    with pytest.raises(NothingRan, match="nothing could be simulated: crashed"):
        run(tmp_path)
    found = RunDirectory(tmp_path / "r")
    assert found.record()["status"] == "failed"
    traced.clear()
    assert session.resume(studies.find("cores"), found, studies.Request()) == 0
    assert found.record()["failures"] == []


def test_a_processor_that_the_simulator_refuses_is_a_failure_of_its_own(
    traced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_processors, "problems_of", lambda *_: [])  # the fault shows only in the simulation
    text = SMALL.replace("sweeps:", "variants: {broken: {first_caches/ways: 0}}\nsweeps:") + "  - {name: b, variants: [broken], kernels: [lookup]}\n"
    assert run(tmp_path, text) == 1
    (failure,) = RunDirectory(tmp_path / "r").record()["failures"]
    assert failure["phase"] == "simulate" and "ways" in failure["message"]
    assert failure["group"] == "lookup/any/alpha21264-1999/described-1/500MHz/broken"


def test_nothing_to_trace_is_said_before_a_run_is_made(traced: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(NothingRan, match="nothing that was asked for can be traced: librte_lpm"):
        run(tmp_path, "study: cores\ntarget: model:neoverse-n1\nkernels: [lpm/dpdk-lpm]\n")
    assert not (tmp_path / "r").exists()


def test_what_an_engine_never_does_is_refused_before_anything_is_traced(
    traced: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SMALL.replace("operator: lpm,", "operator: lpm, engine: patricia,")
    assert run(tmp_path, text, dry_run=True) == 1
    assert "trace lookup: lpm, patricia, 1000 messages: cannot run: one address at a time\n" in capsys.readouterr().out
    assert not (tmp_path / "r").exists()
    with pytest.raises(NothingRan, match="nothing that was asked for can be traced: one address at a time"):
        run(tmp_path, "study: cores\ntarget: model:neoverse-n1\nkernels: [lpm/patricia]\n", dry_run=True)
    assert run(tmp_path, text) == 1
    record = RunDirectory(tmp_path / "r").record()
    reason = "patricia was asked for and cannot be traced here: one address at a time"
    assert record["failures"] == [{"phase": "prepare", "message": reason, "group": "lookup"}]
    (analysed,) = summaries(tmp_path / "r")
    assert {p.kernel for p in analysed.points if not p.failure} == {"md5"}


def test_a_plan_whose_kernels_have_no_frame_in_common_says_so(traced: dict[str, str], tmp_path: Path) -> None:
    text = SMALL.replace("frames: [64B]", "frames: [64B, 128B]").replace("operator: lpm", "operator: tcp_segment, frames: [1518B, 4096B]")
    text = text.replace("sweeps:", "mixes: {both: [lookup, md5]}\nsweeps:").replace("{name: smt,", "{name: smt, kernels: [both],")
    text = text.replace("{name: superscalar,", "{name: superscalar, kernels: [both],")
    with pytest.raises(NothingRan, match="nothing that was asked for can be traced"):
        run(tmp_path, text)


# --------------------------------------------------------------------------- analysis


def test_every_scripted_point_follows_from_its_simulation(tmp_path: Path) -> None:
    run = run_of(tmp_path, LINES, lambda cell: {"any": 100.0, "64": 200.0, "594": 600.0, "1518": 1600.0}[cell.frame] * cell.cores**0.5)
    points = {p.id: p for p in run.points}
    clock = next(m.clock_mhz for m in run.models if m.name == "neoverse-n1")
    lookup = points[f"lookup/1518/neoverse-n1/described-1/{clock:g}MHz/base"]
    assert lookup.messages_per_s is not None and lookup.line_gbps is not None
    assert lookup.messages_per_s.value == pytest.approx(clock * 1e6 / 100)
    assert lookup.line_gbps.value == pytest.approx(clock * 1e6 / 100 * 8e-9 * 1538)
    imix = points[f"md5/imix/neoverse-n1/described-1/{clock:g}MHz/base"]
    mean = (7 * 200 + 4 * 600 + 1600) / 12
    assert imix.composed and imix.messages_per_s is not None and imix.cycles_per_message is not None and imix.line_gbps is not None
    assert imix.messages_per_s.value == pytest.approx(clock * 1e6 / mean) and imix.cycles_per_message.value == pytest.approx(mean)
    assert imix.line_gbps.value == pytest.approx(clock * 1e6 / mean * 8e-9 * (4342 / 12 + 20))
    # Two cores have 1.41 times the rate of one. The cores that a line of 100 Gb/s needs follow from that.
    small = points[f"lookup/64/neoverse-n1/described-1/{clock:g}MHz/base"]
    together = points[f"lookup/64/neoverse-n1/described-2/{clock:g}MHz/base"].line_gbps
    cores = small.lines[1].cores
    assert together is not None and cores is not None
    assert (cores.simulated, cores.value) == (2, -(-100 // (together.value / 2)) if together.value < 100 else 2)
    assert "A64 trace" in points[next(name for name in points if "xeon" in name)].labels
    assert run.labels == ["modelled, general-purpose cores only, no accelerators"]


def test_a_mix_says_what_each_kernel_has(tmp_path: Path) -> None:
    run = run_of(tmp_path, PAPER)
    point = next(p for p in run.points if p.kernel == "both" and p.step == 3)
    assert [(s.kernel, s.contexts, s.frame_bytes) for s in point.shares] == [("lookup", 2, 64.0), ("md5", 1, 1500.0)]
    assert point.line_gbps is not None
    assert point.line_gbps.value == pytest.approx(sum(s.messages_per_s.value * 8e-9 * s.frame_bytes for s in point.shares))


def test_points_can_be_queried(tmp_path: Path) -> None:
    path = write_run(tmp_path, LINES, lambda _cell: 100.0)
    rows = query([path], "SELECT kernel, max(line_gbps) AS most FROM points WHERE organisation = 'described' GROUP BY kernel ORDER BY kernel")
    assert [row["kernel"] for row in rows] == ["lookup", "md5"] and all(row["most"] > 0 for row in rows)
    (row,) = query([path], "SELECT label, study, points FROM runs")
    assert (row["study"], row["label"]) == ("cores", "modelled, general-purpose cores only, no accelerators")


def test_a_run_of_another_shape_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path, LINES, lambda _cell: 100.0)
    record = json.loads((path / "run.json").read_text())
    del record["models"]
    (path / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"does not follow dpubench.run/1 of study cores"):
        summaries(path)


def test_a_model_is_set_beside_what_was_published_of_its_processor(traced: dict[str, str], tmp_path: Path) -> None:
    text = "study: cores\ntarget: model:neoverse-n1\nkernels: [{operator: lpm, messages: 1000}]\nexact: true\n"
    assert run(tmp_path, text) == 0
    (analysed,) = summaries(tmp_path / "r")
    compared = {what: (value, ours, error) for what, value, _, ours, error in analysed.models[0].comparisons}
    # Generated reads are simulated. Kernels that the catalog lacks have no figure.
    value, ours, error = compared["reads at random in 128 KiB, beyond the first level"]
    assert value.endswith(" ns") and float(ours.removesuffix(" ns")) == pytest.approx(float(value.removesuffix(" ns")), rel=0.2)
    assert error.endswith(" %")
    assert compared["AES-128-CBC encryption"][1:] == ("", "")
    assert not list((tmp_path / "cache/dpubench/traces").glob(".reads-*"))
    record = RunDirectory(tmp_path / "r").record()
    assert not schemas.fault("run", record)
