"""Judges from both sides' accounts what limited a trial: pure functions, no clock and no process. docs/end-to-end.md has the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dpubench.analysis.digits import percent
from dpubench.studies.end_to_end.model import Limit

#: Smallest share of the packets due that the client must offer to the port. With less it missed its schedule.
LEAST_OFFERED: Final = 0.999
#: Largest lag of 99 % of the packets: so many intervals of the schedule, or the time below if that is longer.
LAG_INTERVALS: Final = 10
LAG_NS: Final = 100_000.0
#: Time before and behind a gap in which a loss still counts as caused by the gap: queues fill before it, and drain behind it.
SLACK_NS: Final = 100_000.0


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a loop did not look at its ports, on the client's clock since the trial's start."""

    start_ns: float
    length_ns: float

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.length_ns


@dataclass(frozen=True, slots=True)
class Verdict:
    """The limit of a trial, and the reason in words."""

    limit: Limit
    reason: str = ""
    stalled: int = 0  #: packets lost in gaps


def due(trial: dict[str, Any]) -> int:
    """Return the packets that were due, with those that the workload may drop on purpose."""
    return int(trial["due"])


def lost(trial: dict[str, Any]) -> int:
    """Return the packets that were due and did not come back, without those that the workload may drop on purpose."""
    return max(int(trial["due"]) - int(trial["received"]) - int(trial.get("excused", 0)), 0)


def loss_ratio(trial: dict[str, Any]) -> float:
    """Return the share of the packets due that were lost; 0 if none was due."""
    return lost(trial) / due(trial) if due(trial) else 0.0


def due_together(schedule: str, burst_packets: int) -> int:
    """Return how many packets are due at one time in ``schedule``, if the plan has bursts of ``burst_packets``."""
    return burst_packets if schedule == "burst" else 1


def judge(
    trial: dict[str, Any],
    served: Sequence[dict[str, Any]],
    *,
    goal: float,
    together: int = 1,
    queue_packets: int = 0,
    for_rate: bool = False,
) -> Verdict:
    """Return the limit of a trial, from the event ``trial`` and the event ``served`` of each server on the way.

    Args:
        goal: the loss ratio above which the server is the limit
        together: packets that are due at one time in the schedule
        queue_packets: packets that the queues of the link hold; a gap in which fewer packets come loses nothing
        for_rate: whether the trial asks only if the rate is sustained. A client that was late offered the rate all the same, in bursts, which are
            harder. So if no more than the goal was lost, the rate is sustained.
    """
    if reason := not_offered(trial):
        return Verdict("client-limited", reason)
    late = client_late(trial, together)
    is_lossy = lost(trial) > 0 and loss_ratio(trial) > goal
    if late and (is_lossy or not for_rate):
        return Verdict("client-limited", late)
    if not is_lossy:
        return Verdict("", late)
    gaps = long_gaps(trial_gaps(trial, served), _rate_pps(trial), queue_packets)
    stalled = lost_in_gaps(trial["losses"], gaps)
    rest = max(lost(trial) - stalled, 0) / max(due(trial), 1)
    if stalled and rest <= goal:
        longest = max(gap.length_ns for gap in gaps)
        told = f"{stalled} of {lost(trial)} lost packets were due in gaps of the loops, the longest {longest / 1e3:.0f} us"
        return Verdict("stall-limited", told, stalled)
    return Verdict("server-limited", f"{percent(loss_ratio(trial))} lost", stalled)


def not_offered(trial: dict[str, Any]) -> str:
    """Return how much of its schedule the client missed; empty if it offered nearly all packets that were due."""
    # Packets that the port did not take were offered in time. They count as lost at the client's transmit.
    offered = int(trial["sent"]) + int(trial["tx_full"])
    if offered < LEAST_OFFERED * due(trial):
        return f"the client offered {offered} of {due(trial)} packets that were due"
    return ""


def client_late(trial: dict[str, Any], together: int) -> str:
    """Return how late the client sent, whether packets were lost by it or not; empty if it was in time, or had no schedule (a flood)."""
    lag, rate = trial.get("lag_ns"), _rate_pps(trial)
    if lag is None or rate <= 0:
        return ""
    allowed = max(LAG_INTERVALS * together / rate * 1e9, LAG_NS)
    if float(lag["p99"]) <= allowed:
        return ""
    told = f"the client sent late: 1 % of its packets by more than {float(lag['p99']) / 1e3:.0f} us (allowed: {allowed / 1e3:.0f} us)"
    stood_ns = sum(float(length) for _, length in trial["gaps"])
    if not stood_ns:
        return told
    longest_ns = max(float(length) for _, length in trial["gaps"])
    return f"{told}; its loop stood still for {stood_ns / 1e6:.1f} ms in all, at most {longest_ns / 1e6:.1f} ms at a time"


