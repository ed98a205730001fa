"""Measure: run a study (default: operators, quick) or a plan file.

Without arguments every operator is measured with the quick plan. --dry-run prints points, time and disk before anything starts. Options replace what
the plan says.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dpubench.plans.load import Where
    from dpubench.plans.model import Plan


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
        [], "--device", help="Device for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device (repeatable)."
    ),
    against: Path | None = typer.Option(None, "--against", help="Build folder or program to alternate with, window by window."),
    seed: str = typer.Option("", "--seed", help="Seed of input drawing and order."),
    target: str = typer.Option("", "--target", help="Where to measure (`dpubench list targets`)."),
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


def _run(
    plan: Plan, where: Where, name: str, results: Path | None, engine_dirs: list[Path], devices: list[str], against: Path | None, given: list[str],
    *, dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    from dpubench import catalog, inputs, programs, studies, targets
    from dpubench.cli import _session, print_json, results_directory
    from dpubench.errors import NothingRan, PlanError, UserError
    from dpubench.plans.load import plan_text
    from dpubench.plans.quantities import format_bytes
    from dpubench.results.store import RunWriter
    from dpubench.runner import costs
    from dpubench.runner.record import new_record
    from dpubench.workers.process import StopRequest

    for directory in engine_dirs:
        if not directory.is_dir():
            raise UserError(f"--engine-dir {directory}: is no directory")
    if reason := targets.find(plan.target).unavailable():
        raise UserError(f"--target {plan.target}: {reason}")
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        from dpubench.errors import nearest

        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])
    program = programs.operators_program()
    other = programs.operators_program(against) if against is not None else None
    known = catalog.read(program, engine_dirs, devices)
    usable = _session.cpus()
    for other_program, operator, engine, reason in known.refused():
        what = f"{engine} of {operator} in {other_program.path}" if engine else "a program of --engine-dir"
        print(f"dpubench: {what} takes no part: {reason}", file=sys.stderr)
    expansion = studies.find(plan.study).expand(plan, known, len(usable), where)
    resolved = inputs.resolve(expansion.inputs, plan.inputs)
    for kind, missing in resolved.missing.items():
        dropped = [c for c in expansion.configurations if kind in c.inputs]
        expansion.left_out += [f"{o}: {missing.reason}" for o in dict.fromkeys(c.operator for c in dropped)]
        expansion.configurations = [c for c in expansion.configurations if c not in dropped]
    if not any(c.candidates for c in expansion.configurations) and not expansion.unavailable:
        raise NothingRan(
            "nothing that was asked for can run here: `dpubench list engines` gives the reasons" + "".join(f"; {t}" for t in expansion.left_out[-2:])
        )
    for kind in sorted(set(given) - expansion.inputs):
        print(f"dpubench: --input {kind}: no chosen configuration reads it: it changes nothing in this run", file=sys.stderr)
    points, seconds, disk = costs.estimate(plan, expansion, len(usable), 1 if other is None else 2)
    if dry_run:
        if as_json:
            rows = [{**c.record(), "points": c.candidates} for c in expansion.configurations]
            print_json({"configurations": rows, "points": points, "seconds": round(seconds), "bytes": disk, "left_out": expansion.left_out})
        else:
            _print_dry_run(plan, expansion, f"{points} points, {costs.describe_time(seconds, plan)}, {format_bytes(disk // 1024 * 1024)} on disk")
        return 0
    place = results_directory(results)
    run_name = name or f"{plan.study}-{plan.plan}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    with StopRequest() as stop, RunWriter.create(place, run_name, exact=bool(name)) as writer:
        operators = [known.operator(n) for n in dict.fromkeys(c.operator for c in expansion.configurations)]
        command_line = shlex.join(["dpubench", *sys.argv[1:]])
        record = new_record(writer.path.name, plan, command_line, expansion, operators, {k: i.record() for k, i in resolved.inputs.items()}, known)
        record["setting"] = {
            "program": str(program),
            "engine_dirs": [str(d.resolve()) for d in engine_dirs],
            "against": str(other or ""),
            "devices": devices,
        }
        writer.write_plan(plan_text(plan))
        writer.write_record(record)
        writer.mark_latest()
        return _session.carry_out(writer, plan, record, program, resolved.for_job(), stop, as_json=as_json)


def _print_dry_run(plan: Plan, expansion: Any, total: str) -> None:
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    for configuration in expansion.configurations:
        print(f"  {configuration.id}: {', '.join(configuration.candidates) or 'no engine can run it here'}")
    if expansion.select_best:
        print("of more than one engine besides the reference, a short selection round keeps the best")
    for line in expansion.left_out:
        print(f"left out: {line}")
    print(total)
