"""The points of a plan: placement, back-end, packet size, reuse, kind of work, rate; and why some cannot be measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpubench.studies.headroom import links
from dpubench.studies.headroom.plan import Placement, Plan, packet_text
from dpubench.studies.measured.model import Point
from dpubench.targets import Target, vm

#: Packets up to this size share a session. Larger ones have their own, for their buffers lie further apart.
ORDINARY_PACKET = 1514


def points(plan: Plan, target: Target, peer: Target | None, catalog: Mapping[str, object]) -> list[Point]:
    """Return the points of ``plan`` on ``target``, with the sink on ``peer`` if it is another one. Both are open.

    ``catalog`` is what the program can do there (``hello.catalog``).
    """
    return list(_points(plan, target, peer, catalog))


def _points(plan: Plan, target: Target, peer: Target | None, catalog: Mapping[str, object]) -> Iterator[Point]:
    for placement, backend in _placed(plan):
        for size in plan.sizes:
            why = _unavailable(plan, target, peer, catalog, placement, backend, size)
            for reuse in plan.reuse:
                for work in plan.works:
                    for rate in plan.rates:
                        parameters = {"backend": backend, "size": str(size), "work": work, "rate": rate}
                        if placement == "embedded":
                            parameters["placement"] = placement
                        if plan.reuse != [1]:
                            parameters["reuse"] = str(reuse)
                        yield Point(point_id(parameters), parameters, why or _unable(backend, work))


def _placed(plan: Plan) -> Iterator[tuple[Placement, str]]:
    """Yield each back-end in each placement; where several placements are asked for, only in those that it is for, or else in the first."""
    for backend in plan.backends:
        fits = [placement for placement in plan.placement if backend in (links.EMBEDDED if placement == "embedded" else links.SEPARATED)]
        for placement in fits or plan.placement[:1]:
            yield placement, backend


def _unable(backend: str, work: str) -> str:
    """Return why a back-end cannot do a kind of work; empty if it can."""
    if backend == links.PKTGEN and work != "spacing":
        return "the kernel's generator knows spacing alone: choose another back-end for inserted work"
    if backend == links.KERNEL and work == "spacing":
        return "the kernel forwards packets as they come: choose spin, cache or memory"
    return ""


def placed(backend: str, placement: str) -> str:
    """Return a back-end with its placement, for records and people: ``memif``, ``memif (embedded)``."""
    return f"{backend} (embedded)" if placement == "embedded" else backend


def point_id(parameters: Mapping[str, str]) -> str:
    """Return the id of the point of these parameters: ``memif/128B/spin/peak``, ``embedded/memif/128B/spin/peak``."""
    reuse = [f"reuse={parameters['reuse']}"] if "reuse" in parameters else []
    placement = [parameters["placement"]] if "placement" in parameters else []
    size, rate = packet_text(int(parameters["size"])), parameters["rate"].replace("/", "p")
    return "/".join([*placement, parameters["backend"], size, *reuse, parameters["work"], rate])


def largest_packet(sizes: Sequence[int], size: int) -> int:
    """Return the largest packet of the session that sends packets of ``size`` bytes, among those of ``sizes``."""
    return ORDINARY_PACKET if size <= ORDINARY_PACKET else max(sizes)


def _unavailable(
    plan: Plan, target: Target, peer: Target | None, catalog: Mapping[str, object], placement: Placement, backend: str, size: int
) -> str:  # fmt: skip
    """Return why packets of ``size`` bytes cannot be sent by ``backend`` on ``target``, or cross it; empty if they can."""
    if target.is_here and target.times_mean_nothing:
        return f"target {target.name} is an emulated processor without a kernel of its own: choose vm:aarch64, a whole machine"
    if reason := _no_link(plan.arguments.get(backend, {}), target, peer, placement, backend, size):
        return reason
    kind, name = ("ports", links.kind_of_port(backend)) if links.kind_of_port(backend) else ("backends", links.program_backend(backend))
    found = catalog.get(kind)
    entry = next((e for e in found if e["name"] == name), None) if isinstance(found, list) else None
    if entry is None:
        return f"the program there does not know {name}: build program and package from one revision"
    if not entry["available"]:
        return str(entry["reason"]) + (f"; {entry['remedy']}" if entry["remedy"] else "")
    return ""


def _no_link(given: Mapping[str, str], target: Target, peer: Target | None, placement: Placement, backend: str, size: int) -> str:
    name = "" if peer is None else peer.name
    if placement == "embedded":
        cpus, is_joined = len(target.cpus()), vm.crossed(target, peer) is not None
        return links.unavailable_embedded(backend, given, size, is_here=target.is_here, cpus=cpus, peer=name, is_joined=is_joined)
    machine = vm.between(target, peer) if peer is not None else None
    tap = machine.link if machine is not None else None
    return links.unavailable(backend, given, size, is_here=target.is_here, peer=name, tap=tap)
