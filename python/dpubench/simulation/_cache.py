"""Cache folders. The name of an entry is a digest of everything that it was made from. The least recently used entries are removed first.

A file is read at once. A folder in longer use is held: a lock prevents its removal by any process, and ends with the process that holds it.
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
    """Return the SHA-256 of ``value`` as JSON, independent of the order of its keys."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def digest_of_files(*files: Path) -> str:
    """Return the SHA-256 over the files one after another, each preceded by its length. @raises OSError"""
    digest = sha256()
    for file in files:
        with file.open("rb") as opened:
            digest.update(f"{os.fstat(opened.fileno()).st_size}\n".encode())
            while block := opened.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write ``value`` to ``file`` atomically. @raises OSError"""
    scratch.write(file, json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def used(entry: Path) -> None:
    """Mark ``entry`` as used now."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def hold(folder: Path) -> int | None:
    """Lock ``folder`` against removal by any process; return the descriptor that holds the lock until it is closed.

    Return None if there is no such folder, or if it is being removed.

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
        # Between the opening and the lock, another process may have replaced the folder.
        held = os.path.samestat(os.fstat(descriptor), folder.stat())
    except (BlockingIOError, FileNotFoundError):  # another process is removing it
        pass
    finally:
        if not held:
            os.close(descriptor)
    return descriptor if held else None


def prune(folder: Path, most_bytes: int) -> None:
    """Remove the least recently used entries of ``folder`` until the others fit ``most_bytes``. Keep held entries.

    An entry is a file or a folder of files. Unfinished entries of killed processes are removed in any case.
    """
    scratch.sweep(folder)
    # Two processes at once would together remove too much, so only one prunes at a time.
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
    """Remove a file or folder atomically, so that no process sees a part of it."""
    with contextlib.suppress(OSError):
        if entry.is_dir():
            with scratch.folder(entry.parent) as gone:
                entry.rename(gone / entry.name)
        else:
            entry.unlink()


def _removed(entry: Path) -> bool:
    """Remove ``entry`` unless it is held; return whether it was removed."""
    with contextlib.suppress(OSError), scratch.locked(entry, fcntl.LOCK_NB):
        remove(entry)
        return True
    return False


def _bytes(entry: Path) -> int:
    return sum(file.stat().st_size for file in entry.iterdir()) if entry.is_dir() else entry.stat().st_size
