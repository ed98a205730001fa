"""Sweeps of pktgen that were measured elsewhere, as tidy tables with one row per configuration.

Tables are CSV files with the columns ``platform, packet_bytes, threads, burst, clone_skb, delay_ns, throughput_mbps``, and perhaps ``mode``,
``std_mbps`` (of the repetitions behind a row) and ``device_mbps`` (the rate of the line). Rows without a delay are step 1. Rows of one
configuration at several delays are step 2.

A table of rates does not say how long a burst takes. It follows from the highest rate of the same threads, and which one to take is a choice: that of
the same configuration without a delay, of the same sweep, of any burst and reuse. What is left is therefore an interval over these choices. Where the
device limits the highest rate, and not the CPU, a burst takes less than that, and more is left.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench.analysis.digits import significant
from dpubench.errors import UserError
from dpubench.plans.quantities import format_rate
from dpubench.run.importing import File, Imported, Member
from dpubench.storage.runs import Event, now_utc
from dpubench.studies.headroom import model, rounds
from dpubench.studies.headroom.model import Selection, Tried
from dpubench.studies.headroom.plan import PEAK, Plan, packet_text
from dpubench.studies.headroom.search import Configured, Edge, edge_of, pacing_limit_ns, rising, smallest_of_the_best

_NUMBERS: Final = ("packet_bytes", "threads", "burst", "clone_skb", "delay_ns")
_COLUMNS: Final = ("platform", *_NUMBERS, "throughput_mbps")
_LARGEST: Final = {"packet_bytes": 65_549, "threads": 256, "burst": 100_000, "clone_skb": 65_535, "delay_ns": 10**9}
_BACKEND: Final = "pktgen"
_MOST_MBPS: Final = 1e8
#: A rate of this share of the line's or more is limited by the line.
_AT_LINE: Final = 0.95
#: Shares of the line's rate, or without one of the peak's, whose edges are looked for besides the peak.
_SHARES: Final = (0.25, 0.5, 0.75)
TOLERANCE: Final = 0.03


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    platform: str
    size: int  #: bytes of a packet
    threads: int
    burst: int
    reuse: int  #: pktgen's clone_skb, where 0 and 1 mean that each packet is sent once
    delay_ns: int
    gbps: float
    std_gbps: float  #: 0 where the table has none
    line_gbps: float  #: 0 where the table has none

    @property
    def configuration(self) -> tuple[int, int, int, int]:
        return self.size, self.threads, self.burst, self.reuse


@dataclass(frozen=True, slots=True)
class Peak:
    """A highest rate that the time of a burst may be taken from."""

    gbps: float
    std_gbps: float
    of: str  #: in words


@dataclass(frozen=True, slots=True)
class Finding:
    """The edge of a sweep over the delay at a rate, and what it leaves."""

    size: int
    threads: int
    burst: int
    reuse: int
    rate: str  #: as a plan names it
    wanted_gbps: float
    edge: Edge
    edge_gbps: float  #: recorded rate at the largest delay that survived
    limit_ns: float  #: pacing limit of the wanted rate
    peaks: tuple[Peak, ...]

    def left(self, peak: Peak) -> float:
        """Return the share of the threads' time that the delay leaves, if a burst takes as long as at ``peak``: 1 - rate / peak."""
        period_ns = pacing_limit_ns(self.threads, self.burst, self.edge_gbps * 1e9 / (8 * self.size))
        return 1 - self.burst_ns(peak) / max(period_ns, self.edge.survived_ns)

    def burst_ns(self, peak: Peak) -> float:
        """Return the time of a burst at the rate of ``peak``, in ns."""
        return pacing_limit_ns(self.threads, self.burst, peak.gbps * 1e9 / (8 * self.size))

    @property
    def shares(self) -> tuple[float, float, float]:
        """Return (share by the first choice of the peak, smallest share, largest share)."""
        found = [self.left(peak) for peak in self.peaks]
        return found[0], min(found), max(found)


