"""An emulated machine at work: its QEMU process, the files made for it, and the way in by ssh. All of it is gone when :meth:`Machine.close` returns.

QEMU ends with this process, however this process ends: a starter asks the kernel to kill it when its parent dies (PR_SET_PDEATHSIG, prctl(2)). Then
only a folder is left, which the next machine removes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from dpubench import network, programs, scratch
from dpubench.emulation import cpio
from dpubench.emulation.images import Images
from dpubench.errors import EnvironmentFault, UserError

#: Emulator of a whole machine, and the Debian package that holds it, by architecture.
EMULATOR: Final = {"aarch64": ("qemu-system-aarch64", "qemu-system-arm")}
_BOARD: Final = {"aarch64": ("-machine", "virt,gic-version=3")}
_CONSOLE: Final = {"aarch64": "ttyAMA0"}
#: Addresses of QEMU's own network (its documentation, "Using the user mode network stack").
_USER_ADDRESS: Final = "10.0.2.15/24"
#: Seconds that a machine has to boot. On an idle host it needs 5 to 20.
BOOT_LIMIT_S: Final = 300.0
_POLL_S: Final = 0.05
#: Another process may take a free port before QEMU does.
_PORT_TRIES: Final = 5
_PORT_TAKEN: Final = "Could not set up host forwarding rule"
#: Bytes at the end of the serial log, and lines of them, that an error shows.
_SHOWN_BYTES: Final = 4096
_SHOWN_LINES: Final = 6
#: What follows the key tells that it is whole: the console may be read while the line is written.
_READY: Final = re.compile(r"^dpubench-machine: ready (ssh-ed25519 [A-Za-z0-9+/=]+)\s", re.MULTILINE)
_FAILED: Final = re.compile(r"^dpubench-machine: failed: (.*)", re.MULTILINE)
#: Lines of the kernel that tell more than the last ones, which list registers.
_TELLING: Final = re.compile(r"Initramfs unpacking failed.*|Out of memory.*|Kernel panic.*")
#: Memory that the kernel takes for itself, and the least for programs; an image takes its size twice while it is unpacked.
_KERNEL_BYTES: Final = 96 << 20
_LEAST_FOR_PROGRAMS: Final = 64 << 20

#: Becomes a command that the kernel kills when the parent dies. The parent may have died before the kernel was asked, hence the comparison.
#: Before, it attaches to tap interfaces in other network namespaces (setns(2) and linux/if_tun.h: TUNSETIFF with IFF_TAP, IFF_NO_PI, IFF_VNET_HDR).
#: The command itself stays in the namespace of the parent, and finds the interfaces at the descriptors from the given one on.
_STARTER: Final = """
import ctypes, fcntl, json, os, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(status, what):
    if status:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
parent, device, first, taps, *words = sys.argv[1:]
check(libc.prctl(1, signal.SIGKILL, 0, 0, 0), "prctl")
if os.getppid() != int(parent):
    sys.exit("the parent has ended")
own = os.open("/proc/self/ns/net", os.O_RDONLY)
for number, (namespace, interface) in enumerate(json.loads(taps)):
    check(libc.setns(os.open(namespace, os.O_RDONLY), 0x40000000), namespace)
    tap = os.open(device, os.O_RDWR)
    fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", interface.encode(), 0x0002 | 0x1000 | 0x4000))
    check(libc.setns(own, 0x40000000), "setns")
    os.dup2(tap, int(first) + number)
