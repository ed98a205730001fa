"""The warnings of study ``headroom``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "generator-saturated",
        5,
        "the sending threads reached their own limit before the device did: the highest rate is theirs, and at this rate they have no time left",
        "ask for rates below the peak (--set rates=50%), give more CPUs or larger bursts, or send by a faster back-end",
    ),
    WarningKind(
        "not-monotone",
        3,
        "the rate fell below the threshold at a smaller delay and rose again at a larger one: below the edge it does not hold everywhere",
        "read the figure of the rate over the delay; use a delay that the figure shows to hold",
    ),
    WarningKind(
        "coarse-edge",
        3,
        "the budget ended searches before the edge was known to the resolution of the plan",
        "raise the budget, or ask for fewer points",
    ),
    WarningKind(
        "pacing-limit",
        2,
        "the edge is the pacing limit itself: it follows from threads, burst, packet size and rate, and says nothing of the CPU",
        "read the CPU share, which is the spacing less the time that a burst takes",
    ),
    WarningKind(
        "peak-choice",
        4,
        "the share of CPU depends on which highest rate is taken for the time of a burst",
        "read the interval, which holds all choices",
    ),
    WarningKind(
        "packets-lost",
        5,
        "packets that the device took did not arrive: the rate is that of those that arrived, and the CPU time is that of all",
        "give the sink a faster CPU or larger buffers, or ask for a lower rate",
    ),
    WarningKind(
        "cpu-withheld",
        6,
        "the threads that count had the CPU for only part of the trials: something else ran there, or the hypervisor took it",
        "end other programs, or isolate the CPUs",
    ),
    WarningKind(
        "shared-cpu",
        6,
        "sender and sink share a CPU, for the target has too few: the rate is that of both",
        "give the target one CPU more than the sending threads; embedded: two more than the device needs, or name the peer",
    ),
    WarningKind(
        "rate-not-offered",
        5,
        "less than the asked rate crossed the device even when it did nothing else: the figures are of the rate that crossed",
        "ask for a lower rate, or give sender and sink more CPU (--set peer=TARGET)",
    ),
    WarningKind(
        "rate-disturbed",
        5,
        "the rate that the kernel forwards fell while work of the lowest priority ran: part of what was left was not free",
        "read the rate beside what is left; see that nothing else of the lowest priority runs there",
    ),
    WarningKind(
        "no-receiver",
        2,
        "nothing received the packets: what was sent is what the device said that it took, and its content was checked before",
        "use a back-end with a sink, or name the peer (--set peer=TARGET)",
    ),
    WarningKind(
        "in-cache",
        3,
        "the table of the memory-bound work is no larger than the last level of cache: the work is less memory-bound than its name says",
        "run on a machine with a smaller cache, or compare with the cache-resident work",
    ),
    WarningKind(
        "operator-unchecked",
        2,
        "an operator could not be run inside the transmit loop: whether it fits is predicted alone",
        "the message has the reason",
    ),
    WarningKind(
        "receive-work",
        4,
        "the kernel received packets on the CPU that sent them: the time per burst includes it",
        "use Linux 5.19 or later, where the tool can move it",
    ),
)
