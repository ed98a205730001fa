"""Tests of the client's own lag in a latency: the figures withheld, for a trial and over rounds, and the lag of earlier runs."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Bench, bench_in
from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.report import frame
from dpubench.storage.runs import RunDirectory
from dpubench.studies import query
from dpubench.studies.end_to_end import export, lag, text, trials, wording
from dpubench.studies.end_to_end.model import LAG_UNKNOWN, Percentiles, PointSummary, RunSummary
from dpubench.studies.end_to_end.report import model as report_model
from dpubench.studies.end_to_end.report import section_of
from dpubench.studies.end_to_end.summary import summaries

FIGURES = ("p50", "p90", "p99", "p99_9", "max", "mean")
ROUNDS = 6
PLAN = """study: end-to-end
frame_sizes: [64B]
rates: [100kpps]
workloads: [flow-table]
trial: {ramp: 1ms, duration: 20ms, drain: 1ms}
search: {goals: []}
rounds: {min: 1, max: 1}
"""

Made = Callable[..., RunSummary]
Times = np.ndarray[Any, np.dtype[np.float64]]


def times(**given: float) -> dict[str, float]:
    """Return figures of a time in ns; figures not given are 100 us."""
    return dict.fromkeys(FIGURES, 100_000.0) | given


def lags(**given: float) -> dict[str, float]:
    """Return figures of a client's lag in ns; figures not given are 0: never late."""
    return dict.fromkeys(FIGURES, 0.0) | given


def test_a_latency_is_withheld_where_the_lag_is_more_than_a_tenth_of_it() -> None:
    assert lag.spoiled(times(), lags()) == []
    assert lag.spoiled(times(), lags(p99=10_000, p99_9=10_001)) == ["p99_9"]
    assert lag.spoiled(times(p50=0.0), lags()) == []


@pytest.mark.parametrize(("found", "known"), [(None, False), ({"p50": 1, "p99": 2, "max": 3}, False), (times(), True)])
def test_figures_of_bursts_are_told_from_those_of_packets(found: dict[str, float] | None, known: bool) -> None:
    assert lag.is_known(found) == known


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of one round."""
    bench = bench_in(tmp_path_factory.mktemp("lag"))
    (bench.folder / "plan.yaml").write_text(PLAN)
    done = bench("run", "plan.yaml", "--name", "r")
    assert done.returncode == 0, (done.stdout, done.stderr)
    return bench.results / "r"


@pytest.fixture
def made(measured: Path, tmp_path: Path) -> Made:
    """Return a function that turns the run into one of a round per given lag, in which every latency is 100 us."""

    def make(*rounds: dict[str, float], of_bursts: bool = False, packets: int = 20_000) -> RunSummary:
        shutil.copytree(measured, tmp_path / "r")
        (first,) = RunDirectory(tmp_path / "r").whole_rounds()
        kept = pq.read_table(first)
        for number, given in enumerate(rounds):
            rows = kept.to_pylist()
            for row in rows:
                row["round"] = number
                row["latency_ns"] |= times() | {"buckets": [{"ns": 1e5, "packets": packets}]}
                row |= {"lag_ns": None, "lag_p99_ns": 2000.0} if of_bursts else {"lag_ns": row["lag_ns"] | given}
            columns = [c for c in trials.schema() if not of_bursts or c.name not in ("lag_ns", "latency_withheld")]
            pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(columns)), first.with_name(f"{number:04}.parquet"))
        return summaries(tmp_path / "r")[0]

    return make


def point_of(run: RunSummary) -> PointSummary:
    (point,) = [p for p in run.points if not p.is_null]
    return point


def shown(run: RunSummary) -> str:
    """Return the terminal's line of flow-table's point."""
    (line,) = [line for line in text.show([run]).splitlines() if line.startswith("flow-table")]
    return " ".join(line.split())


def test_a_lag_below_a_tenth_stands_beside_every_latency(made: Made) -> None:
    run = made(*[lags(p50=100, p99=5000, p99_9=9000, max=9900)] * ROUNDS)
    point = point_of(run)
    assert point.latency_withheld == {} and point.lag is not None and point.latency is not None
    assert (point.lag.p50.value, point.lag.p99.value, point.lag.p99_9.value, point.lag.max.value) == (100, 5000, 9000, 9900)
    assert "100 (0.10) 100 (5.0) 100 (9.0) 100 (9.9) 20" in shown(run)
    record = export.record(point, run)
    assert (record["lag_p99_ns"], record["latency_p99_ns"], record["latency_withheld"]) == (5000, pytest.approx(1e5), "")


def test_what_may_be_the_clients_is_withheld_with_the_reason(made: Made) -> None:
    run = made(*[lags(p99=9000, p99_9=800_000, max=1e6)] * ROUNDS)
    point = point_of(run)
    assert sorted(point.latency_withheld) == ["max", "p99_9"]
    assert point.latency_withheld["p99_9"] == "the client's own lag there is 800 us, more than a tenth of the latency"
    assert "100 (9.0) - (800) - (1000)" in shown(run)
    record = export.record(point, run)
    assert record["latency_p99_9_ns"] is None and record["lag_p99_9_ns"] == 800_000 and "p99_9: the client's" in record["latency_withheld"]
    (data,) = [p for p in report_model.build([run], warnings.advice, 0.03).data["parts"][0]["points"] if p["id"] == point.id]
    assert data["latency"]["p99_9"] == (None, None, None) and data["latencyWithheld"]["p99_9"] in point.latency_withheld.values()
    assert "some latencies of 2 points are withheld: " in frame.render([section_of(report_model.build([run], warnings.advice, 0.03))])


def test_one_round_in_which_the_client_stood_still_counts_with_its_share(made: Made) -> None:
    """No round is dropped for its outcome. With that round the figure is shown or withheld as a whole."""
    late = lags(p99=900_000)
    point = point_of(made(late, *[lags()] * (ROUNDS - 1)))
    assert point.lag is not None and point.lag.p99.value == pytest.approx(150_000) and list(point.latency_withheld) == ["p99"]
    assert point.round_p99_ns == [] and len(point.round_p50_ns) == ROUNDS


def test_one_short_stall_of_one_round_withholds_nothing(made: Made) -> None:
    point = point_of(made(lags(p99=50_000), *[lags()] * (ROUNDS - 1)))
    assert point.latency_withheld == {} and len(point.round_p99_ns) == ROUNDS


def percentiles(values: Times) -> dict[str, Any]:
    """Return figures as a trial's row has them, with an empty histogram."""
    found = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}
    told = {name: float(np.percentile(values, at, method="inverted_cdf")) for name, at in found.items()}
    return told | {"mean": float(values.mean()), "buckets": []}


