"""Tests of the limit of a trial, judged from its accounts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dpubench.studies.end_to_end import judge

RATE_PPS = 1e6
STALL_NS = 1e6


def trial(due: int = 100_000, *, lost: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a trial of 0.1 s at a million packets a second."""
    losses = [[0.0, 1e8, lost]] if lost else []
    return {
        "due": due, "sent": due, "tx_full": 0, "received": due - lost, "duration_s": 0.1, "ramp_s": 0.0, "gaps": [], "losses": losses, "wrong": 0,
        "lag_ns": percentiles(np.linspace(0, 5000, 1000)),
    } | changes  # fmt: skip


def percentiles(values: np.ndarray) -> dict[str, float]:
    """Return the figures that a histogram of the native half has."""
    found = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}
    return {name: float(np.percentile(values, at, method="inverted_cdf")) for name, at in found.items()} | {"mean": float(values.mean())}


def stalled(rate_pps: float, share: float, duration_s: float = 1.0, by: str = "packets") -> dict[str, Any]:
    """Return a trial of a client that stands still for 1 ms at a time, for this ``share`` of the time, and loses nothing.

    ``by`` "packets": each packet has its own lag; "bursts": each burst has the lag of its first packet.
    """
    due = np.arange(0, duration_s * 1e9, 1e9 / rate_pps)
    period_ns = STALL_NS / share if share else np.inf
    into = np.mod(due, period_ns)
    lag = np.where(into < STALL_NS, STALL_NS - into, 0.0)
    if by == "bursts":
        # Packets that waited for the end of a stall go out in bursts of 32, all others alone.
        place: np.ndarray[Any, np.dtype[np.int64]] = np.cumsum(lag > 0) - np.maximum.accumulate(np.where(lag > 0, 0, np.cumsum(lag > 0)))
        lag = lag[(lag == 0) | (place % 32 == 1)]
    gaps = [[at, STALL_NS] for at in np.arange(0, duration_s * 1e9, period_ns)] if share else []
    return trial(len(due), duration_s=duration_s, lag_ns=percentiles(lag), gaps=gaps)


def limit(event: dict[str, Any], *served: dict[str, Any], goal: float = 0.0, queue_packets: int = 1024, together: int = 1) -> str:
    return judge.judge(event, served, goal=goal, together=together, queue_packets=queue_packets).limit


def test_a_trial_without_loss_is_not_limited() -> None:
    assert limit(trial()) == ""


def test_loss_without_another_cause_is_the_servers() -> None:
    assert limit(trial(lost=1000)) == "server-limited"


def test_loss_within_the_goal_is_no_limit() -> None:
    assert limit(trial(lost=500), goal=0.005) == ""
    assert limit(trial(lost=501), goal=0.005) == "server-limited"


def test_what_was_not_offered_is_the_clients() -> None:
    assert limit(trial(sent=99_899, lost=101)) == "client-limited"
    assert limit(trial(sent=99_901, lost=99)) == "server-limited"


def test_what_the_port_did_not_take_was_offered() -> None:
    assert limit(trial(sent=50_000, tx_full=50_000, lost=50_000)) == "server-limited"


@pytest.mark.parametrize("rate_pps", [1e5, 1e6, 5e6])
def test_a_client_that_stands_still_is_seen_though_nothing_is_lost(rate_pps: float) -> None:
    """The client stands still for 1 ms at a time, for 5 % of the time. Packets due meanwhile wait up to 1 ms and are 5 % of all."""
    event = stalled(rate_pps, 0.05)
    assert event["lag_ns"]["p99"] == pytest.approx(800_000, rel=0.02)
    verdict = judge.judge(event, [], goal=0.0)
    assert verdict.limit == "client-limited"
    assert "1 % of its packets by more than 80" in verdict.reason and "stood still for 50.0 ms in all, at most 1.0 ms at a time" in verdict.reason
    assert limit(stalled(rate_pps, 0.0)) == ""
    # A lag counted once per burst hides this: the many packets of a stall are few bursts.
    assert stalled(rate_pps, 0.05, by="bursts")["lag_ns"]["p99"] < event["lag_ns"]["p99"]


def test_a_rate_that_a_late_client_lost_nothing_at_is_sustained() -> None:
    late = stalled(1e6, 0.05)
    verdict = judge.judge(late, [], goal=0.0, for_rate=True)
    assert verdict.limit == "" and "sent late" in verdict.reason
    lossy = late | {"received": late["due"] - 10, "losses": [[0.0, 1e9, 10]]}
    assert judge.judge(lossy, [], goal=0.0, for_rate=True).limit == "client-limited"
    assert judge.judge(lossy, [], goal=0.005, for_rate=True).limit == ""


