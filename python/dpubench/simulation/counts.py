"""Counts of instructions: an engine at work between two marks, under an emulator (docs/counts.md).

As for traces, every run executes the same instructions: addresses, environment, stack, seed and machine (:mod:`._machine`) are fixed.
No instruction is decoded or recorded, so engines of any architecture that the emulator knows can be counted. Each count is repeated. That shows a
count that differs from run to run (of an engine that draws random numbers), and it is never taken for exact.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpubench import programs, scratch, traces
from dpubench.bundles import archive as bundle
from dpubench.bundles import cache as bundle_cache
from dpubench.errors import EnvironmentFault, NothingRan
from dpubench.simulation import _capture
from dpubench.simulation._machine import Machine, sweep
from dpubench.targets.qemu import CORE
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

#: File that the plugin writes (native/cores/trace/format.h): state, messages, instructions, regions.
_COUNT: Final = "count"
_WORDS: Final = "<QQQQ"
#: Number of counts that show the scatter of a count that does not repeat itself.
UNREPEATABLE_COUNTS: Final = 5
_GRACE_S: Final = 10.0


class NotCounted(EnvironmentFault):
    """The error that something has no count: its program failed, crashed, cannot run, or took too long. It does not affect other counts."""


@dataclass(frozen=True)
class Programs:
    """The native programs for an architecture, with everything that they need: an unpacked bundle."""

    architecture: str
    lib: Path  #: folder of programs, libraries and the loader
    digest: str  #: SHA-256 of the bundle's manifest, which names every file with its digest
    engine_dirs: tuple[Path, ...] = ()  #: folders with further modules of engines

    @property
    def emulator(self) -> str:
        return f"qemu-{self.architecture}"

    @property
    def cpu(self) -> str:
        """Return the emulated processor; for x86-64 the one with everything that the emulator can do."""
        return CORE[self.architecture]


def found(architecture: str, archive: Path | None, engine_dirs: Sequence[Path]) -> Programs:
    """Return the programs of ``archive``, or those of this installation for ``architecture``.

    Raises:
        NothingRan: there is no emulator or no plugin here.
        UserError, EnvironmentFault: there are no programs.
    """
    if shutil.which(f"qemu-{architecture}") is None:
        raise NothingRan(f"instructions are counted under qemu-{architecture}, which is not installed here: install the package qemu-user")
    programs.count_plugin()
    folder = bundle_cache.unpacked(archive or bundle_cache.archive(architecture))
    digest = bundle_cache.sha256(folder / "manifest.json")
    return Programs(architecture, folder / "lib", digest, tuple(engine_dirs))


def host_architecture() -> str:
    """Return the architecture of this machine as bundles name it."""
    return bundle.host_architecture()


@dataclass(frozen=True)
class Counted:
    """Instructions between the marks, counted several times."""

    instructions: tuple[int, ...]
    messages: int  #: bursts that the program began between the marks
    said: Mapping[str, Event]  #: the program's events of the first count, by name


def counted(
    what: Programs, job: Callable[[Mapping[str, Sequence[str]]], bytes], files: Mapping[str, Sequence[Path]], *, repeats: int, limit_s: float,
    stop: StopRequest | None,
) -> Counted:  # fmt: skip
    """Count ``job`` (called with the paths of its inputs, by kind) ``repeats`` times, or :data:`UNREPEATABLE_COUNTS` times if the counts differ.

    Raises:
        NotCounted: the program failed, crashed, did not verify its output, or took longer than ``limit_s``.
        Interrupted: ``stop`` was set.
    """
    messages, said, counts = 0, dict[str, Event](), list[int]()
    while len(counts) < repeats or (len(set(counts)) > 1 and len(counts) < UNREPEATABLE_COUNTS):
        number, messages, events = _count(what, job, files, limit_s, stop)
        said = said or events
        counts.append(number)
    return Counted(tuple(counts), messages, said)


def _count(
    what: Programs, job: Callable[[Mapping[str, Sequence[str]]], bytes], files: Mapping[str, Sequence[Path]], limit_s: float, stop: StopRequest | None
) -> tuple[int, int, dict[str, Event]]:
    with Machine(what.lib, what.architecture, what.engine_dirs) as machine, scratch.folder(machine.folder) as place:
        plugin = traces.plugin_words(programs.count_plugin(), {"folder": str(place)})
        emulator = traces.emulator_words(what.cpu, machine.folder, what.emulator)
        command = [*emulator, "-plugin", plugin, str(machine.loader), *machine.words(programs.OPERATORS)]
        environment = {**traces.FIXED_ENVIRONMENT, **_capture.ENVIRONMENT}
        line = job({kind: machine.place(kind, of_kind) for kind, of_kind in files.items()})
        try:
            working = traces.Running(command, environment, machine.folder, Path(programs.OPERATORS), place / _COUNT, what.emulator)
            output = working.end(line, limit_s + _GRACE_S, stop)
            said = {event["event"]: event for event in _capture.events_of(output)}
            if "failure" in said or "traced" not in said:
                raise traces.CaptureFault("the program ended without an error but reported no count", output)
            _, messages, instructions, _ = struct.unpack(_WORDS, (place / _COUNT).read_bytes())
        except traces.CaptureFault as fault:
            raise NotCounted(_capture.reason_of(fault)) from None
        except (OSError, struct.error) as error:
            raise NotCounted(f"the plugin wrote no count: {error}") from None
    return int(instructions), int(messages), said


def tidy() -> None:
    """Remove the leftovers of killed counts."""
    sweep()
