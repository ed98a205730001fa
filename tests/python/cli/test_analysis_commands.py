"""Tests of ``show``, ``compare``, ``export`` and ``query`` as a user calls them: their output against files in ``golden/``."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import scripted_trials
import typer
from dpubench.analysis.model import EMULATED
from dpubench.cli.compare import compare
from dpubench.cli.export import export
from dpubench.cli.query import query
from dpubench.cli.show import show
from dpubench.errors import Exit, UserError
from dpubench.studies.operators import text
from dpubench.studies.operators.summary import summaries
from report_fixtures import host_and_device
from simulated_runs import CLOCK, Noise, SimulatedPoint, SimulatedTarget, write_run, write_set
from typer.testing import CliRunner

QUIET = Noise(process=0.003, machine=0.004, drift=0.0005, window=0.01, stall_share=0.01)
POINTS = [
    SimulatedPoint("aes", "portable", 1e6, {"mode": "gcm", "size": "1024"}),
    SimulatedPoint("aes", "openssl", 4e6, {"mode": "gcm", "size": "1024"}),
    SimulatedPoint("lpm", "portable", 2e7),
    SimulatedPoint("lpm", "dpdk", 1e7, unavailable="libdpdk is missing"),
    *(
        SimulatedPoint("sha256", engine, rate, {"size": str(s)})
        for s in (64, 256, 1024, 4096)
        for engine, rate in (("portable", 3e5), ("openssl", 1e6))
    ),
]
WARNINGS = [{"code": "few-bursts", "message": "12 bursts", "point": POINTS[1].id}]
FAILURES = [{"phase": "verify", "message": "item 3 differs from the reference", "point": POINTS[4].id}]


@pytest.fixture(autouse=True)
def as_wide_as_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let output be as wide as into a pipe: pytest's own processes have a width set."""
    monkeypatch.delenv("COLUMNS", raising=False)


def on(factor: float, engines: tuple[str, ...] = ("portable", "openssl")) -> list[SimulatedPoint]:
    """Return the points as measured on a target with ``factor`` times the speed and only these engines."""
    return [replace(p, rate=p.rate * factor, unavailable=p.unavailable or ("" if p.engine in engines else "no such library here")) for p in POINTS]


SET = [
    SimulatedTarget("local", POINTS),
    SimulatedTarget("bf2", [*on(0.4, ("portable",)), SimulatedPoint("lpm", "neon", 4e6)], cpu="Small Core", lost="the connection was closed"),
    SimulatedTarget("local:cpus=0,quota=50%", on(0.5)[:4], label="restricted host, not a device"),
    SimulatedTarget("qemu:aarch64", [*on(0.01)[:3], replace(POINTS[4], failure="verify: item 3 differs")], label=EMULATED),
    SimulatedTarget("gone", [], lost="no route to host"),
]

app = typer.Typer()
for command in (show, compare, export, query):
    app.command(command.__name__)(command)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write runs and run sets; return their folder.

    ``old`` is a run. In ``new``, the latest, openssl's sha256 is slower. ``live`` has two builds; the new one is faster. ``set`` and ``later`` are
    runs of several targets. Beside the folder lies the run ``bf3``.
    """
    folder = tmp_path_factory.mktemp("results")
    changes = {"warnings": WARNINGS, "failures": FAILURES}
    write_run(folder / "old", POINTS, seed=1, noise=QUIET, changes=changes)
    slower = [
        SimulatedPoint(p.operator, p.engine, p.rate * (0.8 if p.engine == "openssl" and p.operator == "sha256" else 1), p.params) for p in POINTS
    ]
    write_run(folder / "new", [*slower[:3], SimulatedPoint("lpm", "fib", 3e7), *slower[4:]], seed=2, noise=QUIET)
    before = [replace(p, rate=p.rate / 1.05, build="against") for p in POINTS[:3]]
    write_run(folder / "live", POINTS[:3] + before, seed=3, noise=QUIET)
    (folder / "latest").symlink_to("new")
    write_set(folder / "set", SET, noise=QUIET)
    write_run(folder.parent / "bf3", [replace(POINTS[0], target="bf3")], changes={"target": "bf3"})
    write_set(folder / "later", [replace(SET[0], points=POINTS[:3]), SET[1]], seed=20, noise=QUIET)
    return folder


def call(results: Path, *arguments: str, status: int = 0) -> str:
    outcome = CliRunner().invoke(app, [*arguments, "--results", str(results)])
    if isinstance(outcome.exception, Exception):
        raise outcome.exception
    assert outcome.exit_code == status, outcome.output
    return outcome.stdout_bytes.decode()


def refused(results: Path, *arguments: str) -> str:
    with pytest.raises(UserError) as caught:
        call(results, *arguments)
    assert caught.value.exit_status is Exit.USAGE
    return str(caught.value)


def comparable(text: str, results: Path) -> str:
    """Return ``text`` without paths and with five digits of each float: the other digits depend on the processor's exp and log."""
    text = text.replace(str(results), "RESULTS").replace("\r\n", "\n")
    return re.sub(r"(?<![\w.])-?\d+\.\d{5,}(?:e[+-]?\d+)?", lambda m: f"{float(m.group()):.5g}", text)


