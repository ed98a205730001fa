"""The words for points of study ``end-to-end``, on the terminal and in the report alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from dpubench.analysis.digits import percent, significant
from dpubench.analysis.model import Interval
from dpubench.studies.end_to_end.model import PLACES, RULE_OF_THREE, SHARED_CPUS, CeilingSummary, PointSummary, Required, RunSummary

PLACE_WORDS: Final = {
    "client_transmit": "client transmit",
    "server_receive": "server receive",
    "server_drop": "server drop",
    "server_transmit": "server transmit",
    "client_receive": "client receive",
}
#: Limits that say nothing of the server: the client missed its schedule, or the scheduler took a CPU away.
NOT_THE_SERVER: Final = ("client-limited", "stall-limited")


def assignments(values: dict[str, str], between: str = ",") -> str:
    """Return ``a=1,b=2``, sorted by name."""
    return between.join(f"{k}={v}" for k, v in sorted(values.items()))


def engines_text(point: PointSummary) -> str:
    """Return the engine of each stage, in the stages' order; for a single stage the engine alone."""
    if len(point.engines) == 1:
        return next(iter(point.engines.values()))
    return ", ".join(f"{stage} {engine}" for stage, engine in point.engines.items())


def placement_text(point: PointSummary) -> str:
    """Return where the stages ran. A target is named if it is not this machine."""
    if point.placement == "split":
        where = f"{point.server_target} + {point.device_target}"
        return "split" if where == "local + local" else f"split {where}"
    return point.placement if point.server_target == "local" else f"{point.placement} on {point.server_target}"


def frame_text(point: PointSummary) -> str:
    """Return the frame size with FCS."""
    if point.frame.isdigit():
        return f"{point.frame} B"
    return f"{point.frame.upper()} (mean {point.frame_bytes:.4g} B)"


def says_of_the_server(point: PointSummary) -> bool:
    """Return whether the point's figures are a statement on the server at all."""
    return point.limit not in NOT_THE_SERVER


def proves_correctness_only(point: PointSummary) -> bool:
    """Return whether the point's times mean nothing because parts of a split share CPUs."""
    return SHARED_CPUS in point.labels


def limit_text(point: PointSummary) -> str:
    """Return the limit of the point, and how many of its rounds have it; empty if it has none."""
    if not point.limit:
        return ""
    return f"{point.limit} ({point.limits.get(point.limit, 0)} of {sum(point.limits.values())} rounds)"


def why_empty(point: PointSummary) -> str:
    """Return why a point has no throughput; empty if it has one."""
    if point.throughput_pps is not None and math.isfinite(point.throughput_pps.value):
        return ""
    if point.verified:
        return point.verified
    if point.failure:
        return f"failed: {point.failure}"
    if point.unavailable:
        return f"cannot run here: {point.unavailable}"
    if point.left_out:
        return f"left out: {point.left_out}"
    if point.limit in NOT_THE_SERVER:
        return f"{limit_text(point)}: says nothing about the server"
    return "no valid trial" if point.trials else "not measured: the run ended before its turn"


def verified_text(run: RunSummary) -> str:
    """Return how many points of an emulated target are right."""
    work = sum(bool(point.verified) for point in run.points)
    return f"{len(run.points)} points, {work} verified; {run.label}, so that no time or rate is shown"


def why_no_statement(point: PointSummary) -> str:
    """Return why a point's figures are no statement on the server; empty if they are one."""
    if point.verified:
        return "times of an emulated target mean nothing"
    if why := why_empty(point):
        return why
    if not says_of_the_server(point):
        return f"{limit_text(point)}: says nothing about the server"
    return f"{point.placement} on too few CPUs: proves correctness only" if proves_correctness_only(point) else ""


def remarks(point: PointSummary) -> list[str]:
    """Return the remarks that weaken a point that was measured."""
    looked_for = point.load_kind in {"NDR", "PDR"} and point.limit == "server-limited"  # a search is for this limit
    said = []
    if point.limit and not looked_for:
        said = [limit_text(point) + ("" if says_of_the_server(point) else f": {_not_the_server(point)}")]
    said += [over_goal_text(point)] if point.over_goal else []
    told = ((point.duplicates, "duplicated"), (point.reordered, "reordered"), (point.corrupted, "corrupted"), (point.wrong, "wrong"))
    said += [f"{number:,} {word}" for number, word in told if number]
    return said + sorted({w.code for w in point.warnings})


def _not_the_server(point: PointSummary) -> str:
    """Return what a limit of the client or of stalls means for the server."""
    if point.load_kind not in {"NDR", "PDR"}:
        return "not the server's limit"
    return f"{point.bounded_by}: the server's limit is higher" if point.bounded_by else "the server's limit is higher"


