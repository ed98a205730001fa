"""Tests of the study on the real programs: short runs, what they keep, faults, interruption. Nothing here depends on how fast the machine is."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, programs, schemas
from dpubench.studies.headroom import links
from dpubench.studies.headroom.session import Spec, account_fault
from dpubench.studies.measured import rounds
from own_folder import Run, environment, interrupted, programs_left, record_of

pytestmark = pytest.mark.skipif(not (programs.directory() / programs.HEADROOM).is_file(), reason="dpubench-headroom was not built")

SMALL = ["--set", "works=spacing,cache", "--set", "trial=2ms", "--set", "selection=1", "--burst", "4", "--size", "128B", "--rounds", "2"]


def test_a_short_run(dpubench: Run, tmp_path: Path) -> None:
    dpubench("run", "headroom", "--name", "r", "--set", "backends=null,memif", *SMALL, "--set", "rates=peak,50%")
    record = record_of(tmp_path / "results/r")
    assert schemas.fault("run", record) == "" and record["status"] == "complete"
    assert {(s["backend"], s["size"], s["threads"], s["burst"]) for s in record["selections"]} == {("null", 128, 1, 4), ("memif", 128, 1, 4)}
    assert all(s["gbps"] > 0 for s in record["selections"])
    assert record["links"]["memif"].startswith("virtual link: shared memory")
    rows = list(csv.DictReader(io.StringIO(dpubench("export", "r", "--csv").stdout)))
    assert [row["id"] for row in rows] == [f"{b}/128B/{w}/{r}" for b in ("null", "memif") for w in ("spacing", "cache") for r in ("peak", "50%")]
    for row in rows:
        assert 0 < float(row["cpu_percent"]) < 100.001 and 0 <= float(row["left_percent"]) < 100
        assert float(row["peak_gbps"]) > 0 and float(row["burst_us"]) > 0 and int(row["rounds"]) == 2
    of: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for kept in rounds.read(tmp_path / "results/r"):
        of[kept["round"], kept["point"]][kept["quantity"]] = kept["value"]
    assert len(of) == 2 * 8 and all(abs(found["cpu_percent"] + found["left_percent"] - 100) < 1e-9 for found in of.values())
    shown = dpubench("show", "r").stdout
    assert "Highest rate, and the smallest configuration that reaches it" in shown and "CPU left (%)" in shown
    assert "no-receiver: back-end null has no sink" in shown
    asked = json.loads(dpubench("query", "SELECT count(*) AS n, min(delay_ns) AS least FROM samples", "--json").stdout)
    assert asked[0]["n"] >= 8 * 2 * 10 and asked[0]["least"] > 0
    page = (tmp_path / "results/r/report.html").read_text(encoding="utf-8")
    assert "Rate over the delay per burst" in page and '"curves":[{"title":"null, 128B, rate peak"' in page
    again = dpubench("compare", "r", "r").stdout
    assert "CPU taken" in again and "left per packet" not in again, "what may be zero has no ratio"


@pytest.mark.parametrize("backend", ["udp", "udp-gso", "af_packet", "af_xdp"])
def test_links_of_the_kernel(dpubench: Run, tmp_path: Path, backend: str) -> None:
    if reason := network.unavailable():
        pytest.skip(reason)
    dpubench("run", "headroom", "--name", "r", "--set", f"backends={backend}", "--set", "works=spin", *SMALL[2:], "--rounds", "1")
    record = record_of(tmp_path / "results/r")
    assert record["links"][backend].startswith("virtual link: veth between two namespaces") and not record["failures"]
    assert record["selections"][0]["gbps"] > 0
    # Other processes may have namespaces of theirs, as long as they live.
    left = [name for name in Path("/run/netns").glob("dpubench-*") if network.start_time(int(name.name.split("-")[1])) is None]
    assert not left, "its namespaces are gone"


def test_packets_that_do_not_fit_are_told(dpubench: Run) -> None:
    dry = dpubench("run", "headroom", "--dry-run", "--size", "10000B", "--set", "backends=memif,udp").stdout
    assert "memif/10000B/spacing/50%: cannot run here: a port takes packets of 9014 B at most" in dry
    assert "  udp/10000B/spacing/50%\n" in dry
    if not Path("/proc/net/pktgen").exists():
        done = dpubench("run", "headroom", "--dry-run", "--set", "backends=pktgen", "--set", "arguments.pktgen.interface=lo", status=4)
        assert "pktgen is not loaded" in done.stderr.replace("packet generator", "pktgen") and "modprobe pktgen" in done.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--set", "backends=smoke"], "there is no back-end 'smoke'"),
        (["--size", "65B"], "a packet has 66 B to 65549 B"),
        (["--set", "rates=fast"], "'fast' is no rate: write peak, a share of the peak such as 50%, or a bit rate such as 25Gb/s"),
        (["--set", "works=sleep"], "works"),
        (["--set", "destination_mac=here"], "'here' is not a MAC address"),
        (["--set", "peer=nowhere"], "unknown target 'nowhere'"),
        (["--set", "backends=pci"], "a device needs its address"),
    ],
)
def test_bad_plans_are_refused(tmp_path: Path, given: list[str], told: str) -> None:
    words = [sys.executable, "-m", "dpubench", "run", "headroom", "--dry-run", *given]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and told in done.stderr


def test_a_rate_above_the_highest_is_refused(dpubench: Run, tmp_path: Path) -> None:
    done = dpubench("run", "headroom", "--name", "r", "--set", "backends=memif", *SMALL, "--set", "rates=100Tb/s", status=4)
    assert "the highest rate here is" in done.stderr


def test_it_goes_on_after_ctrl_c(dpubench: Run, tmp_path: Path) -> None:
    words = ("run", "headroom", "--name", "r", "--set", "backends=memif,udp", *SMALL)
    _, errors = interrupted(tmp_path, *words, begun="results/r/rounds/*", at_work=programs.HEADROOM)
    assert "dpubench resume r" in errors
    assert record_of(tmp_path / "results/r")["status"] == "interrupted"
    assert programs_left(tmp_path, programs.HEADROOM) == []
    before = record_of(tmp_path / "results/r")["selections"]
    dpubench("resume", "r")
    record = record_of(tmp_path / "results/r")
    assert record["status"] == "complete" and record["selections"] == before, "step 1 is not repeated"
    assert "4 points, 4 measured in" in dpubench("show", "r").stdout


def test_accounts_that_cannot_be_true() -> None:
    sent = {"packets": 10, "number_sum": "45", "size": 100}
    counted = {"packets": 10, "number_sum": "45", "bytes": 1000}
    assert account_fault(sent, counted) == ""
    assert account_fault(sent, {**counted, "packets": 9, "number_sum": "36", "bytes": 900}) == "", "loss is no fault"
    assert "the link duplicates packets" in account_fault(sent, {**counted, "packets": 11, "bytes": 1100})
    assert "some came twice and others were lost" in account_fault(sent, {**counted, "number_sum": "44"})
    assert "arrived with 999 bytes" in account_fault(sent, {**counted, "bytes": 999})


def test_links_say_what_they_need() -> None:
    assert links.unavailable("memif", {}, 128, is_here=False) == "", "over a socket in the target's own folder"
    with links.joined("memif", {}, 1514, 1, is_here=False, folder="/root/cache") as ends:
        assert ends.sink is not None
        assert (ends.sender["role"], ends.sink["role"]) == ("client", "server")
        assert ends.sender["arguments"] == ends.sink["arguments"] == {"socket": "/root/cache/headroom.sock"}
    assert links.unavailable("memif", {"socket": "/run/x"}, 128, is_here=False) == ""
    assert "needs an interface" in links.unavailable("af_xdp", {}, 128, is_here=False)
    assert "the address 'peer' is missing" in links.unavailable("udp", {"local": "10.0.0.1:1"}, 128, is_here=False)
    assert links.unavailable("udp", {}, 128, is_here=False) == "", "over loopback"
    with links.joined("udp", {}, 1514, 1, is_here=False) as ends:
        assert ends.how == "virtual link: loopback" and ends.sender["arguments"]["peer"] == "127.0.0.1:47600"
        assert ends.sink == {"kind": "udp", "arguments": {"local": "127.0.0.1:47600"}}
    with links.joined("udp", {"local": "10.0.0.1:5", "peer": "10.0.0.2:6"}, 1514, 1, is_here=True) as ends:
        assert ends.sink is None, "without a peer nobody receives there"
    with links.joined("udp", {"local": "10.0.0.1:5", "peer": "10.0.0.2:6"}, 1514, 1, is_here=True, peer="far") as ends:
        assert ends.sink is not None and ends.sink["arguments"]["local"] == "10.0.0.2:6"


def test_a_sink_elsewhere_needs_a_way_to_it() -> None:
    assert "a sink on far needs addresses: --set arguments.udp.local=" in links.unavailable("udp", {}, 128, is_here=True, peer="far")
    assert "no link by memif to a sink on far is made" in links.unavailable("memif", {}, 128, is_here=True, peer="far")
    assert links.unavailable("null", {}, 128, is_here=True, peer="far") == ""
    tap = network.TapLink(network.Side("space", "tap0", "198.18.0.1", "02:00:00:00:00:01"), "198.18.0.2/24", "eth1", "02:00:00:00:00:02", 9216)
    assert links.unavailable("udp", {}, 128, is_here=False, peer="local", tap=tap) == ""
    assert "no link by af_xdp" in links.unavailable("af_xdp", {}, 128, is_here=False, peer="local", tap=tap)
    for is_here, near, far in ((False, "198.18.0.2", "198.18.0.1"), (True, "198.18.0.1", "198.18.0.2")):
        with links.joined("udp", {}, 1514, 1, is_here=is_here, peer="far", tap=tap) as ends:
            assert ends.sender["arguments"] == {"local": f"{near}:47100", "peer": f"{far}:47600"}
            assert ends.sink == {"kind": "udp", "arguments": {"local": f"{far}:47600"}}
            inside, outside = (ends.sender_prefix, ends.sink_prefix) if is_here else (ends.sink_prefix, ends.sender_prefix)
            assert inside == tap.here.prefix and outside == []


def test_jobs_and_commands_keep_the_schema() -> None:
    job = {
        "schema": schemas.HEADROOM_JOB, "role": "sender", "seed": 1, "time_limit_s": 60, "threads": 2, "cpus": [0], "max_packet": 1514,
        "memory": {"huge_pages": False, "mb": 256}, "destination_mac": "02:00:00:00:00:02",
        "backend": {"kind": "port", "port": "null", "role": "client", "arguments": {}},
        "operator": {"name": "crc", "engine": "portable", "params": {"size": "1024"}}, "inputs": {}, "cache_dir": "/tmp",
    }  # fmt: skip
    assert schemas.fault("headroom-job", job) == ""
    trial = Spec(128, 1, 8, 1, 0.001, "spacing", 1000.0).job(1)
    for command in ({"trial": trial}, {"begin": 1}, {"collect": 1, "expected": 2}, {"end": True}):
        assert schemas.fault("headroom-job", command, "command") == ""
    assert schemas.fault("headroom-job", {"trial": {**trial, "delay": "sleep"}}, "command")
    told = spoken(
        {key: value for key, value in job.items() if key != "operator"}, [{"trial": trial}, {"trial": {"size": 1}}, {"begin": 1}, {"end": True}]
    )
    assert [event["event"] for event in told if event["event"] != "progress"] == ["hello", "opened", "sent", "failure", "failure", "done"]
    assert [schemas.fault("event", event) for event in told] == [""] * len(told)
    faults = [event["message"] for event in told if event["event"] == "failure"]
    assert "/trial/size: must be a whole number from 66 to 65549" in faults[0] and "begin is for a sink" in faults[1]
    refused = spoken({**job, "threads": 0, "backend": {"kind": "smoke"}}, [])
    assert refused[-1]["event"] == "failure" and "/threads" in refused[-1]["message"] and "/backend/kind" in refused[-1]["message"]


def spoken(job: dict[str, Any], commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of the program for a job and commands."""
    program = programs.directory() / programs.HEADROOM
    given = "\n".join(map(json.dumps, [job, *commands])) + "\n"
    done = subprocess.run([program], input=given, capture_output=True, text=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]
