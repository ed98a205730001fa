"""Relocatable archives of the native programs, with engines, libraries and the loader, for any Linux of an architecture.

A bundle brings its own C library, so that the target's may be older or newer. The target needs a kernel that this C library supports (3.2 or later)
and ``/bin/sh``.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from dpubench import __version__, programs
from dpubench.bundles import notices
from dpubench.errors import EnvironmentFault, UserError

ARCHITECTURES: Final = ("aarch64", "x86_64")
#: e_machine by architecture (gABI, "ELF Header").
_MACHINE: Final = {"aarch64": "EM_AARCH64", "x86_64": "EM_X86_64"}
#: Largest page of an architecture's kernels: the loader maps each part of a file at a multiple of it.
_LARGEST_PAGE: Final = {"aarch64": 1 << 16}
#: Drivers of DPDK that engines and ports load: devices of the five kinds (those of qat are in ``common``), the buses that find them, and pools of
#: packets, some for one network card only. Libraries that they need are found as usual. Drivers that only combine or replace other ports are left
#: out.
_DRIVERS: Final = re.compile(
    r"librte_(compress_\w+|crypto_\w+|dma_\w+|regex_\w+|net_(?!bond|failsafe|ipn3ke|softnic|vdev_netvsc)\w+|common_qat|bus_(auxiliary|pci|vdev)"
    r"|mempool_\w+)\.so\.\d+\.\d+"
)
#: The folder of drivers that DPDK was compiled with (RTE_EAL_PMD_PATH), as its library holds it.
_DRIVER_FOLDER: Final = re.compile(rb"/[!-~]*dpdk[!-~]*pmds[!-~]*(?=\0)")

#: Folders called `bpf` in the text of libxdp: the folder of its programs for the kernel (BPF_OBJECT_PATH), and one of the kernel's file system.
_XDP_FOLDERS: Final = re.compile(rb"/[!-~]+/bpf(?=\0)")

#: The file that names every other file of a bundle with its SHA-256.
MANIFEST: Final = "manifest.json"
#: Scripts that start a program of the bundle.
_SCRIPTS: Final = {"run": programs.OPERATORS, "agent": programs.AGENT, "server": programs.SERVER, "traffic": programs.TRAFFIC}
#: Folders of modules, beside the programs.
_MODULES: Final = ("engines", "stages", "apps")
#: Starts the loader of the bundle, which looks for libraries in the bundle first. The program finds its modules beside itself.
_RUN: Final = """\
#!/bin/sh
lib=$(dirname "$(readlink -f "$0")")/lib
exec "$lib/{loader}" --library-path "$lib" "$lib/{program}" "$@"
"""
#: The same for a code layout, which has its own folder as in a build.
_RUN_LAYOUT: Final = """\
#!/bin/sh
lib=$(dirname "$(readlink -f "$0")")/../../lib
exec "$lib/{loader}" --library-path "$lib/{layout}:$lib" "$lib/{layout}/{program}" "$@"
"""


@dataclass
class Bundle:
    """An archive that was written."""

    path: Path
    architecture: str
    sha256: str  #: digest of the archive; it depends on the files only, not on time or place
    files: dict[str, str] = field(default_factory=dict)  #: path in the bundle -> SHA-256

    def record(self) -> dict[str, Any]:
        """Return the record for ``--json``."""
        return {"path": str(self.path), "architecture": self.architecture, "sha256": self.sha256, "bytes": self.path.stat().st_size,
                "files": self.files}  # fmt: skip


def host_architecture() -> str:
    """Return this machine's architecture, by its name in bundles."""
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())


