"""The warnings of study ``stress``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "mixed-versions",
        9,
        "different versions of stress-ng do different work under the same name",
        "install the same version on every target; ratios and ranks between versions say nothing of the machines",
    ),
    WarningKind(
        "overrun",
        3,
        "the stressor ran much longer than asked, and its rate holds for another length",
        "compare it with runs of the same length, or leave it out (--set exclude=NAME)",
    ),
    WarningKind(
        "listed-twice",
        2,
        "stress-ng listed the stressor more than once with operations, and the entries were added up",
        "run each stressor in a process of its own, as dpubench does",
    ),
    WarningKind(
        "other-classes",
        1,
        "the stressors' classes are those of another version of stress-ng",
        "run stress-ng through dpubench, which asks it for its classes",
    ),
)
