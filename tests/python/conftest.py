"""Fixtures: a scripted native program in its own folder, and ``dpubench`` as a real subprocess."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from arm_kernels import loop, own_places  # noqa: F401  # fixtures of several folders
from own_folder import dpubench  # noqa: F401  # likewise

if TYPE_CHECKING:
    from dpubench.targets.ssh import SshTarget
    from real_program import RealBench
    from sshd import Sshd

ROOT = Path(__file__).resolve().parents[2]
SCRIPTED = Path(__file__).with_name("scripted_worker.py")
SCRIPTED_DATAPATH = Path(__file__).with_name("scripted_datapath.py")

sys.path.insert(0, str(ROOT / "python"))

# A shell starts its background jobs with SIGINT ignored, and programs inherit that. The programs under test must start as at a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Bench:
    """A folder in which ``dpubench`` runs against a scripted program."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)  #: processes, to tell what they leave behind from what other work on the machine does

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def script(self, **script: Any) -> None:
        """Set what the program does from now on (see scripted_worker.py)."""
        (self.folder / "script.json").write_text(json.dumps(script))

    def start(self, *arguments: str, prefix: Sequence[str] = (), **more: Any) -> subprocess.Popen[str]:
        """Start ``dpubench`` with ``arguments``; ``prefix`` holds the words of a command that starts it."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        words = [*prefix, sys.executable, "-m", "dpubench", *arguments]
        process = subprocess.Popen(words, cwd=self.folder, env=self.environment, text=True, **(pipes | more))
        self.started.append(process.pid)
        return process

    def __call__(self, *arguments: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def left_on_the_machine(self) -> list[str]:
        """Return the namespaces and folders that runs of this bench left behind."""
        from dpubench import network

        return [name for name in network.sweep() if any(f"-{pid}-" in name for pid in self.started)]

    def record(self, run: str = "latest") -> dict[str, Any]:
        return dict(json.loads((self.results / run / "run.json").read_text()))

    def add_target(self, name: str, spec: str, bundle: Path) -> None:
        """Add a target as ``dpubench target add`` does, without a check of the machine behind it."""
        file = Path(self.environment["XDG_CONFIG_HOME"]) / "dpubench/targets.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({name: {"spec": spec, "bundle": str(bundle)}}))

    def workers(self) -> list[int]:
        """Return the processes of this folder's program that still exist."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if (
                        f"SCRIPT={self.folder / 'script.json'}".encode() in (entry / "environ").read_bytes().split(b"\0")
                        and b"scripted_" in (entry / "cmdline").read_bytes()
                    ):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


def bench_in(folder: Path) -> Bench:
    """Return a bench with scripted programs in ``folder``; they behave well until a script says otherwise."""
    bench = Bench(folder)
    make_program(bench.programs)
    bench.script()
    bench.environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("DPUBENCH_")},
        "PYTHONPATH": str(ROOT / "python"), "DPUBENCH_PROGRAMS": str(bench.programs), "XDG_CACHE_HOME": str(folder / "cache"),
        "SCRIPT": str(folder / "script.json"), "COLUMNS": "160", "TERM": "dumb",
    }  # fmt: skip
    return bench


@pytest.fixture
def real(tmp_path: Path) -> RealBench:
    """Return a bench for ``dpubench`` with the native program of this build."""
    from real_program import BUILD, PROGRAM, RealBench

    if not PROGRAM.is_file():
        pytest.fail(f"{PROGRAM}: there is no such program: run `make build-tests`, or set DPUBENCH_PROGRAMS")
    bench = RealBench(tmp_path)
    bench.environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("DPUBENCH_")},
        "PYTHONPATH": str(ROOT / "python"), "DPUBENCH_PROGRAMS": str(BUILD), "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COLUMNS": "160", "TERM": "dumb",
    }  # fmt: skip
    return bench


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """Yield a real sshd on loopback that the user's ssh configuration knows."""
    from dpubench.remote import agent
    from sshd import Sshd

    server = Sshd(tmp_path / "sshd")
    monkeypatch.setenv("DPUBENCH_SSH_CONFIG", str(server.config))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(agent, "ANSWER_S", 15.0)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def make(sshd: Sshd, tmp_path: Path) -> Iterator[Callable[..., SshTarget]]:
    """Yield a function that makes targets behind sshd whose program is a script of the test."""
    from dpubench.targets.ssh import SshTarget
    from real_program import BUILD
    from sshd import small_bundle

    made: list[SshTarget] = []

    def target(program: str = "echo '{}'\n", directory: str = "", **how: Any) -> SshTarget:
        words = program if program.startswith("#!") else f"#!/bin/sh\n{program}"
        archive = small_bundle(tmp_path / f"bundle{len(made)}.tar.gz", BUILD / "dpubench-agent", words, **how)
        made.append(SshTarget("dev", sshd.spec, directory, archive))
        return made[-1]

    yield target
    for one in made:
        one.close()


@pytest.fixture
def away(bench: Bench, sshd: Sshd, tmp_path: Path) -> Bench:
    """Return a bench whose scripted programs are also behind sshd, as the target ``dev``."""
    from real_program import BUILD
    from sshd import scripted, scripted_datapath, small_bundle

    agent, script = BUILD / "dpubench-agent", tmp_path / "script.json"
    archive = small_bundle(tmp_path / "bundle.tar.gz", agent, scripted(script), layouts=3, more=scripted_datapath(script))
    shutil.copy(agent, bench.programs / "dpubench-agent")
    bench.environment |= {"DPUBENCH_SSH_CONFIG": str(sshd.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    bench.add_target("dev", sshd.spec, archive)
    return bench


def make_program(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, words in (
        ("dpubench-operators", f'"{SCRIPTED}"'),
        ("dpubench-server", f'"{SCRIPTED_DATAPATH}" server'),
        ("dpubench-traffic", f'"{SCRIPTED_DATAPATH}" client'),
    ):
        program = folder / name
        program.write_text(f'#!/bin/sh\nPROGRAM="$0" exec "{sys.executable}" -S -E {words} "$@"\n')
        program.chmod(0o755)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares text with ``golden/NAME``.

    ``DPUBENCH_GOLDEN=write`` rewrites the files; look at the difference before you commit it.
    """

    def check(name: str, text: str) -> None:
        file = Path(__file__).with_name("golden") / name
        if os.environ.get("DPUBENCH_GOLDEN") == "write":
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text(), f"{name} differs; if it should, run the tests with DPUBENCH_GOLDEN=write"

    return check
