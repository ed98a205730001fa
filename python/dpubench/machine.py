"""The checks of ``dpubench doctor``: each finding tells a fact, its harm, and a remedy.

The checks read files of the kernel (``root`` stands for ``/``, so that tests can show another machine), and ask the native program about its
abilities here.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from dpubench.analysis.model import COUNTED
from dpubench.errors import UserError

#: Shares of a CPU above which stolen or busy time shows in results.
STEAL_LIMIT: Final = 0.01
LOAD_LIMIT: Final = 0.25
DISK_BYTES: Final = 1 << 30
_SAMPLE_S: Final = 0.5


@dataclass(frozen=True)
class Finding:
    """One fact about this machine: ``good`` helps, ``harm`` needs a change if possible, ``note`` is worth knowing."""

    what: str
    verdict: Literal["good", "harm", "note"]
    found: str
    harm: str = ""
    remedy: str = ""


def examine(results: Path, root: Path = Path("/")) -> list[Finding]:
    """Return all findings, in a fixed order."""
    checks = (_governor, _turbo, _smt, _isolated, _steal, _load, _huge_pages, _clock)
    return [finding for check in checks for finding in check(root)] + [_disk(results), *_engines(), *_ports()]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _governor(root: Path) -> Iterator[Finding]:
    files = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    found = sorted({t for f in files if (t := _text(f)) is not None})
    if not found:
        yield Finding("CPU governor", "note", "no frequency control here", "the clock may change unnoticed", "none on this machine")
    elif found == ["performance"]:
        yield Finding("CPU governor", "good", "performance")
    else:
        yield Finding(
            "CPU governor",
            "harm",
            ", ".join(found),
            "the clock follows the load, so that short windows run slower",
            "cpupower frequency-set -g performance",
        )


def _turbo(root: Path) -> Iterator[Finding]:
    cpu = root / "sys/devices/system/cpu"
    no_turbo, boost = _text(cpu / "intel_pstate/no_turbo"), _text(cpu / "cpufreq/boost")
    state = {"0": True, "1": False}.get(no_turbo or "") if no_turbo is not None else {"1": True, "0": False}.get(boost or "")
    if state is None:
        yield Finding(
            "turbo",
            "note",
            "not visible",
            "the clock may rise and fall with heat and with neighbours",
            "switch it off in the firmware for steady rates",
        )
    elif state:
        remedy = (
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo" if no_turbo is not None else "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
        )
        yield Finding("turbo", "harm", "on", "one thread runs at a higher clock than many: thread scaling looks worse than it is", remedy)
    else:
        yield Finding("turbo", "good", "off")


def _smt(root: Path) -> Iterator[Finding]:
    active = _text(root / "sys/devices/system/cpu/smt/active")
    if active == "1":
        yield Finding(
            "SMT", "note", "on", "two threads share a core: more threads than cores do not add cores",
            "dpubench uses one CPU of each core first; to be sure: echo off > /sys/devices/system/cpu/smt/control",
        )  # fmt: skip
    else:
        yield Finding("SMT", "good", "off" if active == "0" else "not visible")


def _isolated(root: Path) -> Iterator[Finding]:
    isolated = _text(root / "sys/devices/system/cpu/isolated")
    if isolated:
        yield Finding("isolated CPUs", "good", isolated, remedy="use them: taskset -c " + isolated + " dpubench run")
    else:
        yield Finding(
            "isolated CPUs", "note", "none", "other programs interrupt windows (medians tolerate a few)", "boot with isolcpus=1-N nohz_full=1-N"
        )


def _ticks(root: Path) -> list[int] | None:
    text = _text(root / "proc/stat")
    return [int(n) for n in text.splitlines()[0].split()[1:]] if text and text.startswith("cpu ") else None


def _steal(root: Path) -> Iterator[Finding]:
    before = _ticks(root)
    time.sleep(_SAMPLE_S)
    after = _ticks(root)
    if before is None or after is None or len(after) < 8:
        return
    total = max(sum(after) - sum(before), 1)
    share = (after[7] - before[7]) / total
    boot = after[7] / max(sum(after), 1)
    if max(share, boot) > STEAL_LIMIT:
        yield Finding(
            "steal time",
            "harm",
            f"{share:.1%} now, {boot:.1%} since boot",
            "the host takes the CPU away: rates vary",
            "measure on a dedicated machine or at a quieter time",
        )
    else:
        yield Finding("steal time", "good", f"{share:.1%} now, {boot:.1%} since boot")


def _load(root: Path) -> Iterator[Finding]:
    text = _text(root / "proc/loadavg")
    cpus = os.cpu_count() or 1
    if text is None:
        return
    load = float(text.split()[0])
    if load / cpus > LOAD_LIMIT:
        yield Finding("load", "harm", f"{load:.2f} on {cpus} CPUs", "other work competes for cores, caches and memory", "stop it, or measure later")
    else:
        yield Finding("load", "good", f"{load:.2f} on {cpus} CPUs")


def _huge_pages(root: Path) -> Iterator[Finding]:
    text = _text(root / "proc/meminfo") or ""
    values = {k: v.split()[0] for k, _, v in (line.partition(":") for line in text.splitlines()) if v}
    number = int(values.get("HugePages_Total", "0"))
    if number:
        yield Finding("huge pages", "good", f"{number} of {values.get('Hugepagesize', '?')} kB")
    else:
        yield Finding(
            "huge pages", "note", "none", "address translation slows large tables; DPDK engines run without huge pages", "sysctl vm.nr_hugepages=256"
        )


def virtualisation(machine: Mapping[str, Any], root: Path = Path("/")) -> Iterator[Finding]:
    """Yield whether a hypervisor is underneath, as the measuring program reports: it knows the signs on each architecture."""
    if machine.get("virtual_machine"):
        vendor = _text(root / "sys/class/dmi/id/sys_vendor") or "unknown"
        yield Finding(
            "virtualisation",
            "harm",
            f"a virtual machine ({vendor})",
            "neighbours share caches, memory and clock",
            "trust ratios more than rates; measure on bare metal for rates",
        )
    else:
        yield Finding("virtualisation", "good", "none seen")


def _clock(root: Path) -> Iterator[Finding]:
    source = _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source in ("tsc", "arch_sys_counter", "kvm-clock"):
        yield Finding("clock source", "good", source)
    else:
        yield Finding(
            "clock source",
            "harm",
            source or "not visible",
            "reading the time costs microseconds",
            "boot with clocksource=tsc where the TSC is invariant",
        )


def _disk(results: Path) -> Finding:
    place = results.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return Finding("results", "harm", f"{place} cannot be written", "no run can be kept", "choose another place with --results DIR")
    if free < DISK_BYTES:
        return Finding(
            "results",
            "harm",
            f"{free >> 20} MiB free at {place}",
            "a long run may not fit",
            "free some space, or choose another place with --results DIR",
        )
    return Finding("results", "good", f"{free >> 30} GiB free at {place}")


def counters(machine: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the available counters, as the program that would use them reports: it has tried them."""
    unsaid = {"unavailable": "the program does not say", "remedy": "make build"}
    cycles, energy = machine.get("cycle_counter") or unsaid, machine.get("energy") or unsaid
    if source := str(cycles.get("source", "")):
        if source == COUNTED[0]:
            yield Finding("cycles", "good", source)
        elif source.startswith(COUNTED[1]):
            harm = "it counts only what the hypervisor allows, and an emulator invents the count"
            yield Finding("cycles", "note", source, harm, "measure on the bare machine")
        else:
            yield Finding("cycles", "note", source, "cycles in the kernel are not counted", "sysctl kernel.perf_event_paranoid=1")
    else:
        reason, remedy = str(cycles.get("unavailable", "")), str(cycles.get("remedy", ""))
        clock = machine.get("clock_estimate") or {}
        instead = "cycles are estimated from a multiply chain"
        if "multiply_cycles" in clock:
            instead += f" ({clock['multiply_cycles']:g} cycles per step on {clock['processor']}: {clock['source']})"
        else:
            instead = f"there are no cycles: {clock.get('unavailable', 'the program does not say what they could be estimated by')}"
        yield Finding("cycles", "note", reason, instead, remedy)
    if domains := energy.get("domains"):
        yield Finding("energy", "good", ", ".join(map(str, domains)))
    else:
        yield Finding("energy", "note", str(energy.get("unavailable", "")), "energy per operation will be absent", str(energy.get("remedy", "")))


