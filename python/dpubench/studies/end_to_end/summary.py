"""Reduces a run directory to a :class:`~dpubench.studies.end_to_end.model.RunSummary`: trials to rounds, rounds to intervals.

For a rate, one trial of each round counts: the one that neither the client nor a stall limited. For NDR and PDR, each round has the bound that its
search found; all its trials at that rate are pooled for the other figures (:mod:`dpubench.studies.end_to_end.pool`). Intervals are over rounds
(:mod:`dpubench.analysis.statistics`).
"""

from __future__ import annotations

import math
import statistics as plain
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval, head_of, is_emulated, mapping
from dpubench.analysis.warnings import of_the_run
from dpubench.storage.runs import RunDirectory
from dpubench.studies.end_to_end import convergence, lag, server_cpu, trials
from dpubench.studies.end_to_end.ceiling import Ceiling
from dpubench.studies.end_to_end.expand import Configuration, Load, link_end, signature_share
from dpubench.studies.end_to_end.model import (
    FORMER_EXCEED,
    LAG_UNKNOWN,
    NULL_WORKLOAD,
    PLACES,
    SHORT_TRIALS,
    VIRTUAL_LINK,
    CeilingSummary,
    Floor,
    Limit,
    Percentiles,
    PointSummary,
    Required,
    RunSummary,
    StageCost,
)
from dpubench.studies.end_to_end.plan import RFC2544_TRIAL_S, Plan
from dpubench.studies.end_to_end.pool import pooled
from dpubench.studies.single import analysed

TIMESTAMPS: Final = "client's clock, read once per burst"
#: Limits of trials that say nothing of the server.
NOT_THE_SERVER: Final = ("client-limited", "stall-limited")
_SEARCHES: Final = ("NDR", "PDR")
#: The workload with a flow table that is empty or filled when a trial begins.
_WITH_TABLE: Final = "flow-table"

Row = dict[str, Any]


def summaries(path: Path) -> list[RunSummary]:
    """Return the analysed run in ``path``, whatever its status: one summary for each target that began. @raises UserError it is not readable"""
    found = RunDirectory(path)
    baseline = found.record().get("baseline")
    runs = [run for member in found.members() if member.run_file.is_file() for run in analysed(member.path, "end-to-end", Plan, _summary)]
    for run in runs:
        run.is_baseline = run.target == baseline
    return runs


def _summary(record: Mapping[str, Any], plan: Plan, path: Path) -> RunSummary:
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in trials.read(path):
        rows[row["configuration"]].append(row)
    state = {p["id"]: p for p in record["points"]}
    head = head_of(record, path)
    emulated = is_emulated(mapping(record, "target_info"))
    if emulated:
        head["warnings"] = [w for w in head["warnings"] if not w.point]  # the others weaken figures, and there are none
    points = []
    for entry in record["configurations"]:
        configuration = Configuration.from_record(entry)
        for load in (Load(**item) for item in record["loads"][configuration.frame]):
            point = _described(record, plan, entry, configuration, load)
            found = state.get(point.id, {})
            point.failure, point.unavailable, point.left_out = (found.get(why, "") for why in ("failure", "unavailable", "left_out"))
            point.warnings = [w for w in head["warnings"] if w.point == point.id]
            if emulated:
                _verified(point, [r for r in rows[configuration.id] if r["load"] == load.name])
            else:
                _measured(point, _of_load(rows[configuration.id], load), plan, entry)
            point.not_converged = convergence.not_converged(point, plan.precision)
            points.append(point)
    _set_floors(points)
    head["warnings"] = of_the_run(head["warnings"], [p for p in points if p.rounds])
    common = [label for label in (points[0].labels if points else []) if all(label in p.labels for p in points)]
    tried = [r for found in rows.values() for r in found if r["event"] == trials.TRIAL]
    return RunSummary(
        **head, summary=plan.summary, workloads=dict(record["workloads"]), ports=dict(record["ports"]), points=points, labels=common,
        times_mean_nothing=emulated,
        rounds=len(record["rounds"]), trials=len(tried), ceilings=[_ceiling(Ceiling.from_record(c)) for c in record.get("ceilings", [])],
        tried=_by_limit(tried), tried_again=_tried_again(tried),
    )  # fmt: skip


def _ceiling(found: Ceiling) -> CeilingSummary:
    return CeilingSummary(
        found.port, found.frame, found.server_cpus, found.end, found.schedule, found.asked_pps, found.held_pps, found.missed_pps, found.limit_pps,
        found.margin, found.processes, found.trials, found.seconds, found.left_out,
    )  # fmt: skip


