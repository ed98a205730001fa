"""Tests of the end-to-end study's server behind a real sshd: it starts from its bundle, packets cross a real link, nothing is left there."""

from __future__ import annotations

import contextlib
import getpass
import shlex
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, schemas
from dpubench.studies.end_to_end import trials
from real_program import BUILD, RealBench
from sshd import SSHD, Sshd, running_under

pytestmark = pytest.mark.skipif(not (BUILD / "dpubench-server").exists(), reason="this build has no dpubench-server: it needs libdpdk")

PLAN = """study: end-to-end
workloads: [{{name: flow-table, params: {{flows: 1000}}}}]
placements: [all-host, all-device]
device: {device}
ports: [socket, memif]
port_arguments:
  socket:
    buffer_kib: 512
    all-host: {{server_local: "127.0.0.1:{a}", server_peer: "127.0.0.1:{b}", client_local: "127.0.0.1:{b}", client_peer: "127.0.0.1:{a}"}}
    all-device: {{server_local: "127.0.0.1:{c}", server_peer: "127.0.0.1:{d}", client_local: "127.0.0.1:{d}", client_peer: "127.0.0.1:{c}"}}
traffic: {{flows: 100}}
frame_sizes: [128B]
rates: [2kpps]
search: {{goals: []}}
calibration: {{processes: 0}}
trial: {{ramp: 0s, duration: 100ms, drain: 200ms}}
rounds: {{min: 1, max: 1}}
memory: {{huge_pages: no, mb: 256}}
silence: 40s
"""


@pytest.fixture
def away(real: RealBench, tmp_path: Path) -> Iterator[Sshd]:
    """Yield a loopback sshd that ``real`` can reach."""
    server = Sshd(tmp_path / "sshd")
    real.environment |= {"DPUBENCH_SSH_CONFIG": str(server.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    server.start()
    yield server
    server.stop()


def free_ports(number: int) -> list[int]:
    """Return free UDP ports of 127.0.0.1."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket(type=socket.SOCK_DGRAM)) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def write_plan(real: RealBench, away: Sshd) -> str:
    (real.folder / "plan.yaml").write_text(PLAN.format(device=away.spec, **dict(zip("abcd", free_ports(4), strict=True))))
    return "plan.yaml"


def nothing_is_left(away: Sshd) -> bool:
    given_up = time.monotonic() + 15
    while (running_under(away.home) or away.sessions()) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not running_under(away.home) and not away.sessions()


def assert_accounted(row: dict[str, Any]) -> None:
    """Check that both sides' counts of a trial agree to the packet."""
    (served,) = row["servers"]
    dropped = sum(count for _, count in served["dropped"])
    assert row["due"] >= row["sent"] + row["tx_full"]  # a late client sends less, and its limit says so
    assert row["due"] == row["sent"] + row["tx_full"] or row["limit"] == "client-limited"
    assert row["sent"] >= served["received"] == served["transmitted"] + served["tx_full"] + dropped
    assert served["transmitted"] >= row["received"]
    assert row["wrong"] == row["corrupted"] == row["stale"] == 0


def test_servers_on_the_host_and_on_a_device_answer_every_packet_each_at_its_own_addresses(real: RealBench, away: Sshd) -> None:
    done = real("run", write_plan(real, away), "--name", "r")
    # On a busy machine the client may be late and limit every trial. The accounts must still agree.
    assert done.returncode in (0, 4), done.stderr
    record = real.record("r")
    assert record["status"] == ("complete" if done.returncode == 0 else "failed") and not record["failures"] and not schemas.fault("run", record)
    assert any("a port of kind memif cannot reach another machine: choose" in reason for reason in record["left_out"])
    rows = [r for r in trials.read(real.results / "r") if r["event"] == "trial"]
    assert {r["configuration"].split("/")[0] for r in rows} == {"flow-table", "forward"}
    for row in rows:
        assert_accounted(row)
    links = {tuple(r["configuration"].split("/")[i] for i in (0, 3, 4)) for r in rows}
    ends = (("all-host", "socket"), ("all-host", "memif"), ("all-device", "socket"))
    assert links == {(workload, *end) for workload in ("flow-table", "forward") for end in ends}
    told = {c["placement"]: c["ready"]["server"]["ports"][0]["detail"] for c in record["configurations"] if c["port"] == "socket"}
    assert told["all-host"] != told["all-device"]
    assert any(r["received"] > 0 for r in rows)
    assert {"client", "server"} <= set(record["builds"])
    assert nothing_is_left(away)
    assert {p.name for p in away.home.iterdir()} <= {".dpubench-target", "bundles", "cache"}


TWO_MACHINES = """study: end-to-end
workloads: [{name: flow-table, params: {flows: 1000}}]
target: NEAR
client: FAR
ports: [PORT]
port_arguments: {PORT: ARGUMENTS}
traffic: {flows: 100}
frame_sizes: [128B]
rates: [2kpps]
search: {goals: []}
calibration: {processes: 0}
trial: {ramp: 0s, duration: 100ms, drain: 200ms}
rounds: {min: 1, max: 1}
memory: {huge_pages: no, mb: 256}
silence: 40s
"""


@pytest.fixture
def two_machines(real: RealBench, tmp_path: Path) -> Iterator[network.VethPair]:
    """Yield a cable between the machines ``near`` and ``far``: two namespaces, in each of which an sshd is started by the connection to it."""
    server = Sshd(tmp_path / "sshd")
    server.start()
    server.stop()
    with network.veth_pair(1518) as pair:
        ways = []
        for name, side in (("near", pair.server), ("far", pair.client)):
            daemon = shlex.join([*side.prefix, SSHD, "-i", "-f", str(server.folder / "sshd_config")])
            ways += [f"Host {name}", f"ProxyCommand {daemon}"]
        server.config.write_text("\n".join([*ways, server.config.read_text()]))
        real.environment |= {"DPUBENCH_SSH_CONFIG": str(server.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        yield pair
    assert not running_under(server.home)


@pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())
@pytest.mark.parametrize("port", ["af_packet", "socket"])
def test_client_and_server_on_two_other_machines_with_a_cable_between_them(real: RealBench, two_machines: network.VethPair, port: str) -> None:
    ends = two_machines
    here, there = f"{ends.server.address}:7000", f"{ends.client.address}:7000"
    arguments = {
        "af_packet": f"{{server_interface: {ends.server.interface}, client_interface: {ends.client.interface}}}",
        "socket": f'{{server_local: "{here}", server_peer: "{there}", client_local: "{there}", client_peer: "{here}"}}',
    }[port]
    plan = TWO_MACHINES.replace("PORT", port).replace("ARGUMENTS", arguments)
    user = getpass.getuser()
    (real.folder / "plan.yaml").write_text(plan.replace("NEAR", f"ssh://{user}@near").replace("FAR", f"ssh://{user}@far"))
    done = real("run", "plan.yaml", "--name", "r")
    assert done.returncode in (0, 4), done.stderr  # on a busy machine the client may be late and limit every trial
    record = real.record("r")
    assert not record["failures"] and not schemas.fault("run", record) and record["client"]["name"] == f"ssh://{user}@far"
    rows = [r for r in trials.read(real.results / "r") if r["event"] == "trial"]
    assert rows
    for row in rows:
        assert_accounted(row)
    assert any(r["received"] > 0 for r in rows)
