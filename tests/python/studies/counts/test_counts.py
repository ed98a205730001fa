"""Tests of study ``counts``: the plugin's counts, runs of real engines under the real emulator, comparisons of counts."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from arm_kernels import assemble
from counts_fixtures import a_point, a_run
from dpubench import programs, schemas, studies
from dpubench.bundles import cache as bundle_cache
from dpubench.cli.compare import compare as compare_command
from dpubench.errors import Exit, NothingRan, UserError
from dpubench.plans.load import Where, parse_plan, plan_text, read_plan
from dpubench.report import frame
from dpubench.run import session
from dpubench.simulation import _capture, counts
from dpubench.storage.runs import RunDirectory
from dpubench.studies import Request
from dpubench.studies.counts import export, report, text
from dpubench.studies.counts.compare import compare
from dpubench.studies.counts.plan import Plan, words_from
from dpubench.studies.counts.summary import summaries
from dpubench.studies.query import query
from kernels_fixtures import DONE, TRACED, arm_bundle
from real_program import BUILD, FIXTURES

KERNELS = Path(__file__).resolve().parents[3] / "cores"
HERE = platform.machine()
only_x86_64 = pytest.mark.skipif(HERE != "x86_64", reason="programs of this machine are counted by its own emulator, and this test is of x86-64")

# --------------------------------------------------------------------------- the plugin


def plugin(emulator: str, program: Path, folder: Path) -> tuple[str, list[int]]:
    """Return the plugin's messages and its four numbers (none if it wrote no file)."""
    words = [emulator, "-plugin", f"{programs.count_plugin()},folder={folder}", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    file = folder / "count"
    return done.stderr, list(memoryview(file.read_bytes()).cast("Q")) if file.exists() else []


def assembled(folder: Path, case: int) -> Path:
    program, thing = folder / f"count{case}", folder / f"count{case}.o"
    subprocess.run(["as", "--defsym", f"CASE={case}", "-o", thing, KERNELS / "count_x86_64.S"], check=True, timeout=60)
    subprocess.run(["ld", "-static", "-o", program, thing], check=True, timeout=60)
    return program


@only_x86_64
@pytest.mark.parametrize(("case", "instructions", "messages"), [(0, 1 + 1000 * 4, 1000), (1, 10 * 9 + 2, 0)])
def test_instructions_between_the_marks_are_counted_exactly(tmp_path: Path, case: int, instructions: int, messages: int) -> None:
    said, (_, begun, counted, regions) = plugin("qemu-x86_64", assembled(tmp_path, case), tmp_path)
    assert (said, begun, counted, regions) == ("", messages, instructions, 1)


@only_x86_64
@pytest.mark.parametrize(
    ("case", "words"), [(2, "opened and never closed"), (3, "no region was opened"), (4, "a region is opened while one is open, at address 0x4")]
)
def test_regions_that_are_not_in_turn_are_an_error(tmp_path: Path, case: int, words: str) -> None:
    assert words in plugin("qemu-x86_64", assembled(tmp_path, case), tmp_path)[0]


def test_code_for_arm_is_counted_as_its_traces_count_it(tmp_path: Path) -> None:
    said, (_, messages, counted, _) = plugin("qemu-aarch64", assemble(tmp_path, "loop"), tmp_path)
    assert (said, messages, counted) == ("", 1000, 1 + 1000 * 6 + 1)


def test_only_the_thread_that_opens_the_region_is_counted(tmp_path: Path) -> None:
    said, (_, messages, counted, _) = plugin("qemu-aarch64", assemble(tmp_path, "threads"), tmp_path)
    assert (said, messages, counted) == ("", 1000, 2 + 4 * 1000)


def test_the_plugin_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    program = assemble(tmp_path, "loop")
    assert "cannot be created: No such file" in plugin("qemu-aarch64", program, tmp_path / "none")[0]
    words = ["qemu-aarch64", "-plugin", str(programs.count_plugin()), str(program)]
    assert "give the folder for the count as the only argument" in subprocess.run(words, capture_output=True, text=True, timeout=60).stderr


# --------------------------------------------------------------------------- real engines


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path | None], Path]:
    """Return a function that makes a build by name: this build's programs, with another module in place of sha256's portable engine."""

    def make(name: str, portable: Path | None = None) -> Path:
        lib = tmp_path / name / "lib"
        lib.mkdir(parents=True)
        for file in ("dpubench-operators", "libdpubench-core.so"):
            shutil.copy2(BUILD / file, lib / file)  # a link would lead the program to this build's engines
        shutil.copy("/lib64/ld-linux-x86-64.so.2", lib)
        shutil.copytree(BUILD / "engines", lib / "engines", ignore=lambda _, names: [n for n in names if not n.startswith(("sha256", "crc"))])
        if portable is not None:
            shutil.copy2(portable, lib / "engines/sha256__portable.so")
        (lib.parent / "manifest.json").write_text(name)
        return lib.parent

    current = {"folder": Path()}

    def use(name: str, portable: Path | None = None) -> Path:
        current["folder"] = make(name, portable)
        return current["folder"]

    monkeypatch.setattr(bundle_cache, "archive", lambda _architecture: Path("archive"))
    monkeypatch.setattr(bundle_cache, "unpacked", lambda _archive: current["folder"])
    # The planted engine reads its name from the environment, which is the same for both builds.
    monkeypatch.setitem(_capture.ENVIRONMENT, "DPUBENCH_FIXTURE_NAME", "portable")
    monkeypatch.setenv("DPUBENCH_FIXTURE_NAME", "portable")
    return use


