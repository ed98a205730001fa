"""Tests of what commands print: golden output of list, describe and run --json, help within half a second, doctor."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Bench
from dpubench import studies
from dpubench.machine import counters, examine, virtualisation
from dpubench.run.console import failure_lines

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("what", ["operators", "engines", "studies", "plans", "targets"])
def test_list(bench: Bench, golden: Golden, what: str) -> None:
    done = bench("list", what)
    assert done.returncode == 0, done.stderr
    if what in ("operators", "engines"):  # a new study, plan or target must not change a test
        golden(f"list-{what}.txt", "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n")
    assert isinstance(json.loads(bench("list", what, "--json").stdout), list)


def test_describe(bench: Bench, golden: Golden) -> None:
    golden("describe-aes.txt", bench("describe", "aes").stdout)
    assert json.loads(bench("describe", "aes", "--json").stdout)["name"] == "aes"
    wrong = bench("describe", "ase")
    assert wrong.returncode == 2 and "did you mean 'aes'?" in wrong.stderr


def test_run_json_streams_events(bench: Bench, golden: Golden) -> None:
    done = bench("run", "--json", "--name", "r", "--operator", "crc", "--rounds", "1", "--engine", "isal")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [e["event"] for e in events]
    # The number of cycles depends on the time left: repeated windows count as one.
    golden("run-json-events.txt", "\n".join(k for i, k in enumerate(kinds) if i == 0 or k != kinds[i - 1]) + "\n")
    assert events[-1]["status"] == 0 and events[-1]["run"].endswith("/r")


def test_the_summary_has_at_most_20_lines(bench: Bench) -> None:
    done = bench("run", "--name", "r", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 20
    assert any(line.startswith("report: ") for line in lines) and lines[-2] == "next: dpubench show r"
    assert lines[-1] == f"explained in: {ROOT}/docs/operators-study.md"
    assert (bench.results / "latest" / "report.html").exists()


def test_the_summary_names_mode_size_threads_and_footprint_of_every_headline(bench: Bench) -> None:
    done = bench("run", "--operator", "aes", "--size", "64B", "--rounds", "1", "--footprint", "both")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "1 thread, stream footprint" in said and re.search(r"aes gcm 64 B \w+ [\d.]+ Gb/s", said), said


@pytest.mark.parametrize("study", studies.names())
def test_every_study_has_its_page(study: str) -> None:
    page = ROOT / "docs" / studies.find(study).documentation()
    assert page.is_file() and study in page.read_text().partition("\n## ")[0], page


def test_doctor_fits_80_columns(bench: Bench) -> None:
    bench.environment["COLUMNS"] = "80"
    done = bench("doctor")
    assert done.returncode == 0, done.stderr
    # Paths stay whole, because users copy them.
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in done.stdout.splitlines()), done.stdout


def test_the_reason_of_a_failure_is_wrapped_and_not_cut(bench: Bench) -> None:
    bench.script(faults=[{"point": "openssl", "phase": "verify", "kind": "exit3"}])
    bench.environment["COLUMNS"] = "60"
    done = bench("run", "--name", "r", "--rounds", "1", "--engine", "all")
    assert done.returncode == 1, done.stderr
    assert len(done.stdout.splitlines()) <= 20
    failures = bench.record("r")["failures"]
    assert len(failures) == 2
    for failure in failures:
        text = f"failed: {failure['point']}: {failure['message']}"
        assert len(text) > 60 and text in " ".join(done.stdout.split())


def test_reasons_that_do_not_fit_say_where_they_are() -> None:
    failures = [{"point": "p", "message": "word " * 500}, {"message": "short"}]
    lines = failure_lines(failures, 5, Path("elsewhere/r"))
    assert len(lines) == 5 and lines[0].startswith("failed: p: word") and lines[-1].endswith("dpubench show elsewhere/r")
    assert failure_lines(failures[1:], 5, Path("r")) == ["failed: the run: short"]


def test_plan_yaml_of_a_run_repeats_it(bench: Bench) -> None:
    assert bench("run", "--name", "a", "--rounds", "1", "--operator", "aes", "--size", "64B,1KiB").returncode == 0
    assert bench("run", "results/a/plan.yaml", "--name", "b").returncode == 0
    assert [c["id"] for c in bench.record("a")["configurations"]] == [c["id"] for c in bench.record("b")["configurations"]]
    assert (bench.results / "a" / "plan.yaml").read_text() == (bench.results / "b" / "plan.yaml").read_text()


def test_dry_run_starts_nothing(bench: Bench) -> None:
    done = bench("run", "--dry-run", "--threads", "1,2", "--size", "64B,256B")
    assert done.returncode == 0
    assert re.search(r"\d+ points, about .* \(budget 3 min 00 s\), \d+KiB on disk", done.stdout)
    assert "aes/mode=gcm,size=256/t2/b32/stream: portable, openssl, ipsec-mb" in done.stdout
    assert not bench.results.exists()


def test_help_is_quick_and_imports_nothing_heavy(bench: Bench) -> None:
    code = "import sys; from dpubench.__main__ import status; status(['--help']); print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], env=bench.environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"scipy", "numpy", "pyarrow", "duckdb", "plotly", "pandas", "jinja2", "yaml", "jsonschema"}


def test_unknown_commands_get_the_nearest(bench: Bench) -> None:
    done = bench("decribe")
    assert done.returncode == 2 and "did you mean 'describe'?" in done.stderr


def test_a_closed_pipe_is_no_fault(bench: Bench) -> None:
    done = subprocess.run(
        f'"{sys.executable}" -m dpubench describe aes | head -1',
        shell=True,
        cwd=bench.folder,
        env=bench.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_doctor(bench: Bench) -> None:
    done = bench("doctor", "--json")
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)
    assert {"CPU governor", "turbo", "SMT", "steal time", "load", "huge pages", "cycles", "energy", "clock source", "results", "engines"} <= {
        f["what"] for f in findings
    }
    assert all(f["harm"] and f["remedy"] for f in findings if f["verdict"] == "harm")
    assert any("no device of this kind" in f["harm"] for f in findings)


@pytest.mark.parametrize(
    ("machine", "cycles", "energy"),
    [
        (
            {"cycle_counter": {"source": "hardware counter"}, "energy": {"domains": ["RAPL package-0", "RAPL package-1"]}},
            ("good", "hardware counter", "", ""),
            ("good", "RAPL package-0, RAPL package-1", "", ""),
        ),
        (
            {"cycle_counter": {"source": "counter of the virtual machine"}, "energy": {"domains": ["RAPL package-0"]}},
            (
                "note",
                "counter of the virtual machine",
                "it counts only what the hypervisor allows, and an emulator invents the count",
                "measure on the bare machine",
            ),
            ("good", "RAPL package-0", "", ""),
        ),
        (
            {"cycle_counter": {"source": "hardware counter, user mode only"}, "energy": {"unavailable": "none here", "remedy": "chmod"}},
            ("note", "hardware counter, user mode only", "cycles in the kernel are not counted", "sysctl kernel.perf_event_paranoid=1"),
            ("note", "none here", "energy per operation will be absent", "chmod"),
        ),
        (
            {
                "cycle_counter": {"unavailable": "perf_event_paranoid = 3 forbids it", "remedy": "sysctl kernel.perf_event_paranoid=1"},
                "clock_estimate": {"multiply_cycles": 3.0, "processor": "Zen 5", "source": "AMD 58455"},
            },
            (
                "note",
                "perf_event_paranoid = 3 forbids it",
                "cycles are estimated from a multiply chain (3 cycles per step on Zen 5: AMD 58455)",
                "sysctl kernel.perf_event_paranoid=1",
            ),
            ("note", "the program does not say", "energy per operation will be absent", "make build"),
        ),
        (
            {"cycle_counter": {"unavailable": "none", "remedy": ""}, "clock_estimate": {"unavailable": "family 15 is not in the list"}},
            ("note", "none", "there are no cycles: family 15 is not in the list", ""),
            ("note", "the program does not say", "energy per operation will be absent", "make build"),
        ),
    ],
)
def test_doctor_has_the_words_of_the_machine_description(machine: dict[str, Any], cycles: tuple[str, ...], energy: tuple[str, ...]) -> None:
    found = {f.what: (f.verdict, f.found, f.harm, f.remedy) for f in counters(machine)}
    assert found == {"cycles": cycles, "energy": energy}


def test_doctor_knows_virtual_machines_from_the_program(tmp_path: Path) -> None:
    """The program knows the signs of each architecture."""
    (bare,) = virtualisation({"virtual_machine": False}, tmp_path)
    (virtual,) = virtualisation({"virtual_machine": True}, tmp_path)
    assert (bare.verdict, virtual.verdict, virtual.found) == ("good", "harm", "a virtual machine (unknown)")


def test_doctor_sees_a_machine_that_harms(tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in bench.environment.items():
        monkeypatch.setenv(key, value)
    files = {
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave", "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
        "sys/devices/system/cpu/smt/active": "1", "proc/loadavg": "99.0 1 1 1/1 1", "proc/stat": "cpu 10 0 10 50 0 0 0 30 0 0",
        "proc/cpuinfo": "flags : fpu hypervisor", "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text + "\n")
    found = {f.what: f.verdict for f in examine(tmp_path, tmp_path / "root")}
    harmful = {"CPU governor", "turbo", "steal time", "load", "clock source"}
    assert {what for what, verdict in found.items() if verdict == "harm"} == harmful
