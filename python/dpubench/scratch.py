"""Folders and files that are there while something is at work: locked by whoever made them, so that what a killed process left is told from it.

The lock goes with the process, however it ends. Whoever works at the same place next removes what nobody holds (:func:`sweep`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

#: What is half made has such names, in every folder of finished things.
HALF_MADE: Final = (".*", "*.partial")


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
            made.write_text(text, encoding="utf-8")
            made.replace(file)
        except BaseException:
            made.unlink(missing_ok=True)
            raise


def sweep(place: Path, *patterns: str) -> None:
    """Removes from ``place`` what ``patterns`` match (by default :data:`HALF_MADE`) and nobody holds."""
    for pattern in patterns or HALF_MADE:
        for path in place.glob(pattern):
            with contextlib.suppress(OSError), locked(path, fcntl.LOCK_NB):  # somebody else's, or gone by now
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


@contextlib.contextmanager
def locked(path: Path, how: int = 0) -> Iterator[None]:
    """Holds ``path``. @param how ``fcntl.LOCK_NB``: not to wait for whoever has it @raises OSError when it is not there, or somebody else has it"""
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | how)
        if not os.path.samestat(os.fstat(lock), path.stat()):
            raise FileNotFoundError(path)
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
