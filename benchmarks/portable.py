"""Each portable engine beside the best library. More than ten times slower needs a reason: the engine's summary must contain *slower*."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval

from benchmarks import common
from benchmarks.bare import SUFFIX
from benchmarks.common import Bench, Claim

PORTABLE = "portable"
LIMIT = 0.1
REASON = "slower"


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per operator, with its worst configuration."""
    groups, summaries, params_of = [], dict[str, str](), dict[str, str]()
    for one in bench.configurations:
        engines = [e for e in one.candidates if not e.endswith(SUFFIX)]
        if PORTABLE in engines and len(engines) > 1:
            points = {f"{one.id}/{e}": e for e in engines}
            params_of[one.id] = common.label(one.params)
            groups.append(common.group(one.operator, one.params, points, name=one.id, burst=one.burst, footprint=one.footprint))
            engine = next(e for e in bench.catalog.operator(one.operator)["engines"] if e["name"] == PORTABLE)
            summaries[one.operator] = engine["summary"]
    measured = common.measure(bench, groups, range(3 if bench.quick else bench.rounds), 2 if bench.quick else 3)

    for operator_name, summary in summaries.items():
        ratios: dict[str, tuple[str, Interval]] = {}
        for own_group in (g for g in groups if g["operator"] == operator_name):
            libraries = [p for p in own_group["points"] if p["engine"] != PORTABLE and p["id"] in measured.rates]
            own = f"{own_group['id']}/{PORTABLE}"
            if libraries and own in measured.rates:
                best = max(libraries, key=lambda p: common.rate(measured.rates, p["id"]).value)
                ratio = statistics.ratio_interval(common.ratios(measured.rates, best["id"], own))
                if math.isfinite(ratio.value):
                    ratios[own_group["id"]] = (best["engine"], ratio)
        claim = f"{operator_name}: portable over the best library"
        if not ratios:
            reason = next((r for p, r in measured.failures.items() if p.split("/")[0] == operator_name), "no window was measured")
            yield Claim("portable", claim, reason, "", "not run", {"failures": measured.failures})
            continue
        key, (engine, least) = min(ratios.items(), key=lambda item: item[1][1].value)
        stated = REASON in summary
        verdict = "pass" if stated else common.at_least(least, LIMIT)
        text = f"{least.value:.3g} ({least.low:.3g} to {least.high:.3g}) of {engine}"
        if len(ratios) > 1:
            text += f", least of {len(ratios)}: {params_of[key]}"
        limit = f"at least {LIMIT:g}, or a stated reason" + (" (stated)" if stated and least.high < LIMIT else "")
        details = {"ratios": {k: {"of": e, "ratio": i.value, "low": i.low, "high": i.high} for k, (e, i) in ratios.items()}, "summary": summary}
        yield Claim("portable", claim, text, limit, verdict, details)
