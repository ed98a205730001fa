"""Tests of recorded sweeps: parsing, faults, and what the published table of the BlueField-2 says and does not say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from dpubench import schemas, studies
from dpubench.errors import UserError
from dpubench.report import frame
from dpubench.run import importing
from dpubench.run.importing import File
from dpubench.studies import Request
from dpubench.studies.headroom import imports
from dpubench.studies.headroom.imports import Finding

HEAD = "platform,mode,sweep,packet_bytes,threads,burst,clone_skb,delay_ns,throughput_mbps,std_mbps,device_mbps,mtu"
SHARED = Path(os.environ.get("DPUBENCH_SHARED_DATA", Path(__file__).resolve().parents[5] / "shared" / "data")) / "wu" / "pktgen.csv"


def written(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "pktgen.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def fault(folder: Path, *rows: str, head: str = HEAD) -> str:
    with pytest.raises(UserError) as caught:
        imports.imported([File(written(folder, *rows, head=head))])
    return str(caught.value)


GOOD = "a,default,burst,1000,1,10,0,0,8000,1,10000,1500"


def test_faults_name_file_and_line(tmp_path: Path) -> None:
    assert "has no column 'burst'" in fault(tmp_path, head=HEAD.replace(",burst", ""))
    assert "has no rows" in fault(tmp_path)
    assert "pktgen.csv:3: threads is 'many', not a whole number up to 256" in fault(tmp_path, GOOD, GOOD.replace(",1,10,", ",many,10,"))
    assert "pktgen.csv:2: throughput_mbps is 'fast', not a rate in Mb/s" in fault(tmp_path, GOOD.replace("8000", "fast"))
    assert "throughput_mbps is 'nan'" in fault(tmp_path, GOOD.replace("8000", "nan"))
    assert "throughput_mbps must be above 0" in fault(tmp_path, GOOD.replace("8000", "0"))
    assert "packet_bytes, threads and burst must be 1 at least" in fault(tmp_path, GOOD.replace("1000,1,10", "1000,0,10"))
    assert "pktgen.csv:2: names no platform" in fault(tmp_path, GOOD[1:])
    assert "pktgen.csv:3: this configuration has a row already" in fault(tmp_path, GOOD, GOOD.replace("8000", "7000"))
    with pytest.raises(UserError, match="is no file"):
        File.of(str(tmp_path / "none.csv"))


def sweep(*rates: tuple[int, float]) -> list[imports.Row]:
    """Return the rows of 1 thread, bursts of 10, 1000 B: (delay in ns, Gb/s)."""
    return [imports.Row("a", 1000, 1, 10, 1, delay, gbps, 0.0, 10.0) for delay, gbps in rates]


def at(found: list[Finding], rate: str) -> Finding:
    return next(finding for finding in found if finding.rate == rate)


def test_an_edge_below_the_pacing_limit_is_the_cpus() -> None:
    # 80,000 bits per burst. 5 Gb/s are a burst every 16 us; 8 Gb/s, the highest rate, every 10 us.
    found = at(imports.findings(sweep((0, 8.0), (8000, 8.0), (12000, 80 / 12), (14000, 4.5), (20000, 4.0))), "5Gb/s")
    assert (found.edge.survived_ns, found.edge.fell_ns, found.limit_ns) == (12000, 14000, 16000)
    assert not found.edge.is_paced and found.edge.is_monotone
    share, least, most = found.shares
    assert share == least == most == pytest.approx(1 / 6)


def test_a_rate_that_recovers_is_found_and_told() -> None:
    found = at(imports.findings(sweep((0, 8.0), (1000, 4.5), (2000, 8.0), (15000, 5.33), (20000, 4.0))), "5Gb/s")
    assert found.edge.survived_ns == 15000 and found.edge.first_fall_ns == 1000


@pytest.mark.skipif(not SHARED.is_file(), reason="the published sweeps are not there")
def test_the_published_sweeps_of_the_bluefield_2() -> None:
    rows = [row for row in imports.parse(SHARED.read_text(encoding="utf-8"), SHARED) if row.platform.startswith("MBF2")]
    best = max(imports.selections(rows), key=lambda s: s.gbps)
    assert 63 < best.gbps < 65 and best.limit == "unknown", "it peaks near 64 Gb/s of a line of 100"
    found = at(imports.findings(rows), "50Gb/s")
    assert (found.size, found.threads, found.burst) == (10_000, 8, 25)
    assert found.edge.survived_ns == 320_000 == pytest.approx(found.limit_ns), "the edge is the pacing limit itself"
    assert found.edge.is_paced
    _, least, most = found.shares
    assert 0.19 < least < 0.195 and 0.235 < most < 0.24, "the paper's 22.8 % is one of many choices"
    at_peak = at(imports.findings(rows), "peak")
    assert at_peak.edge.first_fall_ns == 0, "with a spacing of 128 us it sends faster than without any"


@pytest.mark.skipif(not SHARED.is_file(), reason="the published sweeps are not there")
def test_the_published_sweeps_become_a_run(tmp_path: Path) -> None:
    study = studies.find("headroom")
    path = importing.keep(study, imports.imported([File(SHARED)]), Request("wu", tmp_path))
    runs = study.summaries(path)
    assert [(len(run.points), run.imported) for run in runs] == [(2, True), (186, True)]
    for member in (path / "targets").iterdir():
        assert schemas.fault("run", json.loads((member / "run.json").read_text(encoding="utf-8"))) == ""
    shown = study.show(runs)
    assert "imported: not measured here" in shown
    assert "8 threads with bursts of 25 packets of 10000B every 320.0 us are 50.00 Gb/s, whatever the CPU does" in " ".join(shown.split())
    assert "19.1 to 23.8 % is left, by the peak" in " ".join(shown.split())
    point = next(p for p in runs[0].points if p.parameters["rate"] == "50Gb/s")
    assert [round(s.delay_us) for s in point.samples] == [0, 128, 192, 256, 320, 384, 448, 512]
    assert '"left_percent"' in study.export(runs, "json")
    assert study.export(runs, "csv").count("\n") == 189
    frame.write([study.section(runs)], tmp_path / "report.html")
    assert "not measured here" in (tmp_path / "report.html").read_text(encoding="utf-8")
