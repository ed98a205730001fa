"""Figures of a sweep. The values that the sweep varies decide the kind of figure. Every number comes from a point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from dpubench.analysis.model import Interval
from dpubench.plans.frames import IMIX
from dpubench.report.words import anchor
from dpubench.studies.cores import wording
from dpubench.studies.cores.model import CacheUse, PointSummary, RunSummary, SweepInfo
from dpubench.studies.cores.plan import BASE
from dpubench.studies.cores.report.page import Figure, Series

#: Returns a quantity of a point with its interval, or None if the point lacks it.
Quantity = Callable[[PointSummary], Interval | None]
_NAN: Final = math.nan
#: In place of a point's id: a mark of a line, not of a simulation.
LINE: Final = "not simulated: a line"


def figures_of(sweep: SweepInfo, run: RunSummary) -> list[Figure]:
    """Return the figures of a sweep: over the values that it varies, over frame sizes, or over the organisation's steps."""
    points = [p for p in run.points if sweep.name in p.sweeps]
    found: list[Figure] = []
    if sweep.varied:
        found = _over_varied(sweep, points, run)
    elif any(len({p.frame for p in own}) > 1 for own in _by(points, lambda p: p.kernel).values()):
        found = _over_frames(sweep, points, run)
    elif len({p.step for p in points}) > 1 or len({p.clock_mhz for p in points}) > 1:
        found = _over_steps(sweep, points, run)
    for number, figure in enumerate(found, 1):  # two kernel names may differ only in characters that an id cannot hold
        figure.id = f"{figure.id}-{number}"
    return found


# --------------------------------------------------------------------------- kinds of figures


def _over_frames(sweep: SweepInfo, points: Sequence[PointSummary], run: RunSummary) -> list[Figure]:
    """Return a figure per kernel: the line that each processor sustains, over frame size."""
    found = []
    for kernel, own in _by(points, lambda p: p.kernel).items():
        if not own[0].every_byte:
            found.append(_of_headers(sweep, kernel, own, run))
            continue
        series, gone = _series(own, lambda p: p.frame_bytes, lambda p: p.line_gbps, _processor_name(own), apart=lambda p: p.frame == IMIX)
        references = [(wording.line_text(line), line) for line in run.lines_gbps]
        note = f"Gb/s: {wording.overhead_text(run.line_overhead_bytes)}. Separate marks: IMIX at its mean size."
        found.append(
            Figure(_id(sweep, kernel), f"{kernel}: line sustained over frame size", "frame with FCS, B", "Gb/s", True, True, series, references, gone,
                   _labels(own, run), note)
        )  # fmt: skip
    return found


def _of_headers(sweep: SweepInfo, kernel: str, own: Sequence[PointSummary], run: RunSummary) -> Figure:
    """Return the figure of a kernel that looks at headers only: messages per second beside those of each line, over frame size.

    A rate in Gb/s would grow with the frame without end, beyond every port and memory.
    """
    series, gone = _series(
        own, lambda p: p.frame_bytes, lambda p: _scaled(p.messages_per_s, 1e-6), _processor_name(own), apart=lambda p: p.frame == IMIX
    )  # fmt: skip
    sizes = sorted({p.frame_bytes for p in own if p.frame != IMIX and p.messages_per_s is not None})
    for line in run.lines_gbps:
        marks = [(size, line * 1e3 / (8 * (size + run.line_overhead_bytes)), None, None, LINE) for size in sizes]
        series.append(Series(f"{wording.line_text(line)} line", list(marks)))
    note = f"It looks at headers only. Lines: the messages that fill them; {wording.overhead_text(run.line_overhead_bytes)}."
    return Figure(
        _id(sweep, kernel), f"{kernel}: messages over frame size", "frame with FCS, B", "million messages/s", True, True, series, [], gone,
        _labels(own, run), note,
    )  # fmt: skip


