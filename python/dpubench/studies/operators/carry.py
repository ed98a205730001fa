"""Runs a plan of study ``operators`` on one target or on several in turns, and continues an interrupted run."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpubench import anchors, catalog, inputs, programs, targets, terminal
from dpubench.catalog import Catalog
from dpubench.cli import print_json
from dpubench.errors import NothingRan, PlanError, UserError, nearest
from dpubench.inputs import Missing
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.plans.quantities import format_bytes, spoken
from dpubench.run.record import COMPLETE, check_named, check_same_machine, gone_on_with, inputs_again, new_name, new_record, new_set_record
from dpubench.run.turns import plan_for
from dpubench.storage.runs import RunDirectory, RunSetWriter, RunWriter, member_path
from dpubench.studies import Request
from dpubench.studies.operators import costs, session
from dpubench.studies.operators.configuration import Expansion
from dpubench.studies.operators.expand import expand
from dpubench.studies.operators.plan import Plan
from dpubench.targets import Target
from dpubench.workers.process import StopRequest


@dataclass
class _Share:
    """The plan, catalog and configurations of one target."""

    target: Target
    plan: Plan
    known: Catalog
    expansion: Expansion


def run(plan: Plan, where: Where, request: Request) -> int:
    """Make a new run of ``plan``; return its exit status. @raises UserError"""
    engine_dirs, as_json = list(request.engine_dirs), request.as_json
    anchor = request.anchor
    _check(plan, where, engine_dirs, against=request.against is not None or anchor is not None)
    other = _other_program(request)
    with contextlib.ExitStack() as opened:
        shares = [_share(plan, where, t, engine_dirs, _devices_of(t.name, plan.target, request.devices)) for t in _opened(plan, opened)]
        kinds = {kind for share in shares for kind in share.expansion.inputs}
        resolved = inputs.resolve(kinds, plan.inputs)
        inputs.refuse_unread(request.inputs, kinds)
        catalog.check_given(resolved)
        for share in shares:
            _without_missing_inputs(share.expansion, resolved.missing)
        if not any(c.candidates for s in shares for c in s.expansion.configurations) and not any(s.expansion.unavailable for s in shares):
            left_out = [line for share in shares for line in share.expansion.left_out[-2:]]
            raise NothingRan(
                "nothing that was asked for can run here: `dpubench list engines` gives the reasons" + "".join(f"; {t}" for t in left_out)
            )
        if other is not None and programs.layouts(other) == 1:
            terminal.note(f"--against {other}: has one code layout, and what its place does to a figure is in no interval: build it anew")
        if request.dry_run:
            _dry_run(plan, shares, 1 if other is None else 2, as_json=as_json)
            return 0
        place, name = request.results, request.name
        run_name = name or new_name(plan)
        command_line = shlex.join(["dpubench", *sys.argv[1:]])
        records = {kind: i.record() for kind, i in resolved.inputs.items()}

        def part(share: _Share, writer: RunWriter, called: str) -> session.Part:
            record = new_record(called, share.plan, command_line, share.expansion, records, share.known)
            record["setting"] = {
                "program": share.known.program, "engine_dirs": [str(d.resolve()) for d in engine_dirs], "against": str(other or ""),
                "devices": list(share.known.devices),
            }  # fmt: skip
            if anchor is not None:
                record["setting"]["anchor"] = {key: getattr(anchor, key) for key in ("name", "saved", "revision", "note", "sha256")}
            writer.write_plan(plan_text(share.plan))
            writer.write_record(record)
            files = {kind: paths for kind, paths in resolved.for_job().items() if kind in share.expansion.inputs}
            return session.Part(writer, share.plan, record, share.target, files)

        with StopRequest() as stop:
            if len(shares) == 1:
                with RunWriter.create(place, run_name, exact=bool(name)) as writer:
                    only = part(shares[0], writer, writer.path.name)
                    writer.mark_latest()
                    return session.carry_out(only, stop, as_json=as_json, effect=request.effect)
            with RunSetWriter.create(place, run_name, exact=bool(name)) as together:
                called = together.path.name
                record = new_set_record(called, plan, command_line, [(s.target, member_path(s.target.name)) for s in shares])
                together.write_plan(plan_text(plan))
                members = [opened.enter_context(together.member(s.target.name)) for s in shares]
                parts = [part(s, w, f"{called}@{s.target.name}") for s, w in zip(shares, members, strict=True)]
                together.write_record(record)
                together.mark_latest()
                return session.carry_out_together(together, record, parts, plan.budget, stop, as_json=as_json)


def _other_program(request: Request) -> Path | None:
    """Return the program of the build to alternate with, or None if there is none. @raises UserError"""
    if request.anchor is not None:
        return anchors.program(request.anchor)
    return programs.operators_program(request.against) if request.against is not None else None


def _check(plan: Plan, where: Where, engine_dirs: list[Path], *, against: bool) -> None:
    """Check everything that needs no answer from a target. @raises UserError"""
    for directory in engine_dirs:
        if not directory.is_dir():
            raise UserError(f"--engine-dir {directory}: is no directory")
    for option, given in (("--engine-dir", bool(engine_dirs)), ("--against", against)):
        if given and (elsewhere := [t for t in plan.target if t != "local"]):
            raise UserError(f"{option}: is of this machine, and target {elsewhere[0]} is not it: give it with target local alone")
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])


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


def _share(plan: Plan, where: Where, target: Target, engine_dirs: list[Path], devices: list[str]) -> _Share:

    # The catalog of this machine may be cached from an earlier call. Other targets have to be asked.
    here = target.spec == "local"
    known = catalog.read_here(programs.operators_program(), engine_dirs, devices) if here else catalog.read(target, devices)
    for other_program, operator, engine, reason in known.refused():
        what = f"{engine} of {operator} in {other_program.path}" if engine else "a program of --engine-dir"
        terminal.note(f"{what} takes no part: {reason}")
    own = plan_for(plan, target)
    return _Share(target, own, known, expand(own, known, len(target.cpus()), where))


def _without_missing_inputs(expansion: Expansion, missing: Mapping[str, Missing]) -> None:
    """Move configurations that read a missing kind of input to ``left_out``, with the reason."""
    for kind, why in missing.items():
        dropped = [c for c in expansion.configurations if kind in c.inputs]
        expansion.left_out += [f"{o}: {why.reason}" for o in dict.fromkeys(c.operator for c in dropped)]
        expansion.configurations = [c for c in expansion.configurations if c not in dropped]


def _dry_run(plan: Plan, shares: list[_Share], builds: int, *, as_json: bool) -> None:

    totals = []
    for share in shares:
        expansion = share.expansion
        points, seconds, disk = costs.estimate(share.plan, expansion, len(share.target.cpus()), builds)
        rows = [{**c.record(), "points": c.candidates} for c in expansion.configurations]
        totals.append(
            {"configurations": rows, "points": points, "seconds": round(seconds), "bytes": disk, "left_out": expansion.left_out}
        )  # fmt: skip
        if not as_json:
            if len(shares) > 1:
                print(f"target {share.target.name}" + (f" ({share.target.label})" if share.target.label else ""))
            total = f"{points} points, {costs.describe_time(seconds, share.plan)}, {format_bytes(disk // 1024 * 1024)} on disk"
            _print_dry_run(share.plan, expansion, total)
    if as_json:
        print_json(totals[0] if len(shares) == 1 else {"targets": {s.target.name: t for s, t in zip(shares, totals, strict=True)}})
    elif len(shares) > 1:
        print(f"the targets share the budget of {spoken(plan.budget)}")


def _print_dry_run(plan: Plan, expansion: Any, total: str) -> None:
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    for configuration in expansion.configurations:
        print(f"  {configuration.id}: {', '.join(configuration.candidates) or 'no engine can run it here'}")
    if expansion.select_best:
        kept = "the best, one that it does not tell apart, the next best of another library, and the reference"
        print(f"of more than two engines a short selection keeps {kept}")
    for line in expansion.left_out:
        print(f"left out: {line}")
    print(total)


def resume(found: RunDirectory, request: Request) -> int:
    """Continue the interrupted run or set ``found``; return its exit status. @raises UserError it is complete, or cannot be continued"""
    with StopRequest() as stop, contextlib.ExitStack() as opened:
        if not found.is_set:
            writer = opened.enter_context(RunWriter(found.path))
            return session.carry_out(_part(writer, opened, stop, request), stop, as_json=request.as_json)
        together = opened.enter_context(RunSetWriter(found.path))
        record = together.record()
        owing = [entry for entry in record["targets"] if entry["status"] != "complete"]
        if not owing:
            raise UserError(f"{found.path}: {COMPLETE.format(plan=found.plan_file)}")
        members = [opened.enter_context(together.member(entry["name"])) for entry in owing]
        parts = [_part(member, opened, stop, request) for member in members]
        for entry in owing:
            entry |= {"status": "running", "lost": ""}
        plan, _ = read_plan(found.plan_file)
        assert isinstance(plan, Plan)  # the run is of this study
        return session.carry_out_together(together, record, parts, plan.budget, stop, as_json=request.as_json)


def _part(writer: RunWriter, opened: contextlib.ExitStack, stop: StopRequest, request: Request) -> session.Part:
    """Return everything that an interrupted run needs to continue. Its target stays open until ``opened`` closes.

    Raises:
        UserError: the run is complete, its inputs, machine or build have changed, it names programs that the user does not name, or its target
            cannot be reached.
        Interrupted: a stop was asked for.
    """
    record = gone_on_with(writer)
    check_named(writer.path, record, request.engine_dirs, _other_program(request))
    resolved = inputs_again(writer, record)
    plan, _ = read_plan(writer.plan_file)
    assert isinstance(plan, Plan)  # the run is of this study
    target = targets.find(record["target"])
    opened.callback(target.close)
    with stop.at_once():
        target.open()
        known = catalog.read_here(programs.operators_program()) if target.spec == "local" else catalog.read(target)
    check_same_machine(writer, record, known.hello)
    record["setting"]["program"] = known.program
    if other := record["setting"].get("anchor"):
        record["setting"]["against"] = str(anchors.program(anchors.again(other)))
    writer.settle()
    return session.Part(writer, plan, record, target, resolved.for_job())