def tables(points: Iterable[PointSummary]) -> list[str]:
    """Return a sentence for each state in which flow tables began: the share of the packets that entered a flow, over all points."""
    told = []
    by_start: dict[str, list[PointSummary]] = {}
    for point in points:
        if "start" in point.params and not why_empty(point):
            by_start.setdefault(point.params["start"], []).append(point)
    for start, found in by_start.items():
        shares = [p.inserted_share.value for p in found if p.inserted_share is not None]
        begins = "the flows of the traffic were in the table" if start == "prefilled" else "the table was empty"
        if not shares:
            told.append(f"start={start}: {begins} before each trial; the share of inserts is not known: this run did not record it.")
            continue
        low, high = percent(min(shares), 2), percent(max(shares), 2)
        told.append(f"start={start}: {begins} before each trial; {low if low == high else f'{low} to {high}'} of the packets entered a flow.")
    return told


def cpu_parts(point: PointSummary) -> list[str]:
    """Return the parts of the server's CPU time, if the kernel has one of them."""
    kernel, application = point.server_receive_work_share, point.server_application_share
    if kernel is None or point.server_cpu_share is None:
        return []
    if application is None:
        return ["the CPU time is the kernel's receive work, including the eBPF program"]
    return [f"CPU: application {100 * application.value:.1f} %, kernel's receive work {100 * kernel.value:.1f} %"]


def weakness(point: PointSummary, few_rounds: int) -> str:
    """Return why the interval of a point is wider than asked for, or rests on fewer than ``few_rounds`` rounds; empty if neither."""
    said = []
    if not point.converged:
        said.append(f"not converged (±{100 * point.precision:.1f} %)" if math.isfinite(point.precision) else "not converged")
    if point.rounds < few_rounds:
        said.append(f"only {point.rounds} round{'' if point.rounds == 1 else 's'}")
    return ", ".join(said)


def latency_text(point: PointSummary, name: str, mark: str = "") -> str:
    """Return a figure of the latency in us and the client's own lag: ``12.3 (0.45)``.

    A withheld figure is ``-``, an unknown lag ``?``. ``mark`` stands behind the latency.
    """
    if point.latency is None:
        return "-"
    lag = "?" if point.lag is None else significant(getattr(point.lag, name).value / 1e3, 2)
    return f"{significant(getattr(point.latency, name).value / 1e3, 3)}{mark} ({lag})"


def behind_p99_9(point: PointSummary) -> int | None:
    """Return the packets beyond p99.9 in the round that has fewest; without any p99.9 is the maximum. Return None if there is no latency."""
    return None if point.latency is None else point.latency_packets_least // 1000


def located_loss(point: PointSummary) -> list[tuple[str, Interval]]:
    """Return (place, share of the packets due) for all places in the order of a packet's way; nothing if the places are not known."""
    return [(place, point.loss_by_place[place]) for place in PLACES if place in point.loss_by_place]


def main_place(point: PointSummary) -> str:
    """Return the place where most packets were lost, in words; empty without loss."""
    found = [(interval.value, place) for place, interval in located_loss(point) if interval.value > 0]
    return PLACE_WORDS[max(found)[1]] if found else ""


def common(values: Iterable[dict[str, str]]) -> dict[str, str]:
    """Return the items that all of ``values`` have in common."""
    found = list(values)
    return {k: v for k, v in found[0].items() if all(other.get(k) == v for other in found)} if found else {}


# --------------------------------------------------------------------------- goals of searches, and results of trials


def required_text(name: str, required: Required) -> str:
    """Return the goal of a search in words: ``NDR: no packet lost in any trial; ...``."""
    lost = "no packet lost" if required.loss_ratio == 0 else f"at most {percent(required.loss_ratio)} of the packets lost"
    share = (
        ("in any trial" if required.loss_ratio == 0 else "in every trial")
        if required.exceed_ratio == 0
        else f"in at least {percent(1 - required.exceed_ratio)} of the trial time at the rate"
    )
    lengths = _seconds(required.last_trial_s)
    if required.first_trial_s < required.last_trial_s:
        lengths = f"{_seconds(required.first_trial_s)} to {lengths}"
    return (
        f"{name}: {lost} {share} (exceed ratio {100 * required.exceed_ratio:g} %); trials of {lengths}, "
        f"{_seconds(required.duration_sum_s)} of them decide about a rate; bounds {100 * required.width:g} % apart"
    )


def requirements(points: Iterable[PointSummary]) -> list[str]:
    """Return the goals of all searches of ``points`` in words, each once, NDR first."""
    found = {required_text(p.load_kind, p.required): None for p in points if p.required is not None}
    return sorted(found)