@pytest.mark.parametrize(("rate_pps", "together", "allowed_ns"), [(1e8, 1, 100e3), (1e5, 1, 100e3), (1e4, 1, 1e6), (1e6, 32, 320e3)])
def test_packets_may_be_ten_intervals_of_the_schedule_late_and_100_us(rate_pps: float, together: int, allowed_ns: float) -> None:
    for p99_ns, expected in ((allowed_ns * 0.99, ""), (allowed_ns * 1.01, "client-limited")):
        event = trial(round(rate_pps / 10), lag_ns={"p50": 1, "p99": p99_ns, "max": p99_ns})
        assert limit(event, together=together) == expected


def test_a_flood_has_no_schedule_to_miss() -> None:
    event = trial(1000, lost=990)
    del event["lag_ns"]
    assert limit(event) == "server-limited"


def test_times_of_a_capture_are_a_schedule_too() -> None:
    assert limit(trial(sent=50_000, lost=50_000)) == "client-limited"


def test_loss_in_a_gap_of_the_client_is_a_stall() -> None:
    event = trial(lost=1000, gaps=[[40e6, 5e6]], losses=[[41e6, 44e6, 1000]])
    assert limit(event) == "stall-limited"


def test_loss_elsewhere_than_in_the_gap_is_the_servers() -> None:
    event = trial(lost=1000, gaps=[[40e6, 5e6]], losses=[[70e6, 75e6, 1000]])
    assert limit(event) == "server-limited"


def test_a_gap_that_the_queues_hold_explains_nothing() -> None:
    event = trial(lost=1000, gaps=[[40e6, 1e6]], losses=[[40e6, 41e6, 1000]])
    assert limit(event, queue_packets=1024) == "server-limited"  # 1000 packets come during the gap
    assert limit(event, queue_packets=900) == "stall-limited"


def test_what_is_lost_besides_stalls_decides() -> None:
    event = trial(lost=1300, gaps=[[40e6, 5e6]], losses=[[41e6, 44e6, 1000], [70e6, 75e6, 300]])
    assert limit(event, goal=0.002) == "server-limited"
    assert limit(event, goal=0.005) == "stall-limited"


def test_gaps_of_the_server_are_set_against_the_clients_time() -> None:
    served = {"begun_ns": 5e9, "gaps": [[7e9 + 40e6, 5e6]]}
    event = trial(lost=1000, begun_ns=7e9, losses=[[41e6, 44e6, 1000]])
    assert limit(event, served) == "stall-limited"
    assert limit(event | {"losses": [[80e6, 84e6, 1000]]}, served) == "server-limited"


def test_a_gap_of_a_server_elsewhere_may_lie_anywhere() -> None:
    event = trial(lost=1000, losses=[[80e6, 84e6, 1000]])
    assert limit(event, {"gaps": [[1e15, 5e6]]}) == "stall-limited"


def test_a_run_of_losses_counts_with_the_part_that_lies_in_gaps() -> None:
    gaps = [judge.Gap(10e6, 10e6), judge.Gap(12e6, 3e6)]
    # Losses count from 9.9 to 30.1 ms: during the gap, its slack, and as long again until the queues are empty.
    assert judge.lost_in_gaps([[20e6, 40e6, 1000]], gaps) == round(1000 * 10.1 / 20)
    assert judge.lost_in_gaps([[50e6, 60e6, 1000]], gaps) == 0
    assert judge.lost_in_gaps([[15e6, 15e6, 7]], gaps) == 7


def checked(agree: bool = True, **lost: int) -> dict[str, Any]:
    places = dict.fromkeys(("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive"), 0)
    return {"agree": agree, "lost": places | lost, "flows": 10, "flows_wrong": 0, "first_wrong": ""}


def test_accounts_that_agree_are_no_fault() -> None:
    assert judge.disagreement(trial(lost=3), checked(server_receive=2, client_receive=1)) == ""


@pytest.mark.parametrize(
    ("event", "check", "words"),
    [
        (trial(), checked(agree=False), "do not agree"),
        (trial(wrong=2, first_wrong="a digest"), checked(), "2 of 100000 answers are wrong: a digest"),
        (trial(), checked() | {"flows_wrong": 4}, "4 of 10 flows are counted wrong"),
        (trial(lost=5), checked(server_drop=4), "5 packets did not come back, but 4 losses were located"),
    ],
)
def test_every_disagreement_is_a_fault(event: dict[str, Any], check: dict[str, Any], words: str) -> None:
    assert words in judge.disagreement(event, check)


def counted(received: int = 100_000, **changes: Any) -> dict[str, Any]:
    """Return the counts of a server on another machine."""
    return {"received": received, "transmitted": received, "tx_full": 0, "dropped": {}} | changes


def test_counts_of_a_server_elsewhere_that_fit_are_no_fault() -> None:
    assert judge.disagreement_with(counted(), trial()) == ""
    # The server counts a ramp's packets too, unlike the client's measured part. Packets that it dropped did not come back.
    assert judge.disagreement_with(counted(100_500, transmitted=100_490, dropped={"full": 10}), trial()) == ""


