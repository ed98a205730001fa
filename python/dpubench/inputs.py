"""The inputs of measurements: defaults by kind, and replacements by ``--input KIND=PATH``. Every input has a name, a date and a hash.

Defaults come from Debian packages, so that anyone can measure the same: the route table of ``python3-pyasn``, the rules of ``modsecurity-crs``,
files of ``ieee-data``, ``wamerican`` and ``libc6``. Captures have no default: without one, operators draw packets from traffic models. An input that
needs conversion is converted once, and kept in the cache directory under the hash of its content.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import random
import re
import subprocess
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

from dpubench import programs, scratch
from dpubench.errors import EnvironmentFault, UserError, nearest

KINDS: Final = {
    "routes4": "IPv4 prefixes, lines `prefix/len,next_hop` (one file, may be gzip)",
    "routes6": "IPv6 prefixes, lines `prefix/len,next_hop` (one file, may be gzip)",
    "rules": "regular expressions, lines `id:/regex/flags` (one file), or one of the words `selective`, `crs`",
    "corpus": "files or directories from which messages are cut",
    "capture": "packets, pcap or pcapng (no default: traffic models)",
    "domains": "host names, one per line (one file; no default)",
}
_ONE_FILE: Final = ("routes4", "routes6", "rules", "domains")
_RULE_WORDS: Final = ("selective", "crs")

PYASN_TABLE: Final = "ipasn6_20151101.dat.gz"
CRS_RULES: Final = Path("/usr/share/modsecurity-crs/rules")
#: Limit for a table of routes or a list of rules. The Internet's routes are 30 MiB.
MOST_TEXT_BYTES: Final = 512 << 20
_READ_BYTES: Final = 1 << 20
_CONVERTER: Final = 2  #: raised when the conversion changes its output

#: A rule that matches more than this share of :func:`crs_sample` finds a match at once and tells nothing about searching.
CRS_MOST_MATCHES: Final = 0.10
_CRS_SAMPLE: Final = 120
_CRS_PAYLOAD_BYTES: Final = 192
_CRS_RULE_LIMIT_S: Final = 0.5


@dataclass(frozen=True)
class Input:
    """One resolved kind of input."""

    kind: str
    files: tuple[Path, ...]
    name: str
    sha256: str
    date: str = ""
    note: str = ""
    given: tuple[str, ...] = ()  #: values of ``--input`` or of the plan, with absolute paths; empty for a default

    def record(self) -> dict[str, Any]:
        """Return the record for ``run.json``."""
        return {"name": self.name, "sha256": self.sha256, "date": self.date, "note": self.note, "files": [str(f) for f in self.files],
                "given": list(self.given)}  # fmt: skip


@dataclass(frozen=True)
class Missing:
    """A kind of input without a default here."""

    kind: str
    reason: str


@dataclass
class Resolved:
    """The inputs of a run."""

    inputs: dict[str, Input] = field(default_factory=dict)
    missing: dict[str, Missing] = field(default_factory=dict)

    def for_job(self) -> dict[str, list[str]]:
        return {kind: [str(f) for f in given.files] for kind, given in self.inputs.items()}


def parse_option(options: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths of ``KIND=PATH`` options by kind, which may repeat. @raises UserError naming the option."""
    given: dict[str, list[str]] = {}
    for option in options:
        kind, equals, path = option.partition("=")
        if not equals or not path:
            raise UserError(f"--input {option}: write KIND=PATH, such as --input rules=my.rules (kinds: {', '.join(KINDS)})")
        if kind not in KINDS:
            raise UserError(f"--input {option}: unknown kind '{kind}'{nearest(kind, KINDS)}")
        given.setdefault(kind, []).append(path)
    return given


def refuse_unread(given: Iterable[str], read: Collection[str]) -> None:
    """Refuse inputs that nothing in the run reads. @raises UserError where a kind of ``given`` is not ``read``"""
    if unread := sorted(set(given) - set(read)):
        reads = f"the run reads {', '.join(sorted(read))}" if read else "the run reads no input"
        raise UserError(f"--input {unread[0]}: nothing in this run reads it: remove the option; {reads}")


