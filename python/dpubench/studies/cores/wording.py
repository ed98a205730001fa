"""Wording of the points of study ``cores`` for both the terminal and the report."""

from __future__ import annotations

import math
from typing import Final

from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval
from dpubench.plans.frames import IMIX
from dpubench.studies.cores.model import Claim, CoresNeeded, OnLine, PointSummary

#: The noun for a step of each organisation.
STEPS: Final = {"superscalar": "unit set", "fgmt": "context", "smt": "context", "cmp": "core", "described": "core"}
ORGANISATIONS: Final = {"superscalar": "superscalar", "fgmt": "FGMT", "smt": "SMT", "cmp": "CMP", "described": "as described"}
#: Causes for which no instruction of a context enters its window (docs/cores.md, `stall_cycles`).
STALLS: Final = {
    "queue": "issue queue full", "window": "reorder buffer full", "loads": "load queue full", "stores": "store queue full",
    "branch": "behind a mispredicted branch", "instruction_miss": "instruction-cache miss", "other_contexts": "other contexts' turn",
    "switch": "switched away", "front_end": "front end empty",
}  # fmt: skip


def organisation_text(point: PointSummary) -> str:
    """Return the organisation and its step, such as ``SMT, 4 contexts``."""
    noun = STEPS[point.organisation]
    sets = f" of {point.unit_sets} unit set{'s' * (point.unit_sets > 1)}" if point.unit_sets is not None and point.unit_sets != point.step else ""
    return f"{ORGANISATIONS[point.organisation]}, {point.step} {noun}{'s' * (point.step > 1)}{sets}"


def frame_text(point: PointSummary) -> str:
    """Return the frame size with FCS."""
    if point.frame == IMIX:
        return f"IMIX (mean {point.frame_bytes:.4g} B)"
    return " + ".join(f"{size} B" for size in point.frame.split("+"))


def kernel_text(point: PointSummary) -> str:
    """Return operators, engines and parameters of the kernel."""
    words = [*point.operators, *point.engines, *(f"{k} {v}" for k, v in sorted(point.params.items()))]
    return ", ".join(words)


def modelled(quantity: str) -> str:
    """Return the heading of a column of ``quantity``. No figure of this study was measured, and its tables are read without their page."""
    return f"modelled {quantity}"


def interval_text(interval: Interval, digits: int = 4) -> str:
    """Return a value with its interval, such as ``3.14 [3.1, 3.2]``; for a whole simulation only the value."""
    value = significant(interval.value, digits)
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return value
    return f"{value} [{significant(interval.low, digits)}, {significant(interval.high, digits)}]"


def rate_text(point: PointSummary) -> str:
    """Return the rate of a point: the line that it fills, or for a kernel that looks at no bytes its messages per second."""
    assert point.line_gbps is not None and point.messages_per_s is not None  # callers filter for it
    if point.every_byte:
        return f"{interval_text(point.line_gbps, 3)} Gb/s"
    millions = Interval(*(value / 1e6 for value in (point.messages_per_s.value, point.messages_per_s.low, point.messages_per_s.high)))
    return f"{interval_text(millions, 3)} million messages/s"


def cores_text(cores: CoresNeeded | None) -> str:
    """Return the number of cores: ``3`` or ``3 to 4``; ``12*`` if it is extrapolated and so has no interval."""
    if cores is None:
        return "-"
    if cores.extrapolated:
        return f"{cores.value}*"
    return f"{cores.low} to {cores.high}" if cores.low != cores.high else str(cores.value)


def line_text(gbps: float) -> str:
    """Return a line rate, such as ``100 Gb/s`` or ``100 Mb/s``."""
    return f"{gbps:g} Gb/s" if gbps >= 1 else f"{1000 * gbps:g} Mb/s"


def verdict_text(line: OnLine) -> str:
    """Return whether a line is sustained, in words."""
    return {"yes": "yes", "no": "no", "undecided": "undecided"}[line.sustains]


def verdict_of_claim(claim: Claim) -> str:
    """Return the verdict on a claim. If it is "partly", also the part that holds; if the code is not the paper's, also that."""
    return "; ".join(filter(None, (claim.verdict, claim.part, claim.code if claim.verdict != "not run" else "")))


def overhead_text(overhead_bytes: int) -> str:
    """Return in words how many bytes a message takes on a line."""
    beside = f"and {overhead_bytes} B of preamble, delimiter and gap" if overhead_bytes else "and nothing else (no preamble, no gap)"
    return f"a message takes its frame with FCS {beside} on the line"