# --------------------------------------------------------------------------- golden


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show.txt", ["show", "old"]),
        ("show.csv", ["show", "old", "--csv"]),
        ("show.json", ["show", "old", "--json", "--operator", "lpm"]),
        ("compare.txt", ["compare", "old", "new"]),
        ("compare.csv", ["compare", "old", "new", "--csv"]),
        ("compare.json", ["compare", "old", "new", "--json"]),
        ("compare-best.txt", ["compare", "old", "new", "--best-engine"]),
        ("compare-live.txt", ["compare", "live", "--min-effect", "2%"]),
        ("export.csv", ["export", "old", "--csv"]),
        ("export.json", ["export", "live", "--json"]),
        ("export.tex", ["export", "old", "--latex"]),
        ("export-anonymous.json", ["export", "live", "--json", "--anonymous"]),
        ("show-set.txt", ["show", "set"]),
        ("export-set.csv", ["export", "set", "--csv"]),
        ("export-set.tex", ["export", "set", "--latex"]),
        ("compare-targets.txt", ["compare", "set@local", "set@bf2"]),
        ("compare-targets-same.txt", ["compare", "set@local", "set@bf2", "--same-engine"]),
        ("compare-targets.csv", ["compare", "set", "--csv"]),
        ("compare-sets.txt", ["compare", "set", "later"]),
        ("query-set.txt", ["query", "SELECT run, target, label, status, points FROM runs ORDER BY ALL"]),
        ("query.txt", ["query", "SELECT run, operator, engine, rounds FROM points WHERE primary_unit = 'Mops/s' ORDER BY ALL"]),
    ],
)
def test_output(results: Path, golden: Callable[[str, str], None], name: str, arguments: list[str]) -> None:
    golden(name, comparable(call(results, *arguments), results))


# --------------------------------------------------------------------------- show


def test_show_is_of_the_latest_run_by_default(results: Path) -> None:
    assert call(results, "show") == call(results, "show", "new")


def test_show_has_columns_of_counters_where_something_counted(tmp_path: Path) -> None:
    points = [SimulatedPoint("lpm", "portable", 2e7, cycles=135, energy_nj=3200), SimulatedPoint("lpm", "dpdk", 1e7), *POINTS[3:4]]
    machine = {"cpus_online": 2, "cycle_counter": {"source": "hardware counter, user mode only"}, "clock_estimate": CLOCK}
    write_run(tmp_path / "counted", points, noise=QUIET, changes={"machine": machine})
    lines = call(tmp_path, "show", "counted").splitlines()
    header = next(line for line in lines if line.startswith("operator"))
    assert "of reference  cycles/op  nJ/op  over the next best" in header
    counted, estimated = (line for line in lines if line.startswith("lpm") and "Mops/s" in line)
    ends = [header.index(name) + len(name) for name in ("cycles/op", "nJ/op")]
    assert [counted[:end].split()[-1] for end in ends] == ["135.0", "3200"]
    assert estimated[header.index("cycles/op") : ends[1]].strip() == ""  # an estimate must not stand in a counter's column
    assert "cycles/op: core cycles of all threads, hardware counter, user mode only" in lines
    assert "nJ/op: package energy, including the package's idle power and other work on it" in lines
    assert "cycles/op" not in call(tmp_path, "show", str(write_run(tmp_path / "uncounted", POINTS[:2])))


def test_show_names_the_nearest_operator(results: Path) -> None:
    assert "did you mean 'lpm'" in refused(results, "show", "old", "--operator", "lpn")


# --------------------------------------------------------------------------- compare


