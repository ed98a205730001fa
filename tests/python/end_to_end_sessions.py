"""Clients and servers of study ``end-to-end`` without a run around them: single trials, and a check of their accounts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from dpubench import inputs
from dpubench.plans.load import Where
from dpubench.run.listener import Listener
from dpubench.studies.end_to_end import catalog, judge
from dpubench.studies.end_to_end.expand import Configuration, expand
from dpubench.studies.end_to_end.places import Places
from dpubench.studies.end_to_end.plan import Plan
from dpubench.studies.end_to_end.session import Done, Session, Setting
from dpubench.targets.local import LocalTarget
from dpubench.workers.process import StopRequest

PLACES = ("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive")
#: Settings of all trials unless a test says otherwise.
COMMON: dict[str, Any] = {
    "frame_sizes": ["64B"], "rates": ["20kpps"], "traffic": {"flows": 100}, "trial": {"ramp": "20ms", "duration": "200ms", "drain": "200ms"},
    "search": {"goals": []}, "silence": "30s",
}  # fmt: skip


def plan_of(**given: Any) -> Plan:
    """Return a plan; settings that are not given come from COMMON."""
    return Plan.model_validate(yaml.safe_load(yaml.safe_dump(COMMON | given)))


def account_fault(session: Session, done: Done) -> str:
    """Return why the accounts of a trial cannot be right, or an empty string.

    They are right where every packet came back or has a place, and every answer and flow is right.
    """
    trial, served, checked = done.trial, done.served, done.checked
    if checked is None:
        return "nothing was checked"
    if fault := judge.disagreement(trial, checked):
        return fault
    if strange := {k: trial[k] for k in ("corrupted", "duplicates", "foreign") if trial[k]}:
        return f"counted by the client: {strange}"
    for event in served:
        whereabouts = event["transmitted"] + event["tx_full"] + sum(event["dropped"].values()) + event["held"] + event.get("away", 0)
        if event["received"] != whereabouts:
            return f"a server received {event['received']} packets and accounts for {whereabouts}"
    return "" if trial["due"] else "no packet was due"


class Sessions:
    """Starts sessions on this machine."""

    def __init__(self, stop: StopRequest) -> None:
        self._stop = stop
        self._target = LocalTarget()
        self._target.open()
        self._catalog = catalog.read(self._target)

    def configurations(self, plan: Plan) -> list[Configuration]:
        """Return a plan's configurations, without the null workload where there are others."""
        found = expand(plan, self._catalog, len(self._target.cpus()), Where("the test's plan")).configurations
        return [c for c in found if not c.is_null] or found

    @contextlib.contextmanager
    def opened(
        self,
        plan: Plan,
        configuration: Configuration | None = None,
        files: Mapping[str, Sequence[Path]] | None = None,
        session_s: float = 60,
        listener: Listener | None = None,
    ) -> Iterator[Session]:
        """Yield the session of ``configuration``, or of the plan's first one.

        ``files`` holds inputs by kind; kinds that are not given use the default.
        """
        chosen = configuration or self.configurations(plan)[0]
        given = {kind: [str(f) for f in paths] for kind, paths in (files or {}).items()}
        resolved = inputs.resolve({*chosen.inputs, *given, "rules"} - ({"capture"} - given.keys()), given)
        target = self._target
        setting = Setting(
            Places(target, target, target),
            self._stop,
            listener or Listener(),
            {target.name: plan.memory.huge_pages == "yes"},
            resolved.for_job(),
            plan.seed,
        )
        with Session(setting, plan, chosen, session_s) as session:
            yield session


@contextlib.contextmanager
def sessions_here() -> Iterator[Sessions]:
    """Yield sessions that end when a stop is requested."""
    with StopRequest() as stop:
        yield Sessions(stop)


def enough_cpus() -> bool:
    """Return whether a client and a server can have a CPU each."""
    return len(os.sched_getaffinity(0)) >= 2
