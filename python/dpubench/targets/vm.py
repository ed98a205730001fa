"""A whole emulated machine, made for a run: another architecture's kernel, drivers and programs, and the real agent over real ssh.

Nothing that it measures means anything, since QEMU translates every instruction; what it finds right or wrong does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dpubench import network
from dpubench.emulation import images
from dpubench.emulation.machine import Board, Machine, missing
from dpubench.errors import UserError, nearest
from dpubench.plans.quantities import size_bytes
from dpubench.targets import EMULATED, Process, Target, settings
from dpubench.targets.ssh import SshTarget

SUMMARY: Final = "a whole emulated machine, booted for the run: correctness only"
EXAMPLES: Final = ("vm:aarch64", "vm:aarch64,userland=full,memory=4GiB,cpus=2")

_SETTINGS: Final = ("memory", "cpus", "core", "userland", "kernel", "sources", "bundle")
#: The core of BlueField-2, which QEMU emulates faster than later ones.
_CORE: Final = "cortex-a72"
#: Cores for which bundles are compiled, and which QEMU emulates with their own features.
_CORES: Final = (_CORE, "neoverse-n1")
#: The largest tables of operators fit. The emulator takes of this machine only what is used.
_MEMORY_BYTES: Final = 2 << 30
#: Userlands (:data:`dpubench.emulation.images.USERLANDS`).
_SMALL, _FULL = "small", "full"
_MOST_CPUS: Final = 16
#: Virtual links of a machine that traffic can cross.
LINKS_TO_CROSS: Final = 2


class _Inside(SshTarget):
    """The booted machine, as a target behind ssh."""

    more_room = "give the machine more memory, such as memory=4GiB"

    def __init__(self, name: str, machine: Machine, bundle: Path | None) -> None:
        super().__init__(name, f"ssh://root@127.0.0.1:{machine.port}", bundle=bundle, config=str(machine.ssh_config))
        self._machine = machine

    def _explain(self, errors: str) -> str:
        return self._machine.ended() or super()._explain(errors)


class VmTarget:
    """The target that boots an emulated machine when it is opened, and ends it when it is closed."""

    label = EMULATED
    times_mean_nothing = True
    is_here = False

    def __init__(self, name: str, spec: str) -> None:
        self.name = name
        self.spec = spec
        architecture, _, rest = spec.removeprefix("vm").removeprefix(":").partition(",")
        if architecture not in images.DEFAULT_KERNEL:
            raise UserError(f"--target {spec}: cannot boot the architecture '{architecture}'{nearest(architecture, images.DEFAULT_KERNEL)}")
        given = settings(f"vm:{rest}" if rest else "vm", _SETTINGS)
        self._board = Board(
            architecture,
            _one_of(spec, "core", given.get("core", _CORE), _CORES),
            _cpus(spec, given["cpus"]) if "cpus" in given else 1,
            _memory(spec, given["memory"]) if "memory" in given else _MEMORY_BYTES,
        )
        sources = Path(given["sources"]).expanduser().absolute() if "sources" in given else None
        self._is_userland_given = "userland" in given
        userland = _one_of(spec, "userland", given.get("userland", _SMALL), images.USERLANDS)
        self._images = images.Wanted(architecture, userland, given.get("kernel", images.DEFAULT_KERNEL[architecture]), sources)
        self._bundle = Path(given["bundle"]) if "bundle" in given else None
        self._links = 0
        self._mtu = 0
        self._machine: Machine | None = None
        self._inside: SshTarget | None = None

    def join(self, links: int = 1, mtu: int = 1500) -> None:
        """Join the machine to this one by virtual links when it is opened. @raises UserError this process cannot make one

        Args:
            links: their number; traffic can cross a machine that has LINKS_TO_CROSS
            mtu: bytes of an IP packet on them
        """
        if reason := network.missing_link():
            raise UserError(f"target {self.name}: no virtual link can be made to the machine: {reason}")
        self._links, self._mtu = max(self._links, links), max(self._mtu, mtu)

    def expect_tools(self) -> None:
        """Boot the machine with Debian's usual programs, stress-ng and iperf3 among them, unless its settings name a userland."""
        if not self._is_userland_given:
            self._images = replace(self._images, userland=_FULL)

    @property
    def more_programs(self) -> str:
        """Return what to do where an outside program is missing in the machine."""
        return "leave userland=small out" if self._images.userland == _SMALL else ""

    @property
    def links(self) -> Sequence[network.TapLink]:
        """Return the virtual links of an open target that was joined before."""
        assert self._machine is not None and self._machine.links  # join() and open() come first
        return self._machine.links

    @property
    def link(self) -> network.TapLink:
        """Return the first of :attr:`links`."""
        return self.links[0]

    @property
    def chain(self) -> network.TapChain | None:
        """Return the virtual links between which traffic can cross the machine; None if it has fewer than two."""
        return network.TapChain(*self.links[:LINKS_TO_CROSS]) if len(self.links) >= LINKS_TO_CROSS else None

    def unavailable(self) -> str:
        return missing(self._board.architecture)

    def open(self) -> None:
        if self._inside is not None:
            return
        if reason := self.unavailable():
            raise UserError(f"target {self.name}: {reason}")
        try:
            self._machine = Machine(self._board, images.get(self._images), links=self._links, mtu=self._mtu)
        except UserError as error:
            raise type(error)(f"target {self.name}: {error}") from None
        self._inside = _Inside(self.name, self._machine, self._bundle)
        self._inside.open()

    def program(self, name: str) -> str:
        return self._there.program(name)

    def cpus(self) -> list[int]:
        return self._there.cpus()

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
        return self._there.start(program, arguments, environment)

    def place(self, files: Sequence[Path]) -> list[str]:
        return self._there.place(files)

    def cache_directory(self) -> str:
        return self._there.cache_directory()

    def least_window_s(self) -> float:
        return 0.0

    def describe(self) -> dict[str, Any]:
        return self._there.describe()

    def close(self) -> None:
        if self._inside is not None:
            self._inside.close()
            self._inside = None
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    @property
    def _there(self) -> SshTarget:
        assert self._inside is not None  # open() comes first
        return self._inside


def between(one: Target, other: Target) -> VmTarget | None:
    """Return which of two targets is an emulated machine whose virtual link can lead to the other, which is this machine; None if neither is."""
    for machine, here in ((one, other), (other, one)):
        if isinstance(machine, VmTarget) and here.is_here and not here.times_mean_nothing:
            return machine
    return None


def crossed(device: Target, ends: Target | None) -> VmTarget | None:
    """Return ``device`` if it is an emulated machine that traffic between two ends on this one (``ends``) can cross; else None."""
    machine = between(device, ends) if ends is not None else None
    return machine if machine is device else None


def make(name: str, spec: str) -> VmTarget:
    """Return the target ``spec``, called ``name``. @raises UserError for wrong settings"""
    return VmTarget(name, spec)


def _one_of(spec: str, key: str, word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    if word not in known:
        raise UserError(f"--target {spec}: {key}: unknown '{word}'{nearest(word, known)}")
    return word


def _cpus(spec: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_CPUS):
        raise UserError(f"--target {spec}: cpus: '{text}' is not a number of CPUs: write 1 to {_MOST_CPUS}")
    return int(text)


def _memory(spec: str, text: str) -> int:
    try:
        return size_bytes(text)
    except ValueError as error:
        raise UserError(f"--target {spec}: memory: {error}") from None
