"""What a plan of study ``headroom`` comes to on its targets, and what an interrupted run needs to continue."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpubench import network, programs, targets
from dpubench.errors import PlanError, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo
from dpubench.run.work import Budget
from dpubench.studies import Request
from dpubench.studies.headroom import fitting, model, points
from dpubench.studies.headroom.execute import Run
from dpubench.studies.headroom.plan import Plan
from dpubench.studies.headroom.rounds import SamplesWriter
from dpubench.studies.headroom.session import Setting, device_cpus, ends_cpus
from dpubench.studies.measured.draft import MeasuredDraft
from dpubench.studies.measured.model import Point
from dpubench.targets import Target, vm
from dpubench.workers.ask import greeting
from dpubench.workers.checks import parse_headroom_event
from dpubench.workers.process import StopRequest

WRITER: Final = SamplesWriter


class Draft(MeasuredDraft):
    """A plan on one target, or an interrupted run there."""

    writer = SamplesWriter
    plan: Plan

    def __init__(
        self, plan: Plan, place: Target, peer: Target | None, hello: Mapping[str, Any], found: list[Point], operators: Mapping[str, Any]
    ) -> None:  # fmt: skip
        """Describe a run of ``found`` on ``place``, with the sink on ``peer``; ``hello`` is the greeting of the program there.

        ``operators`` are those to set against what is left, as ``run.json`` keeps them; empty: none.
        """
        emulated = next((target for target in (place, peer) if target is not None and target.times_mean_nothing), None)
        label = emulated.label if emulated is not None else place.label
        super().__init__(plan, TargetInfo(place.name, place.spec, label, emulated is not None), hello, found, model.QUANTITIES)
        self._place, self._peer, self._operators = place, peer, operators

    @property
    def inputs(self) -> set[str]:
        return {kind for entry in self._operators.get("candidates", []) for kind in entry["inputs"]}

    def lines(self) -> list[str]:
        cpus = len(self._place.cpus())
        return [
            *super().lines(),
            f"step 1 tries {_list(self.plan.threads)} threads (this target has {cpus} CPUs) and bursts of {_list(self.plan.bursts)}",
            *(["embedded: " + self._chain()] if "embedded" in self.plan.placement and (cpus > 1 or self._peer is not None) else []),
        ]

    def _chain(self) -> str:
        """Return on which CPUs sender, device and sink run where packets cross the target."""
        sender, sink = ends_cpus(self._place, self._peer)
        ends = (self._peer or self._place).name
        return (
            f"the device has {_cpus(device_cpus(self._place, self._peer))} of {self._place.name}, "
            f"the sender {_cpus(sender)} and the sink {_cpus(sink)} of {ends}"
        )

    def record(self, head: Head) -> dict[str, Any]:
        return super().record(head) | {
            "selections": [], "links": {}, "clock": "", "cpus": len(self._place.cpus()), "tolerance": self.plan.tolerance, "imported": False,
            "operators": dict(self._operators),
        }  # fmt: skip

    def work(self, writer: SamplesWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        for what in network.sweep():
            display.note(f"removed leftovers of a killed run: {what}")
        plan = self.plan
        with stop.at_once():
            inputs = {kind: self._place.place([Path(file) for file in paths]) for kind, paths in files.for_job().items()}
        setting = Setting(
            self._place, self._peer, stop, display, plan.silence, plan.seed, plan.arguments, plan.destination_mac, plan.memory.huge_pages, inputs
        )
        return Run(writer, plan, setting, record, stop, display, budget)


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to on each of its targets. They stay open until ``opened`` closes. @raises UserError"""
    places, peer = _opened(plan, where, opened)
    found: list[session.Draft] = []
    for name, place in zip(plan.target, places, strict=True):
        hello = _hello(place)
        operators: dict[str, Any] = {}
        if plan.operators:
            run, able = fitting.candidates(plan.operators, request.results, name, hello["machine"])
            operators = {"run": run, "candidates": [one.record() for one in able]}
        found.append(Draft(plan, place, _apart(place, peer), hello, points.points(plan, place, _apart(place, peer), hello["catalog"]), operators))
    return found


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. Its target stays open until ``opened`` closes. @raises UserError"""
    (place,), peer = _opened(plan.model_copy(update={"target": [record["target"]]}), where, opened)
    return Draft(plan, place, _apart(place, peer), _hello(place), [], record["operators"])


def _apart(place: Target, peer: Target | None) -> Target | None:
    """Return the target of the sink if it is another one than ``place``."""
    return None if peer is place else peer


def _opened(plan: Plan, where: Where, opened: contextlib.ExitStack) -> tuple[list[Target], Target | None]:
    """Return the targets of ``plan`` and that of its sink, open until ``opened`` closes. @raises UserError, PlanError"""
    found: dict[str, Target] = {}

    def named(name: str, *path: str | int) -> Target:
        try:
            return found[name] if name in found else found.setdefault(name, targets.find(name))
        except UserError as error:
            raise PlanError(where.source, [where.problem(str(error), *path)]) from None

    places = [named(name, "target", index) for index, name in enumerate(plan.target)]
    peer = named(plan.peer, "peer") if plan.peer else None
    for place in places:
        if peer is not None and (machine := vm.between(place, peer)) is not None:
            is_crossed = "embedded" in plan.placement and vm.crossed(place, peer) is not None
            machine.join(vm.LINKS_TO_CROSS if is_crossed else 1, mtu=network.LARGE_MTU)
    for target in found.values():
        opened.callback(target.close)
        target.open()
    return places, peer


def _hello(target: Target) -> dict[str, Any]:
    """Return the greeting of the program on ``target``. @raises UserError, EnvironmentFault"""
    return greeting(target, target.program(programs.HEADROOM), parse_headroom_event)


def _cpus(cpus: list[int]) -> str:
    """Return CPUs for people: ``CPU 0``, ``CPUs 0, 1``."""
    return f"CPU{'' if len(cpus) == 1 else 's'} {_list(cpus)}"


def _list(values: list[int]) -> str:
    return ", ".join(map(str, values))
