"""What a plan of study ``operators`` comes to on each of its targets, and what an interrupted run needs to continue."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import anchors, catalog, programs, targets, terminal
from dpubench.catalog import Catalog
from dpubench.errors import UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.model import Rounds
from dpubench.plans.quantities import format_bytes
from dpubench.run import record as records
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo, check_same_machine
from dpubench.run.session import other_program
from dpubench.run.work import Budget
from dpubench.studies import Request
from dpubench.studies.operators import costs
from dpubench.studies.operators.configuration import Configuration, Expansion, Point
from dpubench.studies.operators.execute import RESERVE, Run
from dpubench.studies.operators.expand import expand
from dpubench.studies.operators.measure import OTHER_BUILD
from dpubench.studies.operators.plan import Cycles, Plan
from dpubench.studies.operators.rounds import WindowsWriter
from dpubench.studies.operators.setting import Setting
from dpubench.targets import Target
from dpubench.workers.process import StopRequest

WRITER: Final = WindowsWriter
#: Factor on the time that an emulated program may be silent.
EMULATED_PATIENCE: Final = 20
#: Length of a window that runs only for its outputs.
SHORT_S: Final = 0.001


class Draft(session.Draft):
    """A plan on one target, or an interrupted run there."""

    writer = WindowsWriter
    reserve = RESERVE
    plan: Plan

    def __init__(self, plan: Plan, target: Target, known: Catalog, expansion: Expansion, other: Path | None) -> None:
        """Describe a run of ``expansion``, alternating with the build ``other`` if there is one; the expansion of an interrupted run is empty."""
        self.plan, self.expansion = plan, expansion
        self.target = TargetInfo(target.name, target.spec, target.label, target.times_mean_nothing)
        self._target, self._known, self._other = target, known, other

    @property
    def inputs(self) -> set[str]:
        return self.expansion.inputs

    def lack(self, kind: str, reason: str) -> None:
        dropped = [c for c in self.expansion.configurations if kind in c.inputs]
        self.expansion.left_out += [f"{o}: {reason}" for o in dict.fromkeys(c.operator for c in dropped)]
        self.expansion.configurations = [c for c in self.expansion.configurations if c not in dropped]

    def why_nothing(self) -> str:
        if any(c.candidates for c in self.expansion.configurations) or self.expansion.unavailable:
            return ""
        left_out = "".join(f"; {line}" for line in self.expansion.left_out[-2:])
        return f"nothing that was asked for can run here: `dpubench list engines` gives the reasons{left_out}"

    def described(self) -> dict[str, Any]:
        points, seconds, disk = self._estimate()
        rows = [{**c.record(), "points": c.candidates} for c in self.expansion.configurations]
        return {"configurations": rows, "points": points, "seconds": round(seconds), "bytes": disk, "left_out": self.expansion.left_out}

    def lines(self) -> list[str]:
        points, seconds, disk = self._estimate()
        lines = [f"  {c.id}: {', '.join(c.candidates) or 'no engine can run it here'}" for c in self.expansion.configurations]
        if self.expansion.select_best:
            kept = "the best, one that may be as fast, the next best of another library, and the reference"
            lines.append(f"if there are more than two engines, a short selection keeps {kept}")
        lines += [f"left out: {line}" for line in self.expansion.left_out]
        total = f"{points} points, {costs.describe_time(seconds, self.plan)}, {format_bytes(disk // 1024 * 1024)} on disk"
        return [*lines, total]

    def _estimate(self) -> tuple[int, float, int]:
        """Return (points, seconds, bytes on disk) of a run."""
        return costs.estimate(self.plan, self.expansion, len(self._target.cpus()), 1 if self._other is None else 2)

    def record(self, head: Head) -> dict[str, Any]:
        known, expansion, request = self._known, self.expansion, head.request
        hello = {**known.hello, "build": {k: v for k, v in known.hello["build"].items() if k != "layout"}}
        operators = [known.operator(n) for n in dict.fromkeys(c.operator for c in expansion.configurations)]
        record = records.new_record(head, self.plan, self.target, hello, expansion.left_out) | {
            "clock": {}, "operators": {o["name"]: {k: v for k, v in o.items() if k != "configurations"} for o in operators},
            "configurations": [c.record() for c in expansion.configurations], "points": [],
            "selection": {"wanted": expansion.select_best},
            "setting": {
                "program": known.program, "engine_dirs": [str(d.resolve()) for d in request.engine_dirs], "against": str(self._other or ""),
                "devices": list(known.devices),
            },
        }  # fmt: skip
        if request.anchor is not None:
            record["setting"]["anchor"] = {key: getattr(request.anchor, key) for key in ("name", "saved", "revision", "note", "sha256")}
        if known.others:
            record["engine_programs"] = [other.record() for other in known.others]
        for configuration, engine, reason in expansion.unavailable:
            self._add_unavailable(record, configuration, engine, reason)
        return record

    def _add_unavailable(self, record: dict[str, Any], configuration: Configuration, engine: str, reason: str) -> None:
        """Add an engine that the plan names and that cannot run, as a point and as a failure."""
        version = int(record["operators"][configuration.operator]["version"])
        point = Point(configuration, engine, self.target.name, "", version, unavailable=reason)
        message = f"{engine} was asked for and cannot run here: {reason}"
        record["points"].append(point.record())
        record["failures"].append({"phase": "prepare", "message": message, "point": point.id, "group": configuration.id})

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        check_same_machine(path, record, self._known.hello)

    def work(self, writer: WindowsWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        given = record["setting"]
        given["program"] = self._known.program  # of this process, which may be another than that of the run's beginning
        other = Path(given["against"]) if given["against"] else None
        # An emulator only checks results, and code layouts do not change them.
        layouts = {} if self._target.times_mean_nothing else {"": _layouts(record)}
        if other is not None:
            layouts[OTHER_BUILD] = programs.layouts(other)
        setting = Setting(
            self._target, given["program"], self._target.cpus(), self._target.cache_directory(), stop, display,
            [Path(d) for d in given["engine_dirs"]], other, {} if other is None else _lacking(record["operators"], other), layouts,
            devices=given.get("devices", []),
        )  # fmt: skip
        reads = self.expansion.inputs or set(record["inputs"])
        return Run(writer, self.plan, setting, record, {kind: paths for kind, paths in files.for_job().items() if kind in reads}, budget)


def _layouts(record: Mapping[str, Any]) -> int:
    """Return the number of code layouts of the run's program. Count the files if it is on this machine: a foreign program may report any number."""
    here = Path(record["setting"]["program"])
    return programs.layouts(here) if here.is_file() else int(record["build"].get("layouts", 1))