def _by_limit(tried: Sequence[Row]) -> dict[str, int]:
    return dict(Counter(str(row["limit"]) for row in tried))


def _tried_again(tried: Sequence[Row]) -> int:
    return sum(row["attempt"] > 0 for row in tried)


def _of_load(rows: Sequence[Row], load: Load) -> list[Row]:
    """Return the rows of a load. The trials of a search belong to all its goals."""
    if load.kind not in _SEARCHES:
        return [r for r in rows if r["load"] == load.name]
    return [r for r in rows if (r["event"] == trials.TRIAL and r["load"] in _SEARCHES) or (r["event"] == trials.FOUND and r["load"] == load.name)]


def _described(record: Mapping[str, Any], plan: Plan, entry: Mapping[str, Any], configuration: Configuration, load: Load) -> PointSummary:
    """Return a point without its measurements."""
    server = next((event for side, event in entry.get("ready", {}).items() if side.startswith("server")), None)
    port = server["ports"][0] if server is not None else {}
    kind = record["ports"].get(configuration.port, {})
    is_virtual = bool(port.get("is_virtual", kind.get("is_virtual", True)))
    trial_s = plan.search.last_trial if load.kind in _SEARCHES else plan.trial.duration
    labels = [VIRTUAL_LINK] if is_virtual else []
    labels += [SHORT_TRIALS] if trial_s < RFC2544_TRIAL_S else []
    if client := record.get("client"):
        labels.append(f"client on {client['name']}" + (f" ({client['label']})" if client["label"] else ""))
    on_device = configuration.placement == "all-device"
    return PointSummary(
        id=f"{configuration.id}/{load.name}", configuration=configuration.id, workload=configuration.workload, params=_params(configuration),
        engines=configuration.engines, placement=configuration.placement,  # type: ignore[arg-type]  # as the plan's model has checked it
        server_target=plan.device if on_device else plan.target[0], device_target=plan.device if configuration.placement == "split" else "",
        port=configuration.port, port_driver=str(port.get("driver", "")), is_virtual=is_virtual, server_cpus=configuration.server_cpus,
        frame=configuration.frame, frame_bytes=configuration.frame_bytes, traffic=traffic_words(plan, configuration.frame),
        schedule=load.schedule, load=load.name,
        load_kind=load.kind,  # type: ignore[arg-type]  # made by expand.loads_of
        offered_pps=load.rate_pps, loss_goal=load.loss_goal, required=_required(plan, load), is_null=configuration.workload == NULL_WORKLOAD,
        trial_s=trial_s, labels=labels + list(entry.get("labels", [])),
    )  # fmt: skip


def _required(plan: Plan, load: Load) -> Required | None:
    """Return the goal of a search; None for other loads. Runs that did not record the exceed ratio had one for all searches."""
    if load.kind not in _SEARCHES or load.loss_goal is None:
        return None
    search, exceed = plan.search, FORMER_EXCEED if load.exceed_ratio is None else load.exceed_ratio
    return Required(load.loss_goal, exceed, search.first_trial, search.last_trial, search.duration_sum, search.width)


def _params(configuration: Configuration) -> dict[str, str]:
    """Return the parameters. Runs made before ``start`` was a parameter began each trial with an empty flow table."""
    before = {"start": "cold"} if configuration.workload == _WITH_TABLE else {}
    return before | configuration.params


def traffic_words(plan: Plan, frame: str) -> dict[str, str]:
    """Return the settings of the traffic that no other field holds."""
    traffic = plan.traffic
    if traffic.source == "capture":
        return {"source": "capture"}
    words = {"flows": str(traffic.flows), "popularity": traffic.popularity, "payload": traffic.payload.source}
    words["signature_share"] = f"{signature_share(plan, frame):g}"
    if traffic.popularity == "zipf":
        words["zipf_exponent"] = f"{traffic.zipf_exponent:g}"
    optional = {
        "churn_per_s": traffic.churn_per_s and f"{traffic.churn_per_s:g}", "protocol": traffic.protocol != "udp" and traffic.protocol,
        "version": traffic.version != 4 and str(traffic.version), "segments": traffic.segments != 1 and str(traffic.segments),
        "retransmit_share": traffic.retransmit_share and f"{traffic.retransmit_share:g}",
        "overlap_share": traffic.overlap_share and f"{traffic.overlap_share:g}",
    }  # fmt: skip
    return words | {k: str(v) for k, v in optional.items() if v}


