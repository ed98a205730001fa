"""The studies: each folder here with a ``study.py`` is one, found by a scan. Folder ``end_to_end`` holds the study ``end-to-end``.

A study's folder holds its built-in plans as YAML files. Its ``study.py`` defines ``STUDY``.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from dpubench.errors import UserError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpubench.analysis.model import Comparison
    from dpubench.analysis.movement import Movement
    from dpubench.anchors import Anchor
    from dpubench.storage.runs import RunDirectory
    from dpubench.studies.packaged import PackagedStudy


@dataclass(frozen=True)
class Request:
    """The options that ``dpubench run`` and ``dpubench resume`` pass to a study besides the plan."""

    name: str = ""  #: name of the run; empty: built from study, plan and time
    results: Path = Path("results")
    inputs: Sequence[str] = ()  #: input kinds given with ``--input``
    engine_dirs: Sequence[Path] = ()
    devices: Sequence[str] = ()
    against: Path | None = None
    dry_run: bool = False
    as_json: bool = False
    anchor: Anchor | None = None  #: the saved build to compare with, in place of ``against``
    effect: float | None = None  #: the smallest slowdown against the other build that fails the run, as a share; None: a slowdown never fails it


#: A study: its plans, the code that runs them, and the terminal output and report of their runs.
Study: TypeAlias = "PackagedStudy"


class Part(NamedTuple):
    """One comparison between runs. Two runs can have several."""

    title: str  #: the compared targets; empty if there is only one comparison
    rows: Sequence[Comparison]
    between_targets: bool = False
    what: str = ""  #: the compared quantity, if it is not a rate
    movement: Movement | None = None  #: change of the machine itself between the runs, if the rows are corrected for it


def check_names(given: Sequence[str], known: Iterable[str], what: str) -> None:
    """Check that all names ``given`` with ``--operator`` or ``--workload`` (``what``) are in the run. @raises UserError with the nearest name"""
    there = sorted(set(known))
    for name in given:
        if name not in there:
            raise UserError(f"--{what} {name}: the run has no such {what}{nearest(name, there)}")


def names() -> list[str]:
    """Return the names of all studies, sorted."""
    here = Path(__path__[0])
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if m.ispkg and (here / m.name / "study.py").is_file())


def _package(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def find(name: str) -> Study:
    """Return the study called ``name``. @raises UserError with the nearest name."""
    if name not in names():
        raise UserError(f"unknown study '{name}'{nearest(name, names())}")
    return cast("Study", importlib.import_module(f"{_package(name)}.study").STUDY)


def of_run(found: RunDirectory) -> Study:
    """Return the study that made a run. @raises UserError when this version does not have it"""
    name = str(found.record().get("study", "operators"))
    if name not in names():
        raise UserError(f"{found.path}: was made by study '{name}', which this version does not have")
    return find(name)


def plan_names(study: str) -> list[str]:
    """Return the names of the built-in plans of a study, ``quick`` first."""
    found = [f.name[:-5] for f in resources.files(_package(study)).iterdir() if f.name.endswith(".yaml")]
    return sorted(found, key=lambda n: (n != "quick", n))


def plan_path(study: str, plan: str) -> Path:
    """Return the path of a built-in plan's file. @raises UserError with the nearest name."""
    known = plan_names(study)
    if plan not in known:
        raise UserError(f"--plan: study '{study}' has no plan '{plan}'{nearest(plan, known)}")
    return Path(str(resources.files(_package(study)).joinpath(f"{plan}.yaml")))
