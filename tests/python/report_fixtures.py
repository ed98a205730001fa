"""Synthetic analysed runs for the tests of the report: every rate comes from a stated cost model, none was measured.

A run has the operators, modes, engines, sizes and thread counts of the real study, and the troubles of real runs: unavailable engines,
points that failed or did not converge, missing rounds, canaries that moved.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field, replace
from typing import Any

from dpubench.analysis.model import EMULATED, Failure, Interval, Warning_
from dpubench.studies.operators import headline
from dpubench.studies.operators.model import PointSummary, RunSummary

NO_CYCLES = "the processor, or the virtual machine, offers no cycle counter"
NO_ENERGY = "no energy counter of the processor packages (RAPL in powercap, hwmon)"
RESTRICTED = "restricted host, not a device"
SIZES = (64, 128, 256, 512, 1024, 4096, 16384, 65536)


@dataclass(frozen=True)
class Spec:
    """One operator of the model: cost of an operation = fixed_ns + size * ns_per_byte, per engine."""

    name: str
    scenarios: tuple[str, ...]
    summary: str
    modes: dict[str, tuple[str, ...]]
    engines: dict[str, tuple[float, float]]  #: engine -> (fixed ns, ns per byte); the first is the reference
    sized: bool = True
    all_bytes: bool = True
    primary: str = "gbps"
    metric: str = ""
    unavailable: dict[str, str] = field(default_factory=dict)


SPECS = (
    Spec("lpm", ("network",), "longest-prefix match of a route lookup", {"ip": ("4", "6"), "lookup": ("bulk", "single")},
         {"portable": (9.1, 0), "dpdk-fib": (5.7, 0), "dpdk-lpm": (6.2, 0)}, sized=False, all_bytes=False, primary="mops"),
    Spec("tcp_segment", ("network",), "TCP segmentation of a large send", {"copy": ("copy", "zero-copy")},
         {"portable": (420, 0.035), "dpdk": (310, 0.04)}, all_bytes=False, primary="mops"),
    Spec("ip_fragment", ("network",), "IPv4 and IPv6 fragmentation", {"ip": ("4", "6")},
         {"portable": (380, 0.04), "dpdk": (290, 0.05)}, all_bytes=False, primary="mops"),
    Spec("checksum", ("network", "storage"), "Internet checksum, RFC 1071 and RFC 1624", {"mode": ("full", "incremental")},
         {"portable": (2.2, 0.021), "dpdk": (2.9, 0.025)}),
    Spec("crc", ("network", "storage"), "cyclic redundancy check",
         {"polynomial": ("crc-32/iso-hdlc", "crc-32/iscsi", "crc-16/ibm-sdlc", "crc-16/t10-dif")},
         {"portable": (4, 0.31), "isal": (6, 0.038), "dpdk": (5, 0.06)}),
    Spec("toeplitz", ("network",), "RSS hash of IPv4 and IPv6 tuples", {"ip": ("4", "6"), "tuple": ("4", "2")},
         {"portable": (21, 0), "dpdk": (80, 0), "dpdk-gfni": (2.8, 0)}, sized=False, all_bytes=False, primary="mops"),
    Spec("memcpy", ("network",), "copy of a buffer", {}, {"libc": (6, 0.045), "dpdk": (4.5, 0.05)}),
    Spec("lz77", ("storage",), "match finding and token emission, and the inverse", {"direction": ("compress", "decompress")},
         {"portable": (90, 3.4), "lz4": (70, 1.6)}, metric="compression_ratio"),
    Spec("deflate", ("storage",), "raw RFC 1951 compression", {"direction": ("compress", "decompress"), "level": ("1", "6", "9")},
         {"zlib": (9000, 12), "isal": (1400, 2.2), "libdeflate": (2100, 6)}, metric="compression_ratio"),
    Spec("snappy", ("storage",), "snappy compression", {"direction": ("compress", "decompress")},
         {"snappy": (110, 1.3), "portable": (90, 1.9)}, metric="compression_ratio"),
    Spec("aes", ("security",), "AES encryption and decryption",
         {"mode": ("gcm", "cbc", "ctr", "xts"), "direction": ("encrypt", "decrypt"), "key_bits": ("128", "256")},
         {"portable": (120, 5.2), "openssl": (300, 0.42), "ipsec-mb": (33, 0.13)},
         unavailable={"ipsec-mb:xts": "ipsec-mb has no XTS"}),
    Spec("hmac", ("security",), "keyed hash, RFC 2104", {"hash": ("sha256", "sha1", "md5")},
         {"openssl": (520, 0.92), "ipsec-mb": (130, 0.46)}),
    Spec("sha256", ("security",), "SHA-256, FIPS 180-4", {},
         {"portable": (160, 2.9), "openssl": (180, 0.86), "ipsec-mb": (75, 0.45)}),
    Spec("rsa", ("security",), "RSA signature and encryption",
         {"operation": ("sign-pkcs1", "verify-pkcs1", "sign-pss"), "key_bits": ("2048", "3072", "4096")},
         {"openssl": (520_000, 0.9)}, sized=False, all_bytes=False, primary="kops"),
    Spec("ecdsa", ("security",), "ECDSA signature", {"operation": ("sign", "verify"), "curve": ("p256", "p384")},
         {"openssl": (38_000, 0.9)}, sized=False, all_bytes=False, primary="kops"),
    Spec("regex", ("security",), "rule matching over packet payloads", {"unit": ("block", "stream")},
         {"pcre2": (900, 38), "hyperscan": (140, 2.6)}, metric="matches_per_unit"),
)  # fmt: skip

METRICS: dict[str, dict[str, Any]] = {
    "compression_ratio": {"name": "compression_ratio", "unit": "", "summary": "input bytes per output byte", "higher_is_better": True},
    "matches_per_unit": {"name": "matches_per_unit", "unit": "1", "summary": "rules that match a unit", "higher_is_better": True},
}


def catalog(spec: Spec) -> dict[str, Any]:
    """Return the operator's catalog entry, as in ``hello``."""
    parameters: list[dict[str, Any]] = [
        {"name": name, "summary": name, "values": list(values), "default": values[0], "is_mode": True, "unit": "", "min": 0, "max": 0}
        for name, values in spec.modes.items()
    ]
    if spec.sized:
        parameters.append({"name": "size", "summary": "message size", "values": [str(s) for s in SIZES], "default": "1024",
                           "is_mode": False, "unit": "B", "min": 1, "max": 65536})  # fmt: skip
    return {
        "name": spec.name, "scenarios": list(spec.scenarios), "summary": spec.summary,
        "definition": f"One operation is one {spec.summary}.", "parameters": parameters,
        "equivalence": "identical", "equivalence_text": "identical bytes", "primary_metric": spec.primary,
        "processes_all_bytes": spec.all_bytes, "metrics": [METRICS[spec.metric]] if spec.metric else [], "inputs": [],
        "reference_engine": next(iter(spec.engines)), "sources": ["RFC 1071"], "version": 1, "default_burst": 32,
        "engines": [{"name": e, "summary": e, "library": e, "available": True, "reason": ""} for e in spec.engines],
    }  # fmt: skip


