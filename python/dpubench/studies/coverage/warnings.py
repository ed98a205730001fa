"""The warnings of study ``coverage``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "thin-hull",
        7,
        "the operators' hull has so few points that a place outside of it says little",
        "read the distances, and measure more points: --engine all, --size 64B,512B,1518B, or --plan full",
    ),
)
