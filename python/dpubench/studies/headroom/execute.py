"""The course of a run of headroom: step 1 chooses a configuration for each packet size, then each round searches every edge anew."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import fmean, median
from typing import Any, Final

from dpubench import programs
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.studies.headroom import fitting, links, model, rounds
from dpubench.studies.headroom.crossing import CHUNK_NS, Crossed, Crossing
from dpubench.studies.headroom.fitting import Candidate
from dpubench.studies.headroom.model import Fit, Limit, Selection, Tried
from dpubench.studies.headroom.plan import Placement, Plan, wanted_gbps
from dpubench.studies.headroom.points import largest_packet, placed
from dpubench.studies.headroom.search import Configured, Edge, Search, pacing_limit_ns, rising, smallest_of_the_best
from dpubench.studies.headroom.session import Session, SessionFault, Setting, Spec, Trial
from dpubench.studies.measured import rounds as measured_rounds
from dpubench.studies.measured.execute import MeasuredRun, PointFailed
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.workers.process import StopRequest

#: Figures of a round beside the study's quantities, for the analysis: they have no interval of their own.
WANTED: Final = "wanted_gbps"
FIRST_FALL: Final = "first_fall_us"
PACED: Final = "paced"
ON_CPU: Final = "on_cpu"
LOST: Final = "lost"
IN_CACHE: Final = "in_cache"
CUT_SHORT: Final = "cut_short"
ASKED: Final = "asked_gbps"
SURVIVED: Final = "survived_share"
#: A device that takes nothing for more than this share of the threads' time is at its limit.
_BLOCKED: Final = 0.02
#: A larger share of lost packets is told.
MOST_LOST: Final = 0.01
#: A trial whose threads had their CPUs for less than this share of its time is tried again, this often at most.
_HAD_CPU: Final = 0.95
_ATTEMPTS: Final = 3
#: Fresh processes in which an operator runs inside the transmit loop.
_PROCESSES: Final = 3
#: Trials without delay before a search, whose mean is the highest rate.
_REFERENCES: Final = 3
#: Delays that a search samples, whatever the budget: the first pass, and the first steps towards the edge.
_LEAST_DELAYS: Final = 13
#: Bursts with a delay that a trial holds at least. Where packets cross a device, the first and last of them may be smaller than the others.
_LEAST_BURSTS: Final = 25
_LEAST_BURSTS_CROSSING: Final = 100
#: A device that finds nothing to do for less than this share of its time is at its limit.
NO_TIME: Final = 0.05
#: Trials of a round beside a forwarding kernel, each between two others of both kinds of reference, and the time of one at least.
_RESTS: Final = 6
_REST_S: Final = 0.02

Key = tuple[Placement, str, int, int]  #: placement, back-end, packet size, reuse


class Run(MeasuredRun):
    """A run of headroom on one target, new or resumed."""

    plan: Plan

    def __init__(
        self, writer: FiguresWriter, plan: Plan, setting: Setting, record: dict[str, Any], stop: StopRequest, display: Listener, budget: Budget
    ) -> None:  # fmt: skip
        super().__init__(writer, plan, model.QUANTITIES, record, stop, display, budget)
        self.setting = setting
        self._chosen = {key_of(s): s for s in map(Selection.of, record["selections"])}
        self._sessions: dict[tuple[Placement, str, int], Session] = {}
        self._open_sessions = contextlib.ExitStack()
        self._allowance_s = 0.0  #: time of a search, so that all that are owed fit the budget

    def _take(self, row: dict[str, Any]) -> None:
        # Samples and what the analysis alone reads are no quantities.
        if any(row["quantity"] == quantity.name for quantity in self.quantities):
            super()._take(row)

    # --- step 1

    def _begin(self) -> None:
        """Choose the configuration of each packet size that has none yet. A back-end that fails here fails its points."""
        owed = sorted({self._key(entry["parameters"]) for name, entry in self._points.items() if name in self._open()} - self._chosen.keys())
        for (placement, backend), keys in itertools.groupby(owed, lambda key: key[:2]):
            mine = list(keys)
            self.stage(f"step 1: the highest rate of {placed(backend, placement)}, {len(mine)} packet sizes", 0, max(self.budget.left_s(), 0.0))
            for size in dict.fromkeys(largest_packet(self.plan.sizes, key[2]) for key in mine):
                self._select(placement, backend, size, [key for key in mine if largest_packet(self.plan.sizes, key[2]) == size])
        for name, entry in self._points.items():
            if name in self._open():
                self._check_reachable(name, entry)

    def _select(self, placement: Placement, backend: str, max_packet: int, keys: Sequence[Key]) -> None:
        cpus = len(self.setting.device_cpus() if placement == "embedded" else self.setting.sender_cpus(backend))
        threads = [n for n in self.plan.threads if n <= cpus] or [1]
        try:
            with session_of(placement)(self.setting, backend, max_packet, max(threads)) as session:
                self._tell(session)
                for key in keys:
                    found = self._selected(session, key, threads)
                    self._chosen[key] = found
                    self.record["selections"].append(found.record())
                session.end()
        except SessionFault as fault:
            for name in self._open():
                if self._key(self._points[name]["parameters"]) in keys and self._key(self._points[name]["parameters"]) not in self._chosen:
                    self._points[name]["failure"] = f"{fault.phase}: {fault}"
                    self.journal.failure(fault.phase, str(fault), point=name)

    def _selected(self, session: Session, key: Key, threads: Sequence[int]) -> Selection:
        placement, backend, size, reuse = key
        trials: dict[tuple[int, int], list[Trial]] = defaultdict(list)
        order = list(itertools.product(threads, self.plan.bursts)) * self.plan.selection
        random.Random(f"{self.plan.seed}/{key}").shuffle(order)
        # Beside a kernel that forwards, what the lowest priority gets done tells whether it is at its limit.
        beside, duration = ("spin", max(self.plan.trial, _REST_S)) if backend == links.KERNEL else ("none", self.plan.trial)
        session.trial(Spec(size, 1, 1, reuse, duration, beside))  # the first trial finds everything cold
        for count, burst in order:
            trials[count, burst].append(undisturbed(session, Spec(size, count, burst, reuse, duration, beside)))
        tried = [tried_of(n, b, of) for (n, b), of in sorted(trials.items())]
        rates = [Configured(t.threads, t.burst, t.gbps) for t in tried]
        best = smallest_of_the_best(rates, self.plan.tolerance)
        chosen = next(t for t in tried if (t.threads, t.burst) == (best.threads, best.burst))
        above = rising(rates, self.plan.tolerance)
        return Selection(backend, size, reuse, best.threads, best.burst, best.rate, limit_of(chosen), above, tried, placement=placement)

    def _check_reachable(self, name: str, entry: dict[str, Any]) -> None:
        peak = self._chosen[self._key(entry["parameters"])].gbps
        wanted = wanted_gbps(entry["parameters"]["rate"], peak)
        if wanted > peak * (1 + self.plan.tolerance):
            entry["unavailable"] = f"the highest rate here is {peak:.3g} Gb/s: ask for a lower one than {wanted:.4g} Gb/s"

    def _tell(self, session: Session) -> None:
        """Record what a session tells of its link and of the clock."""
        backend = placed(session.backend, session.placement)
        self.record["links"][backend] = f"{session.how}: {session.opened['port']['detail']}"
        if not session.opened.get("no_cycles"):
            self.record["clock"] = "hardware counter"
        elif session.opened.get("ghz_estimate"):
            self.record["clock"] = "estimated"
        for warning in session.warnings:
            self.journal.warn(warning)
        if session.hello:
            self.journal.hello(session.hello, "", session.setting.sender.program(programs.HEADROOM))
        if session.placement == "embedded":
            if self.setting.shares_cpu(session.backend, "embedded"):
                message = f"back-end {backend}: {self.setting.ends.name} has one CPU for both"
                self.journal.warn({"code": "shared-cpu", "message": message})
            return
        if self.setting.is_blind(session.backend):
            self.journal.warn({"code": "no-receiver", "message": f"back-end {session.backend} has no sink"})
        if self.setting.shares_cpu(session.backend):
            self.journal.warn({"code": "shared-cpu", "message": f"back-end {session.backend}: the target has one usable CPU"})

    # --- step 2

    def _round(self) -> bool:
        """Measure a round with fresh processes: one pair for each back-end and class of packet sizes, idle but for their own trials."""
        owed = sum(max(self.plan.rounds.min - len(self._values.get(name, {})), 1) for name in self._active())
        self._allowance_s = max(self.budget.left_s(), 0.0) / max(owed, 1)
        try:
            with self._open_sessions:
                done = super()._round()
                for session in self._sessions.values():
                    # Every figure is kept by now. A program that ends badly is told, and costs no point.
                    with contextlib.suppress(SessionFault):
                        session.end()
        finally:
            self._sessions.clear()
        if not done:
            self._set_operators()
        return done

    def _is_late(self) -> bool:
        return False  # Each search ends with its own share of the budget.

    def measure(self, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        """Return the figures of ``point`` in round ``number``. @raises PointFailed, Interrupted"""
        selection = self._chosen[self._key(parameters)]
        at = (selection.placement, selection.backend, largest_packet(self.plan.sizes, selection.size))
        try:
            if at not in self._sessions:
                self._sessions[at] = self._open_sessions.enter_context(self._session(*at))
            session = self._sessions[at]
            if isinstance(session, Crossing) and session.backend == links.KERNEL:
                return self._rested(session, selection, parameters)
            return self._searched(session, selection, point, parameters, number)
        except SessionFault as fault:
            if at in self._sessions:
                self._sessions.pop(at).__exit__(None, None, None)
            raise PointFailed(fault.phase, str(fault)) from None

    def _session(self, placement: Placement, backend: str, max_packet: int) -> Session:
        of = [
            s.threads for s in self._chosen.values()
            if (s.placement, s.backend) == (placement, backend) and largest_packet(self.plan.sizes, s.size) == max_packet
        ]  # fmt: skip
        return session_of(placement)(self.setting, backend, max_packet, max(of))

    def _searched(self, session: Session, chosen: Selection, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        work = parameters["work"]
        free = Spec(chosen.size, chosen.threads, chosen.burst, chosen.reuse, self.plan.trial)
        session.trial(free)  # the first trial after another point finds everything cold
        references = [undisturbed(session, free) for _ in range(_REFERENCES)]
        peak = fmean(t.gbps for t in references)
        asked = wanted = min(wanted_gbps(parameters["rate"], peak), peak)
        limit_ns = pacing_limit_ns(chosen.threads, chosen.burst, wanted * 1e9 / (8 * chosen.size))
        full, least_bursts = peak, _LEAST_BURSTS  #: rate without delay
        if session.placement == "embedded":
            # The sender offers the wanted rate. The device must take it, with whatever it does besides.
            free = replace(free, due_ns=limit_ns, duration_s=max(free.duration_s, _LEAST_BURSTS_CROSSING * limit_ns * 1e-9))
            references = [undisturbed(session, free) for _ in range(_REFERENCES)]
            full = wanted = fmean(t.gbps for t in references)
            limit_ns = pacing_limit_ns(chosen.threads, chosen.burst, full * 1e9 / (8 * chosen.size))
            least_bursts = _LEAST_BURSTS_CROSSING
        search = Search(limit_ns, (1 - self.plan.tolerance) * wanted, self.plan.resolution)
        trials: dict[float, list[Trial]] = defaultdict(list)
        before = references[-1]
        given_up = time.monotonic() + self._allowance_s
        while (delay_ns := search.next()) is not None and (len(trials) < _LEAST_DELAYS or time.monotonic() < given_up):
            self.stop.check()
            duration = max(free.duration_s, least_bursts * delay_ns * 1e-9)
            trial = undisturbed(session, replace(free, duration_s=duration, delay=work, delay_ns=delay_ns))
            after = undisturbed(session, free)
            # The machine moves between trials. A sample counts by its ratio to the trials without delay on both sides of it.
            reference = (before.gbps + after.gbps) / 2
            rate = trial.gbps / reference * full if reference > 0 else 0.0
            search.add(delay_ns, rate)
            trials[delay_ns].append(trial)
            references.append(after)
            before = after
            self._keep_sample(number, point, rate, full, trial, delay_ns)
        cpus = len(self.setting.device_cpus() if session.placement == "embedded" else self.setting.sender.cpus())
        found = figures(chosen, search.edge(), trials, references, wanted, session.opened.get("ghz_estimate"), cpus, peak)
        if session.placement == "embedded":
            crossed = [t for t in references if isinstance(t, Crossed)]
            found |= {ASKED: asked, model.IDLE: 100 * fmean(t.free for t in crossed)} | kernel_figure(crossed)
        return found | {CUT_SHORT: float(search.next() is not None)}

    def _rested(self, session: Crossing, chosen: Selection, parameters: dict[str, str]) -> dict[str, float]:
        """Return the figures of a round beside a forwarding kernel: what the lowest priority gets done, against the same work alone."""
        free = Spec(chosen.size, chosen.threads, chosen.burst, chosen.reuse, max(self.plan.trial, _REST_S))
        session.trial(free)  # the first trial after another point finds everything cold
        peak = fmean(session.trial(free).gbps for _ in range(_REFERENCES))
        asked = min(wanted_gbps(parameters["rate"], peak), peak)
        due_ns = pacing_limit_ns(chosen.threads, chosen.burst, asked * 1e9 / (8 * chosen.size))
        free = replace(free, due_ns=due_ns, duration_s=max(free.duration_s, _LEAST_BURSTS_CROSSING * due_ns * 1e-9))
        worked = replace(free, delay=parameters["work"])
        beside: list[Crossed] = []
        references, alone = [session.trial(free)], [had_cpu(session, worked)]
        for _ in range(_RESTS):
            self.stop.check()
            beside.append(session.trial(worked))
            references.append(session.trial(free))
            alone.append(had_cpu(session, worked))
        return rest_figures(beside, references, alone, asked, session.opened.get("ghz_estimate"), peak)

    # --- operators on what is left

    def _set_operators(self) -> None:
        """Set the operators of the plan's run against what each point leaves, and check some inside the transmit loop. Done once, at the end."""
        found = [Candidate.of(entry) for entry in self.record["operators"].get("candidates", [])]
        if not found or "fits" in self.record["operators"]:
            return
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in measured_rounds.read(self.writer.path):
            values[row["point"]][row["quantity"]].append(row["value"])
        fits: dict[str, list[Fit]] = {}
        checked: dict[tuple[Key, str, str, str], Interval | None] = {}
        self.stage("operators inside the transmit loop", 0, max(self.budget.left_s(), 0.0))
        for name in self._open():
            if model.LEFT_NS not in values[name]:
                continue
            key = self._key(self._points[name]["parameters"])
            chosen, of = self._chosen[key], values[name]
            left = statistics.linear_interval_of_rounds(of[model.LEFT_NS])
            judged = [(one, fitting.verdict(one, left)) for one in fitting.for_packets(found, chosen.size)]
            able = [(one, said) for one, said in judged if not set(one.inputs) - self.setting.inputs.keys()]
            wanted = fitting.to_check(able)
            fits[name] = []
            for one, said in judged:
                predicted, seen = None, None
                if one in wanted and chosen.backend != links.KERNEL:
                    predicted = fitting.predicted_gbps(
                        chosen.size, chosen.threads, chosen.burst, fmean(of[model.BURST]) * 1e3, fmean(of[model.PEAK_RATE]), one.ns
                    )
                    which = (key, one.operator, one.engine, one.words)
                    if which not in checked:
                        checked[which] = self._in_the_loop(chosen, one, fmean(of[model.PEAK_RATE]))
                    seen = checked[which]
                interval = (None, None, None) if seen is None else (seen.value, seen.low, seen.high)
                fits[name].append(
                    Fit(one.operator, one.engine, one.words, one.ns, one.low_ns, one.high_ns, said, None if seen is None else predicted, *interval)
                )
        self.record["operators"]["fits"] = {name: [asdict(fit) for fit in of_point] for name, of_point in fits.items()}

    def _in_the_loop(self, chosen: Selection, one: Candidate, peak: float) -> Interval | None:
        """Return the rate with an operator after each burst, over fresh processes. None: its engine cannot run there, which is recorded."""
        free = Spec(chosen.size, chosen.threads, chosen.burst, chosen.reuse, self.plan.trial)
        job = {"name": one.operator, "engine": one.engine, "params": one.params}
        rates = []
        try:
            for _ in range(_PROCESSES):
                with session_of(chosen.placement)(
                    self.setting, chosen.backend, largest_packet(self.plan.sizes, chosen.size), chosen.threads, job
                ) as session:
                    session.trial(free)
                    before, ratios = undisturbed(session, free), []
                    for _ in range(_REFERENCES):
                        trial = undisturbed(session, replace(free, delay="operator"))
                        after = undisturbed(session, free)
                        ratios.append(trial.gbps / ((before.gbps + after.gbps) / 2))
                        before = after
                    rates.append(fmean(ratios) * peak)
                    session.end()
        except (SessionFault, ZeroDivisionError) as fault:
            self.journal.warn({"code": "operator-unchecked", "message": f"{one.operator} by {one.engine} in {chosen.backend}: {fault}"})
            return None
        return fitting.interval_of(rates)

    def _keep_sample(self, number: int, point: str, rate: float, peak: float, trial: Trial, delay_ns: float) -> None:
        of = {
            "delay_ns": delay_ns, "reference_gbps": peak, "burst_ns": trial.per_burst_ns("burst"), "left_ns": trial.left_ns,
            "period_ns": trial.period_ns, "lost": trial.lost,
        }  # fmt: skip
        self.keep(rounds.kept_sample(number, point, rate, of))

    @staticmethod
    def _key(parameters: dict[str, str]) -> Key:
        placement: Placement = "embedded" if "placement" in parameters else "separated"
        return placement, parameters["backend"], int(parameters["size"]), int(parameters.get("reuse", "1"))


