"""Each library engine against a bare loop over the same library calls, on the same messages and buffers (``benchmarks/bare``).

The engine runs in the operators study's harness. The bare loop runs outside it and reads its own clock (``benchmarks/bareloops.cpp``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.studies.operators.configuration import Configuration

from benchmarks import common
from benchmarks.common import Bench, Claim, Group

LIMIT = 0.97
#: Nanoseconds that the harness may add to a burst where this is more than the limit allows. It adds about 4 around an empty engine (part overhead),
#: and up to 8 around a loop whose end the processor then predicts less well. Codecs work on bursts of one message.
HARNESS_NS = 8
SUFFIX = "-bare"
#: Further rounds for pairs whose interval lies on both sides of the limit.
MORE_ROUNDS = 6
#: Engines of dpubench's own code on a library's buffers, without a library call to compare with.
OWN_CODE = ("plain-mbuf",)
#: Words of the program for an engine that lacks a configuration; a bare loop need not have every size.
LACKS = "does not do this"


def variants(bench: Bench, configuration: Configuration) -> Iterator[dict[str, str]]:
    """Yield the configuration's parameters, and the same with the smallest published size, where an engine's cost per message shows most."""
    yield configuration.params
    parameters = bench.catalog.operator(configuration.operator)["parameters"]
    least = next((p["values"][0] for p in parameters if p["name"] == "size" and p["values"]), None)
    if least is not None and not bench.quick and configuration.params.get("size", least) != least:
        yield configuration.params | {"size": least}


def pairs(bench: Bench) -> tuple[list[Group], dict[tuple[str, str], list[str]], list[str]]:
    """Return groups of an engine and its bare loop, the groups' names by (operator, engine), and library engines without a bare loop."""
    groups, by_engine, libraries = [], defaultdict[tuple[str, str], list[str]](list), dict[tuple[str, str], None]()
    for one in bench.configurations:
        made_of = {e["name"]: e["library"] for e in bench.catalog.operator(one.operator)["engines"]}
        for engine in (e for e in one.candidates if not e.endswith(SUFFIX)):
            if made_of[engine] and engine not in OWN_CODE:
                libraries[one.operator, engine] = None
            if engine + SUFFIX not in one.candidates:
                continue
            for params in variants(bench, one):
                key = f"{one.operator}/{common.label(params)}/{engine}"
                groups.append(common.group(one.operator, params, {key: engine, key + SUFFIX: engine + SUFFIX}, name=key, burst=one.burst))
                by_engine[one.operator, engine].append(key)
    return groups, by_engine, [f"{operator} {engine}" for operator, engine in libraries if (operator, engine) not in by_engine]


def _params_of(key: str) -> str:
    """Return the parameters in a group's name; their values may hold slashes (CRC-32/ISCSI)."""
    return key.split("/", 1)[1].rsplit("/", 1)[0]


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per operator and engine, with its worst configuration."""
    groups, by_engine, alone = pairs(bench)
    cycles = 4 if bench.quick else 12
    carry_out = common.loops(bench, "bareloops", [bench.programs / "engines", bench.programs / "bare"])
    measured = common.measure_with(carry_out, bench, groups, range(bench.rounds), cycles)

    def ratio(key: str) -> Interval:
        return statistics.ratio_interval(common.ratios(measured.rates, key + SUFFIX, key))

    bursts = {g["id"]: g["burst"] for g in groups}

    def limit(key: str) -> float:
        burst_ns = 1e9 * bursts[key] / common.rate(measured.rates, key).value
        return float(min(LIMIT, 1 - HARNESS_NS / burst_ns))

    open_ones = [g for g in groups if math.isfinite(ratio(g["id"]).value) and common.at_least(ratio(g["id"]), limit(g["id"])) == "undecided"]
    if open_ones and not bench.quick:
        common.measure_with(carry_out, bench, open_ones, range(bench.rounds, bench.rounds + MORE_ROUNDS), cycles, measured)

    for (operator, engine), keys in by_engine.items():
        broken = {
            k: reason
            for k in keys
            if (reason := measured.failures.get(k) or measured.failures.get(k + SUFFIX) or measured.failures.get(operator)) and LACKS not in reason
        }
        seen = {k: interval for k in keys if k not in broken and math.isfinite((interval := ratio(k)).value)}
        details = {k: {"ratio": i.value, "low": i.low, "high": i.high, "limit": limit(k)} for k, i in seen.items()}
        claim = f"{operator}: {engine} over its bare loop"
        if broken or not seen:
            key, reason = next(iter(broken.items()), ("", "no window was measured"))
            yield Claim("bare", claim, f"{key} {reason}".strip(), f"at least {LIMIT}", "not run", {"ratios": details, "failures": broken})
            continue
        verdicts = {k: common.at_least(i, limit(k)) for k, i in seen.items()}
        row = common.worst(verdicts.values())
        # Of the configurations that decide the claim, take the one nearest to its limit, or furthest below it.
        least = min((k for k in seen if verdicts[k] == row), key=lambda k: seen[k].value / limit(k))
        where = f", least of {len(seen)}: {_params_of(least)}" if len(seen) > 1 else ""
        yield Claim("bare", claim, common.span(seen[least]) + where, f"at least {limit(least):.3g}", row, {"ratios": details})
    for (operator, engine), reason in bench.excluded.items():
        yield Claim("bare", f"{operator}: {engine} over its bare loop", f"left out: {reason}", f"at least {LIMIT}", "")
    if alone:
        yield Claim("bare", "library engines without a bare loop", ", ".join(alone), "none", "not run", {"engines": alone})