def parse(text: str, path: Path, platform: str = "") -> list[Row]:
    """Return the rows of a table, of ``platform`` where the user names it. @raises UserError with file and line"""
    reader = csv.DictReader(io.StringIO(text))
    if missing := [name for name in _COLUMNS if name not in (reader.fieldnames or ())]:
        raise UserError(f"{path}: has no column '{missing[0]}': a table of pktgen sweeps has {', '.join(_COLUMNS)}")
    found: dict[tuple[object, ...], Row] = {}
    for line, given in enumerate(reader, 2):
        try:
            row = _row(given, platform)
        except ValueError as error:
            raise UserError(f"{path}:{line}: {error}") from None
        # A configuration may stand in two sweeps. The same one twice in a sweep leaves open which is right.
        key = (row.platform, given.get("sweep") or "", *row.configuration, row.delay_ns)
        if key in found:
            raise UserError(f"{path}:{line}: this configuration has a row already: leave one of them out")
        found[key] = row
    if not found:
        raise UserError(f"{path}: has no rows: nothing can be imported")
    return list(found.values())


def _row(given: Mapping[str, str | None], platform: str) -> Row:
    size, threads, burst, clones, delay_ns = (_whole(given[name], name) for name in _NUMBERS)
    if not size or not threads or not burst:
        raise ValueError("packet_bytes, threads and burst must be 1 at least")
    name = platform or " ".join(filter(None, [(given["platform"] or "").strip(), _mode(given.get("mode"))]))
    if not name:
        raise ValueError("names no platform: name it before the file (NAME=FILE)")
    rate, std, line = (_mbps(given.get(word), word) for word in ("throughput_mbps", "std_mbps", "device_mbps"))
    if not rate:
        raise ValueError("throughput_mbps must be above 0")
    return Row(name, size, threads, burst, max(clones, 1), delay_ns, rate / 1e3, std / 1e3, line / 1e3)


def _mode(text: str | None) -> str:
    word = (text or "").strip()
    return "" if word in ("", "default") else f"({word})"


def _whole(text: str | None, name: str) -> int:
    word = (text or "").strip()
    if not re.fullmatch("[0-9]{1,10}", word) or int(word) > _LARGEST[name]:
        raise ValueError(f"{name} is '{word[:40]}', not a whole number up to {_LARGEST[name]}")
    return int(word)


def _mbps(text: str | None, name: str) -> float:
    word = (text or "").strip()
    try:
        value = float(word) if word else 0.0
    except ValueError:
        value = math.nan
    if not 0 <= value <= _MOST_MBPS:
        raise ValueError(f"{name} is '{word[:40]}', not a rate in Mb/s")
    return value


# --------------------------------------------------------------------------- analysis


def selections(rows: Sequence[Row], tolerance: float = TOLERANCE) -> list[Selection]:
    """Return step 1 of the rows of one platform: for each packet size and reuse, the smallest configuration that reaches the highest rate."""
    groups: dict[tuple[int, int], dict[tuple[int, int], Row]] = defaultdict(dict)
    for row in rows:
        if row.delay_ns == 0:
            groups[row.size, row.reuse].setdefault((row.threads, row.burst), row)
    found = []
    for (size, reuse), of in sorted(groups.items()):
        rates = [Configured(r.threads, r.burst, r.gbps) for r in of.values()]
        best = smallest_of_the_best(rates, tolerance)
        line = max(r.line_gbps for r in of.values())
        limit: model.Limit = "line" if line and best.rate >= _AT_LINE * line else "unknown"
        tried = [Tried(r.threads, r.burst, r.gbps, 0.0, 0.0) for r in of.values()]
        found.append(Selection(_BACKEND, size, reuse, best.threads, best.burst, best.rate, limit, rising(rates, tolerance), tried, line))
    return found


