"""Carries out a run: rounds of fresh processes, with the null workload beside every configuration, until all is precise or the budget is spent.

A round measures every configuration once, in fresh processes on both sides. On each link the null workload comes first in one round and last in the
next. Loads come in another order each time. A trial that the client or a stall limited is repeated a few times. A trial that stays limited is kept as
such, and is no statement on the server.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dpubench.analysis import statistics
from dpubench.analysis.model import is_emulated, mapping
from dpubench.run.work import Budget, Work
from dpubench.storage.runs import RoundWriter, now_utc
from dpubench.studies.end_to_end import judge, search, selection, trials
from dpubench.studies.end_to_end.calibrate import Calibration
from dpubench.studies.end_to_end.expand import Configuration, Load
from dpubench.studies.end_to_end.model import FORMER_EXCEED, NULL_WORKLOAD, SHARED_CPUS, Limit
from dpubench.studies.end_to_end.plan import FLOOD, Plan
from dpubench.studies.end_to_end.search import Outcome, SearchFailed
from dpubench.studies.end_to_end.session import Done, Session, SessionFault, Setting
from dpubench.studies.end_to_end.trials import FOUND, TrialsWriter, kept_trial

#: Largest number of attempts at a trial while something other than the server limits it.
ATTEMPTS: Final = 3
#: The same for a trial of a search. It is smaller since a search tries the rates near a bound again anyway.
SEARCH_ATTEMPTS: Final = 2
#: Share of the budget that is kept for the report and for errors of the estimate.
RESERVE: Final = 0.06
_SEARCH_KINDS: Final = ("NDR", "PDR")
#: Smallest ratio of the highest to the lowest rate of a search, where the client's ceiling bounds the highest.
_LEAST_SPAN: Final = 1.5


class WrongResult(RuntimeError):
    """A wrong answer or a wrong account. The point fails, and the rest of the run goes on."""


class Run(Work):
    """One run, new or resumed."""

    writer: TrialsWriter

    def __init__(
        self, writer: TrialsWriter, plan: Plan, setting: Setting, record: dict[str, Any], budget: Budget, kept: Sequence[dict[str, Any]] = ()
    ) -> None:  # fmt: skip
        """Prepare the run. ``kept`` holds the rows of rounds measured before (:func:`dpubench.studies.end_to_end.trials.read`)."""
        super().__init__(writer, record, budget, setting.listener)
        self.plan, self.setting = plan, setting
        self.times_mean_nothing = is_emulated(mapping(record, "target_info"))
        self.configurations = [Configuration.from_record(c) for c in record["configurations"]]
        self.loads = {frame: [Load(**load) for load in loads] for frame, loads in record["loads"].items()}
        self._entries: dict[str, dict[str, Any]] = {c["id"]: c for c in record["configurations"]}
        self._points: dict[str, dict[str, Any]] = {p["id"]: p for p in record["points"]}
        self.rates: dict[str, dict[int, float]] = {}  #: point -> round -> packets per second
        self._number = 0  #: number of the next round
        self._owing_points: set[str] | None = None  #: points that the next round measures; None: all that are not precise enough
        self._round_s: list[float] = []
        self._trials = 0  #: trials of this process
        self._calibration = Calibration(writer, plan, setting, record, self.journal, self.save)
        for row in kept:
            self._count(row)

    # --- state

    def points_of(self, configuration: Configuration) -> list[tuple[str, Load]]:
        """Return (id, load) of every point of a configuration."""
        return [(f"{configuration.id}/{load.name}", load) for load in self.loads[configuration.frame]]

    def kept(self) -> tuple[int, int | None, str]:
        return len(trials.read(self.writer.path)), None, "trials"

    def has_results(self) -> bool:
        """Return whether a workload has a rate. If the plan asks for other workloads, results of the null workload alone are no answer."""
        alone = all(entry["workload"] == NULL_WORKLOAD for entry in self._entries.values())
        return any(rounds for point, rounds in self.rates.items() if alone or not self._is_null_point(point))

    def why_nothing(self) -> str:
        reasons = [f["message"] for f in self.record["failures"]]
        reasons += [p[why] for why in ("unavailable", "left_out") for p in self._points.values() if p.get(why)]
        return "nothing could be measured: " + (reasons[0] if reasons else "every trial was limited by the client or by stalls")

    def _count(self, row: dict[str, Any]) -> None:
        """Note the rate of a point in a round if ``row`` holds a valid one."""
        point = f"{row['configuration']}/{row['load']}"
        if row["event"] == FOUND:
            value = row["lower_pps"]
        elif row["load"] in _SEARCH_KINDS or (row["limit"] in ("client-limited", "stall-limited") and not self.times_mean_nothing):
            return
        else:
            value = row["received"] / row["duration_s"]
        if value:
            self.rates.setdefault(point, {})[int(row["round"])] = float(value)

    def _open_points(self, configuration: Configuration) -> list[tuple[str, Load]]:
        """Return the points that have not failed, can run, and do not lie above the client's ceiling."""
        points = self.points_of(configuration)
        return [(p, load) for p, load in points if not any(self._points[p].get(why) for why in ("failure", "unavailable", "left_out"))]

    # --- the run

    def _begin(self) -> None:
        """Choose engines and measure the client's ceilings, before the first round."""
        self._select()
        self._calibrate()
        self._number = 1 + max((r["number"] for r in self.record["rounds"]), default=-1)
        for path in self.writer.whole_rounds():
            self._number = max(self._number, int(path.stem) + 1)
        self._owing_points = self._owing()

    def _round(self) -> bool:
        if not self._another_round(self._number):
            return False
        self._calibrate_again(self._number)
        self._measure_round(self._number, self._owing_points)
        self._number, self._owing_points = self._number + 1, None
        return True

    def _is_null_point(self, point: str) -> bool:
        return any(c.is_null and point.startswith(f"{c.id}/") for c in self.configurations)

    def _conclude(self) -> None:
        if self.times_mean_nothing:
            return
        for configuration in self.configurations:
            for point, _ in self._open_points(configuration):
                rounds, where = self.rates.get(point, {}), {"point": point, "group": configuration.id}
                if 0 < len(rounds) < statistics.MINIMUM_ROUNDS:
                    self.journal.warn({"code": "few-rounds", "message": f"{len(rounds)} of at least {statistics.MINIMUM_ROUNDS} rounds", **where})
                elif rounds and not self._has_converged(point):
                    reached = statistics.precision(statistics.interval_of_rounds(list(rounds.values())))
                    text = f"known to ±{100 * reached:.1f} %, asked for ±{100 * self.plan.precision:g} %"
                    self.journal.warn({"code": "not-converged", "message": text, **where})

    # --- choice of engines

    def _select(self) -> None:
        """Keep of each set of candidates the one that forwards most in a short flood. There are candidates if the plan asks for the best engines."""
        choices = selection.candidates_of(self.configurations)
        if not choices:
            return
        floods = sum(len(selection.flooded_of(found)) for candidates in choices for found in candidates.values())
        seconds = selection.SHARE * max(self.budget.left_s(), 0.0)
        self.stage(f"choosing the best engines by {floods} short floods", floods, seconds)
        found = selection.choose(choices, self._flood, time.monotonic() + seconds, self.setting.listener.note)
        self.record["selection"]["chosen"] |= found.chosen
        if found.by_default:
            text = (
                f"choosing the best engines: no time was left for {found.by_default} of {len(choices)} choices, the default ones are kept (--budget)"
            )
            self.journal.left_out(text)
        for configuration in self.configurations:
            configuration.candidate = False
        self.configurations = [c for c in self.configurations if c.id not in found.dropped]
        self._keep_configurations()

    def _keep_configurations(self) -> None:
        kept = {c.id for c in self.configurations}
        self.record["configurations"] = [{**self._entries[c.id], "candidate": c.candidate} for c in self.configurations]
        self._entries = {c["id"]: c for c in self.record["configurations"]}
        self.record["points"] = [p for p in self.record["points"] if p["configuration"] in kept]
        self._points = {p["id"]: p for p in self.record["points"]}
        self.save()

    def _flood(self, configuration: Configuration) -> float | str:
        """Return the packets per second that come back when as many are sent as the port takes, or why the configuration does not run."""
        try:
            with Session(self.setting, self.plan, configuration, selection.FLOOD_S) as session:
                done = session.trial(None, FLOOD, selection.FLOOD_S)
                return float(done.trial["received"]) / float(done.trial["duration_s"])
        except SessionFault as fault:
            return str(fault)

    # --- the client's ceiling

    def _calibrate(self) -> None:
        """Measure the client's ceiling on every link once, and leave out the loads above it. A run that has rounds already goes on as it began."""
        if self.record["rounds"]:
            return
        seconds = min(self.plan.calibration.share * self.plan.budget, max(self.budget.left_s(), 0.0))
        if self.plan.calibration.processes and not self.writer.has_calibration:
            open_ones = [c for c in self.configurations if self._open_points(c)]
            self._calibration.measure(open_ones, self.loads, time.monotonic() + seconds)
        self._calibration.leave_out(self.configurations, self.loads, self._points)

    def _calibrate_again(self, number: int) -> None:
        """Measure ceilings again before each further round. Other work on the machine may have pressed one down for a while, which must not last."""
        spent_s = sum(found.seconds for found in self._calibration.ceilings.values())
        left_s = min(self.plan.calibration.share * self.plan.budget - spent_s, self.budget.left_s() - (self._round_s[-1] if self._round_s else 0.0))
        if number and left_s > 0:
            self._calibration.again(number, self.configurations, self.loads, time.monotonic() + left_s)
            self._calibration.leave_out(self.configurations, self.loads, self._points)

    # --- rounds

    def _has_converged(self, point: str) -> bool:
        rates = list(self.rates.get(point, {}).values())
        return statistics.has_converged(rates, self.plan.precision, max(self.plan.rounds.min, statistics.MINIMUM_ROUNDS))

    def _active(self) -> list[Configuration]:
        """Return the configurations with a point that is not yet precise enough.

        The null workload is among them on the links of others, or if the plan has nothing else.
        """

        def owes(configuration: Configuration) -> bool:
            points = self._open_points(configuration)
            return configuration.id not in self.dropped and any(
                not self._has_converged(p) and len(self.rates.get(p, {})) < (1 if self.times_mean_nothing else self.plan.rounds.max)
                for p, _ in points
            )

        others = [c for c in self.configurations if not c.is_null and owes(c)]
        alone = all(c.is_null for c in self.configurations)
        links = {c.link for c in others}
        return others + [c for c in self.configurations if c.is_null and self._open_points(c) and (c.link in links or (alone and owes(c)))]

    def _another_round(self, number: int) -> bool:
        active = self._active()
        if not active:
            return False
        if sum(bool(r["whole"]) for r in self.record["rounds"]) >= self.plan.rounds.max:
            return False
        if number == 0 or not self._round_s:
            return True  # a resumed run gets a round even if the budget is spent
        return self.budget.left_s() >= self._round_s[-1]

    def _owing(self) -> set[str] | None:
        """Return the points without a rate in the last round, if that was interrupted; None if it was not."""
        last = self.record["rounds"][-1] if self.record["rounds"] else None
        if last is None or last["whole"]:
            return None
        return {p for c in self.configurations for p, _ in self._open_points(c) if last["number"] not in self.rates.get(p, {})}

    def _measure_round(self, number: int, owing: set[str] | None) -> None:
        active = self._active()
        expected = sum(len(self._open_points(c)) for c in active)
        least = max(self.plan.rounds.min, 1)
        text = f"round {number + 1}" + (f" of at least {least}" if number < least else "") + f", {len(active)} configurations"
        self.stage(text, expected, max(self.budget.left_s(), 0.0))
        begun, started, before = time.monotonic(), now_utc(), self._trials
        writer, whole = self.writer.begin_round(number), False
        try:
            for configuration in self._in_order(active, number):
                if self._first_round_is_too_long(number, begun, configuration):
                    continue
                wanted = [(p, load) for p, load in self._open_points(configuration) if owing is None or p in owing]
                self._measure(configuration, wanted, number, writer)
            whole = True
        finally:
            writer.close()
            elapsed_s = round(time.monotonic() - begun, 3)
            self._round_s.append(elapsed_s)
            self.record["rounds"].append(
                {"number": number, "started": started, "elapsed_s": elapsed_s, "trials": self._trials - before, "whole": whole}
            )
        writer.finish()
        self.save()

    def _first_round_is_too_long(self, number: int, begun: float, configuration: Configuration) -> bool:
        """Return whether the budget ran out before this configuration's turn in the first round. If so, drop it and record that."""
        if number > 0 or self.budget.left_s() > 0 or not self.rates:
            return False
        self.dropped.add(configuration.id)
        self.journal.left_out(f"{configuration.id}: the budget was spent before its turn ({time.monotonic() - begun:.0f} s; --budget)")
        return True

    def _in_order(self, active: Sequence[Configuration], number: int) -> Iterator[Configuration]:
        """Yield the configurations link by link. The null workload of a link comes first in one round and last in the next."""
        order = random.Random(f"{self.plan.seed}/{number}")
        links = list(dict.fromkeys(c.link for c in active))
        order.shuffle(links)
        for link in links:
            others = [c for c in active if c.link == link and not c.is_null]
            order.shuffle(others)
            floor = [c for c in active if c.link == link and c.is_null]
            yield from [*floor, *others] if number % 2 == 0 else [*others, *floor]

    # --- one configuration

    def _measure(self, configuration: Configuration, wanted: Sequence[tuple[str, Load]], number: int, writer: RoundWriter) -> None:
        """Measure the points ``wanted`` of a configuration in fresh processes.

        If a program fails, go on in fresh processes without the points at work. If no point was at work, give up the configuration.
        """
        left = list(wanted)
        random.Random(f"{self.plan.seed}/{number}/{configuration.id}").shuffle(left)
        left.sort(key=lambda item: item[1].kind in _SEARCH_KINDS)  # rates first: a search may use up its time
        while left:
            self.setting.stop.check()
            at_work: list[tuple[str, Load]] = []
            try:
                with Session(self.setting, self.plan, configuration, self._session_s(left)) as session:
                    self._told(configuration, session)
                    while left:
                        searched = [item for item in left if item[1].kind in _SEARCH_KINDS]
                        at_work = [left[0]] if left[0] not in searched else searched
                        self._point(session, configuration, at_work, number, writer)
                        left = [item for item in left if item not in at_work]
                        at_work = []
                    self._end(session, configuration)
            except SessionFault as fault:
                self._fault(configuration, fault, at_work)
                left = [item for item in left if item not in at_work] if at_work else []

    def _end(self, session: Session, configuration: Configuration) -> None:
        """End the programs. A program that fails while it ends is a failure, but the trials that are whole and checked stay valid."""
        try:
            session.end()
        except SessionFault as fault:
            self.journal.failure("end", fault.message, group=configuration.id)

    def _session_s(self, points: Sequence[tuple[str, Load]]) -> float:
        plan = self.plan
        trial_s = plan.trial.ramp + plan.trial.duration + plan.trial.drain + 1
        return sum(plan.search.limit if load.kind in _SEARCH_KINDS else ATTEMPTS * trial_s for _, load in points)

    def _told(self, configuration: Configuration, session: Session) -> None:
        """Record what the programs report of themselves when they are ready."""
        entry = self._entries[configuration.id]
        entry.setdefault("ready", session.ready)
        entry.setdefault("build_ns", {})
        for event in session.ready.values():
            for stage in event.get("stages", []):
                entry["build_ns"].setdefault(stage["name"], []).append(stage.get("build_ns"))
        if self.setting.cpus_of(configuration)[2]:
            entry["labels"] = [SHARED_CPUS]
        for side, hello in session.hellos.items():
            self.record["builds"][side] = {k: hello[k] for k in ("program", "version", "build")}
            # The record describes the machine of its target, which a device is not.
            if side in ("server", "server 1") and self.setting.targets_of(configuration)[0] is self.setting.places.server:
                self.record["machine"], self.record["build"] = hello["machine"], hello["build"]

    def _fault(self, configuration: Configuration, fault: SessionFault, at_work: Sequence[tuple[str, Load]]) -> None:
        """Record that a program failed: for the points at work or, if there were none, for the whole configuration.

        A configuration whose programs say that it cannot run here is unavailable instead, unless the plan names one of its engines.
        """
        points = [p for p, _ in at_work] or [p for p, _ in self._open_points(configuration)]
        named = set(configuration.named) & set(configuration.engines.values())
        if not at_work and fault.is_preparing and not named and not any(self.rates.get(p) for p in points):
            for point in points:
                self._points[point]["unavailable"] = fault.message
            self.journal.left_out(f"{configuration.id}: {fault.message}")
            self.setting.listener.note(f"cannot run here: {configuration.id}: {fault.message}")
            return
        for point in points:
            self._fail(configuration, point, fault.phase, fault.message)

    def _fail(self, configuration: Configuration, point: str, phase: str, message: str) -> None:
        if not self._points[point]["failure"]:
            self._points[point]["failure"] = f"{phase}: {message}"
            self.journal.failure(phase, message, point=point, group=configuration.id)

    # --- one point

    def _point(self, session: Session, configuration: Configuration, items: Sequence[tuple[str, Load]], number: int, writer: RoundWriter) -> None:
        try:
            if items[0][1].kind in _SEARCH_KINDS:
                self._search(session, configuration, items, number, writer)
            else:
                load = items[0][1]
                self._tries(session, configuration, load, number, writer, load.rate_pps, self.plan.trial.duration)
        except WrongResult as error:
            for point, _ in items:
                self._fail(configuration, point, "check", str(error))
        except SearchFailed as error:
            for point, _ in items:
                self.journal.warn({"code": "search-unfinished", "message": str(error), "point": point, "group": configuration.id})
        finally:
            for warning in session.warnings:
                self.journal.warn({**warning, "group": configuration.id})
            session.warnings.clear()

    def _search(self, session: Session, configuration: Configuration, items: Sequence[tuple[str, Load]], number: int, writer: RoundWriter) -> None:
        """Search for all goals at once and record their bounds. @raises WrongResult, SearchFailed, SessionFault"""
        loads = [load for _, load in items]
        exceeds = {f"{x.name.lower()}_exceed": FORMER_EXCEED if x.exceed_ratio is None else x.exceed_ratio for x in loads}
        plan = self.plan.search.model_copy(update={"goals": [x.name for x in loads], **exceeds})
        # Judge trials by the strictest goal, whatever the order of goals: losses in a stall must not spoil it.
        load = min(loads, key=lambda x: x.loss_goal or 0.0)

        def measure(rate_pps: float, duration_s: float) -> Outcome:
            done, limit = self._tries(session, configuration, load, number, writer, rate_pps, duration_s)
            due = judge.due(done.trial)
            return Outcome(due, due if limit == "client-limited" else judge.lost(done.trial), limit)

        ceiling = self._calibration.of(configuration, load)
        cap = ceiling.limit_pps if ceiling is not None else None
        if cap is not None:
            cap = max(cap, _LEAST_SPAN * plan.min_rate.pps)
        for found in search.find(plan, measure, cap):
            row = {
                "event": FOUND, "round": number, "configuration": configuration.id, "load": found.goal, "loss_goal": found.loss_goal,
                "lower_pps": found.lower_pps, "upper_pps": found.upper_pps, "limit": found.limit, "reason": found.reason,
            }  # fmt: skip
            writer.write(row)
            self.setting.listener.event(row)
            self._count(row)

    def _tries(
        self, session: Session, configuration: Configuration, load: Load, number: int, writer: RoundWriter, rate_pps: float | None, duration_s: float
    ) -> tuple[Done, Limit]:
        """Repeat a trial while something other than the server limits it, and return the last one's accounts and limit.

        @raises WrongResult, SessionFault
        """
        for attempt in range(SEARCH_ATTEMPTS if load.kind in _SEARCH_KINDS else ATTEMPTS):
            done = session.trial(rate_pps, load.schedule, duration_s)
            self._trials += 1
            goal = load.loss_goal if load.loss_goal is not None else self.plan.search.pdr_loss
            verdict = judge.judge(
                done.trial, done.served, goal=goal, together=judge.due_together(load.schedule, self.plan.burst_packets),
                queue_packets=session.queue_packets, for_rate=load.kind in _SEARCH_KINDS,
            )  # fmt: skip
            where = {
                "round": number, "configuration": configuration.id, "load": load.name, "attempt": attempt, "rate_pps": rate_pps,
                "duration_s": duration_s, "cpu_withheld": done.cpu_withheld, "prefill": done.prefill,
            }  # fmt: skip
            told = {"limit": verdict.limit, "reason": verdict.reason, "stalled": verdict.stalled}
            event = kept_trial(where, done.trial, done.served, done.checked, told)
            writer.write(event)
            self.setting.listener.event(event)
            checked = done.checked
            fault = judge.disagreement(done.trial, checked) if checked is not None else judge.disagreement_with(done.served[0], done.trial)
            if fault:
                raise WrongResult(fault)
            if self.times_mean_nothing and not done.trial["received"]:
                raise WrongResult(f"none of the {done.trial['sent']} packets came back")
            # A limit is a matter of time: on an emulated target a trial with right accounts is all that there is to find.
            if verdict.limit in ("", "server-limited") or self.times_mean_nothing:
                if load.kind not in _SEARCH_KINDS:
                    self._count({**where, "event": "trial", **told, "received": done.trial["received"]})
                break
        return done, verdict.limit
