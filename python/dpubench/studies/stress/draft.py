"""What a plan of study ``stress`` comes to on each of its targets."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import targets
from dpubench.errors import NothingRan, OtherThingError, PlanError, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.quantities import spoken
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo, anyway
from dpubench.run.session import Draft as AnyDraft
from dpubench.run.work import Budget
from dpubench.studies import Request
from dpubench.studies.measured.draft import MeasuredDraft
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.studies.stress import listing
from dpubench.studies.stress.execute import Run
from dpubench.studies.stress.listing import NAME, Listing
from dpubench.studies.stress.model import QUANTITIES
from dpubench.studies.stress.plan import ALL, Plan
from dpubench.studies.stress.points import Point, described, point
from dpubench.targets import Target
from dpubench.workers import tool
from dpubench.workers.process import StopRequest
from dpubench.workers.tool import Present

WRITER: Final = FiguresWriter


class Draft(MeasuredDraft):
    """A plan on one target, or an interrupted run there."""

    plan: Plan

    def __init__(self, plan: Plan, target: Target, present: Present, known: Listing, points: Sequence[Point]) -> None:
        info = TargetInfo(target.name, target.spec, target.label, target.times_mean_nothing)
        super().__init__(plan, info, present.hello, points, QUANTITIES)
        self._target, self._present, self._known = target, present, known

    @property
    def instances(self) -> int:
        """Return the number of instances of each stressor: one for every CPU that is online, or that a restricted target may use."""
        return max(1, min(self._present.online_cpus, len(self._present.usable_cpus) or self._present.online_cpus))

    def lines(self) -> list[str]:
        measured = [p for p in self.points if not p.unavailable]
        seconds = sum(p.seconds for p in measured if isinstance(p, Point))
        how = "adaptive" if self.plan.adaptive else f"{spoken(seconds)} and starting times for each repetition of all"
        return [f"{_stress_ng(self._told())}; {how}", *super().lines()]

    def described(self) -> dict[str, Any]:
        return super().described() | {"stress_ng": self._told()}

    def record(self, head: Head) -> dict[str, Any]:
        return super().record(head) | {"stress_ng": self._told()}

    def _told(self) -> dict[str, Any]:
        classes = {name: self._known.classes.get(name, []) for name in dict.fromkeys(p.parameters["stressor"] for p in self.points)}
        as_root = [name for name in self._known.need_root if name in classes]
        return described(self._known.version, self.instances, classes, as_root)

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        super().check_same(path, record)
        began = record["stress_ng"]
        needed = [name for name in self._known.need_root if name in began["classes"]]
        before, now = _stress_ng(began), _stress_ng(self._told() | {"as_root": needed})
        if before != now:
            raise OtherThingError(f"{path}: began with {before}, and here is {now}; one figure cannot be of both: {anyway(path, record)}")

    def work(
        self, writer: FiguresWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget
    ) -> Run:  # fmt: skip
        named = [name for name in self._known.pathological if name in self.plan.stressors]
        return Run(writer, self.plan, self.quantities, record, stop, display, budget, self._target, self.instances, named)


def _stress_ng(told: Mapping[str, Any]) -> str:
    """Return version, instances and rights of stress-ng in words; ``told`` is what ``run.json`` says of it."""
    root = f"{', '.join(told['as_root'])} as root" if told["as_root"] else "none as root"
    return f"stress-ng {told['version']}, {told['instances']} instances of each stressor, {root}"


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[AnyDraft]:
    """Return what ``plan`` comes to on each of its targets. @raises UserError"""
    there = [_opened(word, opened) for word in plan.target]
    if twice := [t.name for i, (t, _, _) in enumerate(there) if any(t.name == other.name for other, _, _ in there[:i])]:
        raise UserError(f"--target {twice[0]}: is given twice")
    if plan.reference and plan.reference not in [target.name for target, _, _ in there]:
        known = ", ".join(target.name for target, _, _ in there)
        raise PlanError(where.source, [where.problem(f"'{plan.reference}' is none of the run's targets ({known})", "reference")])
    versions = {target.name: known.version for target, _, known in there}
    if len(set(versions.values())) > 1 and not plan.mixed_versions:
        told = ", ".join(f"{version or 'unknown'} on {name}" for name, version in versions.items())
        raise UserError(
            f"the targets have different versions of stress-ng ({told}), whose stressors do different work: install the same version everywhere, or "
            "compare them all the same, marked, with --set mixed_versions=true"
        )
    names = _chosen(plan, where, [known for _, _, known in there])
    return [Draft(_plan_for(plan, target), target, present, known, _points(plan, names, known)) for target, present, known in there]


def _plan_for(plan: Plan, target: Target) -> Plan:
    return plan.model_copy(update={"target": [target.name]})


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. Its target stays open until ``opened`` closes. @raises UserError"""
    target, present, known = _opened(str(record["target"]), opened)
    return Draft(plan, target, present, known, [])


def _opened(word: str, opened: contextlib.ExitStack) -> tuple[Target, Present, Listing]:
    """Return a target, open until ``opened`` closes, with what is there. @raises UserError; NothingRan it has no stress-ng"""
    target = targets.find(word)
    if reason := target.unavailable():
        raise UserError(f"--target {target.name}: {reason}")
    opened.callback(target.close)
    tool.expected(target)
    target.open()
    present = tool.present(target)
    if lack := present.lack(NAME):
        raise NothingRan(f"target {target.name}: {lack}")
    return target, present, listing.read(target, present.tools[NAME].version, root=present.root)


def _chosen(plan: Plan, where: Where, known: Sequence[Listing]) -> list[str]:
    """Return the stressors that the plan asks for, sorted. @raises PlanError with the nearest name for one that no target has"""
    names = sorted({name for of in known for name in of.names})
    classes = sorted({name for of in known for name in of.class_names})
    problems = [
        *(where.problem(f"stress-ng has no stressor '{n}'{nearest(n, names)}", key) for key in ("stressors", "exclude")
          for n in getattr(plan, key) if n not in names and not (key == "stressors" and n == ALL)),
        *(where.problem(f"stress-ng has no class '{n}'{nearest(n, classes)}", "classes") for n in plan.classes if n not in classes),
    ]  # fmt: skip
    if problems:
        raise PlanError(where.source, problems)
    pathological = {name for of in known for name in of.pathological}
    asked = [name for name in names if name in plan.stressors or (ALL in plan.stressors and name not in pathological)]
    found = [
        name for name in asked
        if name not in plan.exclude and (not plan.classes or any(c in plan.classes for of in known for c in of.classes.get(name, [])))
    ]  # fmt: skip
    if not found:
        raise UserError("the plan leaves no stressor to run: choose other classes or stressors, or exclude fewer")
    return found


def _points(plan: Plan, names: Sequence[str], known: Listing) -> list[Point]:
    def why_not(name: str) -> str:
        if name not in known.names:
            return f"stress-ng {known.version} there has no such stressor"
        return known.refused.get(name, "")

    return [point(name, seconds, why_not(name)) for name in names for seconds in plan.duration]