def test_fail_on_regression(results: Path) -> None:
    call(results, "compare", "old", "new", "--fail-on", "regression", status=Exit.REGRESSION)
    call(results, "compare", "new", "old", "--fail-on", "regression")
    call(results, "compare", "old", "new", "--fail-on", "regression", "--min-effect", "50%")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "old", "new", "--min-effect", "3"], "--min-effect 3"),
        (["compare", "old", "new", "--min-effect", "300%"], "--min-effect 300%"),
        (["compare", "old", "new", "--fail-on", "change"], "--fail-on change: only 'regression' is known"),
        (["compare", "old", "new", "--json", "--csv"], "choose one"),
        (["compare", "old"], "this run has one build and one target"),
        (["compare", "live", "--best-engine"], "--best-engine needs two runs"),
        (["compare", "old", "nwe"], "did you mean 'new'"),
        (["compare", "set@local", "set@bf3"], "did you mean 'bf2'"),
        (["compare", "set@local", "old", "--best-engine", "--same-engine"], "choose one"),
        (["show", "set@gone"], "set@gone: nothing was measured there: `dpubench show set` says why"),
        (["compare", "old", "set@bf2", "--same-engine", "--best-engine"], "choose one"),
        (["compare", "set", "../bf3"], "no target in common"),
        (["export", "old"], "choose one of --csv"),
        (["export", "old", "--csv", "--json"], "choose one of --csv"),
        (["export", "old", "--parquet"], "--output FILE"),
        (["query", "SELECT nothing FROM points"], 'column "nothing" not found'),
        (["query", "SELEC 1"], "syntax error"),
        (["query", "DROP VIEW points"], "exactly one SELECT"),
        (["query", "COPY points TO 'stolen.csv'"], "exactly one SELECT"),
        (["query", "SELECT 1; SELECT 2"], "exactly one SELECT"),
        (["query", ""], "exactly one SELECT"),
        (["query", "SELECT * FROM read_text('/etc/hostname')"], "disabled"),
    ],
)
def test_mistakes_are_named(results: Path, arguments: list[str], message: str) -> None:
    assert message in refused(results, *arguments)


# --------------------------------------------------------------------------- figures of several studies


@pytest.fixture(scope="module")
def trials(results: Path) -> str:
    """Write a run of study end-to-end beside the folder of runs; return its name there."""
    scripted_trials.run_directory(results.parent / "trials", [[scripted_trials.trial(1e6, round_=i)] for i in range(6)])
    return "../trials"


def test_figures_of_runs_of_several_studies_are_one_table(results: Path, trials: str) -> None:
    rows = list(csv.DictReader(io.StringIO(call(results, "export", "old", trials, "set", "--figures", "--csv"))))
    told = json.loads(call(results, "export", "old", trials, "set", "--figures", "--json"))["figures"]
    assert [(r["study"], r["run"], r["point"], r["quantity"]) for r in rows] == [(f["study"], f["run"], f["point"], f["quantity"]) for f in told]
    assert list(dict.fromkeys((r["study"], r["run"]) for r in rows))[:3] == [
        ("operators", "old"),
        ("end-to-end", "made-up"),
        ("operators", "set@local"),
    ]
    one = list(csv.DictReader(io.StringIO(call(results, "export", "old", "--csv"))))
    rates = [r for r in rows if r["run"] == "old" and r["quantity"] == "ops_per_s"]
    assert [(r["point"], r["value"]) for r in rates] == [(r["id"], "" if r["failure"] else r["ops_per_s"]) for r in one]
    assert {r["origin"] for r in rows if r["run"] == "set@qemu:aarch64"} == {"emulated"}
    assert not any(r["value"] for r in rows if r["origin"] == "emulated" and r["unit"] in ("ns", "operations/s", "Gb/s", "Mops/s", "kops/s"))


def test_anonymous_figures_give_each_target_one_name(results: Path, trials: str) -> None:
    text = call(results, "export", "set", trials, "later", "--figures", "--csv", "--anonymous")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {r["target"] for r in rows} == {"local", "target-1", "target-2", "target-3"} and "bf2" not in text
    assert {r["target"] for r in rows if r["run"].startswith("later@")} == {"local", "target-1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "old", "new", "--csv"], "2 runs: name one run, or export the figures of all with --figures"),
        (["export", "old", "--figures", "--latex"], "--figures: choose --csv or --json"),
        (["export", "old", "--figures"], "choose one of --csv"),
    ],
)
def test_mistakes_of_figures_are_named(results: Path, arguments: list[str], message: str) -> None:
    assert message in refused(results, *arguments)


