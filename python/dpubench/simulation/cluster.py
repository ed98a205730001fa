"""Simulations on a Dask cluster. Each is one task, which does the same as a process on this machine (``simulator.simulate_one``).

If a worker dies, the scheduler starts its task again on another worker. No result appears twice, because a task has one result. The scheduler and
its workers need this package. The workers also need the same build of ``dpubench-cores``, and a file system on which all see the traces.
"""

from __future__ import annotations

import contextlib
import json
import logging
import platform
import queue
import signal
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import programs
from dpubench.errors import EnvironmentFault, UserError
from dpubench.simulation import simulator
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

_CONNECT_S: Final = 10.0
_LOOK_S: Final = 0.2
#: Seconds between two checks: a worker checks whether its result is still wanted, a client whether there are workers.
_ASK_S: Final = 2.0
#: Seconds without a worker after which a cluster is given up.
_NO_WORKER_S: Final = 60.0
#: Most tasks given to a scheduler at once: enough for any cluster, and a small load for the scheduler.
_MOST_TASKS: Final = 1024


def simulate(configurations: Sequence[Mapping[str, Any]], address: str, stop: StopRequest) -> Generator[Event, None, None]:
    """Yield the ``result`` or ``failure`` event of each configuration, in order of finishing.

    Raises:
        UserError: Dask is not installed here, or ``address`` is not an address.
        EnvironmentFault: the scheduler cannot be reached or went away, or it had no workers for a minute.
        Interrupted: ``stop`` was set.
    """
    distributed = _distributed()
    program = simulator.program()
    given = {"program": str(program), "digest": simulator.digest_of_program(program)}
    with _connected(distributed, address) as client:
        tasks = _Tasks(client, given, configurations)
        try:
            yield from _outcomes(distributed, tasks, _Watch(client, address), stop)
        finally:
            tasks.cancel()


def _distributed() -> Any:
    """Return the package ``distributed``. @raises UserError when it is not installed"""
    try:
        import distributed
    except ImportError:
        raise UserError("--dask: the package distributed is not installed here: pip install 'dpubench[dask]'") from None
    return distributed


@contextlib.contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """Yield a client of the scheduler. @raises UserError, EnvironmentFault when it cannot be reached"""
    # Silence the package's log messages about broken connections: this module reports them in plain words.
    logger = logging.getLogger("distributed")
    former = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        try:
            client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False, name="dpubench")
        except ValueError as error:
            raise UserError(f"--dask {address}: is not the address of a scheduler: {error}; write tcp://HOST:8786") from None
        except (OSError, distributed.TimeoutError) as error:
            raise EnvironmentFault(f"--dask {address}: no scheduler answers: {error}; start one with `dask scheduler`") from None
        try:
            yield client
        finally:
            client.close(timeout=_CONNECT_S)
    finally:
        logger.setLevel(former)


class _Tasks:
    """The configurations in the cluster, waiting or at work."""

    def __init__(self, client: Any, given: Mapping[str, str], configurations: Sequence[Mapping[str, Any]]) -> None:
        self._client = client
        self._given = given
        self._waiting = list(reversed(configurations))
        # Makes task names unique to this sweep, so that unfinished tasks of an earlier one do not interfere.
        self._sweep = uuid.uuid4().hex
        self._names: dict[Any, str] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()  #: futures of finished tasks

    def submit(self) -> None:
        """Submit more tasks, up to the limit."""
        while self._waiting and len(self._names) < _MOST_TASKS:
            configuration = self._waiting.pop()
            name = str(configuration["id"])
            key = f"dpubench-{self._sweep}-{name}"
            future = self._client.submit(simulate_there, simulator.job([configuration]), key=key, pure=False, **self._given)
            self._names[future] = name
            future.add_done_callback(self.done.put)

    @property
    def left(self) -> bool:
        return bool(self._names or self._waiting)

    def take(self, future: Any) -> str:
        """Remove a finished task; return its name."""
        name = self._names.pop(future)
        future.release()
        return name

    def cancel(self) -> None:
        if self._names and self._client.status == "running":
            with contextlib.suppress(Exception):  # if the scheduler goes away now, nothing is left to cancel
                self._client.cancel(list(self._names), force=True)
        self._names.clear()


