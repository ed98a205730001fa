"""The closed-form model of collectives that workers move: pure functions of a described cluster.

A phase is a sequence of stages, such as *get* (workers read blocks of hosts) and *put* (they write blocks to hosts). A stage takes as long as the
slowest resource needs for its bytes: a link, a PCIe path, the memory of a device or of a host, each in one direction. To that the time of a message
and its latency are added. A rank that posts so many messages that this takes longer than the bytes decides instead.

Transfers are counted per node and not one by one, so that the time for a prediction grows with the number of ranks and not with its square.
``tests/simgrid`` simulates the same transfers one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dpubench.studies.offload.cluster import Cluster

Place = Literal["host", "device"]
_Array = NDArray[np.float64]
_Nodes = NDArray[np.int64]

ASSIGNMENTS: Final = ("block", "cyclic", "topology")
_RESOURCES: Final = ("link out", "link in", "PCIe up", "PCIe down", "device memory", "host memory")


class Stage:
    """Transfers that go at the same time: what each resource carries, in blocks of one message's size, and how many messages a rank posts."""

    def __init__(self, name: str, nodes: int, posts: float, unit: float = 1.0, mover: Place = "device", sums: float = 0.0) -> None:
        """Begin without transfers.

        Args:
            name: name in words
            nodes: nodes of the cluster
            posts: messages that the busiest rank posts
            unit: blocks in a message
            mover: whose cores post
            sums: blocks that the busiest rank adds before the stage ends
        """
        self.name, self.posts, self.unit, self.mover, self.sums = name, posts, unit, mover, sums
        self.loads: dict[str, _Array] = {resource: np.zeros(nodes) for resource in _RESOURCES}
        self.crosses = False  #: whether something goes from node to node
        self._nodes = nodes

    def flow(self, source: Place, sources: _Nodes | int, sink: Place, sinks: _Nodes | int, blocks: _Array | float) -> Stage:
        """Add transfers, each with the nodes at its ends and its blocks."""
        come, go, many = np.broadcast_arrays(np.asarray(sources), np.asarray(sinks), np.asarray(blocks, dtype=np.float64))
        outward = come != go

        def at(nodes: _Nodes, where: NDArray[np.bool_]) -> _Array:
            return np.bincount(nodes[where], weights=many[where], minlength=self._nodes).astype(np.float64)

        come, go, many, outward = (a.ravel() for a in (come, go, many, outward))
        return self._add(source, sink, at(come, outward), at(go, outward), at(come, ~outward))

    def exchange(self, source: Place, from_each: _Array, sink: Place, to_each: _Array, within: _Array | None = None) -> Stage:
        """Add transfers from everywhere to everywhere: ``from_each[n] * to_each[k]`` blocks from node n to node k; ``within`` replaces n = k."""
        same = from_each * to_each if within is None else within
        return self._add(source, sink, from_each * (to_each.sum() - to_each), to_each * (from_each.sum() - from_each), same)

    def _add(self, source: Place, sink: Place, out: _Array, into: _Array, same: _Array) -> Stage:
        loads = self.loads
        self.crosses = self.crosses or bool(out.any())
        loads["link out"] += out
        loads["link in"] += into
        # Hosts of one node exchange data through their memory. What a device moves goes over PCIe.
        on_path = np.zeros_like(same) if self.mover == "host" else same
        loads[f"{source} memory"] += out + same
        loads[f"{sink} memory"] += into + same
        if source == "host":
            loads["PCIe up"] += out + on_path
        if sink == "host":
            loads["PCIe down"] += into + on_path
        return self


@dataclass(frozen=True)
class Predicted:
    """The times of the phases, and what they rest on."""

    reference_s: float
    communication_s: float
    compute_s: float
    overlapped_s: float
    communicated: float  #: bytes that the hosts receive
    host_memory: float  #: bytes that the transfers read and write in hosts' memory
    device_memory: float  #: bytes that they read and write in devices' memory
    limits: tuple[str, ...]  #: per stage of pure communication, what limits it