def resolve(kinds: Collection[str], given: Mapping[str, Sequence[str]]) -> Resolved:
    """Return inputs for ``kinds``: the given ones, else defaults; a kind with neither is listed as missing, with a remedy.

    Raises:
        UserError: a given file cannot be used.
    """
    resolved = Resolved()
    for kind in sorted({*kinds, *given}):  # a given input must be usable even if nothing reads it
        try:
            found = _given(kind, given[kind]) if given.get(kind) else _DEFAULTS[kind]()
        except _NoDefault as error:
            resolved.missing[kind] = Missing(kind, str(error))
        else:
            if kind in kinds:
                resolved.inputs[kind] = found
    return resolved


class _NoDefault(Exception):
    pass


def _given(kind: str, paths: Sequence[str]) -> Input:
    if kind == "rules" and len(paths) == 1 and paths[0] in _RULE_WORDS and not Path(paths[0]).exists():
        try:
            return dataclasses.replace(_selective() if paths[0] == "selective" else _crs(), given=tuple(paths))
        except _NoDefault as error:
            raise UserError(f"--input rules={paths[0]}: {error}") from None
    if kind in _ONE_FILE and len(paths) > 1:
        raise UserError(f"--input {kind}: is given {len(paths)} times, but takes one file: join the files first")
    files: list[Path] = []
    for text in paths:
        if not text.strip():
            raise UserError(f"--input {kind}={text}: names no file")
        path = Path(text).expanduser()
        if not path.exists():
            raise UserError(f"--input {kind}={text}: there is no such file")
        if path.is_dir() and kind != "corpus":
            raise UserError(f"--input {kind}={text}: is a directory: give a file")
        if not path.is_file() and not path.is_dir():
            raise UserError(f"--input {kind}={text}: is not a regular file (a pipe or a device may have no end): save the data as a file")
        if not os.access(path, os.R_OK):
            raise UserError(f"--input {kind}={text}: cannot be read: check its permissions")
        if path.is_file() and path.stat().st_size == 0:
            raise UserError(f"--input {kind}={text}: is empty")
        files.append(path.resolve())
    name, said = ", ".join(f.name for f in files), tuple(map(str, files))
    # Use the files of a folder, not the folder, because files travel to other targets.
    files = [file for path in files for file in (_files_below(path) if path.is_dir() else [path])]
    if unnamed := [file for file in files if not str(file).isprintable()]:
        raise UserError(f"--input {kind}: {str(unnamed[0])!r}: the name is not printable UTF-8, and a run cannot record it: rename the file")
    digest = _digest(files)
    date = time.strftime("%Y-%m-%d", time.gmtime(max(f.stat().st_mtime for f in files)))
    if kind in ("routes4", "routes6"):
        family = 4 if kind == "routes4" else 6
        original = files[0]
        text = _text(original, f"--input {kind}")
        if _needs_conversion(original, text, family):
            # The copy keeps its name in a folder of its own, because the native reader's messages name file and line as the user knows them.
            files = [_converted(original, digest, f"{kind}/{original.name}", lambda: convert_routes(text, family))]
    return Input(kind, tuple(files), name, digest, date, given=said)


# --- routes


