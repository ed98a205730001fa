"""The machine that traced programs believe to be on: the same whatever machine this is, and wherever its files lie.

The emulator looks for absolute paths below a folder first. There lie the bundle's programs (``/lib``), the inputs (``/inputs``) and the few
files by which a program learns what machine it is on: the footprint ``stream`` is four times the L2 cache that it finds. The folder is in
``/tmp`` under a name of constant length, because the emulator tells a program where its own file really is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from dpubench.errors import EnvironmentFault

#: The core that is emulated: that of the first Arm servers, which has what DPUs' cores have.
CPU: Final = "neoverse-n1"
_PLACE: Final = Path("/tmp")
_PREFIX: Final = "dpubench-traced-"
#: A folder is locked as soon as it is made; one that is not, and no newer than this, was left by a process that was killed.
_LOCKED_WITHIN_S: Final = 60.0
_CPU_FOLDER: Final = "sys/devices/system/cpu"
#: What programs read about their machine (native/protocol/machine.cpp): one core, 64 KiB of L1 and 1 MiB of L2 cache, as a Neoverse N1 has.
_FILES: Final = {
    "proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd aes pmull sha1 sha2 crc32 atomics\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
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
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "arch_sys_counter\n",
}
#: What is in it, which traces depend on.
DESCRIPTION: Final = {"cpu": CPU, "files": _FILES}


class Machine:
    """A context manager: the folder is there within it, and gone afterwards."""

    #: Starts a program of the bundle, relative to :attr:`folder`.
    loader: Final = Path("loader")

    def __init__(self, lib: Path) -> None:
        """``lib``: the folder of a bundle that holds its programs, libraries and the loader."""
        self._lib = lib
        self.folder = Path()
        self._lock = -1

    def __enter__(self) -> Machine:
        _sweep()
        try:
            self.folder = Path(tempfile.mkdtemp(dir=_PLACE, prefix=_PREFIX))
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._furnish()
        except OSError as error:
            self._leave()
            raise EnvironmentFault(f"{error.filename or _PLACE}: cannot be made for a traced program: {error.strerror}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)

    def _furnish(self) -> None:
        for name, content in _FILES.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="ascii")
        (self.folder / "lib").symlink_to(self._lib)
        # The program looks for its modules beside its own file, which is the loader's as the emulator tells it: a copy, for a link would lead away.
        loaders = sorted(self._lib.glob("ld-linux*"))
        if not loaders:
            raise EnvironmentFault(f"{self._lib}: holds no loader: the bundle is broken, remove it and make it again")
        shutil.copy(loaders[0], self.folder / self.loader)
        for modules in ("engines", "stages", "apps", "pmds"):
            (self.folder / modules).symlink_to(Path("lib") / modules)

    def words(self, program: str) -> list[str]:
        """Arguments of :attr:`loader` that start ``program`` of the bundle."""
        return ["--library-path", "/lib", f"/lib/{program}"]

    def place(self, kind: str, files: Sequence[Path]) -> list[str]:
        """The paths at which the program finds ``files``."""
        places = []
        for number, file in enumerate(files):
            place = Path("inputs") / kind / str(number) / file.name
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).symlink_to(file.resolve())
            places.append(f"/{place}")
        return places


def _sweep() -> None:
    """Removes folders of processes that were killed."""
    for folder in _PLACE.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), _locked(folder):
            if time.time() - folder.stat().st_mtime > _LOCKED_WITHIN_S:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """@raises OSError when somebody else has it"""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)
