"""Run directories: written so that no measurement is ever lost, and readable from any place they were copied to.

A round under way is ``rounds/NNNN.ndjson``, to which each event is appended. A whole round is ``rounds/NNNN.parquet``, written beside it and renamed
into place before the text is removed. ``run.json`` is always a whole file. The lock admits one writer at a time.

A run of several targets is a *run set*: a directory whose ``run.json`` lists the targets, with an ordinary run directory for each in ``targets/``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

from dpubench import schemas, wire
from dpubench.errors import EnvironmentFault, UserError, nearest

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pyarrow as pa

Event = dict[str, Any]
#: Turns the events of a round into columns.
MakeTable: TypeAlias = "Callable[[list[Event]], pa.Table]"
_T = TypeVar("_T")
RUN: Final = schemas.RUN
RUN_SET: Final = schemas.RUN_SET
LATEST: Final = "latest"
TARGETS: Final = "targets"  #: folder of a set that holds its members
WHOLE: Final = "[0-9]*.parquet"  #: files of whole rounds
UNFINISHED: Final = "[0-9]*.ndjson"


#: Threads that read runs, at most, and runs that they read ahead.
_MOST_READERS: Final = 8
_AHEAD: Final = 64
#: Size up to which a file of a round is read at once, whatever columns are asked for.
_SMALL_BYTES: Final = 256 << 10

#: Consequence of a full disk for a run that has begun, and for one that has not.
_KEPT: Final = "what was measured is kept, continue with `dpubench resume`"
_NOTHING: Final = "nothing was measured yet, and nothing is left of this run"


@contextlib.contextmanager
def writing(path: Path, consequence: str = "") -> Iterator[None]:
    """Turn errors of the file system into a message with a remedy; ``consequence`` is added for a full disk. @raises EnvironmentFault"""
    try:
        yield
    except OSError as error:
        after = f"; {consequence}" if consequence else ""
        remedy = {
            errno.ENOSPC: f"the disk is full: free some space, or choose another place{after}",
            errno.EDQUOT: f"the disk quota is used up: free some space, or choose another place{after}",
            errno.EROFS: "the file system is read-only: choose another place with --results DIR",
            errno.EACCES: "no permission to write there: choose another place with --results DIR",
            errno.EPERM: "no permission to write there: choose another place with --results DIR",
            errno.ENOTDIR: "a part of the path is no directory: choose another place with --results DIR",
        }.get(error.errno or 0)
        if remedy is None:
            remedy = f"cannot be written: {error.strerror or error}"
        raise EnvironmentFault(f"{path}: {remedy}") from error


@dataclass(frozen=True)
class KeptRun:
    """A run on one target, for SQL views."""

    name: str  #: as other commands name it
    path: Path
    record: dict[str, Any]  #: its ``run.json``
    label: str  #: label of its target
    emulated: bool  #: whether its times mean nothing


#: Opens a block in which a run of a view is read; it may suppress the errors of a damaged run, which is then left out.
Reading = Callable[[], AbstractContextManager[None]]


class DamagedRunError(UserError):
    """A file of a run directory has other content than its name tells."""


def read_round(file: Path, schema: pa.Schema) -> pa.Table:
    """Return the rows of a whole round, with the columns of ``schema``; a column that the file lacks is null.

    Raises:
        DamagedRunError: the file is no round, or was cut short.
        EnvironmentFault: a limit of this process or machine prevents reading; the file may be whole.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # pq.read_table builds a dataset of the file first, which takes three times as long.
        with _opened(file) as source, pq.ParquetFile(source) as opened:
            known = opened.schema_arrow.names
            there = [name for name in schema.names if name in known]
            # A table without a column has no rows.
            read = opened.read(there, use_threads=False) if there else pa.table({"": pa.nulls(opened.metadata.num_rows)})
        if not schema.names or read.schema.equals(schema):
            return read
        columns = [read.column(f.name) if f.name in there else pa.nulls(read.num_rows, f.type) for f in schema]
        return pa.table(columns, names=schema.names).cast(schema)
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise EnvironmentFault(
            f"{file}: there is not enough memory to read it ({error}); nothing is wrong with it: raise the limit (`ulimit -v`), or free some memory"
        ) from error
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # an error of the system, not of the file's content
            limit = {errno.EMFILE: " (`ulimit -n`)", errno.ENFILE: " (of the whole machine)", errno.ENOMEM: " (`ulimit -v`)"}.get(error.errno, "")
            raise EnvironmentFault(f"{file}: cannot be read: {error.strerror}{limit}; nothing is said of what it holds") from error
        raise DamagedRunError(
            f"{file}: this round is damaged ({error}); move the file away to go on without it, with the others as they are"
        ) from error