def key_of(selection: Selection) -> Key:
    """Return what a selection is for."""
    return selection.placement, selection.backend, selection.size, selection.reuse


def session_of(placement: Placement) -> type[Session]:
    """Return the class of a placement's sessions."""
    return Crossing if placement == "embedded" else Session


def tried_of(threads: int, burst: int, trials: Sequence[Trial]) -> Tried:
    """Return a configuration of step 1 with the means of its trials."""
    found = Tried(threads, burst, fmean(t.gbps for t in trials), fmean(t.blocked for t in trials), fmean(t.lost for t in trials))
    crossed = [t for t in trials if isinstance(t, Crossed)]
    if not crossed:
        return found
    return replace(found, free=fmean(t.free for t in crossed), lost_in=fmean(t.lost_in for t in crossed), dropped=fmean(t.dropped for t in crossed))


def undisturbed(session: Session, spec: Spec) -> Trial:
    """Return a trial whose threads had their CPUs; after some attempts, the one that had most of them. @raises SessionFault, Interrupted"""
    best = session.trial(spec)
    for _ in range(_ATTEMPTS - 1):
        if best.on_cpu >= _HAD_CPU:
            break
        best = max(best, session.trial(spec), key=lambda trial: trial.on_cpu)
    return best


def had_cpu(session: Crossing, spec: Spec) -> float:
    """Return the share of time that work of the lowest priority gets while no packet crosses; the most of some attempts, if others run there."""
    best = session.alone(spec)
    for _ in range(_ATTEMPTS - 1):
        if best >= _HAD_CPU:
            break
        best = max(best, session.alone(spec))
    return best


