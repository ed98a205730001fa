"""Tests of kernels and their traces, with a small program that speaks the contract under the real emulator (tests/arm_traces.py has all engines)."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench import schemas, scratch, traces
from dpubench.errors import EnvironmentFault, Interrupted, UserError
from dpubench.inputs import Input, Missing, Resolved
from dpubench.simulation import _cache, _capture, _machine, kernels
from dpubench.simulation.kernels import ArmPrograms, Kernel, NotTraced, Trace
from dpubench.workers.process import StopRequest
from kernels_fixtures import CRASHES, ENDLESS, FAILURE, REFUSES, TRACED, arm_bundle, arm_programs
from test_traces import inspect

KERNEL = Kernel("crc", "portable", (("size", "64"),), messages=100)
LOOKUP = Kernel("lookup", "portable", message_bytes=64)
NOTHING = Resolved()

pytestmark = pytest.mark.usefixtures("own_places")


def routes(folder: Path, text: str) -> Resolved:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "routes.csv"
    file.write_text(text)
    return Resolved({"routes4": Input("routes4", (file,), "routes.csv", "")})


def machines() -> list[Path]:
    return sorted(_machine._PLACE.iterdir())


def test_a_kernel_is_traced_and_said_what_it_is(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm")
    found = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
    assert (found.kernel, found.messages, found.burst, found.in_bytes, found.out_bytes) == (KERNEL, 128, 32, 8192, 2048)
    seen = inspect(found.folder)
    assert seen["kernel"] == "crc, portable, size 64, bursts of 32, 100 messages, seed 1"
    assert seen["program_digest"] == sha256(arm.operators_program.read_bytes()).hexdigest() == found.about["program"]
    # The trace has a message for each byte of the job, and each message has four instructions and a branch.
    assert seen["instructions"] == 5 * seen["messages"]
    assert machines() == []


def test_the_job_is_one_of_the_contract() -> None:
    job = json.loads(kernels._job(replace(KERNEL, burst=32), {"routes4": ["/inputs/routes4/0/x"]}))
    assert not schemas.fault("job", job)
    assert (job["control"], job["operations"]) == ("traced", 100)


def test_the_same_kernel_gives_the_same_trace_wherever_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Program, inputs and cache lie in other folders. The program knows them from its job and its stack, and both are in the trace."""
    bundle = arm_bundle(tmp_path / "arm")
    one = kernels.trace(LOOKUP, routes(tmp_path, "1.0.0.0/8,1\n"), ArmPrograms.of(bundle), cache=tmp_path / "traces")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a much longer way" / "to another home"))
    monkeypatch.setenv("SOMETHING", "x" * 3000)
    monkeypatch.chdir(tmp_path / "arm")
    two = kernels.trace(LOOKUP, routes(tmp_path / "elsewhere/deep", "1.0.0.0/8,1\n"), ArmPrograms.of(bundle), cache=tmp_path / "others/traces")
    assert one.digest == two.digest
    assert one.folder.name == two.folder.name
    for name in (traces.BLOCKS, traces.STREAM):
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()


