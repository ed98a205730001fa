"""Both ends of a link as processes of ``dpubench-link`` over 127.0.0.1, and a relay between them."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from types import TracebackType
from typing import Any

from dpubench import programs, schemas
from dpubench.workers.checks import Event, parse_link_event

HERE = "127.0.0.1"
GREETING_BYTES = 128
LATENCY = {"test": "latency", "message_bytes": 64, "duration_s": 0.1}
PLAIN = {"test": "transfer", "file_bytes": 300_001, "protection": "plain", "duration_s": 0.1}
TLS = PLAIN | {"protection": "tls"}
#: Tests that end an end before its time is over.
LONG: dict[str, dict[str, Any]] = {
    "latency": LATENCY | {"duration_s": 60},
    "plain": PLAIN | {"duration_s": 60, "file_bytes": 64 << 20},
    "tls": TLS | {"duration_s": 60, "file_bytes": 64 << 20},
}


class End:
    """One end: a process of dpubench-link and its events. As a context manager, it kills the process."""

    def __init__(self, job: dict[str, Any], prefix: tuple[str, ...] = ()) -> None:
        job = {"schema": schemas.LINK_JOB, "address": HERE, "time_limit_s": 30} | job
        words = [*prefix, str(programs.find(programs.LINK))]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.stdin.write(json.dumps(job).encode() + b"\n")
        self.stdin.flush()

    def __enter__(self) -> End:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        self.stdin.close()
        self.stdout.close()

    def wait_for(self, kind: str) -> Event:
        """Return its next event of a kind. Fail if it ends before."""
        for line in self.stdout:
            event = parse_link_event(line)
            if event["event"] == kind:
                return event
        raise AssertionError(f"it ended without {kind}")

    def wait_until_it_measures(self) -> None:
        """Wait until a client times."""
        while self.wait_for("progress")["phase"] != "measure":
            pass

    def port(self) -> int:
        """Return the port at which a server listens, once it does."""
        return int(self.wait_for("listening")["port"])

    def failure(self, status: int, *phases: str) -> str:
        """Return why it failed, after it ended with ``status`` in one of ``phases``."""
        event = self.wait_for("failure")
        assert self.process.wait(10) == status and event["phase"] in phases
        return str(event["message"])

    def ended_well(self) -> bool:
        return self.wait_for("done")["results"] == 1 and self.process.wait(10) == 0


def server(test: dict[str, Any]) -> End:
    return End(test | {"role": "server"})


def client(test: dict[str, Any], port: int) -> End:
    return End(test | {"role": "client", "port": port})


class Relay:
    """A relay between both ends that keeps what the client sends, and may change one byte of it."""

    def __init__(self, to_port: int, change_at: int = -1) -> None:
        self.sent = bytearray()  #: by the client
        self._change_at = change_at
        self._listening = socket.create_server((HERE, 0))
        self.port: int = self._listening.getsockname()[1]
        self._to_port = to_port
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with self._listening, socket.create_connection((HERE, self._to_port)) as there, self._listening.accept()[0] as here:
            back = threading.Thread(target=self._pump, args=(there, here, False), daemon=True)
            back.start()
            self._pump(here, there, True)
            back.join(10)

    def _pump(self, source: socket.socket, sink: socket.socket, is_client: bool) -> None:
        try:
            while data := bytearray(source.recv(1 << 16)):
                if is_client:
                    if 0 <= self._change_at - len(self.sent) < len(data):
                        data[self._change_at - len(self.sent)] ^= 1
                    self.sent += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # an end has failed: let the other one see it
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
