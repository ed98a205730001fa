"""A control group that limits the CPU time of its members (cgroup v2 ``cpu.max``, v1 ``cpu.cfs_quota_us``)."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path
from typing import Final

from dpubench.errors import EnvironmentFault

#: Length of a portion of time. With the kernel's default of 100 ms, whole windows would pass unhindered while others stop.
PERIOD_US: Final = 10_000
#: The smallest quota in a period that the kernel accepts.
LEAST_QUOTA_US: Final = 1000
#: Portions that a window should last, so that one more or less changes it by a few per cent only.
PERIODS_IN_WINDOW: Final = 20
_PREFIX: Final = "dpubench-"
_GONE_S: Final = 2.0
_serial = itertools.count()


def hierarchy(root: Path = Path("/sys/fs/cgroup")) -> tuple[Path | None, str]:
    """Return the place for a group with a quota, or why there is none, with a remedy."""
    if (root / "cgroup.controllers").is_file():
        folder = root
        with contextlib.suppress(OSError):
            if "cpu" not in (root / "cgroup.subtree_control").read_text(encoding="ascii").split():
                return None, f"{root}: control groups lack the controller 'cpu': run `echo +cpu > {root}/cgroup.subtree_control` as root"
    elif (root / "cpu" / "cpu.cfs_quota_us").exists() or (root / "cpu" / "cgroup.procs").exists():
        folder = root / "cpu"
    else:
        return None, f"{root}: no control groups with a controller 'cpu' are mounted here"
    if not os.access(folder, os.W_OK):
        return None, f"{folder}: no permission to make a control group: a quota needs root here"
    return folder, ""


class QuotaGroup:
    """A control group of this process, which :meth:`close` removes. It serves the many processes of a run, so that it is no context manager.

    Args:
        share: part of the time of ``cpus`` CPUs, 0..1
    """

    def __init__(self, share: float, cpus: int, root: Path = Path("/sys/fs/cgroup")) -> None:
        parent, reason = hierarchy(root)
        if parent is None:
            raise EnvironmentFault(f"quota: {reason}")
        _remove_abandoned(parent)
        self.path = parent / f"{_PREFIX}{os.getpid()}-{next(_serial)}"
        quota = max(LEAST_QUOTA_US, round(PERIOD_US * share * cpus))
        try:
            self.path.mkdir()
            if (self.path / "cpu.max").exists():
                (self.path / "cpu.max").write_text(f"{quota} {PERIOD_US}", encoding="ascii")
            else:
                (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="ascii")
                (self.path / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
        except OSError as error:
            self.close()
            raise EnvironmentFault(f"{self.path}: a quota of {share:.0%} cannot be set: {error.strerror or error}") from None
        except BaseException:  # Ctrl-C: nobody has the group yet to close it
            self.close()
            raise

    @property
    def members(self) -> Path:
        """Return the file that takes a process's id to make it a member."""
        return self.path / "cgroup.procs"

    def close(self) -> None:
        """Remove the group; its members have ended by now, or end within moments."""
        given_up = time.monotonic() + _GONE_S
        while self.path.is_dir():
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            if time.monotonic() > given_up:  # A later run removes it after its last member has ended.
                return
            time.sleep(0.01)


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups of processes that were killed before they could remove them."""
    for left in parent.glob(f"{_PREFIX}*-*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with contextlib.suppress(OSError):
                left.rmdir()