def interval(value: float, relative: float) -> Interval:
    """Return ``value`` with a slightly skewed interval whose half width is about ``relative`` of it."""
    return Interval(value, value * (1 - relative), value * (1 + 0.9 * relative))


def scaled(quantity: Interval, factor: float) -> Interval:
    """Return the same estimate in another unit."""
    return Interval(quantity.value * factor, quantity.low * factor, quantity.high * factor)


def cost_ns(spec: Spec, engine: str, params: dict[str, str], speed: float = 1.0) -> float:
    """Return the true cost of one operation on one thread in ns; tests compare with it."""
    fixed, per_byte = spec.engines[engine]
    factor = 1.0
    if params.get("key_bits") in {"256"}:
        factor *= 1.25
    if spec.name == "rsa":
        factor *= (int(params["key_bits"]) / 2048) ** 2.6 * (0.03 if params["operation"].startswith("verify") else 1.0)
    if params.get("mode") == "cbc" and params.get("direction") == "encrypt":
        factor *= 3.1
    if params.get("direction") in {"decompress"}:
        factor *= 0.25
    if params.get("ip") == "6":
        factor *= 1.7
    factor *= {"1": 1.0, "6": 2.4, "9": 6.1}.get(params.get("level", ""), 1.0)
    return (fixed + per_byte * int(params.get("size", "0"))) * factor / speed


