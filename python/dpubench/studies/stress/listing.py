"""What the stress-ng of a target can do there: its stressors, their classes, and those that it refuses to run, with its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dpubench.errors import EnvironmentFault
from dpubench.studies.stress import stressng
from dpubench.targets import Target
from dpubench.workers.process import WorkerFault
from dpubench.workers.tool import Tool

NAME: Final = "stress-ng"
#: Seconds for a list. A dry run of all stressors asks each whether it can run.
_LIMIT_S: Final = 60.0


@dataclass(frozen=True)
class Listing:
    """The stressors of a target's stress-ng."""

    version: str
    names: Sequence[str]
    classes: Mapping[str, list[str]]  #: by stressor
    class_names: Sequence[str]
    refused: Mapping[str, str]  #: stressor -> why it cannot run there, neither as an ordinary user nor, if root is at hand, as root
    need_root: Sequence[str]  #: those that run there, but as root alone
    pathological: Sequence[str]  #: those that may hang or reboot the machine


def read(target: Target, version: str, *, root: bool) -> Listing:
    """Return the listing of ``target``, whose stress-ng has ``version``; ``root``: whether programs can run as root there.

    Raises:
        EnvironmentFault: stress-ng does not answer as expected.
        TargetLost: the connection to the target broke.
    """
    names = stressng.parse_names(_said(target, ["--stressors"]))
    if not names:
        raise EnvironmentFault(f"target {target.name}: stress-ng --stressors lists no stressor: install another version of stress-ng there")
    refused, pathological = _dry_run(target, names, unprivileged=True)
    need_root: list[str] = []
    if root:
        as_root, more = _dry_run(target, names, unprivileged=False)
        need_root = [name for name in refused if name not in as_root]
        refused = {name: as_root[name] for name in refused if name in as_root}
        pathological = sorted({*pathological, *more})
    class_names = stressng.parse_class_names(_said(target, ["--class", "?"]))
    classes: dict[str, list[str]] = defaultdict(list)
    for class_name in class_names:
        for name in stressng.parse_class(_said(target, ["--class", f"{class_name}?"])):
            classes[name].append(class_name)
    return Listing(version, names, dict(classes), class_names, refused, need_root, pathological)


def _dry_run(target: Target, names: Sequence[str], *, unprivileged: bool) -> tuple[dict[str, str], list[str]]:
    """Return what a dry run of all stressors says: why some are skipped, and which are pathological."""
    words = ["--sequential", "1", "--dry-run", "--timeout", "1s"]
    return stressng.parse_refusals(_said(target, words, unprivileged=unprivileged), names)


def _said(target: Target, arguments: Sequence[str], *, unprivileged: bool = True) -> str:
    """Return everything that stress-ng prints. Its exit status tells nothing here: a list of classes counts as an error."""
    try:
        with Tool(target, NAME, arguments, limit_s=_LIMIT_S, unprivileged=unprivileged) as running:
            ended = running.result()
    except WorkerFault as fault:
        raise EnvironmentFault(f"target {target.name}: stress-ng {' '.join(arguments)}: {fault.reason}") from None
    return f"{ended.stdout}\n{ended.stderr}"