# --------------------------------------------------------------------------- measurements


def _verified(point: PointSummary, tried: Sequence[Row]) -> None:
    """Tell what was right at a point of an emulated target, from its trials. A run fails a point with a wrong answer or account."""
    point.trials = len(tried)
    if tried and not point.failure:
        sent, received = (sum(int(row[name]) for row in tried) for name in ("sent", "received"))
        point.verified = f"works: {received:,} of {sent:,} packets came back, and all that did are right"


def _measured(point: PointSummary, rows: Sequence[Row], plan: Plan, entry: Mapping[str, Any]) -> None:
    """Fill in the figures of a point from its trials and bounds, ``rows``."""
    tried = [r for r in rows if r["event"] == trials.TRIAL]
    point.trials, point.tried, point.tried_again = len(tried), _by_limit(tried), _tried_again(tried)
    for name in ("duplicates", "reordered", "corrupted", "wrong"):
        setattr(point, name, sum(r[name] or 0 for r in tried))
    point.flows_checked = sum(r["flows"] or 0 for r in tried)
    is_search = point.load_kind in _SEARCHES
    by_round: Sequence[tuple[float, Sequence[Row]]] = _found_rounds(rows, point) if is_search else _rate_rounds(tried, point)
    if point.failure:
        return
    if not by_round:
        # If the client or stalls bounded the search at the lowest rate, the loss is not the server's.
        if is_search and point.limit not in NOT_THE_SERVER and any(r["event"] == trials.FOUND for r in rows):
            point.failure = f"search: the loss exceeds the goal even at the lowest rate, {plan.search.min_rate}"
        return
    point.rounds = len(by_round)
    chosen = [pooled(of_round) for _, of_round in by_round if of_round]
    _counted([row for _, of_round in by_round for row in of_round], point)
    point.round_pps = [pps for pps, _ in by_round]
    point.throughput_pps = statistics.interval_of_rounds(point.round_pps)
    point.throughput_gbps = _scaled(point.throughput_pps, 8e-9 * _frame_bytes(chosen, point.frame_bytes))
    point.precision = statistics.precision(point.throughput_pps)
    point.converged = statistics.has_converged(point.round_pps, plan.precision)
    if chosen:
        _of_trials(point, chosen, entry)


def _counted(rows: Sequence[Row], point: PointSummary) -> None:
    """Record in ``point`` which trials are behind its figures."""
    point.counted, point.counted_s = len(rows), sum(row["duration_s"] for row in rows)
    point.due, point.lost = sum(int(row["due"]) for row in rows), sum(_lost(row) for row in rows)
    if point.required is not None:
        point.over_goal = sum(_lost(row) > point.required.loss_ratio * row["due"] for row in rows)


def _rate_rounds(tried: Sequence[Row], point: PointSummary) -> list[tuple[float, list[Row]]]:
    """Return (packets per second, its trial) of each round with a valid trial. The limits of all rounds' last trials go to ``point``."""
    last: dict[int, Row] = {}
    for row in sorted(tried, key=lambda r: r["attempt"]):
        last[row["round"]] = row
    limits = [str(row["limit"]) for row in last.values()]
    point.limits = dict(Counter(limits))
    valid = [last[number] for number in sorted(last) if last[number]["limit"] not in NOT_THE_SERVER]
    by_server = sum(row["limit"] == "server-limited" for row in valid)
    if valid:
        point.limit = "server-limited" if 2 * by_server > len(valid) else ""
    else:
        point.limit = _most([limit for limit in limits if limit])
    return [(row["received"] / row["duration_s"], [row]) for row in valid]


def _found_rounds(rows: Sequence[Row], point: PointSummary) -> list[tuple[float, list[Row]]]:
    """Return (rate found, all trials at it that say something of the server) of each round whose search found one.

    The limits that bounded the searches go to ``point``.
    """
    found = sorted((r for r in rows if r["event"] == trials.FOUND), key=lambda r: r["round"])
    limits = [str(r["limit"]) for r in found]
    point.limits = dict(Counter(limits))
    others = [limit for limit in limits if limit]
    point.limit = _most(others) if 2 * len(others) > len(limits) else ""
    if point.limit:
        point.bounded_by = next((str(r["reason"]) for r in found if r["limit"] == point.limit and r["reason"]), "")
    by_round = []
    for row in found:
        if row["lower_pps"] is None:
            continue
        at = [
            r for r in rows
            if r["event"] == trials.TRIAL and r["round"] == row["round"] and math.isclose(r["rate_pps"], row["lower_pps"], rel_tol=1e-6)
            and r["limit"] not in NOT_THE_SERVER
        ]  # fmt: skip
        by_round.append((float(row["lower_pps"]), at))
    return by_round


