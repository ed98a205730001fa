"""Carries a run out: the selection round, rounds of fresh processes, faults, stopping by precision or budget, interruption.

Methodology, as docs/methodology.md argues it: a round is a fresh process; in it the points of a configuration alternate window by window. Seeds and
the order of configurations differ from round to round. Whether a point is known well enough is decided after whole rounds only.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from dpubench import __version__, programs, schemas
from dpubench.catalog import Catalog
from dpubench.errors import EnvironmentFault, Exit, Interrupted, NothingRan, UserError
from dpubench.plans.model import Plan
from dpubench.plans.quantities import spoken
from dpubench.results.store import Event, RoundWriter, RunWriter
from dpubench.runner import stopping
from dpubench.runner.costs import Costs
from dpubench.runner.model import Configuration, Expansion, Point, point_id
from dpubench.targets import Target
from dpubench.workers.blame import Blame
from dpubench.workers.process import StopRequest, Worker, WorkerFault

CANARIES: Final = ("canary-core", "canary-memory")
#: Of the budget, kept for the report and for what the estimate missed.
RESERVE: Final = 0.04
#: Configurations that programs hold prepared at once when they alternate.
STEPPED_GROUPS: Final = 8
MAX_WARNINGS: Final = 1000
OTHER_BUILD: Final = "against"

Groups = dict[str, list[Point]]


def now_utc() -> str:
    """ISO 8601, seconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Listener:
    """Who watches a run: the progress display, or nobody."""

    def event(self, event: Event) -> None:
        """Every event of a worker."""

    def stage(self, text: str, windows: int, seconds_left: float) -> None:
        """A round begins that is expected to bring ``windows`` windows."""

    def note(self, text: str) -> None:
        """Something a person should read now."""


