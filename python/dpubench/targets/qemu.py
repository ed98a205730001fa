"""A target of another architecture under QEMU's user-mode emulation: it tells right from wrong; its times mean nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench.bundles import archive as bundle
from dpubench.bundles import cache as bundle_cache
from dpubench.errors import UserError, nearest
from dpubench.targets import EMULATED, local, settings

SUMMARY: Final = "known answers on another architecture's code, under an emulator: correctness only"
EXAMPLES: Final = ("qemu:aarch64", "qemu:aarch64,bundle=FILE")

#: The emulated core. neoverse-n1 is the core of the first Arm servers and has the features of DPUs' cores; on x86-64 it is all that QEMU offers.
CORE: Final = {"aarch64": "neoverse-n1", "x86_64": "max"}


class QemuTarget(local.LocalTarget):
    """The target that starts programs of a bundle under ``qemu-ARCHITECTURE``, as children of this process."""

    times_mean_nothing = True

    def __init__(self, name: str, spec: str) -> None:
        super().__init__()
        self.name = name
        self.spec = spec
        self.label = EMULATED
        words = spec.removeprefix("qemu").removeprefix(":").split(",")
        self._architecture = words[0]
        if self._architecture not in bundle.ARCHITECTURES:
            raise UserError(f"--target {spec}: cannot emulate the architecture '{words[0]}'{nearest(words[0], bundle.ARCHITECTURES)}")
        given = settings(f"qemu:{','.join(words[1:])}" if words[1:] else "qemu", ("bundle",))
        self._bundle = Path(given["bundle"]) if "bundle" in given else None
        self._folder: Path | None = None

    @property
    def architecture(self) -> str:
        return self._architecture

    @property
    def bundle(self) -> Path | None:
        """Return the archive that the spec names; None for one of this installation."""
        return self._bundle

    @property
    def _emulator(self) -> str:
        return f"qemu-{self._architecture}"

    def unavailable(self) -> str:
        return "" if shutil.which(self._emulator) else f"{self._emulator} is not installed: install the package qemu-user"

    def open(self) -> None:
        super().open()
        self._folder = bundle_cache.unpacked(self._bundle or bundle_cache.archive(self._architecture))

    def program(self, name: str) -> str:
        assert self._folder is not None  # open() comes first
        return str(self._folder / "lib" / name)

    def start(
        self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
    ) -> local.LocalProcess:
        lib = Path(program).parent
        loader = next(iter(sorted(lib.glob("ld-linux*"))), lib / "ld-linux.so")
        # The prefix does not exist, so that no file of this machine can replace one that the bundle lacks.
        words = [self._emulator, "-L", "/nonexistent", "-cpu", CORE[self._architecture], str(loader), "--library-path", str(lib), program]
        return local.spawn([*prefix, *words, *arguments], environment)

    def describe(self) -> dict[str, Any]:
        return {}


def make(name: str, spec: str) -> QemuTarget:
    """Return the target ``spec``, called ``name``. @raises UserError for wrong settings"""
    return QemuTarget(name, spec)