def _most(limits: Sequence[str]) -> Limit:
    return cast("Limit", max(limits, key=limits.count) if limits else "")


def _lost(row: Row) -> int:
    return max(int(row["due"]) - int(row["received"]) - int(row["excused"] or 0), 0)


def _frame_bytes(chosen: Sequence[Row], otherwise: float) -> float:
    """Return the mean bytes, with FCS, of the frames that came back; ``otherwise`` if none did."""
    packets = sum(r["received"] for r in chosen)
    return sum(r["received_bytes"] for r in chosen) / packets if packets else otherwise


def _of_trials(point: PointSummary, chosen: Sequence[Row], entry: Mapping[str, Any]) -> None:
    # Losses are an account, so they are not trimmed: the losses of a single round must show, and the losses at all places must add up.
    point.loss_ratio = _share([_lost(r) / r["due"] if r["due"] else 0.0 for r in chosen], trim=0)
    if all(r["lost_server_receive"] is not None for r in chosen):
        point.loss_by_place = {place: _share([r[f"lost_{place}"] / r["due"] if r["due"] else 0.0 for r in chosen], trim=0) for place in PLACES}
    point.server_cpu_withheld = next((r["cpu_withheld"] for r in chosen if r["cpu_withheld"]), "")
    _of_server_cpu(point, [r["server_cpu"] for r in chosen], [r["received"] for r in chosen])
    inserts = [r["flow_table"] for r in chosen if r["flow_table"] is not None and r["flow_table"]["packets"]]
    if inserts:
        point.inserted_share = _share([table["inserted"] / table["packets"] for table in inserts], trim=0)
    _latency(point, [r for r in chosen if r["latency_ns"] and r["latency_ns"]["p50"] is not None])
    point.residence = _percentiles([r["servers"][0]["residence_ns"] for r in chosen])
    point.stages = _stages(chosen, entry)


def _of_server_cpu(point: PointSummary, accounts: Sequence[Row | None], received: Sequence[int]) -> None:
    """Fill in the server's CPU time, unless it is not known for one of the trials. ``received``: packets that came back to the client."""
    known = [(cpu, packets) for cpu, packets in zip(accounts, received, strict=True) if cpu is not None and cpu["core_ns"]]
    if len(known) < len(accounts):
        point.server_cpu_withheld = point.server_cpu_withheld or server_cpu.BEFORE
    if point.server_cpu_withheld:
        return
    busy = [cpu["application_ns"] + (cpu["receive_work_ns"] or 0) for cpu, _ in known]
    point.server_cpu_share = _share([ns / cpu["core_ns"] for ns, (cpu, _) in zip(busy, known, strict=True)])
    # The packets of an eBPF program come to no loop, so the packets that came back count.
    handled = [packets if cpu["is_in_kernel"] else cpu["packets"] for cpu, packets in known]
    if all(handled):
        point.server_cpu_ns_per_packet = statistics.linear_interval_of_rounds([ns / n for ns, n in zip(busy, handled, strict=True)])
    if not any(cpu["is_in_kernel"] for cpu, _ in known):
        point.server_application_share = _share([cpu["application_ns"] / cpu["core_ns"] for cpu, _ in known])
    if all(cpu["receive_work_ns"] is not None for cpu, _ in known):
        point.server_receive_work_share = _share([cpu["receive_work_ns"] / cpu["core_ns"] for cpu, _ in known])


def _latency(point: PointSummary, timed: Sequence[Row]) -> None:
    """Fill in the latency of the trials ``timed``, without the figures that the client's own lag may explain.

    A figure is shown for all rounds or for none: to leave out rounds in which the client lagged would choose rounds by their outcome. The lag is the
    plain mean of all rounds, so that a round in which the client stood still shows.
    """
    point.latency = _percentiles([r["latency_ns"] for r in timed])
    if point.latency is None:
        return
    point.timestamp_source = TIMESTAMPS
    packets = [sum(int(bucket["packets"]) for bucket in r["latency_ns"]["buckets"]) for r in timed]
    point.latency_rounds, point.latency_packets, point.latency_packets_least = len(timed), sum(packets), min(packets)
    if not all(lag.is_known(r["lag_ns"]) for r in timed):
        point.labels.append(LAG_UNKNOWN)
    else:
        point.lag = _percentiles([r["lag_ns"] for r in timed], _plain_mean)
        if point.lag is not None:
            point.latency, point.latency_withheld = lag.checked(point.latency, point.lag)
    point.round_p50_ns = [] if "p50" in point.latency_withheld else [r["latency_ns"]["p50"] for r in timed]
    point.round_p99_ns = [] if "p99" in point.latency_withheld else [r["latency_ns"]["p99"] for r in timed]