def make_run(
    name: str = "operators-paper-20261121T090000",
    *,
    cpu: str = "Intel Xeon Platinum 8481C",
    speed: float = 1.0,
    cores: int = 8,
    sizes: tuple[int, ...] = SIZES,
    threads: tuple[int, ...] = (1, 2, 4, 8, 16),
    plan: str = "paper",
    seed: int = 1,
    missing: tuple[str, ...] = (),
    specs: tuple[Spec, ...] = SPECS,
    counters: bool = False,
) -> RunSummary:
    """Return a run of every operator, mode, engine, size and thread count. ``missing`` engines are unavailable.

    With ``counters``, hardware counts cycles and energy; without, cycles are estimated.
    """
    rng = random.Random(seed)
    points: list[PointSummary] = []
    for spec in specs:
        unit, per_op = {"gbps": ("Gb/s", 8e-9), "mops": ("Mops/s", 1e-6), "kops": ("kops/s", 1e-3)}[spec.primary]
        all_modes = [dict(zip(spec.modes, chosen, strict=True)) for chosen in itertools.product(*spec.modes.values())]
        for modes, size, count in itertools.product(all_modes, sizes if spec.sized else (0,), threads):
            params = dict(modes)
            if spec.sized:
                params["size"] = str(size)
            text = ",".join(f"{k}={v}" for k, v in sorted(params.items()))
            group = f"{spec.name}/{text}/t{count}/b32/stream"
            reference_rate = 0.0
            for engine in spec.engines:
                relative = rng.choice([0.006, 0.01, 0.015, 0.02, 0.03])
                rounds = 6
                if rng.random() < 0.05:
                    relative = rng.uniform(0.06, 0.16)
                if rng.random() < 0.02:
                    rounds = 3
                point = PointSummary(
                    id=f"{group}/{engine}", operator=spec.name, params=params, threads=count, burst=32, footprint="stream",
                    engine=engine, target="local", build="", operator_version=1, input_name="imix, 8192 packets, seed 1",
                    input_sha256="9f" * 32, rounds=rounds, windows=rounds * 12,
                )  # fmt: skip
                points.append(point)
                reason = spec.unavailable.get(f"{engine}:{modes.get('mode', '')}", "")
                if engine in missing:
                    reason = f"lib{engine}.so: cannot open shared object file: no such file or directory"
                if reason:
                    point.unavailable, point.rounds, point.windows = reason, 0, 0
                    continue
                true_ns = cost_ns(spec, engine, params, speed)
                effective = min(count, cores) + 0.22 * max(0, min(count, 2 * cores) - cores)
                rate = interval(1e9 / true_ns * effective * (1 - 0.012 * (effective - 1)), relative)
                reference_rate = reference_rate or rate.value
                point.ops_per_s = rate
                point.ns_per_op = Interval(1e9 / rate.value, 1e9 / rate.high, 1e9 / rate.low)
                if spec.all_bytes:
                    point.gbps = scaled(rate, 8e-9 * size)
                point.primary = scaled(rate, per_op * (size if spec.primary == "gbps" else 1))
                point.primary_unit = unit
                if spec.metric:
                    point.metrics[spec.metric] = Interval(2.91, 2.91, 2.91) if engine != "libdeflate" else Interval(3.12, 3.12, 3.12)
                point.cycles_per_op = scaled(point.ns_per_op, 2.7)
                point.cycles_source = "hardware counter" if counters else "estimated"
                point.energy_nj_per_op = scaled(point.ns_per_op, 65.0) if counters else None
                point.canary_ratio = scaled(rate, 1e-9)
                point.precision = relative
                point.converged = relative <= 0.05
                ratio = rate.value / reference_rate
                point.ratio_to_reference = Interval(1.0, 1.0, 1.0) if engine == next(iter(spec.engines)) else interval(ratio, 0.008)
                point.build_ns = 3.1e8 if spec.name == "lpm" else 2e4
                point.memory_bytes = 64 << 20 if spec.name == "lpm" else None
                point.footprint_bytes = 8 << 20
                if spec.name == "lpm":  # the other operators are as in runs of earlier versions
                    point.touched_bytes, point.distinct_messages, point.distinct_keys = 8 << 20, 131_072, 41_027
                    point.touched_level, point.state_level = "L3", "L3"
                point.path = {"isa": "AVX-512" if engine not in {"portable"} else "scalar", "library": f"{engine} 1.0", "is_hardware": False,
                              "detail": "multi-buffer" if engine == "ipsec-mb" else ""}  # fmt: skip
                point.verified = {"known_answers": 12, "compared": 8192, "how": "identical"}
                point.round_rates = [rate.value * rng.gauss(1, relative) for _ in range(rounds)]
                if not point.converged:
                    point.warnings.append(Warning_("not-converged", f"known to {100 * relative:.1f} %, 5 % was asked for", point.id))
                if rounds < 6:
                    point.warnings.append(Warning_("few-rounds", f"{rounds} rounds of 6", point.id))
                if count > 2 * cores:
                    point.warnings.append(Warning_("oversubscribed", f"{count} threads on {2 * cores} CPUs", point.id))
    failures: list[Failure] = []
    catalogs = {spec.name: catalog(spec) for spec in specs}
    for failed in [p for p in points if p.engine == "openssl" and p.params.get("mode") == "xts"][:1]:
        failed.failure = "verify: item 17: output differs from the reference engine at byte 4"
        failed.ops_per_s = failed.ns_per_op = failed.gbps = failed.primary = failed.cycles_per_op = failed.ratio_to_reference = None
        failed.cycles_source, failed.energy_nj_per_op = "", None
        failed.rounds = failed.windows = 0
        failed.warnings = []
        failures.append(Failure("verify", failed.failure, failed.id))
    set_next_best(points, catalogs)
    warnings = [w for p in points for w in p.warnings]
    for moved in [p for p in points if p.operator == "regex"][:1]:
        warnings.append(Warning_("canary-moved", "the core-bound canary moved by 11.8 % within the round", moved.id))
    warnings.append(Warning_("input-skipped", "17 of 212 rules do not compile and were passed over", None, "regex"))
    return RunSummary(
        name=name, path=f"results/{name}", study="operators", plan=plan, status="complete", started="2026-11-21T09:00:00Z",
        finished="2026-11-21T09:41:12Z", command=f"dpubench run operators --plan {plan}", version="0.1.0", precision_target=0.05,
        machine={"host": "bench-1", "cpu": cpu, "architecture": "x86_64", "cpu_flags": "fpu sse2 avx2 avx512f gfni vaes " * 12,
                 "cpus_online": 2 * cores, "cores_online": cores, "l1d_bytes": 49152, "l2_bytes": 2097152, "l3_bytes": 110100480,
                 "memory_bytes": 34359738368, "kernel": "6.1.0-18-amd64", "os": "Debian GNU/Linux 12", "governor": "performance",
                 "virtual_machine": True,
                 "cycle_counter": {"source": "hardware counter"} if counters else {"unavailable": NO_CYCLES},
                 "energy": {"domains": ["RAPL package-0"]} if counters else {"unavailable": NO_ENERGY}},
        build_info={"compiler": "gcc 12.2.0", "flags": "-O3", "revision": "3d79300", "type": "release"},
        inputs={"routes4": {"name": "RouteViews 2022-12-01", "sha256": "ab" * 32}, "rules": {"name": "modsecurity-crs 3.3.4", "sha256": "cd" * 32}},
        operators=catalogs, points=points, warnings=warnings,
        failures=failures, left_out=["filling rte_lpm with 606k prefixes (about a minute)"],
    )  # fmt: skip