def findings(rows: Sequence[Row], tolerance: float = TOLERANCE) -> list[Finding]:
    """Return step 2 of the rows of one platform: for each sweep over the delay, the edge at its highest rate and at shares of the line's."""
    sweeps: dict[tuple[int, int, int, int], dict[int, Row]] = defaultdict(dict)
    for row in rows:
        # A sweep over the delay may record the configuration without a delay again, which goes before that of step 1.
        sweeps[row.configuration][row.delay_ns] = row
    found = []
    for configuration, by_delay in sorted(sweeps.items()):
        if sum(delay > 0 for delay in by_delay) < 2:
            continue
        peaks = _peaks(rows, configuration, by_delay)
        for rate, wanted in _rates(by_delay):
            finding = _finding(configuration, rate, wanted, by_delay, peaks, tolerance)
            if finding is not None:
                found.append(finding)
    return found


def _rates(by_delay: Mapping[int, Row]) -> Iterator[tuple[str, float]]:
    """Yield (name, Gb/s) of the rates whose edges are looked for in a sweep: its highest, and shares of the line's between its ends."""
    rates = [row.gbps for row in by_delay.values()]
    yield PEAK, max(rates)
    line = max(row.line_gbps for row in by_delay.values())
    for share in _SHARES:
        wanted = share * (line or max(rates))
        if min(rates) <= wanted <= max(rates):
            yield format_rate(wanted * 1e9), wanted


def _finding(
    configuration: tuple[int, int, int, int], rate: str, wanted: float, by_delay: Mapping[int, Row], peaks: tuple[Peak, ...], tolerance: float
) -> Finding | None:
    size, threads, burst, reuse = configuration
    limit_ns = pacing_limit_ns(threads, burst, wanted * 1e9 / (8 * size))
    edge = edge_of({float(delay): row.gbps for delay, row in by_delay.items()}, (1 - tolerance) * wanted, limit_ns)
    at = by_delay.get(int(edge.survived_ns))
    if at is None:
        return None
    # A rate below the one at the edge is no highest rate.
    able = tuple(peak for peak in peaks if peak.gbps >= at.gbps)
    return Finding(size, threads, burst, reuse, rate, wanted, edge, at.gbps, limit_ns, able)


def _peaks(rows: Sequence[Row], configuration: tuple[int, int, int, int], by_delay: Mapping[int, Row]) -> tuple[Peak, ...]:
    """Return the highest rates of the same packet size and threads to choose from, that of the same configuration without a delay first."""
    free = [row for row in rows if row.delay_ns == 0]
    choices = [
        ("the same configuration without a delay", [row for row in free if row.configuration == configuration]),
        ("this sweep over the delay", list(by_delay.values())),
        ("any burst and reuse", [row for row in free if row.configuration[:2] == configuration[:2]]),
    ]
    best = ((what, max(of, key=lambda row: row.gbps)) for what, of in choices if of)
    return tuple(Peak(row.gbps, row.std_gbps, what) for what, row in best)


# --------------------------------------------------------------------------- runs


def imported(files: Sequence[File]) -> Imported:
    """Return what ``files`` hold, one member for each platform. @raises UserError a file is no table of pktgen sweeps"""
    of: dict[str, list[Row]] = defaultdict(list)
    sources: dict[str, list[Path]] = defaultdict(list)
    for file in files:
        for row in parse(file.text(), file.path, file.platform):
            of[row.platform].append(row)
            if file.path not in sources[row.platform]:
                sources[row.platform].append(file.path)
    rows = [row for found in of.values() for row in found]
    plan = Plan.model_validate({
        "study": "headroom", "plan": "imported", "summary": "measured elsewhere", "backends": [_BACKEND],
        "sizes": [packet_text(max(size, 66)) for size in sorted({row.size for row in rows})], "works": ["spacing"],
        "threads": sorted({row.threads for row in rows}), "bursts": sorted({min(row.burst, 256) for row in rows}),
        "reuse": sorted({row.reuse for row in rows}), "target": list(of),
    })  # fmt: skip
    members = [_member(name, found, sources[name]) for name, found in of.items()]
    notes = [f"{len(rows)} configurations; a table of rates does not say how long a burst takes, so that what is left is an interval over the peaks"]
    return Imported(plan, members, notes)