def simulated(chance: np.random.Generator, median_ns: float, stall_ns: float, share: float) -> tuple[dict[str, Any], ...]:
    """Return figures of 20,000 packets, 10 us apart: the server's time, the latency that the client sees, the client's lag.

    The client stands still for a ``share`` of the time. Meanwhile it neither sends nor looks at returned packets.
    """
    due = np.arange(20_000, dtype=np.float64) * 10_000.0
    service = chance.lognormal(math.log(median_ns), 0.3, len(due))
    begin = np.sort(chance.uniform(0, due[-1], chance.poisson(share * due[-1] / stall_ns)))

    def wait(at: Times) -> Times:
        if not len(begin):
            return np.zeros_like(at)
        last = np.searchsorted(begin, at, side="right") - 1
        return np.where(last >= 0, np.maximum(begin[np.maximum(last, 0)] + stall_ns - at, 0), 0)

    lag_ns = wait(due)
    back = due + lag_ns + service
    return percentiles(service), percentiles(back + wait(back) - due), percentiles(lag_ns)


@pytest.mark.parametrize("median_ns", [5e3, 2e5])
@pytest.mark.parametrize("stall_ns", [1e5, 1e6])
def test_what_is_shown_is_what_a_client_that_never_stands_still_would_see(median_ns: float, stall_ns: float) -> None:
    chance = np.random.default_rng(7)
    withheld = 0
    for share in (0.0, 1e-4, 1e-3, 1e-2, 5e-2):
        rounds = [simulated(chance, median_ns, stall_ns, share) for _ in range(ROUNDS)]
        true, seen, late = (times_of([r[i] for r in rounds]) for i in range(3))
        shown, why = lag.checked(seen, late)
        for name in FIGURES:
            if name in why:
                withheld += 1
            else:
                # p90 is worst: stalls take half of the tail above it.
                assert getattr(shown, name).value == pytest.approx(getattr(true, name).value, rel=0.15), (share, name)
    assert withheld > 0


def times_of(rounds: list[dict[str, Any]]) -> Percentiles:
    """Return the plain means of the figures over rounds, without intervals."""
    p50, p90, p99, p99_9, largest, mean = (Interval(float(np.mean([r[name] for r in rounds])), math.nan, math.nan) for name in FIGURES)
    return Percentiles(p50, p90, p99, p99_9, largest, mean)


def test_how_many_packets_stand_behind_the_tail_is_said(made: Made) -> None:
    run = made(*[lags()] * ROUNDS, packets=2000)
    point = point_of(run)
    assert (point.latency_packets, point.latency_packets_least, wording.behind_p99_9(point)) == (ROUNDS * 2000, 2000, 2)


