"""Expands a plan of study ``end-to-end`` into configurations and loads, with the catalog of ``dpubench-server``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dpubench import targets
from dpubench.errors import PlanError, Problem, nearest
from dpubench.plans.frames import IMIX, mean_bytes
from dpubench.plans.load import Where
from dpubench.plans.quantities import format_bytes, format_duration, size_bytes
from dpubench.studies.end_to_end.catalog import DatapathCatalog
from dpubench.studies.end_to_end.links import SIDES
from dpubench.studies.end_to_end.model import NULL_WORKLOAD
from dpubench.studies.end_to_end.plan import FLOOD, LINK_ENDS, RECORDED, Plan, Workload
from dpubench.studies.end_to_end.search import goals_of

#: Smallest limit of a server's frames in bytes, so that frames larger than the plan's (a capture's) are not cut.
LEAST_MAX_FRAME = 1518
#: Smallest frame in bytes with room for a signature between its headers and the client's trailer.
LEAST_SIGNATURE_FRAME = 128
#: Smallest limit of frames in bytes for a capture: the largest Ethernet frame with one or two VLAN tags, the client's trailer behind it, and room.
CAPTURE_MAX_FRAME = 2048


@dataclass(frozen=True)
class Load:
    """The load offered to a configuration: a rate, or a search for one."""

    name: str  #: "2Mpps", "10Gb/s", "interval 100ns", "flood", "NDR"
    kind: str  #: one of model.LoadKind
    schedule: str
    rate_pps: float | None = None
    loss_goal: float | None = None
    exceed_ratio: float | None = None  #: goal exceed ratio of a search; None in runs that did not record it

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Configuration:
    """The setup that one pair of processes is started for: everything but the load."""

    workload: str
    params: dict[str, str]
    engines: dict[str, str]  #: stage -> engine, complete; for the null workload only those that its port needs
    placement: str
    port: str
    frame: str  #: "64" or "imix"
    server_cpus: int
    stages: list[list[str]]  #: stages of each server on the way; [[]]: one server with all stages
    named: list[str] = field(default_factory=list)  #: engines that the plan names; it is a failure if one of them cannot run
    inputs: list[str] = field(default_factory=list)
    unavailable: str = ""
    candidate: bool = False  #: whether it is one of several of which only the best is kept

    @property
    def id(self) -> str:
        words = (",".join(f"{k}={v}" for k, v in sorted(d.items())) or "-" for d in (self.params, self.engines))
        return "/".join([self.workload, *words, self.placement, self.port, self.frame, f"c{self.server_cpus}"])

    @property
    def link(self) -> tuple[str, str, int, str]:
        """Return the key that configurations with the same floor share."""
        return (self.port, self.frame, self.server_cpus, link_end(self.placement))

    @property
    def is_null(self) -> bool:
        return self.workload == NULL_WORKLOAD

    @property
    def rival(self) -> tuple[Any, ...]:
        """Return the key that candidates share for which one choice of engines is made."""
        return (self.workload, tuple(sorted(self.params.items())), self.port, self.server_cpus, link_end(self.placement))

    @property
    def frame_sizes(self) -> list[tuple[int, int]] | str:
        """Return the frame sizes for the client's job: pairs of (bytes, weight), or the name of a mix."""
        return IMIX if self.frame == IMIX else [(int(self.frame), 1)]

    @property
    def frame_bytes(self) -> float:
        return mean_bytes(self.frame)

    @property
    def max_frame(self) -> int:
        # On port kind socket a frame is the payload of a datagram, which must fit the MTU with its headers: there is no room beyond the frame itself.
        least = 0 if self.port == "socket" and self.frame != IMIX else LEAST_MAX_FRAME
        return max(least, 0 if self.frame == IMIX else int(self.frame))

    def record(self) -> dict[str, Any]:
        return {"id": self.id, **asdict(self)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Configuration:
        return cls(**{k: v for k, v in record.items() if k in cls.__dataclass_fields__})


@dataclass
class Expansion:
    """The configurations and loads that a plan expands to."""

    configurations: list[Configuration]
    loads: dict[str, list[Load]]  #: frame -> loads
    left_out: list[str]

    @property
    def inputs(self) -> set[str]:
        return {kind for c in self.configurations for kind in c.inputs}


def max_frame(plan: Plan, configuration: Configuration) -> int:
    """Return the bytes with FCS that both sides' ports must take at least. A capture has frames of its own sizes, so it gets more room."""
    return max(configuration.max_frame, CAPTURE_MAX_FRAME) if plan.traffic.source == "capture" else configuration.max_frame


def signature_share(plan: Plan, frame: str) -> float:
    """Return the share of packets that carry a signature; 0 for frames without room for one."""
    return 0.0 if frame != IMIX and int(frame) < LEAST_SIGNATURE_FRAME else plan.traffic.payload.signature_share


def loads_of(plan: Plan, frame: str) -> list[Load]:
    """Return the loads for frames of one size: rates, then intervals, then goals of the search."""
    found = []
    for rate in dict.fromkeys(plan.rates):
        kind = rate.word if rate.word in (FLOOD, RECORDED) else "rate"
        found.append(Load(rate.word, kind, plan.schedule if kind == "rate" else kind, rate.of_frames(mean_bytes(frame))))
    found += [Load(f"interval {format_interval(s)}", "rate", "interval", 1 / s) for s in dict.fromkeys(plan.intervals)]
    return found + [Load(name, name, plan.schedule, None, goal.loss_ratio, goal.exceed_ratio) for name, goal in goals_of(plan.search).items()]


def format_interval(seconds: float) -> str:
    """Return an interval with its unit: ``250ns``, ``2us``."""
    return f"{seconds * 1e9:g}ns" if seconds < 1e-6 else format_duration(seconds)


def expand(plan: Plan, catalog: DatapathCatalog, cpus: int, where: Where, *, client_is_apart: bool = False) -> Expansion:
    """Return the configurations that ``plan`` declares, with the null workload on every link, and their loads.

    Args:
        cpus: number of CPUs of the server's target
        client_is_apart: whether the client needs none of them

    Raises:
        PlanError: the plan has problems that only the catalog shows; the error lists all of them.
    """
    if problems := list(check(plan, catalog, cpus, where, client_is_apart=client_is_apart)):
        raise PlanError(where.source, problems)
    frames = [str(frame) for frame in dict.fromkeys(plan.frame_sizes)]
    expansion = Expansion([], {frame: loads_of(plan, frame) for frame in frames}, plan.omissions)
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
        expansion.left_out.append(f"signatures: frames of {', '.join(small)} B have no room for one")
    expansion.configurations = list(found.values())
    expansion.left_out = list(dict.fromkeys(expansion.left_out))
    return expansion


def check(plan: Plan, catalog: DatapathCatalog, cpus: int, where: Where, *, client_is_apart: bool = False) -> Iterator[Problem]:
    """Yield the problems of a plan that only the catalog shows. The arguments are those of :func:`expand`."""
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
        if client_is_apart and number > cpus:
            yield where.problem(f"a server on {number} CPUs needs as many, but there are {cpus}", "server_cpus")
        elif not client_is_apart and number + 1 > cpus:
            yield where.problem(f"a server on {number} CPUs and a client on one need {number + 1} CPUs, but there are {cpus}", "server_cpus")
    if "split" in plan.placements and not any(len(w["stages"]) > 1 for w in chosen):
        yield where.problem("no chosen workload has two stages to split: remove split, or add a workload with two stages", "placements")


def _check_port_arguments(plan: Plan, catalog: DatapathCatalog, kinds: list[str], where: Where) -> Iterator[Problem]:
    for kind, given in plan.port_arguments.items():
        if kind not in kinds:
            yield where.problem(f"unknown kind of port '{kind}'{nearest(kind, kinds)}", "port_arguments", kind)
            continue
        arguments = [str(a["name"]) for a in catalog.port(kind)["arguments"]]
        known = [*arguments, *(f"{side}_{argument}" for side in SIDES for argument in arguments)]
        # A plan for several targets can be run on one of them: arguments for the links of others may stay.
        ends = list(dict.fromkeys([*LINK_ENDS, *plan.target, *targets.names()]))
        for name, value in given.items():
            at = ("port_arguments", kind, name)
            if name in LINK_ENDS and isinstance(value, str):
                yield where.problem(f"{name} is a placement, not an argument: write port_arguments.{kind}.{name}.ARGUMENT", *at)
            elif name in ends and not isinstance(value, str):
                unknown = [inner for inner in value if inner not in known]
                yield from (where.problem(f"port {kind} has no argument '{w}'{nearest(w, known)}", *at, w) for w in unknown)
            elif name == "split":
                yield where.problem("split takes no arguments: its client's link uses those under all-host, and memif joins its parts", *at)
            elif not isinstance(value, str):
                yield where.problem(f"unknown placement or target '{name}'{nearest(name, ends)}", *at)
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
    """Return the placement of the null workload on the same link. It names the machine where the client's link ends."""
    return "all-device" if placement == "all-device" else "all-host"


def _null(catalog: DatapathCatalog, port: str, frame: str, number: int, placement: str) -> Configuration:
    """Return the null workload's configuration on a link.

    If the port needs an engine that answers packets, the null workload has one too, as the workloads measured beside it do.
    """
    stages = catalog.workload(NULL_WORKLOAD)["stages"]
    engines = {str(s["name"]): engine for s in stages if (engine := _default_engine(s, port)) != s["default_engine"]}
    return Configuration(NULL_WORKLOAD, {}, engines, placement, port, frame, number, [[]], unavailable=_missing(stages, engines))


def _default_engine(stage: dict[str, Any], port: str) -> str:
    """Return a stage's default engine, or the engine that answers the packets of ``port`` if they never reach the server's loop."""
    return str(next((e["name"] for e in stage["engines"] if e.get("port") == port), stage["default_engine"]))


def _missing(stages: list[dict[str, Any]], engines: dict[str, str]) -> str:
    """Return why ``engines`` cannot run here; empty if all can."""
    reasons = {(s["name"], e["name"]): "" if e["available"] else str(e["reason"]) for s in stages for e in s["engines"]}
    return "; ".join(f"{engine} of stage {stage}: {why}" for stage, engine in engines.items() if (why := reasons.get((stage, engine), "")))


def _configurations(
    plan: Plan, entry: dict[str, Any], workload: Workload, placement: str, link: tuple[str, str, int], left_out: list[str]
) -> Iterable[Configuration]:
    if entry["name"] == NULL_WORKLOAD:
        return  # expand() adds it to every link
    stages = [str(s["name"]) for s in entry["stages"]]
    parts: list[list[str]] = [[]]
    if placement == "split":
        first = plan.split.get(workload.name, stages[:1])
        parts = [[s for s in stages if s in first], [s for s in stages if s not in first]]
        if not all(parts):
            left_out.append(f"{workload.name}: a split needs {'a stage more' if len(stages) < 2 else 'a stage in each part'}")
            return
    for params in _parameter_sets(plan, entry, workload):
        sets = list(_engine_sets(plan, entry, workload, link[0]))
        for engines, named, reason in sets:
            made = Configuration(workload.name, params, engines, placement, *link, parts, named, _inputs(entry, params), reason)
            made.candidate = plan.engines == "best" and len(sets) > 1
            yield made


def _parameter_sets(plan: Plan, entry: dict[str, Any], workload: Workload) -> Iterator[dict[str, str]]:
    """Yield all parameters that apply, with their values, for each combination of the values that the plan gives."""
    defaults = {str(p["name"]): str(p["default"]) for p in entry["parameters"]}
    conditions = {str(p["name"]): p.get("only_with", {}) for p in entry["parameters"]}
    given = {k: v for k, v in plan.params.items() if any(p["name"] == k for p in entry["parameters"])} | workload.params
    for combination in itertools.product(*given.values()):
        chosen = dict(zip(given, combination, strict=True))
        full = defaults | {k: _plain(entry, k, v) for k, v in chosen.items()}
        # A parameter that the plan gives stays even if it does not apply: the server reports that.
        yield {k: v for k, v in full.items() if k in chosen or all(full.get(p) == w for p, w in conditions[k].items())}


def _plain(entry: dict[str, Any], name: str, value: str) -> str:
    """Return the value of a parameter that is a size as a plain number (``1500B`` as ``1500``); return other values unchanged."""
    parameter = next(p for p in entry["parameters"] if p["name"] == name)
    return str(size_bytes(value)) if parameter.get("unit") == "B" and not value.isdigit() else value


def _inputs(entry: dict[str, Any], params: dict[str, str]) -> list[str]:
    return [str(k["name"]) for k in entry["inputs"] if all(params.get(p) == v for p, v in k.get("only_with", {}).items())]


def _engine_sets(plan: Plan, entry: dict[str, Any], workload: Workload, port: str) -> Iterator[tuple[dict[str, str], list[str], str]]:
    """Yield (engine of each stage, engines among them that the plan names, why this set cannot run here)."""
    defaults = {str(s["name"]): _default_engine(s, port) for s in entry["stages"]}
    named = _named(plan, entry) | {stage: list(engines) for stage, engines in workload.engines.items()}
    able = [(str(s["name"]), str(e["name"])) for s in entry["stages"] for e in s["engines"] if e["available"]]
    sets = [defaults | dict(zip(named, combination, strict=True)) for combination in itertools.product(*named.values())]
    if plan.engines in ("all", "best"):
        sets += [defaults | {stage: engine} for stage, engine in able if stage not in named and engine != defaults[stage]]
    for engines in sets:
        yield engines, [engines[stage] for stage in named], _missing(entry["stages"], engines)


def _named(plan: Plan, entry: dict[str, Any]) -> dict[str, list[str]]:
    """Return a map from each stage to the engines that the plan names for it."""
    found: dict[str, list[str]] = {}
    for word in plan.engines if isinstance(plan.engines, list) else []:
        of, equals, engine = word.rpartition("=")
        for stage in entry["stages"]:
            if (not equals or stage["name"] == of) and any(e["name"] == engine for e in stage["engines"]):
                found.setdefault(str(stage["name"]), []).append(engine)
    return found


def frame_text(frame: str) -> str:
    """Return the frame size as ``64B``, or ``imix``."""
    return frame if frame == IMIX else format_bytes(int(frame))
