"""Base class of a study whose parts are modules of its package: ``draft``, ``summary``, ``figures``, ``export`` and so on."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpubench.errors import UserError
from dpubench.studies import Part, Request, check_names, names

if TYPE_CHECKING:
    from dpubench.analysis.model import Figure
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.report.frame import Section
    from dpubench.run.importing import File, Imported
    from dpubench.run.session import Draft, Ending, Told
    from dpubench.storage.runs import KeptRun, Reading, RunWriter


class PackagedStudy:
    """A study made of these modules. It imports each module at its first use, so that `dpubench list` starts fast.

    Each study has its own type for an analysed run. Only the study's own functions look into it.
    """

    name: str
    question: str
    plan_model: type[StudyPlan]
    #: Options of ``dpubench run`` that this study accepts and that are not plan keys: ``--engine-dir``, ``--device``, ``--against``.
    run_options: frozenset[str] = frozenset()
    #: Smallest change that counts in a comparison. `dpubench compare --min-effect` overrides it.
    default_effect: str = "3%"
    views: tuple[str, ...] = ()  #: names of its SQL views, besides its part of ``points``
    #: Package beside the studies with the modules that this study's folder lacks: ``measured``.
    inherits: ClassVar[str] = ""
    #: Option that chooses points in commands that read runs, without its dashes: ``operator`` or ``workload``.
    chosen_by: ClassVar[str] = "operator"
    #: Page of the documentation on the study; empty: ``NAME-study.md``.
    page: ClassVar[str] = ""

    def documentation(self) -> str:
        """Return the page of the documentation that explains the study and its figures."""
        return self.page or f"{self.name}-study.md"

    def names_of(self, point: Any) -> Iterable[str]:
        """Return the names by which the user can choose ``point``."""
        return (str(point.id),)

    def _module(self, part: str) -> Any:
        """Return a module of the study's folder; if the folder lacks it, that of the package that the study inherits from."""
        own = f"{__package__}.{self.name.replace('-', '_')}.{part}"
        if self.inherits and importlib.util.find_spec(own) is None:
            return importlib.import_module(f"{__package__}.{self.inherits}.{part}")
        return importlib.import_module(own)

    @property
    def writer(self) -> type[RunWriter]:
        """Return the writer of its run directories."""
        found: type[RunWriter] = self._module("draft").WRITER
        return found

    def drafts(self, plan: StudyPlan, where: Where, request: Request, opened: ExitStack) -> list[Draft]:
        """Return what ``plan`` comes to on each of its targets. Targets stay open until ``opened`` closes. @raises UserError"""
        assert isinstance(plan, self.plan_model)  # the loader reads each plan with the model of its study
        found: list[Draft] = self._module("draft").drafts(plan, where, request, opened)
        return found

    def draft_again(self, plan: StudyPlan, where: Where, record: Mapping[str, Any], request: Request, opened: ExitStack) -> Draft:
        """Return what is needed to continue the run of ``record`` (``run.json``). Its target stays open until ``opened`` closes. @raises UserError"""
        assert isinstance(plan, self.plan_model)  # likewise
        found: Draft = self._module("draft").draft_again(plan, where, record, request, opened)
        return found

    def imports(self, files: Sequence[File]) -> Imported:
        """Return what ``files`` hold, read by module ``imports``. @raises UserError the study has none, or a file is wrong"""
        if importlib.util.find_spec(f"{__package__}.{self.name.replace('-', '_')}.imports") is None:
            raise UserError(f"--study {self.name}: this study reads no results of others{_importing()}")
        found: Imported = self._module("imports").imported(files)
        return found

    def ended(self, runs: list[Any], ending: Ending) -> Told:
        """Return the last lines of a run and its exit status: the summaries of module ``tell``, one for each target that was at work."""
        from dpubench.run.session import Told

        records = {str(record["target"]): record for record in ending.records}
        at_work = [run for run in runs if run.target in records]
        lines = [line for run in at_work for line in self._module("tell").summary(run, records[run.target], ending.path, ending.report)]
        return Told(lines, ending.status, {})

    def view(self, name: str, runs: Sequence[KeptRun], reading: Reading) -> Any:
        """Return one of its :attr:`views` over ``runs``, all of this study, for DuckDB. It reads each run inside ``reading()``. @raises UserError"""
        return self._module("views").VIEWS[name](runs, reading)

    def table(self, runs: Sequence[Any]) -> Any:
        """Return the analysed ``runs`` as an Arrow table, one row per point."""
        return self._module("export").EXPORT.table(runs)

    def summaries(self, path: Path, label: str = "") -> list[Any]:
        """Return the run in ``path``, analysed: one summary per target. @raises UserError

        ``label``, of the target, counts only in a study whose earlier runs did not record it.
        """
        found: list[Any] = self._module("summary").summaries(path)
        return found

    def only(self, runs: list[Any], names: Sequence[str]) -> list[Any]:
        """Return ``runs`` with only the points of the operators or workloads in ``names``. @raises UserError with the nearest name"""
        check_names(names, (name for found in runs for point in found.points for name in self.names_of(point)), self.chosen_by)
        return [replace(found, points=[p for p in found.points if any(name in names for name in self.names_of(p))]) for found in runs]

    def show(self, runs: Sequence[Any]) -> str:
        """Return ``runs`` as text for the terminal."""
        return str(self._module("text").show(runs))

    def export(self, runs: Sequence[Any], form: Literal["csv", "json", "latex"]) -> str:
        """Return the runs in ``form``, one record per point. @raises UserError for a form that the study does not have"""
        return str(getattr(self._module("export").EXPORT, form)(runs))

    def to_parquet(self, runs: Sequence[Any], path: Path) -> None:
        """Write a Parquet file to ``path``, one row per point."""
        self._module("export").EXPORT.write_parquet(runs, path)

    def target_names(self, runs: Sequence[Any]) -> list[str]:
        """Return the targets of ``runs`` that anonymous copies rename."""
        found: list[str] = self._module("export").EXPORT.target_names(runs)
        return found

    def anonymous(self, runs: Sequence[Any], names: Sequence[str] | None = None) -> list[Any]:
        """Return copies of ``runs`` without data that identifies the machine or its owner.

        ``names``: the targets in the order of their new names, where runs of other studies stand beside these.
        """
        copies: list[Any] = self._module("export").EXPORT.anonymous(runs, names)
        return copies

    def figures(self, runs: Sequence[Any]) -> list[Figure]:
        """Return the points of ``runs`` in the form that all studies share: a figure for each quantity of each point."""
        return [figure for run in runs for figure in self._module("figures").figures(run)]

    def compare(self, old: Sequence[Any], new: Sequence[Any] | None, effect: float, best: bool | None) -> list[Part]:
        """Return the comparisons of ``new`` with ``old``, or those within ``old`` if ``new`` is None. ``best``: see ``dpubench compare``.

        @raises UserError
        """
        parts: list[Part] = self._module("compare").compared(old, new, effect, best)
        return parts

    def section(self, runs: list[Any], baseline: str | None = None, pairing: str = "best") -> Section:
        """Return the report of ``runs``, to be written alone or beside others. @raises ValueError without runs or with an unknown baseline

        ``pairing`` counts only in a study that compares engines.
        """
        found: Section = self._module("report").section(runs, baseline)
        return found


def _importing() -> str:
    """Return which studies read results of others, for a message."""
    able = [name for name in names() if importlib.util.find_spec(f"{__package__}.{name.replace('-', '_')}.imports") is not None]
    return f": these do: {', '.join(able)}" if able else ""
