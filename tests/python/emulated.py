"""What emulated machines are made of, and what they leave behind."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from dpubench.emulation.images import Images

ARCHITECTURE = "aarch64"


def cache_with(made: Images, cache: Path) -> Path:
    """Make a cache folder that has the images ``made`` already; return its part for machines."""
    place = cache / "dpubench" / "machines"
    place.mkdir(parents=True, exist_ok=True)
    for folder in {made.kernel.parent, *(archive.parent for archive in made.archives)}:
        if not (place / folder.name).exists():
            (place / folder.name).symlink_to(folder)
    return place


def emulators(of: Path) -> list[int]:
    """Return the processes of emulators (and of starters that become one) whose machines have their files below ``of``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"-initrd" in words and words[words.index(b"-initrd") + 1].startswith(bytes(of)):
                    found.append(int(entry.name))
    return found


def gone(cache: Path, within_s: float = 10.0) -> bool:
    """Return whether no emulator runs, at the latest after ``within_s``."""
    given_up = time.monotonic() + within_s
    while emulators(cache) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not emulators(cache)


def left(cache: Path) -> list[Path]:
    return list((cache / "running").iterdir()) if (cache / "running").is_dir() else []


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}