def _engines() -> Iterator[Finding]:
    from dpubench import catalog, programs

    try:
        # Skip the cache: a setting of the kernel changes what can be counted.
        known = catalog.read_here(programs.operators_program(), use_cache=False)
    except UserError as error:
        yield Finding("native program", "harm", str(error), "nothing can be measured", "make build")
        return
    yield Finding("native program", "good", f"{known.program}, {len(known.operators)} operators")
    yield from virtualisation(known.hello["machine"])
    yield from counters(known.hello["machine"])
    reasons: dict[str, list[str]] = {}
    for operator, engine in known.engines():
        if not engine["available"]:
            reasons.setdefault(engine["reason"], []).append(f"{operator['name']}/{engine['name']}")
    for reason, names in reasons.items():
        yield Finding(
            "engines", "note", ", ".join(names), f"cannot run: {reason}", "if this machine can run them: install what is missing and run `make build`"
        )


def _ports() -> Iterator[Finding]:
    """Yield the kinds of ports that can join a client and a server here, and why others cannot."""
    from dpubench.studies.end_to_end import catalog, links
    from dpubench.studies.end_to_end.plan import LINK_ENDS
    from dpubench.targets.local import LocalTarget

    try:
        known = catalog.read(LocalTarget())
    except UserError as error:
        yield Finding("datapath program", "note", str(error), "study end-to-end cannot run", "make build, with DPDK's development files installed")
        return
    good, reasons = [], dict[str, list[str]]()
    for port in known.ports:
        name = str(port["name"])
        reason = str(port["reason"]) + (f"; {port['remedy']}" if port["reason"] and port["remedy"] else "")
        if name in links.KINDS and not reason:
            reason = links.unavailable(name, {}, LINK_ENDS[0])
        if reason:
            reasons.setdefault(reason, []).append(name)
        elif name in links.KINDS:
            good.append(name)
    if good:
        yield Finding("ports", "good", ", ".join(good))
    for reason, names in reasons.items():
        yield Finding("ports", "note", ", ".join(names), "a link of this kind cannot be measured", reason)
