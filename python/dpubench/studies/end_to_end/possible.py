"""Removes the impossible parts of a plan before anything is started for them. The server itself says whether it can do them.

If the plan names something (a value of a parameter, an engine) that no combination can have, that is a problem of the plan. If it is impossible in
some combinations only, such as an engine on one of several ports, these are left out with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dpubench.errors import NothingRan, PlanError, Problem
from dpubench.plans.load import Where
from dpubench.studies.end_to_end.catalog import Verdict
from dpubench.studies.end_to_end.expand import Configuration, Expansion, max_frame
from dpubench.studies.end_to_end.plan import Plan

#: :func:`dpubench.studies.end_to_end.catalog.check`, bound to a target.
Ask = Callable[[Sequence[Mapping[str, Any]]], list[Verdict]]


def settle(plan: Plan, expansion: Expansion, where: Where, ask: Ask) -> None:
    """Remove the impossible configurations from ``expansion``, and add the reasons to its ``left_out``.

    Raises:
        PlanError: the plan names values or engines that no combination can have; the error lists all of them.
        NothingRan: only the null workload would be left, but the plan asks for more.
    """
    verdicts = _verdicts(plan, expansion.configurations, ask)
    impossible = [c for c in expansion.configurations if not verdicts[c.id].is_possible]
    if not impossible:
        return
    possible = [c for c in expansion.configurations if verdicts[c.id].is_possible]
    if problems := list(dict.fromkeys(_problems(plan, impossible, possible, verdicts, where, ask))):
        raise PlanError(where.source, problems)
    reasons = [f"{c.id}: {_reason(verdicts[c.id], c)}" for c in impossible]
    others = [c for c in possible if not c.is_null]
    if not others and any(not c.is_null for c in impossible):
        raise NothingRan(f"nothing that was asked for is possible: {next(r for r, c in zip(reasons, impossible, strict=True) if not c.is_null)}")
    links = {c.link for c in others}
    expansion.configurations = [c for c in possible if not c.is_null or not others or c.link in links]
    expansion.left_out = list(dict.fromkeys([*expansion.left_out, *reasons]))
    for configuration in expansion.configurations:
        rivals = {tuple(sorted(c.engines.items())) for c in expansion.configurations if c.rival == configuration.rival}
        configuration.candidate = configuration.candidate and len(rivals) > 1


def _verdicts(plan: Plan, configurations: Sequence[Configuration], ask: Ask) -> dict[str, Verdict]:
    """Return the verdict on each configuration by its id. Equal questions are asked once."""
    asked = {c.id: _combination(plan, c, c.params) for c in configurations}
    questions = {json.dumps(one, sort_keys=True): one for one in asked.values()}
    answers = dict(zip(questions, ask(list(questions.values())), strict=True))
    return {name: answers[json.dumps(one, sort_keys=True)] for name, one in asked.items()}


def _combination(plan: Plan, configuration: Configuration, params: Mapping[str, str]) -> dict[str, Any]:
    return {
        "workload": configuration.workload, "params": dict(params), "engines": configuration.engines, "port": configuration.port,
        "cpus": configuration.server_cpus, "max_frame": max_frame(plan, configuration),
    }  # fmt: skip


def _reason(verdict: Verdict, configuration: Configuration) -> str:
    if verdict.invalid:
        return verdict.invalid
    faults: dict[str, list[str]] = {}
    for stage, why in verdict.engines.items():
        if why:
            faults.setdefault(why, []).append(f"engine {configuration.engines[stage]} of stage {stage}" if stage in configuration.engines else stage)
    return "; ".join(f"{', '.join(which)}: {why}" for why, which in faults.items())


def _problems(
    plan: Plan, impossible: Sequence[Configuration], possible: Sequence[Configuration], verdicts: Mapping[str, Verdict], where: Where, ask: Ask
) -> Iterator[Problem]:
    for configuration in impossible:
        verdict = verdicts[configuration.id]
        if verdict.invalid:
            yield from _problems_of_params(plan, configuration, possible, verdict, where, ask)
            continue
        alike = [c for c in possible if c.workload == configuration.workload]
        for stage, why in verdict.engines.items():
            engine = configuration.engines.get(stage, "")
            if why and engine in configuration.named and not any(c.engines.get(stage) == engine for c in alike):
                text = f"workload {configuration.workload}, engine {engine} of stage {stage}, port {configuration.port}: {why}"
                yield where.problem(text, *_place_of_engine(plan, configuration.workload, stage, engine))
        for name, place in _places_of_params(plan, configuration):
            value = configuration.params[name]
            if alike and not any(c.params.get(name) == value for c in alike):
                yield where.problem(f"workload {configuration.workload}, {name}={value}: {_reason(verdict, configuration)}", *place)


def _problems_of_params(
    plan: Plan, configuration: Configuration, possible: Sequence[Configuration], verdict: Verdict, where: Where, ask: Ask
) -> Iterator[Problem]:
    """Yield a problem for each value that is invalid by itself; if there is none, for parameters that never go together."""
    places = dict(_places_of_params(plan, configuration))
    alone = ask([_combination(plan, configuration, {name: configuration.params[name]}) for name in places])
    wrong = [(place, found.invalid) for place, found in zip(places.values(), alone, strict=True) if found.invalid]
    for place, why in wrong:
        yield where.problem(why, *place)
    if not wrong and not any(c.workload == configuration.workload for c in possible):
        yield where.problem(verdict.invalid, *next(iter(places.values()), ("workloads",)))


def _places_of_params(plan: Plan, configuration: Configuration) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield (parameter, its place in the plan) for each parameter of ``configuration`` that the plan gives."""
    for name in plan.params:
        if name in configuration.params:
            yield name, ("params", name)
    for i, workload in enumerate(plan.workloads):
        for name in workload.params:
            if workload.name == configuration.workload and name in configuration.params:
                yield name, ("workloads", i, "params", name)


def _place_of_engine(plan: Plan, workload: str, stage: str, engine: str) -> tuple[str | int, ...]:
    for i, given in enumerate(plan.workloads):
        if given.name == workload and engine in given.engines.get(stage, ()):
            return ("workloads", i, "engines", stage)
    words = plan.engines if isinstance(plan.engines, list) else []
    found = [i for i, word in enumerate(words) if word in (engine, f"{stage}={engine}")]
    return ("engines", found[0]) if found else ("engines",)
