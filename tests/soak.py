"""A soak test: client and server of study ``end-to-end`` at a moderate rate for a long time. ``make soak`` runs it for SECONDS (default 3600).

Each workload runs for half of the time, in one session, trial after trial. Every trial must agree with its checks, and every lost packet
must have a place. The programs' memory must not grow by more than MOST_GROWTH after the first quarter of the time. Otherwise the test prints the
reason and ends with 1.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python")]

from dpubench.errors import UserError  # noqa: E402
from dpubench.studies.end_to_end.session import Session, SessionFault  # noqa: E402
from end_to_end_sessions import Sessions, account_fault, plan_of, sessions_here  # noqa: E402

WORKLOADS: Final = ("flow-table", "application-recognition")
RATE_PPS: Final = 50_000.0
TRIAL_S: Final = 1.0
#: Share by which a program's memory may grow from a quarter of the time to the end.
MOST_GROWTH: Final = 0.02
MINUTE_S: Final = 60.0
_PLAN: Final = {
    "frame_sizes": ["imix"], "traffic": {"flows": 10_000, "churn_per_s": 1000, "payload": {"source": "random", "signature_share": "10%"}},
    "trial": {"ramp": "20ms", "duration": "1s", "drain": "100ms"},
}  # fmt: skip


class Failed(Exception):
    """The reason why a soak test fails."""


def resident_kib(pid: int) -> int:
    """Return the resident memory of a process in KiB. @raises Failed when the process is gone"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise Failed(f"process {pid} is gone: {error}") from None
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def grown(early_kib: dict[str, int], now_kib: dict[str, int]) -> str:
    """Return which program holds too much more memory than before, or an empty string."""
    for side, now in now_kib.items():
        if now > early_kib[side] * (1 + MOST_GROWTH):
            return f"{side} held {early_kib[side]} KiB after a quarter of the time and holds {now} KiB now"
    return ""


class Soak:
    """One workload in one session."""

    def __init__(self, workload: str, session: Session, seconds: float) -> None:
        self.workload, self._session, self._seconds = workload, session, seconds
        self._trials = self._packets = self._lost = 0
        self._early_kib: dict[str, int] | None = None

    def run(self) -> None:
        """Run trials until the time is over. @raises Failed, SessionFault"""
        begun = told = time.monotonic()
        while (now := time.monotonic()) - begun < self._seconds:
            self._trial()
            if self._early_kib is None and now - begun >= self._seconds / 4:
                self._early_kib = self._memory()
            if now - told >= MINUTE_S:
                told = now
                self._tell(now - begun)
                self._check_memory()
        self._check_memory()
        self._session.end()
        self._tell(time.monotonic() - begun)

    def _trial(self) -> None:
        done = self._session.trial(RATE_PPS, "constant", TRIAL_S)
        if fault := account_fault(self._session, done):
            raise Failed(f"{self.workload}, trial {self._trials + 1}: {fault}")
        self._trials += 1
        self._packets += int(done.trial["due"])
        self._lost += int(done.trial["due"]) - int(done.trial["received"])

    def _memory(self) -> dict[str, int]:
        self._last_kib = {side: resident_kib(pid) for side, pid in self._session.pids().items()}
        return self._last_kib

    def _check_memory(self) -> None:
        now_kib = self._memory()
        if self._early_kib is not None and (fault := grown(self._early_kib, now_kib)):
            raise Failed(f"{self.workload}, after {self._trials} trials: {fault}")

    def _tell(self, seconds: float) -> None:
        held = ", ".join(f"{side} {kib / 1024:.1f} MiB" for side, kib in getattr(self, "_last_kib", {}).items())
        text = f"{self.workload}: {seconds:.0f} s, {self._trials} trials, {self._packets} packets, {self._lost} lost and located; {held}"
        print(text, flush=True)


def soak(sessions: Sessions, seconds: float) -> None:
    """Run all workloads, each for its share of the time. @raises Failed, SessionFault"""
    each_s = seconds / len(WORKLOADS)
    for workload in WORKLOADS:
        with sessions.opened(plan_of(**_PLAN, workloads=[workload]), session_s=each_s + 60) as session:
            Soak(workload, session, each_s).run()


def main() -> int:
    """Run the soak test; return the exit status."""
    try:
        seconds = float(os.environ.get("SECONDS", "3600"))
    except ValueError:
        print(f"soak: SECONDS={os.environ['SECONDS']}: must be a number of seconds", file=sys.stderr)
        return 2
    try:
        with sessions_here() as sessions:
            soak(sessions, seconds)
    except (Failed, SessionFault, UserError) as fault:
        print(f"soak: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