def test_earlier_runs_are_read_and_say_that_their_latencies_are_not_checked(made: Made, tmp_path: Path) -> None:
    run = made(*[lags()] * ROUNDS, of_bursts=True)
    point = point_of(run)
    assert point.latency is not None and point.lag is None and LAG_UNKNOWN in point.labels and LAG_UNKNOWN in run.labels
    assert "100 (?)" in shown(run) and f"all figures: virtual link; short trials, not RFC 2544; {LAG_UNKNOWN}" in text.show([run])
    assert LAG_UNKNOWN.replace("'", "&#39;") in frame.render([section_of(report_model.build([run], warnings.advice, 0.03))])
    assert export.record(point, run)["lag_p99_ns"] is None and LAG_UNKNOWN in export.record(point, run)["labels"]
    rows = query.query([tmp_path / "r"], "SELECT DISTINCT lag_p99_ns, lag_ns.p99 AS own, latency_withheld FROM trials WHERE event = 'trial'")
    assert rows == [{"lag_p99_ns": 2000.0, "own": None, "latency_withheld": None}]


def test_trials_can_be_asked_for_their_lag(measured: Path) -> None:
    (row,) = query.query(
        [measured], "SELECT DISTINCT lag_ns.p50 AS p50, lag_ns.p99_9 AS p99_9, latency_withheld, lag_p99_ns FROM trials WHERE event = 'trial'"
    )
    assert row == {"p50": 100.0, "p99_9": 500.0, "latency_withheld": "", "lag_p99_ns": None}


def test_a_run_of_a_late_client_has_rates_that_were_searched_for_and_no_latencies(bench: Bench) -> None:
    bench.script(lag_ns=400_000)
    search = "search: {goals: [NDR], first_trial: 20ms, last_trial: 20ms, duration_sum: 20ms, width: 10%}"
    # A calibration would leave the rate out before it runs.
    (bench.folder / "plan.yaml").write_text(PLAN.replace("search: {goals: []}", search + "\ncalibration: {processes: 0}"))
    done = bench("run", "plan.yaml", "--name", "r")
    assert done.returncode == 0, (done.stdout, done.stderr)
    rows = [row for row in trials.read(bench.results / "r") if row["event"] == "trial" and row["configuration"].startswith("flow-table")]
    rates = [row for row in rows if row["load"] == "100kpps"]
    assert [row["limit"] for row in rates] == ["client-limited"] * 3 and "sent late" in rates[0]["reason"]
    sustained = [row for row in rows if row["load"] != "100kpps" and row["limit"] == ""]
    assert sustained and all("sent late" in row["reason"] for row in sustained)
    by_load = {p.load: p for p in summaries(bench.results / "r")[0].points if not p.is_null}
    assert by_load["100kpps"].throughput_pps is None and by_load["100kpps"].limit == "client-limited"
    found = by_load["NDR"]
    # The client's bursts may have caused the losses above this rate, so the server may sustain more.
    assert found.throughput_pps is not None and found.throughput_pps.value == pytest.approx(2e6, rel=0.1) and found.limit == "client-limited"
    assert sorted(found.latency_withheld) == sorted(FIGURES) and wording.latency_text(found, "p99_9") == "- (2000)"


def trial(lag_ns: dict[str, Any] | None, latency_ns: dict[str, Any] | None) -> dict[str, Any]:
    """Return a trial in the form in which a run keeps it while a round is under way."""
    event: dict[str, Any] = {"gaps": [], "losses": []} | ({"lag_ns": lag_ns} if lag_ns else {}) | ({"latency_ns": latency_ns} if latency_ns else {})
    return {"event": "trial", "round": 0, "configuration": "c", "load": "l", "trial": event, "served": [], "checked": None}


@pytest.mark.parametrize(
    ("lag_ns", "latency_ns", "withheld", "of_bursts"),
    [
        (lags(p99_9=20_000, max=30_000), times(), "p99_9 max", None),
        (lags(), times(), "", None),
        (lags(), None, None, None),
        ({"p50": 1, "p99": 2, "max": 3}, times(), None, 2.0),
        (None, None, None, None),
    ],
    ids=["late", "in time", "nothing came back", "of an earlier program", "flood"],
)
def test_each_trial_is_kept_with_what_its_lag_spoils(
    lag_ns: dict[str, Any] | None, latency_ns: dict[str, Any] | None, withheld: str | None, of_bursts: float | None
) -> None:
    (row,) = trials.table([trial(lag_ns, latency_ns)]).to_pylist()
    assert (row["latency_withheld"], row["lag_p99_ns"]) == (withheld, of_bursts)
    assert (row["lag_ns"] is not None) == (lag_ns is not None and of_bursts is None)