def _rate_pps(trial: dict[str, Any]) -> float:
    """Return the packets that were due per second."""
    return due(trial) / float(trial["duration_s"]) if trial["duration_s"] else 0.0


def trial_gaps(trial: dict[str, Any], served: Sequence[dict[str, Any]]) -> list[Gap]:
    """Return the gaps of all loops on the client's time line.

    The gaps of a server can be placed there if both sides' times are of one machine's clock (``begun_ns`` of both events). The times of a server
    elsewhere cannot be set against the client's. Each of its gaps is taken to cover the whole trial, so that a loss that one of them may explain is
    never called the server's.
    """
    gaps = [Gap(float(at), float(length)) for at, length in trial["gaps"]]
    start = trial.get("begun_ns")
    length_s = float(trial.get("ramp_s", 0.0)) + float(trial["duration_s"])
    for event in served:
        for at, length in event["gaps"]:
            if start is not None and "begun_ns" in event:
                gaps.append(Gap(float(at) - float(start), float(length)))
            else:
                gaps.append(Gap(0.0, length_s * 1e9))
    return gaps


def long_gaps(gaps: Sequence[Gap], rate_pps: float, queue_packets: int) -> list[Gap]:
    """Return the gaps in which more packets come than the queues hold."""
    return [gap for gap in gaps if gap.length_ns * 1e-9 * rate_pps > queue_packets]


def lost_in_gaps(losses: Sequence[Sequence[float]], gaps: Sequence[Gap]) -> int:
    """Return how many packets of ``losses`` [first due ns, last due ns, count] were due in a gap, or so soon behind it that queues were still full.

    If a run of losses lies only partly in a gap, only that part counts.
    """
    spans = _merged([(gap.start_ns - SLACK_NS, gap.end_ns + SLACK_NS + gap.length_ns) for gap in gaps])
    found = 0.0
    for first, last, number in losses:
        length = float(last) - float(first)
        if length <= 0:
            found += number if any(low <= first <= high for low, high in spans) else 0
        else:
            covered = sum(max(0.0, min(float(last), high) - max(float(first), low)) for low, high in spans)
            found += number * min(covered / length, 1.0)
    return round(found)


def _merged(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return disjoint spans that cover the same times."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def disagreement(trial: dict[str, Any], checked: dict[str, Any]) -> str:
    """Return why a trial's accounts or answers cannot be right; empty if no fault shows."""
    if not checked["agree"]:
        return f"the accounts of both sides do not agree: {checked.get('first_wrong') or 'no reason was given'}"
    if wrong := _wrong_answers(trial):
        return wrong
    if checked.get("flows_wrong"):
        return f"{checked['flows_wrong']} of {checked.get('flows', 0)} flows are counted wrong: {checked.get('first_wrong') or 'no reason was given'}"
    # Packets that the workload may drop have a place of their own. A server that does not see its packets gives losses no place; these count too.
    located = sum(int(n) for n in checked["lost"].values()) + int(checked.get("excused", 0)) + int(checked.get("unlocated", 0))
    missing = int(trial["due"]) - int(trial["received"])
    if located != missing:
        return f"{missing} packets did not come back, but {located} losses were located"
    return ""


def disagreement_with(served: dict[str, Any], trial: dict[str, Any]) -> str:
    """Return why the accounts or answers of a trial with a server elsewhere cannot be right; empty if no fault shows.

    Its notes on single packets are not here, so only its counts are checked. They hold the packets of the ramp too.
    """
    if wrong := _wrong_answers(trial):
        return wrong
    left = int(served["transmitted"]) + int(served["tx_full"]) + sum(int(n) for n in served["dropped"].values())
    if left > int(served["received"]):
        return f"the server received {served['received']} packets but sent or dropped {left}"
    if int(trial["received"]) > int(served["transmitted"]):
        return f"{trial['received']} answers came, but the server sent {served['transmitted']}"
    return ""


def _wrong_answers(trial: dict[str, Any]) -> str:
    if not trial["wrong"]:
        return ""
    return f"{trial['wrong']} of {trial['received']} answers are wrong: {trial.get('first_wrong') or 'no reason was given'}"