def _over_steps(sweep: SweepInfo, points: Sequence[PointSummary], run: RunSummary) -> list[Figure]:
    """Return a figure per kernel, frame and model: messages per second over unit sets, contexts or cores, a line per clock (or variant)."""
    found = []
    for (kernel, frame, model), own in _by(points, lambda p: (p.kernel, p.frame, p.model)).items():
        mega: Quantity = lambda p: _scaled(p.messages_per_s, 1e-6)  # noqa: E731
        series, gone = _series(own, lambda p: float(p.step), mega, _clock_and_variant(own))
        one = own[0]
        references = []
        if len(one.frame.split("+")) == 1:
            of_message = 8e-9 * (one.frame_bytes + run.line_overhead_bytes)
            references = [(wording.line_text(line), line / of_message * 1e-6) for line in run.lines_gbps]
        several = len({p.model for p in points}) > 1
        title = f"{kernel}, {wording.frame_text(one)}" + (f", {model}" if several else "")
        note = f"Horizontal lines are line rates: {wording.overhead_text(run.line_overhead_bytes)}."
        figure = _id(sweep, kernel, frame, model)
        x = f"{wording.STEPS[one.organisation]}s"
        found.append(Figure(figure, title, x, "million messages/s", False, True, series, references, gone, _labels(own, run), note))
    return found


def organisations(run: RunSummary) -> list[Figure]:
    """Return a figure per kernel, frame and model with all organisations on one axis: messages per second over sets, contexts or cores.

    A kernel has one if at least three organisations were simulated at one clock. The highest common clock counts.
    """
    mega: Quantity = lambda p: _scaled(p.messages_per_s, 1e-6)  # noqa: E731
    plain = [
        p for p in run.points
        if p.variant == BASE and not p.shares and p.organisation != "described" and p.unit_sets == (1 if p.organisation == "cmp" else p.step)
    ]  # fmt: skip
    found = []
    for (kernel, frame, model), own in _by(plain, lambda p: (p.kernel, p.frame, p.model)).items():
        clocks = {o: {p.clock_mhz for p in points if p.step > 1} for o, points in _by(own, lambda p: p.organisation).items()}
        common = set.intersection(*clocks.values())
        if len(clocks) < 3 or not common:
            continue
        clock = max(common)
        at_clock = [p for p in own if p.clock_mhz == clock]
        series, gone = _series(at_clock, lambda p: float(p.step), mega, lambda p: wording.ORGANISATIONS[p.organisation])
        of_message = 8e-9 * (own[0].frame_bytes + run.line_overhead_bytes)
        references = [(wording.line_text(line), line / of_message * 1e-6) for line in run.lines_gbps]
        note = f"One unit set for each context and core. Horizontal lines are line rates: {wording.overhead_text(run.line_overhead_bytes)}."
        found.append(
            Figure(anchor("figure", f"organisations-{kernel}-{frame}-{model}"), f"{kernel}, {wording.frame_text(own[0])}, {clock:g} MHz",
                   "unit sets, contexts or cores", "million messages/s", False, True, series, references, gone, _labels(at_clock, run), note)
        )  # fmt: skip
    return found


def _over_varied(sweep: SweepInfo, points: Sequence[PointSummary], run: RunSummary) -> list[Figure]:
    """Return a figure per quantity, kernel, frame and model: miss ratios and messages per second over the first varied value.

    There is a line per combination of the other varied values.
    """
    first, *rest = sweep.varied
    found = []
    quantities: list[tuple[str, str, Quantity]] = [
        ("data cache", "misses of accesses, %", lambda p: _missed(p.cache(p.data_cache))),
        ("instruction cache", "misses of accesses, %", lambda p: _missed(p.cache(p.instruction_cache))),
        ("throughput", "million messages/s", lambda p: _scaled(p.messages_per_s, 1e-6)),
    ]
    for (kernel, frame, model), own in _by(points, lambda p: (p.kernel, p.frame, p.model)).items():
        numeric = [p for p in own if _number(p.settings.get(first)) is not None]
        for what, unit, of in quantities:
            if not any(of(p) is not None for p in numeric):
                continue
            series, gone = _series(
                numeric, lambda p: (_number(p.settings[first]) or 0.0) / (1024 if first.endswith("_bytes") else 1), of, lambda p: _rest_name(p, rest)
            )
            title = f"{kernel}, {wording.frame_text(own[0])}: {what}"
            found.append(
                Figure(_id(sweep, kernel, frame, model, what), title, _path_words(first), unit, True, False, series, [], gone, _labels(own, run),
                       "Both first-level caches have this value." if first.startswith("first_caches") else "")
            )  # fmt: skip
    return found