def _opened(file: Path) -> Any:
    """Return ``file`` for Arrow. A small one is read at once: for several thousand of them, the system calls are a good part of the time."""
    import pyarrow as pa

    return pa.BufferReader(file.read_bytes()) if file.stat().st_size <= _SMALL_BYTES else pa.OSFile(str(file))


def read_by_threads(runs: Sequence[KeptRun], read: Callable[[KeptRun], _T]) -> Generator[Callable[[], _T], None, None]:
    """Read every run in threads of their own, and yield, in the order of ``runs``, a function that returns what ``read`` returned.

    The function raises what ``read`` raised. Arrow reads columns outside of Python's lock, so that the threads use all CPUs.
    """
    from concurrent.futures import ThreadPoolExecutor  # few commands need it

    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), _MOST_READERS)) as pool:
        under_way: deque[Future[_T]] = deque()
        try:
            for run in runs:
                under_way.append(pool.submit(read, run))
                if len(under_way) >= _AHEAD:
                    yield under_way.popleft().result
            while under_way:
                yield under_way.popleft().result
        finally:
            for future in under_way:
                future.cancel()


def read_ndjson(path: Path) -> list[Event]:
    """Return the events of a round under way or interrupted, without a last line that was cut short."""
    events: list[Event] = []
    for line in path.read_bytes().split(b"\n"):
        if line:
            with contextlib.suppress(ValueError):
                event = wire.decoded(line)
                if isinstance(event, dict):
                    events.append(event)
    return events


class RoundWriter:
    """The writer of one round's events, line by line."""

    def __init__(self, path: Path, make_table: MakeTable) -> None:
        self.path = path
        self._make_table = make_table
        with writing(path, _KEPT):
            # Without a buffer, each event reaches the kernel before the next one is handled.
            self._file = path.open("ab", buffering=0)

    def write(self, event: Event) -> None:
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        with writing(self.path, _KEPT):
            written = self._file.write(line)
            while written < len(line):  # A disk that fills up first takes a part, then refuses the rest.
                written += self._file.write(line[written:])

    def close(self) -> None:
        self._file.close()

    def finish(self) -> int:
        """Turn the round into parquet and return the number of rows. An empty round leaves no file."""
        self.close()
        return to_parquet(self.path, self._make_table)


def to_parquet(ndjson: Path, make_table: MakeTable) -> int:
    """Replace ``NNNN.ndjson`` by ``NNNN.parquet`` atomically, and return the number of rows. ``make_table`` turns events into columns."""
    import pyarrow.parquet as pq

    table = make_table(read_ndjson(ndjson))
    if table.num_rows:
        final, draft = ndjson.with_suffix(".parquet"), ndjson.with_suffix(".parquet.new")
        with writing(final, _KEPT):
            try:
                pq.write_table(table, draft, compression="zstd")
                with draft.open("rb") as file:
                    os.fsync(file.fileno())
                draft.replace(final)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
    with writing(ndjson):
        ndjson.unlink()
    return int(table.num_rows)


