"""Tests of the closed-form model of study offload: hand-computed times, published trends, and runs on a modelled cluster."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from conftest import Bench
from dpubench import schemas
from dpubench.errors import PlanError, UserError
from dpubench.studies.offload import cluster as clusters
from dpubench.studies.offload import prediction, trends
from dpubench.studies.offload.cluster import Cluster
from dpubench.studies.offload.prediction import predicted
from dpubench.studies.offload.quantities import Times, figures_of

MIB = 1 << 20


def published() -> Cluster:
    return clusters.find("osu-8x8")


def points(cluster: Cluster, sizes: tuple[int, ...] = (256 << 10, 4 << 20)) -> list[Mapping[str, str]]:
    return [
        {
            "test": pattern, "path": "staged", "assignment": "block", "hosts": str(cluster.hosts), "workers": str(workers), "bytes": str(size),
            "work": "cache",
        }
        for pattern, workers, size in product(("broadcast", "gather", "allgather"), cluster.workers, sizes)
    ]  # fmt: skip


def test_times_by_hand() -> None:
    """64 hosts on 8 nodes: a gather by one worker reads 56 blocks over one link, and writes 64 blocks out of one device's memory."""
    c = published()
    told = predicted(c, "gather", "staged", "block", 1, MIB)
    get = 56 * MIB / 12.5e9 + 0.6e-6 + 1.5e-6
    put = 64 * MIB / 25.6e9 + 0.6e-6 + 1.0e-6
    assert told.communication_s == pytest.approx(get + put, rel=1e-12)
    assert told.reference_s == pytest.approx(56 * MIB / 12.5e9 + 0.3e-6 + 1.5e-6, rel=1e-12)
    assert told.limits == ("get: link in of node 0", "put: device memory of node 0")
    assert told.communicated == 64 * MIB and told.host_memory == 128 * MIB and told.device_memory == 128 * MIB


def test_small_messages_cost_the_time_of_a_core() -> None:
    told = predicted(published(), "scatter", "staged", "block", 1, 1)
    assert told.limits == ("get: the time of 64 messages", "put: the time of 64 messages")
    assert told.communication_s == pytest.approx(2 * 64 * 0.6e-6 + 1.0e-6 + 1.5e-6, rel=0.02)


def test_work_bound_by_memory_competes_with_the_transfers() -> None:
    c = published()
    cache, memory = (predicted(c, "allgather-shared", "staged", "block", 8, MIB, work) for work in ("cache", "memory"))
    assert cache.overlapped_s == max(cache.communication_s, cache.compute_s)
    # The busiest node reads 8 blocks and writes 8 times 64.
    assert memory.overlapped_s == pytest.approx(memory.compute_s + (8 + 8 * 64) * MIB / 100e9, rel=1e-9)


def test_every_transfer_is_counted() -> None:
    """Whatever is read somewhere arrives somewhere: what all links carry out they carry in, and each pattern fills every receiving buffer."""
    c = clusters.changed(published(), {"nodes": 4, "ranks_per_node": 4}, "a test")
    for (pattern, path), assignment, workers in product(prediction.STAGES, prediction.ASSIGNMENTS, (1, 2, 3, 4, 7, 16)):
        own, reference = prediction._stages(c.nodes, c.ranks_per_node, workers, assignment, pattern, path)
        for stage in [*own, *reference]:
            assert stage.loads["link out"].sum() == pytest.approx(stage.loads["link in"].sum()), (pattern, path, stage.name)
        last = own[-1].loads["host memory"].sum() / (1 if path == "staged" else 2)
        blocks = {"reduce": 1, "allgather": 256, "allgather-shared": 256, "all-to-all": 256}.get(pattern, 16)
        assert last == pytest.approx(blocks), (pattern, path, assignment, workers)


def test_each_host_has_one_worker() -> None:
    nodes, ranks = 4, 4
    for assignment, workers in product(prediction.ASSIGNMENTS, range(1, 17)):
        s = prediction._setting(nodes, ranks, workers, assignment)
        assert len(s.worker_of) == 16 and s.served.sum() == 16 and 0 <= s.worker_of.min() <= s.worker_of.max() < workers
        if assignment == "topology":
            own = s.worker_node[s.worker_of] == s.host_node
            assert own[[n in s.worker_node for n in s.host_node]].all(), "a worker on the own node comes first"
        elif 16 % workers == 0:
            assert s.served.max() == 16 / workers


def test_imbalance_is_told_apart_from_contention() -> None:
    assert prediction.imbalance(64, 8) == 1 and prediction.imbalance(64, 24) == pytest.approx(3 / (64 / 24))
    c = published().without_contention()
    even, uneven = (predicted(c, "allgather-shared", "staged", "cyclic", n, MIB).communication_s for n in (16, 24))
    assert uneven > even, "the busiest worker has as many hosts as with fewer workers"


def test_the_published_trends() -> None:
    found = {trend.claim: trend for trend in trends.judged(published(), points(published()))}
    verdicts = {claim: trend.verdict for claim, trend in found.items()}
    assert verdicts == {
        "broadcast: one worker per node is best": "agrees",
        "gather: one worker per node is best": "differs",
        "gather: a single worker costs its staging": "agrees",
        "allgather with one root is poor": "agrees",
        "allgather with one root gains with workers up to one per node": "agrees",
        "allgather with one root declines beyond one worker per node": "agrees",
    }
    assert all(trend.without_contention == trend.verdict for trend in found.values()), "no verdict rests on the assumed contention"
    assert "2 workers need" in found["gather: one worker per node is best"].reason


