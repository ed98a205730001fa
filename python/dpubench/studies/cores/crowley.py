"""The figures that Crowley, Fiuczynski, Baer and Bershad, "Workloads for Programmable Network Interfaces" (1999), state, and what follows from them.

Some claims of the paper disagree with its own figures. Each function here returns the calculation in words. It uses only what the paper states, and
no simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dpubench.analysis.digits import significant

CLOCKS_MHZ: Final = (100.0, 200.0, 300.0, 400.0, 500.0)
STEPS: Final = range(1, 8)
#: Bytes of a message in the captions of Figures 2 to 4, and of a line of the Alpha 21264's caches.
CAPTION_BYTES: Final = 1500
LINE_BYTES: Final = 64


@dataclass(frozen=True)
class Row:
    """A row of the paper's Table 2."""

    kernel: str
    instructions: int  #: a message
    memory: float  #: share of loads and stores
    control: float  #: share of control flow
    other: float


TABLE_2: Final = {"lookup": Row("ip4lookup", 120, 0.186, 0.121, 0.693), "md5": Row("MD5", 23_000, 0.103, 0.006, 0.891)}
#: Additional unit sets with which each kernel gains.
ADDITIONAL_SETS: Final = {"lookup": 5, "md5": 2}


def messages_per_s(line_gbps: float, message_bytes: float) -> float:
    """Return the messages a second that fill a line."""
    return line_gbps * 1e9 / (8 * message_bytes)


def most_ipc(row: Row) -> float:
    """Return the most instructions per cycle with one unit set: its integer unit executes everything but loads and stores."""
    return 1 / max(row.memory, 1 - row.memory)


def smt_configurations(row: Row, line_gbps: float, message_bytes: float) -> int:
    """Return how many of the paper's 35 SMT configurations can sustain a line at most, if each context adds what one unit set can do at best."""
    needed = messages_per_s(line_gbps, message_bytes) * row.instructions
    return sum(n * clock * 1e6 * most_ipc(row) >= needed for n in STEPS for clock in CLOCKS_MHZ)


def misses() -> str:
    """Return what new messages alone cost MD5 by the paper's own counts."""
    row = TABLE_2["md5"]
    lines, accesses = CAPTION_BYTES / LINE_BYTES, row.instructions * row.memory
    return (
        f"a message of {CAPTION_BYTES} B has {lines:.1f} lines of {LINE_BYTES} B, all new; over the paper's own {row.instructions:,} x "
        f"{100 * row.memory:.1f} % = {accesses:,.0f} accesses they are {100 * lines / accesses:.2f} %: below 1 %, and above it with shorter lines"
    )


def parallelism() -> str:
    """Return the ratios that the paper's two counts give."""
    lookup, md5 = ADDITIONAL_SETS["lookup"], ADDITIONAL_SETS["md5"]
    return (
        f"the paper's two counts give {lookup} / {md5} = {lookup / md5:.1f} for additional sets, and {lookup + 1} / {md5 + 1} = "
        f"{(lookup + 1) / (md5 + 1):.1f} for all sets: neither is nearly three, and a count of units is no ratio of instructions per cycle"
    )


def lookup_lines() -> str:
    """Return why lines of lookup cannot be counted with the messages of the paper's captions."""
    row, line = TABLE_2["lookup"], 10.0
    told = []
    for size in (CAPTION_BYTES, 64):
        rate = messages_per_s(line, size)
        told.append((size, rate, rate * row.instructions / 1e6))
    (large, slow, few), (small, fast, many) = told
    return (
        f"contradiction: {line:g} Gb/s of the captions' {large} B are {slow:,.0f} lookups/s of {row.instructions} instructions, {few:.0f} million "
        f"instructions/s, which one unit set at 200 MHz executes with {few / 200:.2f} a cycle; so it cannot be that no superscalar sustains it. "
        f"At {small} B it is {fast / 1e6:.1f} million lookups/s, {many:,.0f} million instructions/s, or {many / 500:.1f} a cycle at 500 MHz"
    )


def md5_superscalar() -> str:
    """Return the least clock for 100 Mb/s of MD5 with one unit set, by the paper's own counts."""
    row = TABLE_2["md5"]
    needed = messages_per_s(0.1, CAPTION_BYTES) * row.instructions / 1e6
    return (
        f"consistent: 100 Mb/s are {messages_per_s(0.1, CAPTION_BYTES):,.0f} messages/s of {row.instructions:,} instructions, {needed:.0f} million "
        f"instructions/s; one unit set does at most 1 / {1 - row.memory:.3f} = {most_ipc(row):.3f} a cycle, so that it needs at least "
        f"{needed / most_ipc(row):.0f} MHz"
    )


def smt_md5() -> str:
    """Return how many SMT configurations the paper's own counts allow for MD5 at 1 Gb/s."""
    row = TABLE_2["md5"]
    rate = messages_per_s(1, CAPTION_BYTES)
    return (
        f"contradiction: 1 Gb/s are {rate:,.0f} messages/s of {row.instructions:,} instructions, {rate * row.instructions / 1e6:,.0f} million "
        f"instructions/s; a context with one unit set does at most {most_ipc(row):.3f} a cycle, and with linear scaling at most "
        f"{smt_configurations(row, 1, CAPTION_BYTES)} of 35 configurations reach it, not eleven"
    )


def contexts_for_clock() -> str:
    """Return the ratio that linear scaling in contexts and clock gives."""
    return (
        f"consistent: linear in contexts and clock it is 4 x 500 / (7 x 300) = {significant(4 * 500 / (7 * 300), 3)}. "
        "The text calls the second processor superscalar there, which has no contexts: a slip"
    )
