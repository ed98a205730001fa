"""Tests of models of real processors: figures have sources, ``dpubench-cores`` takes the models, organisations are right, wrong files are refused."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench import programs, schemas
from dpubench.errors import PlanError, UserError
from dpubench.simulation import models, reads
from dpubench.simulation.comparison import UNITS, Comparison, Reads, compare
from dpubench.simulation.kernels import Kernel
from dpubench.studies.offload import cluster

NAMES = ("alpha21264-1999", "cortex-a72-bluefield2", "cortex-a78-bluefield3", "neoverse-n1", "xeon-e5-2620v3")
every_model = pytest.mark.parametrize("name", models.names())


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> reads.ReadsTrace:
    """Return a trace of random reads in 4 KiB, which every first level holds."""
    return reads.write(4096, tmp_path_factory.mktemp("reads") / "4096")


def simulated(processor: dict[str, Any], trace: reads.ReadsTrace, messages: int = 0, status: int = 0) -> dict[str, Any]:
    """Return the ``result`` or the ``failure`` of ``processor`` with one trace on all contexts."""
    organisation = processor["organisation"]
    configuration = {
        "id": "one", "processor": processor, "contexts": [{"trace": str(trace.folder)}] * (organisation["cores"] * organisation["contexts"]),
        "extent": {"warm_up_messages": trace.warm_up_messages, "messages": messages or trace.messages},
    }  # fmt: skip
    job = {"schema": schemas.CORES_JOB, "configurations": [configuration]}
    assert status == 2 or not schemas.fault("cores-job", job)
    program = programs.directory() / programs.CORES
    done = subprocess.run([program], input=json.dumps(job), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    (event,) = [e for e in events if e["event"] in ("result", "failure")]
    return event


def cycles_per_read(result: dict[str, Any]) -> float:
    context = result["contexts"][0]
    return float(context["cycles"] / context["loads"])


def test_the_models_of_the_studies_are_there() -> None:
    assert set(NAMES) <= set(models.names())
    with pytest.raises(UserError, match="no processor model 'neoverse-n2'; did you mean 'neoverse-n1'"):
        models.load("neoverse-n2")


@every_model
def test_every_value_has_a_source_or_says_that_it_is_assumed(name: str) -> None:
    model = models.load(name)
    leaves = {path: value for path, value in models.leaves(model.processor) if path != "name"}
    assert len(leaves) > 60
    assert {source.path: source.value for source in model.sources} == leaves
    for source in model.sources:
        assert bool(source.reference and source.at) != bool(source.assumed), source
        assert source.assumed or source.reference in model.references.values()
    assert model.processor["name"] == model.name == name
    assert model.title and model.limits and model.comparisons


@every_model
def test_what_stands_beside_every_figure_of_a_model(name: str) -> None:
    model = models.load(name)
    assert model.labels[0] == "modelled, general-purpose cores only, no accelerators"
    assert (model.labels[1:] == ("A64 trace",)) == (model.architecture != "A64")


@every_model
def test_the_program_takes_the_whole_processor(name: str, resident: reads.ReadsTrace) -> None:
    processor = models.load(name).processor
    result = simulated(processor, resident, messages=2)
    assert result["processor"] == name
    assert len(result["contexts"]) == processor["organisation"]["cores"]


@every_model
def test_a_read_that_waits_for_the_one_before_takes_the_first_levels_latency(name: str, resident: reads.ReadsTrace) -> None:
    processor = models.load(name).with_organisation(cores=1)
    latency = processor["caches"][processor["data_cache"]]["latency_cycles"]
    result = simulated(processor, resident)
    assert result["contexts"][0]["messages"] == resident.messages
    assert cycles_per_read(result) == pytest.approx(latency, rel=0.01)
    assert result["caches"][processor["data_cache"]]["misses"] == 0


def test_reads_beyond_a_level_take_the_next_ones_latency(tmp_path: Path) -> None:
    # There is no TLB and no prefetch, and 64 times as many lines as in the first level: all but one in 64 reads come from the second level.
    processor = models.load("alpha21264-1999").with_organisation(changes={"caches/l2/size_bytes": 4 << 20})
    trace = reads.write(2 << 20, tmp_path / "reads")
    assert cycles_per_read(simulated(processor, trace)) == pytest.approx((63 * 12 + 3) / 64, rel=0.03)


def test_reads_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = reads.write(65536, tmp_path / "one"), reads.write(65536, tmp_path / "two")
    assert first.digest == second.digest != reads.write(65536, tmp_path / "three", seed=2).digest
    for file in ("blocks", "stream"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    with pytest.raises(FileExistsError):
        reads.write(65536, tmp_path / "one")


def test_organisations_are_what_they_say(resident: reads.ReadsTrace) -> None:
    alpha = models.load("alpha21264-1999")
    before = copy.deepcopy(alpha.processor)
    for derived, organisation in (
        (alpha.with_organisation(policy="superscalar", unit_sets=7), (1, 1, "single")),
        (alpha.with_organisation(policy="fgmt", contexts=4), (1, 4, "skip_not_ready")),
        (alpha.with_organisation(policy="strict", contexts=3), (1, 3, "strict")),
        (alpha.with_organisation(policy="smt", contexts=7), (1, 7, "icount.2.8")),
        (alpha.with_organisation(policy="smt", contexts=1), (1, 1, "icount.1.8")),
        (alpha.with_organisation(policy="rr.2.8", contexts=2), (1, 2, "rr.2.8")),
        (alpha.with_organisation(policy="cmp", cores=4), (4, 1, "single")),
        (alpha.with_organisation(policy="switch_on_stall", contexts=2, switch_cycles=3), (1, 2, "switch_on_stall")),
    ):
        found = derived["organisation"]
        assert (found["cores"], found["contexts"], found["policy"]) == organisation
        assert len(simulated(derived, resident, messages=2)["contexts"]) == organisation[0] * organisation[1]
    assert alpha.processor == before


def test_unit_sets_clock_and_cores_change_what_they_say_and_nothing_else() -> None:
    alpha = models.load("alpha21264-1999")
    derived = alpha.with_organisation(unit_sets=5, clock_mhz=300)
    assert {unit["name"]: unit["count"] for unit in derived["units"]} == {"integer": 5, "memory": 5, "float": 1}
    different = {path for path, value in models.leaves(derived) if dict(models.leaves(alpha.processor)).get(path) != value}
    assert different == {"name", "clock/mhz", "units/integer/count", "units/memory/count"}
    assert derived["name"] == "alpha21264-1999 (clock 300, units/integer/count 5, units/memory/count 5)"
    assert alpha.with_organisation() == alpha.processor
    # All cores share the levels behind the first. The core groups of BlueField-2 stay pairs.
    assert alpha.with_organisation(cores=6)["caches"]["l2"]["shared_by"] == 6
    bluefield = models.load("cortex-a72-bluefield2")
    shared = {n: {c: d.get("shared_by", 1) for c, d in bluefield.with_organisation(cores=n)["caches"].items()} for n in (1, 2, 6, 8)}
    assert [(s["l1d"], s["l2"], s["l3"]) for s in shared.values()] == [(1, 1, 1), (1, 2, 2), (1, 2, 6), (1, 2, 8)]


def test_a_divided_window_has_the_same_share_for_each_context(resident: reads.ReadsTrace) -> None:
    derived = models.load("alpha21264-1999").with_organisation(policy="smt", contexts=7, window="divided")
    assert derived["window"] == {"instructions": 77, "loads": 28, "stores": 28}
    assert [queue["entries"] for queue in derived["queues"]] == [14, 14]
    assert len(simulated(derived, resident, messages=2)["contexts"]) == 7


def test_organisations_that_a_model_has_not_are_refused() -> None:
    bluefield = models.load("cortex-a72-bluefield2")
    with pytest.raises(UserError, match="cortex-a72-bluefield2: this model has no unit sets"):
        bluefield.with_organisation(unit_sets=2)
    with pytest.raises(UserError, match="5 cores cannot share 'l2' in groups of 2: give a multiple of 2, or fewer"):
        bluefield.with_organisation(cores=5)
    with pytest.raises(UserError, match="there is no 'window/instruction' in its description; did you mean 'window/instructions'"):
        bluefield.with_organisation(changes={"window/instruction": 64})
    with pytest.raises(UserError, match="there is no 'units/vector/count' in its description"):
        bluefield.with_organisation(changes={"units/vector/count": 2})


def test_single_values_are_changed_by_path() -> None:
    processor = models.load("neoverse-n1").processor
    derived = models.changed(
        processor, {"units/integer/executes/integer/latency_cycles": 2, "branches/predictor": "perfect", "queues/asimd/entries": 9}
    )
    assert derived["units"][1]["executes"]["integer"]["latency_cycles"] == 2
    assert derived["branches"]["predictor"] == "perfect"
    assert [q["entries"] for q in derived["queues"] if q["name"] == "asimd"] == [9]
    assert processor["branches"]["predictor"] == "tage"


def test_frames_are_delivered_where_it_is_said(resident: reads.ReadsTrace) -> None:
    dma = {"line_rate_gbps": 100, "frame_bytes": 64, "deliver": "l3"}
    derived = models.load("cortex-a72-bluefield2").with_organisation(cores=2, dma=dma)
    assert derived["dma"] == dma
    assert simulated(derived, resident, messages=2)["dma"]["frames"] > 0


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("caches/l1d/ways", 0, "processor/caches/l1d/ways"),
        ("caches/l2/next", "l1d", "goes in a circle"),
        ("caches/l3/size_bytes", 1000, "processor/caches/l3/size_bytes"),
        ("units/load/queue", "loads", "loads"),
        ("organisation/policy", "fastest", "is 'fastest', and must be single"),
        ("memory/latency_ns", -1, "processor/memory/latency_ns"),
    ],
)
def test_values_that_no_processor_has_are_refused_by_name(resident: reads.ReadsTrace, path: str, value: object, said: str) -> None:
    processor = models.load("cortex-a72-bluefield2").with_organisation(cores=1, changes={path: value})
    assert said in simulated(processor, resident, status=2)["message"]


SMALL = """\
title: A small processor
year: 2026
architecture: A64
limits: [made up]
references: {book: "A book"}
unit_set: [alu]
processor:
  clock: {mhz: {value: 1000, source: book, at: page 1}}
  units:
    - name: alu
      count: {value: 2, assumed: nobody knows}
      executes:
        integer: {latency_cycles: 1, every_cycles: 1, source: book, at: page 2}
      source: book
      at: page 3