# --------------------------------------------------------------------------- runs of several studies


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the folders ``before`` and ``after``, with runs of studies operators and end-to-end; return their folder.

    In both, run ``ops`` has the same name and ``trials-*`` is the only one of its study. Run ``more`` is in ``before`` alone. In ``after`` openssl's
    sha256 is slower.
    """
    folder = tmp_path_factory.mktemp("sides")
    slower = [replace(p, rate=p.rate * (0.7 if p.operator == "sha256" and p.engine == "openssl" else 1)) for p in POINTS]
    for name, points, seed in (("before", POINTS, 1), ("after", slower, 2)):
        write_run(folder / name / "ops", points, seed=seed, noise=QUIET)
        trials = [[scripted_trials.trial(1e6, round_=i)] for i in range(6)]
        scripted_trials.run_directory(folder / name / f"trials-{name}", trials)
    write_run(folder / "before" / "more", POINTS[:2], seed=3, noise=QUIET)
    return folder


def compared(sides: Path, *arguments: str, status: int = 0) -> str:
    return call(sides, "compare", str(sides / "before"), str(sides / "after"), *arguments, status=status)


def test_runs_of_several_studies_are_compared_study_by_study(sides: Path) -> None:
    told = json.loads(compared(sides, "--json"))
    assert told["schema"] == "dpubench.comparison-set/1" and told["min_effects"] == {"operators": 0.03, "end-to-end": 0.03}
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in told["rows"]:
        rows.setdefault((row["study"], row["old_run"], row["new_run"]), []).append(row)
    assert list(rows) == [("operators", "ops", "ops"), ("operators", "more", ""), ("end-to-end", "trials-before", "trials-after")]
    assert len(rows["operators", "ops", "ops"]) >= len(POINTS) - 2 and "slower" in {r["verdict"] for r in rows["operators", "ops", "ops"]}
    [alone] = rows["operators", "more", ""]
    assert (alone["configuration"], alone["verdict"]) == ("every configuration", "not comparable")
    assert alone["reason"] == f"{sides / 'after'} has other runs of study operators (ops): name two runs to compare them"
    assert {m["study"] for m in told["machine"]} == {"operators"}
    table = list(csv.DictReader(io.StringIO(compared(sides, "--csv"))))
    assert [(r["study"], r["configuration"], r["verdict"]) for r in table] == [(r["study"], r["configuration"], r["verdict"]) for r in told["rows"]]
    alone_again = json.loads(call(sides, "compare", str(sides / "before/ops"), str(sides / "after/ops"), "--json"))
    assert [r | {"study": "operators", "old_run": "ops", "new_run": "ops"} for r in alone_again["rows"]] == rows["operators", "ops", "ops"]


def test_each_comparison_of_several_is_titled_and_a_regression_of_one_fails(sides: Path) -> None:
    text = compared(sides)
    titles = [line for line in text.splitlines() if line.startswith("study ")]
    against = "after/trials-after against before/trials-before"
    assert titles == ["study operators: after/ops against before/ops", "study operators: before/more", f"study end-to-end: {against}"]
    assert "not comparable  every configuration" in text and "name two runs to compare them" in text
    compared(sides, "--fail-on", "regression", status=3)
    assert "--best-engine: study end-to-end compares points with the same engines" in compared(sides, "--best-engine")


def test_runs_without_a_partner_are_refused_with_every_reason(sides: Path) -> None:
    told = refused(sides, "compare", str(sides / "before/ops"), str(sides / "after/trials-after"))
    assert f"{sides / 'after/trials-after'} has no run of study operators" in told
    assert f"{sides / 'before/ops'} has no run of study end-to-end: only runs of one study can be compared" in told
    # A directory of runs alone: none of them has two builds or targets.
    assert "measure with `dpubench run --against BUILD`" in refused(sides, "compare", str(sides / "before"), "--fail-on", "regression")


def test_a_directory_of_runs_stands_for_all_of_them(sides: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(call(sides, "export", str(sides / "before"), "--figures", "--csv"))))
    assert {(r["study"], r["run"]) for r in rows} == {("operators", "ops"), ("operators", "more"), ("end-to-end", "made-up")}
    assert "name one run" in refused(sides, "export", str(sides / "before"), "--csv")


# --------------------------------------------------------------------------- export


def test_formats_agree(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "points.parquet"
    assert call(results, "export", "old", "--parquet", "-o", str(file)) == ""
    rows = pq.read_table(file).to_pylist()
    lines = list(csv.DictReader(io.StringIO(call(results, "export", "old", "--csv"))))
    points = json.loads(call(results, "export", "old", "--json"))["run"]["points"]
    assert len(rows) == len(lines) == len(points) == len(POINTS)
    for row, line, point in zip(rows, lines, points, strict=True):
        assert row["id"] == line["id"] == point["id"]
        if row["ops_per_s"] is None:
            assert line["ops_per_s"] == "" and point["ops_per_s"] is None
        else:
            assert row["ops_per_s"] == float(line["ops_per_s"]) == point["ops_per_s"]["value"]
            assert row["ops_per_s_low"] <= row["ops_per_s"] <= row["ops_per_s_high"]


def test_output_goes_to_the_file(results: Path, tmp_path: Path) -> None:
    call(results, "export", "old", "--csv", "-o", str(tmp_path / "a.csv"))
    assert (tmp_path / "a.csv").read_bytes().decode() == call(results, "export", "old", "--csv")


def test_latex_is_escaped(results: Path) -> None:
    text = call(results, "export", "old", "--latex")
    body = [line for line in text.splitlines() if line.startswith(("aes", "lpm", "sha256"))]
    assert len(body) == len(POINTS)
    assert all(re.search(r"(?<!\\)[_%#$]", line) is None for line in body)


IDENTIFYING: dict[str, Any] = {
    "machine": {"host": "lab-7", "cpu": "Simulated CPU 3000", "cpus_online": 2, "serial": "SN123456", "user": "alice", "product_uuid": "4c4c"},
    "command": "dpubench run quick --results /home/alice/results --target bob@10.1.2.3",
    "warnings": [{"code": "restarted", "message": "the worker on lab-7 (/opt/x/bin) ended; mac 00:11:22:aa:bb:cc"}],
    "failures": [{"phase": "inputs", "message": "~/secret/rules.txt: not there, asked alice@lab-7.example.org"}],
    "left_out": ["what alice left out"],
}


@pytest.mark.parametrize("form", ["--json", "--csv", "--latex"])
def test_anonymous_exports_name_nobody(tmp_path: Path, form: str) -> None:
    write_run(tmp_path / "run-of-alice-on-lab-7", POINTS, rounds=2, changes=IDENTIFYING)
    text = call(tmp_path, "export", "run-of-alice-on-lab-7", form, "--anonymous")
    for secret in ("alice", "lab-7", "SN123456", "10.1.2.3", "bob", "secret", "/home", "/opt", "00:11:22", "4c4c", str(tmp_path)):
        assert secret not in text
    assert "aes" in text and "openssl" in text
    if form == "--json":
        run = json.loads(text)["run"]
        assert run["machine"] == {"cpu": "Simulated CPU 3000", "cpus_online": 2}
        named = json.loads(call(tmp_path, "export", "run-of-alice-on-lab-7", form))["run"]
        assert [p["ops_per_s"] for p in run["points"]] == [p["ops_per_s"] for p in named["points"]]
        assert [p["id"] for p in run["points"]] == [p["id"] for p in named["points"]]


def test_an_anonymous_set_names_no_target_and_keeps_the_labels(tmp_path: Path) -> None:
    members = [
        SimulatedTarget("local", POINTS[:3]),
        SimulatedTarget("ssh://bob@lab-7", on(0.4)[:3]),
        SimulatedTarget("bf2", on(0.5)[:3], lost="bf2 closed the connection"),
        SimulatedTarget("local:cpus=0", on(0.5)[:3], label="restricted host, not a device"),
    ]
    write_set(tmp_path / "s", members, rounds=2)
    for form in ("--json", "--csv", "--latex"):
        text = call(tmp_path, "export", "s", form, "--anonymous")
        assert not [word for word in ("bob", "lab-7", "bf2", "ssh:", str(tmp_path)) if word in text], form
        assert "restricted host, not a device" in text
    runs = json.loads(call(tmp_path, "export", "s", "--json", "--anonymous"))["runs"]
    assert [r["name"] for r in runs] == ["s@local", "s@target-1", "s@target-2", "s@target-3"]
    assert runs[1]["points"][0]["id"] == "aes/mode=gcm,size=1024/t1/b32/stream/portable@target-1"
    assert runs[2]["lost"] == "target-2 closed the connection" and all(r["spec"] == "" for r in runs)


def test_an_anonymous_parquet_names_nobody_either(tmp_path: Path) -> None:
    write_run(tmp_path / "run", POINTS, rounds=2, changes=IDENTIFYING)
    call(tmp_path, "export", "run", "--parquet", "--anonymous", "-o", str(tmp_path / "x.parquet"))
    table = pq.read_table(tmp_path / "x.parquet")
    told = str(table.schema.metadata) + str(table.to_pylist())
    assert "alice" not in told and "lab-7" not in told and str(tmp_path) not in told


# --------------------------------------------------------------------------- query


def test_views_agree_with_each_other(results: Path) -> None:
    by_point = "SELECT w.run, w.point, count(*) AS n, any_value(p.windows) AS told FROM windows w JOIN points p ON w.run = p.run AND w.point = p.id"
    rows = json.loads(call(results, "query", by_point + " GROUP BY ALL", "--json"))
    assert len(rows) == 11 + 12 + 6 + (11 + 7 + 3) + (3 + 7)
    assert not [row for row in rows if "qemu" in row["run"]]  # its times mean nothing
    assert [row["point"] for row in rows if row["n"] != row["told"]] == [POINTS[4].id]  # its figures were withdrawn
    assert call(results, "query", "SELECT count(*) AS runs FROM runs", "--csv") == "runs\r\n9\r\n"


def test_one_run_can_be_asked(results: Path) -> None:
    assert json.loads(call(results, "query", "SELECT DISTINCT run FROM points", "--json", "--run", "latest")) == [{"run": "new"}]


def test_targets_of_a_set_can_be_asked_together_or_alone(results: Path) -> None:
    sql = "SELECT run, target, label, count(ops_per_s) AS n FROM points GROUP BY ALL ORDER BY ALL"
    rows = json.loads(call(results, "query", sql, "--json", "--run", "set"))
    assert [(r["run"], r["n"]) for r in rows] == [("set@bf2", 7), ("set@local", 11), ("set@local:cpus=0,quota=50%", 3), ("set@qemu:aarch64", 0)]
    assert rows[3]["label"] == EMULATED
    alone = json.loads(call(results, "query", sql, "--json", "--run", "set@bf2"))
    assert [(r["target"], r["n"]) for r in alone] == [("bf2", 7)]


def test_formats_of_a_set_agree(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "points.parquet"
    call(results, "export", "set", "--parquet", "-o", str(file))
    rows = pq.read_table(file).to_pylist()
    lines = list(csv.DictReader(io.StringIO(call(results, "export", "set", "--csv"))))
    runs = json.loads(call(results, "export", "set", "--json"))["runs"]
    points = [(p["id"], p["target"], run["label"]) for run in runs for p in run["points"]]
    assert [(r["id"], r["target"], r["label"]) for r in rows] == points == [(r["id"], r["target"], r["label"]) for r in lines]
    emulated = [r for r in rows if r["label"] == EMULATED]
    assert len(emulated) == 4 and not any(value for r in emulated for name, value in r.items() if re.search("per_|gbps|primary|ratio|build_ns", name))
    assert emulated[0]["known_answers"] == 4 and emulated[0]["compared"] == 256


# --------------------------------------------------------------------------- the summary of a run of several targets


def test_the_summary_of_a_set(results: Path, golden: Callable[[str, str], None]) -> None:
    golden("targets.txt", "\n".join(text.targets(summaries(results / "set"))) + "\n")


@pytest.mark.parametrize("room", [8, 12, 20])
def test_the_summary_of_a_set_keeps_to_its_room(room: int) -> None:
    runs = host_and_device((64, 1024), (1, 2))
    lines = text.targets(runs, room, 120)
    assert len(lines) == min(room, 3 + 1 + 16) and lines[0].startswith("operators-quick-20261121T090000Z: 2 targets; ratios to local")
    shown = sum(line.split()[0] in runs[0].operators for line in lines)
    more = re.match(r"\.\.\. and (\d+) operators more", lines[-1])
    assert shown + (int(more[1]) if more else 0) == 16
    wide = text.targets(runs, 12, 300)
    assert len(wide) == 12 and set(runs[0].operators) <= {word for line in wide[4:] for word in line.split()}


def test_no_rows_is_an_answer(results: Path) -> None:
    assert call(results, "query", "SELECT * FROM points WHERE false") == "no rows\n"
