"""Stores and reads trials: line by line while a round is under way, as columns once it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.storage.runs import Event, RoundWriter, RunDirectory, RunWriter, writing
from dpubench.studies.end_to_end import lag, server_cpu

if TYPE_CHECKING:
    import pyarrow as pa

TRIAL: Final = "trial"
FOUND: Final = "found"
CALIBRATION: Final = "calibration"  #: folder of the trials that found the client's ceiling; they are never part of a figure

_COUNTS: Final = (
    "due", "sent", "tx_full", "received", "duplicates", "reordered", "corrupted", "wrong", "stale", "foreign", "excused", "sent_bytes",
    "received_bytes",
)  # fmt: skip
_LOST: Final = ("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive")
_PERCENTILES: Final = ("p50", "p90", "p99", "p99_9", "max", "mean")
#: Figures of the lag in earlier trials. They have columns of their own: the lag was counted once a burst, so that it says little of packets.
_OF_BURSTS: Final = ("p50", "p99", "max")


def kept_trial(where: Mapping[str, Any], trial: Event, served: list[Event], checked: Event | None, verdict: Mapping[str, Any]) -> Event:
    """Return the record of a trial.

    It holds ``where`` (round, configuration, load, attempt, rate_pps, duration_s, prefill), both sides' accounts, the check, and the limit.
    """
    return {"event": TRIAL, **where, **verdict, "trial": trial, "served": served, "checked": checked}


def schema() -> pa.Schema:
    """Return the columns of a round's parquet file, which has one row per trial and one per goal that a search found."""
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    percentiles = pa.struct([*((n, real) for n in _PERCENTILES), ("buckets", pa.list_(pa.struct([("ns", real), ("packets", whole)])))])
    stage = pa.struct([("name", text), ("packets", whole), ("sampled_packets", whole), ("sampled_ns", real)])
    server = pa.struct(
        [
            *((n, whole) for n in ("received", "transmitted", "tx_full", "stale", "foreign", "pool_empty")),
            *((n, real) for n in ("busy_ns", "idle_ns", "cpu_ns")),
            ("dropped", pa.map_(text, whole)),
            ("stages", pa.list_(stage)),
            ("residence_ns", percentiles),
            ("gaps", pa.list_(pa.struct([("at_ns", real), ("length_ns", real)]))),
        ]
    )
    cpu = pa.struct([*((n, whole) for n in ("cores", "core_ns", "application_ns", "receive_work_ns", "packets")), ("is_in_kernel", pa.bool_())])
    names = [(n, text) for n in ("event", "configuration", "load", "limit", "reason", "cpu_withheld")]
    return pa.schema(
        [
            *names, ("round", whole), ("attempt", whole), ("rate_pps", real), ("duration_s", real), ("stalled", whole),
            *((n, whole) for n in _COUNTS), ("elapsed_ns", real), ("lag_ns", percentiles), ("latency_ns", percentiles), ("latency_withheld", text),
            *((f"lag_{n}_ns", real) for n in _OF_BURSTS), *((f"lost_{n}", whole) for n in _LOST), ("flows", whole), ("flows_wrong", whole),
            ("gaps", pa.list_(pa.struct([("at_ns", real), ("length_ns", real)]))),
            ("losses", pa.list_(pa.struct([("first_due_ns", real), ("last_due_ns", real), ("packets", whole)]))),
            ("servers", pa.list_(server)), ("server_cpu", cpu), ("prefill", pa.struct([(n, whole) for n in ("flows", "known", "room")])),
            ("flow_table", pa.struct([(n, whole) for n in ("packets", "inserted", "flows")])),
            ("loss_goal", real), ("lower_pps", real), ("upper_pps", real),
        ]
    )  # fmt: skip


def table(events: list[Event]) -> pa.Table:
    """Return the trials and bounds among kept events as a table of :func:`schema`."""
    import pyarrow as pa

    return pa.Table.from_pylist([_row(event) for event in events if event.get("event") in (TRIAL, FOUND)], schema=schema())


