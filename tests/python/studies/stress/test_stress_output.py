"""Tests of what stress-ng prints: YAML and logs of several versions, lists, reasons; and of texts that are nothing of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from dpubench.studies.stress import stressng
from dpubench.studies.stress.stressng import NotStressNg, Result

#: As version 0.12.01 writes it: an unquoted date of numbers with colons, a version that YAML takes for a comment, and entries of stressors that did
#: nothing.
OLD = """---
system-info:
      stress-ng-version: 0.12.01
      run-by: unknown
      date-yyyy-mm-dd: 2021:02:04
      time-hh-mm-ss: 11:49:03
      hostname: localhost.localdomain
      release: 5.4.0-1007-bluefield
      version: #10-Ubuntu SMP PREEMPT Fri Nov 27 14:48:47 UTC 2020
      machine: aarch64
      totalram: 16737873920
      pagesize: 4096
      cpus: 8
      cpus-online: 8

metrics:
    - stressor: af-alg
      bogo-ops: 743624
      bogo-ops-per-second-usr-sys-time: 10830.527236
      bogo-ops-per-second-real-time: 12371.978568
      wall-clock-time: 60.105503
      user-time: 4.540000
      system-time: 64.120000

    - stressor: aio
      bogo-ops: 0
      bogo-ops-per-second-usr-sys-time: 0.000000
      bogo-ops-per-second-real-time: 0.000000
      wall-clock-time: 0.000175
      user-time: 0.000000
      system-time: 0.000000

