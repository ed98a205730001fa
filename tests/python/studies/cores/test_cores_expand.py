"""Tests of the expansion of plans of study ``cores``: processors, contexts and their messages, the share of a trace, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cores_fixtures import LINES, PAPER, expanded, operators, plan_of, problems, uses_of
from dpubench.errors import PlanError
from dpubench.plans.load import Where, parse_plan
from dpubench.simulation import crowley, models
from dpubench.simulation.kernels import Kernel, Trace
from dpubench.studies.cores import variants
from dpubench.studies.cores.expand import expand
from dpubench.studies.cores.extents import contexts_of, extent_of, frame_buffers_of
from dpubench.studies.cores.plan import Plan, without_asides

ALPHA = models.load("alpha21264-1999")


def test_frames_are_simulated_where_the_kernel_looks_at_them() -> None:
    expansion = expanded(LINES)
    # One simulation of look-ups stands for every size. MD5 is simulated at each size and at those of IMIX.
    assert set(expansion.uses) == {"lookup", "md5/64", "md5/1518", "md5/594"}
    assert expansion.uses["md5/594"].message_bytes == 594 and expansion.uses["lookup"].message_bytes is None
    on_one = [cell.id for cell in expansion.cells.values() if "neoverse-n1/described-1/" in cell.id]
    tail = f"neoverse-n1/described-1/{models.load('neoverse-n1').clock_mhz:g}MHz/base"
    assert on_one == [f"{name}/{tail}" for name in ("lookup/any", "md5/64", "md5/1518", "md5/594")]
    imix = next(p for p in expansion.points.values() if p.id.startswith("md5/imix/neoverse-n1/described-1/"))
    assert [name.split("/")[1] for name in imix.configurations] == ["64", "594", "1518"]
    assert len([p for p in expansion.points.values() if p.id.startswith("lookup/")]) == 3 * 2 * 2


def test_an_organisation_makes_its_processors() -> None:
    cells = {cell.id: cell for cell in expanded(PAPER).cells.values()}
    superscalar = cells["lookup/any/alpha21264-1999/superscalar-3/200MHz/base"]
    assert (superscalar.cores, superscalar.contexts, superscalar.clock_mhz) == (1, 1, 200)
    counts = {unit["name"]: unit["count"] for unit in superscalar.processor["units"]}
    assert counts["integer"] == counts["memory"] == 3
    assert superscalar.processor["organisation"]["policy"] == "single"
    smt = cells["md5/1500/alpha21264-1999/smt-4/500MHz/base"]
    assert (smt.contexts, smt.unit_sets) == (4, 4)
    assert smt.processor["organisation"]["policy"] == "icount.2.8"
    assert smt.processor["clock"]["mhz"] == 500
    fgmt = cells["lookup/any/alpha21264-1999/fgmt-7/100MHz/base"]
    assert (fgmt.processor["organisation"]["policy"], fgmt.contexts) == ("skip_not_ready", 7)


def test_one_cell_serves_every_sweep_that_asks_for_it() -> None:
    text = PAPER + "  - {name: again, kernels: [lookup], organisation: smt, steps: [4], clocks: [500MHz]}\n"
    cells = expanded(text).cells
    assert cells["lookup/any/alpha21264-1999/smt-4/500MHz/base"].sweeps == ["smt", "again"]
    assert len(cells) == len(expanded(PAPER).cells)


def test_cores_of_a_chip_are_those_of_the_product_where_all_are_asked_for() -> None:
    text = "study: cores\ntarget: model:cortex-a72-bluefield2\nkernels: [lpm]\nframe_sizes: [64B]\nsweeps: [{name: s, steps: [1, all]}]\n"
    cells = list(expanded(text).cells.values())
    assert [(cell.cores, cell.step) for cell in cells] == [(1, 1), (8, 8)]


def test_contexts_share_the_messages_of_a_kernel() -> None:
    cell = expanded(PAPER).cells["lookup/any/alpha21264-1999/smt-7/500MHz/base"]
    assert contexts_of(cell, uses_of(PAPER)) == [("lookup", 10 * i) for i in range(7)]
    assert extent_of(cell, uses_of(PAPER), plan_of(PAPER)) == {"warm_up_messages": 0, "messages": 10, "repeat": True}
    one = expanded(PAPER).cells["lookup/any/alpha21264-1999/smt-1/500MHz/base"]
    assert extent_of(one, uses_of(PAPER), plan_of(PAPER)) == {"warm_up_messages": 0, "messages": 70, "repeat": False}


def test_contexts_of_a_mix_take_its_kernels_in_turn() -> None:
    cell = next(cell for cell in expanded(PAPER).cells.values() if cell.kernel == "both" and cell.contexts == 3)
    assert cell.frame == "64+1500"
    assert contexts_of(cell, uses_of(PAPER)) == [("lookup", 0), ("md5/1500", 0), ("lookup", 35)]
    assert extent_of(cell, uses_of(PAPER), plan_of(PAPER)) == {"instructions": 1_000_000, "repeat": True}


@pytest.mark.parametrize(
    ("messages", "burst", "expected"),
    [
        # 1000 bursts: the sample takes the first two of every five, and a quarter of these warm up.
        (4000, 4, {"warm_up_messages": 100, "messages": 300, "every": 5, "measured": 2}),
        # Too few bursts to sample.
        (160, 4, {"warm_up_messages": 10, "messages": 30}),
    ],
)
def test_a_sample_is_of_bursts_behind_a_warm_up(messages: int, burst: int, expected: dict[str, int]) -> None:
    text = f"study: cores\nkernels: [{{operator: lpm, messages: {messages}, burst: {burst}}}]\nsample: {{every: 5, measured: 2}}\nwarm_up: 25%\n"
    cell = next(iter(expanded(text).cells.values()))
    assert extent_of(cell, uses_of(text), plan_of(text)) == {**expected, "repeat": False}


def test_a_sample_is_the_beginning_of_what_each_context_has() -> None:
    text = PAPER.replace("exact: true", "sample: {share: 50%}").replace("warm_up: 0%", "warm_up: 40%")
    cell = expanded(text).cells["lookup/any/alpha21264-1999/smt-7/500MHz/base"]
    assert contexts_of(cell, uses_of(text))[:3] == [("lookup", 0), ("lookup", 10), ("lookup", 20)]
    assert extent_of(cell, uses_of(text), plan_of(text)) == {"warm_up_messages": 2, "messages": 3, "repeat": True}


def test_what_a_kernel_cannot_take_is_left_out() -> None:
    text = "study: cores\nkernels: [tcp_segment]\nframe_sizes: [64B, 1518B, imix]\n"
    expansion = expanded(text)
    assert list(expansion.uses) == ["tcp_segment/1518"]
    assert expansion.left_out == ["tcp_segment at 64, imix: tcp_segment takes messages of 1480 to 65475 B"]
    assert expansion.inputs == set()


def test_traces_of_large_messages_hold_fewer() -> None:
    text = "study: cores\nkernels: [md5]\nframe_sizes: [64B, 1518B, 9000B]\nmessages: 1000\ntraced_bytes: 300KiB\nleast_messages: 50\n"
    assert {name: use.messages for name, use in uses_of(text).items()} == {"md5/64": 1000, "md5/1518": 202, "md5/9000": 50}


def test_an_engine_that_cannot_run_is_kept_with_its_reason() -> None:
    assert uses_of("study: cores\nkernels: [lpm/dpdk-lpm]\n")["lpm/dpdk-lpm"].unavailable == "librte_lpm.so: not found"


def answered(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Return the answers of a program to ``--check``: MD5 on openssl takes whole blocks, and patricia looks up one address at a time."""
    assert all(("size" in params) == (operator != "lpm") for operator, params in combinations)
    blocks = {"openssl": "whole blocks"}
    return [
        ("", {"patricia": "one at a time"} if operator == "lpm" else blocks if int(params["size"]) % 64 else {}) for operator, params in combinations
    ]


