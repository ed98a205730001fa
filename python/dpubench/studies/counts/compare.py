"""Comparison of two runs of study ``counts``, count by count.

Exact counts are compared exactly. Counts that differ from one to the next are compared by a statistical test, and only beyond their scatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison, Interval, Verdict
from dpubench.errors import UserError
from dpubench.studies import Part
from dpubench.studies.counts.model import PointSummary, RunSummary
from dpubench.studies.counts.wording import repeats_text

#: A change in a count that does not repeat itself has to exceed its spread by this factor.
SPREADS: Final = 3.0
WHAT: Final = "new instructions per operation against old"


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    if best:
        raise UserError("--best-engine: study counts compares each engine with itself: remove the option")
    if new is None:
        raise UserError(f"{old[0].path}: holds only one count of each point: name a second run to compare it with")
    return [Part("", compare(old[0], new[0], effect), what=WHAT)]


def compare(old: RunSummary, new: RunSummary, effect: float) -> list[Comparison]:
    """Return a row for every point of ``old`` and its partner in ``new``. Ratios are of instructions per operation: above one is more work."""
    partners = {p.id: p for p in new.points}
    apart = _apart(old, new)
    rows: list[Comparison | _Loose] = []
    for point in old.points:
        partner = partners.pop(point.id, None)
        if partner is None:
            rows.append(Comparison(point.id, point.id, None, None, "not comparable", None, "this point is not in the new run"))
        elif reason := apart or _unlike(point, partner):
            rows.append(Comparison(point.id, point.id, partner.id, None, "not comparable", None, reason))
        elif point.exact and partner.exact:
            rows.append(_exact(point, partner, effect))
            if point.cycles and partner.cycles:
                rows.append(_cycles(point, partner, old.model, new.model, effect))
        else:
            rows.append(_loose(point, partner))
    rows += [Comparison(p.id, None, p.id, None, "not comparable", None, "this point is not in the old run") for p in partners.values()]
    loose = [row for row in rows if isinstance(row, _Loose)]
    adjusted = iter(statistics.benjamini_hochberg([row.difference.p_value for row in loose]))
    return [row.judged(float(next(adjusted)), effect) if isinstance(row, _Loose) else row for row in rows]


def _apart(old: RunSummary, new: RunSummary) -> str:
    """Return why the two runs have no comparable points, or an empty string."""
    if old.architecture != new.architecture:
        return f"the architecture differs: {old.architecture} before, {new.architecture} now"
    if (old.cpu, _release(old.emulator)) != (new.cpu, _release(new.emulator)):
        return f"counted under {old.emulator} (-cpu {old.cpu}) before, {new.emulator} (-cpu {new.cpu}) now: the code may depend on the processor"
    return ""


def _release(emulator: str) -> str:
    """Return the release: ``7.2`` for ``qemu-x86_64 version 7.2.22 (Debian ...)``. What QEMU emulates does not change within a release."""
    return ".".join(emulator.partition("version ")[2].split(" ")[0].split(".")[:2])


def _unlike(old: PointSummary, new: PointSummary) -> str:
    """Return why two points cannot be compared (different work, or one has no count), or an empty string."""
    for point, which in ((old, "old"), (new, "new")):
        if not point.there:
            return f"{which}: {point.failure}"
    if old.operator_version != new.operator_version:
        return f"the operator's version differs ({old.operator_version}, {new.operator_version}): the same parameters mean different work"
    if old.input_sha256 != new.input_sha256:
        return f"the input differs ({old.input_name} {old.input_sha256[:12]}, {new.input_name} {new.input_sha256[:12]})"
    if old.operations != new.operations:
        return f"{old.operations} operations were counted before, {new.operations} now"
    return ""


def _note(old: PointSummary, new: PointSummary) -> str:
    """Return in words whether the instruction set or the library of the code changed; empty if neither did."""
    told = [(key, str(old.path.get(key, "")), str(new.path.get(key, ""))) for key in ("isa", "library")]
    return "; ".join(f"{key}: {before or 'none'} before, {after or 'none'} now" for key, before, after in told if before != after)


def _exact(old: PointSummary, new: PointSummary, effect: float) -> Comparison:
    ratio = new.counts[0] / old.counts[0]
    verdict: Verdict = "more" if ratio > 1 + effect else "fewer" if ratio < 1 / (1 + effect) else "same"
    return Comparison(new.id, old.id, new.id, Interval(ratio, math.nan, math.nan), verdict, None, _note(old, new))


def _cycles(old: PointSummary, new: PointSummary, before: str, now: str, effect: float) -> Comparison:
    """Return the row for the modelled cycles, compared exactly: the same trace on the same model always needs the same number."""
    name = f"{new.id}, modelled cycles of {now}"
    if before != now or not (old.cycles and new.cycles):
        return Comparison(name, old.id, new.id, None, "not comparable", None, f"the processor model differs: {before} before, {now} now")
    ratio = new.cycles / old.cycles
    verdict: Verdict = "more" if ratio > 1 + effect else "fewer" if ratio < 1 / (1 + effect) else "same"
    return Comparison(name, old.id, new.id, Interval(ratio, math.nan, math.nan), verdict, None, "")


class _Loose:
    """A pair of points with the test of their difference. At least one of the two counts does not repeat itself."""

    def __init__(self, old: PointSummary, new: PointSummary, difference: statistics.Difference) -> None:
        self.old, self.new, self.difference = old, new, difference

    def judged(self, adjusted_p: float, effect: float) -> Comparison:
        limit = max(effect, SPREADS * max(self.old.spread, self.new.spread))
        found = statistics.verdict(self.difference, adjusted_p, limit)
        words: dict[Verdict, Verdict] = {"faster": "more", "slower": "fewer"}  # a higher count is not a gain
        worse = self.new if not self.new.exact else self.old
        note = f"the count {repeats_text(worse)}: only a change above {100 * limit:.2g} % counts"
        return Comparison(
            self.new.id, self.old.id, self.new.id, self.difference.interval, words.get(found, found), adjusted_p,
            "; ".join(filter(None, [note, _note(self.old, self.new)])),
        )  # fmt: skip


def _loose(old: PointSummary, new: PointSummary) -> Comparison | _Loose:
    difference = statistics.unpaired_difference(np.log(old.counts), np.log(new.counts))
    if difference is None:
        return Comparison(new.id, old.id, new.id, None, "undecided", None, "counted once: count again to see whether the count repeats")
    return _Loose(old, new, difference)
