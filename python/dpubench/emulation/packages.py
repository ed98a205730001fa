"""Debian packages of another architecture, downloaded with an apt state of its own: without root, and without a change to this system's packages.

apt uses this system's package sources, or those in a given file, and checks signatures and checksums as always. The packages are unpacked by whoever
asks for them, and never installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpubench.errors import EnvironmentFault, UserError

#: Debian's names of architectures.
DEBIAN: Final = {"aarch64": "arm64", "x86_64": "amd64"}
#: Seconds for one command of apt. Each download that stalls ends much earlier.
_LIMIT_S: Final = 1800.0
_STALLED_S: Final = 30
#: Settings of this system that apt keeps here: those by which it reaches its sources (proxies, dates). The others may name commands to run.
_KEPT: Final = re.compile(r"Acquire::(?!IndexTargets|Languages)")


class Apt:
    """An apt state in a folder.

    Args:
        folder: an empty folder, which the caller removes
        architecture: such as ``aarch64``
        sources: a file of package sources (sources.list(5)); None: this system's

    Raises:
        UserError: this system has no apt, or the file cannot be read.
        EnvironmentFault: the lists of packages cannot be fetched.
    """

    def __init__(self, folder: Path, architecture: str, sources: Path | None) -> None:
        for tool in ("apt-get", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise UserError(f"{tool} is not installed here: an emulated machine is made of Debian packages, and needs a system with apt")
        self._architecture = DEBIAN[architecture]
        self._folder = folder
        self._fetched = 0
        for made in ("lists/partial", "cache", "log"):
            (folder / made).mkdir(parents=True)
        (folder / "status").touch()
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True, timeout=_LIMIT_S)
        settings = {
            "Acquire::Languages": "none", "Acquire::Retries": "2", "Acquire::http::Timeout": str(_STALLED_S),
            "Acquire::https::Timeout": str(_STALLED_S), "APT::Architecture": self._architecture, "APT::Architectures": self._architecture,
            "APT::Install-Recommends": "false", "APT::Sandbox::User": "root", "Dir::Cache": str(folder / "cache"), "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": "/dev/null", "Dir::Log": str(folder / "log"), "Dir::State": str(folder), "Dir::State::lists": str(folder / "lists"),
            "Dir::State::status": str(folder / "status"),
        }  # fmt: skip
        if sources is not None:
            if not os.access(sources, os.R_OK):
                raise UserError(f"{sources}: this file of package sources cannot be read")
            # apt tells the two formats apart by the ending.
            name = "given.sources" if re.search(r"^Types:", sources.read_text(encoding="utf-8", errors="replace"), re.MULTILINE) else "given.list"
            (folder / name).write_bytes(sources.read_bytes())
            settings |= {"Dir::Etc::sourcelist": str(folder / name), "Dir::Etc::sourceparts": "/dev/null"}
        kept = [line for line in dump.stdout.splitlines() if _KEPT.match(line)]
        (folder / "apt.conf").write_text("\n".join([*kept, *(f'{key} "{value}";' for key, value in settings.items()), ""]), encoding="utf-8")
        self._environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
        self._told = self._run("apt-get", "update").stderr  # a source without this architecture is no failure; a missing package is

    def needed(self, name: str) -> list[str]:
        """Return the packages that ``name`` depends on directly. @raises EnvironmentFault the sources do not have it"""
        self._check([name])
        told = self._run("apt-cache", "depends", "--important", name).stdout
        return re.findall(r"^ +\|?(?:Pre)?Depends: (\S+)", told, re.MULTILINE)

    def fetch(self, names: Sequence[str], *, alone: bool = False) -> list[Path]:
        """Download packages and all that they need, or them ``alone``; return the files. @raises EnvironmentFault"""
        self._check(names)
        self._fetched += 1
        archives = self._folder / f"archives{self._fetched}"
        archives.mkdir()
        if not alone:
            told = self._run("apt-get", "install", "--simulate", *names).stdout
            names = re.findall(r"^Inst (\S+) ", told, re.MULTILINE)
        # `apt-get install --download-only` would leave out packages that lie on this machine (file:).
        self._run("apt-get", "download", *names, folder=archives)
        return sorted(archives.glob("*.deb"))

    def source(self, name: str) -> list[Path]:
        """Download the files of a source package. @raises EnvironmentFault the sources have none (deb-src)"""
        self._fetched += 1
        files = self._folder / f"archives{self._fetched}"
        files.mkdir()
        self._run("apt-get", "source", "--download-only", name, folder=files)
        return sorted(files.iterdir())

    def _check(self, names: Sequence[str]) -> None:
        missing = [name for name in names if not self._run("apt-cache", "show", name, check=False).stdout]
        if not missing:
            return
        said = _reason(self._told)
        raise EnvironmentFault(
            f"the package sources here have no {', '.join(missing)} for {self._architecture}"
            + (f" ({said}): check the network" if said else ": name sources of Debian that have it with sources=FILE")
        )

    def _run(self, *words: str, folder: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                words, cwd=folder, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise EnvironmentFault(f"`{' '.join(words[:2])}` did not end within {_LIMIT_S:.0f} s: check the network") from None
        if check and done.returncode != 0:
            raise EnvironmentFault(f"`{' '.join(words[:2])}` failed: {_reason(done.stderr) or f'status {done.returncode}'}")
        return done


def _reason(errors: str) -> str:
    """Return apt's first message of a failed download or of an error; empty without one."""
    found = re.search(r"^[EW]: (.*(?:Failed|Unable|Could not|Temporary failure|cannot|No space).*)", errors, re.MULTILINE)
    return found[1].strip() if found else ""
