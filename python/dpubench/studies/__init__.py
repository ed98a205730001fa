"""The studies: each folder here with a ``study.py`` is one, found by a scan. Folder ``end_to_end`` holds the study ``end-to-end``.

A study's folder holds its built-in plans as YAML files. Its ``study.py`` defines ``STUDY``.
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
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import ExitStack

    from dpubench.analysis.model import Comparison
    from dpubench.analysis.movement import Movement
    from dpubench.anchors import Anchor
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.run.importing import File, Imported
    from dpubench.run.session import Draft, Ending, Told
    from dpubench.storage.runs import KeptRun, Reading, RunDirectory, RunWriter


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


class Study(Protocol):
    """A study: its plans, the code that runs them, and the terminal output and report of their runs.

    Each study has its own type for an analysed run. Only the study's own functions look into it.
    """

    name: str
    question: str
    plan_model: type[StudyPlan]
    #: Options of ``dpubench run`` that this study accepts and that are not plan keys: ``--engine-dir``, ``--device``, ``--against``.
    run_options: frozenset[str]
    #: Smallest change that counts in a comparison. `dpubench compare --min-effect` overrides it.
    default_effect: str

    @property
    def writer(self) -> type[RunWriter]:
        """Return the writer of its run directories."""

    def drafts(self, plan: StudyPlan, where: Where, request: Request, opened: ExitStack) -> list[Draft]:
        """Return what ``plan`` comes to on each of its targets. Targets stay open until ``opened`` closes. @raises UserError"""

    def draft_again(self, plan: StudyPlan, where: Where, record: Mapping[str, Any], request: Request, opened: ExitStack) -> Draft:
        """Return what is needed to continue the run of ``record`` (``run.json``). Its target stays open until ``opened`` closes. @raises UserError"""

    def imports(self, files: Sequence[File]) -> Imported:
        """Return what ``files`` hold, for ``dpubench import``. @raises UserError the study reads no results of others, or a file is wrong"""

    def ended(self, runs: list[Any], ending: Ending) -> Told:
        """Return the last lines of a run that was executed to its end, and its exit status."""

    #: Names of its SQL views, besides its part of ``points``.
    views: tuple[str, ...]

    def view(self, name: str, runs: Sequence[KeptRun], reading: Reading) -> Any:
        """Return one of its :attr:`views` over ``runs``, all of this study, for DuckDB. It reads each run inside ``reading()``. @raises UserError"""

    def table(self, runs: Sequence[Any]) -> Any:
        """Return the analysed ``runs`` as an Arrow table, one row per point."""

    def summaries(self, path: Path, label: str = "") -> list[Any]:
        """Return the run in ``path``, analysed: one summary per target. @raises UserError

        ``label``: the label of the target, for a run that does not record it.
        """

    def only(self, runs: list[Any], names: Sequence[str]) -> list[Any]:
        """Return ``runs`` with only the points of the operators or workloads in ``names``. @raises UserError with the nearest name"""

    def show(self, runs: Sequence[Any]) -> str:
        """Return ``runs`` as text for the terminal."""

    def export(self, runs: Sequence[Any], form: Literal["csv", "json", "latex"]) -> str:
        """Return the runs in ``form``, one record per point. @raises UserError for a form that the study does not have"""

    def to_parquet(self, runs: Sequence[Any], path: Path) -> None:
        """Write a Parquet file to ``path``, one row per point."""

    def anonymous(self, runs: Sequence[Any]) -> list[Any]:
        """Return copies of ``runs`` without data that identifies the machine or its owner."""

    def compare(self, old: Sequence[Any], new: Sequence[Any] | None, effect: float, best: bool | None) -> list[Part]:
        """Return the comparisons of ``new`` with ``old``, or those within ``old`` if ``new`` is None. ``best``: see ``dpubench compare``.

        @raises UserError
        """

    def write_report(self, runs: list[Any], output: Path, baseline: str | None = None, pairing: str = "best") -> None:
        """Write the HTML report to ``output``. @raises ValueError without runs or with an unknown baseline; OSError when it cannot be written"""


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
