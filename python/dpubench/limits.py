"""Limits of this process under which libraries hang or abort without a word: looked at before they are loaded."""

from __future__ import annotations

import os
import resource
from typing import Final

from dpubench.errors import EnvironmentFault

#: OpenBLAS, Arrow and DuckDB map so much before they do anything. Below it they spin, abort, or say that the disk is at fault.
LEAST_ADDRESS_SPACE_BYTES: Final = 1 << 30
#: Pipes of two programs with their standard streams, a run's files, and what libraries hold.
LEAST_FILES: Final = 64


def check() -> None:
    """@raises EnvironmentFault a limit is too low to begin"""
    # BLAS serves arrays of some thousand numbers here: a thread for each CPU costs memory and gains nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < LEAST_ADDRESS_SPACE_BYTES:
        raise EnvironmentFault(
            f"the limit of address space (`ulimit -v`) is {space >> 20} MiB, and {LEAST_ADDRESS_SPACE_BYTES >> 20} MiB are needed: raise it; "
            "nothing was read or changed"
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < LEAST_FILES:
        raise EnvironmentFault(
            f"the limit of open files (`ulimit -n`) is {files}, and {LEAST_FILES} are needed: raise it; nothing was read or changed"
        )
