"""The analysis of a run of headroom: intervals over rounds, samples over the delay, warnings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from dpubench.analysis import statistics, warnings
from dpubench.analysis.model import Interval, Warning_
from dpubench.storage.runs import DamagedRunError, RunDirectory
from dpubench.studies.headroom import execute, model, rounds
from dpubench.studies.headroom.model import Fit, PointSummary, RunSummary, Sample, Selection
from dpubench.studies.headroom.plan import PEAK
from dpubench.studies.measured import model as measured
from dpubench.studies.measured import rounds as measured_rounds
from dpubench.studies.measured.summary import summaries as measured_summaries

#: Samples of all rounds whose delays lie this close to each other, as a share of the largest one, make one of a figure.
_TOGETHER: Final = 0.015
#: A thread that had its CPU for less than this share of the time is told.
_ON_CPU: Final = 0.95
#: A rate that crosses without work beside, as a share of the one asked for; and with the work of the lowest priority, of that without. Less is told.
_OFFERED: Final = 0.95
_SURVIVED: Final = 0.97


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed; for a run of several targets, one summary for each that began. @raises UserError"""
    members = [member for member in RunDirectory(path).members() if member.run_file.is_file()]
    return [_summary(member, base) for member, base in zip(members, measured_summaries(path), strict=True)]