def run_of(tmp_path: Path, name: str, **words: Any) -> tuple[int, Path]:
    plan, _ = parse_plan(json.dumps({"study": "counts", "operators": ["sha256"], "engines": ["portable"], "operations": 128} | words), "test")
    assert isinstance(plan, Plan)
    return session.start(studies.find("counts"), plan, Where("test", {}), Request(name, tmp_path / "results")), tmp_path / "results" / name


@only_x86_64
def test_the_same_build_gives_the_same_counts_and_three_per_cent_more_are_found(
    tmp_path: Path, build: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    build("one")
    both = {"engines": ["portable", "openssl"]}
    assert run_of(tmp_path, "a", **both)[0] == Exit.DONE and run_of(tmp_path, "b")[0] == Exit.DONE
    build("other", FIXTURES / "sha256__slowed.so")
    status, path = run_of(tmp_path, "c", **both)
    assert status == Exit.DONE
    (a,), (b,), (c,) = (summaries(tmp_path / "results" / name) for name in "abc")
    assert [p.counts for p in a.points if p.engine == "portable"] == [p.counts for p in b.points] and all(
        p.exact and p.operations == 128 for p in a.points
    )
    assert a.points[0].verified["known_answers"] > 0 and a.cpu == "max" and a.emulator.startswith("qemu-x86_64 version")
    assert [row.verdict for row in compare(a, b, 0.005)] == ["same", "not comparable"]
    [row, untouched] = compare(a, c, 0.005)
    assert untouched.verdict == "same" and untouched.ratio is not None and untouched.ratio.value == 1, "a change moves the counts of its engine alone"
    assert row.verdict == "more" and row.ratio is not None and 1.02 < row.ratio.value < 1.04
    assert [row.verdict for row in compare(c, a, 0.005)] == ["fewer", "same"] and [row.verdict for row in compare(a, c, 0.05)] == ["same"] * 2
    # The same comparison as a gate uses it, by exit status.
    import typer

    monkeypatch.setenv("DPUBENCH_RESULTS", str(tmp_path / "results"))
    compare_command("a", "b", fail_on="regression")
    with pytest.raises(typer.Exit) as ended:
        compare_command("a", "c", fail_on="regression")
    assert ended.value.exit_code == Exit.REGRESSION
    record = RunDirectory(path).record()
    assert schemas.fault("run", record) == "" and record["counting"]["architecture"] == "x86_64"
    assert (path / "report.html").exists() and not RunDirectory(path).open_rounds()


def test_a_count_that_differs_is_counted_again_to_tell_its_scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    what = counts.Programs(HERE, Path("lib"), "digest")

    def counted(*numbers: int, repeats: int = 2) -> counts.Counted:
        left = list(numbers)
        monkeypatch.setattr(counts, "_count", lambda *_: (left.pop(0), 4, {"traced": {"event": "traced", "left": len(left)}}))
        found = counts.counted(what, lambda _: b"", {}, repeats=repeats, limit_s=1, stop=None)
        assert not left and found.said["traced"]["left"] == len(numbers) - 1, "what the program said the first time is kept"
        return found

    # Counts like those of ECDSA, which draws a new nonce each time.
    assert counted(821884, 821906, 821906, 821972, 821906).instructions == (821884, 821906, 821906, 821972, 821906)
    assert counted(7, 7).instructions == (7, 7) and counted(7, 7, 7, repeats=3).instructions == (7, 7, 7)
    assert len(counted(7, 7, 8, 7, 7, repeats=3).instructions) == counts.UNREPEATABLE_COUNTS


@only_x86_64
def test_a_count_goes_on_where_it_was_interrupted(tmp_path: Path, build: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    build("one")
    run_of(tmp_path, "r", sizes=["64B"])
    path = tmp_path / "results" / "r"
    record = json.loads((path / "run.json").read_text())
    for file in (path / "rounds").iterdir():
        file.unlink()
    (path / "run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    study = studies.of_run(RunDirectory(path))
    assert session.resume(study, RunDirectory(path), Request(results=tmp_path / "results")) == Exit.DONE
    assert all(p.exact for p in summaries(path)[0].points)
    with pytest.raises(UserError, match="is complete"):
        session.resume(study, RunDirectory(path), Request(results=tmp_path / "results"))


def test_of_arm_code_cycles_are_modelled_beside_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    archive = arm_bundle(tmp_path / "bundle", events=(TRACED, DONE))
    words = {"target": [f"qemu:aarch64,bundle={archive}"], "operators": ["crc"], "operations": 128}
    status, path = run_of(tmp_path, "r", **words, model="neoverse-n1")
    [run] = summaries(path)
    [point] = run.points
    assert (
        status == Exit.DONE
        and run.model == "neoverse-n1"
        and schemas.fault("run", RunDirectory(path).record()) == ""
        and run.architecture == "aarch64"
        and run.cpu == "neoverse-n1"
    )
    assert point.exact and point.cycles is not None and point.cycles > 0
    shown = text.show([run])
    assert "modelled cycles/op" in shown and "modelled, general-purpose cores only" in shown
    assert [row.verdict for row in compare(run, run, 0.005)] == ["same", "same"]
    more = replace(run, points=[replace(point, cycles=int(point.cycles * 1.1) + 1)])
    assert [row.verdict for row in compare(run, more, 0.005)] == ["same", "more"]
    with pytest.raises(UserError, match="model neoverse-n1: cycles are modelled of code for 64-bit Arm"):
        run_of(tmp_path, "x", model="neoverse-n1", target=["qemu:x86_64"])


def test_without_emulator_or_plugin_nothing_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(NothingRan, match="install the package qemu-user") as fault:
        patch.setenv("PATH", str(tmp_path))
        counts.found(HERE, None, ())
    assert fault.value.exit_status == Exit.NOTHING_RAN
    with monkeypatch.context() as patch, pytest.raises(NothingRan, match="there is no counting plugin: run `make build`"):
        patch.setenv("DPUBENCH_PROGRAMS", str(tmp_path))
        counts.found(HERE, None, ())


# --------------------------------------------------------------------------- plans


def test_a_plan_of_operators_is_counted_with_every_engine_and_one_thread() -> None:
    base, _ = read_plan(studies.plan_path("operators", "quick"))
    words = words_from(base.words())
    plan = Plan.model_validate(words)
    assert plan.engines == "all" and [x.engine for x in plan.exclude] == ["dpdk-lpm"] and plan.as_operators().threads == [1]
    assert isinstance(parse_plan(plan_text(plan), "again")[0], Plan)


@pytest.mark.parametrize("name", studies.plan_names("counts"))
def test_built_in_plans_are_read(name: str) -> None:
    plan, _ = read_plan(studies.plan_path("counts", name))
    assert isinstance(plan, Plan) and plan.repeats >= 2 and plan.operations_of("rsa") <= plan.operations


def test_what_a_count_cannot_be_is_refused() -> None:
    for words, message in (
        ({"repeats": 1}, "counting twice"),
        ({"target": ["local", "qemu:aarch64"]}, "one architecture"),
        ({"threads": [2]}, "unknown key"),
    ):
        with pytest.raises(UserError, match=message):
            parse_plan(json.dumps({"study": "counts", **words}), "test")


# --------------------------------------------------------------------------- comparison


@pytest.mark.parametrize(("new", "verdict"), [(100_000, "same"), (100_500, "same"), (100_501, "more"), (99_600, "same"), (99_502, "fewer")])
def test_exact_counts_are_compared_exactly(new: int, verdict: str) -> None:
    [row] = compare(a_run("a", a_point("x", 100_000, 100_000)), a_run("b", a_point("x", new, new)), 0.005)
    assert row.verdict == verdict and row.p_value is None and row.ratio is not None and row.ratio.value == new / 100_000


def test_counts_that_scatter_are_judged_by_a_test_beyond_their_scatter() -> None:
    scattered = [100_000, 101_000, 99_000, 100_400, 99_700]
    one_more, much_more = ([int(n * f) for n in scattered] for f in (1.01, 1.3))
    old = a_run("a", a_point("x", *scattered))
    [row] = compare(old, a_run("b", a_point("x", *one_more)), 0.005)
    assert row.verdict in ("same", "undecided") and "differs by 2.0 % in 5 counts: only a change above 6 % counts" in row.reason
    [row] = compare(old, a_run("b", a_point("x", *much_more)), 0.005)
    assert row.verdict == "more" and row.ratio is not None and row.ratio.low > 1.2
    [row] = compare(old, a_run("b", a_point("x", 5)), 0.005)
    assert row.verdict == "undecided" and "counted once" in row.reason
    # Counts that hardly scatter (RSA with blinding) can still be judged at half a per cent.
    rsa = [24_766_592, 24_766_589, 24_766_598, 24_766_601, 24_766_601]
    [row] = compare(a_run("a", a_point("x", *rsa)), a_run("b", a_point("x", *(int(n * 1.006) for n in rsa))), 0.005)
    assert row.verdict == "more" and "only a change above 0.5 % counts" in row.reason


@pytest.mark.parametrize(
    ("point", "run", "reason"),
    [
        ({"input_sha256": "cd" * 32}, {}, "the input differs"),
        ({"operator_version": 2}, {}, "the operator's version differs"),
        ({"operations": 200}, {}, "100 operations were counted before, 200 now"),
        ({"counts": [], "failure": "it crashed"}, {}, "new: it crashed"),
        ({}, {"architecture": "aarch64"}, "the architecture differs: x86_64 before, aarch64 now"),
        ({}, {"emulator": "qemu-x86_64 version 8.1.0"}, "now: the code may depend on the processor"),
    ],
)
def test_what_did_other_work_is_not_compared(point: dict[str, Any], run: dict[str, Any], reason: str) -> None:
    base = a_point("x", 10, 10)
    [row] = compare(a_run("a", base), a_run("b", replace(base, **point), **run), 0.005)
    assert row.verdict == "not comparable" and reason in row.reason
    # A patch release emulates the same processor. The verdict names a library that changed.
    alike = a_run("b", replace(base, path={"isa": "avx2", "library": "OpenSSL 3.1"}), emulator="qemu-x86_64 version 7.2.9")
    assert [(r.verdict, r.reason) for r in compare(a_run("a", base), alike, 0.005)] == [("same", "library: OpenSSL 3.0 before, OpenSSL 3.1 now")]


# --------------------------------------------------------------------------- wording


def test_no_word_of_a_time_stands_beside_a_count(tmp_path: Path) -> None:
    run = a_run("a", a_point("x", 12_345, 12_345), a_point("y", 100, 130, 110), a_point("z", failure="it crashed"))
    page = frame.render([report.section([run])])
    shown = text.show([run])
    for told in (page.split("<main>")[1].split("</main>")[0], shown):
        assert "123.45" in told and "exact" in told and "differs by 26 % in 3 counts" in told and "it crashed" in told
        assert "the CPU lacks AVX-512F" in told
    assert "ops/s" not in shown and "ns" not in shown.replace("instructions", "").split()
    frame.write([report.section([run])], tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 1000


def test_exports_hold_the_counts_and_no_host(tmp_path: Path) -> None:
    run = a_run("a", a_point("x", 12_345, 12_345), a_point("z", failure="it crashed"))
    row = export.EXPORT.records([run])[0]
    assert row["instructions_per_op"] == 123.45 and row["exact"] is True and row["instructions_min"] == 12_345
    assert "instructions_per_op" in export.EXPORT.csv([run]) and "123.45" in export.EXPORT.latex([run])
    [copy] = export.EXPORT.anonymous([run])
    assert "secret-host" not in export.EXPORT.json([copy]) and "/home/alice" not in export.EXPORT.json([copy])
    export.EXPORT.write_parquet([run], tmp_path / "r.parquet")
    assert query([], "SELECT * FROM points") == []
