"""Measure: run a study (default: operators, quick) or a plan file.

Without arguments every operator is measured with the quick plan. --dry-run prints points, time and disk before anything starts. Options replace what
the plan says.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dpubench.catalog import Catalog
    from dpubench.inputs import Missing
    from dpubench.plans.load import Where
    from dpubench.plans.model import Plan
    from dpubench.runner.model import Expansion
    from dpubench.targets import Target


def command(
    what: str = typer.Argument("operators", metavar="[STUDY|FILE.yaml]", help="A study (`dpubench list studies`) or a plan file."),
    plan: str = typer.Option("", "--plan", help="Built-in plan of the study (`dpubench list plans`); quick by default."),
    operator: list[str] = typer.Option([], "--operator", help="Only these operators (repeatable, or comma-separated)."),
    engine: list[str] = typer.Option([], "--engine", help="These engines; `all`; `devices`; or `best-and-reference` (repeatable)."),
    size: list[str] = typer.Option([], "--size", help="Message sizes, as 64B,1500B,64KiB."),
    threads: str = typer.Option("", "--threads", help="Thread counts, as 1,2,all."),
    burst: str = typer.Option("", "--burst", help="Items in a burst, as 1,32."),
    in_flight: str = typer.Option("", "--in-flight", help="Jobs under way at once on device engines, as 32,128."),
    footprint: str = typer.Option("", "--footprint", help="stream, resident, or both."),
    param: list[str] = typer.Option([], "--param", help="NAME=VALUE[,VALUE] of an operator's parameter (repeatable)."),
    input: list[str] = typer.Option([], "--input", help="KIND=PATH: measure on this instead of the default (repeatable)."),
    budget: str = typer.Option("", "--budget", help="Time to spend, as 20min."),
    precision: str = typer.Option("", "--precision", help="Half width of the 95 % interval to reach, as 2%."),
    rounds: str = typer.Option("", "--rounds", help="Number of rounds, instead of stopping by precision."),
    name: str = typer.Option("", "--name", help="Name of the run."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    engine_dir: list[Path] = typer.Option([], "--engine-dir", help="Folder with further engine modules or contract programs (repeatable)."),
    device: list[str] = typer.Option(
        [],
        "--device",
        help="[TARGET=]DEVICE for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device (repeatable).",
    ),
    against: Path | None = typer.Option(None, "--against", help="Build folder or program to alternate with, window by window."),
    seed: str = typer.Option("", "--seed", help="Seed of input drawing and order."),
    target: list[str] = typer.Option([], "--target", help="Where to measure (`dpubench list targets`); repeated, rounds take turns."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print points, time and disk; measure nothing."),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    given = {
        "operators": ("--operator", _split(operator)), "sizes": ("--size", _split(size)), "threads": ("--threads", _split([threads])),
        "bursts": ("--burst", _split([burst])), "in_flight": ("--in-flight", _split([in_flight])),
        "footprints": ("--footprint", _split([footprint])), "budget": ("--budget", budget),
        "precision": ("--precision", precision), "target": ("--target", target), "engines": ("--engine", _engines(engine)),
        "seed": ("--seed", int(seed) if seed.isdigit() else seed), "rounds": ("--rounds", {"min": rounds, "max": rounds} if rounds else ""),
    }  # fmt: skip
    declared, where = _plan(what, plan, given, param, input)
    from dpubench.errors import UserError

    if name and (name != Path(name).name or name in (".", "..", "latest")):
        raise UserError(f"--name {name}: a name is one word without slashes, and not `latest`")
    return _run(declared, where, name, results, engine_dir, device, against, [i.partition("=")[0] for i in input], dry_run=dry_run, as_json=json)


def _split(values: list[str]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _engines(values: list[str]) -> list[str] | str:
    words = _split(values)
    return words[0] if words in (["all"], ["best-and-reference"], ["devices"]) else words


def _plan(what: str, plan: str, given: dict[str, tuple[str, Any]], params: list[str], inputs: list[str]) -> tuple[Plan, Where]:
    """The plan that was asked for, with options laid over it."""
    from dpubench import studies
    from dpubench.errors import UserError, nearest
    from dpubench.inputs import parse_option
    from dpubench.plans.load import Where, plan_from_words, read_plan

    if what.endswith((".yaml", ".yml")) or "/" in what:
        if plan:
            raise UserError("--plan: names a built-in plan; with a plan file leave it out")
        path = Path(what)
    else:
        if what not in studies.names():
            raise UserError(f"unknown study '{what}'{nearest(what, studies.names())}; a plan file ends in .yaml")
        path = studies.plan_path(what, plan or "quick")
    base, lines = read_plan(path)
    words, options = base.words(), dict[str, str]()
    for key, (option, value) in given.items():
        if value not in ("", []):
            words[key], options[key] = value, option
    for text in params:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise UserError(f"--param {text}: write NAME=VALUE, as --param mode=gcm")
        words["params"] = words["params"] | {key: _split([value])}
        options["params"] = "--param"
    if inputs:
        words["inputs"] = words["inputs"] | parse_option(inputs)
        options["inputs"] = "--input"
    # What an option now asks for is no longer left out.
    words["leaves_out"] = [
        line for line in words["leaves_out"] if not any(f"{option} " in line or f"{option})" in line for option in options.values())
    ]
    where = Where(str(path), lines, options)
    return plan_from_words(words, where), where


@dataclass
class _Share:
    """What a plan comes to on one target."""

    target: Target
    plan: Plan
    known: Catalog
    expansion: Expansion


def _run(
    plan: Plan, where: Where, name: str, results: Path | None, engine_dirs: list[Path], devices: list[str], against: Path | None, given: list[str],
    *, dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    from dpubench import inputs, programs
    from dpubench.cli import _session, results_directory
    from dpubench.errors import NothingRan
    from dpubench.plans.load import plan_text
    from dpubench.results.store import RunSetWriter, RunWriter, member_path
    from dpubench.runner.record import new_record, new_set_record
    from dpubench.workers.process import StopRequest

    _check(plan, where, engine_dirs, against)
    other = programs.operators_program(against) if against is not None else None
    with contextlib.ExitStack() as opened:
        shares = [_share(plan, where, t, engine_dirs, _devices_of(t.name, plan.target, devices)) for t in _opened(plan, opened)]
        kinds = {kind for share in shares for kind in share.expansion.inputs}
        resolved = inputs.resolve(kinds, plan.inputs)
        for share in shares:
            _without_missing_inputs(share.expansion, resolved.missing)
        if not any(c.candidates for s in shares for c in s.expansion.configurations) and not any(s.expansion.unavailable for s in shares):
            left_out = [line for share in shares for line in share.expansion.left_out[-2:]]
            raise NothingRan(
                "nothing that was asked for can run here: `dpubench list engines` gives the reasons" + "".join(f"; {t}" for t in left_out)
            )
        for kind in sorted(set(given) - kinds):
            print(f"dpubench: --input {kind}: no chosen configuration reads it: it changes nothing in this run", file=sys.stderr)
        if dry_run:
            _dry_run(plan, shares, 1 if other is None else 2, as_json=as_json)
            return 0
        place = results_directory(results)
        run_name = name or f"{plan.study}-{plan.plan}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
        command_line = shlex.join(["dpubench", *sys.argv[1:]])
        records = {kind: i.record() for kind, i in resolved.inputs.items()}

        def part(share: _Share, writer: RunWriter, called: str) -> _session.Part:
            record = new_record(called, share.plan, command_line, share.expansion, records, share.known)
            record["setting"] = {
                "program": share.known.program, "engine_dirs": [str(d.resolve()) for d in engine_dirs], "against": str(other or ""),
                "devices": list(share.known.devices),
            }  # fmt: skip
            writer.write_plan(plan_text(share.plan))
            writer.write_record(record)
            files = {kind: paths for kind, paths in resolved.for_job().items() if kind in share.expansion.inputs}
            return _session.Part(writer, share.plan, record, share.target, files)

        with StopRequest() as stop:
            if len(shares) == 1:
                with RunWriter.create(place, run_name, exact=bool(name)) as writer:
                    only = part(shares[0], writer, writer.path.name)
                    writer.mark_latest()
                    return _session.carry_out(only, stop, as_json=as_json)
            with RunSetWriter.create(place, run_name, exact=bool(name)) as together:
                called = together.path.name
                record = new_set_record(called, plan, command_line, [(s.target, member_path(s.target.name)) for s in shares])
                together.write_plan(plan_text(plan))
                members = [opened.enter_context(together.member(s.target.name)) for s in shares]
                parts = [part(s, w, f"{called}@{s.target.name}") for s, w in zip(shares, members, strict=True)]
                together.write_record(record)
                together.mark_latest()
                return _session.carry_out_together(together, record, parts, plan.budget, stop, as_json=as_json)


def _check(plan: Plan, where: Where, engine_dirs: list[Path], against: Path | None) -> None:
    """What can be told to be wrong before any target is asked. @raises UserError"""
    from dpubench import inputs
    from dpubench.errors import PlanError, UserError, nearest

    for directory in engine_dirs:
        if not directory.is_dir():
            raise UserError(f"--engine-dir {directory}: is no directory")
    for option, given in (("--engine-dir", bool(engine_dirs)), ("--against", against is not None)):
        if given and (elsewhere := [t for t in plan.target if t != "local"]):
            raise UserError(f"{option}: is of this machine, and target {elsewhere[0]} is not it: give it with target local alone")
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])


def _opened(plan: Plan, opened: contextlib.ExitStack) -> list[Target]:
    """The targets of ``plan``, ready; closed when ``opened`` is. @raises UserError"""
    from dpubench import targets
    from dpubench.errors import UserError

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


def _devices_of(target: str, targets: list[str], given: list[str]) -> list[str]:
    """Of ``--device [TARGET=]DEVICE`` those that are meant for ``target``."""
    found = []
    for word in given:
        owner, equals, device = word.partition("=")  # a virtual device's arguments have such a sign too
        if not equals or owner not in targets:
            found.append(word)
        elif owner == target:
            found.append(device)
    return found


def _share(plan: Plan, where: Where, target: Target, engine_dirs: list[Path], devices: list[str]) -> _Share:
    from dpubench import catalog, programs, studies
    from dpubench.runner.together import plan_for

    # What this machine has is known from last time; elsewhere it is asked.
    here = target.spec == "local"
    known = catalog.read_here(programs.operators_program(), engine_dirs, devices) if here else catalog.read(target, devices)
    for other_program, operator, engine, reason in known.refused():
        what = f"{engine} of {operator} in {other_program.path}" if engine else "a program of --engine-dir"
        print(f"dpubench: {what} takes no part: {reason}", file=sys.stderr)
    own = plan_for(plan, target)
    return _Share(target, own, known, studies.find(plan.study).expand(own, known, len(target.cpus()), where))


def _without_missing_inputs(expansion: Expansion, missing: Mapping[str, Missing]) -> None:
    """Leaves out what reads a kind of input that is not there, and says so."""
    for kind, why in missing.items():
        dropped = [c for c in expansion.configurations if kind in c.inputs]
        expansion.left_out += [f"{o}: {why.reason}" for o in dict.fromkeys(c.operator for c in dropped)]
        expansion.configurations = [c for c in expansion.configurations if c not in dropped]


def _dry_run(plan: Plan, shares: list[_Share], builds: int, *, as_json: bool) -> None:
    from dpubench.cli import print_json
    from dpubench.plans.quantities import format_bytes, spoken
    from dpubench.runner import costs

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
        print("of more than one engine besides the reference, a short selection round keeps the best")
    for line in expansion.left_out:
        print(f"left out: {line}")
    print(total)
