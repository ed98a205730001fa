"""Launchers of MPI: the command that starts the ranks of both roles, the machines that they run on, and the environment that they need."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from dpubench.errors import UserError

Name = Literal["openmpi", "mpich", "slurm"]

#: Environment variable that marks the processes of a session, by which leftovers are found.
MARK: Final = "DPUBENCH_OFFLOAD"
#: Most machines in a file.
_MOST_LINES: Final = 65_536


@dataclass(frozen=True)
class Launcher:
    """A launcher of MPI."""

    name: Name
    title: str
    programs: tuple[str, ...]  #: names of its program, the preferred one first
    package: str  #: of Debian
    library: str  #: beginning of the name of the MPI library whose programs it starts; empty: of any


LAUNCHERS: Final[Mapping[str, Launcher]] = {
    "openmpi": Launcher("openmpi", "Open MPI", ("mpirun.openmpi", "mpirun"), "openmpi-bin", "Open MPI"),
    "mpich": Launcher("mpich", "MPICH", ("mpiexec.hydra", "mpiexec.mpich"), "mpich", "MPICH"),
    "slurm": Launcher("slurm", "Slurm", ("srun",), "slurm-client", ""),
}


@dataclass(frozen=True)
class Machine:
    """A line of a file of machines."""

    name: str
    slots: int  #: ranks that fit; 0: the file does not say


@dataclass(frozen=True)
class Ranks:
    """The ranks of a session and where they run."""

    hosts: int
    workers: int
    host_machines: Sequence[Machine] = ()  #: empty: this machine
    worker_machines: Sequence[Machine] = ()


def chosen(word: str, mpi: str) -> tuple[Launcher, str]:
    """Return the launcher that ``word`` names, and the path of its program. ``mpi``: the library of the program to start.

    Raises:
        UserError: the launcher is not installed, or starts programs of another library.
    """
    name = word if word != "auto" else "slurm" if os.environ.get("SLURM_JOB_ID") and shutil.which("srun") else _of_library(mpi)
    launcher = LAUNCHERS[name]
    if launcher.library and not mpi.startswith(launcher.library):
        raise UserError(
            f"launcher {name}: starts programs of {launcher.library}, and dpubench-offload is built with {mpi.split(',')[0]}: every rank would be "
            f"alone; name the launcher of that library (--set launcher={_of_library(mpi)})"
        )
    for program in launcher.programs:
        if found := shutil.which(program):
            return launcher, found
    raise UserError(
        f"launcher {name}: {launcher.programs[-1]} is not installed: install the package {launcher.package}, or name another launcher "
        f"(--set launcher={'|'.join(other for other in LAUNCHERS if other != name)})"
    )


def _of_library(mpi: str) -> Name:
    return "mpich" if mpi.startswith("MPICH") else "openmpi"


def machines(file: str) -> list[Machine]:
    """Return the machines in ``file``, each of which has an address. @raises UserError with file and line"""
    path = Path(file)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[:_MOST_LINES]
    except (OSError, UnicodeError) as error:
        raise UserError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found: list[Machine] = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?::(\d{1,5})|\s+slots=(\d{1,5})(?:\s+max[-_]slots=\d{1,5})?)?", text)
        if match is None:
            raise UserError(f"{file}:{number}: '{text[:60]}' is no machine: write NAME, NAME slots=N or NAME:N")
        name = match[1]
        try:
            socket.getaddrinfo(name, None)
        except OSError:
            raise UserError(f"{file}:{number}: there is no host '{name}': correct its name, or make it known in /etc/hosts or DNS") from None
        found.append(Machine(name, int(match[2] or match[3] or 0)))
    if not found:
        raise UserError(f"{file}: names no machine: write one on each line")
    return found


def check_slots(of: Sequence[Machine], ranks: int, file: str, what: str) -> None:
    """Check that ``ranks`` fit on the machines of ``file``. @raises UserError"""
    slots = sum(machine.slots for machine in of)
    if all(machine.slots for machine in of) and slots < ranks:
        raise UserError(f"{file}: has {slots} slots for {ranks} {what}: give its machines more slots, or ask for fewer {what}")


def words(launcher: Launcher, ranks: Ranks, program: str, folder: Path) -> list[str]:
    """Return the arguments of ``launcher`` that start ``ranks`` of ``program``. Its files are written into ``folder``."""
    if launcher.name == "openmpi":
        blocks = [
            ["-np", str(number), *_hostfile(of, folder / role, " slots="), program, "--role", role]
            for role, number, of in (("host", ranks.hosts, ranks.host_machines), ("worker", ranks.workers, ranks.worker_machines))
        ]
        # The program pins its ranks itself, and their number may exceed that of the cores. Local ranks have the launcher's environment.
        return ["--bind-to", "none", "--oversubscribe", *blocks[0], ":", *blocks[1]]
    if launcher.name == "mpich":
        placed = _in_order(ranks)
        where = _hostfile(placed, folder / "machines", ":") if placed else []
        where = ["-f", *where[1:]] if where else []
        blocks = [["-n", str(number), program, "--role", role] for role, number in (("host", ranks.hosts), ("worker", ranks.workers))]
        return ["-bind-to", "none", *where, *blocks[0], ":", *blocks[1]]
    return [*_srun(ranks, folder), "--multi-prog", str(_multi_prog(ranks, program, folder / "roles"))]


def _hostfile(of: Sequence[Machine], file: Path, before_slots: str) -> list[str]:
    """Write a file of machines; return the option that names it. Without machines it is nothing."""
    if not of:
        return []
    file.write_text("".join(f"{m.name}{before_slots}{m.slots}\n" if m.slots else f"{m.name}\n" for m in of), encoding="utf-8")
    return ["--hostfile", str(file)]


def _in_order(ranks: Ranks) -> list[Machine]:
    """Return machines with as many slots as ranks run there: those of the hosts first, as the ranks are numbered."""
    return [*_filled(ranks.host_machines, ranks.hosts), *_filled(ranks.worker_machines, ranks.workers)]


def _filled(of: Sequence[Machine], ranks: int) -> list[Machine]:
    """Return the machines that ``ranks`` fill: each as many as it has slots, or an even share where the file does not say."""
    found: list[Machine] = []
    left = ranks
    for place, machine in enumerate(of):
        share = machine.slots or -(-left // (len(of) - place))
        if take := min(share, left):
            found.append(Machine(machine.name, take))
        left -= take
    return found


def _srun(ranks: Ranks, folder: Path) -> list[str]:
    total = ranks.hosts + ranks.workers
    options = ["-n", str(total), "--mpi=pmix", "--cpu-bind=none", "--kill-on-bad-exit=1", "--input=0", "--unbuffered"]
    if placed := _in_order(ranks):
        file = folder / "machines"
        file.write_text("".join(f"{m.name}\n" * m.slots for m in placed), encoding="utf-8")
        options += ["--distribution=arbitrary", f"--nodelist={file}"]
    return options


def _multi_prog(ranks: Ranks, program: str, file: Path) -> Path:
    """Write the configuration of ``srun --multi-prog``: which ranks have which role."""

    def span(first: int, number: int) -> str:
        return str(first) if number == 1 else f"{first}-{first + number - 1}"

    file.write_text(f"{span(0, ranks.hosts)} {program} --role host\n{span(ranks.hosts, ranks.workers)} {program} --role worker\n", encoding="utf-8")
    return file


def environment(launcher: Launcher, folder: Path, mark: str, *, is_here: bool) -> dict[str, str]:
    """Return the variables that a launcher and its ranks need.

    Where all ranks run on this machine, files of theirs that a kill would leave behind go into ``folder``.
    """
    found = {MARK: mark, **({"UCX_POSIX_DIR": str(folder)} if is_here else {})}
    if launcher.name == "openmpi":
        if "OMPI_MCA_pml" not in os.environ:
            found["OMPI_MCA_pml"] = "ob1"  # keeps MPI's own traffic out of the way of UCX
        if is_here:
            found |= {"OMPI_MCA_orte_tmpdir_base": str(folder), "OMPI_MCA_btl_vader_backing_directory": str(folder)}
        if os.geteuid() == 0:
            found |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return found