@pytest.mark.parametrize(
    ("kernels", "frames", "points", "refused", "left_out"),
    [
        ("md5/openssl", "[64B, 1518B, imix]", ["64"], {}, ["md5/openssl at 1518, imix: whole blocks"]),
        ("md5", "[64B, 1518B]", ["64", "1518"], {}, []),
        ("md5/openssl", "[1518B, imix]", ["1518", "imix"], {"md5/openssl/1518": "whole blocks", "md5/openssl/594": "whole blocks"}, []),
        ("{operator: md5, engine: openssl, frames: [64B, 1518B]}", "[64B]", ["64", "1518"], {"md5/openssl/1518": "whole blocks"}, []),
        ("lpm/patricia", "[64B]", ["64"], {"lpm/patricia": "one at a time"}, []),
        ("tcp_segment", "[64B]", ["64"], {"tcp_segment/64": "tcp_segment takes messages of 1480 to 65475 B"}, []),
    ],
)
def test_what_a_kernel_never_does_is_left_out_or_at_fault_before_it_is_traced(
    kernels: str, frames: str, points: list[str], refused: dict[str, str], left_out: list[str]
) -> None:
    expansion = expanded(f"study: cores\ntarget: model:neoverse-n1\nkernels: [{kernels}]\nframe_sizes: {frames}\n", answered)
    assert [point.frame for point in expansion.points.values()] == points
    assert {name: use.unavailable for name, use in expansion.uses.items() if use.unavailable} == refused
    assert expansion.left_out == left_out