def kernel_figure(trials: Sequence[Crossed]) -> dict[str, float]:
    """Return the share of the device's time in threads of the kernel, where it has such threads of its own."""
    shares = [t.kernel for t in trials if t.kernel is not None]
    return {model.KERNEL: 100 * fmean(shares)} if shares else {}


def limit_of(tried: Tried) -> Limit:
    """Return what limits the rate of a configuration, by what was seen of it."""
    if tried.free is not None and tried.lost_in is not None:
        if tried.free < NO_TIME or tried.lost_in > MOST_LOST:
            return "device"
        return "sink" if tried.lost > MOST_LOST else "generator"
    return "device" if tried.blocked > _BLOCKED else "sink" if tried.lost > MOST_LOST else "generator"


def figures(
    chosen: Selection, edge: Edge, trials: dict[float, list[Trial]], references: Sequence[Trial], wanted: float, ghz_estimate: float | None,
    cpus: int, peak: float,
) -> dict[str, float]:  # fmt: skip
    """Return the figures of a round from its edge and the trials of its search (delay in ns -> trials; ``references``: without delay).

    What is left at the edge itself, between two sampled delays, follows from the last one that the rate survived: spacing leaves the whole
    difference, inserted work as much more as it took there.
    """
    at_edge = trials.get(edge.survived_ns, list(references))
    left_ns = fmean(t.left_ns for t in at_edge) if edge.survived_ns else 0.0
    is_work = bool(edge.survived_ns) and at_edge[0].spec.delay != "spacing"
    slope = left_ns / edge.survived_ns if is_work else 1.0
    more_ns = slope * (edge.delay_ns - edge.survived_ns)
    left_ns, period_ns = left_ns + more_ns, fmean(t.period_ns for t in at_edge) + more_ns
    share, per_packet_ns = left_ns / period_ns, left_ns / fmean(t.packets_per_burst for t in at_edge)
    seen = [t for of in trials.values() for t in of] + list(references)
    # A device finds bursts as large as asked for only where it has little time left.
    bursts = at_edge if isinstance(at_edge[0], Crossed) else references
    cycles = [t.ghz for t in seen if t.ghz is not None]
    ghz = median(cycles) if cycles else ghz_estimate
    in_cache = any(t.at_work.get("beyond_caches") is False for t in seen if t.spec.delay == "memory")
    found = {
        model.TAKEN: 100 * (1 - share), model.LEFT: 100 * share, model.LEFT_NS: per_packet_ns, model.DELAY: edge.delay_ns / 1e3,
        model.BURST: fmean(t.whole_burst_ns for t in bursts) / 1e3, model.RATE: fmean(t.gbps for t in at_edge), model.PEAK_RATE: peak,
        model.MACHINE: 100 * (1 - min(chosen.threads, cpus) * (1 - share) / cpus),
        WANTED: wanted, FIRST_FALL: (edge.first_fall_ns or 0.0) / 1e3, PACED: float(edge.is_paced), ON_CPU: fmean(t.on_cpu for t in seen),
        LOST: fmean(t.lost for t in references), IN_CACHE: float(in_cache),
    }  # fmt: skip
    return found | ({model.LEFT_CYCLES: found[model.LEFT_NS] * ghz} if ghz else {})


