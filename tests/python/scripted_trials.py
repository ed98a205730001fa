"""Run directories of study ``end-to-end`` with made-up trials, for the tests of pooling and of the analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpubench.plans.load import parse_plan
from dpubench.storage.runs import Event
from dpubench.studies.end_to_end import trials
from dpubench.studies.end_to_end.expand import Configuration, loads_of
from dpubench.studies.end_to_end.plan import Plan

CONFIGURATION = Configuration("forward", {}, {}, "all-host", "memif", "64", 1, [[]])
PLAN = """study: end-to-end
frame_sizes: [64B]
search: {goals: [NDR, PDR], first_trial: 500ms, last_trial: 1s, duration_sum: 3s, width: 2%}
"""


def histogram(buckets: dict[float, int]) -> dict[str, Any]:
    """Return a histogram in the form in which a client sends it."""
    total, ordered = sum(buckets.values()), sorted(buckets.items())

    def rank(percent: float) -> float:
        seen = 0
        for ns, packets in ordered:
            seen += packets
            if seen >= percent / 100 * total:
                return ns
        return ordered[-1][0]

    mean = sum(ns * packets for ns, packets in ordered) / total
    percentiles = {"p50": rank(50), "p90": rank(90), "p99": rank(99), "p99_9": rank(99.9)}
    return {**percentiles, "max": ordered[-1][0], "mean": mean, "buckets": [[ns, packets] for ns, packets in ordered]}


def trial(
    rate_pps: float, lost: int = 0, *, seconds: float = 1.0, round_: int = 0, attempt: int = 0, limit: str = "", load: str = "NDR",
    busy: float = 0.5, latency: dict[float, int] | None = None, place: str = "server_receive",
) -> Event:  # fmt: skip
    """Return a trial in the form in which a run keeps it."""
    due = round(rate_pps * seconds)
    counts = dict.fromkeys(("tx_full", "duplicates", "reordered", "corrupted", "wrong", "stale", "foreign", "excused"), 0)
    client = {
        **counts, "due": due, "sent": due, "received": due - lost, "sent_bytes": 64 * due, "received_bytes": 64 * (due - lost),
        "elapsed_ns": seconds * 1e9, "lag_ns": {"p50": 100, "p99": 2000, "max": 9000 + attempt}, "gaps": [], "losses": [],
        "latency_ns": histogram(latency or {8000.0: 900, 24000.0: 100}),
    }  # fmt: skip
    stages = {"note": {"packets": due, "sampled_packets": 64, "sampled_ns": 640.0}}
    served = {
        "received": due, "transmitted": due - lost, "tx_full": 0, "stale": 5, "foreign": 0, "pool_empty": 0, "dropped": {"full": lost},
        "busy_ns": busy * seconds * 1e9, "idle_ns": (1 - busy) * seconds * 1e9, "cpu_ns": seconds * 1e9, "loop": stages, "stages": {},
        "residence_ns": histogram({2000.0: 10}), "gaps": [],
        "measured": {
            "cores": 1, "from_ns": 1, "core_ns": round(seconds * 1e9), "application_ns": round(busy * seconds * 1e9),
            "idle_ns": round((1 - busy) * seconds * 1e9), "packets": due,
        },
    }  # fmt: skip
    places = dict.fromkeys(("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive"), 0)
    where = {
        "round": round_, "configuration": CONFIGURATION.id, "load": load, "attempt": attempt, "rate_pps": rate_pps, "duration_s": seconds,
        "cpu_withheld": "",
    }  # fmt: skip
    checked = {"lost": places | {place: lost}, "flows": 10, "flows_wrong": 0}
    return trials.kept_trial(where, client, [served], checked, {"limit": limit, "reason": "", "stalled": 0})


def found(goal: str, lower_pps: float | None, *, round_: int = 0, limit: str = "", reason: str = "") -> Event:
    """Return the result of a search in the form in which a run keeps it."""
    return {
        "event": trials.FOUND, "round": round_, "configuration": CONFIGURATION.id, "load": goal, "loss_goal": 0.0 if goal == "NDR" else 0.005,
        "lower_pps": lower_pps, "upper_pps": None if lower_pps is None else 1.02 * lower_pps, "limit": limit, "reason": reason,
    }  # fmt: skip


def run_directory(folder: Path, rounds: Sequence[Sequence[Event]], *, former: bool = False) -> Path:
    """Write a run with these events in its rounds; return ``folder``.

    ``former``: in the form from before searches recorded what they ask for.
    """
    plan, _ = parse_plan(PLAN, "plan.yaml")
    assert isinstance(plan, Plan)
    loads = [load.record() for load in loads_of(plan, "64")]
    for load in loads:
        if former:
            load.pop("exceed_ratio")
    points = [{"id": f"{CONFIGURATION.id}/{load['name']}", "configuration": CONFIGURATION.id, "unavailable": "", "failure": ""} for load in loads]
    record = {
        "schema": "dpubench.run/1", "name": "made-up", "study": "end-to-end", "plan": "custom", "status": "complete", "started": "2026-01-02",
        "finished": "2026-01-03", "command": "none", "version": "0", "precision_target": 0.05, "machine": {}, "build": {}, "inputs": {},
        "workloads": {}, "ports": {}, "configurations": [CONFIGURATION.record()], "loads": {"64": loads}, "points": points, "failures": [],
        "warnings": [], "left_out": [], "target": "local", "target_info": {"spec": "local", "label": ""},
        "rounds": [{"number": i, "started": "x", "elapsed_s": 1.0, "trials": len(events), "whole": True} for i, events in enumerate(rounds)],
    }  # fmt: skip
    (folder / "rounds").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "plan.yaml").write_text(PLAN)
    for i, events in enumerate(rounds):
        (folder / "rounds" / f"{i:04d}.ndjson").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder
