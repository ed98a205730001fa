"""The warnings of study ``end-to-end``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "search-unfinished",
        7,
        "a search for NDR and PDR had no time to narrow its bounds: its round says nothing about them",
        "stop other work on the machine, so that fewer trials are repeated; raise search.limit or search.width in the plan",
    ),
    WarningKind("link-down", 7, "the other side of a port went away during a trial", "see the run's failures for the cause"),
)
