"""The warnings of study ``operators``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "few-bursts",
        3,
        "bursts are so slow that a window holds fewer than the plan asks for, so a single stall weighs more",
        "raise window.max, or lower --burst",
    ),
    WarningKind(
        "clock-coarse",
        3,
        "reading the clock costs more than 0.1 % of a window",
        "raise window.min, or make the kernel use a finer clock source (tsc on x86)",
    ),
    WarningKind(
        "clock-drift",
        6,
        "the cycle counter and the kernel's clock disagree by more than the allowed share",
        "check the kernel's clock source; on a virtual machine ask for an invariant TSC",
    ),
    WarningKind(
        "not-pinned",
        6,
        "threads could not be bound to CPUs and may have migrated",
        "run where sched_setaffinity is allowed, or name CPUs of your cpuset with --target local:cpus=LIST",
    ),
    WarningKind("expansion", 2, "the output is larger than the input", "compare at a size or with an input that compresses"),
    WarningKind("passthrough", 1, "the input already fits, so the operator had nothing to do", "choose a size above the operator's limit"),
    WarningKind(
        "footprint-capped",
        3,
        "the run used fewer buffers than the footprint asks for, so caches may hold more of them",
        "free memory, or judge the point by the cache that holds its buffers (touched_level), not by the footprint's name",
    ),
    WarningKind(
        "oversubscribed",
        5,
        "more threads than CPUs: the scheduler is part of the measurement",
        "use fewer threads, or read the point as a measurement of oversubscription",
    ),
    WarningKind(
        "canary-moved",
        8,
        "the machine's own speed changed by more than 5 %: beside most configurations of the run, or far more beside this point than beside others",
        "trust ratios more than absolute rates; stop other work on the machine or fix its frequency",
    ),
    WarningKind("restarted", 7, "a worker ended before its round, and another process measured the rest", "see the run's failures for the cause"),
    WarningKind(
        "undecided",
        9,
        "an engine left part of its work undecided, so its rate is for less work: ratios to other engines are withheld",
        "give rules that every engine compiles and that need less backtracking, with --input rules=FILE",
    ),
    WarningKind(
        "superseded",
        9,
        "an earlier version of the operator did different work than its name says",
        "measure again; docs/methodology.md says how such figures mislead",
    ),
)
