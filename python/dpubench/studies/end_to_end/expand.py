"""Expands a plan of study ``end-to-end`` to configurations and loads, by the catalog of ``dpubench-server``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dpubench.errors import PlanError, Problem, nearest
from dpubench.plans.frames import IMIX, mean_bytes
from dpubench.plans.load import Where
from dpubench.plans.quantities import format_bytes, format_duration, size_bytes
from dpubench.studies.end_to_end.catalog import DatapathCatalog
from dpubench.studies.end_to_end.links import SIDES
from dpubench.studies.end_to_end.model import NULL_WORKLOAD
from dpubench.studies.end_to_end.plan import FLOOD, LINK_ENDS, RECORDED, Plan, Workload
from dpubench.studies.end_to_end.search import goals_of

#: A frame that a server takes at least, so that what is larger than a plan's frames (a capture's) is not cut.
LEAST_MAX_FRAME = 1518
#: A smaller frame has no room for a signature between its headers and the client's trailer.
LEAST_SIGNATURE_FRAME = 128
#: Of a capture: the largest frame of Ethernet with a VLAN tag or two, the client's trailer behind it, and room.
CAPTURE_MAX_FRAME = 2048


@dataclass(frozen=True)
class Load:
    """What is offered to a configuration: a rate, or a search for one."""

    name: str  #: "2Mpps", "10Gb/s", "interval 100ns", "flood", "NDR"
    kind: str  #: of model.LoadKind
    schedule: str
    rate_pps: float | None = None
    loss_goal: float | None = None
    exceed_ratio: float | None = None  #: of a search; None in runs of before it was written down

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Configuration:
    """What one pair of processes is started for: everything but the load."""

    workload: str
    params: dict[str, str]
    engines: dict[str, str]  #: stage -> engine, complete; of the null workload only what its port needs
    placement: str
    port: str
    frame: str  #: "64" or "imix"
    server_cpus: int
    stages: list[list[str]]  #: of each server on the way; [[]]: one with all stages
    named: list[str] = field(default_factory=list)  #: engines that the plan names: that they cannot run is a failure
    inputs: list[str] = field(default_factory=list)
    unavailable: str = ""
    candidate: bool = False  #: one of several of which the best is kept

    @property
    def id(self) -> str:
        words = (",".join(f"{k}={v}" for k, v in sorted(d.items())) or "-" for d in (self.params, self.engines))
        return "/".join([self.workload, *words, self.placement, self.port, self.frame, f"c{self.server_cpus}"])

    @property
    def link(self) -> tuple[str, str, int, str]:
        """What configurations share whose floor is the same."""
        return (self.port, self.frame, self.server_cpus, link_end(self.placement))

    @property
    def is_null(self) -> bool:
        return self.workload == NULL_WORKLOAD

    @property
    def rival(self) -> tuple[Any, ...]:
        """What candidates share for which one choice of engines is made."""
        return (self.workload, tuple(sorted(self.params.items())), self.port, self.server_cpus, link_end(self.placement))

    @property
    def frame_sizes(self) -> list[tuple[int, int]] | str:
        """For the client's job."""
        return IMIX if self.frame == IMIX else [(int(self.frame), 1)]

    @property
    def frame_bytes(self) -> float:
        return mean_bytes(self.frame)

    @property
    def max_frame(self) -> int:
        # Each frame is the payload of a datagram, and has to fit the way's MTU with its headers: there is no room for more than the frames have.
        least = 0 if self.port == "socket" and self.frame != IMIX else LEAST_MAX_FRAME
        return max(least, 0 if self.frame == IMIX else int(self.frame))

    def record(self) -> dict[str, Any]:
        return {"id": self.id, **asdict(self)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Configuration:
        return cls(**{k: v for k, v in record.items() if k in cls.__dataclass_fields__})


@dataclass
class Expansion:
    """What a plan comes to."""

    configurations: list[Configuration]
    loads: dict[str, list[Load]]  #: frame -> loads
    left_out: list[str]

    @property
    def inputs(self) -> set[str]:
        return {kind for c in self.configurations for kind in c.inputs}


def max_frame(plan: Plan, configuration: Configuration) -> int:
    """Bytes with FCS that both sides' ports take at least. A capture's frames have the size that they have."""
    return max(configuration.max_frame, CAPTURE_MAX_FRAME) if plan.traffic.source == "capture" else configuration.max_frame


def signature_share(plan: Plan, frame: str) -> float:
    """Of the packets that carry a signature; none of frames that have no room for one."""
    return 0.0 if frame != IMIX and int(frame) < LEAST_SIGNATURE_FRAME else plan.traffic.payload.signature_share


def loads_of(plan: Plan, frame: str) -> list[Load]:
    """Rates, then intervals, then goals of the search."""
    found = []
    for rate in dict.fromkeys(plan.rates):
        kind = rate.word if rate.word in (FLOOD, RECORDED) else "rate"
        found.append(Load(rate.word, kind, plan.schedule if kind == "rate" else kind, rate.of_frames(mean_bytes(frame))))
    found += [Load(f"interval {format_interval(s)}", "rate", "interval", 1 / s) for s in dict.fromkeys(plan.intervals)]
    return found + [Load(name, name, plan.schedule, None, goal.loss_ratio, goal.exceed_ratio) for name, goal in goals_of(plan.search).items()]


def format_interval(seconds: float) -> str:
    """``250ns``, ``2us``."""
    return f"{seconds * 1e9:g}ns" if seconds < 1e-6 else format_duration(seconds)


def expand(plan: Plan, catalog: DatapathCatalog, cpus: int, where: Where) -> Expansion:
    """The configurations that ``plan`` declares, the null workload on every link among them, and their loads.

    Raises:
        PlanError: with every problem that only the catalog shows.
    """
    if problems := list(check(plan, catalog, cpus, where)):
        raise PlanError(where.source, problems)
    frames = [str(frame) for frame in dict.fromkeys(plan.frame_sizes)]
    expansion = Expansion([], {frame: loads_of(plan, frame) for frame in frames}, list(plan.leaves_out))
    found: dict[str, Configuration] = {}
    for port, frame, number in itertools.product(dict.fromkeys(plan.ports), frames, sorted(set(plan.server_cpus))):
        entry = catalog.port(port)
        links = [_null(catalog, port, frame, number, end) for end in dict.fromkeys(link_end(p) for p in plan.placements)]
        for workload in plan.workloads:
            for placement in dict.fromkeys(plan.placements):
                links += _configurations(plan, catalog.workload(workload.name), workload, placement, (port, frame, number), expansion.left_out)
        for configuration in links:
            if not entry["available"]:
                configuration.unavailable = f"port {port}: {entry['reason']}" + (f" ({entry['remedy']})" if entry.get("remedy") else "")
            found.setdefault(configuration.id, configuration)
    if small := [f for f in frames if signature_share(plan, f) < plan.traffic.payload.signature_share]:
        expansion.left_out.append(f"signatures in frames of {', '.join(small)} B: they have no room for one")
    expansion.configurations = list(found.values())
    expansion.left_out = list(dict.fromkeys(expansion.left_out))
    return expansion


def check(plan: Plan, catalog: DatapathCatalog, cpus: int, where: Where) -> Iterator[Problem]:
    """Problems that only the catalog shows."""
    names, kinds = catalog.names(), [str(p["name"]) for p in catalog.ports]
    chosen = [catalog.workload(w.name) for w in plan.workloads if w.name in names]
    for i, workload in enumerate(plan.workloads):
        if workload.name not in names:
            yield where.problem(f"unknown workload '{workload.name}'{nearest(workload.name, names)}", "workloads", i)
    for i, port in enumerate(plan.ports):
        if port not in kinds:
            yield where.problem(f"unknown kind of port '{port}'{nearest(port, kinds)}", "ports", i)
    yield from _check_port_arguments(plan, catalog, kinds, where)
    yield from _check_params(plan, catalog, chosen, where)
    yield from _check_engines(plan, chosen, where)
    for number in plan.server_cpus:
        if number + 1 > cpus:
            yield where.problem(f"a server on {number} CPUs and a client on one need {number + 1}, and there are {cpus}", "server_cpus")
    if "split" in plan.placements and not any(len(w["stages"]) > 1 for w in chosen):
        yield where.problem("no chosen workload has two stages, so that there is nothing to split", "placements")


def _check_port_arguments(plan: Plan, catalog: DatapathCatalog, kinds: list[str], where: Where) -> Iterator[Problem]:
    for kind, given in plan.port_arguments.items():
        if kind not in kinds:
            yield where.problem(f"unknown kind of port '{kind}'{nearest(kind, kinds)}", "port_arguments", kind)
            continue
        arguments = [str(a["name"]) for a in catalog.port(kind)["arguments"]]
        known = [*arguments, *(f"{side}_{argument}" for side in SIDES for argument in arguments)]
        for name, value in given.items():
            at = ("port_arguments", kind, name)
            if name in LINK_ENDS and isinstance(value, str):
                yield where.problem(f"{name} holds arguments: write port_arguments.{kind}.{name}.ARGUMENT", *at)
            elif name in LINK_ENDS:
                unknown = [inner for inner in value if inner not in known]
                yield from (where.problem(f"port {kind} has no argument '{w}'{nearest(w, known)}", *at, w) for w in unknown)
            elif name == "split":
                yield where.problem("the client's link of a split is told what stands under all-host: its parts are joined by memif", *at)
            elif not isinstance(value, str):
                yield where.problem(f"'{name}' is no placement{nearest(name, LINK_ENDS)}", *at)
            elif name not in known:
                yield where.problem(f"port {kind} has no argument '{name}'{nearest(name, [*known, *LINK_ENDS])}", *at)


def _check_params(plan: Plan, catalog: DatapathCatalog, chosen: list[dict[str, Any]], where: Where) -> Iterator[Problem]:
    for key in plan.params:
        known = list(dict.fromkeys(str(p["name"]) for w in chosen for p in w["parameters"]))
        if chosen and key not in known:
            yield where.problem(f"no chosen workload has the parameter '{key}'{nearest(key, known)}", "params", key)
    for i, workload in enumerate(plan.workloads):
        if workload.name not in catalog.names():
            continue
        entry = catalog.workload(workload.name)
        known = [str(p["name"]) for p in entry["parameters"]]
        for key in workload.params:
            if key not in known:
                yield where.problem(f"workload {workload.name} has no parameter '{key}'{nearest(key, known)}", "workloads", i, "params", key)
        stages = [str(s["name"]) for s in entry["stages"]]
        for stage in workload.engines:
            if stage not in stages:
                yield where.problem(f"workload {workload.name} has no stage '{stage}'{nearest(stage, stages)}", "workloads", i, "engines", stage)


def _check_engines(plan: Plan, chosen: list[dict[str, Any]], where: Where) -> Iterator[Problem]:
    if not isinstance(plan.engines, list):
        return
    known = {(str(s["name"]), str(e["name"])) for w in chosen for s in w["stages"] for e in s["engines"]}
    for i, word in enumerate(plan.engines):
        stage, equals, engine = word.rpartition("=")
        if not any(e == engine and (not equals or s == stage) for s, e in known):
            words = sorted({e for _, e in known} | {f"{s}={e}" for s, e in known} if equals else {e for _, e in known})
            yield where.problem(f"no stage of the chosen workloads has the engine '{word}'{nearest(word, words)}", "engines", i)


def link_end(placement: str) -> str:
    """The placement of the null workload on the same link: where the server is that the client's link ends at."""
    return "all-device" if placement == "all-device" else "all-host"


def _null(catalog: DatapathCatalog, port: str, frame: str, number: int, placement: str) -> Configuration:
    """With the engine that answers packets where the port needs one, as it does those of the workloads that are measured beside it."""
    stages = catalog.workload(NULL_WORKLOAD)["stages"]
    engines = {str(s["name"]): engine for s in stages if (engine := _default_engine(s, port)) != s["default_engine"]}
    return Configuration(NULL_WORKLOAD, {}, engines, placement, port, frame, number, [[]], unavailable=_missing(stages, engines))


def _default_engine(stage: dict[str, Any], port: str) -> str:
    """A stage's default engine; where packets of ``port`` never come to the server's loop, the one that answers them instead."""
    return str(next((e["name"] for e in stage["engines"] if e.get("port") == port), stage["default_engine"]))


def _missing(stages: list[dict[str, Any]], engines: dict[str, str]) -> str:
    """Why ``engines`` cannot run here; empty if all can."""
    reasons = {(s["name"], e["name"]): "" if e["available"] else str(e["reason"]) for s in stages for e in s["engines"]}
    return "; ".join(f"{engine} of stage {stage}: {why}" for stage, engine in engines.items() if (why := reasons.get((stage, engine), "")))


def _configurations(
    plan: Plan, entry: dict[str, Any], workload: Workload, placement: str, link: tuple[str, str, int], left_out: list[str]
) -> Iterable[Configuration]:
    if entry["name"] == NULL_WORKLOAD:
        return  # it is there already
    stages = [str(s["name"]) for s in entry["stages"]]
    parts: list[list[str]] = [[]]
    if placement == "split":
        first = plan.split.get(workload.name, stages[:1])
        parts = [[s for s in stages if s in first], [s for s in stages if s not in first]]
        if not all(parts):
            left_out.append(f"{workload.name} split: {'a stage more' if len(stages) < 2 else 'a stage in each part'} would be needed")
            return
    for params in _parameter_sets(plan, entry, workload):
        sets = list(_engine_sets(plan, entry, workload, link[0]))
        for engines, named, reason in sets:
            made = Configuration(workload.name, params, engines, placement, *link, parts, named, _inputs(entry, params), reason)
            made.candidate = plan.engines == "best" and len(sets) > 1
            yield made


def _parameter_sets(plan: Plan, entry: dict[str, Any], workload: Workload) -> Iterator[dict[str, str]]:
    """All parameters that apply with a value, of those that the plan gives each of its values."""
    defaults = {str(p["name"]): str(p["default"]) for p in entry["parameters"]}
    conditions = {str(p["name"]): p.get("only_with", {}) for p in entry["parameters"]}
    given = {k: v for k, v in plan.params.items() if any(p["name"] == k for p in entry["parameters"])} | workload.params
    for combination in itertools.product(*given.values()):
        chosen = dict(zip(given, combination, strict=True))
        full = defaults | {k: _plain(entry, k, v) for k, v in chosen.items()}
        # What was given stays: where it does not apply the server says so.
        yield {k: v for k, v in full.items() if k in chosen or all(full.get(p) == w for p, w in conditions[k].items())}


def _plain(entry: dict[str, Any], name: str, value: str) -> str:
    """``1500B`` as ``1500``, where the parameter is a size."""
    parameter = next(p for p in entry["parameters"] if p["name"] == name)
    return str(size_bytes(value)) if parameter.get("unit") == "B" and not value.isdigit() else value


def _inputs(entry: dict[str, Any], params: dict[str, str]) -> list[str]:
    return [str(k["name"]) for k in entry["inputs"] if all(params.get(p) == v for p, v in k.get("only_with", {}).items())]


def _engine_sets(plan: Plan, entry: dict[str, Any], workload: Workload, port: str) -> Iterator[tuple[dict[str, str], list[str], str]]:
    """(engine of each stage, engines that were named, why it cannot run here)."""
    defaults = {str(s["name"]): _default_engine(s, port) for s in entry["stages"]}
    named = _named(plan, entry) | {stage: list(engines) for stage, engines in workload.engines.items()}
    able = [(str(s["name"]), str(e["name"])) for s in entry["stages"] for e in s["engines"] if e["available"]]
    sets = [defaults | dict(zip(named, combination, strict=True)) for combination in itertools.product(*named.values())]
    if plan.engines in ("all", "best"):
        sets += [defaults | {stage: engine} for stage, engine in able if stage not in named and engine != defaults[stage]]
    for engines in sets:
        yield engines, [engines[stage] for stage in named], _missing(entry["stages"], engines)


def _named(plan: Plan, entry: dict[str, Any]) -> dict[str, list[str]]:
    """Stage -> the engines that the plan names for it."""
    found: dict[str, list[str]] = {}
    for word in plan.engines if isinstance(plan.engines, list) else []:
        of, equals, engine = word.rpartition("=")
        for stage in entry["stages"]:
            if (not equals or stage["name"] == of) and any(e["name"] == engine for e in stage["engines"]):
                found.setdefault(str(stage["name"]), []).append(engine)
    return found


def frame_text(frame: str) -> str:
    """``64B`` or ``imix``."""
    return frame if frame == IMIX else format_bytes(int(frame))
