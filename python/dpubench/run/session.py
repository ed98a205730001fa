"""The life of a run of any study: a new one from its plan, or an interrupted one, on one target or on several in turns.

A study supplies a :class:`Draft` for each target of a plan. Everything else is here: inputs, the dry run, run directories, the course, the end.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpubench import anchors, inputs, programs
from dpubench.catalog import check_given
from dpubench.errors import Exit, Interrupted, NothingRan, PlanError, TargetLost, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.plans.model import StudyPlan
from dpubench.plans.quantities import spoken
from dpubench.run.console import conclude, going_on, page_lines, summary_event, write_report
from dpubench.run.listener import Listener
from dpubench.run.progress import listener
from dpubench.run.record import COMPLETE, Head, TargetInfo, check_named, command_line, gone_on_with, inputs_again, new_name, new_set_record
from dpubench.run.turns import RunSet, missing_text
from dpubench.run.work import Budget, Work
from dpubench.storage.runs import RunDirectory, RunSetWriter, RunWriter, member_path
from dpubench.terminal import print_json
from dpubench.workers.process import StopRequest

if TYPE_CHECKING:
    from dpubench.studies import Request, Study


class Draft(abc.ABC):
    """A plan on one of its targets, before anything runs there: what it measures, and with which inputs."""

    writer: ClassVar[type[RunWriter]]  #: writer of its run directory
    reserve: ClassVar[float] = 0.0  #: share of the budget reserved for the report and for errors of the estimate

    plan: StudyPlan  #: the plan as it applies to this target
    target: TargetInfo

    @property
    @abc.abstractmethod
    def inputs(self) -> set[str]:
        """Return the kinds of input that it reads."""

    @property
    def refused(self) -> bool:
        """Return whether something that the plan names cannot run, which fails a dry run."""
        return False

    @abc.abstractmethod
    def lack(self, kind: str, reason: str) -> None:
        """Take out everything that reads ``kind``, which is missing for ``reason``. @raises UserError nothing is left without it"""

    @abc.abstractmethod
    def why_nothing(self) -> str:
        """Return why nothing that was asked for can run on this target; empty if something can."""

    @abc.abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what a run would measure, for ``--dry-run --json``."""

    @abc.abstractmethod
    def lines(self) -> list[str]:
        """Return what a run would measure, for ``--dry-run``."""

    @abc.abstractmethod
    def record(self, head: Head) -> dict[str, Any]:
        """Return ``run.json`` of a run that has no result yet."""

    @abc.abstractmethod
    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        """Check that machine, build and models are those with which the run in ``path`` began. @raises OtherThingError"""

    @abc.abstractmethod
    def work(self, writer: Any, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Work:
        """Return the run, ready to execute. ``writer`` is of the draft's own kind."""


@dataclass(frozen=True)
class Ending:
    """The end of a run, for its study to report."""

    path: Path
    report: Path | None
    status: Exit
    records: list[dict[str, Any]]  #: ``run.json`` of each target that was at work
    targets: list[dict[str, Any]]  #: entries of all targets of a run of several; empty for an ordinary run
    effect: float | None  #: the smallest slowdown against another build that fails the run, as a share; None: none does


@dataclass(frozen=True)
class Told:
    """A study's report of the end of a run."""

    lines: list[str]
    status: Exit
    more: Mapping[str, Any]  #: keys that it adds to the summary event of ``--json``


@dataclass(frozen=True)
class _Part:
    """A draft with the directory and the record of its run."""

    draft: Draft
    writer: RunWriter
    record: dict[str, Any]
    files: Resolved


def other_program(request: Request) -> Path | None:
    """Return the program of the build to alternate with, or None if there is none. @raises UserError"""
    if request.anchor is not None:
        return anchors.program(request.anchor)
    return programs.operators_program(request.against) if request.against is not None else None


# --------------------------------------------------------------------------- new runs


def start(study: Study, plan: StudyPlan, where: Where, request: Request) -> int:
    """Make a new run of ``plan``, or say what it would measure; return the exit status. @raises UserError"""
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])
    if missing := [d for d in request.engine_dirs if not d.is_dir()]:
        raise UserError(f"--engine-dir {missing[0]}: is no directory")
    with StopRequest() as stop, contextlib.ExitStack() as opened:
        with stop.at_once():
            drafts = study.drafts(plan, where, request, opened)
            files = _files(drafts, plan, request)
        if all(whys := [draft.why_nothing() for draft in drafts]):
            raise NothingRan(whys[0])
        if request.dry_run:
            _print_dry_run(plan, drafts, as_json=request.as_json)
            return Exit.FAILED if any(draft.refused for draft in drafts) else Exit.DONE
        name, exact = request.name or new_name(plan), bool(request.name)
        if len(drafts) == 1:
            writer = opened.enter_context(drafts[0].writer.create(request.results, name, exact=exact))
            part = _new_part(drafts[0], writer, writer.path.name, files, request)
            writer.mark_latest()
            return _carry_out(study, [part], None, stop, request)
        whole = opened.enter_context(RunSetWriter.create(request.results, name, exact=exact))
        called = whole.path.name
        record = new_set_record(called, plan, command_line(), [(draft.target, member_path(draft.target.name)) for draft in drafts])
        whole.write_plan(plan_text(plan))
        writers = [opened.enter_context(whole.member(draft.target.name, draft.writer)) for draft in drafts]
        parts = [_new_part(draft, w, f"{called}@{draft.target.name}", files, request) for draft, w in zip(drafts, writers, strict=True)]
        whole.write_record(record)
        whole.mark_latest()
        return _carry_out(study, parts, (whole, record), stop, request)


