"""The surroundings of a run besides its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpubench.run.listener import Listener
from dpubench.targets import Target
from dpubench.workers.process import StopRequest


@dataclass
class Setting:
    """The surroundings of a run besides its plan."""

    target: Target  #: an open target
    program: str  #: path on the target
    cpus: list[int]
    cache_directory: str  #: path on the target
    stop: StopRequest
    listener: Listener
    engine_dirs: Sequence[Path] = ()
    against: Path | None = None
    #: (operator, engine) -> why the other build has nothing comparable with this one; engines that it has are not in it
    against_lacks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    layouts: Mapping[str, int] = field(default_factory=dict)  #: build -> number of its code layouts; 1 for a build not named here
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: Sequence[str] = ()  #: devices for device engines: PCI addresses or DPDK virtual devices
