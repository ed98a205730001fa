"""The warnings of study ``offload``."""

from __future__ import annotations

from typing import Final

from dpubench.analysis.warnings import WarningKind

KINDS: Final = (
    WarningKind(
        "correctness-only",
        9,
        "ranks had to share cores: transfers are verified, and efficiencies are withheld, since they would tell how the kernel shares the cores",
        "give each rank a core: fewer ranks (--set hosts=1), another machine, or several (--set host_file=FILE)",
    ),
    WarningKind(
        "emulated-transfers",
        8,
        "transfers are not truly one-sided: they need the host's processor, and nothing may arrive while it computes",
        "use a transport with one-sided transfers",
    ),
    WarningKind(
        "nothing-arrived",
        7,
        "no byte was there before the hosts made a call: communication and computing did not overlap",
        "look at pinning, and at the phases' times",
    ),
    WarningKind(
        "imbalance",
        4,
        "the number of workers does not divide that of the hosts: the busiest worker has more hosts than the mean, which is no contention",
        "compare with numbers of workers that divide the hosts",
    ),
)
