"""Descriptions of clusters: what the closed-form model needs to know, each value with its unit and its source.

A description is a file ``clusters/NAME.yaml`` of this folder, or a file of the user. Every parameter has a ``value`` and either ``source``, one of
the file's ``references``, with ``at``, the place in it, or ``assumed``, the reason why a value has no source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError, model_validator

from dpubench.errors import PlanError, UserError, nearest
from dpubench.plans import load as plan_files
from dpubench.plans import yaml_lines
from dpubench.plans.model import Size, Strict

#: Words that stand beside every figure of the model.
LABEL: Final = "modelled in closed form, not measured"
#: Parameter -> (unit, meaning). Rates are for one device and one direction, or for the memory of one node.
PARAMETERS: Final[Mapping[str, tuple[str, str]]] = {
    "nodes": ("nodes", "nodes of the cluster"),
    "ranks_per_node": ("ranks", "host ranks on a node"),
    "devices_per_node": ("devices", "devices in a node, which share its transfers evenly"),
    "link_gbps": ("Gb/s", "link of a device to the network, each way"),
    "pcie_gbytes_per_s": ("GB/s", "path between host memory and a device, each way"),
    "device_memory_gbytes_per_s": ("GB/s", "memory of a device, reads and writes together"),
    "host_memory_gbytes_per_s": ("GB/s", "memory of a node's host, reads and writes together"),
    "host_message_us": ("us", "time of a host rank for a message"),
    "worker_message_us": ("us", "time of a worker for a message"),
    "link_latency_us": ("us", "latency of a message between two nodes"),
    "pcie_latency_us": ("us", "latency of a message within a node"),
    "host_sum_gbytes_per_s": ("GB/s", "rate at which a host rank adds blocks"),
    "worker_sum_gbytes_per_s": ("GB/s", "rate at which a worker adds blocks"),
    "contention": ("share", "loss of a device's rates with each further worker on it"),
}
_COUNTS: Final = ("nodes", "ranks_per_node", "devices_per_node")
_MOST_NODES: Final = 65_536
_MOST_RANKS: Final = 1_048_576


@dataclass(frozen=True)
class Source:
    """The source of a parameter's value."""

    name: str
    value: float
    unit: str
    meaning: str
    source: str  #: reference and place in it; empty: see ``assumed``
    assumed: str  #: why there is no source; empty: see ``source``


@dataclass(frozen=True)
class Cluster:
    """A described cluster, in the units of :data:`PARAMETERS`."""

    name: str
    title: str
    sources: tuple[Source, ...]
    workers: tuple[int, ...]  #: numbers of workers of its setting
    sizes: tuple[int, ...]  #: message sizes of its setting, in bytes
    nodes: int
    ranks_per_node: int
    devices_per_node: int
    link_gbps: float
    pcie_gbytes_per_s: float
    device_memory_gbytes_per_s: float
    host_memory_gbytes_per_s: float
    host_message_us: float
    worker_message_us: float
    link_latency_us: float
    pcie_latency_us: float
    host_sum_gbytes_per_s: float
    worker_sum_gbytes_per_s: float
    contention: float

    @property
    def hosts(self) -> int:
        return self.nodes * self.ranks_per_node

    def without_contention(self) -> Cluster:
        return replace(self, contention=0.0)

    def record(self) -> dict[str, Any]:
        """Return what a run keeps of it."""
        return {
            "name": self.name, "title": self.title, "workers": list(self.workers), "sizes": list(self.sizes),
            "parameters": [asdict(source) for source in self.sources],
        }  # fmt: skip


class _Parameter(Strict):
    value: float
    source: str = ""
    at: str = ""
    assumed: str = ""

    @model_validator(mode="after")
    def _has_one_origin(self) -> _Parameter:
        if bool(self.source) == bool(self.assumed):
            raise ValueError("give either source, a reference of this file, or assumed, the reason why there is none")
        return self


class _File(Strict):
    title: str
    references: dict[str, str] = Field(default_factory=dict)
    workers: list[Annotated[int, Field(ge=1, le=_MOST_RANKS)]]
    sizes: list[Size]
    parameters: dict[str, _Parameter]


def names() -> list[str]:
    """Return the names of the descriptions that come along."""
    return sorted(f.name.removesuffix(".yaml") for f in _folder().iterdir() if f.name.endswith(".yaml"))


