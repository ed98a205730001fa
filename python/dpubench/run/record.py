"""The content of ``run.json`` of a new or resumed run, and checks before resuming it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench import __version__, inputs, schemas
from dpubench.errors import OtherThingError, UserError
from dpubench.inputs import Resolved
from dpubench.plans.model import StudyPlan
from dpubench.storage.runs import TARGETS, RunWriter, now_utc

if TYPE_CHECKING:
    from dpubench.studies import Request

#: Message for a run that has nothing to resume.
COMPLETE: Final = "is complete: nothing is left to resume; repeat it with `dpubench run {plan}`"


def new_name(plan: StudyPlan) -> str:
    """Return a name for a run without one: study, plan and time."""
    return f"{plan.study}-{plan.plan}-{datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%SZ')}"


def gone_on_with(writer: RunWriter) -> dict[str, Any]:
    """Return ``run.json`` of an interrupted run. @raises UserError it is complete"""
    record = writer.record()
    if record["status"] == "complete":
        raise UserError(f"{writer.path}: {COMPLETE.format(plan=writer.plan_file)}")
    return record


def anyway(path: Path, record: Mapping[str, Any]) -> str:
    """Return advice for a run that cannot go on: how to carry out its plan anew with the machine and files of now."""
    # For a member of a run of several targets, name the whole run: no member stands alone.
    run = path.parent.parent if path.parent.name == TARGETS and (path.parent.parent / "run.json").is_file() else path
    words = ["dpubench resume", shlex.quote(str(run)), "--anyway", *named_again(record.get("setting", {}))]
    return f"carry its plan out anew, as a run of its own, with `{' '.join(words)}`"


def inputs_again(writer: RunWriter, record: Mapping[str, Any]) -> Resolved:
    """Return the inputs of an interrupted run. @raises UserError one is gone; OtherThingError one differs from the run's beginning"""
    resolved = inputs.resolve(record["inputs"], {kind: entry.get("given", []) for kind, entry in record["inputs"].items()})
    for kind, entry in record["inputs"].items():
        found = resolved.inputs.get(kind)
        if found is None:
            anew = f"put it back, or start anew with `dpubench run {writer.plan_file}`"
            raise UserError(f"{writer.path}: input {kind} of the run is gone ({resolved.missing[kind].reason}): {anew}")
        if found.sha256 != entry["sha256"]:
            where = ", ".join(entry.get("given", [])) or entry["name"]
            raise OtherThingError(
                f"{writer.path}: input {kind} ({where}) is another than the run began with (SHA-256 {entry['sha256'][:12]}, "
                f"now {found.sha256[:12]}), and one figure cannot be of both: put it back, or {anyway(writer.path, record)}"
            )
    return resolved


#: Properties that all rounds of a run must share, with their names in messages.
_OF_MACHINE: Final = {
    "host": "host",
    "architecture": "architecture",
    "cpu": "CPU",
    "cores_online": "number of cores",
    "cpus_online": "number of CPUs",
}
_OF_BUILD: Final = {"revision": "revision of the build", "compiler": "compiler", "flags": "compiler's flags", "type": "type of the build"}


def check_same_machine(path: Path, record: Mapping[str, Any], hello: Mapping[str, Any]) -> None:
    """Compare the machine and the build at the beginning of the run in ``path`` with those of now. @raises OtherThingError they differ"""
    differs = [
        f"{name} ('{before.get(key, '')}', now '{now.get(key, '')}')"
        for before, now, names in ((record["machine"], hello["machine"], _OF_MACHINE), (record["build"], hello["build"], _OF_BUILD))
        for key, name in names.items()
        if before.get(key, "") != now.get(key, "")
    ]
    if differs:
        raise OtherThingError(
            f"{path}: cannot go on here, since one figure cannot be of both: {', '.join(differs)}. Go on where it began, or {anyway(path, record)}"
        )


