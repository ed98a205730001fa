"""One round: fresh processes of the programs turn configurations into windows, and survive the faults of those programs.

If one program has all points of a configuration, one process of it alternates them. If several programs share a configuration (another build,
contract programs), their windows alternate here, one request at a time.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dpubench import programs, wire
from dpubench.errors import EnvironmentFault
from dpubench.run.journal import Journal
from dpubench.storage.runs import Event, RoundWriter
from dpubench.studies.operators.configuration import PREPARED, Point
from dpubench.studies.operators.costs import Costs
from dpubench.studies.operators.plan import Plan
from dpubench.studies.operators.setting import Setting
from dpubench.workers import job as jobs
from dpubench.workers.blame import Blame
from dpubench.workers.process import OutOfTime, Worker, WorkerFault

CANARIES: Final = ("canary-core", "canary-memory")
#: Most configurations that programs hold prepared at once when they alternate.
STEPPED_GROUPS: Final = 8
#: Label of the other build.
OTHER_BUILD: Final = "against"

Groups = dict[str, list[Point]]


def sizes(groups: Groups) -> dict[str, tuple[int, list[str]]]:
    """Return configuration -> threads and points, in the form that :class:`Costs` needs."""
    return {g: (points[0].configuration.threads, [p.id for p in points]) for g, points in groups.items()}


@dataclass
class Round:
    """One round and its results."""

    number: int  #: selects the code layout too: rounds take layouts in turn, two builds the same one
    cycles: int
    writer: RoundWriter
    rates: dict[str, list[float]] = field(default_factory=dict)  #: point -> operations per second of its windows
    offset: dict[str, int] = field(default_factory=dict)  #: configuration -> cycles that a broken process measured
    layouts: dict[str, int] = field(default_factory=dict)  #: build -> code layout that its program reported
    left_s: Callable[[], float] = lambda: math.inf  #: seconds that are left for it
    finished: set[str] = field(default_factory=set)  #: configurations with all their windows
    cut: set[str] = field(default_factory=set)  #: configurations for which no time was left

    def waits_s(self) -> float:
        """Return the seconds that an event may take. The first configuration takes what it takes, so that there is a result."""
        return self.left_s() if self.finished else math.inf

    def is_over(self) -> bool:
        """Return whether no time is left for another configuration."""
        return self.waits_s() <= 0

    def finish_if_done(self, group: str, blame: Blame, members: Sequence[Point]) -> None:
        """Count ``group`` as finished when it has all its windows and a point that works."""
        if group not in self.finished and any(p.id in self.rates for p in members) and blame.finished(group):
            self.finished.add(group)


class Measurer:
    """The executor of rounds, which remembers contract programs that cannot even begin."""

    def __init__(self, plan: Plan, setting: Setting, journal: Journal, costs: Costs) -> None:
        self._plan = plan
        self._setting = setting
        self.inputs: Mapping[str, Sequence[str]] = {}  #: kind -> paths on the target
        self._journal = journal
        self._costs = costs
        self._broken: dict[str, str] = {}  #: contract program that cannot even begin -> reason

    def measure(self, groups: Groups, work: Round) -> None:
        """Measure each configuration: in a process of its program if it has one, else with its programs in alternation."""
        alone: dict[str, Groups] = {}
        shared: Groups = {}
        for group, members in groups.items():
            sides = {p.side for p in members}
            (shared if len(sides) > 1 else alone.setdefault(sides.pop(), {}))[group] = members
        for side, own in alone.items():
            self._run_workers(own, work, side)
        self._run_alternating(shared, work)
        self._fail_unmeasured({g: members for g, members in groups.items() if g not in work.cut}, work)

    def _fail(self, point: Point, phase: str, message: str) -> None:
        """Take ``point`` out of the run; the first reason is kept."""
        if not point.failure:
            point.failure = wire.cut(f"{phase}: {message}")
            self._journal.failure(phase, message, point=point.id, group=point.configuration.id)

    def _fail_unmeasured(self, groups: Groups, work: Round) -> None:
        """Fail the points of ``groups`` that have no window. Those for which no time was left are at no fault."""
        for point in (p for members in groups.values() for p in members if p.id not in work.rates and not p.failure):
            self._fail(point, "measure", "the program measured nothing for this point and gave no reason")

    # --- programs

    def _program(self, side: str, number: int = 0) -> str:
        """Return the program of ``side`` in the code layout of round ``number``; a contract program has one layout only."""
        if _is_foreign(side):
            return side
        program = str(self._setting.against or self._setting.program) if side == OTHER_BUILD else self._setting.program
        return programs.in_layout(program, number % self._setting.layouts.get(side, 1))

    def _job(self, groups: Groups, number: int, cycles: int, control: str, limit_s: float) -> bytes:
        window = self._plan.window
        return jobs.job(
            [
                jobs.group(
                    g,
                    points[0].configuration.operator,
                    points[0].configuration.params,
                    [jobs.point(p.id, p.name_in_program or p.engine, p.in_flight) for p in points],
                    threads=points[0].configuration.threads,
                    burst=points[0].configuration.burst,
                    footprint=points[0].configuration.footprint,
                )
                for g, points in groups.items()
            ],
            # All rounds use the same seed: a run has one input, whose hash tells whether another run had the same. Rounds differ in memory layout,
            # which the program derives from their number.
            seed=self._plan.seed,
            number=number,
            control=control,
            inputs=self.inputs,
            cache_directory=self._setting.cache_directory,
            cpus=self._setting.cpus,
            window={
                "min_ms": window.min * 1e3, "max_ms": window.max * 1e3, "min_bursts": window.min_bursts, "threaded_min_ms": window.threaded_min * 1e3
            },
            cycles=cycles,
            limit_s=limit_s,
        )  # fmt: skip

    def _limit(self, groups: Groups, cycles: int) -> float:
        """Return the time after which a worker counts as hung: several times the measured duration of a round."""
        return round(max(120.0, self._plan.silence * 2, 5 * self._costs.round_s(sizes(groups), cycles)), 1)

    def _start(self, side: str, number: int, limit_s: float) -> Worker:
        """Start a program of ``side``. @raises WorkerFault a contract program cannot be started; EnvironmentFault dpubench's own cannot"""
        try:
            return Worker(
                self._setting.target,
                self._program(side, number),
                # The folders hold modules for dpubench's program and its other build; a contract program knows its own engines.
                [] if _is_foreign(side) else programs.options(self._setting.engine_dirs, self._setting.devices),
                stop=self._setting.stop,
                silence_s=self._plan.silence,
                limit_s=limit_s + 10,
                environment=self._setting.environment,
            )
        except EnvironmentFault as error:
            if _is_foreign(side):
                raise WorkerFault(str(error).partition("; build it")[0], "crash") from None
            raise

    # --- one process at a time

    def _run_workers(self, groups: Groups, work: Round, side: str) -> None:
        """Measure ``groups``. When a worker breaks, record the point at work as failed, and go on without it in a fresh worker."""
        points = {p.id: p for members in groups.values() for p in members}
        remaining = self._without_broken(groups)
        while remaining:
            if work.is_over():
                work.cut |= remaining.keys()
                return
            blame = Blame({g: [p.id for p in members] for g, members in remaining.items()}, work.cycles)
            try:
                limit = self._limit(remaining, work.cycles)
                with self._start(side, work.number, limit) as worker:
                    self._costs.begin_worker()
                    worker.send(self._job(remaining, work.number, work.cycles, "auto", limit), last=True)
                    ended = False
                    while (event := worker.next_event(work.waits_s())) is not None:
                        blame.see(event)
                        self._take(event, points, work, side)
                        if (group := event.get("group", "")) in remaining:
                            work.finish_if_done(group, blame, remaining[group])
                        ended = ended or event["event"] == "done"
                        if work.is_over() and not all(map(blame.finished, remaining)):
                            raise OutOfTime
                    if not ended and not self._journal.failures:
                        raise WorkerFault("it ended without the event `done`", "crash")
                return
            except OutOfTime:
                work.cut |= {g for g in remaining if not blame.finished(g)}
                return
            except WorkerFault as fault:
                remaining = self._without_suspect(fault, blame, remaining, points, side, {g for g in remaining if blame.finished(g)}, work.number)
                work.offset |= {g: max(len(work.rates.get(p.id, [])) // 2 + 1 for p in members) for g, members in remaining.items()}

    def _without_broken(self, groups: Groups) -> Groups:
        """Return ``groups`` without the points of contract programs that cannot begin; those fail with the known reason."""
        for point in (p for members in groups.values() for p in members if p.side in self._broken):
            self._fail(point, "prepare", self._broken[point.side])
        rest = {g: [p for p in members if not p.failure] for g, members in groups.items()}
        return {g: members for g, members in rest.items() if members}

    def _without_suspect(
        self, fault: WorkerFault, blame: Blame, remaining: Groups, points: Mapping[str, Point], side: str, finished: set[str], number: int
    ) -> Groups:
        """Return the rest of round ``number`` after ``fault`` of the program of ``side``, without the point that caused it."""
        suspects = [points[name] for name in blame.suspects() if name in points]
        left = {g: members for g, members in remaining.items() if g not in finished}
        if suspects:
            guilty = suspects[0]
            if len(suspects) > 1:
                guilty, fault = self._probe(suspects, fault, number)
            self._blame(guilty, "measure" if guilty.verified else "prepare", fault)
        elif left and not blame.started and _is_foreign(side):
            self._broken[side] = f"{side}: {fault.reason}, before it measured anything"
        elif left and not blame.started:
            raise EnvironmentFault(f"{self._program(side)}: {fault.reason}, before it measured anything: run `dpubench doctor`")
        elif left and _is_foreign(side):
            self._broken[side] = f"{side}: {fault.reason}"
        else:
            self._journal.failure("measure", f"the worker: {fault.reason}" if not side else f"the worker {self._program(side)}: {fault.reason}")
            left = {g: members for g, members in left.items() if all(p.failure or p.side != side for p in members)}
        return self._without_broken(left)

    def _probe(self, suspects: Sequence[Point], fault: WorkerFault, number: int) -> tuple[Point, WorkerFault]:
        """Return the one of ``suspects`` that breaks a worker by itself, with its fault; else the first, with the fault that occurred."""
        for point in suspects:
            alone = {point.configuration.id: [point]}
            limit = self._limit(alone, 1)
            try:
                with self._start(point.side, number, limit) as worker:
                    worker.send(self._job(alone, number, 1, "auto", limit), last=True)
                    while worker.next_event() is not None:
                        pass
            except WorkerFault as own:
                return point, own
        return suspects[0], fault

    def _blame(self, point: Point, phase: str, fault: WorkerFault) -> None:
        self._fail(point, phase, fault.reason)
        message = f"the worker broke at this point ({fault.reason}); the rest continued without it"
        self._journal.warn({"code": "restarted", "message": message, "point": point.id, "group": point.configuration.id})

    def _take(self, event: Event, points: Mapping[str, Point], work: Round, side: str) -> None:
        """Store an event of the program of ``side``, whose points are ``points``, and update the state that it reports."""
        kind, group, name = event["event"], event.get("group", ""), event.get("point", "")
        self._costs.see("cycle" if event.get("phase") == "measure" else kind, group, name, event.get("elapsed_ns", 0))
        if kind == "window":
            event["round"] = work.number
            if (layout := work.layouts.get(side)) is not None:
                event["layout"] = layout
            event["cycle"] += work.offset.get(group, 0)
            if name not in CANARIES and name not in points:
                raise WorkerFault(f"it printed a window of a point that nobody asked for: {name[:80]}", "rubbish")
            if event["operations"] and name not in CANARIES:
                work.rates.setdefault(name, []).append(event["operations"] / event["elapsed_ns"] * 1e9)
        work.writer.write({k: v for k, v in event.items() if k != "catalog"})
        self._setting.listener.event(event)
        if kind == "hello":
            if _is_foreign(side):
                self._journal.hello_of_contract_program(event, side)
            else:
                self._journal.hello(event, side, self._program(side))
                if "layout" in event["build"]:
                    work.layouts[side] = event["build"]["layout"]
        elif kind == "prepared" and name in points:
            points[name].prepared = {k: event[k] for k in PREPARED if k in event}
            points[name].build_ns.append(event["build_ns"])
        elif kind == "verified" and name in points:
            points[name].verified = {k: event[k] for k in ("known_answers", "compared", "how", "undecided_share") if k in event}
        elif kind == "warning":
            self._journal.warn({k: event[k] for k in ("code", "message", "point", "group") if k in event})
        elif kind == "failure":
            self._take_failure(event, points, side)
        elif kind == "done" and not _is_foreign(side):
            self._journal.clock(event)

    def _take_failure(self, event: Event, points: Mapping[str, Point], side: str) -> None:
        concerned = [p for p in points.values() if event.get("point") == p.id or ("point" not in event and event.get("group") == p.configuration.id)]
        for point in concerned:
            self._fail(point, event["phase"], event["message"])
        if not concerned:
            self._journal.failure(event["phase"], f"{side}: {event['message']}" if _is_foreign(side) else event["message"])

    # --- several programs, window by window

    def _run_alternating(self, groups: Groups, work: Round) -> None:
        """Measure several programs in ABBA order: in each cycle every point of all of them (:func:`in_turn`), the canaries, then all backwards."""
        names = list(groups)
        for at in range(0, len(names), STEPPED_GROUPS):
            chunk = self._without_broken({g: groups[g] for g in names[at : at + STEPPED_GROUPS]})
            while chunk and not work.is_over():
                chunk = self._alternate(chunk, work)
            work.cut |= chunk.keys()

    def _alternate(self, chunk: Groups, work: Round) -> Groups:
        """Measure ``chunk`` and return the rest of it after a fault."""
        points = {p.id: p for members in chunk.values() for p in members}
        # dpubench's own program sorts first: it gives the canaries where it takes part.
        parts: dict[str, Groups] = {s: {} for s in sorted({p.side for p in points.values()})}
        for group, members in chunk.items():
            for point in members:
                parts[point.side].setdefault(group, []).append(point)
        own = {s: {p.id: p for p in points.values() if p.side == s} for s in parts}
        blames = {s: Blame({g: [p.id for p in members] for g, members in part.items()}, work.cycles) for s, part in parts.items()}
        workers: dict[str, Worker] = {}
        asked: Point | None = None
        first = side = next(iter(parts))
        done = set[str]()
        limit = 4 * self._limit(chunk, work.cycles)
        try:
            for side, part in parts.items():
                workers[side] = self._start(side, work.number, limit)
                workers[side].send(self._job(part, work.number, work.cycles, "stepped", limit))
            for side in parts:
                self._costs.begin_worker()
                self._listen(workers[side], "ready", blames[side], own[side], work, side)
            for group, members in chunk.items():
                if work.is_over():
                    break
                for cycle in range(1, work.cycles + 1):
                    steps: list[tuple[str, Point | None, str]] = [(p.id, p, p.side) for p in in_turn(members, work.number + cycle)]
                    steps += [(c, None, first) for c in CANARIES]
                    for half in (0, 1):
                        for name, asked, side in steps if half == 0 else reversed(steps):
                            if asked is not None and asked.failure:
                                continue
                            workers[side].send(json.dumps({"window": name}).encode() + b"\n")
                            place = {"group": group, "cycle": cycle, "half": half}
                            self._listen(workers[side], name, blames[side], own[side], work, side, place)
                done.add(group)
                if any(p.id in work.rates for p in members):
                    work.finished.add(group)
                asked = None
            for side, worker in workers.items():
                worker.send(b'{"end":true}\n', last=True)
                self._listen(worker, "", blames[side], own[side], work, side)
            return {g: members for g, members in chunk.items() if g not in done}
        except OutOfTime:
            return {g: members for g, members in chunk.items() if g not in done}
        except WorkerFault as fault:
            if asked is not None:
                self._blame(asked, "measure", fault)
                rest = self._without_broken({g: members for g, members in chunk.items() if g not in done})
            else:
                rest = self._without_suspect(fault, blames[side], chunk, own[side], side, done, work.number)
            # Windows of a group that was cut short are taken again, after those that are kept.
            work.offset |= {g: work.offset.get(g, 0) + work.cycles for g in rest if any(p.id in work.rates for p in rest[g])}
            return rest
        finally:
            for worker in workers.values():
                worker.__exit__(None, None, None)

    def _listen(
        self, worker: Worker, awaited: str, blame: Blame, points: Mapping[str, Point], work: Round, side: str,
        place: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Take events until the awaited one: ``ready``, the window of a point, or (empty) the end."""
        while (event := worker.next_event(work.waits_s())) is not None:
            if event["event"] == "window":
                # A program must not answer for another, nor out of turn.
                if place is None or event["point"] != awaited:
                    raise WorkerFault(f"it printed a window that it was not asked for: {event['point'][:80]}", "rubbish")
                event |= place
            blame.see(event)
            self._take(event, points, work, side)
            if event["event"] == awaited or (awaited and event.get("point") == awaited and event["event"] in ("window", "failure")):
                return
        if awaited:
            raise WorkerFault("it ended before it was told to", "crash")


def in_turn(members: Sequence[Point], turn: int) -> list[Point]:
    """Return the points of a configuration in the order of a cycle; in every other ``turn`` the builds of each engine change places.

    Where a cycle turns back, two windows of the last point follow each other. They find data in the caches that another process displaces for all
    other windows. If it were always the same build, that build would look faster, by up to a half where the footprint streams.
    """
    ordered: list[Point] = []
    for _, builds in itertools.groupby(members, key=lambda p: (p.engine, p.in_flight)):
        both = list(builds)
        ordered += both[::-1] if turn % 2 == 0 else both
    return ordered


def _is_foreign(side: str) -> bool:
    """Return whether ``side`` is a contract program: its name is an absolute path, that of a build is a label."""
    return side.startswith("/")