comparisons:
  - what: reads
    quantity: ns_per_read
    value: 2
    source: book
    at: page 4
    machine: one of them
    independent: true
    reads: {buffer_bytes: 4096}
"""


def test_a_file_is_read_with_its_sources() -> None:
    model = models.parse(SMALL, "small", "small.yaml")
    executes = {"integer": {"latency_cycles": 1, "every_cycles": 1}}
    assert model.processor == {"name": "small", "clock": {"mhz": 1000}, "units": [{"name": "alu", "count": 2, "executes": executes}]}
    found = {source.path: (source.reference, source.at, source.assumed) for source in model.sources}
    assert found == {
        "clock/mhz": ("A book", "page 1", ""),
        "units/alu/name": ("A book", "page 3", ""),
        "units/alu/count": ("", "", "nobody knows"),
        "units/alu/executes/integer/latency_cycles": ("A book", "page 2", ""),
        "units/alu/executes/integer/every_cycles": ("A book", "page 2", ""),
    }
    assert [source.path for source in model.assumed] == ["units/alu/count"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title:", "titel:", "small.yaml:1: titel: unknown key 'titel'; did you mean 'title'?"),
        ("year: 2026", "year: soon", "small.yaml:2: year: must be valid:"),
        ("limits: [made up]", "limits: []", "limits"),
        ("architecture: A64", "architecture: MIPS", "architecture: must be 'A64', 'x86-64' or 'Alpha', not 'MIPS'"),
        ("unit_set: [alu]", "unit_set: [fpu]", "small.yaml:6: unit_set.0: there is no unit 'fpu'"),
        ("source: book, at: page 1", "at: page 1", "small.yaml:8: processor.clock.mhz.at: 'source' is missing beside 'at'"),
        ("source: book, at: page 1", "source: book", "'at' is missing beside 'source'"),
        ("source: book, at: page 1", "source: books, at: page 1", "there is no reference 'books'; did you mean 'book'?"),
        (", source: book, at: page 1", "", "processor.clock.mhz.value: has neither a source nor an assumption"),
        ("mhz: {value: 1000, source: book, at: page 1}", "mhz: 1000", "processor.clock.mhz: has neither a source nor an assumption"),
        ("assumed: nobody knows", "assumed: nobody knows, source: book, at: page 9", "a value has either a source or an assumption"),
        ("assumed: nobody knows", "assumed: ''", "assumed: must be a text"),
        ("assumed: nobody knows", "sourced: nobody knows", "unknown key 'sourced' beside a value; did you mean 'source'?"),
        ("value: 2, assumed", "value: [2], assumed", "must be a number or a word"),
        ('{book: "A book"}', '{book: "A book", web: "A page"}', "nothing cites the reference 'web'"),
        ("processor:\n", "processor:\n  name: {value: other, assumed: it}\n", "processor.name: the name of the file is the name of the model"),
        ("quantity: ns_per_read", "quantity: furlongs", "quantity: must be 'cycles_per_byte'"),
        ("quantity: ns_per_read", "quantity: cycles_per_byte", "cycles_per_byte is a quantity of kernels"),
        ("    reads: {buffer_bytes: 4096}\n", "", "our figure comes from kernel or from reads: give one of them, and not both"),
        ("buffer_bytes: 4096", "buffer_bytes: 1", "buffer_bytes"),
        ("reads: {buffer_bytes: 4096}", "kernel: {operator: md5, engine: portable, messages: 9}", "ns_per_read is a quantity of reads"),
        ("comparisons:", "measurements:", "comparisons: is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key_and_the_line(old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(PlanError) as caught:
        models.parse(SMALL.replace(old, new, 1), "small", "small.yaml")
    assert said in str(caught.value)


def test_kernels_of_comparisons_count_more_than_they_warm_up() -> None:
    kernel = "kernel: {operator: md5, engine: portable, message_bytes: 64, messages: 32}"
    text = SMALL.replace("reads: {buffer_bytes: 4096}", kernel).replace("ns_per_read", "cycles_per_byte")
    with pytest.raises(PlanError, match="32 of 32 messages warm up: none is left to count"):
        models.parse(text, "small", "small.yaml")
    (comparison,) = models.parse(text.replace("messages: 32", "messages: 33"), "small", "small.yaml").comparisons
    assert comparison.kernel == Kernel("md5", "portable", (), 64, "resident", 33, seed=1, burst=1)
    assert comparison.unit == "cycles/B"


@every_model
def test_reads_of_comparisons_give_a_figure_and_its_error(name: str, tmp_path: Path) -> None:
    """The figure follows from the result. Its distance from the published figure is a matter of the model, not of this test."""
    model = models.load(name)
    for i, comparison in enumerate(c for c in model.comparisons if c.reads):
        assert comparison.reads
        processor = comparison.processor(model)
        assert processor["organisation"]["cores"] == 1
        assert processor["clock"]["mhz"] == (comparison.clock_mhz or model.clock_mhz)
        result = simulated(processor, reads.write(comparison.reads.buffer_bytes, tmp_path / str(i)))
        compared = compare(comparison, processor, result)
        assert compared.modelled > 0
        assert compared.modelled == pytest.approx(comparison.value * (1 + compared.error_percent / 100))


def comparison_of(quantity: str, value: float, *, at_most: bool = False) -> Comparison:
    assert quantity in UNITS
    kernel = None if quantity.endswith(("_read", "_level")) else Kernel("md5", "portable", (), 100, "resident", 40, seed=1, burst=1)
    return Comparison("it", quantity, value, at_most, "A book", "page 1", "one", None, True, "", kernel, None if kernel else Reads(4096), 32)


def test_errors_are_of_the_published_figure() -> None:
    result = {
        "clock_mhz": 2000, "caches": {"l1d": {"accesses": 400, "misses": 6}},
        "contexts": [{"cycles": 1200, "messages": 4, "loads": 200, "instructions": 1000}],
    }  # fmt: skip
    processor = {"data_cache": "l1d", "caches": {"l1d": {"latency_cycles": 4}}}
    for quantity, value, modelled, error in (
        ("cycles_per_byte", 2.0, 3.0, 50.0),  # 1200 cycles, 4 messages of 100 bytes
        ("cycles_per_read", 8.0, 6.0, -25.0),
        ("ns_per_read", 4.0, 3.0, -25.0),
        ("ns_beyond_first_level", 1.0, 1.0, 0.0),  # 6 cycles less 4, at 2 GHz
        ("data_miss_percent", 1.0, 1.5, 50.0),
    ):
        compared = compare(comparison_of(quantity, value), processor, result)
        assert compared.modelled == pytest.approx(modelled), quantity
        assert compared.error_percent == pytest.approx(error), quantity
    assert compare(comparison_of("cycles_per_byte", 2.0), processor, result, message_bytes=300).modelled == pytest.approx(1.0)
    assert compare(comparison_of("data_miss_percent", 2, at_most=True), processor, result).error_percent == 0
    assert compare(comparison_of("data_miss_percent", 1, at_most=True), processor, result).error_percent == pytest.approx(50)
    result["contexts"] = [{"cycles": 0, "messages": 0, "loads": 0, "instructions": 0}]
    with pytest.raises(ValueError, match="the result has no reads"):
        compare(comparison_of("ns_per_read", 1), processor, result)


def test_models_are_listed(bench: Bench) -> None:
    rows = {row["model"]: row for row in json.loads(bench("list", "models", "--json").stdout)}
    assert set(rows) == {*models.names(), *cluster.names()}
    bluefield = rows["cortex-a72-bluefield2"]
    assert (bluefield["year"], bluefield["clock_mhz"]) == (2020, 2500)
    assert 0 < bluefield["assumed"] < bluefield["values"]
    shown = bench("list", "models").stdout
    assert "Arm Cortex-A72 as in NVIDIA BlueField-2" in shown and "2020" in shown
