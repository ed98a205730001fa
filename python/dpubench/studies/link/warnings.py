"""The warnings of study ``link``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "end-saturated",
        6,
        "a program at one end used a whole CPU: the rate is this program's and not the link's",
        "raise streams in the plan (iperf3 has one thread in versions before 3.16), or use larger messages",
    ),
    WarningKind(
        "retransmitted",
        5,
        "segments were lost and sent again: the rate depends on how TCP recovers",
        "look for errors and drops of the interfaces at both ends (ip -s link)",
    ),
    WarningKind(
        "few-samples",
        3,
        "fewer than ten round trips lie beyond the highest percentile: it is rough",
        "raise duration in the plan (--set duration=10s)",
    ),
)
