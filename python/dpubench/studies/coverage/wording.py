"""Wording of the findings of study ``coverage`` for both the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from dpubench.analysis.digits import percent, significant
from dpubench.analysis.model import Interval
from dpubench.analysis.tables import count
from dpubench.simulation.characteristics import CHARACTERISTICS, COST_WORDS
from dpubench.simulation.hull import LEAST_INPUTS
from dpubench.studies.coverage.model import Covered, Hull, Outside, PointSummary, RunSummary, Space

KINDS: Final[Mapping[str, str]] = {"operator": "operators", "application": "applications", "workload": "workloads"}
#: The base of each characteristic.
OF: Final[Mapping[str, str]] = {
    "ipc": "instructions per cycle", "itlb_miss_ratio": "of accesses to the instruction TLB's first level",
    "dtlb_miss_ratio": "of accesses to the data TLB's first level", "l1d_miss_ratio": "of accesses to the first-level data cache",
    "integer_share": "of instructions", "branch_share": "of instructions", "load_store_share": "of instructions",
}  # fmt: skip


def value_text(name: str, value: float | None) -> str:
    """Return a characteristic as text: IPC as a number, ratios and shares in percent."""
    if value is None or not math.isfinite(value):
        return "not counted"
    if name == "ipc":
        return significant(value, 3)
    return "0 %" if value == 0 else f"{significant(100 * value, 3)} %"


def characteristic_text(point: PointSummary, name: str) -> str:
    """Return a characteristic of ``point`` as text, with its 95 % interval where one is known: ``1.42 [1.4, 1.44]``."""
    text = value_text(name, point.characteristics.get(name))
    if name != "ipc" or point.ipc is None or not math.isfinite(point.ipc.low):
        return text
    return f"{text} [{significant(point.ipc.low, 3)}, {significant(point.ipc.high, 3)}]"


def origin_word(run: RunSummary) -> str:
    """Return whether the figures of ``run`` are modelled or measured, for headings."""
    return "modelled" if run.models else "measured"


def share_text(share: Interval | None) -> str:
    """Return a share as text, such as ``63 % [51, 74]``; without an interval only the value."""
    if share is None or not math.isfinite(share.value):
        return "-"
    text = percent(share.value)
    return text + (f" [{significant(100 * share.low, 3)}, {significant(100 * share.high, 3)}]" if math.isfinite(share.low) else "")


def distance_text(value: float) -> str:
    """Return ``value`` with three significant digits; a dash if it is not finite."""
    return significant(value, 3) if math.isfinite(value) else "-"


def told(point: PointSummary) -> str:
    """Return engine, parameters and size of ``point``; for a whole program also the number of inputs."""
    words = [point.engine, *(f"{k} {v}" for k, v in sorted(point.params.items()))]
    if point.message_bytes is not None:
        words.append(f"{point.message_bytes} B")
    if point.kind != "operator":
        words.append(count(len(point.inputs), "input"))
    return ", ".join(filter(None, words))


def outside_text(outside: Outside) -> str:
    """Return how phases differ from the nearest mixture, per instruction: ``more branches`` or ``fewer branches``."""
    return f"{'more' if outside.above else 'fewer'} {COST_WORDS[outside.cost]}"


def reason_text(covered: Covered) -> str:
    """Return the three most frequent causes of phases outside, each with its share of them."""
    missed = covered.phases - covered.inside
    return ", ".join(f"{outside_text(o)} ({100 * o.phases / missed:.0f} %)" for o in covered.outside[:3])


def hull_text(hull: Hull) -> str:
    """Return the number of points and dimensions of the hull, and how many points are mixtures of the others."""
    flat = f", of which its points span {hull.rank}" if hull.rank < hull.dimensions else ""
    own = f"{hull.own_inside} of them {'is a mixture' if hull.own_inside == 1 else 'are mixtures'} of the others"
    return f"the hull has {count(hull.points, 'point')} in {count(hull.dimensions, 'dimension')}{flat}; {own}"


def thin_text(space: Space) -> str:
    """Return a warning about shares of a hull with few points; empty if it has enough."""
    if not space.hull.thin:
        return ""
    return (
        f"{hull_text(space.hull)}: with so few points another operator would be outside too. A small share says little about what operators cover; "
        "read the distances, and use more engines and sizes (--engine all, --size 64B,512B,1518B, --plan full)"
    )


def answer(run: RunSummary) -> list[str]:
    """Return the answer of the run, first the share that operators cover."""
    if run.space is None:
        return ["there are too few points for a space: the coverage by operators is unknown"]
    lines, number = [], run.space.operators
    for kind, share in (("application", run.space.share), ("workload", run.space.workload_share)):
        own = [c for c in run.space.covered if c.point.startswith(f"{kind}/")]
        if share is None or not own:
            continue
        interval = "" if math.isfinite(share.low) else f", no interval: fewer than {LEAST_INPUTS} inputs each"
        phases = count(sum(c.phases for c in own), "phase")
        set_of = f"{count(number, 'operator')} {'covers' if number == 1 else 'cover'}"
        lines.append(f"{set_of} {share_text(share)} of the phases of {count(len(own), kind)} ({phases}{interval})")
        if kind == "application" and run.space.near_share is not None:
            lines[-1] += f"; {percent(run.space.near_share)} are inside or at most one standard deviation off"
        worst = min(own, key=lambda c: (c.share.value, -c.median_distance))
        if worst.share.value < 1:
            lines.append(f"lowest for {run.space.names[worst.point]}: {share_text(worst.share)}; outside by {reason_text(worst)}")
    return lines or [f"{count(number, 'operator')}; no whole program was traced, so their coverage is unknown"]


def ordered(values: Mapping[str, float | None]) -> list[tuple[str, float | None]]:
    """Return the seven characteristics in their order, each with its value."""
    return [(name, values.get(name)) for name in CHARACTERISTICS]
