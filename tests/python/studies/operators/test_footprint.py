"""Tests of working sets against caches: the level that holds them, and runs of earlier versions."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from dpubench.studies.operators import export, footprint, superseded
from dpubench.studies.operators.model import PointSummary
from report_fixtures import three_devices

MACHINE = {"l1d_bytes": 48 << 10, "l2_bytes": 1 << 20, "l3_bytes": 32 << 20}


@pytest.mark.parametrize(
    ("own", "threads", "machine", "level"),
    [
        (2048, 1, MACHINE, "L1d"),
        (48 << 10, 64, MACHINE, "L1d"),  # each core has its own L1d
        (750 << 10, 1, MACHINE, "L2"),  # 11,738 lines: the earlier `stream` of look-ups
        (4 << 20, 1, MACHINE, "L3"),
        (4 << 20, 8, MACHINE, "L3"),
        (4 << 20, 9, MACHINE, "memory"),  # the threads share L3
        (64 << 20, 1, MACHINE, "memory"),
        (64 << 20, 1, MACHINE | {"l3_bytes": 300 << 20}, "L3"),
        (4 << 20, 1, MACHINE | {"l3_bytes": 0}, "beyond L2"),  # kernels of many Arm machines do not report L3
        (4 << 20, 1, {}, ""),
    ],
)
def test_the_smallest_cache_that_holds_it(own: int, threads: int, machine: dict[str, int], level: str) -> None:
    assert footprint.level(own, own * threads, machine) == level


def test_a_point_shows_buffers_state_and_keys() -> None:
    lookup = next(p for p in three_devices()[0].points if p.operator == "lpm")
    assert footprint.words(lookup) == "8 MiB of buffers (L3), 64 MiB of tables (L3), 131,072 messages, 41,027 keys"
    here = dataclasses.replace(lookup, threads=8)
    footprint.place(here, MACHINE)
    assert (here.touched_level, here.state_level) == ("memory", "memory")
    assert footprint.words(here).startswith("8 MiB of buffers a thread (memory), 64 MiB of tables (memory)")
    row = export.record(here, three_devices()[0])
    assert {k: row[k] for k in ("touched_bytes", "distinct_messages", "distinct_keys", "touched_level", "state_level", "memory_bytes")} == {
        "touched_bytes": 8 << 20, "distinct_messages": 131_072, "distinct_keys": 41_027, "touched_level": "memory", "state_level": "memory",
        "memory_bytes": 64 << 20,
    }  # fmt: skip


def test_a_point_of_an_earlier_version_claims_nothing() -> None:
    old = next(p for p in three_devices()[0].points if p.touched_bytes is None)
    footprint.place(old, MACHINE)
    assert (old.touched_level, old.state_level, footprint.words(old)) == ("", "", "")


def _one(operator: str, version: int, **changes: Any) -> PointSummary:
    point = dataclasses.replace(next(p for p in three_devices()[0].points if p.operator == "aes"), operator=operator, operator_version=version)
    return dataclasses.replace(point, **changes)


def test_a_stored_run_says_which_of_its_figures_are_superseded() -> None:
    points = [
        _one("lpm", 1),
        _one("lpm", 2),
        _one("toeplitz", 1, footprint="resident"),  # its working set did not change
        _one("checksum", 1, params={"mode": "full", "size": "64"}),  # it reads every line
        _one("checksum", 1, params={"mode": "incremental", "size": "64"}),
        _one("regex", 1, rounds=0),  # it has no figure
        _one("snappy", 1),
        _one("tcp_segment", 1, engine="portable"),
        _one("tcp_segment", 1, engine="dpdk"),
        _one("crc", 1),
    ]
    told = superseded.warnings(points)
    assert [w.message.split(":", 1)[0] for w in told] == [
        "lpm, checksum (2 of an earlier version)", "snappy (1 of an earlier version)", "tcp_segment (1 of an earlier version)"
    ]  # fmt: skip
    assert {w.code for w in told} == {"superseded"} and all(w.point is None for w in told)
    assert superseded.warnings(points[1:2]) == []