def _row(event: Event) -> dict[str, Any]:
    row = {k: v for k, v in event.items() if k not in ("trial", "served", "checked")}
    if event["event"] == FOUND:
        return row
    trial, checked = event["trial"], event["checked"]
    row |= {name: trial.get(name, 0) for name in _COUNTS}
    row |= _lag(trial.get("lag_ns"), trial.get("latency_ns"))
    row |= {"elapsed_ns": trial.get("elapsed_ns"), "latency_ns": _percentiles(trial.get("latency_ns")), "gaps": _gaps(trial["gaps"])}
    row["losses"] = [dict(zip(("first_due_ns", "last_due_ns", "packets"), run, strict=True)) for run in trial["losses"]]
    row["servers"] = [_server(served) for served in event["served"]]
    row["server_cpu"] = server_cpu.account(event["served"])
    row["flow_table"] = _flow_table(event["served"])
    if checked is not None:
        row |= {f"lost_{place}": checked["lost"][place] for place in _LOST}
        row |= {"flows": checked.get("flows"), "flows_wrong": checked.get("flows_wrong")}
    return row


def _lag(found: Mapping[str, Any] | None, latency: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the lag's columns. ``latency_withheld`` stays null if the latency cannot be checked."""
    if found is None or not lag.is_known(found):
        return {f"lag_{name}_ns": (found or {}).get(name) for name in _OF_BURSTS}
    return {"lag_ns": _percentiles(found)} | ({"latency_withheld": " ".join(lag.spoiled(latency, found))} if latency is not None else {})


def _server(served: Event) -> dict[str, Any]:
    row = {
        name: served.get(name) for name in ("received", "transmitted", "tx_full", "stale", "foreign", "pool_empty", "busy_ns", "idle_ns", "cpu_ns")
    }
    costs = {**served.get("loop", {}), **served.get("stages", {})}
    row["stages"] = [{"name": name, **{k: cost[k] for k in ("packets", "sampled_packets", "sampled_ns")}} for name, cost in costs.items()]
    return row | {
        "dropped": list(served["dropped"].items()), "residence_ns": _percentiles(served.get("residence_ns")), "gaps": _gaps(served["gaps"]),
    }  # fmt: skip


def _flow_table(served: list[Event]) -> dict[str, int] | None:
    """Return what the tables did in the measured part: packets, flows that entered with them, flows known before; None if no table says so."""
    told = [part for event in served if (part := event.get("workload", {}).get("flow_table", {}).get("measured")) is not None]
    return {name: sum(int(part[name]) for part in told) for name in ("packets", "inserted", "flows")} if told else None


def _percentiles(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    buckets = [{"ns": ns, "packets": round(packets)} for ns, packets in found.get("buckets", [])]
    return {name: found.get(name) for name in _PERCENTILES} | {"buckets": buckets}


def _gaps(gaps: list[Any]) -> list[dict[str, float]]:
    return [{"at_ns": at, "length_ns": length} for at, length in gaps]


class TrialsWriter(RunWriter):
    """The one writer of a run of this study."""

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        return table(events)

    @property
    def has_calibration(self) -> bool:
        """Return whether the measurement of the client's ceiling before the first round was finished."""
        return (self.path / CALIBRATION / "0000.parquet").exists()

    def begin_calibration(self, number: int) -> RoundWriter:
        """Return a writer for the trials that find the client's ceiling before round ``number``. It appends to those of an interrupted run."""
        folder = self.path / CALIBRATION
        with writing(folder):
            folder.mkdir(exist_ok=True)
        return RoundWriter(folder / f"{number:04d}.ndjson", self.make_table)


def read(path: Path) -> list[dict[str, Any]]:
    """Return every row of the run in ``path``, of whole and of unfinished rounds. @raises UserError when a round's file cannot be read"""
    return RunDirectory(path).rows(schema(), table)


def read_calibration(path: Path) -> list[dict[str, Any]]:
    """Return the trials with which the run in ``path`` found the client's ceiling. @raises UserError when their file cannot be read"""
    return RunDirectory(path).rows(schema(), table, path / CALIBRATION)
