"""Analysed runs of study ``counts`` with made-up counts."""

from __future__ import annotations

from typing import Any

from dpubench.studies.counts.model import LABEL, PointSummary, RunSummary


def a_run(name: str, *points: PointSummary, **more: Any) -> RunSummary:
    how = {
        "architecture": "x86_64", "emulator": "qemu-x86_64 version 7.2.22 (Debian)", "cpu": "max", "model": "", "model_labels": [], "operators": {},
        "not_counted": [("sha256/size=64/t1/b32/stream", "avx512", "the CPU lacks AVX-512F")],
    }  # fmt: skip
    return RunSummary(
        name=name, path=f"/results/{name}", study="counts", plan="quick", status="complete", started="2026-01-01T10:00:00Z", finished="",
        command="dpubench run operators --count", version="0.1.0", precision_target=0.05, machine={"host": "secret-host", "cpu": "a"},
        build_info={"compiler": "gcc"}, inputs={"rules": {"name": "r", "sha256": "ab", "files": "/home/alice/r"}}, points=list(points), warnings=[],
        failures=[], left_out=[], label=LABEL, **(how | more),
    )  # fmt: skip


def a_point(engine: str, *numbers: int, **more: Any) -> PointSummary:
    return PointSummary(
        f"sha256/size=64/t1/b32/stream/{engine}", "sha256", {"size": "64"}, 32, "stream", engine, 1, "random", "ab" * 32, 100, list(numbers), 6400,
        {"isa": "avx2", "library": "OpenSSL 3.0"}, **more,
    )  # fmt: skip
