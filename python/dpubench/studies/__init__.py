"""Studies: each a folder here, found by a scan; ``end_to_end`` is the study ``end-to-end``.

A study holds its built-in plans as YAML files and, in ``study.py``, ``STUDY``.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from dpubench.errors import UserError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpubench.anchors import Anchor
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.results.model import Comparison
    from dpubench.results.movement import Movement
    from dpubench.results.store import RunDirectory


@dataclass(frozen=True)
class Request:
    """What ``dpubench run`` and ``dpubench resume`` ask of a study besides the plan."""

    name: str = ""  #: of the run; empty: made of study, plan and time
    results: Path = Path("results")
    inputs: Sequence[str] = ()  #: kinds that ``--input`` gave
    engine_dirs: Sequence[Path] = ()
    devices: Sequence[str] = ()
    against: Path | None = None
    dry_run: bool = False
    as_json: bool = False
    anchor: Anchor | None = None  #: in place of ``against``
    effect: float | None = None  #: the smallest slowdown against the other build that fails the run (a share); None: none does


class Study(Protocol):
    """A study owns its plans, how they are carried out, what is said of their runs on the terminal, and their report.

    What a run is analysed to is the study's own: only its own functions look into it.
    """

    name: str
    question: str
    plan_model: type[StudyPlan]
    #: Options of ``dpubench run`` that are no plan keys, and that this study has: ``--engine-dir``, ``--device``, ``--against``.
    run_options: frozenset[str]
    #: Smallest change that counts in a comparison, unless `dpubench compare --min-effect` says otherwise.
    default_effect: str

    def run(self, plan: StudyPlan, where: Where, request: Request) -> int:
        """Carries ``plan`` out in a new run directory, and tells how it went; the exit status. @raises UserError"""

    def resume(self, found: RunDirectory, request: Request) -> int:
        """Goes on with an interrupted run. @raises UserError"""

    def summaries(self, path: Path) -> list[Any]:
        """The run in ``path``, analysed; of several targets one each. @raises UserError"""

    def only(self, runs: list[Any], names: Sequence[str]) -> list[Any]:
        """``runs`` with the points of these operators or workloads alone. @raises UserError with the nearest name"""

    def show(self, runs: Sequence[Any]) -> str:
        """For the terminal."""

    def export(self, runs: Sequence[Any], form: Literal["csv", "json", "latex"]) -> str:
        """One record a point. @raises UserError for a form that the study does not have"""

    def to_parquet(self, runs: Sequence[Any], path: Path) -> None:
        """One row a point."""

    def anonymous(self, runs: Sequence[Any]) -> list[Any]:
        """Without what tells whose machine it was."""

    def compare(self, old: Sequence[Any], new: Sequence[Any] | None, effect: float, best: bool | None) -> list[Part]:
        """What there is to compare, within ``old`` where ``new`` is None. ``best``: see ``dpubench compare``. @raises UserError"""

    def write_report(self, runs: list[Any], output: Path, baseline: str | None = None, pairing: str = "best") -> None:
        """The HTML report. @raises ValueError without runs or with an unknown baseline; OSError when it cannot be written"""


class Part(NamedTuple):
    """One of the comparisons that two runs come to."""

    title: str  #: what is compared; empty where there is one comparison only
    rows: Sequence[Comparison]
    between_targets: bool = False
    what: str = ""  #: what is set against what, where it is not rates
    movement: Movement | None = None  #: what the machine did between two runs of it, where the rows are taken beyond that


def check_names(given: Sequence[str], known: Iterable[str], what: str) -> None:
    """Of ``--operator`` or ``--workload`` (``what``) of a command that reads runs. @raises UserError with the nearest name"""
    there = sorted(set(known))
    for name in given:
        if name not in there:
            raise UserError(f"--{what} {name}: the run has no such {what}{nearest(name, there)}")


def names() -> list[str]:
    """Every study, by name."""
    here = Path(__path__[0])
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if m.ispkg and (here / m.name / "study.py").is_file())


def _package(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def find(name: str) -> Study:
    """The study called ``name``. @raises UserError with the nearest name."""
    if name not in names():
        raise UserError(f"unknown study '{name}'{nearest(name, names())}")
    return cast("Study", importlib.import_module(f"{_package(name)}.study").STUDY)


def of_run(found: RunDirectory) -> Study:
    """The study that made a run. @raises UserError when this version does not have it"""
    name = str(found.record().get("study", "operators"))
    if name not in names():
        raise UserError(f"{found.path}: was made by study '{name}', which this version does not have")
    return find(name)


def plan_names(study: str) -> list[str]:
    """Built-in plans of a study, ``quick`` first."""
    found = [f.name[:-5] for f in resources.files(_package(study)).iterdir() if f.name.endswith(".yaml")]
    return sorted(found, key=lambda n: (n != "quick", n))


def plan_path(study: str, plan: str) -> Path:
    """The file of a built-in plan. @raises UserError with the nearest name."""
    known = plan_names(study)
    if plan not in known:
        raise UserError(f"--plan: study '{study}' has no plan '{plan}'{nearest(plan, known)}")
    return Path(str(resources.files(_package(study)).joinpath(f"{plan}.yaml")))
