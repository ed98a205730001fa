"""Builds the data of the page from analysed runs: pure functions and plain data."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from dpubench.analysis.model import Interval, Warning_
from dpubench.report.machine import cpu_text, run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.report.troubles import Advice, warning_groups
from dpubench.report.words import FEW_ROUNDS, anchor, quantity
from dpubench.studies.end_to_end import compare, wording
from dpubench.studies.end_to_end.model import PLACES, PointSummary, RunSummary
from dpubench.studies.end_to_end.report import ratios
from dpubench.studies.end_to_end.report.figures import PERCENTILES, part_data
from dpubench.studies.end_to_end.report.page import Account, Beyond, Link, Page, Part, Row, Sustained, Trust
from dpubench.studies.end_to_end.report.variants import Placed, Variants


def build(all_runs: Sequence[RunSummary], advice: Advice, min_effect: float, baseline: str | None = None) -> Page:
    """Return the page of ``all_runs``. Several runs stand side by side, each against the run ``baseline`` (its name, path or target).

    The default is the run that is marked as baseline, else the first. Raises :class:`ValueError` without runs, or if no run is called ``baseline``.
    """
    runs = baseline_first(all_runs, baseline)
    names = _names(runs)
    infos = [run_info(run, name) for run, name in zip(runs, names, strict=True)]
    others = [(i, compare.compare(runs[0], run, min_effect, (names[0], names[i]))) for i, run in enumerate(runs) if i]
    parts: list[tuple[Part, Variants, int]] = []
    tested: list[ratios.Judgeable] = []
    for workload, is_virtual in _kinds(runs):
        part, variants, rows = _part(workload, is_virtual, runs, names)
        part.across = {i: ratios.across(compared, [_places(variants, 0), _places(variants, i)], part.frames) for i, compared in others}
        parts.append((part, variants, len(rows)))
        tested += rows
    judged = iter(ratios.judged(tested, min_effect))
    for part, variants, number in parts:
        part.ratios = [next(judged) for _ in range(number)]
        part.data = part_data(part, variants)
    found = [part for part, _, _ in parts]
    warnings = warning_groups(((name, w) for run, name in zip(runs, names, strict=True) for w in _warnings(run)), advice)
    failures, unavailable = _troubles(runs, names)
    points = [p for run in runs for p in run.points]
    return Page(
        **outline(runs, infos, advice, warnings=warnings, failures=failures, unavailable=unavailable),
        measured=_headline(runs, infos, found),
        trust=_trust(points, runs, warnings, len(failures)),
        labels=[label for label in runs[0].labels if all(label in run.labels for run in runs)],
        between=[_between(found, i, names) for i, _ in others],
        parts=found,
        accounts=_accounts(found, [v for _, v, _ in parts], names),
        links=_links(runs, names),
        timestamps=list(dict.fromkeys(p.timestamp_source for p in points if p.timestamp_source)),
        latency_floor=_latency_floor(points),
        requirements=wording.requirements(points),
        ceilings=[(name, wording.ceiling_text(c)) for run, name in zip(runs, names, strict=True) for c in run.ceilings],
        traffic=wording.assignments(wording.common(p.traffic for p in points), ", "),
        data={
            "study": runs[0].study,
            "runs": names,
            "fewRounds": FEW_ROUNDS,
            "places": [wording.PLACE_WORDS[place] for place in PLACES],
            "percentiles": list(PERCENTILES),
            "parts": [part.data for part in found],
        },
    )


def _names(runs: Sequence[RunSummary]) -> list[str]:
    return [run.name if run.target == "local" or run.name.endswith(f"@{run.target}") else f"{run.name} @{run.target}" for run in runs]


def _kinds(runs: Sequence[RunSummary]) -> list[tuple[str, bool]]:
    """Return (workload, whether its links are virtual) of every part. The null workload has a part of its own only if such links carry no other."""
    found = list(dict.fromkeys((p.workload, p.is_virtual) for run in runs for p in run.points if not p.is_null))
    covered = {is_virtual for _, is_virtual in found}
    return found + list(dict.fromkeys((p.workload, p.is_virtual) for run in runs for p in run.points if p.is_null and p.is_virtual not in covered))


def _part(
    workload: str, is_virtual: bool, runs: Sequence[RunSummary], names: Sequence[str]
) -> tuple[Part, Variants, Sequence[ratios.Judgeable]]:  # fmt: skip
    """Return a part without its verdicts, its variants, and the rows to be judged."""
    everything = [(i, p) for i, run in enumerate(runs) for p in run.points if p.is_virtual == is_virtual]
    own = [(i, p) for i, p in everything if p.workload == workload]
    floors = {(i, p.floor.point) for i, p in own if p.floor is not None}
    links = {(i, p.port, p.server_cpus) for i, p in own}
    null = [(i, p) for i, p in everything
            if p.is_null and p.workload != workload and ((i, p.id) in floors or (i, p.port, p.server_cpus) in links)]  # fmt: skip
    shared = wording.common(p.traffic for run in runs for p in run.points)
    variants = Variants([*own, *null], names, shared)
    sizes = {p.frame: (p.frame_bytes, wording.frame_text(p)) for _, p in [*own, *null]}
    frames = sorted(sizes, key=lambda frame: sizes[frame][0])
    catalog = next((run.workloads[workload] for run in runs if workload in run.workloads), {})
    by_id = [{p.id: p for p in run.points} for run in runs]
    rows = [Row(v, [_sustained(points, frame, runs, by_id) for frame in frames])
            for v, points in zip(variants.of, variants.points, strict=True)]  # fmt: skip
    by_load: list[dict[tuple[str, str], PointSummary]] = [{(p.frame, p.load): p for _, p in points} for points in variants.points]
    baseline = _baseline(variants)
    tested = [] if baseline is None else ratios.against(variants.of, by_load, baseline, frames, [run.rounds for run in runs])
    known = {p.port: p.port_driver for _, p in own if p.port_driver}
    drivers = dict.fromkeys(p.port + (f" ({known[p.port]})" if p.port in known else "") for _, p in own)
    part = Part(
        workload=workload,
        anchor=anchor("w", workload) + ("" if is_virtual else "-line"),
        summary=str(catalog.get("summary", "")),
        is_virtual=is_virtual,
        links=", ".join(drivers),
        labels=[label for label in own[0][1].labels if all(label in p.labels for _, p in own)],
        frames=frames,
        frame_words=[sizes[frame][1] for frame in frames],
        variants=variants.of,
        rows=rows,
        baseline=baseline,
        ratios=[],
        across={},
        answer="",
    )
    part.tables = wording.tables([p for _, p in own])
    part.answer = _answer(part) or _silence(part, [p for _, p in own])
    return part, variants, tested


def _places(variants: Variants, run: int) -> dict[str, tuple[int, PointSummary]]:
    """Return id -> (index of its variant, the point) for the points of a run in a part."""
    return {p.id: (index, p) for index, members in enumerate(variants.points) for i, p in members if i == run}


def _sustained(points: Sequence[Placed], frame: str, runs: Sequence[RunSummary], by_id: Sequence[dict[str, PointSummary]]) -> Sustained | None:
    """Return the rates that a variant sustains at ``frame``; None if it has no point there."""
    here = [(i, p) for i, p in points if p.frame == frame]
    if not here:
        return None
    searched = {p.load_kind: (i, p) for i, p in here if p.load_kind in {"NDR", "PDR"}}
    ndr, pdr = (searched.get(kind) for kind in ("NDR", "PDR"))
    found = Sustained(ndr[1] if ndr else None, pdr[1] if pdr else None)
    if not searched:
        clean = [
            p for _, p in here if p.load_kind == "rate" and p.loss_ratio is not None and p.loss_ratio.value == 0 and p.throughput_pps is not None
        ]
        found.tried = max(clean, key=lambda p: p.throughput_pps.value if p.throughput_pps else 0.0, default=None)
    top = ndr or pdr
    if top is not None and not top[1].is_null:
        run, point = top
        null = by_id[run].get(point.floor.point) if point.floor is not None else None
        if null is None:
            found.why_no_beyond = wording.why_empty(point) or "the null workload was not measured beside it"
        else:
            found.beyond, found.why_no_beyond = ratios.beyond(point, null, runs[run].rounds)
    return found


def _baseline(variants: Variants) -> int | None:
    """Return the variant of the first run that its others are set against; None if fewer than two have figures.

    It is the first variant on the host that has figures, else the first anywhere.
    """
    usable = [i for i, v in enumerate(variants.of) if v.run == 0 and not v.is_null and any(not wording.why_empty(p) for _, p in variants.points[i])]
    if len(usable) < 2:
        return None
    return next((i for i in usable if variants.of[i].placement == "all-host" and not variants.of[i].correctness_only), usable[0])


def _answer(part: Part) -> str:
    """Return a sentence on the rate that the part's best variant sustains at the smallest frame that has one; empty if none has."""
    for index, words in enumerate(part.frame_words):
        cells = [(row.variant, row.cells[index]) for row in part.rows if not row.variant.is_null and not row.variant.correctness_only]
        for kind in ("ndr", "tried"):
            found = [(p, v, c) for v, c in cells if c is not None and (p := getattr(c, kind)) is not None and not wording.why_empty(p)]
            told = [(p.throughput_pps.value, p, v, c) for p, v, c in found if wording.says_of_the_server(p) and p.throughput_pps is not None]
            if not told:
                continue
            pps, point, variant, cell = max(told, key=lambda entry: entry[0])
            rate = f"{quantity(Interval(pps / 1e6, math.nan, math.nan)).value} Mpps of {words} frames over {point.port}"
            best = f"{variant.label}{f', the best of {len(told)}' if len(told) > 1 else ''}"
            lost = f", {words_lost}" if (words_lost := wording.lost_text(point)) else ""
            if kind == "tried":
                return f"{part.workload} carried {rate} ({best}){lost}: the highest rate tried, without a search for the limit."
            beside = ""
            if cell.beyond is not None:
                beside = f", {_beyond_text(cell.beyond)}"
            return f"{part.workload} sustains {rate} ({best}){lost}{beside}."
    return ""


