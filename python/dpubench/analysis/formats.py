"""Records for other programs: CSV, LaTeX, types that JSON knows, and copies without what identifies a machine.

Anonymous copies keep the facts that explain a figure (CPU model, caches, kernel, flags) and drop those that identify the machine's owner.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import getpass
import io
import math
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from dpubench.analysis.model import Comparison, Interval
from dpubench.analysis.movement import Movement
from dpubench.terminal import shown

#: Fields of a machine's description that an anonymous export keeps. An allow-list: a field of a later version is dropped until it is named here.
KEPT_OF_MACHINE: Final = (
    "architecture", "cores_online", "cpu", "cpu_flags", "cpus_online", "cycle_counter", "clock_estimate", "energy", "governor", "isolated_cpus",
    "kernel", "kernel_clocksource", "l1d_bytes", "l2_bytes", "l3_bytes", "libc", "memory_bytes", "microcode", "os", "page_bytes", "smt",
    "virtual_machine",
)  # fmt: skip
_PATH: Final = re.compile(r"(?<![\w/.-])~?/(?:[^\s'\",;:()\[\]{}<>]+)|(?<![\w])[A-Za-z]:\\[^\s'\",;]+")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b|\b[\w.-]+@(?!target-\d|local\b)[\w.-]+\b")


def spread(name: str, interval: Interval | None) -> dict[str, float | None]:
    values = (interval.value, interval.low, interval.high) if interval else (None, None, None)
    return {key: number(value) for key, value in zip((name, f"{name}_low", f"{name}_high"), values, strict=True)}


def number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return ``rows`` (all with the same keys) as CSV; a float has the shortest form that reads back to the same number.

    An apostrophe stands before a text that a spreadsheet would execute, and control characters are escaped.
    """
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0].keys())
    for row in rows:
        writer.writerow([_csv_cell(v) for v in row.values()])
    return out.getvalue()


#: Characters that begin a formula (OWASP, CSV injection).
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text


def comparison_records(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return one flat record per comparison."""
    return [
        {"configuration": c.configuration, "old": c.old, "new": c.new, **spread("ratio", c.ratio)}
        | {"verdict": c.verdict, "p_value": number(c.p_value), "reason": c.reason}
        for c in rows
    ]


def movement_record(moved: Movement) -> dict[str, Any]:
    """Return how the machine moved between two runs: changes as ratios new / old, ``scatter`` as a share."""

    def ratio(log: float | None) -> float | None:
        return None if log is None else number(math.exp(log))

    null = moved.null
    return {
        "rates": "over the core canary" if moved.over_canary else "plain",
        **spread("points", moved.interval),
        "scatter": None if null is None else math.expm1(null.scatter),
        "number": 0 if null is None else null.points,
        "owners": moved.owners,
        "canary_core": ratio(moved.core),
        "canary_memory": ratio(moved.memory),
        "remarks": list(moved.remarks),
    }


def plain(value: Any) -> Any:
    """Return ``value``, made of dataclasses, mappings and sequences, as types that JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return number(value)
    return value


_LATEX: Final = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "} | {c: f"\\{c}" for c in "&%$#_{}"}


def latex(text: str) -> str:
    """Return ``text`` with the special characters of LaTeX and control characters escaped."""
    return "".join(_LATEX.get(c, c) for c in shown(text))


def latex_comment(text: str) -> str:
    """Return ``text`` as a LaTeX comment of one line."""
    return f"% {' '.join(shown(text).split())}"


def scrubber(machines: Sequence[Mapping[str, Any]], targets: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that removes what identifies a machine from a text: hosts and users of ``machines``, paths, addresses.

    ``targets`` maps names of targets to new names.
    """
    names: dict[str, str] = {}
    for key, word in (("host", "host"), ("hostname", "host"), ("domain", "host"), ("user", "user"), ("login", "user")):
        names |= {str(machine[key]): word for machine in machines if machine.get(key)}
    names.setdefault(socket.gethostname(), "host")
    with contextlib.suppress(OSError, KeyError):  # A container's user may have no name.
        names.setdefault(getpass.getuser(), "user")
    # "root" identifies nobody and is a word of file systems; "local" and the like are words of this program.
    for word in ("root", "local", "localhost", ""):
        names.pop(word, None)
    known, named = _any_of(names), _any_of(targets)

    def scrub(text: str) -> str:
        # Replace targets first, because their names may look like an address or a path.
        text = named.sub(lambda match: targets[match.group()], text) if named else text
        text = _PATH.sub("<path>", text)
        text = _ADDRESS.sub("<address>", text)
        return known.sub(lambda match: names[match.group()], text) if known else text

    return scrub


def _any_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern for any of ``names`` as a whole word, the longest first; None without names."""
    words = sorted(names, key=len, reverse=True)
    return re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words)) if words else None


def scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    """Return ``value`` with ``scrub`` applied to every text in it, at any depth."""
    if isinstance(value, str):
        return scrub(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: scrubbed(getattr(value, f.name), scrub) for f in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {k: scrubbed(v, scrub) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(scrubbed(v, scrub) for v in value)
    return value
