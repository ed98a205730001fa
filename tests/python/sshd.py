"""A real sshd on loopback with its own keys in its own folder, and small bundles to put behind it."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import SCRIPTED, SCRIPTED_DATAPATH
from dpubench import __version__, programs
from dpubench.bundles import archive as bundle

SSHD = "/usr/sbin/sshd"
_UP_S = 20.0
#: Limits on a program's time, for tests that do not test those limits.
LIMITS: dict[str, Any] = {"silence_s": 20.0, "limit_s": 60.0}
_AGENT = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/lib/dpubench-agent"\n'


@dataclass
class Sshd:
    """An sshd that leads to this machine and to the account that runs the tests; dpubench keeps its files there in ``home``."""

    folder: Path
    shell: str = ""  #: a shell that runs every command, to imitate a different login shell
    noise: str = ""  #: text that a login shell prints first
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)  #: environment of programs behind sshd

    @property
    def spec(self) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"

    @property
    def home(self) -> Path:
        return self.folder / "there" / "dpubench"

    @property
    def config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def key(self, name: str) -> Path:
        """Return the private key of a key pair; make the pair if it does not exist yet."""
        path = self.folder / name
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True, timeout=30)
        return path

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # Debian's sshd confines itself here; its package makes the folder at boot
        self.trust()
        (self.folder / "authorized_keys").write_text(self.key("user").with_suffix(".pub").read_text())
        self.configure()
        # A separate home: the account's own shell start-up files must neither run here nor end a session early.
        (self.folder / "home").mkdir(exist_ok=True)
        environment = {"HOME": str(self.folder / "home"), "XDG_DATA_HOME": str(self.folder / "there")} | self.environment
        forced = [f"ForceCommand {self._wrapper()}"] if self.shell or self.noise else []
        for _ in range(5):  # a free port may be taken before sshd binds it
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", self.port))
                self.port = probe.getsockname()[1]
            lines = [
                f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.key('host')}",
                f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
                "StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PidFile none", "LogLevel ERROR",
                "PermitRootLogin prohibit-password", "MaxStartups 100",
                "SetEnv " + " ".join(f'"{name}={value}"' for name, value in environment.items()), *forced,
            ]  # fmt: skip
            (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")
            log = (self.folder / "sshd.log").open("ab")
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", self.folder / "sshd_config"], stderr=log, stdin=subprocess.DEVNULL)
            log.close()
            if self._answers():
                self.configure()
                return
            self.stop()
            self.port = 0
        raise RuntimeError(f"sshd does not start: {(self.folder / 'sshd.log').read_text()}")

    def _answers(self) -> bool:
        given_up = time.monotonic() + _UP_S
        while time.monotonic() < given_up and self.process is not None and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4) == b"SSH-"
            time.sleep(0.02)
        return False

    def _wrapper(self) -> Path:
        path = self.folder / "wrapper"
        noise = f"printf '%s' '{self.noise}'\n" if self.noise else ""
        path.write_text(f'#!/bin/sh\n{noise}exec {self.shell or "/bin/sh"} -c "$SSH_ORIGINAL_COMMAND"\n')
        path.chmod(0o755)
        return path

    def trust(self, key: str = "host") -> None:
        """Make ``key`` the known host key."""
        kind, public, *_ = self.key(key).with_suffix(".pub").read_text().split()
        self.known_hosts.write_text(f"* {kind} {public}\n")

    def configure(self, *lines: str, user_key: str = "user") -> None:
        """Write the user's ssh configuration."""
        self.config.write_text(
            "\n".join(
                [
                    "Host *", *lines, f"IdentityFile {self.key(user_key)}", "IdentitiesOnly yes", "IdentityAgent none", "StrictHostKeyChecking yes",
                    f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile none", "ConnectTimeout 10",
                ]
            )
            + "\n"
        )  # fmt: skip

    def sessions(self) -> list[int]:
        """Return the processes that serve connections of sshd."""
        return descendants(self.process.pid) if self.process is not None else []

    def signal_sessions(self, number: signal.Signals) -> int:
        """Send a signal to sshd's own processes of each connection; return to how many."""
        sent = 0
        for session in self.sessions():
            if b"sshd" not in cmdline(session):
                continue
            with contextlib.suppress(ProcessLookupError):  # the process of an earlier connection may be about to end
                os.kill(session, number)
                sent += 1
        return sent

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Make the network silent inside the block: no connection ends, none answers."""
        assert self.signal_sessions(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal_sessions(signal.SIGCONT)

    def stop(self) -> None:
        if self.process is None:
            return
        left = self.sessions()
        self.process.kill()
        self.process.wait(10)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process = None


def gone(sshd: Sshd, within_s: float = 15.0) -> bool:
    """Wait at most ``within_s``; return whether nothing of dpubench runs behind sshd and no connection is left."""
    given_up = time.monotonic() + within_s
    while (running_under(sshd.folder / "there") or sshd.sessions()) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not running_under(sshd.folder / "there") and not sshd.sessions()


def appears(path: Path, within_s: float = 20.0) -> None:
    """Wait until a file exists."""
    given_up = time.monotonic() + within_s
    while not path.exists():
        assert time.monotonic() < given_up, path
        time.sleep(0.01)


def cmdline(pid: int) -> bytes:
    """Return a process's command line; for a process that has ended, ``b"agent"``."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"agent"


def descendants(of: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [of]
    while waiting:
        found += (children := parents.get(waiting.pop(), []))
        waiting += children
    return found


def running_under(folder: Path) -> list[int]:
    """Return the processes that were started from a file in ``folder``, or by a script in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if (
                    str(folder).encode() in words
                    and not words.startswith(b"sshd")
                    and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
                ):
                    found.append(int(entry.name))
    return found


def small_bundle(
    path: Path, agent: Path, program: str, *, version: str = __version__, architecture: str = "", script: str = _AGENT, layouts: int = 1,
    more: Mapping[str, str] | None = None,
) -> Path:  # fmt: skip
    """Write a bundle that uses this machine's libraries: the agent of this build, and the script ``program`` as dpubench-operators.

    ``script`` starts the agent. The bundle holds the program in that many ``layouts``, and ``more`` programs, scripts by name.
    """
    contents = {
        "agent": script.encode(),
        "lib/dpubench-agent": agent.read_bytes(),
        **{f"lib/{programs.in_layout('dpubench-operators', n)}": program.encode() for n in range(layouts)},
        **{f"lib/{name}": text.encode() for name, text in (more or {}).items()},
    }
    files = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    architecture = architecture or bundle.host_architecture()
    manifest = {"schema": "dpubench.bundle/1", "version": version, "architecture": architecture, "files": files}
    contents["manifest.json"] = json.dumps(manifest).encode()
    path.write_bytes(bundle._archive(bundle.folder_name(architecture), contents))
    return path


def scripted(script: Path) -> str:
    """Return the scripted worker as a program of a bundle; the file ``script`` says what it does."""
    return f'#!/bin/sh\nPROGRAM="$0" SCRIPT="{script}" exec "{sys.executable}" -S -E "{SCRIPTED}" "$@"\n'


def scripted_datapath(script: Path) -> dict[str, str]:
    """Return the scripted server and client as programs of a bundle, by their names."""
    words = f'SCRIPT="{script}" exec "{sys.executable}" -S -E "{SCRIPTED_DATAPATH}"'
    return {f"dpubench-{name}": f'#!/bin/sh\nPROGRAM="$0" {words} {side} "$@"\n' for name, side in (("server", "server"), ("traffic", "client"))}