def _lacking(operators: Mapping[str, dict[str, Any]], other: Path) -> dict[tuple[str, str], str]:
    """Return, per (operator, engine) without a partner in the build ``other``, the reason.

    An older build knows fewer operators and engines, and may mean other work by the same name.
    """
    theirs = {o["name"]: o for o in catalog.read_here(other).operators}
    found = {}
    for name, operator in operators.items():
        there = theirs.get(name)
        known = {e["name"]: e for e in there["engines"]} if there else {}
        for engine in (e["name"] for e in operator["engines"] if not e.get("program")):
            if there is None:
                found[name, engine] = "the other build does not have this operator"
            elif there["version"] != operator["version"]:
                versions = f"{operator['version']}, in the other build {there['version']}"
                found[name, engine] = f"the operator's version differs ({versions}): the same parameters mean different work"
            elif not known.get(engine, {}).get("available", False):
                found[name, engine] = f"the other build cannot run this engine: {known.get(engine, {}).get('reason') or 'it does not have it'}"
    return found


# --------------------------------------------------------------------------- from plans and records


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to on each of its targets. Targets stay open until ``opened`` closes. @raises UserError"""
    against = request.against is not None or request.anchor is not None
    for option, given in (("--engine-dir", bool(request.engine_dirs)), ("--against", against)):
        if given and (elsewhere := [t for t in plan.target if t != "local"]):
            raise UserError(f"{option} works only with target local: remove --target {elsewhere[0]}")
    other = other_program(request)
    found = [_draft(plan, where, target, request, other) for target in _opened(plan, opened)]
    if other is not None and programs.layouts(other) == 1:
        terminal.note(f"--against {other}: has one code layout, so no interval holds the effect of its code placement: build it again")
    return list(found)


def _opened(plan: Plan, opened: contextlib.ExitStack) -> list[Target]:
    """Return the targets of ``plan``, opened. They close when ``opened`` closes. @raises UserError"""
    found = [targets.find(word) for word in plan.target]
    for i, target in enumerate(found):
        if any(target.name == other.name for other in found[:i]):
            raise UserError(f"--target {target.name}: is given twice")
        if reason := target.unavailable():
            raise UserError(f"--target {target.name}: {reason}")
    for target in found:
        opened.callback(target.close)
        target.open()
    return found


def _draft(plan: Plan, where: Where, target: Target, request: Request, other: Path | None) -> Draft:
    devices = _devices_of(target.name, plan.target, request.devices)
    # The catalog of this machine may be cached from an earlier call. Other targets have to be asked.
    here = target.is_here and not target.label
    known = catalog.read_here(programs.operators_program(), list(request.engine_dirs), devices) if here else catalog.read(target, devices)
    for other_engines, operator, engine, reason in known.refused():
        what = f"{engine} of {operator} in {other_engines.path}" if engine else "a program of --engine-dir"
        terminal.note(f"{what} is not used: {reason}")
    own = plan_for(plan, target)
    return Draft(own, target, known, expand(own, known, len(target.cpus()), where), other)


def _devices_of(target: str, targets: list[str], given: Sequence[str]) -> list[str]:
    """Return the devices of ``--device [TARGET=]DEVICE`` that are meant for ``target``."""
    found = []
    for word in given:
        owner, equals, device = word.partition("=")  # the arguments of a virtual device may hold "=" too
        if not equals or owner not in targets:
            found.append(word)
        elif owner == target:
            found.append(device)
    return found


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. Its target stays open until ``opened`` closes. @raises UserError"""
    target = targets.find(record["target"])
    opened.callback(target.close)
    target.open()
    known = catalog.read_here(programs.operators_program()) if target.is_here and not target.label else catalog.read(target)
    if other := record["setting"].get("anchor"):
        record["setting"]["against"] = str(anchors.program(anchors.again(other)))
    return Draft(plan, target, known, Expansion([], select_best=False), None)


def plan_for(plan: Plan, target: Target) -> Plan:
    """Return ``plan`` as it applies to one of its targets.

    Under an emulator every engine runs once, for its results. A target that gets its CPU time in portions needs windows of many portions.
    """
    changes: dict[str, Any] = {"target": [target.name]}
    if target.times_mean_nothing:
        changes |= {
            "engines": "all" if plan.engines == "best-and-reference" else plan.engines,
            "rounds": Rounds(min=1, max=1),
            "cycles": Cycles(min=1, max=1),
            "window": plan.window.model_copy(update={"min": SHORT_S, "max": SHORT_S, "min_bursts": 1, "threaded_min": SHORT_S}),
            "silence": plan.silence * EMULATED_PATIENCE,
        }
    elif least_s := target.least_window_s():
        window = plan.window
        changes["cycles"] = Cycles(min=1, max=plan.cycles.max)  # Windows are so long that a round may have time for one cycle only.
        changes["window"] = window.model_copy(
            update={k: max(getattr(window, k), least_s) for k in ("min", "max", "threaded_min")},
        )
    return plan.model_copy(update=changes)