def resolvable(point: PointSummary) -> float:
    """Return the smallest loss ratio that the packets behind a point's figures can show: the rule of three, 95 %."""
    return min(RULE_OF_THREE / point.due, 1.0) if point.due else math.nan


def seen_text(point: PointSummary) -> str:
    """Return how many packets were lost in the trials behind a point's figures; empty if there are no trials."""
    if not point.due:
        return ""
    trials = f"{point.counted} trial{'' if point.counted == 1 else 's'}, {_seconds(point.counted_s)}"
    lost = f"{point.lost:,} of {packets(point.due)} packets lost"
    if point.lost:
        return f"{lost} in {trials}"
    return f"{lost} in {trials}: a loss below {small(resolvable(point))} would not show (3 / N, 95 %)"


def lost_text(point: PointSummary) -> str:
    """Return the loss at a point, for a sentence: ``0 of 12.3 M packets lost (a loss below 2.4e-07 would not show)``; empty if unknown."""
    if not point.due:
        return ""
    beside = percent(point.lost / point.due) if point.lost else f"a loss below {small(resolvable(point))} would not show"
    return f"{point.lost:,} of {packets(point.due)} packets lost ({beside})"


def lost_brief(point: PointSummary) -> str:
    """Return :func:`lost_text` for a narrow column: ``0 of 12.3 M lost (<2.4e-07)``."""
    if not point.due:
        return ""
    beside = percent(point.lost / point.due) if point.lost else f"<{small(resolvable(point))}"
    return f"{point.lost:,} of {packets(point.due)} lost ({beside})"


def over_goal_text(point: PointSummary) -> str:
    """Return how many of the trials at the rate found lost more than the goal; empty if none did."""
    return f"{point.over_goal} of {point.counted} trials at this rate lost more than the goal" if point.over_goal else ""


def loss_text(point: PointSummary, digits: int = 3) -> str:
    """Return the share lost with its interval over rounds; if nothing was lost, the smallest share that would show: ``0 (<2.4e-07)``."""
    loss = point.loss_ratio
    if loss is None or not math.isfinite(loss.value):
        return "-"
    if loss.value == 0:
        return f"0 (<{small(resolvable(point))})" if point.due else "0"
    told = f"{significant(100 * loss.value, digits)} %"
    if not math.isfinite(loss.low + loss.high):
        return told
    return f"{told} ({significant(100 * loss.low, digits - 1)}-{significant(100 * loss.high, digits - 1)})"


def small(share: float) -> str:
    """Return a share far below a percent: ``2.4e-07``."""
    return "-" if not math.isfinite(share) else f"{share:.1e}"


def packets(number: int) -> str:
    """Return a number of packets: ``812``, ``12.3 k``, ``12.3 M``."""
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            return f"{significant(number / scale, 3)} {letter}"
    return str(number)


def discarded(tried: Mapping[str, int], tried_again: int) -> str:
    """Return which trials were discarded and why: ``3 discarded (2 client-limited, 1 stall-limited), 2 tried again``; empty if none was."""
    found = {limit: tried[limit] for limit in NOT_THE_SERVER if tried.get(limit)}
    if not found:
        return ""
    why = ", ".join(f"{number} {limit}" for limit, number in found.items())
    return f"{sum(found.values())} discarded ({why}), {tried_again} tried again"


def ceiling_text(ceiling: CeilingSummary) -> str:
    """Return the client's ceiling on a link as one line."""
    cpus = f"{ceiling.server_cpus} server CPU{'' if ceiling.server_cpus == 1 else 's'}"
    where = ", ".join([ceiling.port, f"frames {ceiling.frame}", cpus, *([ceiling.end] if ceiling.end != "all-host" else []), ceiling.schedule])
    cost = f"{ceiling.processes} process{'' if ceiling.processes == 1 else 'es'}, {ceiling.trials} trials, {_seconds(ceiling.seconds)}"
    if ceiling.missed_pps is None or ceiling.limit_pps is None:
        return f"{where}: not reached, the client kept up with {_mpps(ceiling.asked_pps)} ({cost})"
    held = f"kept up with {_mpps(ceiling.held_pps)}" if ceiling.held_pps is not None else "kept up with no rate tried"
    left = f"{ceiling.left_out} points above {_mpps(ceiling.limit_pps)} (+{100 * ceiling.margin:.0f} %) left out"
    return f"{where}: {held}, missed {_mpps(ceiling.missed_pps)}; {left} ({cost})"


def _mpps(rate_pps: float) -> str:
    return f"{significant(rate_pps / 1e6, 3)} Mpps"


def _seconds(seconds: float) -> str:
    return f"{significant(seconds, 3).rstrip('0').rstrip('.') if seconds < 100 else round(seconds)} s"
