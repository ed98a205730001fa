"""The warnings of study ``cores``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "frames-apart",
        6,
        "frames arrive in memory that the kernel does not read, because its messages have no room for them",
        "read the point as one without the cost of the caches that frames evict; raise the message size (--size)",
    ),
)
