"""Measure: run a study (default: operators, quick) or a plan file.

Without arguments every operator is measured with the quick plan. --dry-run prints points, time and disk before anything starts. Options replace what
the plan says; --set replaces any of its keys. Each study has keys of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dpubench.cli._values import lay, pairs, split

if TYPE_CHECKING:
    from dpubench.anchors import Anchor
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.studies import Study


def command(
    what: str = typer.Argument("", metavar="[STUDY|FILE.yaml]", help="A study (`dpubench list studies`; default: operators) or a plan file."),
    plan: str = typer.Option("", "--plan", help="Built-in plan of the study (`dpubench list plans`); quick by default."),
    operator: list[str] = typer.Option([], "--operator", help="Only these operators (repeatable, or comma-separated)."),
    workload: list[str] = typer.Option(
        [], "--workload", help="Only these workloads of studies end-to-end and coverage (repeatable, or comma-separated)."
    ),
    engine: list[str] = typer.Option(
        [], "--engine", help="These engines, or a word for a choice: `all`, `devices`, `best-and-reference` (repeatable)."
    ),
    size: list[str] = typer.Option([], "--size", help="Message sizes, such as 64B,1500B,64KiB."),
    threads: str = typer.Option("", "--threads", help="Thread counts, such as 1,2,all."),
    burst: str = typer.Option("", "--burst", help="Items in a burst, such as 1,32."),
    in_flight: str = typer.Option("", "--in-flight", help="Jobs under way at once on device engines, such as 32,128."),
    footprint: str = typer.Option(
        "", "--footprint", help="resident (32 buffers), stream (beyond L2), both of these, or memory (beyond L3); several with commas."
    ),
    param: list[str] = typer.Option([], "--param", help="NAME=VALUE[,VALUE] of an operator's parameter (repeatable)."),
    input: list[str] = typer.Option([], "--input", help="KIND=PATH: use this input instead of the default (repeatable)."),
    values: list[str] = typer.Option([], "--set", help="KEY=VALUE[,VALUE]: replace any key of the plan, such as --set rounds.max=8 (repeatable)."),
    budget: str = typer.Option("", "--budget", help="Time to spend, such as 20min."),
    precision: str = typer.Option("", "--precision", help="Half width of the 95 % interval to reach, such as 2%."),
    rounds: str = typer.Option("", "--rounds", help="Fixed number of rounds, whatever the precision."),
    name: str = typer.Option("", "--name", help="Name of the run."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    engine_dir: list[Path] = typer.Option([], "--engine-dir", help="Folder with further engine modules or contract programs (repeatable)."),
    device: list[str] = typer.Option(
        [],
        "--device",
        help="[TARGET=]DEVICE for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device (repeatable).",
    ),
    against: str = typer.Option(
        "", "--against", help="Build folder, program, or anchor[:NAME] (`dpubench anchor save`) to alternate with, window by window."
    ),
    fail_on: str = typer.Option("", "--fail-on", help="'regression': exit with status 3 if a point is slower than that of --against."),
    min_effect: str = typer.Option("3%", "--min-effect", help="Smallest change that counts for --fail-on."),
    exact: bool = typer.Option(False, "--exact", help="Simulate whole traces instead of sampled messages (studies of modelled processors)."),
    dask: str = typer.Option("", "--dask", metavar="ADDRESS", help="Simulate on the Dask cluster of this scheduler, such as tcp://host:8786."),
    seed: str = typer.Option("", "--seed", help="Seed for the draw of inputs and the order of points."),
    target: list[str] = typer.Option(
        [], "--target", help="Where to measure (`dpubench list targets`); several take turns by round. In cores, coverage: a model (`list models`)."
    ),
    count: bool = typer.Option(
        False,
        "--count",
        help="Instead of measuring, count each engine's instructions per operation in an emulator: exact, no times (study operators).",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print points, time and disk; measure nothing."),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    given = {
        "--operator": split(operator), "--workload": split(workload), "--size": split(size), "--threads": split([threads]),
        "--burst": split([burst]), "--in-flight": split([in_flight]), "--footprint": split([footprint]), "--engine": _engines(engine),
        "--param": param, "--exact": exact or "", "--dask": dask,
    }  # fmt: skip
    common = {
        "budget": ("--budget", budget), "precision": ("--precision", precision), "target": ("--target", target),
        "seed": ("--seed", int(seed) if seed.isdigit() else seed), "rounds": ("--rounds", {"min": rounds, "max": rounds} if rounds else ""),
    }  # fmt: skip
    from dpubench import studies, terminal
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.run import session

    effect, anchor = _effect(fail_on, min_effect, against), _anchor(against)
    kept = anchor if anchor is not None and anchor.plan and not (what or plan) else None
    declared, where = _plan(what or "operators", plan, given, common, values, input, count=count, kept=kept)
    if kept is not None:
        terminal.note(f"the plan comes from anchor {kept.described()}")
    study = studies.find(declared.study)
    for option, there in (("--engine-dir", engine_dir), ("--device", device), ("--against", against)):
        if there and option not in study.run_options:
            raise UserError(f"{option}: study '{study.name}' has no such option{_has(study)}")
    if name and (name != Path(name).name or name in (".", "..", "latest")):
        raise UserError(f"--name {name}: invalid name: use one word without slashes, but not `latest`")
    kinds = [i.partition("=")[0] for i in input]
    build = None if anchor is not None or not against else Path(against)
    request = studies.Request(name, results_directory(results), kinds, engine_dir, device, build, dry_run, json, anchor, effect)
    return session.start(study, declared, where, request)


def _anchor(against: str) -> Anchor | None:
    """Return the build that ``--against`` names; None where it is a path, or not given. @raises UserError"""
    if not against:
        return None
    from dpubench import anchors
    from dpubench.errors import UserError

    name = anchors.name_of(against)
    try:
        return None if name is None else anchors.find(name)
    except UserError as error:
        folder = f"; for the folder of that name, write ./{against}" if Path(against).exists() else ""
        raise type(error)(f"--against {against}: {error}{folder}") from None


def _effect(fail_on: str, min_effect: str, against: str) -> float | None:
    """Return the smallest slowdown that fails the run; None where none does. @raises UserError"""
    from dpubench.errors import UserError
    from dpubench.plans import quantities

    if not fail_on:
        return None
    if fail_on != "regression":
        raise UserError(f"--fail-on {fail_on}: only 'regression' is known")
    if not against:
        raise UserError("--fail-on regression: the run has nothing to compare with: add --against anchor, or use `dpubench compare OLD NEW`")
    try:
        return quantities.fraction(min_effect)
    except ValueError as error:
        raise UserError(f"--min-effect {min_effect}: {error}") from None


def _engines(values: list[str]) -> list[str] | str:
    """Return a list of engines, or a single word, which may be a choice (`all`): the plan's model tells them apart."""
    words = split(values)
    return words[0] if len(words) == 1 else words