...
"""
LOG = """stress-ng: debug: [4532] stress-ng 0.13.05
stress-ng: debug: [4532] 8 processors online, 8 processors configured
stress-ng: info:  [4532] dispatching hogs: 8 access, 8 aio
stress-ng: info:  [4532] stressor       bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s
stress-ng: info:  [4532]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: info:  [4532] access            949857     60.00     11.34    467.69     15830.90      1982.88
stress-ng: info:  [4532] cpu_online             0      0.00      0.00      0.00         0.00         0.00
stress-ng: info:  [4532] for a 120.03s run time:
"""
NEW_LOG = "stress-ng: 11:49:03.12 metrc: [15295] cpu    2319      1.00      1.12      0.00      2315.33     2073.55        55.83          6552\n"


def test_yaml_of_an_old_version_is_read() -> None:
    output = stressng.parse_yaml(OLD)
    assert (output.version, output.host, output.started, output.duration_s) == ("0.12.01", "localhost.localdomain", "2021-02-04T11:49:03Z", 60)
    assert output.machine == {
        "architecture": "aarch64", "kernel": "5.4.0-1007-bluefield", "cpus_online": 8, "memory_bytes": 16737873920, "page_bytes": 4096,
    }  # fmt: skip
    result = output.results["af-alg"]
    assert result.per_s == pytest.approx(12371.978568) and result.cpu_us(8) == pytest.approx(1e6 / 10830.527236)
    assert result.worked(60) and not output.results["aio"].worked(60)
    assert output.results["aio"].why_not(60) == "it did no operation"


def test_a_stressor_that_is_listed_twice_has_its_entry_with_operations() -> None:
    zero, busy = ("cpu", Result(0, 0.0002, 0.0)), ("cpu", Result(100, 10.0, 20.0))
    for entries in ([zero, busy], [busy, zero]):
        assert stressng.merged(entries) == {"cpu": Result(100, 10.0, 20.0)}
    both = stressng.merged([busy, ("cpu", Result(50, 5.0, 10.0))])["cpu"]
    assert (both.per_s, both.entries) == (10.0, 2)
    assert [warning["code"] for warning in stressng.warnings_of(both, 10)] == ["listed-twice"]


def test_a_stressor_that_ended_at_once_has_no_rate_whatever_its_counters_hold() -> None:
    garbage = Result(5269827723229253976, 0.000427, 184467440734028480.0)  # recorded on a Raspberry Pi: stressor key of 0.12.01
    assert not garbage.worked(10) and garbage.why_not(10) == "it ended after 0.000427 s of 10 s"
    assert Result(100, 8.0, 1.0).worked(10)


def test_cpu_time_that_no_machine_has_is_unknown() -> None:
    assert Result(10, 60.0, 22148.0).cpu_us(8) == 0.0 and Result(10, 60.0, 480.0).cpu_us(8) == pytest.approx(48e6)
    assert Result(10, 60.0, 22148.0).cpu_us(0) > 0


def test_logs_are_read() -> None:
    output = stressng.parse_log(LOG)
    assert output.results == {"access": Result(949857, 60.0, 11.34 + 467.69), "cpu-online": Result(0, 0.0, 0.0)}
    assert (output.version, output.machine) == ("0.13.05", {"cpus_online": 8})
    assert stressng.parse_log(NEW_LOG).results == {"cpu": Result(2319, 1.0, 1.12)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no YAML"),
        ("just words", "has no 'metrics'"),
        ("- a\n- b\n", "has no 'metrics'"),
        ("metrics: words\n", "are no list"),
        ("metrics:\n  - 5\n", "names no stressor"),
        ("metrics:\n  - stressor: cpu\n    bogo-ops: 5\n", "has no wall-clock-time"),
        ("metrics:\n  - {stressor: cpu, bogo-ops: -5, wall-clock-time: 1}\n", "is no figure"),
        ("metrics:\n  - {stressor: cpu, bogo-ops: .nan, wall-clock-time: 1}\n", "is no figure"),
        ("metrics:\n  - {stressor: cpu, bogo-ops: [1], wall-clock-time: 1}\n", "is no figure"),
        ("[" * 5000, "is "),
        (OLD[: OLD.index("wall-clock-time: 60")], "has no wall-clock-time"),
    ],
)
def test_a_text_that_is_no_result_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotStressNg, match=why):
        stressng.parse_yaml(text)


@pytest.mark.parametrize(("text", "why"), [("", "no line of stress-ng"), (LOG[:300], "has no metrics")])
def test_a_log_without_metrics_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotStressNg, match=why):
        stressng.parse_log(text)


def test_reasons_for_skipping_are_read() -> None:
    names = ["apparmor", "chroot", "cyclic", "exec", "gpu", "ioport", "idle-page", "tun"]
    text = "\n".join(
        f"stress-ng: info:  [1] {line}"
        for line in [
            "apparmor: stressor will be skipped, AppArmor is not available",
            "chroot stressor will be skipped, need to be running with CAP_SYS_ADMIN rights for this stressor",
            "cyclic stressor needs to be run with CAP_SYS_NICE set SCHED_RR priorities, skipping this stressor",
            "exec stressor must not run as root, skipping the stressor",
            "gpu: cannot open GPU device, skipping stressor",
            "ioport cannot access port 0x80, not skipping stressor",
            "idle_page stressor will be skipped, cannot access file",
            "disabled 'watchdog' as it may hang or reboot the machine (enable it with the --pathological option)",
        ]
    )
    reasons, pathological = stressng.parse_refusals(text, names)
    assert reasons == {
        "apparmor": "AppArmor is not available",
        "chroot": "need to be running with CAP_SYS_ADMIN rights for this stressor",
        "cyclic": "needs to be run with CAP_SYS_NICE set SCHED_RR priorities",
        "exec": "must not run as root",
        "gpu": "cannot open GPU device",
        "idle-page": "cannot access file",
    }
    assert pathological == ["watchdog"]


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_the_installed_version_is_read(tmp_path: Path) -> None:
    words = ["stress-ng", "--cpu", "1", "--pipe", "1", "--timeout", "1s", "--metrics", "--yaml", "out.yaml", "--log-file", "out.log", "--verbose"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    output = stressng.parse_yaml((tmp_path / "out.yaml").read_text(encoding="utf-8"))
    told = subprocess.run(["stress-ng", "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert output.version == stressng.parse_version(told) != ""
    assert output.duration_s == 1 and all(output.results[name].worked(1) for name in ("cpu", "pipe"))
    log = stressng.parse_log((tmp_path / "out.log").read_text(encoding="utf-8"))
    assert log.results["cpu"].operations == output.results["cpu"].operations
    assert log.version == output.version