def test_a_trend_can_differ_and_can_be_out_of_sight() -> None:
    # A link so fast that it never limits: more workers than one per node share the work of a device's memory.
    fast = clusters.changed(published(), {"link_gbps": 1e6, "host_memory_gbytes_per_s": 1e6, "device_memory_gbytes_per_s": 1e5}, "a test")
    verdicts = {trend.claim: trend.verdict for trend in trends.judged(fast, points(fast))}
    assert verdicts["allgather with one root declines beyond one worker per node"] == "differs"
    few = [p for p in points(published()) if p["workers"] == "2"]
    assert {trend.verdict for trend in trends.judged(published(), few)} == {"not shown"}


def test_512_nodes_in_less_than_a_second() -> None:
    c = clusters.changed(published(), {"nodes": 512}, "a test")
    began = time.process_time()
    for (pattern, path), workers in product(prediction.STAGES, (1, 8, 64, 512, 4096)):
        predicted(c, pattern, path, "block", workers, MIB)
    assert time.process_time() - began < 20, "a quadratic number of transfers would take minutes"


def test_figures_of_times() -> None:
    found = figures_of(Times(reference=10, communication=8, compute=10, overlapped=12))
    assert found["efficiency"] == 1 and found["efficiency_published_percent"] == 100 and found["reference_over_communication"] == 1.25
    assert found["overlap_percent"] == pytest.approx(75) and found["step_gain"] == pytest.approx(20 / 12)
    assert figures_of(Times(20, 8, 10, 12))["efficiency_published_percent"] == 100, "clamped as published"
    assert figures_of(Times(20, 8, 10, 12))["efficiency"] == 2
    assert figures_of(Times(10, 8, 10, 20))["overlap_percent"] < 0, "overlapping may cost time"


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("  nodes: {value: 8, ", "  nodes: {value: 2.5, ", "parameters.nodes: is a whole number from 1 to 65536, not 2.5"),
        ("  nodes:", "  node:", "there is no such parameter; did you mean 'nodes'?"),
        ("source: bluefield-2, at: \"PCIe", "source: bluefield-3, at: \"PCIe", "there is no reference 'bluefield-3'"),
        ("assumed: \"one device in each node\"", "at: \"nowhere\"", "give either source, a reference of this file, or assumed"),
        ("link_gbps: {value: 100", "link_gbps: {value: 0", "link_gbps: is a number from 1e-06"),
    ],
)  # fmt: skip
def test_a_wrong_description_is_refused(old: str, new: str, wanted: str) -> None:
    text = (Path(clusters.__file__).parent / "clusters/osu-8x8.yaml").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(PlanError) as refused:
        clusters.parse(text.replace(old, new), "mine", "mine.yaml")
    assert wanted in str(refused.value) and "mine.yaml:" in str(refused.value)


def test_every_value_has_a_source_or_is_assumed() -> None:
    for name in clusters.names():
        found = clusters.find(name)
        assert all(bool(s.source) != bool(s.assumed) and s.unit for s in found.sources)
        assert clusters.again(found.record()) == found
    with pytest.raises(UserError):
        clusters.find("./nowhere.yaml")


def test_a_run_on_a_modelled_cluster(bench: Bench) -> None:
    done = bench("run", "offload", "--target", "model:osu-8x8", "--name", "r", "--workload", "broadcast,gather,allgather", "--set", "workers=auto,24")
    assert done.returncode == 0, done.stderr
    assert "published trends: " in done.stdout and "differs: gather: one worker per node is best" in done.stdout
    record = bench.record("r")
    assert schemas.fault("run", record) == "" and record["origin"] == "modelled"
    rows = list(csv.DictReader(io.StringIO(bench("export", "r", "--csv").stdout)))
    assert {row["label"] for row in rows} == {"modelled in closed form, not measured"}
    assert {int(row["param_bytes"]) for row in rows} == {(256 << 10) << n for n in range(5)}, "the published sizes"
    assert {row["param_workers"] for row in rows if "imbalance" in row["warnings"]} == {"24"} and float(rows[0]["efficiency"]) > 0
    assert all(row["unavailable"] == "allgather needs the workers' memory: it has no direct path" for row in rows if not row["efficiency"])
    shown = bench("show", "r").stdout
    assert "agrees: allgather with one root is poor" in shown and "assumed: HDR100" in shown and "no interval" not in shown
    page = (bench.results / "r" / "report.html").read_text(encoding="utf-8")
    for text in ("Published trends beside the model", "assumed: HDR100", "modelled in closed form, not measured", "criterion"):
        assert text.lower() in page.lower()
    dry = bench("run", "offload", "--target", "model:osu-8x8", "--set", "cluster.nodes=4", "--set", "workers=1,4", "--dry-run")
    assert dry.returncode == 0 and "4 nodes, 32 host ranks" in dry.stdout


def test_a_description_of_ones_own(bench: Bench) -> None:
    text = (Path(clusters.__file__).parent / "clusters/osu-8x8.yaml").read_text(encoding="utf-8")
    (bench.folder / "mine.yaml").write_text(text.replace("value: 100, assumed: \"HDR100", "value: 400, assumed: \"NDR"))  # fmt: skip
    done = bench("run", "offload", "--target", "model:mine.yaml", "--name", "r", "--workload", "gather", "--size", "1MiB")
    assert done.returncode == 0, done.stderr
    assert bench.record("r")["target"] == "model:mine" and "NDR" in bench("show", "r").stdout