def _has(study: Study) -> str:
    """Return the options that ``study`` has, for a message about one that it lacks."""
    options = [*study.plan_model.OPTIONS, *sorted(study.run_options)]
    return f"; it has {', '.join(options)}, and --set for any key of its plan" if options else "; it has --set for any key of its plan"


def _plan(
    what: str,
    plan: str,
    given: dict[str, Any],
    common: dict[str, tuple[str, Any]],
    values: list[str],
    inputs: list[str],
    *,
    count: bool,
    kept: Anchor | None,
) -> tuple[StudyPlan, Where]:
    """Return the requested plan, or the plan ``kept`` with an anchor, with the options applied."""
    from dpubench import studies
    from dpubench.errors import UserError, nearest
    from dpubench.inputs import parse_option
    from dpubench.plans.load import Where, parse_plan, plan_from_words, read_plan
    from dpubench.plans.model import Omission

    if kept is not None:
        source = f"the plan of anchor '{kept.name}'"
    elif what.endswith((".yaml", ".yml")) or "/" in what:
        if plan:
            raise UserError("--plan works only with a study, not with a plan file: remove --plan")
        source = what
    else:
        if what not in studies.names():
            raise UserError(f"unknown study '{what}'{nearest(what, studies.names())}; a plan file ends in .yaml")
        if count and what == "operators":
            what = "counts"
        source = str(studies.plan_path(what, plan or "quick"))
    base, lines = parse_plan(kept.plan, source) if kept is not None else read_plan(Path(source))
    study, words, options = studies.find(base.study), base.words(), dict[str, str]()
    if count and base.study == "operators":
        from dpubench.studies.counts.plan import words_from

        study, words = studies.find("counts"), words_from(words)
    elif count and base.study != "counts":
        raise UserError(f"--count works only with study operators, and this plan is of study {base.study}: remove --count")
    for key, (option, value) in common.items():
        if value not in ("", []):
            if key not in study.plan_model.model_fields:
                raise UserError(f"{option}: study '{study.name}' has no such option{_has(study)}")
            words[key], options[key] = value, option
    for option, value in given.items():
        if value in ("", []):
            continue
        if option not in study.plan_model.OPTIONS:
            raise UserError(f"{option}: study '{study.name}' has no such option{_has(study)}")
        key = study.plan_model.OPTIONS[option]
        words[key] = words[key] | pairs(option, value, "mode=gcm") if option == "--param" else value
        options[key] = option
    changed = set(options)
    for key, value in pairs("--set", values, "rounds.max=8").items():
        lay(words, study, key, value)
        options[key.partition(".")[0]] = f"--set {key}"
        changed.add(key)
    if inputs:
        words["inputs"] = words["inputs"] | parse_option(inputs)
        options["inputs"] = "--input"
        changed |= {f"inputs.{kind}" for kind in words["inputs"]}
    # A key that now asks for something removes it from the list of omissions.
    words["leaves_out"] = [omission for omission in words["leaves_out"] if Omission.model_validate(omission).holds_after(changed)]
    where = Where(source, lines, options)
    return plan_from_words(words, where), where
