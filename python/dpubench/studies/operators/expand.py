"""Expands a plan of study ``operators`` to configurations, with the catalog of the native program."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from dpubench.catalog import Catalog, inputs_of
from dpubench.errors import PlanError, Problem, nearest
from dpubench.plans.load import Where
from dpubench.plans.quantities import format_bytes, size_bytes
from dpubench.studies.operators.configuration import Configuration, Expansion, engine_word
from dpubench.studies.operators.plan import Plan

SIZE = "size"
SOFTWARE_DEVICE = "a software driver of a device API: measure it with plan device, or name it with --engine"
NO_DEVICE = "is neither a device engine nor the reference engine"


def expand(plan: Plan, catalog: Catalog, cpus: int, where: Where) -> Expansion:
    """Return the configurations that ``plan`` declares. @raises PlanError with every problem that only the catalog shows."""
    problems = list(check(plan, catalog, where))
    if problems:
        raise PlanError(where.source, problems)
    operators = catalog.operators if plan.operators == "all" else [catalog.operator(n) for n in dict.fromkeys(plan.operators)]
    expansion = Expansion([], plan.engines == "best-and-reference", left_out=plan.omissions)
    seen: set[str] = set()
    reasons: dict[str, None] = {}
    sets = _existing(plan, catalog, [(o, p, e) for o in operators for p, e in _parameter_sets(plan, o)], where, expansion)
    for operator in operators:
        for params, supported in sets.get(operator["name"], []):
            for threads, burst, footprint in itertools.product(_threads(plan, cpus), _bursts(plan, operator), dict.fromkeys(plan.footprints)):
                configuration = _configuration(plan, operator, params, supported, threads, burst, footprint, reasons, expansion)
                if plan.engines == "devices" and configuration.candidates == [operator["reference_engine"]]:
                    continue  # no device engine does this configuration, so the reference has nothing to be compared with
                if configuration.id not in seen and (configuration.candidates or configuration.not_measured):
                    seen.add(configuration.id)
                    expansion.configurations.append(configuration)
    if plan.params:
        unused = {name for name in plan.params if not any(name == p["name"] for o in operators for p in o["parameters"])}
        if unused:
            raise PlanError(where.source, [where.problem(f"no chosen operator has the parameter '{n}'", "params", n) for n in sorted(unused)])
    expansion.left_out += reasons
    return expansion


def check(plan: Plan, catalog: Catalog, where: Where) -> Iterable[Problem]:
    """Yield the problems that only the catalog shows: unknown names, values outside a parameter's range."""
    known = catalog.names
    if plan.operators != "all":
        for i, name in enumerate(plan.operators):
            if name not in known:
                yield where.problem(f"unknown operator '{name}'{nearest(name, known)}", "operators", i)
    chosen = [o for o in catalog.operators if plan.operators == "all" or o["name"] in plan.operators]
    if isinstance(plan.engines, list):
        engines = list(dict.fromkeys(e["name"] for o in chosen for e in o["engines"]))
        for i, name in enumerate(plan.engines):
            if chosen and name not in engines:
                yield where.problem(f"unknown engine '{name}'{nearest(name, engines)}", "engines", i)
    asynchronous = [e["name"] for o in chosen for e in o["engines"] if e.get("in_flight") and _may_take_part(plan, e)]
    if plan.in_flight != "default" and chosen and not asynchronous:
        yield where.problem("none of the chosen engines keeps jobs in flight: remove this, or choose device engines", "in_flight")
    if isinstance(plan.sizes, list):
        sized = [(o, p) for o in chosen for p in o["parameters"] if p["name"] == SIZE]
        if chosen and not sized:
            yield where.problem("none of the chosen operators has a size: remove this", "sizes")
        for i, size in enumerate(plan.sizes):
            fitting = [o for o, p in sized if p["min"] <= size <= p["max"]]
            if sized and not fitting:
                low, high = min(p["min"] for _, p in sized), max(p["max"] for _, p in sized)
                yield where.problem(
                    f"{format_bytes(size)} is outside the sizes of every chosen operator: {format_bytes(low)} to {format_bytes(high)}", "sizes", i
                )
    for key, values in plan.params.items():
        owners = [p for o in chosen for p in o["parameters"] if p["name"] == key]
        if chosen and not owners:
            yield where.problem(
                f"unknown parameter '{key}'{nearest(key, dict.fromkeys(p['name'] for o in chosen for p in o['parameters']))}", "params", key
            )
            continue
        for i, value in enumerate(values):
            faults = [fault for p in owners if (fault := _value_fault(p, value))]
            if owners and len(faults) == len(owners):
                yield where.problem(faults[0], "params", key, i)
    for i, rule in enumerate(plan.exclude):
        if rule.operator not in known and plan.plan == "custom":
            yield where.problem(f"unknown operator '{rule.operator}'{nearest(rule.operator, known)}", "exclude", i, "operator")