# --------------------------------------------------------------------------- variants


def test_a_variant_lies_over_the_description_and_leaves_the_model_alone() -> None:
    before = ALPHA.with_organisation()
    changed = variants.applied(
        before,
        {
            "window/instructions": "x4", "queues/*/entries": "x0.5", "units/integer/count": 5, "first_caches/size_bytes": "8KiB",
            "data_cache/ways": 1, "branches": {"predictor": "perfect"}, "memory/latency_cycles": "x2",
        },
        64,
    )  # fmt: skip
    assert changed["window"]["instructions"] == 4 * before["window"]["instructions"]
    assert [queue["entries"] for queue in changed["queues"]] == [round(queue["entries"] / 2) for queue in before["queues"]]
    assert next(unit for unit in changed["units"] if unit["name"] == "integer")["count"] == 5
    assert {changed["caches"][name]["size_bytes"] for name in ("l1i", "l1d")} == {8192}
    assert (changed["caches"]["l1d"]["ways"], changed["caches"]["l1i"]["ways"]) == (1, before["caches"]["l1i"]["ways"])
    assert changed["branches"] == {"predictor": "perfect"}
    assert changed["memory"]["latency_cycles"] == 2 * before["memory"]["latency_cycles"]
    assert ALPHA.with_organisation() == before


def test_a_dma_agent_moves_frames_of_the_kernel() -> None:
    text = "study: cores\ntarget: model:alpha21264-1999\nkernels: [lpm]\nframe_sizes: [64B, 512B]\n"
    text += "variants: {busy: {dma: {line_rate_gbps: 1, deliver: l2}}}\nsweeps: [{name: s, variants: [base, busy]}]\n"
    cells = expanded(text).cells
    assert {cell.frame: cell.processor.get("dma", {}).get("frame_bytes") for cell in cells.values()} == {"any": None, "64": 64, "512": 512}
    assert len(expanded(text).points) == 4


def test_frames_arrive_where_messages_lie_if_there_is_room() -> None:
    text = "study: cores\ntarget: model:alpha21264-1999\nkernels: [lpm, md5]\nmixes: {both: [md5, lpm]}\nframe_sizes: [64B]\n"
    text += "variants: {busy: {dma: {line_rate_gbps: 1, deliver: l2}}}\nsweeps: [{name: s, kernels: [md5, both], organisation: smt, steps: [2], "
    text += "variants: [base, busy]}]\n"
    cells = {(cell.kernel, cell.variant): cell for cell in expanded(text).cells.values()}
    ring = {"address": 4096, "stride_bytes": 64, "count": 8}

    def traces(**of: Mapping[str, int] | None) -> dict[str, Trace]:
        about = {name: {} if ring is None else {"input_ring": ring} for name, ring in of.items()}
        return {f"{name}/64" if name == "md5" else name: Trace(Path(name), Kernel(name, "portable"), name, 8, 1, 0, 0, about[name]) for name in about}

    both = traces(md5=ring, lpm={**ring, "address": 8192})
    assert frame_buffers_of(cells["md5", "busy"], both) == ({**ring, "data_space": 0},)
    # Data spaces have the order in which contexts name the traces.
    assert frame_buffers_of(cells["both", "busy"], both) == ({**ring, "data_space": 0}, {**ring, "address": 8192, "data_space": 1})
    assert frame_buffers_of(cells["both", "busy"], traces(md5=ring, lpm=None)) == ()
    assert frame_buffers_of(cells["md5", "busy"], traces(md5={**ring, "stride_bytes": 32})) == ()
    assert frame_buffers_of(cells["md5", "base"], both) == ()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("widow/instructions", 1, "widow/instructions: the processor has no 'widow'; did you mean 'window'?"),
        ("queues/load/entries", 1, "queues/load/entries: there is nothing called 'load'"),
        ("queues/integer", 1, "queues/integer: names a whole element of a list: name a key of it"),
        ("clock/mhz/x", 1, "clock/mhz/x: the part before 'x' is a value, not a section"),
        ("branches/predictor", "x2", "branches/predictor: x2 multiplies a number, and the processor has no number there"),
        ("data_cache/size_bytes", "32", "data_cache/size_bytes: '32' has no unit"),
    ],
)
def test_a_setting_that_has_no_place_is_refused_with_its_path(path: str, value: object, message: str) -> None:
    with pytest.raises(variants.Unfit) as error:
        variants.applied(ALPHA.with_organisation(), {path: value}, 64)
    assert message in str(error.value)


