"""Reads the run of a study whose runs have one target each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dpubench.errors import UserError
from dpubench.plans.load import read_plan
from dpubench.plans.model import StudyPlan
from dpubench.storage.runs import RUN_SET, DamagedRunError, RunDirectory

_P = TypeVar("_P", bound=StudyPlan)
_R = TypeVar("_R")


def analysed(path: Path, study: str, plan_model: type[_P], summarise: Callable[[dict[str, Any], _P, Path], _R]) -> list[_R]:
    """Return the run of ``study`` in ``path``, analysed by ``summarise`` (``run.json``, plan, path), whatever its status.

    @raises UserError when it is not readable
    """
    directory = RunDirectory(path)
    record = directory.record()
    if record["schema"] == RUN_SET:
        raise UserError(f"{path}: is a set of several runs, and a run of study {study} is a single run: name one of them")
    plan, _ = read_plan(directory.plan_file)
    if not isinstance(plan, plan_model):
        raise UserError(f"{path}: its plan is of study {plan.study}")
    try:
        return [summarise(record, plan, path)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedRunError(f"{directory.run_file}: does not follow dpubench.run/1 of study {study} ({error!r})") from error