def rest_figures(
    beside: Sequence[Crossed], references: Sequence[Crossed], alone: Sequence[float], asked: float, ghz_estimate: float | None, peak: float
) -> dict[str, float]:  # fmt: skip
    """Return the figures of a round beside a forwarding kernel.

    Args:
        beside: trials with work of the lowest priority while packets cross
        references: trials without such work, on both sides of each of those
        alone: shares of the time in which the work gets done while no packet crosses, on both sides of each
        asked: rate to offer, in Gb/s
        ghz_estimate: core cycles per ns; None: not known
        peak: highest rate of the configuration, in Gb/s
    """
    shares = [trial.free / fmean(pair) for trial, pair in zip(beside, itertools.pairwise(alone), strict=True)]
    survived = [trial.gbps / fmean(t.gbps for t in pair) for trial, pair in zip(beside, itertools.pairwise(references), strict=True)]
    cpus, rate = beside[0].cpus, fmean(t.gbps for t in beside)
    # What is taken is told no finer than the work is watched, and is no less than the time of the kernel's own threads.
    own = [t.kernel for t in beside if t.kernel is not None]
    taken = max(1 - median(shares), CHUNK_NS / fmean(float(t.device["elapsed_ns"]) for t in beside), fmean(own or [0.0]))
    left_ns = (1 - taken) * cpus / fmean(t.pps for t in beside) * 1e9
    in_cache = any(t.at_work.get("beyond_caches") is False for t in beside if t.spec.delay == "memory")
    found = {
        model.TAKEN: 100 * taken, model.LEFT: 100 * (1 - taken), model.LEFT_NS: left_ns, model.RATE: rate, model.PEAK_RATE: peak,
        model.MACHINE: 100 * (1 - taken), ASKED: asked, WANTED: fmean(t.gbps for t in references), SURVIVED: median(survived), ON_CPU: fmean(alone),
        LOST: fmean(t.lost for t in references), IN_CACHE: float(in_cache),
    }  # fmt: skip
    return found | kernel_figure(references) | ({model.LEFT_CYCLES: left_ns * ghz_estimate} if ghz_estimate else {})