def set_next_best(points: list[PointSummary], operators: dict[str, dict[str, Any]]) -> None:
    """Compare every best engine with the next best of another library, as an analysis does."""
    for point in points:
        point.is_best, point.next_best, point.ratio_to_next_best = False, "", None
    for best, beside in headline.set_next_best(points, operators, {}):
        rates = [p.primary.value for p in (points[best], points[beside]) if p.primary is not None]
        points[best].ratio_to_next_best = interval(rates[0] / rates[1], 0.008)


def three_devices() -> list[RunSummary]:
    """Return runs of a host, a DPU with slower and more cores and fewer engines, and a second host that measured only some operators."""
    return [
        make_run("host", threads=(1, 2, 4, 8), counters=True),
        make_run("bluefield", cpu="Arm Cortex-A78AE", speed=0.46, cores=16, seed=2, missing=("ipsec-mb", "isal", "dpdk-gfni"), threads=(1, 2, 4, 8)),
        make_run("epyc", cpu="AMD EPYC 9354", speed=1.02, cores=32, seed=3, threads=(1, 2, 4, 8), specs=SPECS[4:]),
    ]


def as_target(run: RunSummary, target: str, *, run_set: str = "operators-quick-20261121T090000Z", label: str = "", lost: str = "") -> RunSummary:
    """Change ``run`` into the member of a set that was measured on ``target``, and return it.

    ``local`` is the baseline. With the label EMULATED the run has no figures.
    """
    run.name, run.run_set, run.target, run.spec = f"{run_set}@{target}", run_set, target, f"ssh://ubuntu@{target}" if target == "bf2" else target
    run.path, run.is_baseline = f"results/{run_set}/targets/{target.replace(':', '-')}", target == "local"
    run.command = "dpubench run operators --plan paper --target local --target bf2"
    run.label, run.lost, run.status = label, lost, "interrupted" if lost else "complete"
    run.times_mean_nothing = label == EMULATED
    for point in run.points:
        point.target = target
        point.id += f"@{target}" if target != "local" else ""
        if label == EMULATED:
            point.ops_per_s = point.ns_per_op = point.gbps = point.primary = point.cycles_per_op = point.energy_nj_per_op = None
            point.canary_ratio = point.ratio_to_reference = point.ratio_to_next_best = None
            point.is_best, point.next_best = False, ""
            point.metrics, point.round_rates, point.warnings, point.rounds, point.windows = {}, [], [], 0, 0
            point.precision, point.converged, point.build_ns = float("nan"), False, None
    if label == EMULATED:
        run.warnings = []
    run.failures = [replace(f, point=f"{f.point}@{target}" if f.point and target != "local" else f.point) for f in run.failures]
    return run