# --------------------------------------------------------------------------- shared helpers


def _series(
    points: Sequence[PointSummary], x: Callable[[PointSummary], float], y: Quantity, name: Callable[[PointSummary], str],
    apart: Callable[[PointSummary], bool] = lambda _p: False,
) -> tuple[list[Series], list[str]]:  # fmt: skip
    """Return the series in the order of the points, each sorted by x, and the points without a value, with the reason."""
    found: dict[str, Series] = {}
    gone: dict[str, int] = {}
    for point in points:
        value = y(point)
        if value is None or not math.isfinite(value.value):
            reason = point.failure or "nothing was counted"
            gone[f"{name(point)}: {reason}"] = gone.get(f"{name(point)}: {reason}", 0) + 1
            continue
        series = found.setdefault(name(point), Series(name(point), []))
        entry = (x(point), value.value, _finite(value.low), _finite(value.high), point.id)
        (series.apart if apart(point) else series.points).append(entry)
    for series in found.values():
        series.points.sort()
    return list(found.values()), [f"{text} ({number} point{'s' * (number > 1)})" for text, number in gone.items()]


def _by(points: Iterable[PointSummary], key: Callable[[PointSummary], Any]) -> dict[Any, list[PointSummary]]:
    found: dict[Any, list[PointSummary]] = {}
    for point in points:
        found.setdefault(key(point), []).append(point)
    return found


def _processor_name(points: Sequence[PointSummary]) -> Callable[[PointSummary], str]:
    """Return a function that names the processor of a point by everything that differs among ``points``."""
    parts: list[Callable[[PointSummary], str]] = [lambda p: p.model]
    if len({(p.organisation, p.step) for p in points}) > 1:
        parts.append(lambda p: f"{p.step} {wording.STEPS[p.organisation]}{'s' * (p.step > 1)}")
    for model in {p.model for p in points}:
        if len({p.clock_mhz for p in points if p.model == model}) > 1:
            parts.append(lambda p: f"{p.clock_mhz:g} MHz")
            break
    if len({p.variant for p in points}) > 1:
        parts.append(lambda p: p.variant)
    return lambda p: ", ".join(part(p) for part in parts)


def _clock_and_variant(points: Sequence[PointSummary]) -> Callable[[PointSummary], str]:
    clocks, variants = {p.clock_mhz for p in points}, {p.variant for p in points}
    if len(variants) == 1:
        return lambda p: f"{p.clock_mhz:g} MHz" + ("" if p.variant == BASE else f", {p.variant}")
    return lambda p: p.variant + (f", {p.clock_mhz:g} MHz" if len(clocks) > 1 else "")


def _rest_name(point: PointSummary, rest: Sequence[str]) -> str:
    words = []
    for path in rest:
        noun = _path_words(path).rpartition(" ")[2]
        words.append(f"{point.settings[path]} {noun.removesuffix('s') if point.settings[path] == 1 else noun}")
    return ", ".join(words) or point.kernel


def _path_words(path: str) -> str:
    """Return ``path`` in words: ``first caches: size, KiB`` for ``first_caches/size_bytes``."""
    *section, key = path.split("/")
    words = key.replace("_bytes", ", KiB").replace("_cycles", ", cycles").replace("_ns", ", ns").replace("_", " ")
    return f"{' '.join(section).replace('_', ' ')}: {words}"


def _number(value: Any) -> float | None:
    """Return a setting as a number, including sizes such as ``32KiB``; None if it is no number."""
    from dpubench.plans.quantities import size_bytes

    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return float(size_bytes(value))
    except ValueError:
        return None


def _missed(cache: CacheUse | None) -> Interval | None:
    ratio = cache.miss_ratio if cache is not None else None
    return None if ratio is None else Interval(100 * ratio, _NAN, _NAN)


def _scaled(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else Interval(interval.value * factor, interval.low * factor, interval.high * factor)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _labels(points: Sequence[PointSummary], run: RunSummary) -> list[str]:
    """Return the labels of a figure: the run's, and those of all its points."""
    return list(dict.fromkeys([run.label, *(label for p in points for label in p.labels)]))


def _id(sweep: SweepInfo, *parts: str) -> str:
    return anchor("figure", "-".join([sweep.name, *parts]))