def _may_take_part(plan: Plan, engine: dict[str, Any]) -> bool:
    if isinstance(plan.engines, list):
        return engine["name"] in plan.engines
    return not (plan.engines == "best-and-reference" and engine.get("software_device", False))


def _value_fault(parameter: dict[str, Any], value: str) -> str:
    if not parameter["unit"]:
        return "" if value in parameter["values"] else f"unknown {parameter['name']} '{value}'{nearest(value, parameter['values'])}"
    try:
        number = _number(parameter, value)
    except ValueError as error:
        return str(error)
    if not parameter["min"] <= number <= parameter["max"]:
        return f"{parameter['name']} must lie between {parameter['min']} and {parameter['max']}, not {number}"
    return ""


def _number(parameter: dict[str, Any], value: str) -> int:
    if parameter["unit"] == "B":
        return size_bytes(value)
    if not value.isascii() or not value.isdigit():
        raise ValueError(f"'{value}' is not a whole number: {parameter['name']} lies between {parameter['min']} and {parameter['max']}")
    return int(value)


def _written(parameter: dict[str, Any], value: str) -> str:
    return str(_number(parameter, value)) if parameter["unit"] else value


def _parameter_sets(plan: Plan, operator: dict[str, Any]) -> Iterable[tuple[dict[str, str], dict[str, str]]]:
    """Yield the parameters of each configuration of ``operator`` under ``plan``, with each engine's reason for not supporting them ("" if it does).

    The catalog lists the valid combinations of modes. If the plan gives a value for a mode, the value selects among them. If it gives a value for
    another parameter, the value replaces the default.
    """
    parameters = {p["name"]: p for p in operator["parameters"]}
    choices: dict[str, list[str]] = {}
    for name, values in plan.params.items():
        if name in parameters:
            choices[name] = [_written(parameters[name], v) for v in values if not _value_fault(parameters[name], v)]
    if SIZE in parameters and SIZE not in choices and plan.sizes != "default":
        size = parameters[SIZE]
        wanted = [str(s) for s in plan.sizes] if isinstance(plan.sizes, list) else list(size["values"])
        choices[SIZE] = [s for s in wanted if size["min"] <= int(s) <= size["max"]]
    seen: set[tuple[tuple[str, str], ...]] = set()
    for entry in operator["configurations"]:
        base = dict(entry["params"])
        if any(parameters[n]["is_mode"] and base.get(n) not in values for n, values in choices.items()):
            continue
        free = {n: values for n, values in choices.items() if not parameters[n]["is_mode"] and n in base}
        for combination in itertools.product(*free.values()):
            params = base | dict(zip(free, combination, strict=True))
            key = tuple(sorted(params.items()))
            if key not in seen:
                seen.add(key)
                yield params, dict(entry["engines"])


