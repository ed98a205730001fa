"""Notices of third parties in a bundle: which package each library is from, in which version, and under which licence.

They are made from the files that the bundle really has. The package manager knows whose they are; Debian has the licence of each package in
``/usr/share/doc/PACKAGE/copyright``.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: The overview, and the folder of the licences.
OVERVIEW: Final = "THIRD-PARTY.txt"
FOLDER: Final = "licenses"
#: Begins the list of files without a licence in the overview.
UNKNOWN: Final = "Files that no package of the system has"
#: In a sysroot: package, its source, version and file, a line each (scripts/sysroot.sh). A running system asks dpkg instead.
LISTED: Final = ".packages"
#: Libraries of headers only: parts of them are in dpubench's own programs.
_COMPILED_IN: Final = {f"{name} (compiled in)": Path("usr/include") / name for name in ("CLI/CLI.hpp", "nlohmann/json.hpp")}
#: Texts that Debian's copyright files refer to.
_COMMON: Final = re.compile(rb"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])")
_COMMON_FOLDER: Final = Path("/usr/share/common-licenses")
#: The plugins for QEMU are under QEMU's licence; the rest of dpubench is not.
_PLUGIN_SOURCES: Final = Path("native/cores/trace/plugin")


@dataclass(frozen=True, order=True)
class Package:
    """A source package of the system, and the binary package of it that holds a file."""

    source: str
    version: str  #: of the source
    binary: str


def of(foreign: Mapping[str, Path], root: Path, repository: Path) -> dict[str, bytes]:
    """Return the notices of a bundle, by their path in it.

    Args:
        foreign: path in the bundle -> file below ``root``, for each file that is not dpubench's own
        root: the system or the sysroot that the files come from
        repository: of dpubench's sources, for its own licences
    """
    headers = {name: (root / header).resolve() for name, header in _COMPILED_IN.items() if (root / header).is_file()}
    foreign = {**foreign, **headers}
    owners = _owners(foreign.values(), root)
    packages: dict[tuple[str, str], list[str]] = {}
    unknown = []
    made: dict[str, bytes] = {}
    silent = set()
    for name, file in sorted(foreign.items()):
        if (owner := owners.get(file)) is None:
            unknown.append(f"{Path(name).name} ({file})")
            continue
        packages.setdefault((owner.source, owner.version), []).append(name if name in headers else Path(name).name)
        text = _copyright(owner, root)
        if text is None:
            silent.add(owner.binary)
        elif made.setdefault(f"{FOLDER}/{owner.source}.txt", text) != text:
            made[f"{FOLDER}/{owner.source}-{owner.binary}.txt"] = text
    for name in sorted({found.decode() for text in made.values() for found in _COMMON.findall(text)}):
        if (_COMMON_FOLDER / name).is_file():
            made[f"{FOLDER}/common/{name}"] = (_COMMON_FOLDER / name).read_bytes()
    for kept, source in (("dpubench.txt", Path("LICENSE")), ("qemu-plugins.txt", _PLUGIN_SOURCES / "LICENSE")):
        if (repository / source).is_file():
            made[f"{FOLDER}/{kept}"] = (repository / source).read_bytes()
    return {**made, OVERVIEW: _overview(packages, unknown, silent).encode()}


def _overview(packages: Mapping[tuple[str, str], list[str]], unknown: Sequence[str], silent: Iterable[str]) -> str:
    lines = [
        "Libraries and drivers of others in this folder, by the source package and version that they are from.",
        "",
        "They are unchanged, but for one text in librte_eal (the folder of the system's drivers, which is blanked out).",
        f"{FOLDER}/SOURCE.txt has the licence of each. To get its source, on the distribution of that version: apt-get source SOURCE=VERSION",
        f"Programs and modules of dpubench are under Apache-2.0 ({FOLDER}/dpubench.txt). Its plugins for QEMU, libdpubench-trace.so and",
        f"libdpubench-count.so, are under GPL-2.0-or-later ({FOLDER}/qemu-plugins.txt); their sources are in {_PLUGIN_SOURCES} of dpubench.",
        "",
        *(f"{source} {version}: {', '.join(sorted(files))}" for (source, version), files in sorted(packages.items())),
    ]
    lines += ["", f"{UNKNOWN}; their licences are not known here:", *unknown] if unknown else []
    lines += ["", f"Packages without a copyright file: {', '.join(sorted(silent))}"] if silent else []
    return "\n".join([*lines, ""])


def _owners(files: Iterable[Path], root: Path) -> dict[Path, Package]:
    """Return the package of each file that has one."""
    spelled = {spelling: file for file in files for spelling in _spellings(file, root)}
    owners = _listed(root / LISTED) if root != Path("/") else _asked(list(spelled))
    return {spelled[name]: package for name, package in owners.items() if name in spelled}


def _spellings(file: Path, root: Path) -> list[str]:
    """Return the paths under which a package manager may know ``file``: a package may say /lib where the file is found in /usr/lib."""
    path = f"/{file.relative_to(root.resolve())}" if file.is_relative_to(root.resolve()) else f"/{os.path.relpath(file, root)}"
    plain = path.removeprefix("/usr")
    return [plain, f"/usr{plain}"]


def _listed(file: Path) -> dict[str, Package]:
    """Return path -> package of a sysroot; nothing of one that older scripts made."""
    try:
        rows = [line.split(" ", 3) for line in file.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return {}
    return {path: Package(source, version, binary) for binary, source, version, path in rows}


def _asked(paths: list[str]) -> dict[str, Package]:
    """Return path -> package of this system, as dpkg knows it; nothing on a system without dpkg."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        # Its status is 1 when a path belongs to no package, and the output has the others.
        found = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, env=environment, check=False).stdout
        owners = {path: names.split(",")[0].strip() for names, _, path in (line.partition(": ") for line in found.splitlines())}
        form = "${Package} ${source:Package} ${source:Version}\n"
        words = ["dpkg-query", "-W", "-f", form, *sorted(set(owners.values()))]
        told = subprocess.run(words, capture_output=True, text=True, env=environment, check=False).stdout
    except OSError:
        return {}
    packages = {binary: Package(source, version, binary) for binary, source, version in map(str.split, told.splitlines())}
    return {path: packages[name.partition(":")[0]] for path, name in owners.items() if name.partition(":")[0] in packages}


def _copyright(package: Package, root: Path) -> bytes | None:
    try:
        return (root / "usr/share/doc" / package.binary / "copyright").read_bytes()
    except OSError:
        return None