def _summary(run: RunDirectory, base: measured.RunSummary) -> RunSummary:
    record = run.record()
    beside: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in measured_rounds.read(run.path):
        beside[row["point"]][row["quantity"]].append(row["value"])
    samples: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rounds.samples(run.path):
        samples[row["point"]].append(row)
    try:
        # What step 1 chose on an emulated target rests on times, as its samples do.
        selections = [] if base.origin == "emulated" else [Selection.of(entry) for entry in record["selections"]]
        given = {str(entry["id"]): entry.get("given", {}) for entry in record["points"]}
        points = [_point(p, beside[p.id], samples[p.id], given[p.id], selections) for p in base.points]
        for point in points:
            point.fits = fits_of(record, point.id)
        head = {f.name: getattr(base, f.name) for f in fields(base) if f.name not in ("points", "warnings")}
        # The base has told widespread warnings of points once for the run. Those of this study come on top.
        head["origin"] = "imported" if record["imported"] else base.origin
        found = warnings.of_the_run([*base.warnings, *(w for p in points for w in p.warnings if w not in base.warnings)], points)
        return RunSummary(
            **head, points=points, warnings=found, selections=selections, links=dict(record["links"]), cpus=int(record["cpus"]),
            clock=str(record["clock"]), tolerance=float(record["tolerance"]), imported=bool(record["imported"]),
            operators_run=str(record.get("operators", {}).get("run", "")),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DamagedRunError(f"{run.run_file}: does not follow dpubench.run/1 of study headroom ({error!r})") from error


def _point(
    base: measured.PointSummary, beside: Mapping[str, Sequence[float]], samples: Sequence[Mapping[str, Any]], given: Mapping[str, Sequence[float]],
    selections: Sequence[Selection],
) -> PointSummary:  # fmt: skip
    point = PointSummary(**{f.name: getattr(base, f.name) for f in fields(base)})
    if given:
        point.converged = True  # nothing here is an estimate that more rounds would sharpen
        point.figures = {name: Interval(*triple) for name, triple in given.items()}
        point.samples = _over_delay(samples)
        point.wanted_gbps = given[model.RATE][0] if model.RATE in given else None
        point.warnings = [w for w in point.warnings if w.code != "few-rounds"]
        return point
    if not point.figures:
        return point
    for name in model.MAY_BE_ZERO & point.figures.keys():
        point.figures[name] = statistics.linear_interval_of_rounds(point.rounds[name])
    point.samples = _over_delay(samples)
    point.wanted_gbps = fmean(beside[execute.WANTED])
    point.warnings += _warnings(point, beside, _selection(point, selections))
    return point


def _selection(point: PointSummary, selections: Sequence[Selection]) -> Selection | None:
    key = (point.placement, point.backend, int(point.parameters["size"]), int(point.parameters.get("reuse", "1")))
    return next((s for s in selections if execute.key_of(s) == key), None)


def _warnings(point: PointSummary, beside: Mapping[str, Sequence[float]], chosen: Selection | None) -> list[Warning_]:
    found = _of_the_edge(point, beside) if beside[execute.FIRST_FALL] else []
    if chosen is not None and chosen.limit == "generator" and point.parameters["rate"] == PEAK:
        more = ", and more threads reached more" if chosen.is_rising and chosen.threads > 1 else ""
        idle = point.placement == "embedded"
        device = "had time left" if idle else "refused nothing"
        message = f"{chosen.threads} {'thread' if chosen.threads == 1 else 'threads'} at {chosen.gbps:.3g} Gb/s, and the device {device}{more}"
        found.append(Warning_("generator-saturated", message, point.id))
    if (lost := fmean(beside[execute.LOST])) > execute.MOST_LOST:
        found.append(
            Warning_(
                "packets-lost", f"{100 * lost:.1f} % of the packets at the {'offered' if point.placement == 'embedded' else 'highest'} rate", point.id
            )
        )
    if beside[execute.ASKED] and point.wanted_gbps is not None and point.wanted_gbps < _OFFERED * (asked := fmean(beside[execute.ASKED])):
        found.append(Warning_("rate-not-offered", f"{point.wanted_gbps:.3g} of {asked:.3g} Gb/s", point.id))
    if beside[execute.SURVIVED] and (survived := fmean(beside[execute.SURVIVED])) < _SURVIVED:
        found.append(Warning_("rate-disturbed", f"it fell to {100 * survived:.0f} % of that without", point.id))
    if beside[execute.ON_CPU] and (on_cpu := fmean(beside[execute.ON_CPU])) < _ON_CPU:
        beside_kernel = ", even while no packet crossed: what is left is not known" if beside[execute.SURVIVED] else ""
        found.append(Warning_("cpu-withheld", f"{100 * on_cpu:.0f} % of the time{beside_kernel}", point.id))
    if any(beside[execute.IN_CACHE]):
        found.append(Warning_("in-cache", "", point.id))
    return found


def _of_the_edge(point: PointSummary, beside: Mapping[str, Sequence[float]]) -> list[Warning_]:
    """Return the warnings of a point whose edge was searched."""
    found: list[Warning_] = []
    rounds = len(beside[execute.FIRST_FALL])
    falls = [fall for fall in beside[execute.FIRST_FALL] if fall > 0]
    if 2 * len(falls) >= rounds:
        found.append(Warning_("not-monotone", f"in {len(falls)} of {rounds} rounds; it fell first at {median(falls):.3g} us", point.id))
    if 2 * sum(beside[execute.CUT_SHORT]) >= rounds:
        found.append(Warning_("coarse-edge", "", point.id))
    if 2 * sum(beside[execute.PACED]) >= rounds:
        found.append(Warning_("pacing-limit", "", point.id))
    return found


def _over_delay(samples: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """Return the samples of all rounds by delay, those that lie close together as one."""
    ordered = sorted((float(s["delay_ns"]), float(s["value"])) for s in samples)
    if not ordered:
        return []
    width = _TOGETHER * ordered[-1][0]
    groups: list[list[tuple[float, float]]] = []
    for delay, rate in ordered:
        if groups and delay - groups[-1][0][0] <= width:
            groups[-1].append((delay, rate))
        else:
            groups.append([(delay, rate)])
    return [_sample(group) for group in groups]


def _sample(group: Sequence[tuple[float, float]]) -> Sample:
    rates = [rate for _, rate in group]
    interval = statistics.linear_interval_of_rounds(rates)
    low, high = (interval.low, interval.high) if math.isfinite(interval.low) else (min(rates), max(rates))
    return Sample(fmean(delay for delay, _ in group) / 1e3, interval.value, max(low, 0.0), high, len(rates))


def fits_of(record: Mapping[str, Any], point: str) -> list[Fit]:
    """Return how the operators of a run fit what a point leaves, from ``run.json``."""
    return [Fit(**entry) for entry in record.get("operators", {}).get("fits", {}).get(point, [])]
