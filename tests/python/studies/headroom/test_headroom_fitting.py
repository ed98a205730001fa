"""Tests of operators against what is left of the CPU: which stands for a packet size, what fits, and the predicted rate."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from dpubench import studies
from dpubench.analysis.model import Interval
from dpubench.errors import UserError
from dpubench.run import importing
from dpubench.run.importing import File
from dpubench.studies import Request
from dpubench.studies.headroom import fitting, imports
from dpubench.studies.headroom.fitting import Candidate


def one(operator: str, size: int | None, ns: float, **params: str) -> Candidate:
    given = params | ({} if size is None else {"size": str(size)})
    return Candidate(operator, "portable", given, operator, size, ns, 0.9 * ns, 1.1 * ns, [])


def test_the_largest_message_that_the_packet_holds() -> None:
    found = [one("crc", 64, 10), one("crc", 1024, 100), one("crc", 4096, 400), one("lpm", None, 7), one("aes", 4096, 900), one("aes", 8192, 1700)]
    assert [(c.operator, c.size) for c in fitting.for_packets(found, 1500)] == [("crc", 1024), ("lpm", None), ("aes", 4096)]
    assert [(c.operator, c.size) for c in fitting.for_packets(found, 66)] == [("crc", 64), ("lpm", None), ("aes", 4096)]
    modes = [one("crc", 64, 10, type="a"), one("crc", 64, 12, type="b"), one("crc", 64, 15, type="b")]
    assert [c.ns for c in fitting.for_packets(modes, 1500)] == [10, 15], "of two footprints the slower one"


def test_what_fits_and_what_does_not() -> None:
    left = Interval(100, 80, 120)
    assert fitting.verdict(one("a", 64, 70), left) == "fits"
    assert fitting.verdict(one("a", 64, 140), left) == "does not fit"
    assert fitting.verdict(one("a", 64, 100), left) == "undecided"
    assert fitting.verdict(one("a", 64, 1), Interval(100, math.nan, math.nan)) == "undecided", "nothing is known from one round"


def test_the_largest_that_fits_and_the_smallest_that_does_not_are_checked() -> None:
    judged = [(one("a", 64, 10), "fits"), (one("b", 64, 20), "fits"), (one("c", 64, 90), "undecided"), (one("d", 64, 500), "does not fit")]
    assert [c.operator for c in fitting.to_check(judged)] == ["b", "c"]  # type: ignore[arg-type]  # words of the verdict
    assert fitting.to_check([]) == []


def test_the_predicted_rate() -> None:
    # One thread, bursts of 10 packets of 1000 B in 1 us; 100 ns for each packet besides: 10 packets in 2 us.
    assert fitting.predicted_gbps(1000, 1, 10, 1000.0, 1e9, 100.0) == pytest.approx(40.0)
    assert fitting.predicted_gbps(1000, 2, 10, 1000.0, 1e9, 100.0) == pytest.approx(80.0)
    assert fitting.predicted_gbps(1000, 1, 10, 1000.0, 30.0, 100.0) == 30.0, "the device's own limit"


def test_a_run_of_another_study_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("platform,packet_bytes,threads,burst,clone_skb,delay_ns,throughput_mbps\na,1000,1,10,0,0,8000\n", encoding="utf-8")
    importing.keep(studies.find("headroom"), imports.imported([File(table)]), Request("r", tmp_path))
    with pytest.raises(UserError, match="operators=r: is a run of study headroom: name one of study operators"):
        fitting.candidates("r", tmp_path, "local", {})
    with pytest.raises(UserError, match="unknown run 'none'"):
        fitting.candidates("none", tmp_path, "local", {})
