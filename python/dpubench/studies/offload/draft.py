"""What a plan of study ``offload`` comes to: points, the ranks of each, and where they run; or a modelled cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from dpubench import programs, targets
from dpubench.errors import OtherThingError, PlanError, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo, anyway
from dpubench.run.work import Budget, Work
from dpubench.studies import Request
from dpubench.studies.measured.draft import WRITER, MeasuredDraft  # noqa: F401  # as every study has it
from dpubench.studies.measured.model import Point
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.studies.modelled.plan import MODEL_PREFIX
from dpubench.studies.offload import cluster as clusters
from dpubench.studies.offload import launch, prediction
from dpubench.studies.offload.cluster import LABEL, Cluster
from dpubench.studies.offload.execute import Model, Run
from dpubench.studies.offload.launch import Launcher, Machine
from dpubench.studies.offload.plan import AUTO, Plan
from dpubench.studies.offload.quantities import QUANTITIES, named
from dpubench.studies.offload.session import Setting, remove_leftovers
from dpubench.targets import Target
from dpubench.workers.ask import greeting
from dpubench.workers.checks import parse_offload_event
from dpubench.workers.process import StopRequest

#: Message sizes for a look.
_SIZES: Final = (4 << 10, 64 << 10, 1 << 20)


class Draft(MeasuredDraft):
    """A plan on the ranks that a launcher starts from this machine."""

    plan: Plan

    def __init__(
        self, plan: Plan, place: Target, hello: Mapping[str, Any], points: list[Point], started: tuple[Launcher, str],
        machines: tuple[Sequence[Machine], Sequence[Machine]],
    ) -> None:  # fmt: skip
        super().__init__(plan, TargetInfo(place.name, place.spec, place.label), hello, points, QUANTITIES)
        self._place, self._launcher, self._machines = place, started, machines

    def lines(self) -> list[str]:
        launcher, path = self._launcher
        where = f"{len(self._machines[0])} and {len(self._machines[1])} machines" if self._machines[0] else self._place.name
        told = [f"ranks are started by {launcher.title} ({path}) on {where}"]
        largest = max((int(p.parameters["hosts"]) + int(p.parameters["workers"]) for p in self.points if not p.unavailable), default=0)
        if not self._machines[0] and largest > (cores := cores_of(self._place, self._hello)):
            told.append(f"up to {largest} ranks on {cores} cores: where ranks share cores, transfers are verified and efficiencies are withheld")
        return [*super().lines(), *told]

    def record(self, head: Head) -> dict[str, Any]:
        launcher, path = self._launcher
        return super().record(head) | {
            "launcher": {"name": launcher.name, "program": path}, "launches": {}, "cores": cores_of(self._place, self._hello), "model": None,
            "trends": [],
        }  # fmt: skip

    def work(self, writer: FiguresWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        remove_leftovers()
        program = self._place.program(programs.OFFLOAD)
        setting = Setting(self._place, program, *self._launcher, self.plan, stop, display, *self._machines)
        cores = cores_of(self._place, self._hello)
        return Run(setting, cores, writer, self.plan, self.quantities, record, stop, display, budget)


class ModelDraft(MeasuredDraft):
    """A plan on a modelled cluster."""

    plan: Plan

    def __init__(self, plan: Plan, spec: str, cluster: Cluster, points: list[Point]) -> None:
        """Describe a run of ``points`` on ``cluster``, which the target ``spec`` names."""
        super().__init__(plan, TargetInfo(f"{MODEL_PREFIX}{cluster.name}", spec, LABEL), _NOWHERE, points, QUANTITIES)
        self.cluster = cluster

    def lines(self) -> list[str]:
        cluster = self.cluster
        assumed = sum(bool(source.assumed) for source in cluster.sources)
        return [
            *(f"left out: {line}" for line in self.plan.omissions),
            f"{cluster.title}: {cluster.nodes} nodes, {cluster.hosts} host ranks; {assumed} of {len(cluster.sources)} values are assumed",
            f"{len(self.points)} points, {LABEL}",
        ]

    def record(self, head: Head) -> dict[str, Any]:
        return super().record(head) | {
            "origin": "modelled", "launcher": None, "launches": {}, "cores": 0, "model": self.cluster.record(), "trends": [],
        }  # fmt: skip

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        if record["model"] != self.cluster.record():
            raise OtherThingError(f"{path}: the description of {self.cluster.name} is another than the run began with: {anyway(path, record)}")

    def work(self, writer: FiguresWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Work:
        return Model(self.cluster, writer, record, budget, display)


#: A model runs on no machine and needs no program.
_NOWHERE: Final[Mapping[str, Any]] = {
    "machine": {"cpu": "none: closed form"}, "build": {"compiler": "", "flags": "", "revision": "", "type": ""}, "catalog": {},
}  # fmt: skip


def drafts(plan: Plan, where: Where, request: Request, opened: ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to on each of its targets. @raises UserError, PlanError"""
    return [_draft(plan, name, place, where, opened) for place, name in enumerate(plan.target)]


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: ExitStack) -> session.Draft:
    """Return what is needed to continue the run of ``record``. Its target stays open until ``opened`` closes. @raises UserError"""
    if record["model"] is not None:
        spec = str(record["target_info"]["spec"])
        return ModelDraft(plan, spec, _cluster(plan, spec, where, 0), [])
    return _draft(plan, str(record["target"]), 0, where, opened)


