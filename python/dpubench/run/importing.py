"""Runs of results that were measured elsewhere: a study reads the files, and what they hold becomes ordinary run directories."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.errors import UserError
from dpubench.plans.load import plan_text
from dpubench.plans.model import StudyPlan
from dpubench.run.record import Head, TargetInfo, command_line, new_name, new_record, new_set_record
from dpubench.storage.runs import Event, RunSetWriter, RunWriter, member_path, now_utc

if TYPE_CHECKING:
    from dpubench.studies import Request, Study

#: Label of a target that was not measured here, shown beside every figure of it.
LABEL: Final = "imported: not measured here"
#: Largest file that is read.
MOST_BYTES: Final = 256 << 20


@dataclass(frozen=True)
class File:
    """A file that the user named, perhaps with the platform that it is of: ``bf2=stress.yaml``."""

    path: Path
    platform: str = ""

    @classmethod
    def of(cls, text: str) -> File:
        """Return the file that ``text`` names. @raises UserError it cannot be read"""
        name, equals, path = text.partition("=")
        file = cls(Path(path), name) if equals and name and not Path(text).exists() else cls(Path(text))
        if not file.path.is_file():
            raise UserError(f"{file.path}: is no file: name the files to import")
        return file

    def text(self) -> str:
        """Return its content. @raises UserError it is larger than :data:`MOST_BYTES`, no UTF-8 text, or cannot be read"""
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise UserError(f"{self.path}: is larger than {MOST_BYTES >> 20} MiB: name a file of results")
            return self.path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path}: is no UTF-8 text at byte {error.start}: name a file of results") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror or error}") from None


@dataclass(frozen=True)
class Member:
    """What was read of one platform."""

    name: str
    machine: Mapping[str, Any]
    record: Mapping[str, Any]  #: the study's part of ``run.json``
    rounds: Sequence[Sequence[Event]]  #: the events of each round, as a run of the study keeps them
    files: Sequence[Path]  #: files that it was read from


@dataclass(frozen=True)
class Imported:
    """What a study read from files."""

    plan: StudyPlan  #: the plan that would measure the same
    members: Sequence[Member]  #: at least one
    notes: Sequence[str] = field(default=())  #: what the reader of the result must know of the files


def keep(study: Study, found: Imported, request: Request) -> Path:
    """Make a run directory of ``found``, or a set with a run for each platform; return its path. @raises UserError, EnvironmentFault"""
    name, exact = request.name or new_name(found.plan), bool(request.name)
    if len(found.members) == 1:
        with study.writer.create(request.results, name, exact=exact) as writer, _whole_or_gone(writer.path):
            _fill(writer, found, found.members[0], writer.path.name, request)
            writer.mark_latest()
        return writer.path
    with RunSetWriter.create(request.results, name, exact=exact) as whole, _whole_or_gone(whole.path):
        members = [(_target(member), member_path(member.name)) for member in found.members]
        record = new_set_record(whole.path.name, found.plan, command_line(), members)
        whole.write_plan(plan_text(found.plan))
        for member, entry in zip(found.members, record["targets"], strict=True):
            with whole.member(member.name, study.writer) as writer:
                _fill(writer, found, member, f"{whole.path.name}@{member.name}", request)
            entry["status"] = "complete"
        whole.write_record(record | {"status": "complete", "finished": now_utc()})
        whole.mark_latest()
    return whole.path


@contextlib.contextmanager
def _whole_or_gone(path: Path) -> Iterator[None]:
    """Remove the run in ``path`` if the block fails: a part of an import can neither be resumed nor told from the whole."""
    try:
        yield
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _target(member: Member) -> TargetInfo:
    return TargetInfo(member.name, f"imported:{member.name}", LABEL)


def _fill(writer: RunWriter, found: Imported, member: Member, name: str, request: Request) -> None:
    inputs = {f"file-{n}": _described(path) for n, path in enumerate(member.files, 1)}
    head = Head(name, command_line(), inputs, request)
    record = new_record(head, found.plan, _target(member), {"machine": dict(member.machine), "build": {}}, found.plan.omissions)
    writer.write_plan(plan_text(found.plan))
    for number, events in enumerate(member.rounds):
        file = writer.begin_round(number)
        try:
            for event in events:
                file.write(event)
        finally:
            file.close()
        file.finish()
    writer.write_record({**record, **member.record, "origin": "imported", "status": "complete", "finished": now_utc()})


def _described(path: Path) -> dict[str, Any]:
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "files": [str(path)]}
