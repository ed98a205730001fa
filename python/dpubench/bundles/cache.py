"""Bundles for targets: packed when a build has none yet, kept in the cache, unpacked where this machine runs them."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Final

from dpubench import __version__, programs, scratch, terminal
from dpubench.bundles import archive as bundle
from dpubench.errors import EnvironmentFault

#: Digits of a build's key in a file name.
_KEY_DIGITS: Final = 16


def archive(architecture: str) -> Path:
    """Return the bundle of this installation's programs for ``architecture``; make it first if this build has none yet.

    For an architecture other than this machine's, the programs are compiled, which takes minutes the first time.

    Raises:
        UserError, EnvironmentFault: it cannot be compiled or packed.
    """
    if architecture == bundle.host_architecture():
        build = programs.operators_program().parent
    else:
        terminal.note(
            f"bundle for {architecture}: compiling the changed files (the first time it downloads headers, then takes ten minutes on two CPUs)"
        )
        build = bundle.build(architecture)
    folder = programs.cache_directory() / "bundles"
    path = folder / f"{bundle.folder_name(architecture)}-{_key(build)}.tar.gz"
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(f"{folder}: cannot be made: {error.strerror}") from None
        bundle.pack(build, architecture, path)
        for older in folder.glob(f"dpubench-*-{architecture}-*.tar.gz"):
            if older != path:
                older.unlink(missing_ok=True)
    return path


def sha256(path: Path) -> str:
    """Return the digest of a file's content, in hexadecimal digits. @raises EnvironmentFault when it cannot be read"""
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise EnvironmentFault(f"{path}: {error.strerror}") from None
    return digest.hexdigest()


def unpacked(path: Path) -> Path:
    """Unpack the bundle ``path`` in the cache and return its folder. @raises EnvironmentFault when it is no bundle or the disk is full"""
    folder = programs.cache_directory() / "unpacked" / sha256(path)
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch.sweep(folder.parent)
        with scratch.folder(folder.parent) as half:
            done = subprocess.run(["tar", "xzf", str(path), "--strip-components=1", "-C", str(half)], capture_output=True, check=False)
            if done.returncode != 0 or not (half / "manifest.json").is_file():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()
                raise EnvironmentFault(f"{path}: cannot be unpacked to {folder}: {said[0] if said else 'it is no bundle of dpubench'}")
            half.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another process was faster
            raise EnvironmentFault(f"{folder}: cannot be made: {error.strerror}") from None
    return folder


def _key(build: Path) -> str:
    """Return a key that changes with any program, library or module of a build."""
    digest = hashlib.sha256(__version__.encode())
    native = programs.operators_program(build).parent
    for file in sorted(
        [
            *native.glob("dpubench-*"),
            *native.glob("*.so*"),
            *native.glob(f"{programs.LAYOUTS}/*/*.so"),
            *(native / "engines").glob("*"),
            *(native / "stages").glob("*"),
        ]
    ):
        status = file.stat()
        digest.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:_KEY_DIGITS]