def test_a_trace_is_captured_once(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm")
    one = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
    captured = (one.folder / traces.STREAM).stat().st_ino
    # The same kernel, described differently.
    for again in (KERNEL, Kernel("crc", "portable", message_bytes=64, messages=100), replace(KERNEL, burst=32)):
        two = kernels.trace(again, NOTHING, arm, cache=tmp_path / "traces")
        assert (two.folder, two.digest, two.kernel) == (one.folder, one.digest, again)
    assert (one.folder / traces.STREAM).stat().st_ino == captured
    assert [p.name for p in (tmp_path / "traces").iterdir()] == [one.folder.name]


@pytest.mark.parametrize(
    "other",
    [
        Kernel("crc", "portable", (("size", "256"),), messages=100), Kernel("crc", "isal", (("size", "64"),), messages=100),
        replace(KERNEL, messages=101), replace(KERNEL, seed=2), replace(KERNEL, footprint="resident"), replace(KERNEL, burst=1),
    ],
)  # fmt: skip
def test_another_kernel_has_another_trace(tmp_path: Path, other: Kernel) -> None:
    arm = arm_programs(tmp_path / "arm")
    keys = {_capture.key_of(kernels._task(kernels._complete(kernel, arm), {}, ""), arm) for kernel in (KERNEL, other)}
    assert len(keys) == 2


def test_other_programs_inputs_and_emulators_have_other_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(arm: ArmPrograms, text: str) -> str:
        complete = kernels._complete(LOOKUP, arm)
        return _capture.key_of(kernels._task(complete, kernels._files(complete, routes(tmp_path, text), arm), ""), arm)

    arm = arm_programs(tmp_path / "arm")
    keys = [key(arm, "1.0.0.0/8,1\n"), key(arm, "1.0.0.0/8,2\n"), key(arm_programs(tmp_path / "arm2", CRASHES), "1.0.0.0/8,1\n")]
    monkeypatch.setattr(_capture, "emulator", lambda: "qemu-aarch64 version 99")
    keys.append(key(arm, "1.0.0.0/8,1\n"))
    assert len(set(keys)) == 4


def test_what_a_frame_takes_on_a_line_is_not_in_a_trace_of_headers(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm")
    given = routes(tmp_path, "1.0.0.0/8,1\n")
    one = kernels.trace(LOOKUP, given, arm, cache=tmp_path / "traces")
    two = kernels.trace(replace(LOOKUP, message_bytes=1500), given, arm, cache=tmp_path / "traces")
    assert one.folder == two.folder
    assert (one.kernel.message_bytes, two.kernel.message_bytes) == (64, 1500)


def test_labels_are_for_people() -> None:
    assert Kernel("lpm", "patricia", (("prefixes", "1000"), ("stream", "zipf")), 64).label == "lpm, patricia, prefixes 1000, zipf, 64 B"
    assert Kernel("aes", "openssl", (("key_bits", "256"),), footprint="resident").label == "aes, openssl, key bits 256, resident"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (replace(KERNEL, operator="crcc"), "unknown operator 'crcc'; did you mean 'crc'"),
        (replace(KERNEL, engine="isall"), "the operator crc has no engine 'isall'; did you mean 'isal'"),
        (replace(KERNEL, params=(("sise", "64"),)), "the operator crc has no parameter 'sise'; did you mean 'size'"),
        (replace(KERNEL, engine="gpu"), "gpu cannot run as 64-bit Arm code here: no device of this kind"),
        (LOOKUP, "lookup, portable: needs the input routes4: install python3-pyasn"),
    ],
)
def test_what_there_is_not_is_refused_by_name(tmp_path: Path, kernel: Kernel, message: str) -> None:
    arm = arm_programs(tmp_path / "arm")
    missing = Resolved(missing={"routes4": Missing("routes4", "install python3-pyasn")})
    with pytest.raises(UserError, match=message):
        kernels.trace(kernel, missing, arm, cache=tmp_path / "traces")
    assert not (tmp_path / "traces").exists()


@pytest.mark.parametrize(
    ("case", "events", "message"),
    [
        (REFUSES, (FAILURE,), "crc, portable, size 64: has no trace: verify: item 3 differs"),
        (CRASHES, (), "was ended by SIGSEGV under qemu-aarch64, before a region was opened"),
        (0, (), "the program ended without an error but reported no trace"),
        (0, (TRACED, FAILURE), "verify: item 3 differs"),
        (0, "Segmentation fault (not really)\n", "the program printed a line that is not JSON"),
    ],
)
def test_a_kernel_that_goes_wrong_says_why_and_leaves_nothing(
    tmp_path: Path, case: int, events: tuple[dict[str, Any], ...] | str, message: str
) -> None:
    arm = arm_programs(tmp_path / "arm", case, events)
    with pytest.raises(NotTraced) as caught:
        kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
    assert message in str(caught.value)
    assert list((tmp_path / "traces").iterdir()) == []
    assert machines() == []


def test_a_trace_that_was_damaged_is_captured_anew(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm")
    one = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
    stream = one.folder / traces.STREAM
    whole = stream.read_bytes()
    for damage in (lambda: stream.write_bytes(whole[:-1]), stream.unlink, lambda: (one.folder / "trace.json").write_text("{}")):
        damage()
        two = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
        assert two.digest == one.digest
        assert stream.read_bytes() == whole
    # A changed bit is found when a trace is taken into use. From then on the trace is held.
    kernels.release([one.folder])
    stream.write_bytes(whole[:40] + bytes([whole[40] ^ 4]) + whole[41:])
    three = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
    assert three.digest == one.digest and stream.read_bytes() == whole


def test_a_stop_ends_a_capture_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm", ENDLESS)
    stop = StopRequest()
    timer = threading.Timer(1.0, stop.set, (signal.SIGINT,))
    timer.start()
    with pytest.raises(Interrupted):  # a capture that did not end at once would reach its limit, which is no interruption
        kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces", stop=stop)
    timer.join()
    stop.close()
    assert list((tmp_path / "traces").iterdir()) == []
    assert machines() == []


SCRIPT = """
import sys
from pathlib import Path
from dpubench.simulation import _machine, kernels
from dpubench.inputs import Resolved
_machine._PLACE = Path(sys.argv[3])
arm = kernels.ArmPrograms.of(Path(sys.argv[1]))
print(kernels.trace(kernels.Kernel("crc", "portable", (("size", "64"),), messages=100), Resolved(), arm, cache=Path(sys.argv[2])).digest)
"""


def in_a_process(bundle: Path, cache: Path, script: str = SCRIPT) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command: list[str | Path] = [sys.executable, "-c", script, bundle, cache, _machine._PLACE]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)