def _existing(
    plan: Plan, catalog: Catalog, asked: list[tuple[dict[str, Any], dict[str, str], dict[str, str]]], where: Where, expansion: Expansion
) -> dict[str, list[tuple[dict[str, str], dict[str, str]]]]:
    """Return, by operator, the entries of ``asked`` (operator, parameters, engines' reasons) that exist.

    The catalog lists combinations of modes with the other parameters at their defaults. Only the program knows whether other combinations exist.
    Combinations that do not exist go to ``expansion.left_out``. If none exists, the plan is at fault.

    @raises PlanError
    """
    listed = {(o["name"], tuple(sorted(c["params"].items()))) for o in catalog.operators for c in o["configurations"]}
    news = [i for i, (o, p, _) in enumerate(asked) if (o["name"], tuple(sorted(p.items()))) not in listed]
    answers = dict(zip(news, catalog.check([(asked[i][0]["name"], asked[i][1]) for i in news]), strict=True))
    found: dict[str, list[tuple[dict[str, str], dict[str, str]]]] = {o["name"]: [] for o, _, _ in asked}
    left_out: dict[str, list[str]] = {}
    for i, (operator, params, supported) in enumerate(asked):
        invalid, engines = answers.get(i, ("", {}))
        if invalid:
            left_out.setdefault(invalid, []).append(",".join(f"{k}={params[k]}" for k in sorted(params)))
        else:
            found[operator["name"]].append((params, supported | engines))
    if left_out and not any(found.values()):
        key = "params" if plan.params else "sizes"
        raise PlanError(where.source, [where.problem(reason, key) for reason in left_out])
    for reason, combinations in left_out.items():
        more = f" and {len(combinations) - 1} more" if len(combinations) > 1 else ""
        expansion.left_out.append(f"{reason} ({combinations[0]}{more})")
    return found


def _threads(plan: Plan, cpus: int) -> list[int]:
    return sorted({cpus if t == "all" else int(t) for t in plan.threads})


def _bursts(plan: Plan, operator: dict[str, Any]) -> list[int]:
    return [int(operator["default_burst"])] if plan.bursts == "default" else sorted({int(b) for b in plan.bursts})


def _configuration(
    plan: Plan,
    operator: dict[str, Any],
    params: dict[str, str],
    supported: dict[str, str],
    threads: int,
    burst: int,
    footprint: str,
    reasons: dict[str, None],
    expansion: Expansion,
) -> Configuration:
    reads = frozenset(inputs_of(operator, params))
    configuration = Configuration(operator["name"], params, threads, burst, footprint, operator["reference_engine"], [], inputs=reads)
    for engine in operator["engines"]:
        name = engine["name"]
        named = isinstance(plan.engines, list) and name in plan.engines
        if isinstance(plan.engines, list) and not named:
            continue
        reason = engine["reason"] if not engine["available"] else supported.get(name, "")
        excluded = next((x for x in plan.exclude if _excludes(x, operator["name"], name, params)), None)
        if excluded is not None and not named:
            configuration.not_measured[name] = excluded.reason
            reasons[f"{operator['name']} on {name}: {excluded.reason}"] = None
        elif plan.engines == "devices" and not engine.get("in_flight") and name != operator["reference_engine"]:
            configuration.not_measured[name] = NO_DEVICE
        elif not _may_take_part(plan, engine):
            configuration.not_measured[name] = SOFTWARE_DEVICE
            reasons[f"{name}: {SOFTWARE_DEVICE}"] = None
        elif reason:
            configuration.not_measured[name] = reason
            # It is no failure that an engine does not do one configuration. It is a failure that a named engine cannot run at all.
            if named and not engine["available"]:
                expansion.unavailable.append((configuration, name, reason))
        else:
            configuration.candidates += _words(plan, engine, burst, configuration, reasons)
    return configuration


def _words(plan: Plan, engine: dict[str, Any], burst: int, configuration: Configuration, reasons: dict[str, None]) -> list[str]:
    """Return the points of an engine in a configuration: one, or one per number of jobs in flight that is not below ``burst``."""
    if plan.in_flight == "default" or not engine.get("in_flight"):
        return [str(engine["name"])]
    possible = [jobs for jobs in sorted(set(plan.in_flight)) if jobs >= burst]
    if len(possible) < len(set(plan.in_flight)):
        few = ", ".join(str(jobs) for jobs in sorted(set(plan.in_flight)) if jobs < burst)
        reason = f"{few} jobs in flight with bursts of {burst}: too few, a burst is submitted whole"
        reasons[reason] = None
        if not possible:
            configuration.not_measured[engine["name"]] = reason
    return [engine_word(engine["name"], jobs) for jobs in possible]


def _excludes(rule: Any, operator: str, engine: str, params: dict[str, str]) -> bool:
    return bool(
        rule.operator == operator and (rule.engine is None or rule.engine == engine) and all(params.get(k) == v for k, v in rule.params.items())
    )
