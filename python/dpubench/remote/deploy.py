"""The choice and inspection of a bundle for a target."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tarfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from dpubench import __version__, programs, scratch
from dpubench.bundles import cache as bundle_cache
from dpubench.errors import EnvironmentFault, UserError

#: Names the bundle for a target without one of its own, if the architecture fits.
BUNDLE_VARIABLE: Final = "DPUBENCH_BUNDLE"
_MAX_MANIFEST: Final = 4 << 20


@dataclass(frozen=True)
class Known:
    """The facts about an archive."""

    sha256: str
    architecture: str
    version: str
    manifest_sha256: str


def choose(architecture: str, named: Path | None) -> tuple[Path, Known]:
    """Return the bundle for a machine of ``architecture``: the named one, else ``$DPUBENCH_BUNDLE``, else one of this installation's programs.

    Raises:
        UserError: it is no bundle, or one of another architecture or version.
        EnvironmentFault: it cannot be read or made.
    """
    given = named or (Path(os.environ[BUNDLE_VARIABLE]) if os.environ.get(BUNDLE_VARIABLE) else None)
    path = given if given is not None else bundle_cache.archive(architecture)
    known = inspect(path)
    make_one = f"make one with `dpubench bundle --arch {architecture}`"
    if known.architecture != architecture:
        raise UserError(f"{path}: is a bundle for {known.architecture}, but the target is {architecture}: {make_one}")
    if known.version != __version__:
        raise UserError(f"{path}: is a bundle of dpubench {known.version}, but this is {__version__}: {make_one}")
    return path, known


def inspect(path: Path) -> Known:
    """Return the facts about the archive ``path``, kept in the cache because reading them takes a second.

    Raises:
        UserError: it is no bundle.
        EnvironmentFault: it cannot be read.
    """
    sha256 = bundle_cache.sha256(path)
    kept = programs.cache_directory() / "bundles" / f"{sha256}.json"
    if scratch.is_sealed(kept):
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Known(**json.loads(kept.read_text(encoding="utf-8")))
    data = _manifest(path)
    try:
        manifest = json.loads(data)
        known = Known(sha256, str(manifest["architecture"]), str(manifest["version"]), hashlib.sha256(data).hexdigest())
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path}: its manifest cannot be read: make the bundle again with `dpubench bundle`") from None
    try:
        scratch.sweep(kept.parent)  # removes files of killed runs
        scratch.write_sealed(kept, json.dumps(asdict(known)))
    except OSError:  # The next call reads the archive again.
        pass
    return known


def _manifest(path: Path) -> bytes:
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                if member.name.count("/") == 1 and member.name.endswith("/manifest.json") and member.size <= _MAX_MANIFEST:
                    file = archive.extractfile(member)
                    return file.read() if file is not None else b""
    except (tarfile.TarError, EOFError, ValueError):
        pass
    except OSError as error:
        if error.errno is not None:
            raise EnvironmentFault(f"{path}: {error.strerror}") from None
    raise UserError(f"{path}: is not a bundle of dpubench: make one with `dpubench bundle`")