def convert_routes(text: str, family: int) -> str:
    """Return lines ``prefix/len,next_hop`` from pyasn's ``prefix<TAB>as`` with ``;`` comments, or from a CSV with a header line.

    Other lines pass through: the native reader reports bad lines by their number in ``text``, so that every line keeps its place. Comments and
    prefixes of the other address family become empty lines.
    """
    lines: list[str] = []
    colon_wanted = family == 6
    for line in text.split("\n"):
        stripped = line.strip()
        prefix, separator, hop = stripped.replace("\t", ",", 1).partition(",")
        if not stripped or stripped[0] in ";#" or stripped.startswith("prefix") or (separator and "/" in prefix and (":" in prefix) != colon_wanted):
            lines.append("")
        else:
            lines.append(f"{prefix.strip()}{separator}{hop.strip()}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _needs_conversion(file: Path, text: str, family: int) -> bool:
    """Return whether the native reader would fail on ``file``, whose content is ``text``, where :func:`convert_routes` helps."""
    other = ":" in text if family == 4 else re.search(r"^\s*\d+\.\d+\.\d+\.\d+/", text, re.MULTILINE) is not None
    foreign = "\t" in text or ";" in text or re.search(r"^\s*prefix(?!,)", text, re.MULTILINE) is not None
    with file.open("rb") as opened:
        return other or foreign or opened.read(2) == b"\x1f\x8b"


def _pyasn(family: int) -> Input:
    for place in (Path("/usr/lib/python3/dist-packages/data"), Path("/usr/share/python3-pyasn")):
        table = place / PYASN_TABLE
        if table.is_file():
            break
    else:
        raise _NoDefault(f"no route table: install python3-pyasn, or give --input routes{family}=FILE")
    digest = _digest([table])
    kind = f"routes{family}"
    file = _converted(table, digest, f"{kind}.csv", lambda: convert_routes(_text(table, kind), family))
    name = f"RouteViews 2015-11-01 IPv{family} (python3-pyasn {_version('python3-pyasn')}, {PYASN_TABLE})"
    return Input(kind, (file,), name, digest, "2015-11-01")


# --- rules


def _selective() -> Input:
    file = Path(str(resources.files("dpubench").joinpath("data/selective.rules")))
    return Input("rules", (file,), "selective (dpubench)", _digest([file]), note="literals and expressions that rarely match")


def crs_operands(texts: Iterable[str]) -> list[str]:
    """Return unique operands of ``@rx`` and ``!@rx`` in SecRule lines, without those with ``%{macros}``, in order of appearance.

    The operand is a quoted argument of Apache's configuration language, in which ``\\\\`` and ``\\"`` stand for the second character (Apache httpd,
    server/util.c, ``substring_conf``). A backslash before another character stays.
    """
    found: dict[str, None] = {}
    for text in texts:
        joined = re.sub(r"\\\n\s*", " ", text)
        for line in joined.splitlines():
            if not line.lstrip().startswith("SecRule "):
                continue
            match = re.search(r'\s"!?@rx\s+((?:[^"\\]|\\.)*)"', line)
            if match and "%{" not in match[1]:
                found[re.sub(r'\\([\\"])', r"\1", match[1])] = None
    return list(found)


def crs_sample(seed: int = 1) -> list[str]:
    """Return payloads to judge rules by: half random bytes (as Latin-1), half words, numbers and punctuation as in forms and logs."""
    generator = random.Random(seed)
    text = "the of and to in is was for on with as at by from that it be are this have not or an which you one all user name date"
    words = text.split()
    payloads = []
    for i in range(_CRS_SAMPLE):
        if i % 2:
            payloads.append(generator.randbytes(_CRS_PAYLOAD_BYTES).decode("latin-1"))
        else:
            text = ""
            while len(text) < _CRS_PAYLOAD_BYTES:
                text += generator.choice(words) if generator.random() < 0.85 else str(generator.randrange(10_000))
                text += generator.choice("     ,.\n")
            payloads.append(text[:_CRS_PAYLOAD_BYTES])
    return payloads


def select_rules(operands: Sequence[str], sample: Sequence[str]) -> tuple[list[str], int]:
    """Return the operands that match at most :data:`CRS_MOST_MATCHES` of ``sample``, and the number of the others.

    An operand stays that Python's ``re`` cannot compile, or does not judge within half a second (nested repeats).
    """
    kept, left_out = [], 0
    most = CRS_MOST_MATCHES * len(sample)
    for operand in operands:
        try:
            rule = re.compile(operand)
        except (re.error, OverflowError, RecursionError):
            kept.append(operand)
            continue
        matches, deadline = 0, time.monotonic() + _CRS_RULE_LIMIT_S
        for payload in sample:
            matches += rule.search(payload) is not None
            if matches > most or time.monotonic() > deadline:
                break
        if matches > most:
            left_out += 1
        else:
            kept.append(operand)
    return kept, left_out


def _crs() -> Input:
    files = sorted(CRS_RULES.glob("*.conf"))
    if not files:
        raise _NoDefault("no rules: install modsecurity-crs, or give --input rules=FILE")
    digest = _digest(files)

    def convert() -> str:
        operands = crs_operands(f.read_text(encoding="utf-8", errors="replace") for f in files)
        kept, left_out = select_rules(operands, crs_sample())
        reason = f"left out because they match more than {CRS_MOST_MATCHES:.0%} of a sample"
        head = f"# modsecurity-crs, operands of @rx; {len(kept)} of {len(operands)}, {left_out} {reason}\n"
        return head + "".join(f"{number}:/{operand}/\n" for number, operand in enumerate(kept, 1))

    file = _converted(CRS_RULES, digest, "crs.rules", convert)
    with file.open(encoding="utf-8") as opened:
        note = opened.readline().lstrip("# ").strip()
    return Input("rules", (file,), f"modsecurity-crs {_version('modsecurity-crs')}", _digest([file]), note=note)


# --- corpus, capture


def _files_below(folder: Path) -> list[Path]:
    """Return non-empty files below ``folder``, by path, without hidden ones. @raises UserError when there is none, or a folder cannot be read"""

    def refuse(error: OSError) -> None:
        raise UserError(f"--input corpus={folder}: {error.filename}: {error.strerror}: check the permissions in this directory")

    found = []
    for at, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files = [Path(at, name) for name in names if not name.startswith(".")]
        found += [file for file in files if file.is_file() and file.stat().st_size > 0]
    if not found:
        raise UserError(f"--input corpus={folder}: this directory holds no file with content (hidden files do not count): name another")
    return sorted(found)


def _corpus() -> Input:
    candidates: list[tuple[str, list[Path]]] = [
        ("ieee-data", [Path("/usr/share/ieee-data/oui36.csv")]),
        ("wamerican", [Path("/usr/share/dict/american-english")]),
        ("libc6", sorted(Path("/usr/lib").glob("*-linux-gnu/libc.so.6"))[:1]),
        ("modsecurity-crs", sorted(CRS_RULES.glob("*.data"))),
    ]
    files: list[Path] = []
    names: list[str] = []
    for package, paths in candidates:
        present = [p.resolve() for p in paths if p.is_file()]
        if present:
            files += present
            names.append(f"{package} {_version(package)}")
    if not files:
        raise _NoDefault("no corpus: install ieee-data, wamerican or modsecurity-crs, or give --input corpus=PATH")
    return Input("corpus", tuple(files), ", ".join(names), _digest(files))


def _capture() -> Input:
    raise _NoDefault("there is no default capture: give --input capture=FILE.pcap to measure on real packets instead of traffic models")


def _domains() -> Input:
    raise _NoDefault("there is no default list of host names: give --input domains=FILE")


_DEFAULTS: Final[dict[str, Callable[[], Input]]] = {
    "routes4": lambda: _pyasn(4),
    "routes6": lambda: _pyasn(6),
    "rules": _selective,
    "corpus": _corpus,
    "capture": _capture,
    "domains": _domains,
}


# --- files


def _text(path: Path, what: str) -> str:
    try:
        with path.open("rb") as opened:
            packed = opened.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(MOST_TEXT_BYTES + 1)
        if len(data) > MOST_TEXT_BYTES:
            unpacked = " unpacked" if packed else ""
            raise UserError(f"{what}: {path}: is larger than {MOST_TEXT_BYTES >> 20} MiB{unpacked}, the limit of a route table or a list of rules")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{what}: {path}: is not UTF-8 text at byte {error.start}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{what}: {path}: cannot be read: {error}") from None


def _converted(source: Path, digest: str, suffix: str, convert: Callable[[], str]) -> Path:
    """Return the converted file, made once per content of ``source``. @raises EnvironmentFault where the cache cannot be written"""
    file = programs.cache_directory() / "inputs" / f"{digest[:32]}-{_CONVERTER}-{suffix}"
    place = file.parent
    if scratch.is_sealed(file):
        return file
    text = convert()
    try:
        scratch.sweep(place)  # removes files of killed runs
        scratch.write_sealed(file, text)
    except OSError as error:
        raise EnvironmentFault(
            f"{place}: cannot store the converted {source.name}: {error.strerror}: set XDG_CACHE_HOME to a folder with room"
        ) from None
    return file


def _digest(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of one file; of several, and of directories, of their contents in name order, each after name and length."""
    files = [p for path in paths for p in (sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path])]
    digest = hashlib.sha256()
    for file in files:
        try:
            with file.open("rb") as opened:  # Read block by block: a capture may be larger than memory.
                if len(files) > 1:
                    digest.update(f"{file.name}\0{os.fstat(opened.fileno()).st_size}\0".encode())
                while block := opened.read(_READ_BYTES):
                    digest.update(block)
        except OSError as error:
            raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def _version(package: str) -> str:
    """Return the version of a Debian package; empty where there is no dpkg."""
    try:
        answer = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
