"""Folders and files for the time of some work, locked by their maker, so that leftovers of killed processes can be recognised.

The lock ends with the process, in any case. The next process that works in the same place removes unlocked leftovers (:func:`sweep`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

#: Patterns of the names of unfinished files, in every folder of finished ones.
HALF_MADE: Final = (".*", "*.partial")
_READ_BYTES: Final = 1 << 20


@contextlib.contextmanager
def folder(place: Path, prefix: str = ".") -> Iterator[Path]:
    """Yield a new folder in ``place`` and remove it with its content at the end; it may be renamed in between. @raises OSError"""
    with _held(lambda: tempfile.mkdtemp(dir=place, prefix=prefix)) as path:
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def write(file: Path, text: str) -> None:
    """Write ``text`` to ``file`` whole or not at all; make its folder if needed. @raises OSError"""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _held(lambda: _empty(file.parent)) as made:
        try:
            with made.open("w", encoding="utf-8") as opened:
                opened.write(text)
                opened.flush()
                # If the rename reached the disk before the content, a power failure would leave an empty file.
                os.fsync(opened.fileno())
            made.replace(file)
        except BaseException:
            made.unlink(missing_ok=True)
            raise


def write_sealed(file: Path, text: str) -> None:
    """Write as :func:`write`, with a digest beside the file by which :func:`is_sealed` recognises it. @raises OSError"""
    write(file, text)
    write(_seal(file), hashlib.sha256(text.encode()).hexdigest())


def is_sealed(file: Path) -> bool:
    """Return whether ``file`` exists and holds the text of :func:`write_sealed`, neither cut short nor changed."""
    try:
        with file.open("rb") as opened:
            digest = hashlib.sha256()
            while block := opened.read(_READ_BYTES):
                digest.update(block)
        return _seal(file).read_text(encoding="ascii") == digest.hexdigest()
    except (OSError, ValueError):
        return False


def _seal(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def sweep(place: Path, *patterns: str) -> None:
    """Remove files and folders of this user from ``place`` that match ``patterns`` (default :data:`HALF_MADE`) and that nobody holds."""
    for pattern in patterns or HALF_MADE:
        for path in place.glob(pattern):
            with contextlib.suppress(OSError), locked(path, fcntl.LOCK_NB):  # it is held, or gone by now
                if path.stat().st_uid != os.geteuid():  # for a folder of all users, such as /tmp
                    continue
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


@contextlib.contextmanager
def locked(path: Path, how: int = 0) -> Iterator[None]:
    """Lock ``path``, a file or a folder.

    Args:
        how: ``fcntl.LOCK_NB`` not to wait for the present holder
    Raises:
        OSError: it does not exist, is a link or a pipe, or somebody else has it.
    """
    # Somebody else may have put a pipe of that name there; opening it would wait for a writer.
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | how)
        held = os.fstat(lock)
        if not os.path.samestat(held, path.lstat()):
            raise FileNotFoundError(path)
        if not (stat.S_ISREG(held.st_mode) or stat.S_ISDIR(held.st_mode)):
            raise OSError(errno.EINVAL, "is neither a file nor a folder", str(path))
        yield
    finally:
        os.close(lock)


def _empty(place: Path) -> str:
    descriptor, name = tempfile.mkstemp(dir=place, prefix=".")
    os.close(descriptor)
    return name


@contextlib.contextmanager
def _held(make: Callable[[], str]) -> Iterator[Path]:
    """Yield a path from ``make``, locked."""
    while True:
        path = Path(make())
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(path))
            except FileNotFoundError:  # It was swept before the lock, because nobody held it.
                continue
            yield path
            return