def _member(platform: str, rows: Sequence[Row], files: Sequence[Path]) -> Member:
    found = findings(rows)
    record = {
        "points": [_point(finding) for finding in found], "quantities": [quantity.record() for quantity in model.QUANTITIES],
        "rounds": [{"number": 0, "started": now_utc(), "elapsed_s": 0.0, "whole": True}],
        "selections": [selection.record() for selection in selections(rows)],
        "links": {_BACKEND: "as the table's authors had it"}, "clock": "", "cpus": 0, "tolerance": TOLERANCE, "imported": True,
        "warnings": [warning for finding in found for warning in _warnings(finding)],
    }  # fmt: skip
    return Member(platform, {}, record, [list(_events(rows, found))], files)


def _parameters(finding: Finding) -> dict[str, str]:
    return {
        "backend": _BACKEND, "size": str(finding.size), "work": "spacing", "rate": finding.rate, "reuse": str(finding.reuse),
        "threads": str(finding.threads), "burst": str(finding.burst),
    }  # fmt: skip


def _id(finding: Finding) -> str:
    what = f"{packet_text(finding.size)}/t{finding.threads}/b{finding.burst}/reuse={finding.reuse}"
    return f"{_BACKEND}/{what}/spacing/{finding.rate.replace('/', 'p')}"


def _point(finding: Finding) -> dict[str, Any]:
    share, least, most = finding.shares
    edge_us = finding.edge.survived_ns / 1e3
    beyond_us = finding.edge.fell_ns / 1e3 if finding.edge.fell_ns is not None else edge_us
    bursts_us = [finding.burst_ns(peak) / 1e3 for peak in finding.peaks]
    per_packet = [s * edge_us * 1e3 / finding.burst for s in (share, least, most)]
    given = {
        model.TAKEN: (100 * (1 - share), 100 * (1 - most), 100 * (1 - least)), model.LEFT: (100 * share, 100 * least, 100 * most),
        model.LEFT_NS: tuple(per_packet), model.DELAY: (edge_us, edge_us, beyond_us), model.BURST: (bursts_us[0], min(bursts_us), max(bursts_us)),
        model.RATE: (finding.edge_gbps,) * 3, model.PEAK_RATE: (finding.peaks[0].gbps, *_ends([peak.gbps for peak in finding.peaks])),
    }  # fmt: skip
    return {"id": _id(finding), "parameters": _parameters(finding), "given": {k: list(v) for k, v in given.items()}, "unavailable": "", "failure": ""}


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _warnings(finding: Finding) -> Iterator[dict[str, str]]:
    _, least, most = finding.shares
    choices = "; ".join(f"{significant(p.gbps)} Gb/s ({p.of}{f', ±{significant(p.std_gbps)}' if p.std_gbps else ''})" for p in finding.peaks)
    yield {"code": "peak-choice", "point": _id(finding), "message": f"{100 * least:.1f} to {100 * most:.1f} % is left, by the peak: {choices}"}
    if finding.edge.is_paced:
        bits = f"{finding.threads} threads with bursts of {finding.burst} packets of {packet_text(finding.size)}"
        spacing, rate = significant(finding.edge.delay_ns / 1e3), significant(finding.wanted_gbps)
        message = f"{bits} every {spacing} us are {rate} Gb/s, whatever the CPU does"
        yield {"code": "pacing-limit", "point": _id(finding), "message": message}
    if finding.edge.first_fall_ns is not None:
        yield {
            "code": "not-monotone",
            "point": _id(finding),
            "message": f"it was below the threshold at {significant(finding.edge.first_fall_ns / 1e3)} us already",
        }


def _events(rows: Sequence[Row], found: Sequence[Finding]) -> Iterator[Event]:
    for finding in found:
        for row in rows:
            if row.configuration == (finding.size, finding.threads, finding.burst, finding.reuse):
                of = {"delay_ns": float(row.delay_ns), "reference_gbps": finding.peaks[0].gbps}
                yield rounds.kept_sample(0, _id(finding), row.gbps, of)
