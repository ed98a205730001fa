"""Folders of results that can be had again: entries are named by what they were made of, and those not used for longest make room.

A file is read at once. A folder that is used for longer is held: a lock on it, which goes with its process, keeps everybody from removing it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from dpubench import scratch

_READ_BYTES: Final = 1 << 20


def digest_of(value: Any) -> str:
    """SHA-256 of what ``value`` is as JSON, whatever the order of its keys."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def digest_of_files(*files: Path) -> str:
    """SHA-256 over the files one after another, each preceded by its length. @raises OSError"""
    digest = sha256()
    for file in files:
        with file.open("rb") as opened:
            digest.update(f"{os.fstat(opened.fileno()).st_size}\n".encode())
            while block := opened.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Puts ``value`` into ``file`` at once or not at all. @raises OSError"""
    scratch.write(file, json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def used(entry: Path) -> None:
    """Marks ``entry`` as used now."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def hold(folder: Path) -> int | None:
    """Keeps ``folder`` from being removed, by any process, until the descriptor returned is closed. None: there is no such folder.

    Raises:
        OSError: it cannot be locked.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    held = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # Between its opening and the lock it may have been removed, and another one made.
        held = os.path.samestat(os.fstat(descriptor), folder.stat())
    except (BlockingIOError, FileNotFoundError):  # it is being removed
        pass
    finally:
        if not held:
            os.close(descriptor)
    return descriptor if held else None


def prune(folder: Path, most_bytes: int) -> None:
    """Removes the entries of ``folder`` that were not used for longest until the others fit ``most_bytes``, except those that are held.

    An entry is a file or a folder of files. What killed processes left half made goes in any case.
    """
    scratch.sweep(folder)
    # Two at once would each remove what the other counts on.
    with contextlib.suppress(OSError), scratch.locked(folder, fcntl.LOCK_NB):
        _make_room(folder, most_bytes)


def _make_room(folder: Path, most_bytes: int) -> None:
    entries = []
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            with contextlib.suppress(OSError):
                if not any(entry.match(pattern) for pattern in scratch.HALF_MADE):
                    entries.append((entry.stat().st_mtime, _bytes(entry), entry))
    total = sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries):
        if total <= most_bytes:
            return
        if _removed(entry):
            total -= size


def remove(entry: Path) -> None:
    """Removes a file or folder so that nobody finds half of it."""
    with contextlib.suppress(OSError):
        if entry.is_dir():
            with scratch.folder(entry.parent) as gone:
                entry.rename(gone / entry.name)
        else:
            entry.unlink()


def _removed(entry: Path) -> bool:
    """Removes ``entry`` unless it is held. Whether it did."""
    with contextlib.suppress(OSError), scratch.locked(entry, fcntl.LOCK_NB):
        remove(entry)
        return True
    return False


def _bytes(entry: Path) -> int:
    return sum(file.stat().st_size for file in entry.iterdir()) if entry.is_dir() else entry.stat().st_size