def named_again(setting: Mapping[str, Any]) -> list[str]:
    """Return the options that name other people's programs in a run's ``setting``: ``resume`` only executes programs named again."""
    words = [f"--engine-dir {shlex.quote(d)}" for d in setting.get("engine_dirs", [])]
    # An anchor is a build of dpubench, kept by its digest.
    return words + ([f"--against {shlex.quote(setting['against'])}"] if setting.get("against") and not setting.get("anchor") else [])


def check_named(path: Path, record: Mapping[str, Any], engine_dirs: Sequence[Path], against: Path | None = None) -> None:
    """Check that the user names the same programs of others as the run directory, which may come from anywhere. @raises UserError"""
    setting = record.get("setting", {})
    wanted = named_again(setting)
    given = [f"--engine-dir {shlex.quote(str(d.resolve()))}" for d in engine_dirs]
    if not setting.get("anchor"):
        given += [] if against is None else [f"--against {shlex.quote(str(against))}"]
    if sorted(wanted) != sorted(given):
        if not wanted:
            raise UserError(f"{path}: this run measures with no programs of others: leave out {' '.join(given)}")
        raise UserError(
            f"{path}: this run measures with programs of others, and a run directory may come from anywhere: say that they may run with "
            f"`dpubench resume {shlex.quote(str(path))} {' '.join(wanted)}`"
        )
    folders = {Path(d) for d in setting.get("engine_dirs", [])}
    named = [e["program"] for o in record.get("operators", {}).values() for e in o["engines"] if e.get("program")]
    if outside := [program for program in named if Path(program).parent not in folders]:
        raise UserError(f"{path}: its run.json names the program {outside[0]}, which lies in no folder of --engine-dir: it is not executed")


@dataclass(frozen=True)
class Head:
    """The part of ``run.json`` that the engine knows before a study adds its own."""

    name: str  #: name of the run, or of the target's part of it
    command: str
    inputs: Mapping[str, Any]  #: kind -> description of the files, for the kinds that the run reads
    request: Request


@dataclass(frozen=True)
class TargetInfo:
    """A target in a record."""

    name: str
    spec: str
    label: str  #: words shown beside every figure of it
    emulated: bool = False  #: whether it only tells right outputs from wrong ones: its times mean nothing

    def record(self) -> dict[str, Any]:
        return {"spec": self.spec, "label": self.label, **({"emulated": True} if self.emulated else {})}


def command_line() -> str:
    """Return the command of this process, for the record."""
    return shlex.join(["dpubench", *sys.argv[1:]])


def new_record(head: Head, plan: StudyPlan, target: TargetInfo, hello: Mapping[str, Any], left_out: Iterable[str]) -> dict[str, Any]:
    """Return the common part of ``run.json`` of a run that has no result yet; a study adds its own keys.

    ``hello`` is the greeting of the program at work.
    """
    return {
        "schema": schemas.RUN, "name": head.name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": head.command, "version": __version__, "precision_target": plan.precision, "seed": plan.seed, "target": target.name,
        "target_info": target.record(), "spent_s": 0.0, "machine": hello["machine"], "build": hello["build"], "builds": {},
        "inputs": dict(head.inputs), "rounds": [], "failures": [], "warnings": [], "left_out": list(left_out),
    }  # fmt: skip


def new_set_record(name: str, plan: StudyPlan, command: str, members: Iterable[tuple[TargetInfo, str]]) -> dict[str, Any]:
    """Return ``run.json`` of a run on several targets. ``members`` pairs each with its directory's path in the run's."""
    targets = [{"name": target.name, **target.record(), "path": path, "status": "running", "lost": ""} for target, path in members]
    baseline = "local" if any(t["name"] == "local" for t in targets) else targets[0]["name"]
    return {
        "schema": schemas.RUN_SET, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": command, "version": __version__, "baseline": baseline, "targets": targets,
    }  # fmt: skip
