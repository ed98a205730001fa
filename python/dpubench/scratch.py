"""Folders and files that are there while something is at work: locked by whoever made them, so that what a killed process left is told from it.

The lock goes with the process, however it ends. Whoever works at the same place next removes what nobody holds (:func:`sweep`).
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

#: What is half made has such names, in every folder of finished things.
HALF_MADE: Final = (".*", "*.partial")
_READ_BYTES: Final = 1 << 20


@contextlib.contextmanager
def folder(place: Path, prefix: str = ".") -> Iterator[Path]:
    """A new folder in ``place``, gone afterwards with all that is in it; it may have been renamed. @raises OSError"""
    with _held(lambda: tempfile.mkdtemp(dir=place, prefix=prefix)) as path:
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def write(file: Path, text: str) -> None:
    """Puts ``text`` into ``file`` at once or not at all, and makes its folder where there is none. @raises OSError"""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _held(lambda: _empty(file.parent)) as made:
        try:
            with made.open("w", encoding="utf-8") as opened:
                opened.write(text)
                opened.flush()
                # Renamed before its content is on the disk, it would be an empty file of that name after a power failure.
                os.fsync(opened.fileno())
            made.replace(file)
        except BaseException:
            made.unlink(missing_ok=True)
            raise


def write_sealed(file: Path, text: str) -> None:
    """As :func:`write`, with a digest beside it by which :func:`is_sealed` knows it again. @raises OSError"""
    write(file, text)
    write(_seal(file), hashlib.sha256(text.encode()).hexdigest())


def is_sealed(file: Path) -> bool:
    """Whether ``file`` is there and holds what :func:`write_sealed` wrote, neither cut short nor changed."""
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
    """Remove from ``place`` what ``patterns`` match (by default :data:`HALF_MADE`), this user made, and nobody holds."""
    for pattern in patterns or HALF_MADE:
        for path in place.glob(pattern):
            with contextlib.suppress(OSError), locked(path, fcntl.LOCK_NB):  # held, or gone by now
                if path.stat().st_uid != os.geteuid():  # in a folder for all, as /tmp
                    continue
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


@contextlib.contextmanager
def locked(path: Path, how: int = 0) -> Iterator[None]:
    """Hold ``path``, a file or a folder.

    Args:
        how: ``fcntl.LOCK_NB`` not to wait for whoever has it
    Raises:
        OSError: it is not there, is a link or a pipe, or somebody else has it.
    """
    # Somebody else may have put a pipe of that name there, whose opening would wait for a writer.
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
    """What ``make`` makes, locked."""
    while True:
        path = Path(make())
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(path))
            except FileNotFoundError:  # swept away before it was locked: nobody held it
                continue
            yield path
            return
