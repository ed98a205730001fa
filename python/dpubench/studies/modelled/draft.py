"""What drafts of the studies of modelled processors share: the kinds of input, the head of ``run.json``, the check of processors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpubench.errors import OtherThingError, UserError
from dpubench.plans.model import StudyPlan
from dpubench.run import record as records
from dpubench.run import session
from dpubench.run.record import Head, TargetInfo, anyway
from dpubench.simulation import simulator
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import MODEL_PREFIX
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask
from dpubench.workers.checks import parse_cores_event
from dpubench.workers.process import WorkerFault

#: Time limit of a question to the simulator, in seconds.
_LIST_LIMIT_S = 30.0


class SimulatedDraft(session.Draft):
    """A plan of simulations, or an interrupted run of them."""

    writer = OutcomesWriter

    def _processors(self) -> dict[str, str]:
        """Return the digest of each simulation's processor, by the simulation's id."""
        return {}

    def _common_record(self, head: Head, left_out: Iterable[str], hello: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the common part of ``run.json``. ``hello``: the greeting of the program at work, by default the simulator's."""
        return records.new_record(head, self.plan, self.target, simulator_hello() if hello is None else hello, left_out)

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        if {entry["id"]: entry["processor_digest"] for entry in record["configurations"]} != self._processors():
            again = anyway(path, record)
            raise OtherThingError(f"{path}: this version makes other processors of the plan's models than the run began with: {again}")


def target_of(plan: StudyPlan, label: str) -> TargetInfo:
    """Return the target of a plan of simulations, as in records: all its models together."""
    name = plan.target[0] if len(plan.target) == 1 else MODEL_PREFIX + ",".join(t.removeprefix(MODEL_PREFIX) for t in plan.target)
    return TargetInfo(name, name, label)


def simulator_hello() -> dict[str, Any]:
    """Return the simulator's ``hello`` event. @raises UserError when the simulator is not there or does not answer"""
    program = simulator.program()
    try:
        events = ask(LocalTarget(), str(program), ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_cores_event)
    except WorkerFault as fault:
        raise UserError(f"{program}: does not say what it is: {fault.reason}") from None
    return next(event for event in events if event["event"] == "hello")
