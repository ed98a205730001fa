"""The rounds of a run on one target: the choice of engines, rounds of fresh processes, stopping by precision or budget.

docs/methodology.md explains the method. A round is a fresh process, in which the points of a configuration alternate window by window. Seeds and the
order of configurations differ from round to round. Only after a whole round does the run decide whether a point is known well enough.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench.errors import NothingRan
from dpubench.run.work import Budget, Work
from dpubench.storage.runs import RoundWriter, now_utc
from dpubench.studies.operators import choice, headline, stopping
from dpubench.studies.operators.choice import Choice
from dpubench.studies.operators.configuration import PREPARED, Configuration, Point, engine_word, point_id, split_engine_word
from dpubench.studies.operators.costs import Costs
from dpubench.studies.operators.measure import OTHER_BUILD, Groups, Measurer, Round, sizes
from dpubench.studies.operators.plan import Plan
from dpubench.studies.operators.rounds import WindowsWriter, windows_of
from dpubench.studies.operators.setting import Setting

#: Share of the budget reserved for the report and for errors of the estimate.
RESERVE: Final = 0.04


class Run(Work):
    """One run on one target, new or resumed."""

    writer: WindowsWriter

    def __init__(
        self, writer: WindowsWriter, plan: Plan, setting: Setting, record: dict[str, Any], inputs: Mapping[str, Sequence[str]], budget: Budget
    ) -> None:  # fmt: skip
        """Prepare a run from its record; ``inputs`` maps kinds to files of this machine."""
        super().__init__(writer, record, budget, setting.listener)
        self.plan = plan
        self.setting = setting
        self.times_mean_nothing = setting.target.times_mean_nothing
        self._costs = Costs(plan, len(setting.cpus))
        self._inputs = inputs
        self._measurer = Measurer(plan, setting, self.journal, self._costs)
        self._configurations = {c.id: c for c in map(Configuration.from_record, record["configurations"])}
        self._points: dict[str, Point] = {}
        self._number = 0  #: number of the next round
        self._bring_back()

    # --- state

    @property
    def points(self) -> list[Point]:
        return list(self._points.values())

    def missing(self) -> list[str]:
        """Return the ids of points that are owed and have no window yet; while engines are not chosen, all candidates count."""
        owed = [p.id for p in self.points if not p.rates and not p.failure and not p.unavailable and p.configuration.id not in self.dropped]
        undecided = [c for c in self._undecided() if c.id not in self.dropped]
        return owed + [point_id(c.id, engine, self.setting.target.name, "") for c in undecided for engine in c.candidates]

    def _bring_back(self) -> None:
        for entry in self.record["points"]:
            configuration = self._configurations[entry["configuration"]]
            point = self._point(configuration, engine_word(entry["engine"], entry.get("in_flight", 0)), entry["build"])
            point.operator_version = entry["operator_version"]
            point.prepared = {k: entry[k] for k in PREPARED if k in entry}
            point.build_ns, point.verified = list(entry.get("build_ns", [])), dict(entry.get("verified", {}))
            point.failure, point.unavailable = entry["failure"], entry["unavailable"]
            self._points[point.id] = point
        if self.writer.whole_rounds():
            windows = windows_of(self.writer)
            columns = (windows.column(n).to_pylist() for n in ("point", "round", "operations", "elapsed_ns", "layout"))
            for name, number, operations, elapsed, layout in zip(*columns, strict=True):
                if name in self._points:
                    self._points[name].rates.setdefault(number, []).append(operations / elapsed * 1e9)
                    if layout is not None:
                        self._points[name].layouts[number] = layout

    def _update(self) -> None:
        self.record["configurations"] = [c.record() for c in self._configurations.values()]
        self.record["points"] = [p.record() for p in self._points.values()]

    def has_results(self) -> bool:
        return any(p.rates for p in self.points)

    def why_nothing(self) -> str:
        failures = self.record["failures"]
        return "nothing could be measured: " + (failures[0]["message"] if failures else "no engine can run here")

    def kept(self) -> tuple[int, int | None, str]:
        return sum(len(r) for p in self.points for r in p.rates.values()), None, "windows"

    # --- the run

    def _begin(self) -> None:
        """Place inputs where programs read them, and choose engines if the plan leaves that to the run."""
        self._choose_without_choice()
        with self.setting.stop.at_once():
            self._measurer.inputs = {kind: self.setting.target.place([Path(f) for f in files]) for kind, files in self._inputs.items()}
        self._select()
        if not any(not p.unavailable for p in self.points):
            raise NothingRan("nothing that was asked for can run here: `dpubench list engines` gives the reasons")
        self._number = 1 + max((r["number"] for r in self.record["rounds"]), default=-1)
        for path in self.writer.whole_rounds():
            self._number = max(self._number, int(path.stem) + 1)
        if self.record["rounds"]:
            self.budget.grant(self._needed_s())

    def leave_out(self, configurations: Iterable[str], why: str) -> None:
        """Stop measuring those of ``configurations`` that this run still measures."""
        for name in sorted(set(configurations) & set(self._active())):
            self.dropped.add(name)
            self.journal.left_out(f"{name}: {why}")

    def _select(self) -> None:
        """Choose each configuration's engines; if the plan wants the best one, measure all of them briefly once."""
        contested = [c for c in self._undecided() if self._is_contested(c)]
        chosen: dict[str, Choice] = {}
        failed: dict[str, str] = {}
        if contested:
            failures = self.journal.failures
            writer = self.writer.begin_selection()
            try:
                chosen, failed = self._measure_choices({c.id: [self._point(c, e, "") for e in c.candidates] for c in contested}, writer)
            finally:
                writer.close()
            # A candidate that failed stays in the run as a failed point, so that nobody believes the choice went without trouble.
            self.record["selection"]["failed"] = self.journal.failures - failures
            writer.finish()
        for configuration in contested:
            if configuration.id not in self.dropped:
                self._choose(configuration, chosen.get(configuration.id), failed)
        self.save()

    def _measure_choices(self, groups: Groups, writer: RoundWriter) -> tuple[dict[str, Choice], dict[str, str]]:
        """Return the choice for each of ``groups``, and the failed points with their reasons.

        There are :data:`choice.ROUNDS` rounds at most. Rounds after the first measure only undecided configurations, and only while they fit their
        share of the remaining time. Where the target is so slow that the first round does not fit its share, configurations without a turn are
        left out. The ones that every operator keeps come first.
        """
        chosen: dict[str, Choice] = {}
        rates: dict[str, list[list[float]]] = {}
        kept = set(self._one_each(groups).values())
        owing = {g: groups[g] for g in sorted(groups, key=lambda g: g not in kept)}
        for number in range(choice.ROUNDS):
            if not owing or (number and self._costs.round_s(sizes(owing), choice.CYCLES) > choice.SHARE * self.budget.left_s()):
                break
            self._tell_stage(f"choosing the best engine of {len(owing)} configurations", owing, choice.CYCLES)
            allowed_s = math.inf if number or self.times_mean_nothing else choice.FIRST_SHARE * self.budget.left_s()
            selection = Round(number, choice.CYCLES, writer, left_s=_countdown(allowed_s))
            self._measurer.measure(owing, selection)
            self._cut(selection, "the choice of its engines")
            for point in (p for points in owing.values() for p in points):
                rates.setdefault(point.id, []).append(selection.rates.get(point.id, []))
            for group, points in owing.items():
                working = [p for p in points if not p.failure]
                if found := choice.choice_of({engine_word(p.engine, p.in_flight): rates[p.id] for p in working}):
                    chosen[group] = found
            owing = {g: [p for p in points if not p.failure] for g, points in owing.items() if g in chosen and chosen[g].tied}
        return chosen, {p.id: p.failure for points in groups.values() for p in points if p.failure}

    def _choose_without_choice(self) -> None:
        """Create the points of configurations that need no selection, so that missing points can be listed from now on."""
        for configuration in self._undecided():
            if not self._is_contested(configuration):
                self._choose(configuration, None, {})
        self.save()

    def _undecided(self) -> list[Configuration]:
        """Return the configurations whose engines are not chosen yet."""
        chosen = {p.configuration.id for p in self.points if not p.unavailable}
        return [c for c in self._configurations.values() if c.id not in chosen]

    def _is_contested(self, configuration: Configuration) -> bool:
        """Return whether the selection must decide which of its engines is the best."""
        return bool(self.record["selection"]["wanted"]) and len(configuration.candidates) > 2

    def _choose(self, configuration: Configuration, found: Choice | None, failed: Mapping[str, str]) -> None:
        """Keep the best engine, one tied with it, the next best of another library, and the reference."""
        engines = list(configuration.candidates)
        if found is not None:
            entries = headline.engines_of(self.record["operators"][configuration.operator])
            configuration.next_best = headline.best_and_next(found.relative_rates, entries)[1]
            kept = {*found.kept, configuration.next_best or found.second, configuration.reference}
            for engine in found.behind:
                if engine not in kept:
                    configuration.not_measured[engine] = found.reason(engine)
            engines = [e for e in engines if e not in configuration.not_measured]
        for engine in engines:
            for build in ("", OTHER_BUILD):
                point = self._point(configuration, engine, build)
                if build and (self.setting.against is None or point.program):  # the other build is of dpubench's program, not of a contract program
                    continue
                point.failure = failed.get(point.id, "")
                if build:
                    point.unavailable = self.setting.against_lacks.get((configuration.operator, point.engine), "")
                self._points[point.id] = point

    def _point(self, configuration: Configuration, word: str, build: str) -> Point:
        engine, in_flight = split_engine_word(word)
        operator = self.record["operators"][configuration.operator]
        entry: Mapping[str, str] = next((e for e in operator["engines"] if e["name"] == engine), {})
        point = Point(configuration, engine, self.setting.target.name, build, int(operator["version"]), in_flight=in_flight)
        point.program, point.name_in_program = entry.get("program", ""), entry.get("name_in_program", "")
        return point

    def _active(self) -> Groups:
        """Return the configurations with a point not yet known well enough, with all their working points, because these alternate."""
        groups: Groups = {}
        for point in self.points:
            if not point.failure and not point.unavailable and point.configuration.id not in self.dropped:
                groups.setdefault(point.configuration.id, []).append(point)
        done = {
            g for g, points in groups.items()
            if all(stopping.has_converged(p, self.plan.precision, self.plan.rounds.min) or len(p.rates) >= self.plan.rounds.max for p in points)
        }  # fmt: skip
        return {g: p for g, p in groups.items() if g not in done}

    def _round(self) -> bool:
        groups = self._active()
        if not groups:
            return False
        missing = max(self.plan.rounds.min - min(len(p.rates) for points in groups.values() for p in points), 0)
        groups = self._fit(groups, missing)
        priced, left_s = sizes(groups), self.budget.left_s()
        if (missing == 0 or self._number > 0) and self._costs.round_s(priced, self.plan.cycles.min) > left_s:
            return False
        cycles = self._costs.cycles_for(priced, left_s / max(missing, 1))
        if missing == 0 and self._costs.round_s(priced, cycles) > left_s:
            cycles = self.plan.cycles.min
        self.setting.stop.check()
        self._tell_stage(
            f"round {self._number + 1} of at least {self._number + missing}, {len(groups)} configurations"
            if missing
            else f"round {self._number + 1} for {len(groups)} configurations that are not yet precise enough",
            groups,
            cycles,
        )
        self._measure_round(self._number, groups, cycles)
        self._number += 1
        return True

    def _tell_stage(self, text: str, groups: Groups, cycles: int) -> None:
        windows = sum(2 * cycles * len(points) for points in groups.values())
        # Under an emulator everything runs once, whatever the budget is.
        self.stage(text, windows, None if self.times_mean_nothing else self.budget.left_s())

    def _needed_s(self) -> float:
        """Return the seconds for the rounds that a resumed run still owes."""
        groups = self._active()
        missing = max((self.plan.rounds.min - len(p.rates) for points in groups.values() for p in points), default=0)
        # Prices are guesses yet. On a slow target an earlier round tells more.
        earlier_s = max((float(r["elapsed_s"]) for r in self.record["rounds"]), default=0.0)
        return max(missing, 1) * max(self._costs.round_s(sizes(groups), self.plan.cycles.min), earlier_s)

    def _fit(self, groups: Groups, missing: int) -> Groups:
        """Drop the most expensive configurations while the owed rounds do not fit the budget, and record each.

        Each operator keeps one configuration: the one with the catalog's defaults if there is one, because tables and other runs show it.
        """
        fitting = dict(groups)
        # Before any measurement, the price of preparation is a guess, while the plan gives the length of windows. On a slow target preparation is
        # most of the price.
        price = self._costs.round_s if self._costs.has_learnt else self._costs.windows_s
        while missing > 0:
            excess = missing * price(sizes(fitting), self.plan.cycles.min) - self.budget.left_s()
            kept = self._one_each(fitting).values()
            spare = [g for g in fitting if g not in kept]
            if excess <= 0 or not spare:
                break
            prices = {g: price(sizes({g: fitting[g]}), self.plan.cycles.min) for g in spare}
            dearest = max(spare, key=lambda g: prices[g])
            del fitting[dearest]
            self.dropped.add(dearest)
            self.journal.left_out(
                f"{dearest} after {len(groups[dearest][0].rates)} rounds: {prices[dearest]:.1f} s in every round do not fit the budget (--budget)"
            )
        return fitting

    def _one_each(self, groups: Groups) -> dict[str, str]:
        """Return the configuration of ``groups`` that each operator keeps, whatever the budget is."""
        kept: dict[str, str] = {}
        for group in sorted(groups, key=lambda g: self._is_default(self._configurations[g])):
            kept[self._configurations[group].operator] = group
        return kept

    def _cut(self, work: Round, what: str) -> None:
        """Drop the configurations for which ``work`` had no time left, and record that."""
        for group in sorted(work.cut - self.dropped):
            self.dropped.add(group)
            self.journal.left_out(f"{group}: the budget was spent before {what} (--budget)")

    def _is_default(self, configuration: Configuration) -> bool:
        parameters = self.record["operators"][configuration.operator]["parameters"]
        return all(configuration.params.get(p["name"], p["default"]) == p["default"] for p in parameters)

    def _measure_round(self, number: int, groups: Groups, cycles: int) -> None:
        begun, started = time.monotonic(), now_utc()
        order = list(groups)
        random.Random(f"{self.plan.seed}/{number}").shuffle(order)
        shuffled = {g: groups[g] for g in order}
        left_s = (lambda: math.inf) if self.times_mean_nothing else self.budget.left_with_reserve_s
        work = Round(number, cycles, self.writer.begin_round(number), left_s=left_s)
        whole = False
        try:
            self._measurer.measure(shuffled, work)
            whole = not work.cut
        finally:
            work.writer.close()
            for name, values in work.rates.items():
                if (point := self._points.get(name)) is not None:
                    point.rates[number] = values
                    if (layout := work.layouts.get(point.side)) is not None:
                        point.layouts[number] = layout
            entry = {"number": number, "started": started, "elapsed_s": round(time.monotonic() - begun, 3), "cycles": cycles}
            if "" in work.layouts:
                entry["layout"] = work.layouts[""]
            self.record["rounds"].append(entry | {"windows": sum(map(len, work.rates.values())), "whole": whole})
        work.writer.finish()
        self._cut(work, f"its turn in round {number + 1}")

    # --- the end

    def _conclude(self) -> None:
        if self.times_mean_nothing:
            return
        for point in self.points:
            if point.failure or point.unavailable or not point.rates:
                continue
            where = {"point": point.id, "group": point.configuration.id}
            if len(point.rates) < stopping.MINIMUM_ROUNDS:
                self.journal.warn({"code": "few-rounds", "message": f"{len(point.rates)} of at least {stopping.MINIMUM_ROUNDS} rounds", **where})
            elif not stopping.has_converged(point, self.plan.precision, self.plan.rounds.min):
                reached = stopping.precision(point)
                self.journal.warn(
                    {"code": "not-converged", "message": f"known to ±{100 * reached:.1f} %, asked for ±{100 * self.plan.precision:g} %", **where}
                )


def _countdown(seconds: float) -> Callable[[], float]:
    """Return a function that tells how many of ``seconds`` from now are left."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()
