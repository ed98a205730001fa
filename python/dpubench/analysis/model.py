"""Parts of an analysed run that every study has: intervals, figures, warnings, failures, rows of a comparison. They hold data and no behaviour."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

#: Sources of cycle counts: a counter of the core, named as the counting program names it (the name may add "user mode only"), or an estimate from
#: the core canary beside the point.
COUNTED: Final = ("hardware counter", "counter of the virtual machine")


ESTIMATED: Final = "estimated"


#: Label of a target whose outputs can be checked but whose times mean nothing.
EMULATED: Final = "emulated: correctness only"


def is_emulated(target: Mapping[str, Any]) -> bool:
    """Return whether the times of a target mean nothing, from its entry in a record. Earlier versions told it by the label alone."""
    return bool(target.get("emulated", target.get("label") == EMULATED))


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate (over rounds, a trimmed mean) with its 95 % interval, in the unit of the quantity.

    Below two rounds ``low`` and ``high`` are ``nan``.
    """

    value: float
    low: float
    high: float


#: Where a figure is from: a measurement on its target, a model of a processor, a count under an emulator, or files of another tool.
Origin = Literal["measured", "modelled", "emulated", "imported"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a study gives at its points."""

    name: str  #: in files, such as ``calls_per_s``
    title: str  #: in tables, such as ``system calls``
    unit: str  #: "" for a ratio or a share
    better: Literal["more", "less", "neither"]

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity at one point of a run: the form that the points of all studies share."""

    study: str
    run: str
    point: str  #: id
    parameters: Mapping[str, str]
    target: str
    quantity: Quantity
    interval: Interval | None  #: None: see ``failure`` and ``unavailable``; its ends are ``nan`` where they are not known, or where it is exact
    origin: Origin
    labels: tuple[str, ...] = ()  #: words that stand beside the figure wherever it is shown
    warnings: tuple[str, ...] = ()  #: codes of the warnings of its point
    failure: str = ""  #: why the point failed
    unavailable: str = ""  #: why there is no interval although nothing failed


@dataclass(frozen=True, slots=True)
class Warning_:
    """A warning with a code of the closed set in :mod:`dpubench.analysis.warnings`, shown beside the number that it weakens."""

    code: str
    message: str
    point: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a point, a group or the run."""

    phase: str
    message: str
    point: str | None = None
    group: str | None = None


#: The verdict of a comparison. ``more`` and ``fewer`` compare counts, the other words compare rates.
Verdict = Literal["faster", "slower", "more", "fewer", "undecided", "same", "not comparable"]


@dataclass(slots=True)
class Comparison:
    """One row of a comparison: old against new, or a run against the baseline run."""

    configuration: str
    old: str | None  #: point id
    new: str | None
    ratio: Interval | None  #: new rate / old rate
    verdict: Verdict
    p_value: float | None
    reason: str  #: why undecided or not comparable; else ""


@dataclass(slots=True, kw_only=True)
class AnalysedRun:
    """The part of an analysed run that every study has. A study's subclass adds its points and whatever else it found."""

    name: str
    path: str
    study: str
    plan: str
    summary: str = ""  #: the plan's summary, in words
    status: str  #: running, complete, interrupted, failed
    started: str  #: ISO 8601, UTC
    finished: str
    command: str
    version: str
    precision_target: float  #: relative half width that the plan asks for
    machine: dict[str, Any]
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]  #: kind -> {name, sha256, date?}
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]  #: what the plan leaves out, as sentences
    target: str = "local"  #: target that was measured, as in point ids
    spec: str = ""  #: specification of ``target``; "" for runs of earlier versions
    label: str = ""  #: words shown beside every figure of the run; "" where there are none
    is_baseline: bool = False  #: whether the other runs of a report are compared with it


def head_of(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the fields of an :class:`AnalysedRun` that ``run.json`` tells (``record``), of any version. @raises KeyError, TypeError, ValueError"""
    target = mapping(record, "target_info")
    return {
        **{key: str(record.get(key, "")) for key in ("study", "plan", "status", "started", "finished", "command", "version")},
        "name": str(record.get("name", path.name)), "path": str(path), "precision_target": float(record.get("precision_target", math.nan)),
        "machine": dict(mapping(record, "machine")), "build_info": dict(mapping(record, "build")),
        "inputs": {str(kind): words_of(mapping(mapping(record, "inputs"), kind)) for kind in mapping(record, "inputs")},
        "warnings": [Warning_(str(w["code"]), str(w.get("message", "")), w.get("point"), w.get("group")) for w in record.get("warnings", [])],
        "failures": [
            Failure(str(f.get("phase", "")), str(f.get("message", "")), f.get("point"), f.get("group")) for f in record.get("failures", [])
        ],
        "left_out": [str(line) for line in record.get("left_out", [])],
        "target": str(record.get("target", "local")), "spec": str(target.get("spec", "")), "label": str(target.get("label", "")),
    }  # fmt: skip


def mapping(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the mapping at ``key``; empty where there is none."""
    value = of.get(key)
    return value if isinstance(value, Mapping) else {}


def words_of(of: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a mapping as text; the items of a list with commas between them."""
    return {str(key): ", ".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in of.items()}