def with_device_engine(run: RunSummary, flights: tuple[int, ...] = (8, 32, 64, 128), *, hardware: bool = False) -> RunSummary:
    """Add an asynchronous AES engine to ``run``, with its default of 32 jobs in flight and with each of ``flights``; return ``run``."""
    added = []
    for point in [p for p in run.points if p.operator == "aes" and p.engine == "openssl" and p.primary is not None]:
        for asked in (0, *flights):
            effective = asked or 32
            factor = 4.2 * effective / (effective + 22)
            engine = "cryptodev" if hardware else "cryptodev-aesni-mb"
            new = replace(
                point, engine=engine, in_flight=asked, id=point.id.replace("/openssl", f"/{engine}" + (f"~{asked}" if asked else "")),
                warnings=[], precision=0.02, converged=True, rounds=6, round_rates=[r * factor for r in point.round_rates],
                path={"isa": "", "library": "DPDK 22.11.11", "detail": "", "driver": "crypto_mlx5" if hardware else "crypto_aesni_mb",
                      "device": "0000:03:00.0" if hardware else "crypto_aesni_mb0", "in_flight": effective, "is_hardware": hardware},
            )  # fmt: skip
            for name in ("ops_per_s", "gbps", "primary", "ratio_to_reference"):
                value = getattr(point, name)
                setattr(new, name, None if value is None else scaled(value, factor))
            assert new.ops_per_s is not None
            new.ns_per_op = Interval(1e9 / new.ops_per_s.value, 1e9 / new.ops_per_s.high, 1e9 / new.ops_per_s.low)
            added.append(new)
    run.points += added
    set_next_best(run.points, run.operators)
    return run


def host_and_device(sizes: tuple[int, ...] = SIZES, threads: tuple[int, ...] = (1, 2, 4, 8)) -> list[RunSummary]:
    """Return one run on two targets: a host, and a DPU with slower cores and fewer engines. Both have a device engine for AES."""
    host = make_run("host", sizes=sizes, threads=threads, counters=True)
    device = make_run(
        "device", cpu="Arm Cortex-A72", speed=0.34, cores=8, sizes=sizes, threads=threads, seed=2, missing=("ipsec-mb", "isal", "dpdk-gfni")
    )
    device.build_info = {"compiler": "gcc 13.2.0", "flags": "-O3 -mcpu=cortex-a72", "revision": "3d79300", "type": "release"}
    for operator in device.operators.values():
        for engine in operator["engines"]:
            if engine["name"] in ("ipsec-mb", "isal", "dpdk-gfni"):
                engine["available"], engine["reason"] = False, "is not built for aarch64"
    for point in device.points:
        point.path = point.path and point.path | {"isa": "scalar" if point.engine == "portable" else "NEON", "library": f"{point.engine} 1.1"}
    return [as_target(with_device_engine(host), "local"), as_target(with_device_engine(device, hardware=True), "bf2")]


def five_targets() -> list[RunSummary]:
    """Return runs of a host, a DPU, the host restricted, an emulated target, and a DPU that was lost before it measured anything."""
    sizes, threads = (64, 1024, 16384), (1, 2, 4)
    restricted = make_run("restricted", speed=0.52, cores=1, sizes=sizes, threads=(1,), seed=5)
    emulated = make_run("emulated", cpu="Neoverse-N1", sizes=(1024,), threads=(1,), seed=6, missing=("ipsec-mb", "dpdk-gfni"))
    lost = replace(make_run("lost", sizes=sizes, threads=(1,)), points=[], warnings=[], failures=[], machine={}, build_info={}, operators={})
    return [
        *host_and_device(sizes, threads),
        as_target(restricted, "local:cpus=0,quota=50%", label=RESTRICTED),
        as_target(emulated, "qemu:aarch64", label=EMULATED),
        as_target(lost, "bf3", lost="connection closed by 10.0.0.7 port 22"),
    ]