def _beyond_text(beyond: Beyond) -> str:
    """Return both figures with their intervals, or with the words that one round has none; without CPU time the ratio alone."""
    ratio = quantity(beyond.ratio)
    times = f"{ratio.value} times the null workload's rate (95 % interval {ratio.range})" if ratio.low else ""
    if beyond.extra_ns is None:
        return times or f"{ratio.value} times the null workload's rate (one round: no interval)"
    extra = quantity(beyond.extra_ns)
    if not (times and extra.low):
        apart = f"{extra.value.removeprefix('-')} ns {'less' if extra.value.startswith('-') else 'more'}"
        return f"{ratio.value} times the null workload's rate, {apart} of server CPU time per packet (one round: no interval)"
    return f"{times}, {extra.value} ns (95 % interval {extra.low} to {extra.high}) of server CPU time per packet beyond it"


def _between(parts: Sequence[Part], run: int, names: Sequence[str]) -> str:
    """Return a sentence on how ``run`` did against the first run."""
    counts = Counter(row.verdict for part in parts for row in part.across[run])
    told = [f"{counts[verdict]} {verdict}" for verdict in ("faster", "slower", "same", "undecided", "not comparable") if counts[verdict]]
    return f"{names[run]} against {names[0]}: {', '.join(told) if told else 'no variant is in both'}."