def test_processes_that_want_the_same_trace_at_once_all_get_it(tmp_path: Path) -> None:
    bundle, cache = arm_bundle(tmp_path / "arm"), tmp_path / "traces"
    processes = [in_a_process(bundle, cache) for _ in range(3)]
    digests = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert digests == {kernels.trace(KERNEL, NOTHING, ArmPrograms.of(bundle), cache=cache).digest}
    assert len(list(cache.iterdir())) == 1


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    bundle, cache = arm_bundle(tmp_path / "arm", ENDLESS), tmp_path / "traces"
    process = in_a_process(bundle, cache)
    until = time.monotonic() + 60
    while not list(cache.glob("*.partial/stream")) and time.monotonic() < until:
        time.sleep(0.05)
    (mine,) = machines()
    # While the process lives, everything that it makes is its own, however old.
    (partial,) = cache.iterdir()
    for held in (mine, partial):
        os.utime(held, (0, 0))
    _machine.sweep()
    scratch.sweep(cache)
    assert machines() == [mine] and partial.exists()
    process.kill()
    process.communicate()
    assert machines() == [mine] and partial.exists()
    kernels.trace(KERNEL, NOTHING, arm_programs(tmp_path / "fine"), cache=cache)
    assert machines() == []
    (whole,) = cache.iterdir()
    assert whole.suffix == ""


def test_many_kernels_are_traced_beside_each_other_and_failures_are_outcomes(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm")
    wanted = [KERNEL, replace(KERNEL, seed=2), replace(KERNEL, engine="gpu"), replace(KERNEL, operator="nix"), LOOKUP, KERNEL]
    told: list[tuple[str, int, int]] = []
    stop = StopRequest()
    found = dict(kernels.trace_all(wanted, NOTHING, arm, cache=tmp_path / "traces", processes=2, stop=stop, tell=lambda *what: told.append(what)))
    stop.close()
    assert set(found) == set(wanted)
    assert isinstance(found[KERNEL], Trace) and isinstance(found[wanted[1]], Trace)
    assert isinstance(found[wanted[2]], NotTraced)
    assert all(isinstance(found[kernel], UserError) for kernel in wanted[2:5])
    assert [done for _, done, _ in told] == [1, 2, 3, 4, 5]


def test_a_stop_ends_all_captures(tmp_path: Path) -> None:
    arm = arm_programs(tmp_path / "arm", ENDLESS)
    stop = StopRequest()
    timer = threading.Timer(1.0, stop.set, (signal.SIGTERM,))
    timer.start()
    with pytest.raises(Interrupted):
        list(kernels.trace_all([replace(KERNEL, seed=s) for s in range(8)], NOTHING, arm, cache=tmp_path / "traces", processes=2, stop=stop))
    timer.join()
    stop.close()
    assert list((tmp_path / "traces").iterdir()) == []


def test_what_a_killed_process_unpacked_half_goes_with_the_next_bundle(tmp_path: Path) -> None:
    first = arm_programs(tmp_path / "first")
    unpacked = first.folder.parent
    half = Path(tempfile.mkdtemp(dir=unpacked, prefix="."))
    (half / "lib").mkdir()
    with scratch.folder(unpacked) as at_work:
        second = arm_programs(tmp_path / "second", REFUSES)
        assert sorted(unpacked.iterdir()) == sorted([first.folder, second.folder, at_work])
    assert sorted(unpacked.iterdir()) == sorted([first.folder, second.folder])


def test_where_the_programs_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.BUNDLE_VARIABLE, str(tmp_path / "none.tar.gz"))
    with pytest.raises(UserError, match="there is no such file: make one with `dpubench bundle --arch aarch64`"):
        ArmPrograms.found()
    monkeypatch.setenv(kernels.BUNDLE_VARIABLE, str(arm_bundle(tmp_path / "x86", architecture="x86_64")))
    with pytest.raises(UserError, match="holds programs for x86_64"):
        ArmPrograms.found()
    (tmp_path / "rubbish.tar.gz").write_bytes(b"x")
    monkeypatch.setenv(kernels.BUNDLE_VARIABLE, str(tmp_path / "rubbish.tar.gz"))
    with pytest.raises(EnvironmentFault, match="cannot be unpacked"):
        ArmPrograms.found()
    monkeypatch.setenv(kernels.BUNDLE_VARIABLE, str(arm_bundle(tmp_path / "arm")))
    arm = ArmPrograms.found()
    assert [o["name"] for o in arm.catalog()["catalog"]["operators"]] == ["aes", "crc", "lookup"]
    monkeypatch.delenv(kernels.BUNDLE_VARIABLE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/qemu-aarch64").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    if os.uname().machine != "aarch64":
        with pytest.raises(UserError, match=r"install the package g\+\+-aarch64-linux-gnu, or set DPUBENCH_AARCH64_BUNDLE"):
            ArmPrograms.found()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="install the package qemu-user"):
        ArmPrograms.found()


