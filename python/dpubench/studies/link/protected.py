"""Measurements of study ``link`` with ``dpubench-link``: latency with percentiles, and a file in plain and encrypted."""

from __future__ import annotations

import json
from typing import Any, Final

from dpubench import programs, schemas
from dpubench.studies.link.ends import End
from dpubench.studies.link.measure import MARGIN_S, Found, Pair, cpus, explained
from dpubench.studies.measured.execute import PointFailed
from dpubench.workers.checks import Event, parse_link_event
from dpubench.workers.process import StopRequest, Worker, WorkerFault
from dpubench.workers.tool import CpuTimes

_PERCENTILES: Final = {
    "p50": "rtt_p50_us", "mean": "rtt_mean_us", "p90": "rtt_p90_us", "p99": "rtt_p99_us", "p99_9": "rtt_p999_us", "max": "rtt_max_us",
}  # fmt: skip
#: Round trips beyond the 99.9th percentile with which it is worth something.
_SAMPLES_BEHIND: Final = 10


def unavailable(protection: str, sender: End, receiver: End) -> str:
    """Return why a file cannot go between two ends with ``protection``; empty if it can. The kernel of the sender encrypts."""
    ends = (sender,) if protection.startswith("ktls") else (sender, receiver)
    return next((f"{end.name}: {reason}" for end in ends if (reason := end.protections[protection])), "")


def latency(pair: Pair, size: int) -> Found:
    """Return round-trip times of messages of ``size`` bytes. @raises PointFailed, TargetLost, Interrupted"""
    told, _ = _exchange(
        pair, {"test": "latency", "message_bytes": size, "duration_s": pair.plan.duration}, ("round_trips", "answered"), pair.plan.duration
    )
    found = Found({figure: float(told["times"][name]) / 1e3 for name, figure in _PERCENTILES.items()})
    if told["messages"] < 1000 * _SAMPLES_BEHIND:
        found.warning("few-samples", f"{told['messages']} round trips in a measurement: {told['messages'] / 1000:.1f} of them lie beyond 99.9 %")
    return found


def transfer(pair: Pair, protection: str) -> Found:
    """Return the goodput of a file that is sent again and again, and the CPUs that both ends keep busy. @raises as :func:`latency`"""
    job = {"test": "transfer", "file_bytes": pair.plan.file, "protection": protection, "duration_s": pair.plan.duration}
    told, served = _exchange(pair, job, ("transferred", "received"), pair.plan.duration)
    seconds = told["elapsed_ns"] / 1e9
    busy = cpus(_times(told), _times(served), seconds, one_machine=pair.one_machine)
    return Found({"goodput_gbps": 8 * told["bytes"] / told["elapsed_ns"], **busy})


def _times(told: Event) -> tuple[CpuTimes, CpuTimes]:
    return CpuTimes(**told["cpu_before"]), CpuTimes(**told["cpu_after"])


def _exchange(pair: Pair, more: dict[str, Any], answers: tuple[str, str], seconds: float) -> tuple[Event, Event]:
    """Run both ends. Return the event of the client and that of the server, of the kinds ``answers``. @raises PointFailed, TargetLost, Interrupted"""
    limit_s = 2 * seconds + MARGIN_S
    job = {"schema": schemas.LINK_JOB, "address": pair.receiver.address, "time_limit_s": limit_s, **more}
    try:
        with _worker(pair.receiver, limit_s, pair.stop) as server, _worker(pair.sender, limit_s, pair.stop) as client:
            server.send(json.dumps(job | {"role": "server", "port": 0}).encode() + b"\n")
            listening = _until(server, "listening", "the server")
            client.send(json.dumps(job | {"role": "client", "port": listening["port"]}).encode() + b"\n")
            told = _until(client, answers[0], "the client")
            return told, _until(server, answers[1], "the server")
    except WorkerFault as fault:
        raise PointFailed("measure", explained(f"{programs.LINK}: {fault.reason}")) from None


def _worker(end: End, limit_s: float, stop: StopRequest) -> Worker:
    return Worker(
        end.target, end.target.program(programs.LINK), [], stop=stop, silence_s=limit_s + MARGIN_S, limit_s=limit_s + MARGIN_S, parse=parse_link_event
    )


def _until(worker: Worker, kind: str, who: str) -> Event:
    """Return the next event ``kind``. @raises PointFailed a failure came instead; WorkerFault, TargetLost, Interrupted"""
    while (event := worker.next_event()) is not None:
        if event["event"] == "failure":
            raise PointFailed(event["phase"], explained(event["message"]))
        if event["event"] == kind:
            return event
    raise WorkerFault(f"{who} ended without telling what it measured", "rubbish")