@dataclass
class Setting:
    """What a run works with besides its plan."""

    program: Path
    target: Target
    cpus: list[int]
    stop: StopRequest
    listener: Listener
    engine_dirs: Sequence[Path] = ()
    against: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Run:
    """One run, new or resumed."""

    def __init__(self, writer: RunWriter, plan: Plan, setting: Setting, record: dict[str, Any], inputs: Mapping[str, list[str]]) -> None:
        self.writer = writer
        self.plan = plan
        self.setting = setting
        self.record = record
        self._inputs = dict(inputs)
        self._costs = Costs(plan, len(setting.cpus))
        self._configurations = {c.id: c for c in map(Configuration.from_record, record["configurations"])}
        self._points: dict[str, Point] = {}
        self._begun = time.monotonic() - float(record["spent_s"])
        self._budget = plan.budget
        self._warned = {_key(w) for w in record["warnings"]}
        self._dropped: set[str] = set()
        self._offset: dict[str, int] = {}
        self._broken: dict[str, str] = {}  #: contract programs that cannot even begin -> why
        self._bring_back()

    # --- state

    @property
    def points(self) -> list[Point]:
        return list(self._points.values())

    def _bring_back(self) -> None:
        for entry in self.record["points"]:
            configuration = self._configurations[entry["configuration"]]
            point = self._point(configuration, entry["engine"], entry["build"])
            point.operator_version = entry["operator_version"]
            point.prepared = {k: entry[k] for k in ("input", "path", "memory_bytes", "footprint_bytes") if k in entry}
            point.build_ns, point.verified = list(entry.get("build_ns", [])), dict(entry.get("verified", {}))
            point.failure, point.unavailable = entry["failure"], entry["unavailable"]
            self._points[point.id] = point
        if self.writer.whole_rounds():
            windows = self.writer.windows()
            columns = (windows.column(n).to_pylist() for n in ("point", "round", "operations", "elapsed_ns"))
            for name, number, operations, elapsed in zip(*columns, strict=True):
                if name in self._points:
                    self._points[name].rates.setdefault(number, []).append(operations / elapsed * 1e9)

    def _save(self, status: str | None = None) -> None:
        if status is not None:
            self.record["status"] = status
            self.record["finished"] = "" if status == "running" else now_utc()
        self.record["spent_s"] = round(time.monotonic() - self._begun, 3)
        self.record["configurations"] = [c.record() for c in self._configurations.values()]
        self.record["points"] = [p.record() for p in self._points.values()]
        self.writer.write_record(self.record)

    def _left(self) -> float:
        spent: float = time.monotonic() - self._begun
        return self._budget * (1 - RESERVE) - spent

    # --- the run

    def execute(self) -> Exit:
        """Measures until every point is known well enough or the budget is spent.

        Raises:
            Interrupted: a stop was asked for; everything measured is kept.
            NothingRan: no engine that was asked for can run here.
        """
        self._save("running")
        try:
            self._select()
            if not any(not p.unavailable for p in self.points):
                raise NothingRan("nothing that was asked for can run here: `dpubench list engines` gives the reasons")
            self._rounds()
        except Interrupted:
            self._save("interrupted")
            raise
        except UserError as error:
            self._note_failure("job", str(error))
            self._save_if_possible("failed")
            raise
        self._conclude()
        measured = any(p.rates for p in self.points)
        self._save("complete" if measured else "failed")
        if not measured:
            raise NothingRan(
                "nothing could be measured: " + (self.record["failures"][0]["message"] if self.record["failures"] else "no engine can run here")
            )
        return Exit.FAILED if self.record["failures"] else Exit.DONE

    def _save_if_possible(self, status: str) -> None:
        try:
            self._save(status)
        except EnvironmentFault:  # the disk that is full already is what the user is told about
            return

    def _select(self) -> None:
        """Chooses each configuration's engines; where the plan wants the best one, by measuring all of them briefly once."""
        chosen_before = {p.configuration.id for p in self.points if not p.unavailable}
        open_ones = [c for c in self._configurations.values() if c.id not in chosen_before]
        contested = [c for c in open_ones if self.record["selection"]["wanted"] and _others(c) > 1]
        rates: dict[str, list[float]] = {}
        failed: dict[str, str] = {}
        if contested:
            groups: Groups = {c.id: [self._point(c, e, "") for e in c.candidates] for c in contested}
            self.setting.listener.stage(
                f"choosing the best engine of {len(groups)} configurations", sum(2 * len(p) for p in groups.values()), self._left()
            )
            failures = len(self.record["failures"])
            writer = self.writer.begin_selection()
            try:
                self._measure(groups, 0, 1, writer, rates)
            finally:
                writer.close()
            self._fail_unmeasured(groups, rates)
            failed = {p.id: p.failure for points in groups.values() for p in points if p.failure}
            # A candidate that failed stays in the run as a failed point, so that nobody believes the choice was made without trouble.
            self.record["selection"]["failed"] = len(self.record["failures"]) - failures
            writer.finish()
        for configuration in open_ones:
            self._choose(configuration, rates, failed)
        self._save()

    def _choose(self, configuration: Configuration, rates: Mapping[str, list[float]], failed: Mapping[str, str]) -> None:
        engines = list(configuration.candidates)
        medians = {e: statistics.median(r) for e in engines if (r := rates.get(point_id(configuration.id, e, self.plan.target, "")))}
        if medians:
            best = max(medians, key=lambda e: medians[e])
            for engine in engines:
                broken = point_id(configuration.id, engine, self.plan.target, "") in failed
                if engine not in (best, configuration.reference) and not broken:
                    configuration.not_measured[engine] = f"{medians[best] / medians[engine]:.2f} times slower than {best} in the selection round"
            engines = [e for e in engines if e not in configuration.not_measured]
        for engine in engines:
            for build in ("", OTHER_BUILD):
                point = self._point(configuration, engine, build)
                if build and (self.setting.against is None or point.program):  # the other build is one of our program, not of somebody else's
                    continue
                point.failure = failed.get(point.id, "")
                self._points[point.id] = point

    def _point(self, configuration: Configuration, engine: str, build: str) -> Point:
        operator = self.record["operators"][configuration.operator]
        entry: Mapping[str, str] = next((e for e in operator["engines"] if e["name"] == engine), {})
        point = Point(configuration, engine, self.plan.target, build, int(operator["version"]))
        point.program, point.name_in_program = entry.get("program", ""), entry.get("name_in_program", "")
        return point

    def _active(self) -> Groups:
        """Configurations of which a point is not yet known well enough, with all their points that work: they alternate together."""
        groups: Groups = {}
        for point in self.points:
            if not point.failure and not point.unavailable and point.configuration.id not in self._dropped:
                groups.setdefault(point.configuration.id, []).append(point)
        done = {
            g for g, points in groups.items()
            if all(stopping.has_converged(p, self.plan.precision, self.plan.rounds.min) or len(p.rates) >= self.plan.rounds.max for p in points)
        }  # fmt: skip
        return {g: p for g, p in groups.items() if g not in done}

    def _rounds(self) -> None:
        number = 1 + max((r["number"] for r in self.record["rounds"]), default=-1)
        for path in self.writer.whole_rounds():
            number = max(number, int(path.stem) + 1)
        if self.record["rounds"]:
            self._budget = max(self._budget, self._budget * RESERVE + (time.monotonic() - self._begun) + self._needed_s())
        while groups := self._active():
            missing = max(self.plan.rounds.min - min(len(p.rates) for points in groups.values() for p in points), 0)
            if number > 0:
                groups = self._fit(groups, missing)
            sizes = self._sizes(groups)
            cycles = self._costs.cycles_for(sizes, self._left() / max(missing, 1))
            expected = self._costs.round_s(sizes, cycles)
            if missing == 0 and expected > self._left():
                cycles = self.plan.cycles.min
                if self._costs.round_s(sizes, cycles) > self._left():
                    break
            elif missing and number > 0 and self._costs.round_s(sizes, self.plan.cycles.min) > self._left():
                break
            self.setting.stop.check()
            self.setting.listener.stage(
                f"round {number + 1} of at least {number + missing}, {len(groups)} configurations"
                if missing
                else f"round {number + 1} for {len(groups)} configurations that are not yet precise enough",
                sum(2 * cycles * len(p) for p in groups.values()),
                self._left(),
            )
            self._round(number, groups, cycles)
            number += 1

    def _needed_s(self) -> float:
        """Seconds for the rounds that a resumed run still owes."""
        groups = self._active()
        missing = max((self.plan.rounds.min - len(p.rates) for points in groups.values() for p in points), default=0)
        return max(missing, 1) * self._costs.round_s(self._sizes(groups), self.plan.cycles.min)

    def _sizes(self, groups: Groups) -> dict[str, tuple[int, list[str]]]:
        return {g: (points[0].configuration.threads, [p.id for p in points]) for g, points in groups.items()}

    def _fit(self, groups: Groups, missing: int) -> Groups:
        """Leaves out the dearest configurations while the rounds still owed do not fit the budget; each operator keeps one. Says so."""
        fitting = dict(groups)
        while missing > 0:
            excess = missing * self._costs.round_s(self._sizes(fitting), self.plan.cycles.min) - self._left()
            counts: dict[str, int] = {}
            for points in fitting.values():
                counts[points[0].configuration.operator] = counts.get(points[0].configuration.operator, 0) + 1
            spare = [g for g, points in fitting.items() if counts[points[0].configuration.operator] > 1]
            if excess <= 0 or not spare:
                break
            prices = {g: self._costs.round_s(self._sizes({g: fitting[g]}), self.plan.cycles.min) for g in spare}
            dearest = max(spare, key=lambda g: prices[g])
            del fitting[dearest]
            self._dropped.add(dearest)
            self.record["left_out"].append(
                f"{dearest} after {len(groups[dearest][0].rates)} rounds: {prices[dearest]:.1f} s in every round do not fit the budget (--budget)"
            )
        return fitting

    def _round(self, number: int, groups: Groups, cycles: int) -> None:
        begun, started = time.monotonic(), now_utc()
        order = list(groups)
        random.Random(f"{self.plan.seed}/{number}").shuffle(order)
        shuffled = {g: groups[g] for g in order}
        rates: dict[str, list[float]] = {}
        writer = self.writer.begin_round(number)
        whole = False
        try:
            self._measure(shuffled, number, cycles, writer, rates)
            whole = True
        finally:
            writer.close()
            for name, values in rates.items():
                if name in self._points:
                    self._points[name].rates[number] = values
            entry = {"number": number, "started": started, "elapsed_s": round(time.monotonic() - begun, 3), "cycles": cycles}
            self.record["rounds"].append(entry | {"windows": sum(map(len, rates.values())), "whole": whole})
        writer.finish()
        self._fail_unmeasured(groups, rates)
        self._save()

    def _fail_unmeasured(self, groups: Groups, rates: Mapping[str, list[float]]) -> None:
        for points in groups.values():
            for point in points:
                if point.id not in rates and not point.failure:
                    self._fail(point, "measure", "the program measured nothing for it and gave no reason")

    def _measure(self, groups: Groups, number: int, cycles: int, writer: RoundWriter, rates: dict[str, list[float]]) -> None:
        """Each configuration whose points are all of one program in a process of that program; the others by their programs in alternation."""
        alone: dict[str, Groups] = {}
        shared: Groups = {}
        for group, members in groups.items():
            sides = {p.side for p in members}
            (shared if len(sides) > 1 else alone.setdefault(sides.pop(), {}))[group] = members
        for side, own in alone.items():
            self._run_workers(own, number, cycles, writer, rates, side)
        self._run_alternating(shared, number, cycles, writer, rates)

    # --- programs

    def _program(self, side: str) -> Path:
        if side == OTHER_BUILD:
            return self.setting.against or self.setting.program
        return Path(side) if side else self.setting.program

    def _job(self, groups: Groups, number: int, cycles: int, control: str, limit_s: float) -> bytes:
        window = self.plan.window
        job = {
            "schema": schemas.JOB,
            # The same in every round: the input of a run is one, and its hash tells whether another run had the same. Rounds differ in
            # memory layout, which the program derives from "round".
            "seed": self.plan.seed,
            "round": number,
            "control": control,
            "inputs": self._inputs,
            "cache_dir": str(programs.cache_directory() / "prepared"),
            "cpus": self.setting.cpus,
            "window": {
                "min_ms": window.min * 1e3, "max_ms": window.max * 1e3, "min_bursts": window.min_bursts, "threaded_min_ms": window.threaded_min * 1e3
            },
            "cycles": cycles,
            "canaries": True,
            "time_limit_s": limit_s,
            "groups": [
                {
                    "id": g, "operator": points[0].configuration.operator, "params": points[0].configuration.params,
                    "threads": points[0].configuration.threads, "burst": points[0].configuration.burst,
                    "footprint": points[0].configuration.footprint,
                    "points": [{"id": p.id, "engine": p.name_in_program or p.engine} for p in points],
                }
                for g, points in groups.items()
            ],
        }  # fmt: skip
        return json.dumps(job, separators=(",", ":")).encode() + b"\n"

    def _limit(self, groups: Groups, cycles: int) -> float:
        """A worker that needs several times what a round was measured to take is not coming back."""
        return round(max(120.0, self.plan.silence * 2, 5 * self._costs.round_s(self._sizes(groups), cycles)), 1)

    def _start(self, side: str, limit_s: float) -> Worker:
        """@raises WorkerFault when a contract program cannot be started; EnvironmentFault when ours cannot."""
        try:
            return Worker(
                self.setting.target,
                str(self._program(side)),
                # The folders hold modules for our program and its other build; a contract program knows its own engines.
                [] if _is_foreign(side) else [word for d in self.setting.engine_dirs for word in ("--engine-dir", str(d))],
                stop=self.setting.stop,
                silence_s=self.plan.silence,
                limit_s=limit_s + 10,
                environment=self.setting.environment,
            )
        except EnvironmentFault as error:
            if _is_foreign(side):
                raise WorkerFault(str(error).partition("; build it")[0], "crash") from None
            raise

    # --- one process at a time

    def _run_workers(self, groups: Groups, number: int, cycles: int, writer: RoundWriter, rates: dict[str, list[float]], side: str) -> None:
        """Measures ``groups``; when a worker breaks, the point at work is recorded as failed and a fresh worker goes on without it."""
        self._offset = {}
        points = {p.id: p for members in groups.values() for p in members}
        remaining = self._without_broken(groups)
        while remaining:
            blame = Blame({g: [p.id for p in members] for g, members in remaining.items()}, cycles)
            try:
                limit = self._limit(remaining, cycles)
                with self._start(side, limit) as worker:
                    self._costs.begin_worker()
                    worker.send(self._job(remaining, number, cycles, "auto", limit), last=True)
                    ended = False
                    while (event := worker.next_event()) is not None:
                        blame.see(event)
                        self._take(event, points, number, writer, rates, side)
                        ended = ended or event["event"] == "done"
                    if not ended and not self.record["failures"]:
                        raise WorkerFault("it ended without saying that it was done", "crash")
                return
            except WorkerFault as fault:
                remaining = self._without_suspect(fault, blame, remaining, points, side, {g for g in remaining if blame.finished(g)})
                self._offset = {g: len({r for p in remaining[g] for r in range(len(rates.get(p.id, [])) // 2 + 1)}) for g in remaining}

    def _without_broken(self, groups: Groups) -> Groups:
        """``groups`` without the points of contract programs that are known not to begin; those fail with the reason that is known."""
        for point in (p for members in groups.values() for p in members if p.side in self._broken):
            self._fail(point, "prepare", self._broken[point.side])
        rest = {g: [p for p in members if not p.failure] for g, members in groups.items()}
        return {g: members for g, members in rest.items() if members}

    def _without_suspect(
        self, fault: WorkerFault, blame: Blame, remaining: Groups, points: Mapping[str, Point], side: str, finished: set[str]
    ) -> Groups:
        """What is left to measure after ``fault`` of the program of ``side``, without the point that caused it."""
        suspects = [points[name] for name in blame.suspects() if name in points]
        left = {g: members for g, members in remaining.items() if g not in finished}
        if suspects:
            guilty = suspects[0]
            if len(suspects) > 1:
                guilty, fault = self._probe(suspects, fault)
            self._blame(guilty, "measure" if guilty.verified else "prepare", fault)
        elif left and not blame.started and _is_foreign(side):
            self._broken[side] = f"{side}: {fault.reason}, before it measured anything"
        elif left and not blame.started:
            raise EnvironmentFault(f"{self._program(side)}: {fault.reason}, before it measured anything: run `dpubench doctor`")
        elif left and _is_foreign(side):
            self._broken[side] = f"{side}: {fault.reason}"
        else:
            self._note_failure("measure", f"the worker: {fault.reason}" if not side else f"the worker {self._program(side)}: {fault.reason}")
            left = {g: members for g, members in left.items() if all(p.failure or p.side != side for p in members)}
        return self._without_broken(left)

    def _probe(self, suspects: Sequence[Point], fault: WorkerFault) -> tuple[Point, WorkerFault]:
        """Which of ``suspects`` breaks a worker by itself; the first, with the fault that was seen, when none does."""
        for point in suspects:
            alone = {point.configuration.id: [point]}
            limit = self._limit(alone, 1)
            try:
                with self._start(point.side, limit) as worker:
                    worker.send(self._job(alone, 0, 1, "auto", limit), last=True)
                    while worker.next_event() is not None:
                        pass
            except WorkerFault as own:
                return point, own
        return suspects[0], fault

    def _blame(self, point: Point, phase: str, fault: WorkerFault) -> None:
        self._fail(point, phase, fault.reason)
        message = f"the worker broke at this point ({fault.reason}); the rest went on without it"
        self._warn({"code": "restarted", "message": message, "point": point.id, "group": point.configuration.id})

    def _take(self, event: Event, points: Mapping[str, Point], number: int, writer: RoundWriter, rates: dict[str, list[float]], side: str) -> None:
        """Keeps an event of the program of ``side``, whose points are ``points``, and what it tells."""
        kind, group, name = event["event"], event.get("group", ""), event.get("point", "")
        self._costs.see("cycle" if event.get("phase") == "measure" else kind, group, name, event.get("elapsed_ns", 0))
        if kind == "window":
            event["round"] = number
            event["cycle"] += self._offset.get(group, 0)
            if name not in CANARIES and name not in points:
                raise WorkerFault(f"it printed a window of a point that nobody asked for: {name[:80]}", "rubbish")
            if event["operations"] and name not in CANARIES:
                rates.setdefault(name, []).append(event["operations"] / event["elapsed_ns"] * 1e9)
        writer.write({k: v for k, v in event.items() if k != "catalog"})
        self.setting.listener.event(event)
        if kind == "hello":
            self._note_hello(event, side)
        elif kind == "prepared" and name in points:
            points[name].prepared = {k: event[k] for k in ("input", "path", "memory_bytes", "footprint_bytes")}
            points[name].build_ns.append(event["build_ns"])
        elif kind == "verified" and name in points:
            points[name].verified = {k: event[k] for k in ("known_answers", "compared", "how")}
        elif kind == "warning":
            self._warn({k: event[k] for k in ("code", "message", "point", "group") if k in event})
        elif kind == "failure":
            self._take_failure(event, points, side)
        elif kind == "done" and not _is_foreign(side):
            self.record["clock"] = event["clock"]

    def _take_failure(self, event: Event, points: Mapping[str, Point], side: str) -> None:
        concerned = [p for p in points.values() if event.get("point") == p.id or ("point" not in event and event.get("group") == p.configuration.id)]
        for point in concerned:
            self._fail(point, event["phase"], event["message"])
        if not concerned:
            self._note_failure(event["phase"], f"{side}: {event['message']}" if _is_foreign(side) else event["message"])

    def _fail(self, point: Point, phase: str, message: str) -> None:
        if not point.failure:
            point.failure = f"{phase}: {message}"
            self._note_failure(phase, message, point=point.id, group=point.configuration.id)

    def _note_failure(self, phase: str, message: str, **where: str) -> None:
        entry = {"phase": phase, "message": message, **where}
        if entry not in self.record["failures"]:
            self.record["failures"].append(entry)
            self.setting.listener.note(f"failed: {where.get('point', 'the run')}: {message}")

    def _warn(self, warning: dict[str, str]) -> None:
        if _key(warning) not in self._warned and len(self.record["warnings"]) < MAX_WARNINGS:
            self._warned.add(_key(warning))
            self.record["warnings"].append(warning)

    def _note_hello(self, event: Event, side: str) -> None:
        told = {k: event[k] for k in ("program", "version", "build")}
        if _is_foreign(side):
            for entry in self.record.get("engine_programs", []):
                if entry["path"] == side:
                    entry |= told
            return
        if not side:
            self.record["machine"], self.record["build"] = event["machine"], event["build"]
        self.record["builds"][side] = {**told, "path": str(self._program(side))}

    # --- several programs, window by window

    def _run_alternating(self, groups: Groups, number: int, cycles: int, writer: RoundWriter, rates: dict[str, list[float]]) -> None:
        """Several programs in ABBA order: in each cycle every point of all of them, the canaries, and all of it backwards."""
        self._offset = {}
        names = list(groups)
        for at in range(0, len(names), STEPPED_GROUPS):
            chunk = self._without_broken({g: groups[g] for g in names[at : at + STEPPED_GROUPS]})
            while chunk:
                chunk = self._alternate(chunk, number, cycles, writer, rates)

    def _alternate(self, chunk: Groups, number: int, cycles: int, writer: RoundWriter, rates: dict[str, list[float]]) -> Groups:
        """Measures ``chunk``; what is left of it after a fault."""
        points = {p.id: p for members in chunk.values() for p in members}
        # Ours, which sorts first, gives the canaries where it takes part.
        parts: dict[str, Groups] = {s: {} for s in sorted({p.side for p in points.values()})}
        for group, members in chunk.items():
            for point in members:
                parts[point.side].setdefault(group, []).append(point)
        own = {s: {p.id: p for p in points.values() if p.side == s} for s in parts}
        blames = {s: Blame({g: [p.id for p in members] for g, members in part.items()}, cycles) for s, part in parts.items()}
        workers: dict[str, Worker] = {}
        asked: Point | None = None
        first = side = next(iter(parts))
        done = set[str]()
        limit = 4 * self._limit(chunk, cycles)
        try:
            for side, part in parts.items():
                workers[side] = self._start(side, limit)
                workers[side].send(self._job(part, number, cycles, "stepped", limit))
            for side in parts:
                self._costs.begin_worker()
                self._listen(workers[side], "ready", blames[side], own[side], number, writer, rates, side)
            for group, members in chunk.items():
                for cycle in range(1, cycles + 1):
                    steps: list[tuple[str, Point | None, str]] = [(p.id, p, p.side) for p in members]
                    steps += [(c, None, first) for c in CANARIES]
                    for half in (0, 1):
                        for name, asked, side in steps if half == 0 else reversed(steps):
                            if asked is not None and asked.failure:
                                continue
                            workers[side].send(json.dumps({"window": name}).encode() + b"\n")
                            place = {"group": group, "cycle": cycle, "half": half}
                            self._listen(workers[side], name, blames[side], own[side], number, writer, rates, side, place)
                done.add(group)
                asked = None
            for side, worker in workers.items():
                worker.send(b'{"end":true}\n', last=True)
                self._listen(worker, "", blames[side], own[side], number, writer, rates, side)
            return {}
        except WorkerFault as fault:
            if asked is not None:
                self._blame(asked, "measure", fault)
                rest = self._without_broken({g: members for g, members in chunk.items() if g not in done})
            else:
                rest = self._without_suspect(fault, blames[side], chunk, own[side], side, done)
            # Windows of a group that was cut short are taken again, behind those that are kept.
            self._offset |= {g: self._offset.get(g, 0) + cycles for g in rest if any(p.id in rates for p in rest[g])}
            return rest
        finally:
            for worker in workers.values():
                worker.__exit__(None, None, None)

    def _listen(
        self, worker: Worker, awaited: str, blame: Blame, points: Mapping[str, Point], number: int, writer: RoundWriter,
        rates: dict[str, list[float]], side: str, place: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Takes events until the one that is awaited: ``ready``, the window of a point, or (empty) the end."""
        while (event := worker.next_event()) is not None:
            if event["event"] == "window":
                # A program must not speak for another, nor out of turn.
                if place is None or event["point"] != awaited:
                    raise WorkerFault(f"it printed a window that it was not asked for: {event['point'][:80]}", "rubbish")
                event |= place
            blame.see(event)
            self._take(event, points, number, writer, rates, side)
            if event["event"] == awaited or (awaited and event.get("point") == awaited and event["event"] in ("window", "failure")):
                return
        if awaited:
            raise WorkerFault("it ended before it was told to", "crash")

    # --- the end

    def _conclude(self) -> None:
        for point in self.points:
            if point.failure or point.unavailable or not point.rates:
                continue
            where = {"point": point.id, "group": point.configuration.id}
            if len(point.rates) < stopping.MINIMUM_ROUNDS:
                self._warn({"code": "few-rounds", "message": f"{len(point.rates)} of at least {stopping.MINIMUM_ROUNDS} rounds", **where})
            elif not stopping.has_converged(point, self.plan.precision, self.plan.rounds.min):
                reached = stopping.precision(point)
                self._warn(
                    {"code": "not-converged", "message": f"known to ±{100 * reached:.1f} %, asked for ±{100 * self.plan.precision:g} %", **where}
                )


def _is_foreign(side: str) -> bool:
    """Whether ``side`` is a contract program: those go by their absolute path, builds by a label."""
    return side.startswith("/")


def _others(configuration: Configuration) -> int:
    """Candidates besides the reference: with one there is nothing to choose."""
    return sum(e != configuration.reference for e in configuration.candidates)


def _key(warning: Mapping[str, str]) -> tuple[str, ...]:
    # Two workers word a measured figure differently: one warning of a kind per point is enough.
    if "point" in warning:
        return (warning["code"], warning["point"])
    return (warning["code"], warning.get("group", ""), warning["message"])


def new_record(
    name: str, plan: Plan, command: str, expansion: Expansion, operators: Iterable[Mapping[str, Any]], inputs: Mapping[str, Any], known: Catalog
) -> dict[str, Any]:
    """``run.json`` of a run that has not measured anything yet."""
    hello = known.hello
    record: dict[str, Any] = {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": command, "version": __version__, "precision_target": plan.precision, "seed": plan.seed, "target": plan.target, "spent_s": 0.0,
        "machine": hello["machine"], "build": hello["build"], "builds": {}, "clock": {}, "inputs": dict(inputs),
        "operators": {o["name"]: {k: v for k, v in o.items() if k != "configurations"} for o in operators},
        "configurations": [c.record() for c in expansion.configurations], "points": [], "rounds": [],
        "selection": {"wanted": expansion.select_best}, "failures": [], "warnings": [], "left_out": list(expansion.left_out),
    }  # fmt: skip
    if known.others:
        record["engine_programs"] = [other.record() for other in known.others]
    for configuration, engine, reason in expansion.unavailable:
        version = int(record["operators"][configuration.operator]["version"])
        point = Point(configuration, engine, plan.target, "", version, unavailable=reason)
        record["points"].append(point.record())
        record["failures"].append(
            {"phase": "prepare", "message": f"{engine} was asked for and cannot run here: {reason}", "point": point.id, "group": configuration.id}
        )
    return record


def estimate(plan: Plan, expansion: Expansion, cpus: int, builds: int) -> tuple[int, float, int]:
    """Points, seconds and bytes on disk that a run of ``plan`` will come to, before anything was measured."""
    costs = Costs(plan, cpus)
    sizes, points = {}, 0
    for configuration in expansion.configurations:
        engines = list(configuration.candidates)
        if expansion.select_best and len(engines) > 2:
            engines = engines[:2]
        points += len(engines) * builds
        sizes[configuration.id] = (configuration.threads, [f"{configuration.id}/{e}#{b}" for e in engines for b in range(builds)])
    least = plan.rounds.min * costs.round_s(sizes, plan.cycles.min)
    cycles = costs.cycles_for(sizes, plan.budget / plan.rounds.min)
    windows = plan.rounds.min * cycles * (2 * points + 4 * len(sizes))
    seconds = min(max(least, plan.rounds.min * costs.round_s(sizes, cycles)), max(plan.budget, least))
    return points, seconds if math.isfinite(seconds) else plan.budget, windows * 60 + 400_000


def describe_time(seconds: float, plan: Plan) -> str:
    """``about 2 min 50 s (budget 3 min 00 s)``."""
    return f"about {spoken(seconds)} (budget {spoken(plan.budget)})"