def cores_of(place: Target, hello: Mapping[str, Any]) -> int:
    """Return the cores that ranks on ``place`` may use: no more than the machine has, and no more than CPUs that the target may use."""
    return min(len(place.cpus()), int(hello["machine"].get("cores_online", 0)) or len(place.cpus()))


def _draft(plan: Plan, name: str, place: int, where: Where, opened: ExitStack) -> session.Draft:
    if name.startswith(MODEL_PREFIX):
        cluster = _cluster(plan, name, where, place)
        return ModelDraft(plan, name, cluster, list(_modelled_points(plan, cluster, where)))
    if plan.cluster:
        raise PlanError(where.source, [where.problem("holds values of a modelled cluster: name one (--target model:osu-8x8)", "cluster")])
    try:
        target = targets.find(name)
    except UserError as error:
        raise PlanError(
            where.source, [where.problem(f"{error}; a modelled cluster is model:{'|'.join(clusters.names())}", "target", place)]
        ) from None
    if not target.is_here or target.times_mean_nothing:
        text = f"ranks are started from this machine: name target local, and the machines of both roles (--set host_file=FILE), in place of {name}"
        raise PlanError(where.source, [where.problem(text, "target", place)])
    machines = _machines(plan)
    opened.callback(target.close)
    target.open()
    hello = _hello(target)
    points = list(_points(plan, target, hello, where))
    largest = max((int(p.parameters["workers"]) for p in points), default=0)
    if plan.host_file:
        launch.check_slots(machines[0], int(points[0].parameters["hosts"]), plan.host_file, "hosts")
        launch.check_slots(machines[1], largest, plan.worker_file, "workers")
    started = launch.chosen(plan.launcher, str(hello["catalog"]["mpi"]))
    return Draft(plan, target, hello, points, started, machines)


def _machines(plan: Plan) -> tuple[Sequence[Machine], Sequence[Machine]]:
    return (launch.machines(plan.host_file), launch.machines(plan.worker_file)) if plan.host_file else ((), ())


def _cluster(plan: Plan, name: str, where: Where, place: int) -> Cluster:
    try:
        found = clusters.find(name.removeprefix(MODEL_PREFIX))
    except PlanError:
        raise
    except UserError as error:
        raise PlanError(where.source, [where.problem(str(error).partition(": ")[2], "target", place)]) from None
    try:
        return clusters.changed(found, plan.cluster, "the plan (cluster)")
    except ValueError as error:
        raise PlanError(where.source, [where.problem(str(error), "cluster")]) from None