def _files(drafts: Sequence[Draft], plan: StudyPlan, request: Request) -> Resolved:
    """Return the inputs that ``drafts`` read, without what reads a missing kind. @raises UserError"""
    kinds = {kind for draft in drafts for kind in draft.inputs}
    files = inputs.resolve(kinds, plan.inputs)
    inputs.refuse_unread(request.inputs, kinds)
    check_given(files)
    for draft in drafts:
        for kind, missing in files.missing.items():
            draft.lack(kind, missing.reason)
    return files


def _new_part(draft: Draft, writer: RunWriter, name: str, files: Resolved, request: Request) -> _Part:
    record = draft.record(Head(name, command_line(), {kind: found.record() for kind, found in files.inputs.items()}, request))
    writer.write_plan(plan_text(draft.plan))
    writer.write_record(record)
    return _Part(draft, writer, record, files)


def _print_dry_run(plan: StudyPlan, drafts: Sequence[Draft], *, as_json: bool) -> None:
    if as_json:
        print_json(drafts[0].described() if len(drafts) == 1 else {"targets": {draft.target.name: draft.described() for draft in drafts}})
        return
    for draft in drafts:
        name, label = draft.target.name, draft.target.label
        if len(drafts) > 1:
            print(f"target {name}" + (f" ({label})" if label else ""))
        print("\n".join([f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "), *draft.lines()]))
    if len(drafts) > 1 and (seconds := _seconds(plan)) is not None:
        print(f"the targets share the budget of {spoken(seconds)}")


def _seconds(plan: StudyPlan) -> float | None:
    """Return the seconds that a run of ``plan`` may take; None if its study has no budget."""
    return getattr(plan, "budget", None)


# --------------------------------------------------------------------------- interrupted runs


def resume(study: Study, found: RunDirectory, request: Request) -> int:
    """Continue the interrupted run or set ``found``; return the exit status. @raises UserError it is complete, or cannot be continued"""
    with StopRequest() as stop, contextlib.ExitStack() as opened:
        if not found.is_set:
            writer = opened.enter_context(study.writer(found.path))
            return _carry_out(study, [_part_again(study, writer, opened, stop, request)], None, stop, request)
        whole = opened.enter_context(RunSetWriter(found.path))
        record = whole.record()
        owing = [entry for entry in record["targets"] if entry["status"] != "complete"]
        if not owing:
            raise UserError(f"{found.path}: {COMPLETE.format(plan=found.plan_file)}")
        writers = [opened.enter_context(whole.member(entry["name"], study.writer)) for entry in owing]
        parts = [_part_again(study, writer, opened, stop, request) for writer in writers]
        for entry in owing:
            entry |= {"status": "running", "lost": ""}
        return _carry_out(study, parts, (whole, record), stop, request)


def _part_again(study: Study, writer: RunWriter, opened: contextlib.ExitStack, stop: StopRequest, request: Request) -> _Part:
    """Return an interrupted run, ready to continue. Its target stays open until ``opened`` closes.

    Raises:
        UserError: the run is complete, its inputs, machine or build have changed, it names programs that the user does not name, or its target
            cannot be reached.
        Interrupted: a stop was asked for.
    """
    record = gone_on_with(writer)
    check_named(writer.path, record, request.engine_dirs, other_program(request))
    files = inputs_again(writer, record)
    plan, lines = read_plan(writer.plan_file)
    with stop.at_once():
        draft = study.draft_again(plan, Where(str(writer.plan_file), lines), record, request, opened)
    for kind in draft.inputs - set(record["inputs"]):
        draft.lack(kind, "was missing when the run began")
    draft.check_same(writer.path, record)
    writer.settle()
    return _Part(draft, writer, record, files)


# --------------------------------------------------------------------------- the course and the end


def _carry_out(
    study: Study, parts: Sequence[_Part], whole: tuple[RunSetWriter, dict[str, Any]] | None, stop: StopRequest, request: Request
) -> int:  # fmt: skip
    """Execute the run of ``parts``, write its report and print its end; return the exit status. ``whole``: writer and record of several targets."""
    path = parts[0].writer.path if whole is None else whole[0].path
    with listener(request.as_json) as display:
        works = [_work(part, 1 if whole is None else len(whole[1]["targets"]), stop, display) for part in parts]
        course = works[0] if whole is None else RunSet(*whole, works, display)
        try:
            status = course.execute()
        except (Interrupted, TargetLost) as error:
            missing = missing_text(works[0]) if whole is None else ""
            told = [f"{_kept(works)} are kept in {path}", *filter(None, [missing]), going_on(path, parts[0].record.get("setting"))]
            raise type(error)("; ".join([str(error), *told])) from None
    analysed = study.summaries(path)
    report = write_report(study, analysed, path)
    records = [work.record for work in works]
    told_by_study = study.ended(analysed, Ending(path, report, status, records, [] if whole is None else whole[1]["targets"], request.effect))
    failures, points = sum(len(record["failures"]) for record in records), sum(len(run.points) for run in analysed)
    event = summary_event(path, report, int(told_by_study.status), failures, points)
    conclude(display, path, {**event, **told_by_study.more}, [*told_by_study.lines, *page_lines(study.documentation())])
    return int(told_by_study.status)


def _work(part: _Part, targets: int, stop: StopRequest, display: Listener) -> Work:
    """Return the run of ``part``, with its share of the budget of all ``targets``."""
    seconds, spent_s = _seconds(part.draft.plan), float(part.record["spent_s"])
    if seconds is None:
        budget = Budget(spent_s=spent_s)
    else:
        reserve_s = seconds / targets * part.draft.reserve
        budget = Budget(seconds / targets - reserve_s, spent_s, reserve_s)
    return part.draft.work(part.writer, part.record, part.files, stop, display, budget)


def _kept(works: Sequence[Work]) -> str:
    """Return how much is kept of an interrupted run."""
    found = [work.kept() for work in works]
    number, noun = sum(count for count, _, _ in found), found[0][2]
    of = found[0][1] if len(found) == 1 else None
    return f"{number} {noun}" if of is None else f"{number} of {of} {noun}"