class _Watch:
    """The check that the scheduler and at least one worker are still there."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._asked = self._seen = time.monotonic()

    def look(self) -> None:
        """Check the cluster. @raises EnvironmentFault when the scheduler is gone or has had no workers for too long"""
        now = time.monotonic()
        if self._client.status == "closed":
            raise self.lost()
        if now - self._asked < _ASK_S or self._client.status != "running":
            return
        self._asked = now
        with contextlib.suppress(OSError):
            if self._client.nthreads():
                self._seen = now
        if now - self._seen > _NO_WORKER_S:
            raise EnvironmentFault(
                f"--dask {self._address}: the scheduler had no worker for {_NO_WORKER_S:g} s: start some with `dask worker {self._address}`; "
                "finished simulations are kept"
            )

    def lost(self) -> EnvironmentFault:
        return EnvironmentFault(f"--dask {self._address}: the scheduler went away; finished simulations are kept: repeat the command to continue")


def _outcomes(distributed: Any, tasks: _Tasks, watch: _Watch, stop: StopRequest) -> Generator[Event, None, None]:
    while tasks.left:
        tasks.submit()
        stop.check()
        try:
            future = tasks.done.get(timeout=_LOOK_S)
        except queue.Empty:
            watch.look()
            continue
        if future.status == "cancelled":
            raise watch.lost()
        if future.status == "error":
            error = future.exception()
            yield simulator.failure(tasks.take(future), _told(error))
            continue
        try:
            event = future.result(timeout=_LOOK_S)
        except distributed.TimeoutError:  # the worker died before the result was fetched: the scheduler computes it again
            future.add_done_callback(tasks.done.put)
            continue
        tasks.take(future)
        yield event


def _told(error: BaseException) -> str:
    """Return why a task has no result. @raises EnvironmentFault when the workers cannot do any task"""
    if isinstance(error, ModuleNotFoundError):
        raise EnvironmentFault(f"--dask: the cluster lacks a package ({error}): install dpubench on its scheduler and workers") from None
    if type(error).__name__ == "KilledWorker":
        return "the simulator: every worker that ran it died; it may need more memory than they have"
    return f"the worker: {type(error).__name__}: {error}"


# --- on a worker


def simulate_there(job_json: str, program: str, digest: str) -> Event:
    """Return the outcome of a job of one configuration. Run on a worker, with the worker's simulator that has this digest."""
    (configuration,) = json.loads(job_json)["configurations"]
    name, here = str(configuration["id"]), platform.node()
    found = _program_of(program, digest)
    if found is None:
        return simulator.failure(name, f"the worker on {here} has no dpubench-cores of the same build: install it, or set DPUBENCH_PROGRAMS there")
    for context in configuration["contexts"]:
        if not Path(context["trace"]).is_dir():
            return simulator.failure(
                name, f"the worker on {here} does not see {context['trace']}: set XDG_CACHE_HOME to a folder that all machines of the cluster share"
            )
    with _halted_when(_unwanted()) as halt:
        return simulator.simulate_one(job_json, found, halt)


def _program_of(program: str, digest: str) -> str | None:
    for candidate in (Path(program), programs.directory() / programs.CORES):
        with contextlib.suppress(EnvironmentFault):
            if simulator.digest_of_program(candidate) == digest:
                return str(candidate)
    return None


def _unwanted() -> Callable[[], bool]:
    """Return a function that tells whether the task of the current thread was cancelled."""
    import distributed

    worker = distributed.get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return unwanted


@contextlib.contextmanager
def _halted_when(unwanted: Callable[[], bool]) -> Iterator[StopRequest]:
    """Yield a stop request that is set as soon as ``unwanted`` returns true. A task runs in a thread, and nothing else can end it."""
    halt, over = StopRequest(), threading.Event()

    def watch() -> None:
        while not over.wait(_ASK_S):
            if unwanted():
                halt.set(signal.SIGTERM)
                return

    thread = threading.Thread(target=watch, name="wanted", daemon=True)
    thread.start()
    try:
        yield halt
    finally:
        over.set()
        thread.join()
        halt.close()
