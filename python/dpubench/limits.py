"""Checks of this process's limits. Limits that make libraries hang or abort silently are checked before loading, others explained when hit."""

from __future__ import annotations

import errno
import os
import resource
import threading
from typing import Final

from dpubench.errors import EnvironmentFault

#: OpenBLAS, Arrow and DuckDB map this much before they do anything. With less they spin, abort, or blame the disk.
LEAST_ADDRESS_SPACE_BYTES: Final = 1 << 30
#: Covers pipes of two programs with their standard streams, a run's files, and files that libraries hold.
LEAST_FILES: Final = 64
#: Threads beside one per CPU, which Arrow and DuckDB start. Without them Arrow reports a damaged file, and DuckDB waits forever.
LEAST_THREADS: Final = 16


#: The system's error for each limit, with the name of the limit and a remedy.
_MET: Final = {
    errno.EAGAIN: "no further process or thread can be started: raise the limit (`ulimit -u`; pids.max of a container)",
    errno.EMFILE: "too many files are open: raise the limit (`ulimit -n`)",
    errno.ENFILE: "the whole machine has too many files open: end programs that hold some, or raise fs.file-max",
    errno.ENOMEM: "there is not enough memory: free some, or raise the limit (`ulimit -v`; memory.max of a container)",
    errno.ENOSPC: "a disk is full: free some space, or name another place (--results, TMPDIR, XDG_CACHE_HOME)",
    errno.EDQUOT: "a disk quota is used up: free some space, or name another place (--results, TMPDIR, XDG_CACHE_HOME)",
}


def check() -> None:
    """Check the limits that every command needs. @raises EnvironmentFault one is too low"""
    # BLAS serves arrays of some thousand numbers here: a thread per CPU costs memory and gains nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < LEAST_ADDRESS_SPACE_BYTES:
        raise EnvironmentFault(
            f"the limit of address space (`ulimit -v`) is {space >> 20} MiB, but {LEAST_ADDRESS_SPACE_BYTES >> 20} MiB are needed: raise it; "
            "nothing was read or changed"
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < LEAST_FILES:
        raise EnvironmentFault(
            f"the limit of open files (`ulimit -n`) is {files}, but {LEAST_FILES} are needed: raise it; nothing was read or changed"
        )
    _check_threads()


def _check_threads() -> None:
    """Start as many threads as libraries do. @raises EnvironmentFault they cannot be started"""
    wanted = LEAST_THREADS + (os.cpu_count() or 1)
    end, threads = threading.Event(), []
    try:
        for _ in range(wanted):
            threads.append(threading.Thread(target=end.wait, daemon=True))
            threads[-1].start()
    except RuntimeError:
        raise EnvironmentFault(
            f"only {len(threads) - 1} threads could be started, but {wanted} are needed: raise the limit of processes and threads (`ulimit -u`; "
            "pids.max of a container) or of address space (`ulimit -v`); nothing was read or changed"
        ) from None
    finally:
        end.set()
        for thread in threads:
            if thread.ident is not None:  # a thread that did not start cannot be joined
                thread.join()


def of_a_start(error: OSError) -> str:
    """Return the limit that keeps a process from starting; empty for another cause."""
    return _MET.get(error.errno or 0, "")


def met(error: BaseException) -> str:
    """Return the limit behind ``error`` or its cause, in words with a remedy; empty for another cause."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):
            return _MET[errno.ENOMEM]
        if isinstance(seen, RuntimeError) and "start new thread" in str(seen):  # from threading
            return _MET[errno.EAGAIN]
        # A lock that another process holds gives EAGAIN too; the code that starts a process explains its own faults.
        if isinstance(seen, OSError) and seen.errno in _MET and seen.errno != errno.EAGAIN:
            return _MET[seen.errno] + (f" ({seen.filename})" if seen.filename else "")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return ""
