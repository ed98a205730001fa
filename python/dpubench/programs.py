"""The locations of the native programs."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dpubench.errors import NothingRan, UserError

OPERATORS = "dpubench-operators"
AGENT = "dpubench-agent"
SERVER = "dpubench-server"
TRAFFIC = "dpubench-traffic"
CORES = "dpubench-cores"
APPLICATIONS = "dpubench-applications"
WORKLOADS = "dpubench-workloads"
TOOL = "dpubench-tool"
LINK = "dpubench-link"
HEADROOM = "dpubench-headroom"
OFFLOAD = "dpubench-offload"
TRACE_PLUGIN = "libdpubench-trace.so"
COUNT_PLUGIN = "libdpubench-count.so"
#: Folder beside a program, with its further code layouts ``1``, ``2``, ...: the same functions, linked in other orders.
LAYOUTS = "layouts"


def directory() -> Path:
    """Return the folder of the native programs.

    It is ``$DPUBENCH_PROGRAMS``, else ``build/`` of this package's repository, else ``native`` in the package, where a wheel has them.
    """
    if named := os.environ.get("DPUBENCH_PROGRAMS"):
        return Path(named)
    sources = repository()
    if (sources / "native").is_dir():
        build = sources / "build"
        return next((d for d in (build, build / "native") if (d / OPERATORS).is_file()), build)
    return Path(__file__).with_name("native")


def repository() -> Path:
    """Return the folder of this package's repository; without sources, as in an installation, it holds none of them."""
    return Path(__file__).resolve().parents[2]


def documentation(page: str) -> Path | None:
    """Return ``page`` of the documentation (``methodology.md``): of the repository, else of the installed package; None where it is in neither."""
    places = (repository() / "docs", Path(sys.prefix) / "share/doc/dpubench")
    return next((folder / page for folder in places if (folder / page).is_file()), None)


def operators_program(build: Path | None = None) -> Path:
    """Return the program ``dpubench-operators`` of ``build`` (a folder or the program itself); None: of this installation.

    Raises:
        UserError: with the place and a way to get it.
    """
    if build is None:
        program = directory() / OPERATORS
    elif build.is_dir():
        program = next((p for p in (build / OPERATORS, build / "native" / OPERATORS, build / "build" / OPERATORS) if p.is_file()), build / OPERATORS)
    else:
        program = build
    if not program.is_file():
        remedy = (
            "give --against a build folder or a program"
            if build is not None
            else "run `make build`, or set DPUBENCH_PROGRAMS to the folder that holds it"
        )
        raise UserError(f"{program}: there is no such program: {remedy}")
    if not os.access(program, os.X_OK):
        raise UserError(f"{program}: is not executable: chmod +x it, or build it again")
    return program.resolve()


def find(name: str) -> Path:
    """Return the native program ``name`` of this installation. @raises UserError when it is not there"""
    if name == OPERATORS:
        return operators_program()
    return agent_program() if name == AGENT else installed(name, "an MPI library and UCX" if name == OFFLOAD else "DPDK")


def in_layout(program: str, layout: int) -> str:
    """Return ``program``, a path or a bundle's name, in one of its code layouts; layout 0 is the program itself."""
    folder, slash, name = program.rpartition("/")
    return program if layout == 0 else f"{folder}{slash}{LAYOUTS}/{layout}/{name}"


def layouts(program: Path) -> int:
    """Return the number of code layouts of ``program`` on this machine; 1 without further ones, as in builds of earlier versions."""
    return next(n for n in itertools.count(1) if not Path(in_layout(str(program), n)).is_file())


def agent_program(build: Path | None = None) -> Path:
    """Return the program ``dpubench-agent`` beside the other. @raises UserError when it is not there"""
    program = operators_program(build).with_name(AGENT)
    if not program.is_file():
        raise UserError(f"{program}: there is no such program: the build is too old: run `make build`")
    return program


def server_program() -> Path:
    """Return the program ``dpubench-server`` of this installation. @raises UserError when it is not there"""
    return installed(SERVER, "DPDK")


def trace_plugin() -> Path:
    """Return this installation's tracing plugin for QEMU. @raises UserError when it is not there"""
    return installed(TRACE_PLUGIN, "libzstd", "tracing plugin")


def count_plugin() -> Path:
    """Return this installation's plugin for QEMU that counts instructions. @raises NothingRan when it is not there"""
    return installed(COUNT_PLUGIN, "libzstd", "counting plugin", NothingRan)


def installed(name: str, needs: str, plugin: str = "", fault: type[UserError] = UserError) -> Path:
    """Return file ``name`` of this installation: a program, or a ``plugin``. It is built where ``needs`` is installed.

    @raises UserError (or ``fault``) when it is not there, or when a program is not executable
    """
    file = directory() / name
    if not file.is_file():
        what = plugin or "such program"
        raise fault(f"{file}: there is no {what}: run `make build` on a machine with {needs}, or set DPUBENCH_PROGRAMS to its folder")
    if not plugin and not os.access(file, os.X_OK):
        raise UserError(f"{file}: is not executable: chmod +x it, or build it again")
    return file.resolve()


def options(engine_dirs: Sequence[Path], devices: Sequence[str]) -> list[str]:
    """Return options of ``dpubench-operators`` for folders with further modules and for the devices of its engines."""
    return [word for d in engine_dirs for word in ("--engine-dir", str(d))] + [word for d in devices for word in ("--device", d)]


def cache_directory() -> Path:
    """Return the folder of converted inputs and compiled artefacts: ``$XDG_CACHE_HOME/dpubench`` or ``~/.cache/dpubench``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dpubench"
