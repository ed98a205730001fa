"""Tests of ``dpubench-link``: both ends as processes over 127.0.0.1, and what goes wrong between them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import programs, schemas
from dpubench.workers.checks import parse_link_event
from link_ends import GREETING_BYTES, HERE, LATENCY, LONG, PLAIN, TLS, End, Relay, client, server


def sent_by(test: dict[str, Any]) -> bytes:
    """Return all that the client of a test sends after its greeting."""
    with server(test) as serving:
        relay = Relay(serving.port())
        with client(test, relay.port) as asking:
            assert asking.ended_well() and serving.ended_well()
    relay.join()
    return bytes(relay.sent[GREETING_BYTES:])


@pytest.fixture(scope="module")
def protections() -> dict[str, str]:
    """Return why each protection is not available here; empty if it is."""
    done = subprocess.run([programs.find(programs.LINK), "--list"], capture_output=True, timeout=20, check=True)
    catalog = parse_link_event(done.stdout)["catalog"]
    assert catalog["job"] == schemas.LINK_JOB
    assert all(entry["available"] == (not entry["reason"]) for entry in catalog["protections"])
    return {entry["name"]: entry["reason"] for entry in catalog["protections"]}


def test_the_catalog_has_every_protection(protections: dict[str, str]) -> None:
    assert list(protections) == ["plain", "tls", "ktls", "ktls-nic"]
    assert protections["plain"] == "" and protections["tls"] == ""
    listed = "tls" in Path("/proc/sys/net/ipv4/tcp_available_ulp").read_text(encoding="ascii").split()
    assert listed == (not protections["ktls"])
    assert listed or "load its module (modprobe tls)" in protections["ktls"]


@pytest.mark.parametrize("message_bytes", [1, 64, 100_000])
def test_latency_has_the_same_messages_at_both_ends(message_bytes: int) -> None:
    test = LATENCY | {"message_bytes": message_bytes, "cpu": min(os.sched_getaffinity(0))}
    with server(test) as serving, client(test, serving.port()) as asking:
        trips, answered = asking.wait_for("round_trips"), serving.wait_for("answered")
        assert asking.ended_well() and serving.ended_well()
    assert trips["messages"] == answered["messages"] == sum(count for _, count in trips["times"]["buckets"])
    assert trips["elapsed_ns"] >= 0.1e9 and 0 < trips["times"]["p50"] <= trips["times"]["max"]
    assert trips["verified"] >= 16 and trips["cpu_ns"] > 0 and answered["cpu_ns"] > 0


@pytest.mark.parametrize(("test", "path", "cipher"), [(PLAIN, "sendfile", None), (TLS, "SSL_write", "TLS_AES_128_GCM_SHA256")])
def test_a_transfer_has_the_same_bytes_at_both_ends(test: dict[str, Any], path: str, cipher: str | None) -> None:
    with server(test) as serving, client(test, serving.port()) as asking:
        sent, received = asking.wait_for("transferred"), serving.wait_for("received")
        assert asking.ended_well() and serving.ended_well()
    assert sent["path"] == path and sent.get("cipher") == received.get("cipher") == cipher
    assert sent["bytes"] == received["bytes"] == sent["files"] * 300_001 and sent["files"] == received["files"]
    assert sent["verified_bytes"] == received["verified_bytes"] == 300_001
    assert sent["elapsed_ns"] >= 0.1e9 and sent["cpu_ns"] > 0 and received["cpu_ns"] > 0


def test_a_file_is_on_the_wire_in_clear_or_encrypted_as_its_protection_says() -> None:
    short = {"file_bytes": 50_000, "duration_s": 0.001, "seed": 5}
    clear, encrypted = sent_by(PLAIN | short), sent_by(TLS | short)
    content = clear[:50_000]
    pieces = [content[at : at + 32] for at in range(0, len(content) - 32, 32)]
    assert len(set(pieces)) == len(pieces) and clear == content * (len(clear) // 50_000) and len(clear) >= 100_000
    assert not any(piece in encrypted for piece in pieces)
    assert encrypted[:3] == b"\x16\x03\x01" and len(encrypted) > 100_000  # RFC 8446, 5.1: a record of the handshake
    other = sent_by(PLAIN | short | {"seed": 6})
    assert not any(piece in other for piece in pieces)


@pytest.mark.parametrize("protection", ["ktls", "ktls-nic"])
def test_kernel_tls_is_used_or_the_client_says_why_not(protection: str, protections: dict[str, str]) -> None:
    test = TLS | {"protection": protection}
    with server(test) as serving, client(test, serving.port()) as asking:
        if reason := protections[protection]:
            assert asking.failure(4, "prepare") == reason
            return
        if protection == "ktls-nic":  # an interface here encrypts, but the loopback interface does not
            assert "TlsTxDevice of /proc/net/tls_stat has not grown" in asking.failure(4, "prepare")
            return
        assert asking.wait_for("transferred")["path"] == "SSL_sendfile, kernel TLS in software"
        assert asking.ended_well() and serving.ended_well()


@pytest.mark.parametrize(
    ("test", "change_at", "messages"),
    [
        (PLAIN, GREETING_BYTES + 123_456, ("the other end closed the connection", "byte 123456 of file 1 is wrong")),
        (LATENCY, GREETING_BYTES + 64 * 3 + 20, ("answer 3 is not the message", "before it was done")),
    ],
)
def test_a_changed_byte_is_noticed(test: dict[str, Any], change_at: int, messages: tuple[str, str]) -> None:
    test = test | {"message_bytes": 64} if test["test"] == "latency" else test
    with server(test) as serving:
        relay = Relay(serving.port(), change_at)
        with client(test, relay.port) as asking:
            assert messages[0] in asking.failure(1, "verify")
            assert messages[1] in serving.failure(1, "verify")
    relay.join()


def test_a_changed_byte_of_a_record_is_noticed() -> None:
    with server(TLS) as serving:
        relay = Relay(serving.port(), GREETING_BYTES + 100_000)
        with client(TLS, relay.port) as asking:
            assert "TLS: decryption failed or bad record mac" in serving.failure(1, "verify")
            asking.failure(1, "verify")
    relay.join()


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("which", ["client", "server"])
def test_an_end_fails_when_the_other_one_is_killed(name: str, which: str) -> None:
    with server(LONG[name]) as serving, client(LONG[name], serving.port()) as asking:
        asking.wait_until_it_measures()
        killed, left = (asking, serving) if which == "client" else (serving, asking)
        killed.process.kill()
        assert "its own failure says why" in left.failure(1, "verify", "measure")


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_an_end_ends_when_it_is_asked_to(name: str, how: str) -> None:
    with server(LONG[name]) as serving, client(LONG[name], serving.port()) as asking:
        asking.wait_until_it_measures()
        if how == "SIGTERM":
            asking.process.send_signal(signal.SIGTERM)
        else:
            asking.stdin.close()
        assert "it was ended before it was done" in asking.failure(1, "measure")
        serving.failure(1, "verify", "measure")


def test_a_server_that_waits_for_a_client_ends_when_it_is_asked_to() -> None:
    with server(LATENCY) as serving:
        serving.port()
        serving.stdin.close()
        assert "it was ended before it was done" in serving.failure(4, "prepare")


def test_an_end_takes_no_commands() -> None:
    with server(LATENCY) as serving:
        serving.port()
        serving.stdin.write(b'{"end": true}\n')
        serving.stdin.flush()
        assert "there is no command" in serving.failure(4, "prepare")


def test_an_end_ends_when_nobody_reads_its_events() -> None:
    with server(LATENCY) as serving:
        serving.port()
        serving.stdout.close()
        assert serving.process.wait(10) == 1


def test_a_time_limit_ends_a_server_without_a_client() -> None:
    with server(LATENCY | {"time_limit_s": 0.5}) as serving:
        assert "the time limit of 0.5 s is over" in serving.failure(1, "job")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"address": "198.51.100.7"}, "198.51.100.7 port 0: this machine has no such address"),
        ({"address": "localhost"}, "localhost: is no IP address"),
        ({"cpu": 65536}, "cannot run on CPU 65536"),
    ],
)
def test_a_server_that_cannot_listen_says_why(job: dict[str, Any], words: str) -> None:
    with server(LATENCY | job) as serving:
        assert words in serving.failure(4, "prepare")


def test_a_port_is_taken_once() -> None:
    with server(LATENCY) as serving, server(LATENCY | {"port": serving.port()}) as second:
        assert "the port is taken: choose another one, or 0 for any" in second.failure(4, "prepare")


def test_a_client_says_that_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind((HERE, 0))  # and does not listen
        with client(LATENCY, held.getsockname()[1]) as asking:
            assert "nobody listens there: start the server first" in asking.failure(4, "prepare")


@pytest.fixture
def one_port() -> Iterator[tuple[str, ...]]:
    """Return the words of a command that runs a program where the system has one port to choose, 40000."""
    words = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && echo 40000 40000 >/proc/sys/net/ipv4/ip_local_port_range && exec "$@"', "sh")
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    yield words


def test_a_client_does_not_measure_itself(one_port: tuple[str, ...]) -> None:
    with End(LATENCY | {"role": "client", "port": 40000}, one_port) as asking:
        assert "nobody listens there" in asking.failure(4, "prepare")


def test_both_ends_refuse_jobs_that_differ() -> None:
    with server(LATENCY) as serving, client(LATENCY | {"message_bytes": 65}, serving.port()) as asking:
        assert "the other one 'test=latency message_bytes=65 seed=1'" in serving.failure(4, "prepare")
        assert "the other one 'test=latency message_bytes=64 seed=1'" in asking.failure(4, "prepare")


def test_a_server_refuses_other_programs() -> None:
    with server(LATENCY) as serving, socket.create_connection((HERE, serving.port())) as other:
        other.sendall(b"GET / HTTP/1.1\r\n".ljust(GREETING_BYTES))
        assert "no dpubench-link of this version" in serving.failure(4, "prepare")


SERVER = {"schema": schemas.LINK_JOB, "role": "server", "address": HERE} | LATENCY


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "dpubench.job/1"}, "/schema"),
        ({"role": "peer"}, "/role"),
        ({"role": "client"}, "/port"),
        ({"address": ""}, "/address"),
        ({"port": 65536}, "/port"),
        ({"message_bytes": 0}, "/message_bytes"),
        ({"message_bytes": (1 << 20) + 1}, "/message_bytes"),
        ({"message_bytes": 1.5}, "/message_bytes"),
        ({"message_bytes": None}, "/message_bytes"),
        ({"file_bytes": 1}, "/file_bytes"),
        ({"protection": "tls"}, "/protection"),
        ({"test": "transfer", "message_bytes": None, "file_bytes": 1}, "/protection"),
        ({"test": "transfer", "message_bytes": None, "protection": "tls"}, "/file_bytes"),
        ({"test": "transfer", "file_bytes": 1, "protection": "tls"}, "/message_bytes"),
        ({"duration_s": 0}, "/duration_s"),
        ({"seed": -1}, "/seed"),
        ({"cpu": -1}, "/cpu"),
        ({"time_limit_s": 0}, "/time_limit_s"),
        ({"speed": 1}, "/speed"),
    ],
)
def test_a_wrong_job_is_refused_by_the_program_and_the_schema(change: dict[str, Any], words: str) -> None:
    assert schemas.fault("link-job", SERVER) == ""
    job = {key: value for key, value in (SERVER | change).items() if value is not None}
    assert schemas.fault("link-job", job) != ""
    done = subprocess.run([programs.find(programs.LINK)], input=json.dumps(job).encode() + b"\n", capture_output=True, timeout=20, check=False)
    assert done.returncode == 2 and words in json.loads(done.stdout.splitlines()[-1])["message"]


@pytest.mark.parametrize("test", [LATENCY, PLAIN, TLS, *LONG.values()])
def test_the_schema_knows_the_jobs_of_these_tests(test: dict[str, Any]) -> None:
    for end in ({"role": "server"}, {"role": "client", "port": 1}):
        assert schemas.fault("link-job", {"schema": schemas.LINK_JOB, "address": HERE} | test | end) == ""