def find(word: str) -> Cluster:
    """Return the cluster that ``word`` names: one that comes along, or a file. @raises UserError, PlanError with every problem of the file"""
    if word.endswith((".yaml", ".yml")):
        file = Path(word)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise UserError(f"--target model:{word}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        return parse(text, file.stem, word)
    if word not in names():
        raise UserError(f"--target model:{word}: there is no such cluster{nearest(word, names())}; a file of your own ends in .yaml")
    return parse((_folder() / f"{word}.yaml").read_text(encoding="utf-8"), word, f"clusters/{word}.yaml")


def parse(text: str, name: str, source: str) -> Cluster:
    """Return the cluster that ``text``, the content of file ``source``, describes. @raises PlanError with every problem, by key and line"""
    data, lines = yaml_lines.parse(text, source, "description of a cluster")
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise PlanError(source, plan_files.problems_of(error, data, lines, _File)) from None
    where = plan_files.Where(source, lines)
    problems = [
        where.problem(f"there is no such parameter{nearest(key, PARAMETERS)}", "parameters", key) for key in file.parameters if key not in PARAMETERS
    ]
    problems += [
        where.problem(f"lacks {key} ({unit}: {meaning})", "parameters") for key, (unit, meaning) in PARAMETERS.items() if key not in file.parameters
    ]
    problems += [
        where.problem(f"there is no reference '{p.source}'{nearest(p.source, file.references)}", "parameters", key, "source")
        for key, p in file.parameters.items() if p.source and p.source not in file.references
    ]  # fmt: skip
    problems += [
        where.problem(fault, "parameters", key) for key, p in file.parameters.items() if key in PARAMETERS and (fault := _fault(key, p.value))
    ]
    if problems:
        raise PlanError(source, problems)
    sources = tuple(_source(key, file.parameters[key], file.references) for key in PARAMETERS)
    values = {s.name: int(s.value) if s.name in _COUNTS else s.value for s in sources}
    found = Cluster(name, file.title, sources, tuple(file.workers), tuple(file.sizes), **values)  # type: ignore[arg-type]  # ints are the counts
    if found.hosts > _MOST_RANKS:
        raise PlanError(source, [where.problem(f"{found.hosts} host ranks are more than {_MOST_RANKS}", "parameters", "ranks_per_node")])
    return found


def changed(cluster: Cluster, changes: Mapping[str, float], said: str) -> Cluster:
    """Return ``cluster`` with other values, which ``said`` is the source of. @raises ValueError for an unknown parameter or a wrong value"""
    for key, value in changes.items():
        if key not in PARAMETERS:
            raise ValueError(f"there is no such parameter '{key}'{nearest(key, PARAMETERS)}")
        if fault := _fault(key, value):
            raise ValueError(f"{key} {fault}")
    sources = tuple(replace(s, value=changes[s.name], source=said, assumed="") if s.name in changes else s for s in cluster.sources)
    values: dict[str, Any] = {key: int(value) if key in _COUNTS else float(value) for key, value in changes.items()}
    return replace(cluster, sources=sources, **values)


def again(record: Mapping[str, Any]) -> Cluster:
    """Return the cluster that :meth:`Cluster.record` wrote. @raises KeyError, TypeError"""
    sources = tuple(Source(**entry) for entry in record["parameters"])
    values = {s.name: int(s.value) if s.name in _COUNTS else s.value for s in sources}
    known = {f.name for f in fields(Cluster)}
    return Cluster(
        str(record["name"]), str(record["title"]), sources, tuple(record["workers"]), tuple(record["sizes"]),
        **{key: value for key, value in values.items() if key in known},  # type: ignore[arg-type]  # likewise
    )  # fmt: skip


def _folder() -> Any:
    return resources.files(__package__) / "clusters"


def _source(key: str, parameter: _Parameter, references: Mapping[str, str]) -> Source:
    unit, meaning = PARAMETERS[key]
    cited = ", ".join(filter(None, (references[parameter.source], parameter.at))) if parameter.source else ""
    return Source(key, parameter.value, unit, meaning, cited, parameter.assumed)


def _fault(key: str, value: float) -> str:
    """Return why ``value`` is none of parameter ``key``; empty if it is one."""
    if key in _COUNTS:
        return "" if value == int(value) and 1 <= value <= _MOST_NODES else f"is a whole number from 1 to {_MOST_NODES}, not {value:g}"
    least = 0.0 if key == "contention" or key.endswith("_us") else 1e-6
    most = 1.0 if key == "contention" else 1e9
    return "" if least <= value <= most else f"is a number from {least:g} to {most:g}, not {value:g}"
