"""Anchors: saved builds to measure later ones against, each with a name and its origin.

``$XDG_DATA_HOME/dpubench/anchors`` holds ``NAME.json`` for each anchor, and the bundles (:mod:`.bundles.archive`) that these files name by SHA-256. A
bundle brings its libraries, so that an upgrade of the system does not change an anchor. Records and bundles get their names when they are whole.
Processes that save or remove at the same time wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from dpubench import __version__, catalog, programs, scratch
from dpubench.bundles import archive as bundle
from dpubench.bundles import cache as bundle_cache
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.storage.runs import now_utc

SCHEMA: Final = "dpubench.anchor/1"
DEFAULT: Final = "default"
#: Word for an anchor in ``--against``.
WORD: Final = "anchor"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A saved build."""

    name: str
    saved: str  #: ISO 8601, UTC
    version: str
    architecture: str
    revision: str  #: revision of the sources, as the build tells it
    compiler: str
    cpu: str  #: CPU of the machine that saved it
    sha256: str  #: digest of its bundle
    bytes: int
    note: str = ""
    plan: str = ""  #: YAML; empty without a plan

    @property
    def bundle(self) -> Path:
        """Return the path of its archive."""
        return directory() / f"{self.sha256}.tar.gz"

    def described(self) -> str:
        """Return ``'main' (saved 2026-01-01T10:00:00Z, revision 1234abcd: before the rewrite)``."""
        note = f": {self.note}" if self.note else ""
        return f"'{self.name}' (saved {self.saved}, revision {self.revision or 'unknown'}{note})"


def directory() -> Path:
    """Return the folder of the anchors."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "dpubench" / "anchors"


def name_of(against: str) -> str | None:
    """Return the anchor's name in ``anchor`` or ``anchor:NAME`` for ``--against``; ``None`` for a path."""
    word, colon, name = against.partition(":")
    if word != WORD or (colon and not name):
        return None
    return name if colon else DEFAULT


def save(name: str, build: Path | None = None, *, note: str = "", plan: str = "") -> Anchor:
    """Save the programs of ``build`` (None: of this installation) as the anchor ``name``, replacing one of that name.

    Raises:
        UserError: the name is malformed, there is no such build, or it cannot be saved.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"anchor save {name}: invalid name: use at most 63 letters, digits, '-', '_' and '.', and do not begin with '-' or '.'")
    program = programs.operators_program(build)
    hello = catalog.read_here(program).hello
    built, machine = hello["build"], hello["machine"]
    place = directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        scratch.sweep(place)
        with scratch.folder(place) as half:
            made = bundle.pack(program.parent, bundle.host_architecture(), half / "bundle.tar.gz")
            anchor = Anchor(
                name, now_utc(), __version__, made.architecture, str(built.get("revision", "")),
                str(built.get("compiler", "")), str(machine.get("cpu", "")), made.sha256, made.path.stat().st_size, note, plan,
            )  # fmt: skip
            with _alone(place):
                made.path.replace(anchor.bundle)
                scratch.write(_file(name), json.dumps({"schema": SCHEMA, **asdict(anchor)}, indent=1, ensure_ascii=False) + "\n")
                _drop_unused(place)
    except OSError as error:
        raise EnvironmentFault(
            f"{place}: the anchor cannot be saved: {error.strerror or error}: check the folder's permissions and the disk"
        ) from None
    return anchor


def saved() -> list[Anchor]:
    """Return every anchor, by name. @raises UserError when a record cannot be read"""
    return [_read(file) for file in sorted(directory().glob("*.json"))]


def find(name: str) -> Anchor:
    """Return the anchor ``name``. @raises UserError when there is none, with the nearest name"""
    file = _file(name)
    if not (_NAME.fullmatch(name) and file.is_file()):
        known = [f.stem for f in sorted(directory().glob("*.json"))]
        remedy = nearest(name, known) if known else "; none is saved yet"
        raise UserError(f"there is no anchor '{name}'{remedy}: save a build with `dpubench anchor save{'' if name == DEFAULT else f' {name}'}`")
    return _read(file)


def remove(name: str) -> Anchor:
    """Forget the anchor ``name``, and remove its bundle if no other anchor uses it. @raises UserError when there is none"""
    place = directory()
    anchor = find(name)
    try:
        with _alone(place):
            _file(name).unlink(missing_ok=True)
            _drop_unused(place)
    except OSError as error:
        raise EnvironmentFault(f"{place}: the anchor cannot be removed: {error.strerror or error}: check the folder's permissions") from None
    return anchor


def program(anchor: Anchor) -> Path:
    """Return the anchor's program, unpacked in the cache, ready to run here.

    Raises:
        UserError: it is of another architecture.
        EnvironmentFault: its bundle is missing or damaged, or cannot be unpacked.
    """
    here = bundle.host_architecture()
    if anchor.architecture != here:
        raise UserError(f"anchor '{anchor.name}': it is for {anchor.architecture}, but this machine is {here}: save one here, under another name")
    again = f"save it again (`dpubench anchor save {anchor.name}` from that build) or remove it"
    if not anchor.bundle.is_file():
        raise EnvironmentFault(f"{anchor.bundle}: the bundle of anchor '{anchor.name}' is gone: {again}")
    if bundle_cache.sha256(anchor.bundle) != anchor.sha256:
        raise EnvironmentFault(f"{anchor.bundle}: the bundle of anchor '{anchor.name}' has changed: its SHA-256 differs: {again}")
    folder = bundle_cache.unpacked(anchor.bundle)
    if not _is_whole(folder):  # somebody cleaned the cache, or the disk lost a file
        shutil.rmtree(folder, ignore_errors=True)
        folder = bundle_cache.unpacked(anchor.bundle)
    return folder / "run"


def again(record: dict[str, Any]) -> Anchor:
    """Return the anchor with the digest in a run's ``record``, because its name may mean another build now. @raises UserError it was removed"""
    known = next((a for a in saved() if a.sha256 == record["sha256"]), None)
    if known is None:
        raise UserError(f"the build that this run alternates with is gone: anchor '{record['name']}' was removed or replaced")
    return known


def _is_whole(folder: Path) -> bool:
    """Return whether the files of an unpacked bundle match its manifest."""
    try:
        files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
        return all(bundle_cache.sha256(folder / name) == digest for name, digest in files.items())
    except (EnvironmentFault, OSError, ValueError, KeyError):
        return False


def _file(name: str) -> Path:
    return directory() / f"{name}.json"


def _read(file: Path) -> Anchor:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {record.get('schema')!r}, not {SCHEMA}")
        values = {f.name: record[f.name] for f in fields(Anchor)}
        if not re.fullmatch(r"[0-9a-f]{64}", values["sha256"]) or values["name"] != file.stem:
            raise ValueError("its name or digest is wrong")
        return Anchor(**values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EnvironmentFault(f"{file}: the record of this anchor cannot be read ({error}): remove the file, and save the build again") from None


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Lock the anchors against other processes that save or remove."""
    with (place / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _drop_unused(place: Path) -> None:
    """Remove the bundles that no record names. An unreadable record may name any, so that then nothing is removed."""
    with contextlib.suppress(UserError):
        used = {anchor.bundle for anchor in saved()}
        for archive in place.glob("*.tar.gz"):
            if archive not in used:
                archive.unlink(missing_ok=True)