def _silence(part: Part, points: Sequence[PointSummary]) -> str:
    """Return a sentence on why nothing can be said of a part."""
    reasons = [wording.why_empty(p) or (f"{wording.limit_text(p)}" if not wording.says_of_the_server(p) else "") for p in points]
    why = _commonest([reason for reason in reasons if reason]) or "packets were lost at every rate tried"
    return f"{part.workload}: the rate that the server sustains is not known: {why if len(why) < 120 else why[:119] + '…'}."


def _headline(runs: Sequence[RunSummary], infos: Sequence[RunInfo], parts: Sequence[Part]) -> str:
    workloads = list(dict.fromkeys(part.workload for part in parts))
    ports = list(dict.fromkeys(p.port for run in runs for p in run.points))
    frames = sorted({(p.frame_bytes, wording.frame_text(p)) for run in runs for p in run.points})
    sizes = f"{frames[0][1].removesuffix(' B')} to {frames[-1][1]} frames" if len(frames) > 1 else f"{frames[0][1]} frames" if frames else ""
    if not workloads:
        return f"Nothing was measured: {cpu_text(infos[0])}"
    where = cpu_text(infos[0]) if len(runs) == 1 else ", ".join(info.name for info in infos)
    return f"{' and '.join(workloads)}, client to server and back over {', '.join(ports)}, {sizes}: {where}"


def _warnings(run: RunSummary) -> list[Warning_]:
    return list(dict.fromkeys([*run.warnings, *(w for p in run.points for w in p.warnings)]))


def _troubles(runs: Sequence[RunSummary], names: Sequence[str]) -> tuple[list[Trouble], list[Trouble]]:
    failures, unavailable = [], []
    for run, name in zip(runs, names, strict=True):
        told = {f.point for f in run.failures}
        failures += [Trouble(name, f.point or f.group or f"run ({f.phase})", f.message) for f in run.failures]
        failures += [Trouble(name, p.id, p.failure) for p in run.points if p.failure and p.id not in told]
        reasons: dict[tuple[str, str], int] = defaultdict(int)
        for p in run.points:
            if p.unavailable:
                where = ", ".join(filter(None, [p.workload, wording.engines_text(p), wording.placement_text(p), p.port]))
                reasons[(where, p.unavailable)] += 1
        unavailable += [Trouble(name, where, reason, count) for (where, reason), count in reasons.items()]
    return failures, unavailable


