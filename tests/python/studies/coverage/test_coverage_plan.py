"""Tests of the expansion of plans of study ``coverage`` to traces and simulations, and of faults in plans, with place and nearest name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from coverage_fixtures import PLAN, catalogs, expanded, plan_of, problems, text_of
from dpubench.plans.load import Where, parse_plan, plan_text, read_plan
from dpubench.simulation.applications import Application, Workload
from dpubench.studies import plan_names, plan_path
from dpubench.studies.coverage.execute import extent_of
from dpubench.studies.coverage.expand import Catalogs, expand
from dpubench.studies.coverage.plan import Plan
from dpubench.studies.modelled.planned import PlannedKernel

HEAD = "study: coverage\n"
BLOCKS = "md5: whole blocks"


def test_a_plan_becomes_operators_and_whole_programs_on_their_inputs(tmp_path: Path) -> None:
    expansion, files = expanded(tmp_path)
    assert list(expansion.cells) == [
        "operator/lpm", "operator/md5/64", "operator/tcp_segment/1480", "application/files/one.bin", "application/files/two.bin",
        "application/packets/packets.pcap", "workload/forward/64 B, seed 1", "workload/forward/64 B, seed 2",
    ]  # fmt: skip
    md5 = expansion.cells["operator/md5/64"]
    assert isinstance(md5.what, PlannedKernel) and (md5.name, md5.what.message_bytes, md5.what.engine) == ("md5", 64, "portable")
    two = expansion.cells["application/files/two.bin"].what
    assert two == Application("files", (("corpus", files.inputs["corpus"].files[1]),))
    packets = expansion.cells["application/packets/packets.pcap"]
    assert packets.operators == ("lpm", "md5") and packets.point == "application/packets"
    seeds = [cell.what for cell in expansion.cells.values() if cell.kind == "workload"]
    assert seeds == [Workload("forward", frames=3200, seed=1), Workload("forward", frames=3200, seed=2)]
    # An operator that cannot run at 64 B is traced at the nearest size, and a note says so.
    assert any("tcp_segment at 64 B: its messages have 1480 to 65475 B; it is traced at 1480 B" in line for line in expansion.left_out)


def test_engines_are_the_reference_those_named_or_all(tmp_path: Path) -> None:
    def engines(text: str) -> list[tuple[str, str]]:
        found, _ = expanded(tmp_path, text)
        return [(cell.name, cell.engine) for cell in found.cells.values()]

    only = HEAD + "target: model:neoverse-n1\napplications: none\nworkloads: none\n"
    assert engines(only + "operators: all\n") == [("lpm", "portable"), ("md5", "portable"), ("tcp_segment", "portable")]
    assert engines(only + "engines: openssl\n") == [("md5", "openssl")]
    assert engines(only + "operators: [lpm/patricia, md5]\n") == [("lpm/patricia", "patricia"), ("md5", "portable")]
    every = engines(only + "engines: all\noperators: [lpm, md5]\n")
    assert every == [("lpm/portable", "portable"), ("lpm/patricia", "patricia"), ("md5/portable", "portable"), ("md5/openssl", "openssl")]
    found, _ = expanded(tmp_path, only + "engines: all\n")
    assert "lpm/dpdk-lpm: cannot be traced: librte_lpm.so: not found" in found.left_out


def test_an_operator_that_takes_long_has_messages_of_its_own(tmp_path: Path) -> None:
    text = HEAD + "target: model:neoverse-n1\noperators: [lpm, md5]\napplications: none\nworkloads: none\nburst: 32\noperator_messages: {md5: 8}\n"
    uses = [cell.what for cell in expanded(tmp_path, text)[0].cells.values()]
    assert [(use.operator, use.messages, use.burst) for use in uses if isinstance(use, PlannedKernel)] == [("lpm", 2000, 32), ("md5", 8, 2)]


def test_what_all_stands_for_and_cannot_be_traced_is_left_out_and_what_is_named_fails(tmp_path: Path) -> None:
    text = PLAN.replace("[files, packets]", "all").replace("capture: [PACKETS]", "corpus: [TWO]").replace("corpus: [ONE, TWO], ", "")
    found, _ = expanded(tmp_path, text)
    assert any(line.startswith("application/packets: cannot be traced: there is no default capture") for line in found.left_out)
    assert "application/broken: cannot be traced: libpcre2-8.so: not found" in found.left_out and not found.unavailable
    found, _ = expanded(tmp_path, text.replace("applications: all", "applications: [packets, broken]"))
    assert list(found.unavailable) == ["application/packets", "application/broken"]
    named, _ = expanded(tmp_path, PLAN.replace("[forward]", "[{name: flow-table, engines: {lookup: dpdk}}]"))
    assert named.unavailable == {"workload/flow-table": "dpdk: librte_hash.so: not found"}


def test_inputs_are_limited_unless_all_is_simulated(tmp_path: Path) -> None:
    text = PLAN.replace("exact: true", "exact: false\nlimit: 64KiB\nphases: 7\ninputs_each: 1\nsample: {share: 50%}\nburst: 4")
    found, _ = expanded(tmp_path, text)
    files = found.cells["application/files/one.bin"]
    assert isinstance(files.what, Application) and files.what.limit_bytes == 65536
    assert "application/files/two.bin" not in found.cells
    assert "application/files: 1 more files of input corpus are not traced: raise inputs_each" in found.left_out
    assert extent_of(files, plan_of(text)) == {"phase_instructions": 1000, "instructions": 7000}
    assert extent_of(found.cells["operator/lpm"], plan_of(text)) == {"warm_up_messages": 0, "messages": 8}
    exact = text.replace("exact: false", "exact: true")
    assert extent_of(expanded(tmp_path, exact)[0].cells["application/files/one.bin"], plan_of(exact)) == {"phase_instructions": 1000}
    whole = expanded(tmp_path, exact)[0].cells["application/files/one.bin"].what
    assert isinstance(whole, Application) and whole.limit_bytes == 0
    own = expanded(tmp_path, text.replace("[files, packets]", "[{name: files, limit: 1KiB}]"))[0].cells["application/files/one.bin"].what
    assert isinstance(own, Application) and own.limit_bytes == 1024
    own = expanded(tmp_path, text + "application_limits: {files: 2KiB}\n")[0].cells["application/files/one.bin"].what
    assert isinstance(own, Application) and own.limit_bytes == 2048


def test_what_a_limit_leaves_out_is_what_the_files_hold_beyond_it(tmp_path: Path) -> None:
    def beyond(more: str) -> list[str]:
        text = PLAN.replace("exact: true", f"exact: false\n{more}")
        (tmp_path / "long.bin").write_bytes(bytes(4000))
        found, _ = expanded(tmp_path, text.replace("corpus: [ONE, TWO]", f"corpus: [ONE, {tmp_path / 'long.bin'}]"))
        return [line for line in found.left_out if "reads only" in line]

    told = "application/files: reads only the first {} of {} (long.bin): {}"
    assert beyond("limit: 1KiB") == [told.format("1KiB", "1 of its 2 inputs", "use --exact or a larger limit")]
    assert beyond("limit: 1KiB\napplication_limits: {files: 3kB}") == [told.format("3000B", "1 of its 2 inputs", "use --exact or a larger limit")]
    assert beyond("limit: 8MiB") == beyond("limit: all") == beyond("limit: 4000B") == []
    own = PLAN.replace("[files, packets]", "[{name: files, limit: 1KiB}]").replace("[ONE, TWO]", f"[{tmp_path / 'long.bin'}]")
    assert [line for line in expanded(tmp_path, own)[0].left_out if "reads only" in line] == [told.format("1KiB", "its input", "raise its limit")]


def test_the_plans_that_come_along_claim_nothing_of_inputs_that_nobody_has_seen() -> None:
    for plan in plan_names("coverage"):
        said = read_plan(plan_path("coverage", plan))[0].omissions
        assert not [line for line in said if "KiB of" in line or "instructions" in line]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("operators: [md6]", "p.yaml:2: operators.0: unknown operator 'md6'; did you mean 'md5'?"),
        ("operators: [md5/opnssl]", "operator md5 has no engine 'opnssl'; did you mean 'openssl'?"),
        ("engines: opnssl", "p.yaml:2: engines.0: no operator has an engine 'opnssl'; did you mean 'openssl'?"),
        ("operators: [md5]\nengines: [patricia]", "p.yaml:3: engines.0: no operator of the plan uses engine 'patricia': operators with their"),
        ("operators: [lpm/patricia]\nengines: [openssl]", "no operator of the plan uses engine 'openssl': operators with their own engine"),
        (
            "operators: [md5, lpm]\nengines: [openssl]",
            "p.yaml:2: operators.1: lpm has none of the engines openssl: it has portable, patricia, dpdk-lpm",
        ),
        ("application_limits: {filter: 8MiB}", "unknown application 'filter'"),
        ("operator_messages: {md: 3}", "unknown operator 'md'; did you mean 'md5'?"),
        ("applications: [packet]", "p.yaml:2: applications.0: unknown application 'packet'; did you mean 'packets'?"),
        ("applications: [{name: files, params: {sped: fast}}]", "application files has no parameter 'sped'; did you mean 'speed'?"),
        ("workloads: [forwrad]", "unknown workload 'forwrad'; did you mean 'forward'?"),
        ("workloads: [{name: flow-table, engines: {lokup: dpdk}}]", "workload flow-table has no stage 'lokup'; did you mean 'lookup'?"),
        ("workloads: [{name: flow-table, engines: {lookup: dpkd}}]", "stage lookup has no engine 'dpkd'; did you mean 'dpdk'?"),
        ("target: model:neoverse-n2", "there is no processor model 'neoverse-n2'; did you mean 'neoverse-n1'?"),
        ("target: bluefield", "'bluefield' is not a model of a processor, nor target local"),
        ("target: [model:neoverse-n1, local]", "a run has only one processor"),
        ("frame_sizes: [64B, imix]", "imix is a mix of sizes, and a point of an operator has one size"),
        ("operators: [md5, {operator: lpm, name: md5}]", "two are called 'md5'"),
        ("applications: [files, files]", "'files' is named twice: name it once"),
        ("phase: 0", "the number of instructions must lie between 1 and 1000000000, not 0"),
        ("aplications: all", "unknown key 'aplications'; did you mean 'applications'?"),
        ("applications: []", "an empty list measures nothing"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    found = problems(HEAD + text + "\n")
    assert any(said in line for line in found), found


@pytest.mark.parametrize("name", ["quick", "full"])
def test_built_in_plans_are_read_back_as_they_are(name: str) -> None:
    plan, _ = read_plan(plan_path("coverage", name))
    assert isinstance(plan, Plan) and parse_plan(plan_text(plan), "again")[0] == plan
    assert (plan.operators, plan.applications, plan.workloads) == ("all", "all", "all")
    assert plan_names("coverage") == ["quick", "full"]


def answered(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Return the answers of a program to ``--check``: MD5 takes whole blocks here, and patricia looks up one address at a time."""
    for operator, params in combinations:
        assert set(params) == {"lpm": {"lookup", "prefixes"}, "md5": {"size"}, "tcp_segment": {"variant", "size"}}[operator]
    return [
        (BLOCKS if operator == "md5" and params["size"] == "1518" else "", {"patricia": "one at a time"} if operator == "lpm" else {})
        for operator, params in combinations
    ]


