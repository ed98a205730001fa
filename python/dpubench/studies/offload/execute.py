"""The course of a run of study ``offload``: measured by launching ranks, a fresh launch for each number of ranks in each round, or modelled."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Mapping
from statistics import fmean, median
from typing import Any, Final

from dpubench.run.work import Work
from dpubench.storage.runs import now_utc
from dpubench.studies.measured import rounds
from dpubench.studies.measured.execute import MeasuredRun, PointFailed
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.studies.offload import prediction, quantities, trends
from dpubench.studies.offload.cluster import Cluster
from dpubench.studies.offload.quantities import Times, figures_of, memory_of
from dpubench.studies.offload.session import Session, SessionFault, Setting
from dpubench.workers.checks import Event

#: Rows of a round beside the study's quantities, for the analysis: whether ranks shared cores, and transfers were emulated.
SHARED: Final = "shared_cores"
EMULATED: Final = "emulated_transfers"
#: Bytes that were there before the hosts made any call, as a share of those communicated.
ARRIVED: Final = "arrived_share"

Key = tuple[int, int]  #: hosts, workers


class Run(MeasuredRun):
    """A measured run, new or resumed."""

    def __init__(self, setting: Setting, cores: int, *given: Any) -> None:
        super().__init__(*given)
        self.setting, self.cores = setting, cores
        self._session: Session | None = None
        self._held = contextlib.ExitStack()
        self._key: Key = (0, 0)

    def _take(self, row: dict[str, Any]) -> None:
        if row["quantity"] in self._order:  # the others are read by the analysis alone
            super()._take(row)

    def _ordered(self, points: list[str], chance: random.Random) -> list[str]:
        """Return ``points`` so that those of one launch stand together: ranks that wait for another launch's turn would take its CPUs."""
        chance.shuffle(points)
        by_key: dict[Key, list[str]] = {}
        for point in points:
            by_key.setdefault(_key_of(self._points[point]["parameters"]), []).append(point)
        return [point for of in by_key.values() for point in of]

    def _round(self) -> bool:
        """Measure a round; each number of ranks has a fresh launch."""
        try:
            done = super()._round()
            self._end()
        finally:
            self._close()
        return done

    def _end(self) -> None:
        """End the launch under way in good order. Every figure of it is kept by now, so that a bad end costs no point."""
        if self._session is not None:
            with contextlib.suppress(SessionFault):
                self.journal.clock(self._session.end())
        self._close()

    def _close(self) -> None:
        self._session = None
        self._held.close()

    def measure(self, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        """Return the figures of ``point`` in a round. @raises PointFailed, Interrupted"""
        key = _key_of(parameters)
        try:
            if self._session is None or self._key != key:
                self._begin_session(key)
            assert self._session is not None  # just begun
            if parameters["path"] == "direct" and not self._session.opened["one_sided"].get("direct", True):
                self._points[point]["unavailable"] = "this transport gives workers no access to hosts' memory without a copy"
                return {}
            told = self._session.trial(point, parameters)
        except SessionFault as fault:
            self._close()
            raise PointFailed(fault.phase, str(fault)) from None
        self.record["launches"]["{}+{}".format(*key)]["bytes"] = told["bytes"]["origin"]
        found = measured_figures(told)
        found.setdefault(quantities.IMBALANCE, prediction.imbalance(*key))
        for name, value in (
            (SHARED, float(bool(self._session.shared_cores(self.cores)))), (EMULATED, float(self._session.opened["one_sided"]["emulated"])),
            (ARRIVED, told["arrived_during_compute_bytes"] / told["bytes"]["communicated"]),
        ):  # fmt: skip
            self.keep(rounds.kept(number, point, name, value))
        return found

    def _begin_session(self, key: Key) -> None:
        """Launch the ranks of ``key`` after the end of others. @raises SessionFault"""
        self._end()
        sizes = [int(entry["parameters"]["bytes"]) for entry in self._points.values() if _key_of(entry["parameters"]) == key]
        self._session, self._key = self._held.enter_context(Session(self.setting, *key, max(sizes))), key
        self._tell(self._session)

    def _tell(self, session: Session) -> None:
        """Record what a launch tells of its ranks."""
        name = f"{session.hosts}+{session.workers}"
        opened = session.opened
        self.record["launches"][name] = {
            "ranks": opened["ranks"], "one_sided": opened["one_sided"], "mpi": opened["mpi"], "ucx": opened.get("ucx", ""),
            "shared": session.shared_cores(self.cores),
        }  # fmt: skip
        for warning in session.warnings:
            self.journal.warn(warning)


class Model(Work):
    """A modelled run: every point in closed form, at once."""

    writer: FiguresWriter

    def __init__(self, cluster: Cluster, *given: Any) -> None:
        super().__init__(*given)
        self.cluster = cluster
        self._figures = len(rounds.read(self.writer.path))

    def _round(self) -> bool:
        if self.record["rounds"]:
            return False
        points = self.record["points"]
        self.stage(f"the model of {self.cluster.name}, {len(points)} points", len(points), None)
        started, began = now_utc(), time.monotonic()
        file = self.writer.begin_round(0)
        try:
            for entry in points:
                if not entry["unavailable"]:
                    figures, entry["limits"] = modelled_figures(self.cluster, entry["parameters"])
                    for quantity, value in figures.items():
                        row = rounds.kept(0, entry["id"], quantity, value)
                        file.write(row)
                        self.listener.event(row)
                        self._figures += 1
        finally:
            file.close()
        file.finish()
        self.record["rounds"].append({"number": 0, "started": started, "elapsed_s": round(time.monotonic() - began, 3), "whole": True})
        return True

    def _conclude(self) -> None:
        parameters = [entry["parameters"] for entry in self.record["points"] if not entry["unavailable"]]
        self.record["trends"] = [trend.record() for trend in trends.judged(self.cluster, parameters)]

    def has_results(self) -> bool:
        return self._figures > 0

    def why_nothing(self) -> str:
        return next((entry["unavailable"] for entry in self.record["points"] if entry["unavailable"]), "the plan names nothing")

    def kept(self) -> tuple[int, int | None, str]:
        return self._figures, None, "figures"


def _key_of(parameters: Mapping[str, str]) -> Key:
    return int(parameters["hosts"]), int(parameters["workers"])


def measured_figures(told: Event) -> dict[str, float]:
    """Return the figures of a trial by quantity. A phase's time is the median of its iterations, each the longest of any rank."""
    us = {phase: median(entry["ns"]) / 1e3 for phase, entry in told["phases"].items()}
    moved = told["bytes"]
    found = figures_of(Times(us["reference"], us["communication"], us["compute"], us["overlapped"]))
    found |= {f"{phase}_us": us[phase] for phase in ("mpi_blocking", "mpi_nonblocking") if phase in us}
    if "complete_at_compute_end" in told:
        found[quantities.COMPLETE] = 100 * told["complete_at_compute_end"]
    if "served" in told:
        found[quantities.IMBALANCE] = max(told["served"]) / fmean(told["served"])
    return found | memory_of(moved["communicated"], moved["host_memory"], moved["worker_memory"])


def modelled_figures(cluster: Cluster, parameters: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the figures of a point by quantity, and what limits each stage of its pure communication."""
    hosts, workers = _key_of(parameters)
    told = prediction.predicted(
        cluster, parameters["test"], parameters["path"], parameters["assignment"], workers, int(parameters["bytes"]), parameters["work"],
        float(parameters.get("ratio", 1)),
    )  # fmt: skip
    times = Times(told.reference_s * 1e6, told.communication_s * 1e6, told.compute_s * 1e6, told.overlapped_s * 1e6)
    found = figures_of(times) | memory_of(told.communicated, told.host_memory, told.device_memory)
    return found | {quantities.IMBALANCE: prediction.imbalance(hosts, workers)}, list(told.limits)