def _share(values: Sequence[float], trim: float = statistics.TRIM) -> Interval:
    """Return the interval of shares, which may be 0. Its ends stay within 0 and 1."""
    found = statistics.linear_interval_of_rounds(values, trim)
    low, high = (v if math.isnan(v) else min(max(v, 0.0), 1.0) for v in (found.low, found.high))
    return Interval(found.value, low, high)


def _plain_mean(values: Sequence[float]) -> Interval:
    """Return the plain mean, with its interval, of times that may be 0 in some rounds."""
    found = statistics.linear_interval_of_rounds(values, trim=0)
    return Interval(found.value, max(found.low, 0.0), found.high)


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(interval.value * factor, interval.low * factor, interval.high * factor)


def _percentiles(
    found: Sequence[Mapping[str, Any] | None], interval: Callable[[Sequence[float]], Interval] = statistics.interval_of_rounds
) -> Percentiles | None:
    known = [f for f in found if f is not None and f["p50"] is not None]
    if not known:
        return None

    def over_rounds(name: str) -> Interval:
        return interval([f[name] for f in known])

    buckets: Counter[float] = Counter()
    for histogram in known:
        for bucket in histogram["buckets"]:
            buckets[bucket["ns"]] += bucket["packets"]
    mean = over_rounds("mean") if all(f["mean"] is not None for f in known) else None
    p50, p90, p99, p99_9, most = map(over_rounds, ("p50", "p90", "p99", "p99_9", "max"))
    return Percentiles(p50, p90, p99, p99_9, most, mean, tuple(sorted(buckets.items())))


def _stages(chosen: Sequence[Row], entry: Mapping[str, Any]) -> list[StageCost]:
    """Return each stage's cost: for each round the sampled time over the sampled packets. Stages of a split stand in the order of the way."""
    ready = {s["name"]: s for event in entry.get("ready", {}).values() for s in event.get("stages", [])}
    rounds: dict[str, list[float]] = {}
    packets: Counter[str] = Counter()
    sampled: Counter[str] = Counter()
    for row in chosen:
        for name, found in _stage_totals(row).items():
            packets[name] += int(found["packets"])
            sampled[name] += int(found["sampled_packets"])
            if found["sampled_packets"]:
                rounds.setdefault(name, []).append(found["sampled_ns"] / found["sampled_packets"])
    costs = []
    for name, values in rounds.items():
        told = ready.get(name, {})
        builds = [b for b in entry.get("build_ns", {}).get(name, []) if b]
        costs.append(
            StageCost(
                name, str(told.get("engine", "")), statistics.linear_interval_of_rounds(values), packets[name], sampled[name],
                dict(told.get("path", {})), plain.median(builds) if builds else None, told.get("memory_bytes"), str(told.get("verified", "")),
            )
        )  # fmt: skip
    return costs


def _stage_totals(row: Row) -> dict[str, dict[str, float]]:
    totals: dict[str, dict[str, float]] = {}
    for server in row["servers"]:
        for stage in server["stages"]:
            at = totals.setdefault(stage["name"], {"packets": 0, "sampled_packets": 0, "sampled_ns": 0.0})
            for key in at:
                at[key] += stage[key]
    return totals


def _set_floors(points: Sequence[PointSummary]) -> None:
    """Set the floor of each point: the null workload on the same link at the same load."""
    key: Callable[[PointSummary], tuple[Any, ...]] = lambda p: (p.port, p.frame, p.server_cpus, link_end(p.placement), p.load)  # noqa: E731
    floors = {key(p): p for p in points if p.is_null}
    for point in points:
        floor = floors.get(key(point))
        if floor is not None and floor is not point and (floor.throughput_pps is not None or floor.latency is not None):
            point.floor = Floor(floor.id, floor.throughput_pps, floor.latency, floor.residence, floor.server_cpu_share)