class RunDirectory:
    """A run on disk, or a set of runs, for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def run_file(self) -> Path:
        return self.path / "run.json"

    @property
    def plan_file(self) -> Path:
        return self.path / "plan.yaml"

    @property
    def rounds_dir(self) -> Path:
        return self.path / "rounds"

    def record(self) -> dict[str, Any]:
        """Return ``run.json`` of a run or of a set. @raises UserError when it is missing or damaged."""
        try:
            record = wire.decoded(self.run_file.read_bytes())
        except OSError as error:
            raise UserError(f"{self.run_file}: cannot be read: {error.strerror}: is {self.path} a run directory?") from None
        except ValueError as error:
            raise UserError(f"{self.run_file}: is damaged: {error}") from None
        if not isinstance(record, dict) or record.get("schema") not in (RUN, RUN_SET):
            raise UserError(f"{self.run_file}: is no {RUN} or {RUN_SET}: it was written by another version")
        return record

    @property
    def is_set(self) -> bool:
        """Return whether it holds runs of several targets. @raises UserError as :meth:`record`."""
        return bool(self.record()["schema"] == RUN_SET)

    def members(self) -> list[RunDirectory]:
        """Return the runs of a set, one per target, in the set's order, begun or not; for an ordinary run, the run itself.

        Raises:
            UserError: when ``run.json`` is damaged, or names something outside the set.
        """
        record = self.record()
        return [RunDirectory(place) for _, place in self._places(record)] if record["schema"] == RUN_SET else [self]

    def member_of_target(self, target: str) -> RunDirectory | None:
        """Return the run of ``target`` in a set, or an ordinary run that was made on it; None where there is none."""
        record = self.record()
        if record["schema"] == RUN:
            return self if record.get("target") == target else None
        return next((RunDirectory(place) for name, place in self._places(record) if name == target), None)

    def target_names(self) -> list[str]:
        """Return the targets of a set, or the one target of an ordinary run."""
        record = self.record()
        return [name for name, _ in self._places(record)] if record["schema"] == RUN_SET else [str(record.get("target", "local"))]

    def _places(self, record: dict[str, Any]) -> list[tuple[str, Path]]:
        """Return (target, directory) of every member of a set. Refuse directories outside the set: it may be a copy from anywhere."""
        try:
            listed = [(str(target["name"]), PurePosixPath(target["path"])) for target in record["targets"]]
        except (KeyError, TypeError) as error:
            raise UserError(f"{self.run_file}: does not follow {RUN_SET} ({error!r})") from None
        for name, path in listed:
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise UserError(f"{self.run_file}: the directory of target {name} ({path}) is not within the set")
        return [(name, self.path / path) for name, path in listed]

    def whole_rounds(self) -> list[Path]:
        return sorted(self.rounds_dir.glob(WHOLE))

    def open_rounds(self) -> list[Path]:
        return sorted(self.rounds_dir.glob(UNFINISHED))

    def tables(self, schema: pa.Schema, make_table: MakeTable, folder: Path | None = None) -> Iterator[pa.Table]:
        """Yield a table with the columns of ``schema`` for each round, whole or not.

        Without columns it has one nameless column, to count its rows. ``make_table`` serves for unfinished rounds. ``folder`` holds the rounds, by
        default those that the run measured.

        Raises:
            DamagedRunError, EnvironmentFault: as :func:`read_round`.
        """
        import pyarrow as pa

        folder = folder or self.rounds_dir
        for file in sorted(folder.glob(WHOLE)):
            yield read_round(file, schema)
        for file in sorted(folder.glob(UNFINISHED)):
            # A crash between rename and removal leaves both files: the parquet file is the whole round.
            if file.with_suffix(".parquet").exists():
                continue
            try:
                found = make_table(read_ndjson(file))
            except (pa.ArrowException, AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                raise DamagedRunError(f"{file}: an unfinished round is damaged ({error}); move its file away to go on without it") from error
            yield found.select(schema.names) if schema.names else pa.table({"": pa.nulls(found.num_rows)})

    def rows(self, schema: pa.Schema, make_table: MakeTable, folder: Path | None = None) -> list[dict[str, Any]]:
        """Return every row of every round, see :meth:`tables`."""
        return [row for table in self.tables(schema, make_table, folder) for row in table.to_pylist()]


_W = TypeVar("_W", bound="_Writer")


class _Writer(RunDirectory):
    """The one writer of the directory of a run or of a set. As a context manager, it releases the lock on exit."""

    _FOLDER: ClassVar[str]  #: folder that a new directory contains
    _is_empty = False  #: True while a directory made here has no ``run.json`` yet

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        lock = path / "lock"
        with writing(lock):
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise UserError(
                f"{path}: another dpubench{f' (process {holder})' if holder else ''} is writing this run: wait for it, or choose another --name"
            ) from None
        with writing(lock):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    @classmethod
    def create(cls: type[_W], results: Path, name: str, *, exact: bool) -> _W:
        """Create a directory and return its writer. If it exists, append a number, unless the user chose the name (``exact``)."""
        with writing(results, _NOTHING):
            results.mkdir(parents=True, exist_ok=True)
        for suffix in range(1, 1000):
            path = results / (name if suffix == 1 else f"{name}-{suffix}")
            try:
                with writing(path, _NOTHING):
                    path.mkdir()
            except EnvironmentFault as error:
                if not isinstance(error.__cause__, FileExistsError):
                    raise
                if exact:
                    if (path / "lock").exists():
                        cls(path).close()  # raises a clear message while another process writes it
                    raise UserError(f"{path}: exists already: choose another --name, or continue it with `dpubench resume {name}`") from None
                continue
            try:
                writer = cls._prepared(path)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                raise
            writer._is_empty = True
            return writer
        raise UserError(f"{results}: a thousand runs are called {name}: choose a --name")

    @classmethod
    def _prepared(cls: type[_W], path: Path) -> _W:
        writer = cls(path)
        with writing(path / cls._FOLDER):
            (path / cls._FOLDER).mkdir(exist_ok=True)
        return writer

    def __enter__(self: _W) -> _W:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._is_empty:  # An empty run cannot be resumed: the disk was full, or somebody stopped it.
            shutil.rmtree(self.path, ignore_errors=True)
            self._is_empty = False
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def write_record(self, record: dict[str, Any]) -> None:
        """Write ``run.json`` atomically: the file is always whole, either the former or the new one."""
        self._write_atomically(self.run_file, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        self._is_empty = False

    def write_plan(self, text: str) -> None:
        self._write_atomically(self.plan_file, text)

    def mark_latest(self) -> None:
        """Point the link ``latest`` beside the run at it. A file system without symbolic links is no fault."""
        link, draft = self.path.parent / LATEST, self.path.parent / f".{LATEST}.{os.getpid()}"
        if link.exists() and not link.is_symlink():
            return
        with contextlib.suppress(OSError):
            draft.symlink_to(self.path.name)
            draft.replace(link)

    def _write_atomically(self, file: Path, text: str) -> None:
        draft = file.with_name(f".{file.name}.new")
        with writing(file, _NOTHING if self._is_empty else _KEPT):
            try:
                with draft.open("w", encoding="utf-8") as opened:
                    opened.write(text)
                    opened.flush()
                    os.fsync(opened.fileno())
                draft.replace(file)
            except BaseException:
                with contextlib.suppress(OSError):  # there may be none, and the error under way tells more
                    draft.unlink()
                raise


class RunWriter(_Writer):
    """The one writer of a run directory. A study's subclass turns the events of its rounds into columns."""

    _FOLDER = "rounds"

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        """Return a round's events as columns."""
        raise NotImplementedError

    def begin_round(self, number: int) -> RoundWriter:
        return RoundWriter(self.rounds_dir / f"{number:04d}.ndjson", self.make_table)

    def settle(self) -> None:
        """Turn the rounds of an interrupted process into whole rounds: their windows count, for the points that have them."""
        for left in self.rounds_dir.glob("*.new"):
            with writing(left):
                left.unlink()
        for ndjson in self.open_rounds():
            if ndjson.with_suffix(".parquet").exists():
                with writing(ndjson):
                    ndjson.unlink()
            else:
                to_parquet(ndjson, self.make_table)


