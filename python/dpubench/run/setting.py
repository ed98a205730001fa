"""The surroundings of a run besides its plan, and its listener."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpubench.storage.runs import Event
from dpubench.targets import Target
from dpubench.workers.process import StopRequest


class Listener:
    """The observer of a run: the progress display, or nobody."""

    def event(self, event: Event) -> None:
        """Take an event of a worker."""

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        """Take the start of a round with ``windows`` expected windows; None for ``seconds_left`` means that there is no time limit."""

    def note(self, text: str) -> None:
        """Take a message that a person should read now."""


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
    heading: str = ""  #: prefix of stage messages, where several targets are at work