os.execvp(words[0], words)
"""
#: Descriptor of the first tap interface, above those that the starter itself opens.
_TAP_DESCRIPTOR: Final = 64

_ACCOUNTS: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost vm\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",  # without it, C libraries before 2.34 ask others first
    # OpenSSH of the full userland. Keys alone let in, and only the one of this machine.
    "dpubench/sshd_config": "HostKey /dpubench/host_key\nAuthorizedKeysFile /root/.ssh/authorized_keys\nPasswordAuthentication no\n"
    "KbdInteractiveAuthentication no\nUsePAM no\nPidFile none\nMaxStartups 100\nUseDNS no\n",
}


@dataclass(frozen=True)
class Board:
    """What a machine has."""

    architecture: str  #: such as ``aarch64``
    core: str  #: QEMU's name of the core
    cpus: int
    memory_bytes: int


def missing(architecture: str) -> str:
    """Return which program of this machine is missing to emulate another, with its package; empty if none is."""
    emulator, package = EMULATOR[architecture]
    needed = ((emulator, package), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client"))
    return next((f"{name} is not installed: install the package {of}" for name, of in needed if shutil.which(name) is None), "")


class Machine:
    """A booted machine. Make it in the main thread: the kernel takes the end of the thread that made it for the end of the parent.

    Args:
        links: number of virtual links to this machine besides the way in, which need root
        mtu: bytes of an IP packet on them

    Raises:
        UserError: it has too little memory for its images, or there can be no link.
        EnvironmentFault: it does not boot; the message has the last lines of its console.
    """

    def __init__(self, board: Board, images: Images, *, links: int = 0, mtu: int = 1500) -> None:
        self._board = board
        self._images = images
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0  #: port of 127.0.0.1 that leads to its ssh server
        self.links: list[network.TapLink] = []  #: its virtual links
        need = 2 * sum(archive.stat().st_size for archive in images.archives) + images.kernel.stat().st_size + _KERNEL_BYTES + _LEAST_FOR_PROGRAMS
        if board.memory_bytes < need:
            raise UserError(f"memory: {_mib(board.memory_bytes)} are too little for its kernel and userland: give at least memory={_mib(need)}")
        self._opened = contextlib.ExitStack()
        try:
            self._folder = self._opened.enter_context(_folder())
            self.links = [self._opened.enter_context(network.tap_link(number, mtu)) for number in range(1, links + 1)]
            self._opened.callback(self._end)
            self._write_initrd()
            for _ in range(_PORT_TRIES):
                self._start()
                if self._boot():
                    return
            raise EnvironmentFault(f"no port of 127.0.0.1 can be had for the machine's ssh server ({_PORT_TRIES} tries)")
        except BaseException:  # Ctrl-C, too: nobody has the machine yet to close it
            self.close()
            raise

    @property
    def ssh_config(self) -> Path:
        """Return the configuration of ssh that leads into the machine and to nothing else."""
        return self._folder / "ssh_config"

    def ended(self) -> str:
        """Return how the machine ended, with the last lines of its console; empty while it runs."""
        if self._process is None or self._process.poll() is None:
            return ""
        status = self._process.returncode
        how = f"status {status}" if status >= 0 else f"signal {-status}"
        return f"the emulator has ended ({how}){self._last_lines()}"

    def close(self) -> None:
        """End the machine and remove its files. May be called again."""
        self._opened.close()

    # --- below: files, start and boot

    @property
    def _console(self) -> Path:
        return self._folder / "console.log"

    def _write_initrd(self) -> None:
        key = self._folder / "key"
        done = subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dpubench", "-f", key], capture_output=True, check=False)
        if done.returncode != 0:
            raise EnvironmentFault(f"ssh-keygen: {done.stderr.decode('utf-8', 'replace').strip() or f'status {done.returncode}'}")
        with (self._folder / "initrd").open("wb") as stream:
            for archive in self._images.archives:
                with archive.open("rb") as part:
                    shutil.copyfileobj(part, stream)
            own = cpio.Writer(stream)
            own.character_device("dev/console", 5, 1)  # the kernel opens it before anything is mounted
            own.file("init", resources.files("dpubench.emulation").joinpath("init.sh").read_bytes(), 0o755)
            own.file("dpubench/authorized_keys", key.with_suffix(".pub").read_bytes(), 0o600)
            for name, text in _ACCOUNTS.items():
                own.file(name, text.encode())
            own.close()

    def _start(self) -> None:
        self.port = _free_port()
        board = self._board
        self._console.write_bytes(b"")
        words = [
            EMULATOR[board.architecture][0], "-no-user-config", "-nodefaults", *_BOARD[board.architecture], "-cpu", board.core,
            "-smp", str(board.cpus), "-m", f"{board.memory_bytes >> 20}M", "-accel", "tcg,thread=multi", "-kernel", str(self._images.kernel),
            "-initrd", str(self._folder / "initrd"), "-append", self._command_line(),
            # restrict: the machine reaches nothing of this one and of its networks.
            "-netdev", f"user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22", "-device", "virtio-net-pci,netdev=n0,romfile=",
            "-device", "virtio-rng-pci", "-display", "none", "-monitor", "none", "-chardev", f"file,id=console,path={_quoted(self._console)}",
            "-serial", "chardev:console", "-no-reboot",
        ]  # fmt: skip
        for number, link in enumerate(self.links, start=1):
            words += ["-netdev", f"tap,id=n{number},fd={_TAP_DESCRIPTOR + number - 1}"]
            words += ["-device", f"virtio-net-pci,netdev=n{number},romfile=,mac={link.there_mac}"]
        taps = json.dumps([(link.here.namespace_file, link.here.interface) for link in self.links])
        starter = [sys.executable, "-I", "-S", "-c", _STARTER, str(os.getpid()), network.TAP_DEVICE, str(_TAP_DESCRIPTOR), taps]
        with (self._folder / "emulator.log").open("wb") as log:
            # In a session of its own, Ctrl-C at the terminal does not reach it: the run ends its programs first.
            self._process = subprocess.Popen([*starter, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _command_line(self) -> str:
        # A machine that panics ends (panic=-1 restarts it at once, and -no-reboot turns this into the emulator's end).
        of_links = "".join(
            f" dpubench.mtu{number}={link.mtu} dpubench.address{number}={link.there}" for number, link in enumerate(self.links, start=1)
        )
        crossed = " dpubench.crossed=1" if len(self.links) > 1 else ""
        return f"console={_CONSOLE[self._board.architecture]} rdinit=/init panic=-1 quiet dpubench.address0={_USER_ADDRESS}{crossed}{of_links}"

    def _boot(self) -> bool:
        """Wait until the ssh server listens; return False where another process took the port. @raises EnvironmentFault"""
        given_up = time.monotonic() + BOOT_LIMIT_S
        assert self._process is not None  # _start() came first
        while time.monotonic() < given_up:
            ended = self._process.poll() is not None
            said = self._said()
            if ready := _READY.search(said):
                self._write_way_in(ready[1])
                return True
            if failed := _FAILED.search(said):
                raise EnvironmentFault(f"the emulated machine does not boot: {_shown(failed[1])}{self._last_lines()}")
            if ended:
                errors = (self._folder / "emulator.log").read_text(encoding="utf-8", errors="replace")
                if _PORT_TAKEN in errors:
                    return False
                reason = f"{_shown(errors.strip().splitlines()[-1])}; " if errors.strip() else ""
                raise EnvironmentFault(f"the emulated machine does not boot: {reason}{self.ended()}")
            time.sleep(_POLL_S)
        raise EnvironmentFault(f"the emulated machine did not boot within {BOOT_LIMIT_S:g} s{self._last_lines()}")

    def _write_way_in(self, host_key: str) -> None:
        known = self._folder / "known_hosts"
        known.write_text(f"[127.0.0.1]:{self.port} {host_key}\n", encoding="ascii")
        key = _quoted_for_ssh(self._folder / "key")
        lines = [
            "Host *", f"IdentityFile {key}", "IdentitiesOnly yes", "IdentityAgent none", "StrictHostKeyChecking yes",
            f"UserKnownHostsFile {_quoted_for_ssh(known)}", "GlobalKnownHostsFile none", "ConnectTimeout 60",
        ]  # fmt: skip
        self.ssh_config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _said(self) -> str:
        return self._console.read_bytes().decode("utf-8", "replace").replace("\r", "")

    def _last_lines(self) -> str:
        said = self._said()
        telling = [_shown(line) for line in dict.fromkeys(_TELLING.findall(said))]
        lines = [shown for line in said[-_SHOWN_BYTES:].splitlines() if (shown := _shown(line))]
        text = f"; its kernel says: {' | '.join(telling)}" if telling else ""
        return text + (f"; its console ends with: {' | '.join(lines[-_SHOWN_LINES:])}" if lines else "; its console is empty")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()  # all its state is in memory that ends with it
            self._process.wait()


def _folder() -> contextlib.AbstractContextManager[Path]:
    """Return a context with a new folder for a machine's files, and remove those of machines whose process was killed."""
    place = programs.cache_directory() / "machines" / "running"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{place}: cannot be made: {error.strerror}") from None
    scratch.sweep(place)
    return scratch.folder(place)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _quoted(path: Path) -> str:
    """Return a path as a value of one of QEMU's options."""
    return str(path).replace(",", ",,")


def _quoted_for_ssh(path: Path) -> str:
    """Return a path as a value in a configuration of ssh, which knows blanks, quotes and tokens."""
    return '"' + str(path).replace("%", "%%").replace('"', '\\"') + '"'


def _shown(line: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in line.strip())[:200]


def _mib(size: int) -> str:
    return f"{-(-size >> 20)}MiB"
