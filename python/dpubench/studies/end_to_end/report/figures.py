"""Data of the figures and downloads, as JSON-safe values. Every number comes from the model, or follows from its numbers as documented here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis.model import Interval
from dpubench.report.figures import triple
from dpubench.report.words import FEW_ROUNDS
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PLACES, Percentiles, PointSummary, StageCost
from dpubench.studies.end_to_end.report.page import Part
from dpubench.studies.end_to_end.report.variants import Variants

PERCENTILES: Final = ("p50", "p90", "p99", "p99_9", "max")


def part_data(part: Part, variants: Variants) -> dict[str, Any]:
    """Return the data from which the figures of a part are drawn."""
    ids = [(index, p) for index, members in enumerate(variants.points) for _, p in members]
    place = {p.id: i for i, (_, p) in enumerate(ids)}
    return {
        "workload": part.workload,
        "anchor": part.anchor,
        "isVirtual": part.is_virtual,
        "links": part.links,
        "labels": part.labels,
        "frames": part.frames,
        "frameWords": part.frame_words,
        "variants": [
            {"label": v.label, "told": v.told, "placement": v.placement, "isNull": v.is_null, "correctnessOnly": v.correctness_only}
            for v in part.variants
        ],
        "baseline": part.baseline,
        "points": [_point(index, p, part.labels, place) for index, p in ids],
        "ratios": [
            {"frame": r.frame, "load": r.load, "quantity": r.quantity, "variant": r.variant, "ratio": triple(r.ratio), "verdict": r.verdict,
             "reason": r.reason, "rounds": r.rounds, "paired": r.paired, "against": part.baseline if r.against < 0 else r.against}
            for r in part.all_ratios
        ],
    }  # fmt: skip


def _point(variant: int, p: PointSummary, shared_labels: Sequence[str], place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": p.id,
        "variant": variant,
        "frame": p.frame,
        "frameBytes": p.frame_bytes,
        "load": p.load,
        "kind": p.load_kind,
        "schedule": p.schedule,
        "offered": p.offered_pps,
        "why": wording.why_empty(p),
        "pps": triple(p.throughput_pps),
        "gbps": triple(p.throughput_gbps),
        "loss": triple(p.loss_ratio),
        "places": [triple(p.loss_by_place.get(name)) for name in PLACES],
        "cpu": triple(p.server_cpu_share),
        "application": triple(p.server_application_share),
        "receiveWork": triple(p.server_receive_work_share),
        "cpuNs": triple(p.server_cpu_ns_per_packet),
        "inserted": triple(p.inserted_share),
        "cpuWithheld": p.server_cpu_withheld,
        "latency": _percentiles(p.latency),
        "lag": _percentiles(p.lag),
        "latencyWithheld": p.latency_withheld,
        "behind": wording.behind_p99_9(p),
        "residence": _percentiles(p.residence),
        "timestamps": p.timestamp_source,
        "stages": [_stage(s, p.stages) for s in p.stages],
        "floor": place.get(p.floor.point) if p.floor is not None else None,
        "limit": p.limit,
        "limitText": wording.limit_text(p),
        "rounds": p.rounds,
        "trials": p.trials,
        "trialS": p.trial_s,
        "lossText": wording.loss_text(p),
        "seen": wording.seen_text(p),
        "discarded": wording.discarded(p.tried, p.tried_again),
        "due": p.due,
        "lost": p.lost,
        "counted": p.counted,
        "resolvable": wording.resolvable(p) if p.due else None,
        "overGoal": p.over_goal,
        "tried": [p.tried.get(limit, 0) for limit in ("", "server-limited", *wording.NOT_THE_SERVER)],
        "triedAgain": p.tried_again,
        "exceedRatio": p.required.exceed_ratio if p.required is not None else None,
        "weak": wording.weakness(p, FEW_ROUNDS),
        "loose": p.not_converged,
        "remarks": "; ".join([*wording.remarks(p), *(label for label in p.labels if label not in shared_labels)]),
    }


def _percentiles(times: Percentiles | None) -> dict[str, Any] | None:
    """Return the percentiles in ns, as everywhere; the page shows them in us."""
    return None if times is None else {name: triple(getattr(times, name)) for name in PERCENTILES}


def share_of_packets(stage: StageCost, stages: Sequence[StageCost]) -> float:
    """Return the share of the server's packets that went through ``stage``.

    Every packet is parsed, so the largest count is the number of all packets.
    """
    most = max((s.packets for s in stages), default=0)
    return stage.packets / most if most else math.nan


def _stage(stage: StageCost, stages: Sequence[StageCost]) -> dict[str, Any]:
    """Return the data of a stage. ``perPacket`` is its cost spread over all packets of the server, so that the costs of stages can be added."""
    share = share_of_packets(stage, stages)
    spread = Interval(*(v * share for v in (stage.ns_per_packet.value, stage.ns_per_packet.low, stage.ns_per_packet.high)))
    return {
        "name": stage.name,
        "engine": stage.engine,
        "ns": triple(stage.ns_per_packet),
        "share": share if math.isfinite(share) else None,
        "perPacket": triple(spread),
        "sampled": stage.sampled_packets,
        "path": ", ".join(str(v) for k in ("isa", "driver", "device", "library", "detail") if (v := stage.path.get(k)))
        + (", hardware" if stage.path.get("is_hardware") else ""),
        "buildNs": stage.build_ns,
        "memoryBytes": stage.memory_bytes,
        "verified": stage.verified,
    }
