"""Say what a target is, which engines can run there, and why others cannot."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dpubench.targets import Target

_GIB = 1 << 30


def command(
    target: str = typer.Argument(..., help="A name given with `dpubench target add`, or any target, such as ssh://user@host."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> int:
    from dpubench import catalog, targets
    from dpubench.errors import UserError
    from dpubench.terminal import print_json

    place = targets.find(target)
    if reason := place.unavailable():
        raise UserError(f"target {target}: {reason}")
    try:
        place.open()
        known = catalog.read(place)
        told = place.describe()
    finally:
        place.close()
    engines = [
        {"operator": o["name"], "engine": e["name"], "library": e["library"], "available": e["available"], "reason": e["reason"]}
        for o, e in known.engines()
    ]
    if json:
        record = {"name": place.name, "spec": place.spec, "label": place.label, "machine": known.hello["machine"], "build": known.hello["build"]}
        print_json(record | {"version": known.hello["version"], "target": told, "engines": engines})
        return 0
    for line in _page(place, known.hello, told, engines):
        print(line)
    return 0


def _page(place: Target, hello: Mapping[str, Any], told: Mapping[str, Any], engines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    width = min(shutil.get_terminal_size((80, 24)).columns, 120)
    yield (f"{place.name}: " if place.name != place.spec else "") + place.spec + (f" ({place.label})" if place.label else "")
    rows = [*_machine(hello["machine"], told), *_devices(told), *_programs(hello, engines)]
    margin = max(len(name) for name, _ in rows) + 4
    for name, text in rows:
        yield from _filled(text, width, f"  {name}".ljust(margin), " " * margin)
    for reason, names in _by_reason(engines):
        yield from _filled(f"cannot run: {reason}", width, "  ", "    ")
        yield from _filled(", ".join(names), width, "    ", "    ")


def _filled(text: str, width: int, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def _machine(machine: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield (
        "system",
        ", ".join(
            [
                machine.get("architecture", "unknown architecture"),
                *_there(machine.get("os"), "{}"),
                *_there(machine.get("kernel"), "kernel {}"),
                *_there(told.get("libc"), "C library {}"),
            ]
        ),
    )
    caches = [(level, machine.get(f"{level.lower()}_bytes", 0)) for level in ("L1d", "L2", "L3")]
    yield "CPU", ", ".join([str(machine.get("cpu", "unknown model")), *(f"{level} {_size(size)}" for level, size in caches if size)])
    if not told:
        return
    cpus = told["cpus"]
    busy = [f"{cpu} ({share:.0%})" for cpu, share in cpus["busy"].items() if int(cpu) not in cpus["free"]]
    yield (
        "CPUs",
        "; ".join(
            [
                f"{len(cpus['online'])} of {cpus['cores']} cores, {_ranges(cpus['usable'])} may be used",
                f"free: {_ranges(cpus['free']) or 'none'}",
                *([f"busy: {', '.join(busy)}"] if busy else []),
                f"isolated: {_ranges(cpus['isolated']) or 'none'}",
            ]
        ),
    )
    free = f", {_size(told['memory_available_bytes'])} available" if "memory_available_bytes" in told else ""
    huge = [f"{h['free']} of {h['total']} huge pages of {_size(h['bytes'])} free" for h in told["huge_pages"] if h["total"]]
    pages = _there(machine.get("page_bytes"), "pages of {} B")
    yield "memory", "; ".join([_size(told.get("memory_bytes", 0)) + free, *pages, *(huge or ["no huge pages"])])
    if len(told["numa_nodes"]) > 1:
        yield "NUMA nodes", "; ".join(f"{n['node']}: CPUs {_ranges(n['cpus'])}" for n in told["numa_nodes"])
    disk = told["disk"]
    yield "folder", f"{disk['path']}" + (f", {_size(disk['free_bytes'])} free" if "free_bytes" in disk else "")


def _devices(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not told:
        return
    if not told["nics"]:
        yield "NICs", "no network interface with a device"
    for nic in told["nics"]:
        speed = f"{nic['speed_mbps'] / 1000:g} Gb/s" if nic.get("speed_mbps") else ""
        driver = " ".join(filter(None, [nic.get("driver", "no driver"), nic.get("driver_version")]))
        words = [driver, *_there(nic.get("firmware"), "firmware {}"), nic.get("pci", ""), _pcie(nic), speed, nic.get("state", "")]
        words += _there(nic.get("numa_node"), "NUMA node {}")
        yield f"NIC {nic['name']}", ", ".join(filter(None, words))
    for device in told["accelerators"]:
        ids = f"{device.get('vendor', '?')}:{device.get('device', '?')}"
        words = [f"PCI {ids}", f"class {device['class']}", device.get("driver", "no driver"), f"--device {device['pci']}"]
        yield "device", ", ".join(words)
    if "dpu" in told:
        dpu = told["dpu"]
        side = "seen from the DPU" if dpu["side"] == "device" else "seen from the host"
        mode = f"mode {dpu['mode']}" if dpu["mode"] != "unknown" else "mode"
        yield "DPU", f"{dpu['model']} at {dpu['pci']}, {side}; {mode}" + (f": {dpu['how']}" if "how" in dpu else f" {dpu.get('reason', '')}")


def _programs(hello: Mapping[str, Any], engines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    build = hello["build"]
    yield "programs", f"{hello['program']} {hello['version']} ({build['revision']}), {build['compiler']}"
    yield "engines", f"{sum(e['available'] for e in engines)} of {len(engines)} can run"


def _by_reason(engines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = {}
    for engine in engines:
        if not engine["available"]:
            reasons.setdefault(engine["reason"], []).append(f"{engine['operator']}/{engine['engine']}")
    yield from reasons.items()


def _there(value: object, form: str) -> list[str]:
    return [] if value in (None, "") else [form.format(value)]


def _pcie(device: Mapping[str, Any]) -> str:
    link = device.get("pcie", {})
    if not link:
        return ""
    now, most = (f"{link[f'{p}generation']}.0 x{link[f'{p}width']}" if f"{p}generation" in link and f"{p}width" in link else "" for p in ("", "max_"))
    return f"PCIe {now or '?'}" + (f" (at most {most})" if most and most != now else "")


def _size(size: int) -> str:
    for unit, name in ((_GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} B"


def _ranges(cpus: Sequence[int]) -> str:
    from dpubench.targets.local import ranges

    return ranges(sorted(cpus))
