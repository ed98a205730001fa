"""Measures the client's ceiling on every link before anything else, and leaves out the loads above it.

Each measurement is a fresh process of the null workload. Links take turns, so that the processes of one link lie apart in time. One more process runs
before each further round, so that a ceiling can rise again if other work on the machine had pressed it down. Trials are kept in ``calibration/`` and
are never part of a figure. Each result is in the record (``ceilings``) at once, so that a resumed run goes on there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dpubench.plans.quantities import format_duration
from dpubench.run.journal import Journal
from dpubench.storage.runs import RoundWriter
from dpubench.studies.end_to_end import ceiling, judge
from dpubench.studies.end_to_end.ceiling import TRIES, Ceiling, Tried
from dpubench.studies.end_to_end.expand import Configuration, Load
from dpubench.studies.end_to_end.plan import Plan
from dpubench.studies.end_to_end.session import Session, SessionFault, Setting
from dpubench.studies.end_to_end.trials import TrialsWriter, kept_trial

#: Approximate number of trials in one process of a calibration: the first process of a link finds the ceiling, further ones begin there.
FIRST_TRIALS: Final = 12
FURTHER_TRIALS: Final = 4
FIRST_RATES: Final = 6  #: approximate number of rates in the first process
LOAD: Final = "calibration"
_ABOVE: Final = ": above the client's ceiling: "


class Calibration:
    """The calibration of one run, new or resumed."""

    def __init__(
        self, writer: TrialsWriter, plan: Plan, setting: Setting, record: dict[str, Any], journal: Journal, save: Callable[[], None]
    ) -> None:  # fmt: skip
        self._writer, self._plan, self._setting, self._record, self._journal, self._save = writer, plan, setting, record, journal, save
        self.ceilings = {found.key: found for found in map(Ceiling.from_record, record.get("ceilings", []))}

    def measure(self, configurations: Sequence[Configuration], loads: Mapping[str, list[Load]], until_s: float) -> None:
        """Calibrate the links of ``configurations`` as far as the time allows. @raises Interrupted; results found before are kept

        Args:
            until_s: end of that time, on the clock of :func:`time.monotonic`
        """
        owed, processes = self._owed(configurations, loads), self._plan.calibration.processes
        if not owed:
            return
        text = f"measuring the highest rate that the client can offer, on {len(owed)} link{'' if len(owed) == 1 else 's'}"
        rates = sum(map(len, owed.values())) * (FIRST_RATES + processes - 1)
        self._setting.listener.stage(text, rates, max(until_s - time.monotonic(), 0.0))
        late = False
        with contextlib.closing(self._writer.begin_calibration(0)) as writer:
            for process in range(processes):
                for null, found in owed.items():
                    open_ones = [(c, low) for c, low in found if c.processes <= process and c.may_rise]
                    late = late or (bool(open_ones) and time.monotonic() >= until_s)
                    if open_ones and not late:
                        self._process(by_id(configurations, null), open_ones, process, writer)
        writer.finish()
        if missing := [null for null, found in owed.items() if any(not c.processes for c, _ in found)]:
            share = f"{100 * self._plan.calibration.share:g} % of the budget"
            self._once(f"the client's ceiling on {len(missing)} of {len(owed)} links: {share} was used up, or the client did not run")
        elif late:
            self._setting.listener.note("the client's ceiling: there was no time for all processes that the plan asks for, so the margin is wider")

    def again(self, number: int, configurations: Sequence[Configuration], loads: Mapping[str, list[Load]], until_s: float) -> None:
        """Measure before round ``number`` whether the client keeps up with more than before, on each link whose ceiling bounds a load."""
        owed = {}
        for null, found in self._owed(configurations, loads).items():
            of_link = loads[by_id(configurations, null).frame]
            if bounding := [(c, low) for c, low in found if c.processes and c.may_rise and (c.left_out or ceiling.bounds_a_search(c, of_link))]:
                owed[null] = bounding
        if not owed or time.monotonic() >= until_s:
            return
        self._setting.listener.stage("checking whether the client can offer more than before", sum(map(len, owed.values())), None)
        with contextlib.closing(self._writer.begin_calibration(number)) as writer:
            for null, found in owed.items():
                if time.monotonic() < until_s:
                    self._process(by_id(configurations, null), found, number, writer)
        writer.finish()

    def _owed(self, configurations: Sequence[Configuration], loads: Mapping[str, list[Load]]) -> dict[str, list[tuple[Ceiling, float]]]:
        """Return, for each null configuration, its ceilings with the lowest rate that matters. Ceilings known already come with their results."""
        wanted = ceiling.wanted(self._plan, configurations, loads)
        return {null: [self._known(of) for of in found] for null, found in wanted.items()}

    def _known(self, of: tuple[Ceiling, float]) -> tuple[Ceiling, float]:
        """Return ``of`` with the ceiling that former processes of this run found, if there is one."""
        return self.ceilings.get(of[0].key, of[0]), of[1]

    def _process(self, null: Configuration, found: Sequence[tuple[Ceiling, float]], process: int, writer: RoundWriter) -> None:
        """Start a fresh process of the null workload and let it measure the ceilings ``found``."""
        plan = self._plan
        trial_s = plan.trial.ramp + plan.calibration.trial + plan.trial.drain + 1
        begun = time.monotonic()
        try:
            with Session(self._setting, plan, null, len(found) * TRIES * FIRST_TRIALS * trial_s) as session:
                for of, lowest_pps in found:
                    before = session.number

                    def attempt(rate_pps: float, of: Ceiling = of, session: Session = session) -> Tried:
                        return self._tried(session, null, of, rate_pps, process, writer)

                    if of.missed_pps is None:
                        held, missed = ceiling.bracket(attempt, lowest_pps, of.asked_pps)
                    else:
                        held, missed = ceiling.confirm(attempt, of.missed_pps, of.asked_pps)
                    of.take(held, missed)
                    of.trials += session.number - before
                    now = time.monotonic()
                    of.seconds, begun = round(of.seconds + now - begun, 3), now
                    self.ceilings[of.key] = of
                    self._keep()
        except SessionFault as fault:
            if fault.is_preparing:  # the first round reports it for all its points
                self._setting.listener.note(f"the client's ceiling: {null.id}: {fault}")
            else:
                self._journal.failure("calibration", fault.message, group=null.id)

    def _tried(self, session: Session, null: Configuration, of: Ceiling, rate_pps: float, process: int, writer: RoundWriter) -> Tried:
        duration_s, offered_pps = self._plan.calibration.trial, 0.0
        for attempt in range(TRIES):
            done = session.trial(rate_pps, of.schedule, duration_s)
            verdict = judge.judge(
                done.trial, done.served, goal=0.0, together=judge.due_together(of.schedule, self._plan.burst_packets),
                queue_packets=session.queue_packets,
            )  # fmt: skip
            where = {
                "round": process, "configuration": null.id, "load": f"{LOAD} {of.schedule}", "attempt": attempt, "rate_pps": rate_pps,
                "duration_s": duration_s, "cpu_withheld": done.cpu_withheld,
            }  # fmt: skip
            told = {"limit": verdict.limit, "reason": verdict.reason, "stalled": verdict.stalled}
            event = kept_trial(where, done.trial, done.served, done.checked, told)
            writer.write(event)
            self._setting.listener.event(event)
            offered_pps = max(offered_pps, (int(done.trial["sent"]) + int(done.trial["tx_full"])) / float(done.trial["duration_s"]))
            if verdict.limit != "client-limited":
                return Tried(kept_up=True, offered_pps=offered_pps)
        return Tried(kept_up=False, offered_pps=offered_pps)

    def _keep(self) -> None:
        self._record["ceilings"] = [found.record() for found in self.ceilings.values()]
        self._save()

    def _once(self, text: str) -> None:
        if text not in self._record["left_out"]:
            self._journal.left_out(text)

    # --- loads above the ceiling

    def of(self, configuration: Configuration, load: Load) -> Ceiling | None:
        """Return the ceiling that holds for a point; None if none was measured."""
        return self.ceilings.get(ceiling.key_of(configuration, load))

    def leave_out(self, configurations: Sequence[Configuration], loads: Mapping[str, list[Load]], points: Mapping[str, dict[str, Any]]) -> None:
        """Mark the points that lie above their ceiling now, unmark all others, and report it once for each link and schedule."""
        told: dict[tuple[Any, ...], tuple[Ceiling, dict[str, None], int]] = {}
        back = 0
        for configuration in configurations:
            for load in loads[configuration.frame]:
                point, found = points[f"{configuration.id}/{load.name}"], self.of(configuration, load)
                why = ceiling.reason(found, self._plan, load) if found is not None else ""
                if not why or found is None or point["failure"] or point["unavailable"]:
                    back += bool(point.pop("left_out", ""))
                    continue
                point["left_out"] = why
                _, names, number = told.get(found.key, (found, {}, 0))
                told[found.key] = (found, names | {load.name: None}, number + 1)
        self._record["left_out"] = [line for line in self._record["left_out"] if _ABOVE not in line]
        for found in self.ceilings.values():
            found.left_out = told[found.key][2] if found.key in told else 0
        for found, names, number in told.values():
            link = f"{found.port}, frames {found.frame}, {found.server_cpus} server CPU{'' if found.server_cpus == 1 else 's'}"
            where = link + (f", {found.end}" if found.end != "all-host" else "") + f", {found.schedule}"
            self._journal.left_out(f"{where}: {', '.join(names)} ({number} points){_ABOVE}{ceiling.words(found)}")
        if back:
            self._setting.listener.note(f"the client can offer more than before: {back} points are no longer left out")
        if self.ceilings:
            self._keep()


def by_id(configurations: Sequence[Configuration], name: str) -> Configuration:
    """Return the configuration called ``name``."""
    return next(c for c in configurations if c.id == name)


def estimate_s(plan: Plan, links: Mapping[str, list[tuple[Ceiling, float]]], start_s: float, overhead_s: float) -> float:
    """Return the estimated seconds of a calibration, at most its share of the budget."""
    trial_s = plan.trial.ramp + plan.calibration.trial + plan.trial.drain + overhead_s
    total = 0.0
    for schedules in links.values():
        for process in range(plan.calibration.processes):
            total += start_s + len(schedules) * trial_s * (FURTHER_TRIALS if process else FIRST_TRIALS)
    return min(total, plan.calibration.share * plan.budget)


def dry_run_text(plan: Plan, links: Mapping[str, list[tuple[Ceiling, float]]], seconds: float) -> str:
    """Return the sentence that announces the calibration."""
    several = "" if len(links) == 1 else "s"
    return (
        f"first the null workload measures the highest rate that the client can offer on {len(links)} link{several} "
        f"({plan.calibration.processes} fresh processes each, about {format_duration(round(seconds))}); loads above it are left out, with that reason"
    )