@dataclass(frozen=True)
class _Setting:
    """Where hosts and workers are, and who works for whom."""

    hosts: int
    workers: int
    nodes: int
    host_node: _Nodes
    worker_node: _Nodes
    worker_of: _Nodes  #: host -> its worker
    served: _Array = field(repr=False)  #: hosts of each worker

    @property
    def busiest(self) -> float:
        return float(self.served.max())

    def per_node(self, of_workers: _Array) -> _Array:
        return np.bincount(self.worker_node, weights=of_workers, minlength=self.nodes).astype(np.float64)

    @property
    def workers_on(self) -> _Array:
        return np.bincount(self.worker_node, minlength=self.nodes).astype(np.float64)

    @property
    def hosts_on(self) -> _Array:
        return np.bincount(self.host_node, minlength=self.nodes).astype(np.float64)


def worker_of_hosts(hosts: int, workers: int, host_node: _Nodes, worker_node: _Nodes, assignment: str) -> _Nodes:
    """Return the worker of each host. ``topology``: one on the host's own node, else the one with the fewest hosts."""
    each = np.arange(hosts)
    if assignment == "block":
        return each * workers // hosts
    if assignment == "cyclic":
        return each % workers
    own: dict[int, list[int]] = {}
    for worker, node in enumerate(worker_node.tolist()):
        own.setdefault(node, []).append(worker)
    found, served, seen = np.full(hosts, -1), np.zeros(workers, dtype=np.int64), dict.fromkeys(own, 0)
    for host, node in enumerate(host_node.tolist()):
        if node in own:
            found[host] = own[node][seen[node] % len(own[node])]
            seen[node] += 1
            served[found[host]] += 1
    for host in np.flatnonzero(found < 0).tolist():
        found[host] = int(served.argmin())
        served[found[host]] += 1
    return found