ONLY = HEAD + "target: model:neoverse-n1\nmessages: 64\napplications: none\nworkloads: none\n"


@pytest.mark.parametrize(
    ("text", "traced", "refused"),
    [
        # The plan names neither operators nor engines.
        (
            "engines: all\nframe_sizes: [64B, 1518B]",
            {"lpm/portable", "md5/portable/64", "md5/openssl/64", "tcp_segment/1480", "tcp_segment/1518"},
            {},
        ),
        # The plan names operators: each runs on some of all engines, or is at fault.
        ("engines: all\noperators: [lpm]", {"lpm/portable"}, {}),
        ("engines: all\noperators: [md5, lpm]\nframe_sizes: [1518B]", {"lpm/portable"}, {"md5/portable/1518": BLOCKS, "md5/openssl/1518": BLOCKS}),
        # The plan names engines: some of all operators run on each, or it is at fault.
        ("engines: [portable, openssl]\nframe_sizes: [1518B]", {"lpm", "tcp_segment/1518"}, {"md5/openssl/1518": BLOCKS}),
        ("engines: [portable, patricia]", {"lpm/portable", "md5/64", "tcp_segment/1480"}, {"lpm/patricia": "one at a time"}),
        ("engines: [portable, dpdk-lpm]", {"lpm/portable", "md5/64", "tcp_segment/1480"}, {"lpm/dpdk-lpm": "librte_lpm.so: not found"}),
        # The plan names both, and each has what it needs.
        ("engines: [portable, openssl]\noperators: [md5, lpm]", {"md5/portable/64", "md5/openssl/64", "lpm"}, {}),
        # The plan names pairs of operator and engine, or operators with sizes.
        ("operators: [lpm/patricia, lpm]", {"lpm"}, {"lpm/patricia": "one at a time"}),
        ("engines: all\noperators: [lpm/patricia, md5]", {"md5/portable/64", "md5/openssl/64"}, {"lpm/patricia": "one at a time"}),
        ("operators: [md5]\nframe_sizes: [64B, 1518B]", {"md5/64"}, {}),
        ("operators: [{operator: md5, frames: [64B, 1518B]}]", {"md5/64"}, {"md5/1518": BLOCKS}),
    ],
)
def test_what_is_named_gives_a_trace_or_is_at_fault_and_what_all_stands_for_is_left_out(
    text: str, traced: set[str], refused: dict[str, str]
) -> None:  # fmt: skip
    plan = plan_of(ONLY + text + "\n")
    found, _ = expand(plan, replace(catalogs(), check=answered), Where("p"))
    assert {use.id for use in found.uses if not use.unavailable} == traced
    assert found.refused == {f"operator/{name}": reason for name, reason in refused.items()}
    assert not [line for line in found.left_out for name in refused if line.startswith(f"{name}:")]