def test_programs_say_what_they_cannot_do(tmp_path: Path) -> None:
    asked = [("crc", {"size": "64"}), ("crc", {"size": "3"})]
    answer = {
        "event": "checked",
        "combinations": [{"invalid": "", "engines": {"isal": "AVX-512 only"}}, {"invalid": "crc: whole words", "engines": {}}],
    }
    arm = ArmPrograms.of(arm_bundle(tmp_path / "arm", answers=(answer,)))
    assert arm.check(asked) == [("", {"isal": "AVX-512 only"}), ("crc: whole words", {})]
    with pytest.raises(EnvironmentFault, match="2 answers to 1 questions"):
        arm.check(asked[:1])
    assert arm.check([]) == []
    assert arm_programs(tmp_path / "other").check(asked) == [("", {})] * 2, "one that does not know the question: measuring shows it then"


def test_the_catalog_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = arm_programs(tmp_path / "arm")
    first = arm.catalog()
    _capture._hello.cache_clear()
    monkeypatch.setattr(_capture, "Machine", None)  # no program can be asked any more
    assert arm.catalog() == first


def test_traces_not_used_for_longest_make_room_unless_they_are_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = arm_programs(tmp_path / "arm")
    cache = tmp_path / "traces"
    old, used, new = (kernels.trace(replace(KERNEL, seed=s), NOTHING, arm, cache=cache).folder for s in (1, 2, 3))
    for folder, age_days in ((old, 9), (used, 8), (new, 7)):
        os.utime(folder, (time.time() - age_days * 86_400,) * 2)
    monkeypatch.setattr(_capture, "CACHE_BYTES", sum(f.stat().st_size for f in new.iterdir()))
    kernels.trace(replace(KERNEL, seed=2), NOTHING, arm, cache=cache)  # it exists, and is used now
    # All three traces are held, and so is this new one.
    newest = kernels.trace(replace(KERNEL, seed=4), NOTHING, arm, cache=cache).folder
    assert all(folder.exists() for folder in (old, used, new, newest))
    kernels.release([old, used, old])
    assert [folder.exists() for folder in (old, used, new, newest)] == [False, False, True, True]
    kernels.release([new, newest])
    assert [folder.exists() for folder in (new, newest)] == [False, True]


def test_two_that_make_room_at_once_remove_no_more_than_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age_s, name in enumerate("abcdef"):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)
    real = _cache._removed

    def removed(entry: Path) -> bool:
        # Another prune begins in the middle, after this one has listed the entries.
        _cache.prune(tmp_path, 300)
        return real(entry)

    monkeypatch.setattr(_cache, "_removed", removed)
    _cache.prune(tmp_path, 300)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a", "b", "c"]


def test_what_another_process_uses_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, cache = arm_bundle(tmp_path / "arm"), tmp_path / "traces"
    folder = kernels.trace(KERNEL, NOTHING, ArmPrograms.of(bundle), cache=cache).folder
    script = f"{SCRIPT}sys.stdout.flush(); sys.stdin.read()"
    other = in_a_process(bundle, cache, script)
    assert other.stdout is not None and other.stdout.readline()
    monkeypatch.setattr(_capture, "CACHE_BYTES", 0)
    kernels.release([folder])
    assert folder.exists()
    other.kill()
    other.communicate()
    _cache.prune(cache, 0)
    assert not folder.exists()


def test_a_trace_that_cannot_be_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = arm_programs(tmp_path / "arm")
    folder = kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces").folder

    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(EnvironmentFault, match=f"{folder}: this trace cannot be locked against removal by other processes: No locks available"):
        kernels.trace(KERNEL, NOTHING, arm, cache=tmp_path / "traces")