def _trust(points: Sequence[PointSummary], runs: Sequence[RunSummary], warnings: Sequence[WarningGroup], failed: int) -> Trust:
    measured = [p for p in points if not wording.why_empty(p)]
    loose = [p for p in measured if not p.converged]
    widest = max(loose, key=lambda p: p.precision if math.isfinite(p.precision) else math.inf, default=None)
    limits = Counter(p.limit for p in points)
    worst = warnings[0] if warnings else None
    return Trust(
        points=len(measured),
        trials=sum(run.trials for run in runs),
        discarded=wording.discarded(sum((Counter(run.tried) for run in runs), Counter()), sum(run.tried_again for run in runs)),
        left_out=sum(bool(p.left_out) for p in points),
        rounds=_span([p.rounds for p in measured]),
        why_nothing="" if measured else _commonest([wording.why_empty(p) for p in points]),
        trial_s=_span([p.trial_s for p in measured]),
        not_converged=len(loose),
        p99_not_converged=sum("latency.p99" in p.not_converged for p in measured),
        widest=widest.precision if widest else math.nan,
        widest_where=widest.id if widest else "",
        client_limited=limits["client-limited"],
        stall_limited=limits["stall-limited"],
        latency_withheld=sum(bool(p.latency_withheld) for p in measured),
        correctness_only=sum(wording.proves_correctness_only(p) for p in measured),
        failed=failed,
        unavailable=sum(bool(p.unavailable) for p in points),
        warnings=sum(len(g.items) + g.more for g in warnings),
        worst=worst.items[0][2] if worst else "",
        worst_code=worst.code if worst else "",
    )


def _commonest(reasons: Sequence[str]) -> str:
    return Counter(reasons).most_common(1)[0][0] if reasons else ""


def _span(values: Sequence[float]) -> str:
    """Return the range of ``values``: ``6``, or ``4 to 6``."""
    low, high = (f"{v:g}" for v in (min(values, default=0), max(values, default=0)))
    return low if low == high else f"{low} to {high}"


def _accounts(parts: Sequence[Part], variants: Sequence[Variants], names: Sequence[str]) -> list[Account]:
    """Return the checks of every variant, each once: the null workload stands in several parts."""
    found: dict[tuple[int, str, str, bool], list[PointSummary]] = {}
    for part, of in zip(parts, variants, strict=True):
        for variant, members in zip(of.of, of.points, strict=True):
            found.setdefault((variant.run, members[0][1].workload, variant.told, part.is_virtual), [p for _, p in members])
    accounts = []
    for (run, workload, told, _), of_variant in found.items():
        searched = {p.configuration for p in of_variant if p.load_kind == "NDR"}
        # All goals of a configuration share the trials of one search.
        points = [p for p in of_variant if p.load_kind != "PDR" or p.configuration not in searched]
        limits = (sum(p.tried.get(limit, 0) for p in points) for limit in wording.NOT_THE_SERVER)
        sums = (sum(getattr(p, n) for p in points) for n in ("tried_again", "flows_checked", "duplicates", "reordered", "corrupted", "wrong"))
        accounts.append(Account(names[run], workload, told, sum(p.trials for p in points), *limits, *sums))
    return accounts


def _links(runs: Sequence[RunSummary], names: Sequence[str]) -> list[Link]:
    found = []
    for run, name in zip(runs, names, strict=True):
        counts = Counter((p.port, p.port_driver, p.is_virtual) for p in run.points)
        for (kind, driver, is_virtual), points in counts.items():
            found.append(Link(name, kind, driver, str(run.ports.get(kind, {}).get("summary", "")), is_virtual, points))
    return found


def _latency_floor(points: Sequence[PointSummary]) -> str:
    """Return the range of the null workload's p50 latency over all its loads, in words; empty if it has none."""
    values = [p.latency.p50.value / 1e3 for p in points if p.is_null and p.latency is not None and "p50" not in p.latency_withheld]
    if not values:
        return ""
    low, high = (quantity(Interval(v, math.nan, math.nan)).value for v in (min(values), max(values)))
    return f"{low} us" if low == high else f"{low} to {high} us"