def _hello(target: Target) -> dict[str, Any]:
    """Return the greeting of the program on ``target``. @raises UserError, EnvironmentFault"""
    return greeting(target, target.program(programs.OFFLOAD), parse_offload_event)


# --------------------------------------------------------------------------- points


def _points(plan: Plan, target: Target, hello: Mapping[str, Any], where: Where) -> Iterator[Point]:
    cores = cores_of(target, hello)
    hosts = plan.hosts if plan.hosts != AUTO else max(cores // 2, 1)
    workers = _workers(plan, hosts, (1, hosts), where)
    catalog = hello["catalog"]
    reasons = {(entry["pattern"], entry["path"]): entry["reason"] for entry in catalog.get("combinations", [])}
    transports = [str(entry["name"]) for entry in catalog["transports"]]
    if plan.transport not in transports:
        text = f"the program has no transport '{plan.transport}': it has {', '.join(transports) or 'none'}"
        raise PlanError(where.source, [where.problem(text, "transport")])
    for parameters in _parameters(plan, hosts, workers, _SIZES):
        lacking = next(
            (
                f"dpubench-offload has no {what} {parameters[key]}"
                for what, key, known in (("pattern", "test", "patterns"), ("path", "path", "paths"), ("assignment", "assignment", "assignments"),
                                         ("work", "work", "work"))
                if parameters[key] not in catalog[known]
            ), "",
        )  # fmt: skip
        yield Point(named(parameters), parameters, lacking or str(reasons.get((parameters["test"], parameters["path"]), "")))


def _modelled_points(plan: Plan, cluster: Cluster, where: Where) -> Iterator[Point]:
    hosts = plan.hosts if plan.hosts != AUTO else cluster.hosts
    if hosts != cluster.hosts:
        text = f"{cluster.name} has {cluster.hosts} host ranks: change the cluster (--set cluster.ranks_per_node=N), or remove hosts"
        raise PlanError(where.source, [where.problem(text, "hosts")])
    workers = _workers(plan, hosts, [n for n in cluster.workers if n <= hosts], where)
    for parameters in _parameters(plan, hosts, workers, cluster.sizes):
        exists = (parameters["test"], parameters["path"]) in prediction.STAGES
        reason = "" if exists else f"{parameters['test']} needs the workers' memory: it has no direct path"
        yield Point(named(parameters), parameters, reason)


def _workers(plan: Plan, hosts: int, usual: Sequence[int], where: Where) -> list[int]:
    """Return the numbers of workers of a plan. @raises PlanError for more workers than hosts"""
    for place, number in enumerate(plan.workers):
        if number != AUTO and number > hosts:
            text = f"{number} workers are more than the {hosts} host{'s' if hosts > 1 else ''} that they work for: ask for {hosts} at most"
            raise PlanError(where.source, [where.problem(text, "workers", place)])
    return list(dict.fromkeys(n for word in plan.workers for n in (usual if word == AUTO else [word])))


def _parameters(plan: Plan, hosts: int, workers: Sequence[int], usual_sizes: Sequence[int]) -> Iterator[dict[str, str]]:
    sizes = list(dict.fromkeys(n for word in plan.sizes for n in (usual_sizes if word == AUTO else [word])))
    for pattern in dict.fromkeys(plan.patterns):
        for path in dict.fromkeys(plan.paths):
            for assignment in dict.fromkeys(plan.assignments):
                for number in workers:
                    for size in sizes:
                        for work in dict.fromkeys(plan.work):
                            for ratio in dict.fromkeys(plan.ratios):
                                yield {
                                    "test": pattern, "path": path, "assignment": assignment, "hosts": str(hosts), "workers": str(number),
                                    "bytes": str(size), "work": work, **({"ratio": f"{ratio:g}"} if plan.ratios != [1.0] else {}),
                                }  # fmt: skip
