"""What a run works with besides its plan, and who watches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpubench.results.store import Event
from dpubench.targets import Target
from dpubench.workers.process import StopRequest


class Listener:
    """Who watches a run: the progress display, or nobody."""

    def event(self, event: Event) -> None:
        """Every event of a worker."""

    def stage(self, text: str, windows: int, seconds_left: float | None) -> None:
        """A round begins that is expected to bring ``windows`` windows; None: it takes as long as it takes."""

    def note(self, text: str) -> None:
        """Something a person should read now."""


@dataclass
class Setting:
    """What a run works with besides its plan."""

    target: Target  #: open
    program: str  #: path there
    cpus: list[int]
    cache_directory: str  #: there
    stop: StopRequest
    listener: Listener
    engine_dirs: Sequence[Path] = ()
    against: Path | None = None
    #: (operator, engine) -> why the other build has nothing that may be set against ours; those that it has are not in it
    against_lacks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    layouts: Mapping[str, int] = field(default_factory=dict)  #: build -> how many code layouts it has; 1 where it is not named
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: Sequence[str] = ()  #: that device engines may use: PCI addresses or DPDK virtual devices
    heading: str = ""  #: begins what is told of its stages, where several targets are at work