def test_whole_programs_that_refuse_what_they_are_given_are_at_fault_before_anything_is_traced(tmp_path: Path) -> None:
    def refusals(wanted: Sequence[Application | Workload]) -> list[str]:
        assert [one.name for one in wanted] == ["files", "flow-table"], "what is given nothing is not asked about"
        return ["files: speed must be one of slow, fast, not 'fats'", "stage lookup: needs a port of kind xdp"]

    text = PLAN.replace("[files, packets]", "[{name: files, params: {speed: fats}}, packets]")
    plan = plan_of(text_of(tmp_path, text.replace("[forward]", "[forward, {name: flow-table, engines: {lookup: portable}}]")))
    found, _ = expand(plan, replace(catalogs(), refusals=refusals), Where("p"))
    assert found.unavailable == {
        "application/files": "files: speed must be one of slow, fast, not 'fats'", "workload/flow-table": "stage lookup: needs a port of kind xdp",
    }  # fmt: skip
    assert {cell.name for cell in found.cells.values() if cell.kind != "operator"} == {"packets", "forward"}


def test_what_is_left_out_has_its_reason() -> None:
    found, _ = expand(plan_of(ONLY + "engines: all\nframe_sizes: [64B, 1518B]\n"), replace(catalogs(), check=answered), Where("p"))
    assert [line for line in found.left_out if "cannot be traced" in line] == [
        "lpm/patricia: cannot be traced: one at a time",
        "lpm/dpdk-lpm: cannot be traced: librte_lpm.so: not found",
        f"md5/portable/1518: cannot be traced: {BLOCKS}",
        f"md5/openssl/1518: cannot be traced: {BLOCKS}",
    ]


def test_a_catalog_without_applications_leaves_them_out(tmp_path: Path) -> None:
    plan = plan_of(HEAD + "target: model:neoverse-n1\noperators: [lpm]\n")
    found, _ = expand(plan, Catalogs(catalogs().operators, missing=("all applications: there is no program",)), Where("p"))
    assert list(found.cells) == ["operator/lpm"] and found.left_out == ["all applications: there is no program"]