def build(architecture: str) -> Path:
    """Compile the programs for ``architecture`` and return the build folder; an installed wheel has those of its own architecture.

    Raises:
        UserError: there are no sources.
        EnvironmentFault: compiling failed.
    """
    repository = programs.repository()
    if architecture == host_architecture() and (programs.directory() / MANIFEST).is_file():
        return programs.directory()
    if not (repository / "scripts" / "cross.sh").is_file():
        raise UserError("there are no sources to compile the bundle from: run this from a clone of the repository, or give a build with --build")
    folder = repository / f"build-bundle-{architecture}"
    words = ["scripts/build.sh", str(folder)] if architecture == host_architecture() else ["scripts/cross.sh", architecture, str(folder)]
    if _run(words, repository) != 0:
        raise EnvironmentFault(f"{' '.join(words)}: failed; the reason is above")
    return folder


def _run(words: Sequence[str], folder: Path) -> int:
    """Run a command and return its exit status. If this process is interrupted, end the command and its children."""
    # Its output is for the person, not for the reader of --json.
    with subprocess.Popen(words, cwd=folder, stdout=sys.stderr.fileno(), stdin=subprocess.DEVNULL, start_new_session=True) as command:
        try:
            return command.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGTERM)
            raise


def pack(build_folder: Path, architecture: str, output: Path) -> Bundle:
    """Write the programs of a build, with all that they need, to ``output`` (tar, gzip).

    Libraries come from this system, or for another architecture from the sysroot beside the build. The programs of an installed wheel are a bundle
    already.

    Raises:
        UserError: there is no such build, a library is missing, or a file is of another architecture.
    """
    if not os.access(output.absolute().parent, os.W_OK):
        raise EnvironmentFault(f"{output}: cannot be written: check the folder's permissions")
    native = programs.operators_program(build_folder).parent
    contents = _installed(native, architecture) if (native / MANIFEST).is_file() else collected(build_folder, architecture)
    data = _archive(folder_name(architecture), contents)
    temporary = output.with_name(output.name + f".{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(output)
    except OSError as error:
        raise EnvironmentFault(f"{output}: cannot be written: {error.strerror}") from None
    finally:  # also after Ctrl-C; after the rename there is nothing to remove
        temporary.unlink(missing_ok=True)
    return Bundle(output, architecture, hashlib.sha256(data).hexdigest(), json.loads(contents[MANIFEST])["files"])


def _installed(native: Path, architecture: str) -> dict[str, bytes]:
    """Return the files of the bundle in ``native``. @raises UserError when it is of another architecture or was changed"""
    manifest = json.loads((native / MANIFEST).read_bytes())
    if manifest["architecture"] != architecture:
        raise UserError(f"{native}: the installed programs are not for {architecture}, but for {manifest['architecture']}")
    contents = {MANIFEST: (native / MANIFEST).read_bytes()}
    for name, digest in manifest["files"].items():
        try:
            contents[name] = (native / name).read_bytes()
        except OSError as error:
            raise UserError(f"{native / name}: {error.strerror}: install dpubench again") from None
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            raise UserError(f"{native / name}: was changed after the installation: install dpubench again")
    return contents


def collected(build_folder: Path, architecture: str, more: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files of a bundle of a build, by their path in it: programs (``more`` beside the usual ones), libraries, notices, manifest.

    Raises:
        UserError: there is no such build, a library is missing, or a file is of another architecture.
    """
    program = programs.operators_program(build_folder)
    native = program.parent
    root = Path("/") if architecture == host_architecture() else build_folder.absolute().parent / f"build-sysroot-{architecture}"
    modules = [file for folder in _MODULES for file in sorted((native / folder).glob("*"))]
    # A build without DPDK lacks the programs of the end-to-end study; older builds have fewer programs.
    names = (
        programs.SERVER, programs.TRAFFIC, programs.WORKLOADS, programs.APPLICATIONS, programs.HEADROOM, programs.TOOL, programs.LINK, *more
    )  # fmt: skip
    others = [native / name for name in names]
    layouts = [program.with_name(programs.LAYOUTS) / str(n) for n in range(1, programs.layouts(program))]
    placed_anew = [f for folder in layouts for f in (folder / program.name, *sorted(folder.glob("*.so")), *sorted(folder.glob("engines/*.so")))]
    own = [program, programs.agent_program(build_folder), *others, *sorted(native.glob("*.so*")), *modules, *placed_anew]
    placed = {f"lib/{file.relative_to(native)}": file for file in own if file.is_file()}
    closure = _Closure(architecture, root, {file.name: file for file in placed.values()})
    for file in list(placed.values()):
        if file.suffix != ".missing":
            closure.add(file)
    dpdk = [name for name in closure.libraries if name.startswith("librte_eal.so")]
    drivers = [driver for name in dpdk for driver in _drivers(closure.libraries[name], root)]
    for driver in drivers:
        closure.add(driver)
    # A library that one driver needs of another is bundled once only: a driver loaded from two places would register twice.
    needed = set(closure.libraries.values())
    foreign = {f"lib/{name}": file for name, file in closure.libraries.items()}
    foreign |= {f"lib/pmds/{driver.name}": driver for driver in drivers if driver not in needed}
    if xdp := [file for name, file in closure.libraries.items() if name.startswith("libxdp.so")]:
        foreign |= {f"lib/bpf/{file.name}": file for file in _xdp_objects(xdp[0], root)}
    placed |= foreign
    if not closure.loader:
        raise UserError(f"{program}: the program names no loader: it is not dynamically linked")
    contents = {name: file.read_bytes() for name, file in placed.items()}
    started = {script: name for script, name in {**_SCRIPTS, "run": program.name}.items() if f"lib/{name}" in placed}
    contents |= {script: _RUN.format(loader=closure.loader, program=name).encode() for script, name in started.items()}
    for folder in (f"{programs.LAYOUTS}/{layout.name}" for layout in layouts):
        contents[f"{folder}/run"] = _RUN_LAYOUT.format(loader=closure.loader, layout=folder, program=program.name).encode()
    for name in dpdk:
        # Otherwise it would load the drivers of the target's system too, beside those of the bundle and on the bundle's C library.
        contents[f"lib/{name}"] = _DRIVER_FOLDER.sub(lambda path: bytes(len(path[0])), contents[f"lib/{name}"])
    contents |= notices.of(foreign, root, programs.repository())
    files = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}
    manifest = {"schema": "dpubench.bundle/1", "version": __version__, "architecture": architecture, "files": files}
    contents[MANIFEST] = json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n"
    return contents


def starters(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return scripts that start the programs of a bundle of ``contents`` under their own names, beside its ``lib`` and in its code layouts."""
    loader = next(Path(name).name for name in contents if re.fullmatch(r"lib/ld-linux[^/]*\.so\.\d+", name))
    # The digest makes the scripts of two builds differ, so that nothing kept for one is taken for the other.
    mark = f"# bundle {hashlib.sha256(contents[MANIFEST]).hexdigest()}\n"
    made = {}
    for name in contents:
        if found := re.fullmatch(r"lib/(dpubench-[a-z]+)", name):
            made[found[1]] = _RUN.format(loader=loader, program=found[1]) + mark
        elif found := re.fullmatch(rf"lib/({programs.LAYOUTS}/\d+)/(dpubench-[a-z]+)", name):
            made[f"{found[1]}/{found[2]}"] = _RUN_LAYOUT.format(loader=loader, layout=found[1], program=found[2]) + mark
    return {name: text.encode() for name, text in made.items()}


def is_executable(name: str) -> bool:
    """Return whether the file ``name`` of a bundle is executable: a script, a program or a library."""
    is_script = name in _SCRIPTS or re.fullmatch(rf"(?:{programs.LAYOUTS}/\d+/)?(?:run|dpubench-[a-z]+)", name) is not None
    return is_script or (name.startswith("lib/") and not name.endswith(".missing"))


def _archive(folder: str, contents: dict[str, bytes]) -> bytes:
    """Return a tar archive that does not depend on the time or the user of its making."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            entry.mode = 0o755 if is_executable(name) else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def _drivers(eal: Path, root: Path) -> list[Path]:
    """Return the drivers that this DPDK would load, which no file names as needed; none where DPDK has no folder of drivers."""
    folder = _DRIVER_FOLDER.search(eal.read_bytes())
    if folder is None:
        return []
    files = (root / os.fsdecode(folder[0]).lstrip("/")).glob("librte_*")
    return sorted({file.resolve() for file in files if _DRIVERS.fullmatch(file.name)})


def _xdp_objects(library: Path, root: Path) -> list[Path]:
    """Return the programs of AF_XDP sockets that libxdp loads into the kernel at run time, which no file names as needed; empty without any."""
    folders = {root / os.fsdecode(found[0]).lstrip("/") for found in _XDP_FOLDERS.finditer(library.read_bytes())}
    return sorted(file for folder in folders for file in folder.glob("xsk_def_xdp_prog*.o"))


class _Closure:
    """The libraries that files need, directly and indirectly (DT_NEEDED), and the loader (PT_INTERP)."""

    def __init__(self, architecture: str, root: Path, own: dict[str, Path]) -> None:
        self.libraries: dict[str, Path] = {}
        self.loader = ""
        self._architecture = architecture
        self._root = root
        self._own = own
        self._folders = [
            root / folder / triplet
            for folder in ("usr/local/lib", "lib", "usr/lib", "lib64", "usr/lib64")
            for triplet in (f"{architecture}-linux-gnu", "")
        ]

    def add(self, file: Path) -> None:
        for name, kind in self._names(file):
            if kind == "loader":
                self.loader = self.loader or name
            if name not in self._own and name not in self.libraries:
                self.libraries[name] = self._find(name, file)
                self.add(self.libraries[name])

    def _names(self, file: Path) -> Iterator[tuple[str, str]]:
        try:
            with file.open("rb") as stream:
                elf = ELFFile(stream)
                if elf["e_machine"] != _MACHINE[self._architecture]:
                    raise UserError(f"{file}: this file is not for {self._architecture}, but for {elf.get_machine_arch()}")
                for segment in elf.iter_segments():
                    if segment["p_type"] == "PT_LOAD" and segment["p_align"] < _LARGEST_PAGE.get(self._architecture, 0):
                        raise UserError(
                            f"{file}: this file cannot be loaded where pages have 64 KiB, as on BlueField's newer images: its parts lie "
                            f"{segment['p_align']} B apart; link it with -z max-page-size=65536"
                        )
                    if isinstance(segment, InterpSegment):
                        yield Path(segment.get_interp_name()).name, "loader"
                    elif isinstance(segment, DynamicSegment):
                        # pyelftools sets this attribute at run time, for this kind of tag only.
                        yield from [(str(vars(tag)["needed"]), "library") for tag in segment.iter_tags("DT_NEEDED")]
        except OSError as error:
            raise UserError(f"{file}: {error.strerror}: build first, or give a build with --build") from None
        except ELFError as error:
            raise UserError(f"{file}: this file is neither a program nor a library: {error}") from None

    def _find(self, name: str, needed_by: Path) -> Path:
        for folder in self._folders:
            if (folder / name).exists():
                return (folder / name).resolve()
        raise UserError(f"{needed_by.name} needs {name}, which is nowhere under {self._root}: install the package that has it, or build anew")


def folder_name(architecture: str) -> str:
    """Return the folder that an archive unpacks to."""
    return f"dpubench-{__version__}-{architecture}"


def drivers(files: Sequence[str]) -> int:
    """Return the number of drivers of DPDK in a bundle of ``files``, except those that others need."""
    return sum(f.startswith("lib/pmds/") for f in files)


def layouts(files: Sequence[str]) -> int:
    """Return the number of code layouts in a bundle of ``files``."""
    return 1 + sum(re.fullmatch(rf"{programs.LAYOUTS}/\d+/run", f) is not None for f in files)


def engines(files: Sequence[str]) -> tuple[int, int]:
    """Return the number of engine modules in a bundle of ``files``, and the number of absent ones, which it names with the reason."""
    modules = [f for f in files if f.startswith(("lib/engines/", "lib/stages/"))]
    missing = sum(f.endswith(".missing") for f in modules)
    return len(modules) - missing, missing