@pytest.mark.parametrize(
    ("event", "served", "words"),
    [
        (trial(wrong=2, first_wrong="a digest"), counted(), "2 of 100000 answers are wrong: a digest"),
        (trial(), counted(tx_full=5, dropped={"full": 2}), "received 100000 packets but sent or dropped 100007"),
        (trial(), counted(transmitted=99_999), "100000 answers came, but the server sent 99999"),
    ],
)
def test_a_server_elsewhere_is_checked_by_its_counts(event: dict[str, Any], served: dict[str, Any], words: str) -> None:
    assert words in judge.disagreement_with(served, event)


def test_what_may_be_dropped_was_not_lost() -> None:
    assert judge.lost(trial(lost=10, excused=10)) == 0


# --------------------------------------------------------------------------- both sides of each limit


def test_a_client_must_offer_999_of_1000_packets() -> None:
    assert judge.not_offered(trial(1000, sent=999)) == "" and judge.not_offered(trial(1000, sent=900, tx_full=99)) == ""
    assert judge.not_offered(trial(1000, sent=998)) == "the client offered 998 of 1000 packets that were due"


def test_a_loss_of_exactly_the_goal_is_allowed() -> None:
    assert limit(trial(1000, lost=1), goal=0.001) == "" and limit(trial(1000, lost=2), goal=0.001) == "server-limited"
    assert limit(trial(1000, lost=0)) == "" and limit(trial(1000, lost=1)) == "server-limited"
    # Besides stalls, the same holds for the rest.
    event = trial(lost=1100, gaps=[[40e6, 5e6]], losses=[[41e6, 44e6, 1000], [70e6, 75e6, 100]])
    assert limit(event, goal=0.001) == "stall-limited" and limit(event, goal=0.000999) == "server-limited"


def test_a_client_may_be_late_by_exactly_the_allowance() -> None:
    lag = percentiles(np.zeros(10))
    assert judge.client_late(trial(lag_ns=lag | {"p99": judge.LAG_NS}), 1) == ""
    assert judge.client_late(trial(lag_ns=lag | {"p99": judge.LAG_NS + 150_000}), 1).endswith("by more than 250 us (allowed: 100 us)")
    late = judge.client_late(trial(lag_ns=lag | {"p99": 250_000.0}, gaps=[[0, 1.5e6], [9e6, 1e6]]), 1)
    assert late.endswith("; its loop stood still for 2.5 ms in all, at most 1.5 ms at a time")


def test_a_trial_without_a_packet_due_has_no_schedule_to_miss() -> None:
    nothing = trial(0, lag_ns=percentiles(np.full(10, 1e9)))
    assert judge.client_late(nothing, 1) == "" and judge.loss_ratio(nothing) == 0.0 and limit(nothing) == ""
    assert judge.client_late(trial(duration_s=0.0, lag_ns=percentiles(np.full(10, 1e9))), 1) == ""


def test_a_gap_in_which_exactly_as_many_packets_come_as_queues_hold_loses_nothing() -> None:
    gaps = [judge.Gap(0, 1e9), judge.Gap(0, 1.1e9)]
    assert judge.long_gaps(gaps, 100, 100) == gaps[1:] and judge.long_gaps(gaps, 100, 99) == gaps


def test_a_loss_at_the_very_ends_of_a_gap_counts() -> None:
    gap = judge.Gap(10e6, 2e6)
    first, last = 10e6 - judge.SLACK_NS, 12e6 + judge.SLACK_NS + 2e6
    assert [judge.lost_in_gaps([[at, at, 5]], [gap]) for at in (first - 1, first, last, last + 1)] == [0, 5, 5, 0]
    assert judge.lost_in_gaps([[first, last, 7]], [gap]) == 7 and judge.lost_in_gaps([], [gap]) == 0 and judge.lost_in_gaps([[0, 1, 7]], []) == 0


def test_gaps_that_touch_are_one() -> None:
    assert judge._merged([(5, 7), (0, 2), (2, 4), (1, 3)]) == [(0, 4), (5, 7)]
    assert judge._merged([(0, 9), (1, 2)]) == [(0, 9)]


def test_excused_packets_are_not_lost() -> None:
    assert judge.lost(trial(100, lost=10, excused=4)) == 6 and judge.lost(trial(100, lost=10, excused=40)) == 0
    assert judge.loss_ratio(trial(100, lost=10, excused=4)) == 0.06


def test_packets_of_a_burst_are_due_together() -> None:
    assert judge.due_together("burst", 32) == 32 and judge.due_together("fixed", 32) == 1


def test_counts_of_a_server_elsewhere_at_their_limits() -> None:
    served = {"received": 110, "transmitted": 100, "tx_full": 4, "dropped": {"a": 3, "b": 3}}
    assert judge.disagreement_with(served, trial(100)) == ""
    assert judge.disagreement_with(served | {"received": 109}, trial(100)) == "the server received 109 packets but sent or dropped 110"
    assert judge.disagreement_with(served | {"transmitted": 99}, trial(100)) == "100 answers came, but the server sent 99"
