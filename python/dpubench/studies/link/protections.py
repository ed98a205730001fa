"""The protections of a file on its way that a target has, as ``dpubench-link`` tells."""

from __future__ import annotations

from typing import Final

from dpubench import programs
from dpubench.errors import EnvironmentFault
from dpubench.targets import Target
from dpubench.workers.ask import ask
from dpubench.workers.checks import parse_link_event
from dpubench.workers.process import WorkerFault

_LIST_LIMIT_S: Final = 30.0


def lacking(target: Target) -> dict[str, str]:
    """Return, per protection of a file, why it cannot be used on ``target``; empty if it can. @raises EnvironmentFault, TargetLost"""
    try:
        events = ask(target, target.program(programs.LINK), ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_link_event)
    except WorkerFault as fault:
        raise EnvironmentFault(f"target {target.name}: {programs.LINK}: {fault.reason}") from None
    found = next((event["catalog"]["protections"] for event in events if event["event"] == "hello" and "catalog" in event), None)
    if found is None:
        raise EnvironmentFault(f"target {target.name}: {programs.LINK} --list does not answer: run `make build`, or make a new bundle")
    return {entry["name"]: "" if entry["available"] else entry["reason"] for entry in found}