def imbalance(hosts: int, workers: int) -> float:
    """Return how many times the mean number of hosts the busiest worker has in an even assignment; 1 where ``workers`` divides ``hosts``."""
    return -(-hosts // workers) / (hosts / workers)


@lru_cache(maxsize=64)
def _setting(nodes: int, ranks: int, workers: int, assignment: str) -> _Setting:
    hosts = nodes * ranks
    host_node = np.arange(hosts) // ranks
    worker_node = np.arange(workers) * nodes // workers
    worker_of = worker_of_hosts(hosts, workers, host_node, worker_node, assignment)
    served = np.bincount(worker_of, minlength=workers).astype(np.float64)
    return _Setting(hosts, workers, nodes, host_node, worker_node, worker_of, served)


# --------------------------------------------------------------------------- the patterns


def _get_of_hosts(s: _Setting, unit: float = 1.0, sums: float = 0.0) -> Stage:
    """Return the stage in which each worker reads what its hosts send."""
    stage = Stage("get", s.nodes, s.busiest, unit, sums=sums)
    return stage.flow("host", s.host_node, "device", s.worker_node[s.worker_of], unit)


def _put_to_hosts(s: _Setting, unit: float = 1.0) -> Stage:
    """Return the stage in which each worker writes to its hosts."""
    return Stage("put", s.nodes, s.busiest, unit).flow("device", s.worker_node[s.worker_of], "host", s.host_node, unit)


def _others(s: _Setting) -> _Nodes:
    return s.worker_node[1:]


def _to_first(s: _Setting, blocks: _Array | float, posts: float, sums: float = 0.0) -> Stage:
    """Return the stage in which all other workers write to the first one."""
    return Stage("put to worker 0", s.nodes, posts, sums=sums).flow("device", _others(s), "device", int(s.worker_node[0]), blocks)


def _from_first(s: _Setting, unit: float) -> Stage:
    """Return the stage in which all other workers read from the first one."""
    return Stage("get from worker 0", s.nodes, 1, unit).flow("device", int(s.worker_node[0]), "device", _others(s), unit)


def _broadcast(s: _Setting) -> list[Stage]:
    return [Stage("get", s.nodes, 1).flow("host", 0, "device", s.worker_node, 1), _put_to_hosts(s)]


def _scatter(s: _Setting) -> list[Stage]:
    return [Stage("get", s.nodes, s.busiest).flow("host", 0, "device", s.worker_node, s.served), _put_to_hosts(s)]


def _gather(s: _Setting) -> list[Stage]:
    return [_get_of_hosts(s), Stage("put", s.nodes, s.busiest).flow("device", s.worker_node, "host", 0, s.served)]


def _allgather(s: _Setting) -> list[Stage]:
    others = s.served[1:]
    return [_get_of_hosts(s), _to_first(s, others, float(others.max(initial=0))), _from_first(s, s.hosts), _put_to_hosts(s, s.hosts)]


def _allgather_shared(s: _Setting) -> list[Stage]:
    on = s.workers_on
    sent = s.per_node(s.served)
    between = Stage("put to all workers", s.nodes, s.busiest * (s.workers - 1)).exchange("device", sent, "device", on, sent * (on - 1))
    return [_get_of_hosts(s), between, _put_to_hosts(s, s.hosts)]


def _all_to_all(s: _Setting) -> list[Stage]:
    put = Stage("put", s.nodes, s.busiest * s.hosts).exchange("device", s.per_node(s.served), "host", s.hosts_on)
    return [_get_of_hosts(s, s.hosts), put]


def _reduce(s: _Setting) -> list[Stage]:
    return [
        _get_of_hosts(s, sums=s.busiest), _to_first(s, 1.0, 1, sums=s.workers),
        Stage("put", s.nodes, 1).flow("device", int(s.worker_node[0]), "host", 0, 1),
    ]  # fmt: skip


def _allreduce(s: _Setting) -> list[Stage]:
    return [*_reduce(s)[:2], _from_first(s, 1), _put_to_hosts(s)]


def _direct(s: _Setting, sources: _Nodes | int, sinks: _Nodes | int) -> list[Stage]:
    return [Stage("move", s.nodes, s.busiest).flow("host", sources, "host", sinks, 1)]


def _direct_all(s: _Setting) -> list[Stage]:
    return [Stage("move", s.nodes, s.busiest * s.hosts).exchange("host", s.hosts_on, "host", s.hosts_on)]


#: (pattern, path) -> stages of the workers. What is not here does not exist.
STAGES: Final[Mapping[tuple[str, str], Callable[[_Setting], list[Stage]]]] = {
    ("broadcast", "staged"): _broadcast,
    ("scatter", "staged"): _scatter,
    ("gather", "staged"): _gather,
    ("allgather", "staged"): _allgather,
    ("allgather-shared", "staged"): _allgather_shared,
    ("all-to-all", "staged"): _all_to_all,
    ("reduce", "staged"): _reduce,
    ("allreduce", "staged"): _allreduce,
    ("broadcast", "direct"): lambda s: _direct(s, 0, s.host_node),
    ("scatter", "direct"): lambda s: _direct(s, 0, s.host_node),
    ("gather", "direct"): lambda s: _direct(s, s.host_node, 0),
    ("allgather-shared", "direct"): _direct_all,
    ("all-to-all", "direct"): _direct_all,
}
PATTERNS: Final = tuple(dict.fromkeys(pattern for pattern, _ in STAGES))


def _reference(pattern: str, s: _Setting) -> list[Stage]:
    """Return the stages of the hosts' own algorithm, without workers."""
    from_root = Stage("put", s.nodes, s.hosts, mover="host").flow("host", 0, "host", s.host_node, 1)
    to_root = Stage("put", s.nodes, 1, mover="host").flow("host", s.host_node, "host", 0, 1)
    if pattern in ("broadcast", "scatter"):
        return [from_root]
    if pattern == "gather":
        return [to_root]
    if pattern in ("reduce", "allreduce"):
        to_root.sums = s.hosts
        return [to_root] if pattern == "reduce" else [to_root, from_root]
    return [Stage("put", s.nodes, s.hosts, mover="host").exchange("host", s.hosts_on, "host", s.hosts_on)]


# --------------------------------------------------------------------------- times


def predicted(
    cluster: Cluster, pattern: str, path: str, assignment: str, workers: int, message_bytes: int, work: str = "cache", ratio: float = 1.0
) -> Predicted:  # fmt: skip
    """Return the times of all phases. ``ratio``: time of pure compute over that of the reference. @raises KeyError for an unknown combination"""
    s = _setting(cluster.nodes, cluster.ranks_per_node, workers, assignment)
    stages, reference = _stages(cluster.nodes, cluster.ranks_per_node, workers, assignment, pattern, path)
    # Workers of one device get in each other's way.
    each = s.workers_on / cluster.devices_per_node
    share = 1 / (1 + cluster.contention * np.maximum(each - 1, 0))
    moved = [_seconds(cluster, stage, message_bytes, share) for stage in stages]
    reference_s = sum(_seconds(cluster, stage, message_bytes, np.ones(cluster.nodes))[0] for stage in reference)
    communication_s, compute_s = sum(seconds for seconds, _ in moved), ratio * reference_s
    host_loads = sum((stage.loads["host memory"] for stage in stages), np.zeros(cluster.nodes))
    device_loads = sum((stage.loads["device memory"] for stage in stages), np.zeros(cluster.nodes))
    # Work bound by memory waits while transfers use the memory of its node.
    taken_s = float(host_loads.max()) * message_bytes / (cluster.host_memory_gbytes_per_s * 1e9) if work == "memory" else 0.0
    received = s.hosts if pattern not in ("allgather", "allgather-shared", "all-to-all") else s.hosts * s.hosts
    return Predicted(
        reference_s, communication_s, compute_s, max(communication_s, compute_s + taken_s), float(received) * message_bytes,
        float(host_loads.sum()) * message_bytes, float(device_loads.sum()) * message_bytes, tuple(limit for _, limit in moved),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _stages(nodes: int, ranks: int, workers: int, assignment: str, pattern: str, path: str) -> tuple[list[Stage], list[Stage]]:
    s = _setting(nodes, ranks, workers, assignment)
    return STAGES[pattern, path](s), _reference(pattern, s)


def _rates(cluster: Cluster) -> dict[str, float]:
    """Return bytes per second of each resource of a node."""
    devices = cluster.devices_per_node
    link, pcie = devices * cluster.link_gbps * 1e9 / 8, devices * cluster.pcie_gbytes_per_s * 1e9
    return {
        "link out": link, "link in": link, "PCIe up": pcie, "PCIe down": pcie,
        "device memory": devices * cluster.device_memory_gbytes_per_s * 1e9, "host memory": cluster.host_memory_gbytes_per_s * 1e9,
    }  # fmt: skip


def _seconds(cluster: Cluster, stage: Stage, message_bytes: int, share: _Array) -> tuple[float, str]:
    """Return the time of a stage, and what limits it. ``share``: part of its rates that the device of each node has."""
    slowest_s, limit, lone_s = 0.0, "", 0.0
    for resource, rate in _rates(cluster).items():
        loads = stage.loads[resource] / (1.0 if resource == "host memory" else share)
        node = int(loads.argmax())
        if (seconds := float(loads[node]) * message_bytes / rate) > slowest_s:
            slowest_s, limit = seconds, f"{resource} of node {node}"
        if loads[node] > 0:
            lone_s = max(lone_s, stage.unit * message_bytes / rate)
    if slowest_s == 0.0:  # nothing moves, such as from worker 0 to itself
        return _sum_seconds(cluster, stage, message_bytes), f"{stage.name}: nothing moves"
    cost_s = (cluster.host_message_us if stage.mover == "host" else cluster.worker_message_us) * 1e-6
    latency_s = (cluster.link_latency_us if stage.crosses else cluster.pcie_latency_us) * 1e-6
    posting_s = stage.posts * cost_s + lone_s
    moving_s = cost_s + slowest_s
    if posting_s > moving_s:
        limit = f"the time of {stage.posts:.0f} messages"
    return max(moving_s, posting_s) + latency_s + _sum_seconds(cluster, stage, message_bytes), f"{stage.name}: {limit}"


def _sum_seconds(cluster: Cluster, stage: Stage, message_bytes: int) -> float:
    rate = cluster.host_sum_gbytes_per_s if stage.mover == "host" else cluster.worker_sum_gbytes_per_s
    return stage.sums * message_bytes / (rate * 1e9)
