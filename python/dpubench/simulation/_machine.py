"""The machine that traced programs see. It is the same on every real machine, wherever its files lie.

The emulator looks for absolute paths below a folder first. The folder holds the bundle's programs (``/lib``), the inputs (``/inputs``) and the few
files that describe the machine to a program: the footprint ``stream`` is four times the L2 cache described there. The folder lies in ``/tmp`` under a
name of constant length, because the emulator tells a program the real path of its own file.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from dpubench import scratch
from dpubench.errors import EnvironmentFault

#: The emulated core: that of the first Arm servers. It has the features of the cores of DPUs.
CPU: Final = "neoverse-n1"
_PLACE: Final = Path("/tmp")
_PREFIX: Final = "dpubench-traced-"
_CPU_FOLDER: Final = "sys/devices/system/cpu"
_CPUINFO: Final = {
    "aarch64": "processor\t: 0\nFeatures\t: fp asimd aes pmull sha1 sha2 crc32 atomics\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
    "x86_64": "processor\t: 0\nvendor_id\t: emulated\nmodel name\t: emulated\n",  # no features: programs ask the processor itself for them
}
_CLOCK: Final = {"aarch64": "arch_sys_counter\n", "x86_64": "tsc\n"}
#: Files that programs read about their machine (native/protocol/machine.cpp): one core, 64 KiB of L1 and 1 MiB of L2 cache, as a Neoverse N1 has.
_COMMON: Final = {
    "proc/loadavg": "0.00 0.00 0.00 1/1 1\n",
    "etc/os-release": 'PRETTY_NAME="emulated"\n',
    f"{_CPU_FOLDER}/online": "0\n",
    f"{_CPU_FOLDER}/isolated": "\n",
    f"{_CPU_FOLDER}/smt/control": "notsupported\n",
    f"{_CPU_FOLDER}/cpu0/topology/core_cpus_list": "0\n",
    f"{_CPU_FOLDER}/cpu0/cache/index0/level": "1\n",
    f"{_CPU_FOLDER}/cpu0/cache/index0/type": "Data\n",
    f"{_CPU_FOLDER}/cpu0/cache/index0/size": "64K\n",
    f"{_CPU_FOLDER}/cpu0/cache/index2/level": "2\n",
    f"{_CPU_FOLDER}/cpu0/cache/index2/type": "Unified\n",
    f"{_CPU_FOLDER}/cpu0/cache/index2/size": "1024K\n",
}
_CLOCK_FILE: Final = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def files_of(architecture: str) -> dict[str, str]:
    """Return the files that a program of ``architecture`` reads about its machine: their text by path."""
    return {"proc/cpuinfo": _CPUINFO[architecture], **_COMMON, _CLOCK_FILE: _CLOCK[architecture]}


#: The machine of 64-bit Arm programs, on which traces depend.
DESCRIPTION: Final = {"cpu": CPU, "files": files_of("aarch64")}


class Machine:
    """The folder with the machine's files. A context manager: the folder exists only within the context."""

    #: The loader that starts a program of the bundle, relative to :attr:`folder`.
    loader: Final = Path("loader")

    def __init__(self, lib: Path, architecture: str = "aarch64", engine_dirs: Sequence[Path] = ()) -> None:
        """Prepare the machine.

        ``lib``: the folder of a bundle with its programs, libraries and the loader. ``engine_dirs``: folders with further modules of engines.
        """
        self._lib = lib
        self._architecture = architecture
        self._engine_dirs = engine_dirs
        self.folder = Path()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Machine:
        sweep()
        with contextlib.ExitStack() as stack:
            try:
                self.folder = stack.enter_context(scratch.folder(_PLACE, _PREFIX))
                self._furnish()
            except OSError as error:
                raise EnvironmentFault(f"{error.filename or _PLACE}: cannot be made for a traced program: {error.strerror}") from None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _furnish(self) -> None:
        for name, content in files_of(self._architecture).items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="ascii")
        (self.folder / "lib").symlink_to(self._lib)
        # The program looks for its modules beside its own file, and the emulator reports the loader's file as that. So copy the loader: a link would
        # lead to another folder.
        loaders = sorted(self._lib.glob("ld-linux*"))
        if not loaders:
            raise EnvironmentFault(f"{self._lib}: holds no loader: the bundle is broken, remove it and make it again")
        shutil.copy(loaders[0], self.folder / self.loader)
        for modules in ("engines", "stages", "apps", "pmds"):
            (self.folder / modules).symlink_to(Path("lib") / modules)
        for number, further in enumerate(self._engine_dirs):
            (self.folder / f"further{number}").symlink_to(further.resolve())

    def words(self, program: str) -> list[str]:
        """Return the arguments of :attr:`loader` that start ``program`` of the bundle."""
        further = [word for number, _ in enumerate(self._engine_dirs) for word in ("--engine-dir", f"/further{number}")]
        return ["--library-path", "/lib", f"/lib/{program}", *further]

    def place(self, kind: str, files: Sequence[Path]) -> list[str]:
        """Link ``files`` into the machine; return the paths at which the program finds them."""
        places = []
        for number, file in enumerate(files):
            place = Path("inputs") / kind / str(number) / file.name
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).symlink_to(file.resolve())
            places.append(f"/{place}")
        return places


def sweep() -> None:
    """Remove the folders of killed processes."""
    scratch.sweep(_PLACE, f"{_PREFIX}*")