_R = TypeVar("_R", bound=RunWriter)


class RunSetWriter(_Writer):
    """The one writer of a run set; its members have their own writers and locks."""

    _FOLDER = TARGETS

    def member(self, name: str, kind: type[_R]) -> _R:
        """Return the writer, of the given ``kind``, of target ``name``'s run. Create its directory if it does not exist."""
        path = self.path / member_path(name)
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        return kind._prepared(path)


def member_path(target: str) -> str:
    """Return the place of ``target``'s run, relative to the set: ``targets/bf2``. The same name gives the same path.

    A target's name may hold characters that file systems and shells dislike (``ssh://user@host``, ``local:cpus=0,quota=50%``). Where a character had
    to be replaced, a part of the name's SHA-256 keeps two names apart.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", target).strip("-.")[:60]
    if slug != target:
        slug = f"{slug}-{hashlib.sha256(target.encode()).hexdigest()[:8]}".lstrip("-")
    return f"{TARGETS}/{slug}"


def find_run(run: str, results: Path) -> RunDirectory:
    """Return the run or set called ``run``: a path, a name in ``results``, or ``latest``; ``NAME@target`` is one target's run of a set.

    Raises:
        UserError: with the nearest name.
    """
    found = _run_at(run, results)
    if found is not None:
        return found
    # Try every @, because both names may hold one of their own.
    for at in (i for i, c in enumerate(run) if c == "@"):
        of, target = _run_at(run[:at], results), run[at + 1 :]
        if of is not None:
            member = of.member_of_target(target)
            if member is None:
                raise UserError(f"{run[:at]}: was not measured on '{target}'{nearest(target, of.target_names())}")
            if not member.run_file.is_file():
                raise UserError(f"{run}: nothing was measured there: `dpubench show {run[:at]}` says why, `dpubench resume {run[:at]}` goes on")
            return member
    known = sorted(p.parent.name for p in results.glob("*/run.json") if not p.parent.is_symlink())
    if run == LATEST:
        raise UserError(f"{results}: there is no run yet: start one with `dpubench run`")
    raise UserError(f"unknown run '{run}' (looked for it as a path and in {results}){nearest(run, known)}")


def find_runs(run: str, results: Path) -> list[RunDirectory]:
    """Return the run or set that :func:`find_run` finds, or every run in the directory ``run``. @raises UserError"""
    folder = Path(run)
    if folder.is_dir() and _run_at(run, results) is None and (found := runs_in(folder)):
        return [RunDirectory(path.resolve()) for path in found]
    return [find_run(run, results)]


def runs_in(results: Path) -> list[Path]:
    """Return the directories of runs and sets in ``results``, sorted by name and without links such as ``latest``.

    A ``results`` that is itself a run is the only one.
    """
    if (results / "run.json").is_file():
        return [results]
    if not results.is_dir():
        raise UserError(f"{results}: no such directory: name a run or a directory of runs")
    return sorted(p for p in results.iterdir() if (p / "run.json").is_file() and not p.is_symlink())


def _run_at(run: str, results: Path) -> RunDirectory | None:
    for path in (Path(run), results / run):
        if run and (path / "run.json").is_file() and (path != Path(run) or os.sep in run or path.is_dir()):
            return RunDirectory(path.resolve())
    return None


def now_utc() -> str:
    """Return the time now in ISO 8601, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