def test_a_variant_without_a_place_is_a_problem_of_the_plan() -> None:
    text = "study: cores\ntarget: model:alpha21264-1999\nkernels: [md5]\nvariants: {v: {widow/loads: 2}}\nsweeps: [{name: s, variants: [v]}]\n"
    assert problems(text) == ["p.yaml:4: variants.v: alpha21264-1999: widow/loads: the processor has no 'widow'; did you mean 'window'?"]
    text = "study: cores\ntarget: model:neoverse-n1\nkernels: [md5]\nsweeps: [{name: s, organisation: smt, steps: [2]}]\n"
    (problem,) = problems(text)
    assert problem.startswith("p.yaml:4: sweeps.0: neoverse-n1: ")  # its units are not in sets


# --------------------------------------------------------------------------- sweeps aside

ASIDE = """
study: cores
target: [model:neoverse-n1]
kernels:
  - {name: today, operator: lpm}
  - {name: lookup, operator: ip4lookup, params: {code: alpha}, frames: [64B]}
  - {name: md5, operator: md5_bytewise, params: {code: alpha}, frames: [1500B]}
claims: {lookup: [lookup], md5: [md5]}
sweeps:
  - {name: lines, steps: [1]}
  - {name: old, models: [model:alpha21264-1999], kernels: [lookup, md5], organisation: smt, steps: [1, 2], clocks: [500MHz], aside: true}
"""


def test_a_sweep_aside_has_models_and_kernels_of_its_own() -> None:
    plan, lines = parse_plan(ASIDE, "p.yaml")
    assert isinstance(plan, Plan)
    expansion = expand(plan, [*operators(), *crowley.catalog()], Where("p.yaml", lines))
    assert {(cell.kernel, cell.model) for cell in expansion.cells.values()} == {
        ("today", "neoverse-n1"), ("lookup", "alpha21264-1999"), ("md5", "alpha21264-1999"),
    }  # fmt: skip
    assert list(expansion.models) == ["neoverse-n1", "alpha21264-1999"]
    assert without_asides(plan) is plan


def test_a_sweep_aside_is_left_out_with_its_claims_where_its_kernels_are_replaced() -> None:
    plan, lines = parse_plan(ASIDE, "p.yaml")
    assert isinstance(plan, Plan)
    other = without_asides(plan.model_copy(update={"kernels": plan.kernels[:1]}))
    assert [sweep.name for sweep in other.sweeps] == ["lines"] and other.claims is None
    cells = expand(other, operators(), Where("p.yaml", lines, {"kernels": "--operator"})).cells
    assert {(cell.kernel, cell.model) for cell in cells.values()} == {("today", "neoverse-n1")}


def test_an_unknown_model_of_a_sweep_is_named_at_its_place() -> None:
    plan, lines = parse_plan(ASIDE.replace("models: [model:alpha21264-1999]", "models: [model:alpha]"), "p.yaml")
    assert isinstance(plan, Plan)
    with pytest.raises(PlanError, match=r"sweeps\.1\.models\.0: there is no processor model 'alpha'"):
        expand(plan, [*operators(), *crowley.catalog()], Where("p.yaml", lines))
